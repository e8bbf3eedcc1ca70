//! Bursts of loss: a model with a good and a bad state, which loses more in the bad state.
//!
//! E. N. Gilbert, "Capacity of a Burst-Noise Channel", Bell System Technical Journal 39(5), 1960,
//! for a good state without loss; E. O. Elliott, "Estimates of Error Rates for Codes on Burst-Noise
//! Channels", BSTJ 42(5), 1963, for a loss probability in each state. There are two forms:
//! * **By time**, like fading: exponential sojourn times with means `good` and `bad`, independent
//!   of traffic. The fraction of time in the bad state is bad / (good + bad). The number of packets
//!   lost in a bad span depends on the packet rate: slowing down makes bursts shorter in packets,
//!   not in seconds.
//! * **By packet**, as in Linux's `netem` (`tc-netem(8)`, `loss gemodel p r 1-h 1-k`;
//!   `loss_gilb_ell` of `net/sched/sch_netem.c`): before the next packet, the good state turns bad
//!   with probability p, the bad state good with probability r. The fraction of packets that meet
//!   the bad state is p / (p + r), in runs of 1/r packets on average. Silence does not end a bad
//!   state.
//!
//! The steady loss of both is: fraction bad x loss in the bad state + fraction good x loss in the
//! good state.
//!
//! Both begin in a state drawn with these fractions, so that the first packets are lost as often as
//! all others; netem begins in the good state. By time, the seed alone determines the spans,
//! whatever the traffic. The exception is more than 65536 spans between two packets: then the state
//! is drawn anew, which has the same distribution because the state has no memory over that many
//! spans.

use crate::chance::{happens, threshold};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use whimbrel_units::{Duration, Probability, Time};

/// A loss model with a good and a bad state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GilbertElliott {
    /// The state changes with time.
    ByTime {
        /// Mean length of a good span. Zero: always bad.
        good: Duration,
        /// Mean length of a bad span. Zero: always good.
        bad: Duration,
        /// Loss probability in the good state.
        good_loss: Probability,
        /// Loss probability in the bad state.
        bad_loss: Probability,
    },
    /// The state changes from packet to packet. With p = r = 0 it stays good.
    ByPacket {
        /// p: probability of a change from good to bad.
        p: Probability,
        /// r: probability of a change from bad to good.
        r: Probability,
        /// 1-h: loss probability in the bad state.
        bad_loss: Probability,
        /// 1-k: loss probability in the good state.
        good_loss: Probability,
    },
}

impl GilbertElliott {
    /// The long-run fraction of time, or of packets, in the bad state.
    pub fn bad_share(&self) -> Probability {
        let (to_bad, all) = match self {
            Self::ByTime { good, bad, .. } => {
                let bad = bad.as_nanos() as f64;
                (bad, bad + good.as_nanos() as f64)
            }
            Self::ByPacket { p, r, .. } => (p.get(), p.get() + r.get()),
        };
        let share = if all > 0.0 { to_bad / all } else { 0.0 };
        Probability::new(share).unwrap_or_default()
    }

    /// The long-run fraction of lost packets. By time, this holds for packets sent independently of
    /// the state.
    pub fn steady_loss(&self) -> Probability {
        let (Self::ByTime {
            good_loss,
            bad_loss,
            ..
        }
        | Self::ByPacket {
            good_loss,
            bad_loss,
            ..
        }) = self;
        let bad = self.bad_share().get();
        let loss = bad * bad_loss.get() + (1.0 - bad) * good_loss.get();
        // Rounding may leave it slightly above one.
        Probability::new(loss.min(1.0)).unwrap_or_default()
    }
}

/// The maximum number of changes followed from one packet to the next.
const MOST_CHANGES: u32 = 1 << 16;

/// The state of the model.
#[derive(Debug, Clone)]
pub(crate) struct Bursts {
    bad: bool,
    turning: Turning,
    /// Loss thresholds in the good and in the bad state.
    loss: [u64; 2],
    bad_share: u64,
    states: Xoshiro256PlusPlus,
    losses: Xoshiro256PlusPlus,
}

#[derive(Debug, Clone)]
enum Turning {
    /// The mean lengths of good and bad spans in nanoseconds, and the time of the next change.
    ByTime { means: [f64; 2], next: Time },
    /// The thresholds of a change from good and from bad.
    ByPacket([u64; 2]),
}

impl Bursts {
    /// Draws the states from one generator and the losses from another, so that the states do not
    /// depend on the number of packets.
    pub fn new(
        spec: &GilbertElliott,
        mut states: Xoshiro256PlusPlus,
        losses: Xoshiro256PlusPlus,
    ) -> Self {
        let bad_share = threshold(spec.bad_share());
        let bad = happens(bad_share, &mut states);
        let (turning, loss) = match *spec {
            GilbertElliott::ByTime {
                good,
                bad: mean_bad,
                good_loss,
                bad_loss,
            } => {
                let means = [good.as_nanos() as f64, mean_bad.as_nanos() as f64];
                // A state of zero length is never entered, so the other state is never left.
                let next = if good.is_zero() || mean_bad.is_zero() {
                    Time::MAX
                } else {
                    Time::ZERO + sojourn(means[usize::from(bad)], &mut states)
                };
                (Turning::ByTime { means, next }, [good_loss, bad_loss])
            }
            GilbertElliott::ByPacket {
                p,
                r,
                bad_loss,
                good_loss,
            } => (
                Turning::ByPacket([threshold(p), threshold(r)]),
                [good_loss, bad_loss],
            ),
        };
        Self {
            bad,
            turning,
            loss: loss.map(threshold),
            bad_share,
            states,
            losses,
        }
    }

    /// Whether the next packet, which leaves at `at`, is lost. Times never go back.
    #[inline]
    pub fn loses(&mut self, at: Time) -> bool {
        if let Turning::ByTime { means, next } = &mut self.turning {
            for _ in 0..MOST_CHANGES {
                if *next > at || *next == Time::MAX {
                    break;
                }
                self.bad = !self.bad;
                *next += sojourn(means[usize::from(self.bad)], &mut self.states);
            }
            if *next <= at && *next < Time::MAX {
                self.bad = happens(self.bad_share, &mut self.states);
                *next = at + sojourn(means[usize::from(self.bad)], &mut self.states);
            }
        }
        let lost = happens(self.loss[usize::from(self.bad)], &mut self.losses);
        // As in netem: the packet meets the state as it was, then the state may change.
        if let Turning::ByPacket(turn) = self.turning {
            self.bad ^= happens(turn[usize::from(self.bad)], &mut self.states);
        }
        lost
    }
}

/// Draws an exponential time.
fn sojourn(mean_ns: f64, rng: &mut Xoshiro256PlusPlus) -> Duration {
    // 1 - u is never zero.
    let times = -(1.0 - rng.random::<f64>()).ln();
    Duration::from_nanos((times * mean_ns) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn share(p: f64) -> Probability {
        Probability::new(p).expect("a probability")
    }

    fn bursts(spec: &GilbertElliott, seed: u64) -> Bursts {
        let states = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut losses = states.clone();
        losses.jump();
        Bursts::new(spec, states, losses)
    }

    /// Which of `packets` packets, sent every `gap`, are lost.
    fn pattern(spec: &GilbertElliott, seed: u64, packets: u64, gap: Duration) -> Vec<bool> {
        let mut bursts = bursts(spec, seed);
        let times = (0..packets).map(|i| Time::from_nanos(i * gap.as_nanos()));
        times.map(|at| bursts.loses(at)).collect()
    }

    /// The fraction of lost packets, and the mean length of runs of lost packets.
    fn measured(lost: &[bool]) -> (f64, f64) {
        let losses = lost.iter().filter(|l| **l).count() as f64;
        let runs = lost.windows(2).filter(|w| !w[0] && w[1]).count() + usize::from(lost[0]);
        (losses / lost.len() as f64, losses / runs as f64)
    }

    /// The simple Gilbert model: all packets are lost in the bad state, none in the good one.
    const fn gilbert(p: Probability, r: Probability) -> GilbertElliott {
        GilbertElliott::ByPacket {
            p,
            r,
            bad_loss: Probability::ONE,
            good_loss: Probability::ZERO,
        }
    }

    const fn by_time(good_ms: u64, bad_ms: u64) -> GilbertElliott {
        GilbertElliott::ByTime {
            good: Duration::from_millis(good_ms),
            bad: Duration::from_millis(bad_ms),
            good_loss: Probability::ZERO,
            bad_loss: Probability::ONE,
        }
    }

    #[test]
    fn steady_loss_matches_hand_calculation() {
        // 1 / (1 + 4) of the packets meet the bad state.
        let plain = gilbert(share(0.01), share(0.04));
        assert!((plain.steady_loss().get() - 0.2).abs() < 1e-12);
        // 0.2 x 0.5 + 0.8 x 0.01 = 0.108.
        let full = GilbertElliott::ByPacket {
            p: share(0.01),
            r: share(0.04),
            bad_loss: share(0.5),
            good_loss: share(0.01),
        };
        assert!((full.steady_loss().get() - 0.108).abs() < 1e-12);
        // 20 ms of 1 s.
        assert!((by_time(980, 20).steady_loss().get() - 0.02).abs() < 1e-12);
    }

    #[test]
    fn by_packet_losses_come_in_runs_of_one_over_r() {
        // p / (p + r) = 0.005 / 0.205 = 2.44 %, in runs of 1 / 0.2 = 5 packets, with 1 / 0.005 =
        // 200 packets in between.
        let lost = pattern(
            &gilbert(share(0.005), share(0.2)),
            1,
            2_000_000,
            Duration::ZERO,
        );
        let (loss, run) = measured(&lost);
        // About 9756 runs with a standard deviation of 4.5: 0.05 for the mean.
        assert!((loss - 0.024_39).abs() < 0.001, "{loss}");
        assert!((run - 5.0).abs() < 0.2, "{run}");
    }

    #[test]
    fn a_chain_without_memory_is_independent_random_loss() {
        // p + r = 1: the next state does not depend on the current one. Runs are 1 / 0.9 = 1.11
        // long.
        let lost = pattern(
            &gilbert(share(0.1), share(0.9)),
            2,
            1_000_000,
            Duration::ZERO,
        );
        let (loss, run) = measured(&lost);
        assert!((loss - 0.1).abs() < 0.002, "{loss}");
        assert!((run - 1.111).abs() < 0.01, "{run}");
    }

    #[test]
    fn by_time_a_run_lasts_a_bad_span_at_any_packet_rate() {
        // Good for 90 ms, bad for 10 ms: 10 % lost. With a packet every 100 us, a run has 1 / (1 -
        // e^(-0.01)) = 100.5 packets; with one every 1 ms, 1 / (1 - e^(-0.1)) = 10.5. Runs are
        // slightly longer, because a good span falls between two packets with probability 0.0055.
        for (gap, expected) in [(100, 100.5), (1_000, 10.57)] {
            let gap = Duration::from_micros(gap);
            let packets = 2_000_000_000_000 / gap.as_nanos();
            let (loss, run) = measured(&pattern(&by_time(90, 10), 3, packets, gap));
            // 20 000 spans determine the mean to 1 %.
            assert!((loss - 0.1).abs() < 0.003, "{loss}");
            assert!((run / expected - 1.0).abs() < 0.03, "{run} {expected}");
        }
    }

    #[test]
    fn by_time_the_seed_alone_determines_the_spans() {
        let often = pattern(&by_time(50, 50), 4, 100_000, Duration::from_micros(100));
        let seldom = pattern(&by_time(50, 50), 4, 1_000, Duration::from_millis(10));
        let same: Vec<bool> = often.into_iter().step_by(100).collect();
        assert_eq!(same, seldom);
    }

    #[test]
    fn years_of_silence_take_no_time_and_keep_the_loss_rate() {
        let spec = GilbertElliott::ByTime {
            good: Duration::from_nanos(3),
            bad: Duration::from_nanos(1),
            good_loss: Probability::ZERO,
            bad_loss: Probability::ONE,
        };
        let lost = pattern(&spec, 5, 4_000, Duration::from_secs(1_000_000));
        let (loss, _) = measured(&lost);
        // 1000 of 4000, standard deviation 27.
        assert!((loss - 0.25).abs() < 0.028, "{loss}");
        assert!(bursts(&spec, 1).states != bursts(&spec, 2).states);
        // The end of time does not overflow.
        let _ = bursts(&spec, 1).loses(Time::MAX);
    }

    #[test]
    fn the_first_packet_is_lost_as_often_as_all_others() {
        let spec = gilbert(share(0.001), share(0.001));
        let bad = (0..10_000).filter(|seed| bursts(&spec, *seed).loses(Time::ZERO));
        // 5000, standard deviation 50.
        let bad = bad.count();
        assert!(bad.abs_diff(5_000) < 200, "{bad}");
    }

    #[test]
    fn constant_states_and_states_of_zero_length_work() {
        let still = gilbert(Probability::ZERO, Probability::ZERO);
        assert!(still.steady_loss().is_zero());
        assert!(!pattern(&still, 1, 1000, Duration::ZERO).contains(&true));
        let gap = Duration::from_secs(1);
        assert!(!pattern(&by_time(1, 0), 1, 1000, gap).contains(&true));
        assert!(!pattern(&by_time(0, 1), 1, 1000, gap).contains(&false));
        assert!(!pattern(&by_time(0, 0), 1, 1000, gap).contains(&true));
        assert_eq!(by_time(0, 1).steady_loss(), Probability::ONE);
    }
}
