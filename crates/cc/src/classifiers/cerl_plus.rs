//! TCP CERL+: CERL with a threshold that follows the path.
//!
//! After T. Saedi, "Congestion Control Enhancement Over Wireless Networks", MSc thesis, Lakehead
//! University, 2019, chapter 4. The thesis's own formula can never detect congestion (see
//! `cerl_plus_printed.rs`). Its aim is kept: a threshold from the mean and the minimum round-trip
//! time of each flow, instead of CERL's 0.55 for all. **The formula is ours.**
//!
//! * threshold: `N = A*l_max` with `A = (T/RTT_avg)^power`, in (0, 1]; power is 2: the inverse of
//!   the thesis's factor, squared. With `mean_queue`: `N = RTT_avg - T`
//! * l: the round-trip time of the newest packet of an acknowledgment minus T; the minimum of three
//!   in a row
//! * l_max: the maximum l, of which each round trip forgets 1/memory; memory is 500
//! * a loss is random if `l < N`; otherwise it is congestion, and reduces the window as in Reno,
//!   once per window of data
//!
//! T and RTT_avg are over all samples, as in the thesis. Units: round-trip times; B cancels, as in
//! CERL.
//!
//! **The physics.** An idle queue makes RTT_avg close to T and A close to 1: only a loss with the
//! queue at its longest is congestion. A standing queue lowers A, so losses count sooner, the more
//! so the longer it stands: the threshold drains the queue that it lets grow. The square keeps it
//! moderate on any buffer: if the longest queue is twice the mean, `N = 2u/(1+u)^2` of T, u the
//! mean queue over T, is at most T/2, and halving a window with half a BDP in the queue leaves
//! three quarters of one in flight. With power 1 it is up to 2T.
//!
//! Experiments showed that A hardly matters while l_max is wrong, and in CERL it often is:
//! * **The longest queue need not be the bottleneck's.** In the thesis's own topology each flow's
//!   slow start fills its own access link (600 ms), and later the shared link overflows at 75 ms,
//!   far below 0.55*600: CERL judges 90 % of the congestion there random. Therefore l_max is
//!   forgotten.
//! * **A late acknowledgment is not a queue.** A sample by time stamps (RFC 7323) includes the time
//!   for which the receiver delayed its acknowledgment, waiting for another segment or for a timer
//!   of 40 ms. On a path with a queue of 10 ms this makes every later loss random: four CERL flows
//!   then lose two thirds of what they send, and starve their neighbours. The newest packet of an
//!   acknowledgment waited for no other, and Linux measures that packet for its congestion control;
//!   and a delay by a timer affects one sample, where a queue affects every packet.
//!
//! **How it was chosen.** By goodput, drops and wrong verdicts in
//! `experiments/cerl/threshold.toml`, which has the candidates next to CERL and to the printed
//! formula (`docs/cerl.md` has the numbers). `power=1` detects a third as much of the congestion; a
//! `memory` of 50 detects nearly all of it and judges twice as many random losses congestion;
//! `mean_queue` and an infinite memory detect half as much. The minimum of a whole round trip for
//! l, which no late acknowledgment distorts, was tried. It halves l_max, because in the slow start
//! that shows the queue's length a round trip begins with half of it: 11 to 15 % less goodput with
//! a hundred flows.
//!
//! **When it works, when not.** As CERL, except for the two points above. If the queue stays empty
//! for hundreds of round trips, l_max decays to the measurement noise, and some random losses
//! exceed it. A queue that is hidden by another link's queue remains hidden: the round-trip time is
//! one number, and in the thesis's topology two thirds of the congestion are still judged random. A
//! window that grows steadily is always near the longest recent queue.

use crate::estimators::rtt_stats::RttStats;
use crate::interface::{Ack, Loss, LossClassifier, Verdict};
use crate::registry::entry::{ClassifierEntry, Domain, Parameter, Values, code};
use whimbrel_units::Duration;

pub(crate) const POWER: Parameter = Parameter {
    name: "power",
    domain: Domain::Number {
        default: 2.0,
        range: (0.0, 16.0),
    },
    meaning: "exponent of T/RTT_avg: how fast a standing queue lowers the threshold; 0: only the \
              longest queue is congestion",
};

pub(crate) const MEMORY: Parameter = Parameter {
    name: "memory",
    domain: Domain::Number {
        default: 500.0,
        range: (1.0, 1e9),
    },
    meaning: "round trips after which the longest queue has decayed to 1/e",
};

pub(crate) const MEAN_QUEUE: Parameter = Parameter {
    name: "mean_queue",
    domain: Domain::Switch(false),
    meaning: "use the mean queue as the threshold instead",
};

pub(crate) const CITATION: &str =
    "after T. Saedi, MSc thesis, Lakehead University, 2019, chapter 4; the threshold is ours";

/// CERL+'s entry among the loss classifiers.
pub(crate) static ENTRY: ClassifierEntry = ClassifierEntry {
    name: "cerl-plus",
    code: code!("classifiers/cerl_plus.rs", "estimators/rtt_stats.rs"),
    summary: "CERL with a threshold that a standing queue lowers, and that decays",
    citation: CITATION,
    without_receiver_clock: None,
    parameters: &[POWER, MEMORY, MEAN_QUEUE],
    build: |values| Box::new(CerlPlus::from(values)),
};

/// CERL+'s loss classifier.
#[derive(Debug, Clone)]
pub(crate) struct CerlPlus {
    power: f64,
    memory: f64,
    mean_queue: bool,
    /// The statistics of the samples so far.
    seen: Option<RttStats>,
    /// The round-trip times of the last three packets, the newest first; zero before the third.
    recent: [Duration; 3],
    /// l_max.
    longest: Duration,
}

impl From<&Values<'_>> for CerlPlus {
    fn from(values: &Values<'_>) -> Self {
        Self {
            power: values.number(POWER.name),
            memory: values.number(MEMORY.name),
            mean_queue: values.switch(MEAN_QUEUE.name),
            seen: None,
            recent: [Duration::ZERO; 3],
            longest: Duration::ZERO,
        }
    }
}

impl CerlPlus {
    /// l.
    fn queue(&self, seen: RttStats) -> Duration {
        let min = self.recent.iter().min().copied().unwrap_or_default();
        min - seen.min()
    }
}

impl LossClassifier for CerlPlus {
    fn on_ack(&mut self, ack: &Ack) {
        if ack.round_start {
            self.longest = self.longest.mul_f64(1.0 - 1.0 / self.memory);
        }
        let Some(rtt) = ack.rtt else { return };
        let seen = RttStats::with(self.seen, rtt);
        self.seen = Some(seen);
        // A sample that a retransmission made too short must not be below T.
        let newest = ack.newest.map_or(rtt, |newest| ack.now.since(newest.sent));
        self.recent = [newest.min(rtt), self.recent[0], self.recent[1]];
        self.longest = self.longest.max(self.queue(seen));
    }

    fn judge(&mut self, _loss: &Loss) -> Verdict {
        let Some(seen) = self.seen else {
            return Verdict::Congestion;
        };
        let threshold = if self.mean_queue {
            seen.mean() - seen.min()
        } else {
            let share = seen.min().as_secs_f64() / seen.mean().as_secs_f64();
            self.longest.mul_f64(share.powf(self.power))
        };
        if self.queue(seen) < threshold {
            Verdict::Random
        } else {
            Verdict::Congestion
        }
    }

    fn clone_box(&self) -> Box<dyn LossClassifier> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::{AtSending, Controller};
    use crate::testing::{ACK, built, loss};
    use whimbrel_units::{Bytes, Time};

    /// The controller after round trips with these samples, in milliseconds.
    fn after(text: &str, rounds: &[&[u64]]) -> Box<dyn Controller> {
        let mut controller = built(text, 64);
        for round in rounds {
            for (i, ms) in round.iter().enumerate() {
                controller.on_ack(&Ack {
                    rtt: Some(Duration::from_millis(*ms)),
                    in_recovery: true,
                    round_start: i == 0,
                    ..ACK
                });
            }
        }
        controller
    }

    /// Its verdict on a loss at that time.
    fn verdict(text: &str, rounds: &[&[u64]]) -> Option<Verdict> {
        let mut controller = after(text, rounds);
        let loss = loss(&*controller, Time::ZERO);
        controller.on_loss(&loss).verdict
    }

    const RANDOM: Option<Verdict> = Some(Verdict::Random);
    const CONGESTION: Option<Verdict> = Some(Verdict::Congestion);

    #[test]
    fn a_standing_queue_lowers_the_threshold() {
        // T = 100 ms, l_max = 100 ms. In five of seven round trips the queue was empty: the mean is
        // 123 ms, A = 0.66, and a queue of 60 ms is below the threshold of 66.
        let mostly_empty: &[&[u64]] = &[&[100; 3], &[100; 3], &[100; 3], &[100; 3], &[200; 3]];
        let mut rounds = mostly_empty.to_vec();
        rounds.push(&[100; 3]);
        rounds.push(&[160; 3]);
        assert_eq!(verdict("cerl-plus?memory=1e9", &rounds), RANDOM);
        // The same, but full most of the time: the mean is 166 ms, A = 0.36, and 60 ms is above it.
        let mostly_full: &[&[u64]] = &[&[100; 3], &[200; 3], &[200; 3], &[200; 3], &[200; 3]];
        let mut rounds = mostly_full.to_vec();
        rounds.push(&[100; 3]);
        rounds.push(&[160; 3]);
        assert_eq!(verdict("cerl-plus?memory=1e9", &rounds), CONGESTION);
    }

    #[test]
    fn the_longest_queue_is_congestion_whatever_the_threshold() {
        for text in [
            "cerl-plus",
            "cerl-plus?power=0",
            "cerl-plus?mean_queue=true",
        ] {
            assert_eq!(
                verdict(text, &[&[100; 3], &[150; 3], &[200; 3]]),
                CONGESTION,
                "{text}"
            );
        }
    }

    #[test]
    fn one_late_acknowledgment_is_not_a_queue() {
        // A queue of at most 10 ms, and sometimes a delayed ACK of 40 ms. CERL's threshold is then
        // 0.55*50 ms, which no queue ever reaches; here it is below 10 ms.
        let rounds: &[&[u64]] = &[
            &[100, 100, 100, 150],
            &[105; 4],
            &[110, 110, 150, 110],
            &[110; 4],
        ];
        assert_eq!(verdict("cerl-plus", rounds), CONGESTION);
        assert_eq!(verdict("cerl", rounds), RANDOM);
    }

    #[test]
    fn the_wait_for_a_second_segment_is_not_a_queue() {
        // Three acknowledgments in a row whose older segment waited 40 ms at the receiver: their
        // time stamps give 140 ms, their newest packets 100.
        let mut controller = after("cerl-plus", &[&[100; 3], &[110; 3]]);
        for _ in 0..3 {
            controller.on_ack(&Ack {
                now: Time::from_nanos(1_000_000_000),
                rtt: Some(Duration::from_millis(140)),
                newest: Some(AtSending {
                    sent: Time::from_nanos(900_000_000),
                    in_flight: Bytes::ZERO,
                    delivered: Bytes::ZERO,
                    lost: Bytes::ZERO,
                    app_limited: false,
                    retransmitted: false,
                }),
                ..ACK
            });
        }
        for _ in 0..3 {
            controller.on_ack(&Ack {
                rtt: Some(Duration::from_millis(110)),
                ..ACK
            });
        }
        let loss = loss(&*controller, Time::ZERO);
        assert_eq!(
            controller.on_loss(&loss).verdict,
            CONGESTION,
            "10 ms is the longest queue"
        );
    }

    #[test]
    fn the_longest_queue_is_forgotten() {
        // A queue of 600 ms once, of 60 ms since. 0.99^229 is 0.1: after 300 round trips l_max is
        // that of the present queue.
        let mut rounds: Vec<&[u64]> = vec![&[100; 3], &[700; 3]];
        rounds.extend([[100; 3].as_slice(); 10]);
        rounds.push(&[160; 3]);
        assert_eq!(verdict("cerl-plus?memory=100", &rounds), RANDOM);
        let mut later = rounds.clone();
        later.extend([[100; 3].as_slice(); 300]);
        later.push(&[160; 3]);
        assert_eq!(verdict("cerl-plus?memory=100", &later), CONGESTION);
        assert_eq!(verdict("cerl-plus?memory=1e9", &later), RANDOM);
    }

    #[test]
    fn before_the_first_queue_every_loss_is_congestion() {
        for count in 0..3 {
            let rounds = vec![[100; 3].as_slice(); count];
            assert_eq!(verdict("cerl-plus", &rounds), CONGESTION);
        }
        // After a queue, a loss with an empty queue is never congestion.
        let mut rounds: Vec<&[u64]> = vec![&[100; 3], &[200; 3]];
        rounds.extend([[100; 3].as_slice(); 100]);
        assert_eq!(verdict("cerl-plus?memory=10", &rounds), RANDOM);
    }
}
