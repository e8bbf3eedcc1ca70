//! Enhanced Multistream FAST TCP (EMFAST): FAST that takes its steps with every ACK from the end of a fast recovery until
//! the link is full again.
//!
//! S. Ahmad, M. J. Arshad, "Enhanced Multistream Fast TCP: Rapid Bandwidth Utilization after Fast-Recovery Phase", Appl.
//! Sci. 9(21), 4698, 2019: equation (2) and Algorithm 1, "congestion control after fast recovery" (CCaFR).
//!
//! On leaving fast recovery isAFRmode is set. While it is, on every ACK, in this order:
//! * lines 2 to 5: if the inter-packet delay (IPD, the spacing from the last ACK) equals its average and the RTT its own, the link
//!   is full again: leave
//! * lines 6 to 10: with gapflag `w <- (1)`, else `w <- w + 1/w`
//! * lines 11 to 13: raise gapflag
//!
//! Units: windows in bytes, of which 1/w is a packet for a window of them; times in seconds.
//!
//! **The physics.** A recovery leaves half of the window, and it returns as a train at the bottleneck's pace with a gap behind it.
//! (1) once a round trip fills that gap by gamma*alpha packets each time. With every ACK of a round trip, and w on its right side
//! being what was in flight when the acknowledged packet was sent, it goes `1 - (1 - gamma)^acks` of the way, that is, all of
//! it: `w -> flight*baseRTT/RTT + alpha`. So the window grows by up to alpha a round trip, 1/gamma times as fast, and by no
//! more however many ACKs there are. With the present window on the right side each ACK would add gamma*alpha, and a round trip
//! gamma*alpha windows: it is that the module knows `old_pif`, and that Algorithm 1 hands it on, which keeps it from exploding.
//!
//! **When it works.** One loss at a time on a path whose queue holds alpha packets. It refills in gamma of
//! FAST's round trips, and in half of that where FAST steps every other (the module).
//!
//! **When not.**
//! * **Bursts.** What a round trip adds leaves with its first ACKs, all at once: small queues overflow, and RTTs in the
//!   train rise before the link is full.
//! * **A slow mean of RTTs** in (1) (`memory = 256`, the module) hears of the queue when it has overflowed.
//! * **Losses** that come again before the link is full begin it anew, all else is FAST's.
//!
//! **Decisions**, measured in docs/emfast.md.
//! * "Equal" cannot be of floating-point numbers. Spacings are equal within half of the average, which is half of what a packet
//!   takes at the measured rate; RTTs within 2 %, or 1 ms. Half calls a link full that is used to two thirds: where a third of
//!   the time is a gap, the average is 1.5 times the spacing in the train. So it leaves early and FAST does the rest. That is
//!   how the paper's own numbers come out. With `ipd_tolerance = 0.1`, and `gap_at_equality = false` or SACK, it stays until the
//!   link is full and needs less than half as long; where others share a short queue it then loses more.
//! * Averages go over five windows of ACKs, which the module's 256 are on the paper's path; so they remember the full link at
//!   the end of a recovery, and the RTT can return to them. ACKs of the recovery itself do not count. An average that began
//!   with the recovery's end would be that of the train, to which each of its ACKs is equal.
//! * gapflag rises as line 11 is printed, at equal spacings. The text of (2) says "true as the first gap between the series of
//!   acknowledgment is detected", and at every gap line 11 is false: `gap_at_equality = false` is the text, by which it rises at the
//!   first spacing above the average. Where a recovery sends all the time (SACK, PRR) both come to the same.
//! * Line 12 may raise the flag that line 4 has lowered, and the next recovery would begin with it raised: each begins with it
//!   lowered.
//! * A new loss, a timeout and a reduction that was a mistake end it. Marks and timeouts do not begin it: they have no fast
//!   recovery.
//! * The paper's alpha is not given.

use super::average::Average;
use super::{ALPHA, EVERY, Fast, GAMMA, MEMORY, SLOW_START_DELAY};
use crate::building_blocks::rule::{Rule, WindowController};
use crate::building_blocks::window::Window;
use crate::interface::{Ack, Loss, LossResponse, Signal, Timeout, TransportFeatures};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Value, code};
use whimbrel_units::{Duration, Time};

/// The least difference of RTTs that counts, seconds.
const RTT_GRAIN: f64 = 0.001;

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "emfast",
    code: code!(
        "algorithms/delay/fast/after_recovery.rs",
        "algorithms/delay/fast/mod.rs",
        "algorithms/delay/fast/average.rs",
        "algorithms/delay/fast/alpha.rs"
    ),
    summary: "FAST for several streams, with a step for each ACK after a fast recovery",
    citation: "S. Ahmad, M. J. Arshad, \"Enhanced Multistream Fast TCP: Rapid Bandwidth Utilization after Fast-Recovery \
               Phase\", Appl. Sci. 9(21), 4698, 2019",
    family: Family::Delay,
    driven_by: DrivenBy::LossesAndDelays,
    feed: Feed::Acknowledgments,
    parameters: &[
        ALPHA,
        GAMMA,
        EVERY,
        SLOW_START_DELAY,
        MEMORY,
        Parameter {
            name: "afr_windows",
            default: Value::Number(5.0),
            range: (0.0, 1000.0),
            meaning: "windows of ACKs over which Algorithm 1 averages spacings and RTTs",
        },
        Parameter {
            name: "ipd_tolerance",
            default: Value::Number(0.5),
            range: (0.0, 10.0),
            meaning: "by how much the spacing of ACKs may differ from the average and be equal, as a share of it",
        },
        Parameter {
            name: "rtt_tolerance",
            default: Value::Number(0.02),
            range: (0.0, 10.0),
            meaning: "by how much an RTT may differ from the average and be equal, as a share of it; 1 ms at least",
        },
        Parameter {
            name: "gap_at_equality",
            default: Value::Switch(true),
            range: (0.0, 0.0),
            meaning: "the gap flag rises when spacings are equal (line 11), not when one exceeds the average (text of (2))",
        },
    ],
    build: |setup, values| {
        let rule = Emfast {
            fast: Fast::new(values),
            ipd_tolerance: values.number("ipd_tolerance"),
            rtt_tolerance: values.number("rtt_tolerance"),
            gap_at_equality: values.switch("gap_at_equality"),
            windows: values.number("afr_windows"),
            rtt: Average::default(),
            spacing: Average::default(),
            last_ack: None,
            recovering: false,
            after: None,
        };
        Box::new(
            WindowController::new(setup, rule).with_transport_features(TransportFeatures::STREAMS),
        )
    },
};

/// EMFAST's rule.
#[derive(Debug, Clone)]
struct Emfast {
    fast: Fast,
    ipd_tolerance: f64,
    rtt_tolerance: f64,
    gap_at_equality: bool,
    /// Windows of ACKs that the averages go over.
    windows: f64,
    /// avgRTT.
    rtt: Average,
    /// avgIPD.
    spacing: Average,
    last_ack: Option<Time>,
    /// Fast recovery, not a timeout, is what ends next.
    recovering: bool,
    /// isAFRmode: `None` outside of it.
    after: Option<After>,
}

/// What [`Emfast`] is doing after a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// gapflag is false.
    FirstTrain,
    /// gapflag is true.
    Refilling,
}

impl Emfast {
    /// Takes in what an ACK measured; gives its spacing, against the average.
    fn measure(&mut self, window: &Window, ack: &Ack) -> Option<Spacing> {
        let span = self.windows * window.segments();
        if let (Some(rtt), false) = (ack.rtt, ack.in_recovery) {
            self.rtt.add(rtt, span);
        }
        let last = self.last_ack.replace(ack.now)?;
        let spacing = ack.now.since(last);
        if !ack.in_recovery {
            self.spacing.add(spacing, span);
        }
        let mean = self.spacing.get()?;
        Some(Spacing::of(spacing, mean, self.ipd_tolerance))
    }

    /// avgRTT = rtt.
    fn rtt_is_average(&self, rtt: Duration) -> bool {
        self.rtt.get().is_some_and(|mean| {
            (rtt.as_secs_f64() - mean).abs() <= RTT_GRAIN.max(self.rtt_tolerance * mean)
        })
    }

    /// Algorithm 1, lines 2 to 13.
    fn act_after_recovery(
        &mut self,
        mut gap: bool,
        window: &mut Window,
        ack: &Ack,
        spacing: Option<Spacing>,
    ) {
        let equal = spacing == Some(Spacing::Average);
        let full = equal && ack.rtt.is_some_and(|rtt| self.rtt_is_average(rtt));
        gap &= !full;
        if gap {
            if let Some(next) = self.fast.next_window(window, ack) {
                self.set(window, next);
            }
        } else {
            window.grow(ack.acked.get(), 1.0);
        }
        gap |= match self.gap_at_equality {
            true => equal,
            false => spacing == Some(Spacing::Gap),
        };
        self.after = match (full, gap) {
            (true, _) => None,
            (false, true) => Some(After::Refilling),
            (false, false) => Some(After::FirstTrain),
        };
    }

    fn set(&self, window: &mut Window, next: u64) {
        if next < window.cwnd {
            window.reduce_to(next);
        } else {
            window.cwnd = next;
        }
    }
}

/// The spacing of an ACK from the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spacing {
    Shorter,
    Average,
    Gap,
}

impl Spacing {
    fn of(spacing: Duration, mean: f64, tolerance: f64) -> Self {
        let more = spacing.as_secs_f64() - mean;
        if more.abs() <= tolerance * mean {
            Self::Average
        } else if more > 0.0 {
            Self::Gap
        } else {
            Self::Shorter
        }
    }
}

impl Rule for Emfast {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.fast.measure(window, ack);
        let spacing = self.measure(window, ack);
        if !Window::may_grow(ack) {
            return;
        }
        match self.after {
            None => self.fast.act(window, ack),
            Some(after) => {
                self.act_after_recovery(after == After::Refilling, window, ack, spacing);
            }
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
        self.after = None;
        self.recovering = loss.signal == Signal::Loss;
        self.fast.on_loss(window, loss)
    }

    fn on_recovery_end(&mut self, window: &mut Window, now: Time) {
        self.fast.on_recovery_end(window, now);
        if std::mem::take(&mut self.recovering) {
            self.after = Some(After::FirstTrain);
        }
    }

    fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        self.after = None;
        self.recovering = false;
        self.fast.on_timeout(window, timeout);
    }

    fn on_spurious(&mut self, before: &Self) {
        self.after = None;
        self.recovering = false;
        self.fast.on_spurious(&before.fast);
    }

    fn phase(&self, window: &Window) -> &'static str {
        match self.after {
            None => self.fast.phase(window),
            Some(After::FirstTrain) => "after recovery: first train",
            Some(After::Refilling) => "after recovery: refilling",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::{AtSending, Controller};
    use crate::testing::{ACK, Bottleneck, MSS, built, loss, segments, timeout};
    use whimbrel_units::{Bytes, Rate};

    const MS: Duration = Duration::from_millis(1);

    /// A flow that is told of one ACK after the other.
    struct Script {
        law: Box<dyn Controller>,
        now: Time,
        /// Round-trip time of what is acknowledged.
        rtt: Duration,
        /// What was in flight when it was sent.
        in_flight: u64,
    }

    impl Script {
        /// The link has long been full with 52 packets: ACKs come every 5 ms, and take `rtt`, on a
        /// path of `base`.
        fn on_path(parameters: &str, base: Duration, rtt: Duration) -> Self {
            let mut script = Self {
                law: built(&format!("emfast?alpha=6{parameters}"), 52),
                now: Time::ZERO,
                rtt: base,
                in_flight: 52,
            };
            script.ack(MS * 5, false);
            script.rtt = rtt;
            for _ in 0..4000 {
                script.ack(MS * 5, false);
            }
            script
        }

        /// On the paper's path, or nearly so.
        fn full(parameters: &str, rtt: Duration) -> Self {
            Self::on_path(parameters, MS * 250, rtt)
        }

        fn ack(&mut self, spacing: Duration, limited: bool) -> f64 {
            self.now += spacing;
            let at = AtSending {
                sent: self.now,
                in_flight: Bytes::new(self.in_flight * MSS),
                delivered: Bytes::ZERO,
                lost: Bytes::ZERO,
                app_limited: false,
            };
            self.law.on_ack(&Ack {
                now: self.now,
                rtt: Some(self.rtt),
                cwnd_limited: limited,
                newest: Some(at),
                ..ACK
            });
            segments(&*self.law)
        }

        /// A packet is lost, and repaired while ACKs keep coming.
        fn recover(&mut self) {
            let lost = loss(&*self.law, self.now);
            self.law.on_loss(&lost);
            assert_eq!(segments(&*self.law), 26.0);
            self.law.on_recovery_end(self.now);
            self.in_flight = 26;
            assert_eq!(self.law.phase(), FIRST_TRAIN);
        }
    }

    /// The gap flag as the text has it.
    const TEXT: &str = "&gap_at_equality=false";
    const FIRST_TRAIN: &str = "after recovery: first train";
    const REFILLING: &str = "after recovery: refilling";
    const NORMAL: &str = "congestion avoidance";

    fn near(got: f64, expected: f64) {
        assert!((got - expected).abs() < 0.002, "{got}, not {expected}");
    }

    #[test]
    fn in_the_first_train_each_ack_adds_one_by_the_window() {
        let mut script = Script::full(TEXT, MS * 290);
        script.recover();
        script.rtt = MS * 250;
        // 26 + 1/26, and again.
        near(script.ack(MS * 5, true), 26.038);
        near(script.ack(MS * 5, true), 26.077);
        assert_eq!(script.law.phase(), FIRST_TRAIN);
    }

    #[test]
    fn after_a_gap_each_ack_takes_a_step_of_equation_1() {
        // With no tolerance, so that a hundred gaps do not make the average theirs.
        let never_equal = format!("{TEXT}&ipd_tolerance=0");
        let mut script = Script::full(&never_equal, MS * 250);
        script.recover();
        // The flag is raised in line 12, after line 9 has added 1/26.
        near(script.ack(MS * 110, true), 26.038);
        assert_eq!(script.law.phase(), REFILLING);
        // Nothing waits: 13.019 + (26 + 6)/2, and 14.510 + 16.
        near(script.ack(MS * 110, true), 29.019);
        near(script.ack(MS * 110, true), 30.510);
        for _ in 0..100 {
            script.ack(MS * 110, true);
        }
        near(segments(&*script.law), 32.0);
        // What was in flight a round trip ago and alpha more: that is all that the ACKs of one round trip can add.
        script.in_flight = 32;
        for _ in 0..100 {
            script.ack(MS * 110, true);
        }
        near(segments(&*script.law), 38.0);
    }

    #[test]
    fn equation_1_brings_the_window_down_too() {
        let mut script = Script::full(TEXT, MS * 250);
        script.recover();
        script.ack(MS * 110, true);
        // With 10 in flight then: 13.019 + 16/2.
        script.in_flight = 10;
        near(script.ack(MS * 110, true), 21.019);
    }

    #[test]
    fn as_line_11_is_printed_equal_spacings_raise_the_flag() {
        let mut script = Script::full("", MS * 290);
        script.recover();
        script.rtt = MS * 250;
        near(script.ack(MS * 110, true), 26.038);
        assert_eq!(script.law.phase(), FIRST_TRAIN, "a gap does not");
        let mut script = Script::full("", MS * 290);
        script.recover();
        script.rtt = MS * 250;
        near(script.ack(MS * 5, true), 26.038);
        assert_eq!(script.law.phase(), REFILLING);
    }

    /// What it does after an ACK at this spacing, in microseconds, and with this RTT, when both averages are `average` ms and
    /// 5 ms.
    fn phase_after(average: u64, spacing: u64, rtt: u64) -> &'static str {
        let parameters = format!("{TEXT}&afr_windows=1000");
        let mut script = Script::on_path(&parameters, MS * average, MS * average);
        script.recover();
        script.rtt = Duration::from_micros(rtt);
        script.ack(Duration::from_micros(spacing), true);
        script.law.phase()
    }

    #[test]
    fn the_link_is_full_when_spacing_and_rtt_are_their_averages_within_the_tolerances() {
        assert_eq!(phase_after(290, 5_000, 290_000), NORMAL);
        // Half of 5 ms, 2 % of 290 ms are 5.8.
        assert_eq!(phase_after(290, 7_490, 290_000), NORMAL);
        assert_eq!(phase_after(290, 7_510, 290_000), REFILLING);
        assert_eq!(phase_after(290, 2_510, 290_000), NORMAL);
        assert_eq!(phase_after(290, 2_490, 290_000), FIRST_TRAIN);
        assert_eq!(phase_after(290, 5_000, 284_500), NORMAL);
        assert_eq!(phase_after(290, 5_000, 283_500), FIRST_TRAIN);
        // 2 % of 20 ms are less than a millisecond.
        assert_eq!(phase_after(20, 5_000, 19_100), NORMAL);
        assert_eq!(phase_after(20, 5_000, 18_900), FIRST_TRAIN);
    }

    #[test]
    fn losses_timeouts_and_mistakes_end_it_and_only_a_fast_recovery_begins_it() {
        let begun = || {
            let mut script = Script::full("", MS * 290);
            script.recover();
            script
        };
        let mut script = begun();
        script.law.on_loss(&loss(&*script.law, script.now));
        assert_eq!(script.law.phase(), NORMAL);
        let mut script = begun();
        script.law.on_spurious(script.now);
        assert_eq!(
            (segments(&*script.law), script.law.phase()),
            (52.0, "slow start")
        );
        let mut script = begun();
        script.law.on_timeout(&timeout(&*script.law, script.now));
        script.law.on_recovery_end(script.now);
        assert_eq!(script.law.phase(), "slow start");
        let mut script = begun();
        script.law.on_loss(&Loss {
            signal: Signal::Ecn,
            ..loss(&*script.law, script.now)
        });
        script.law.on_recovery_end(script.now);
        assert_eq!(script.law.phase(), NORMAL);
    }

    #[test]
    fn the_next_recovery_begins_with_the_first_train_again() {
        // Line 12 comes after line 4, and as printed would leave the flag raised.
        let mut script = Script::full("", MS * 290);
        script.recover();
        script.ack(MS * 5, true);
        assert_eq!(script.law.phase(), NORMAL);
        script.law.on_loss(&loss(&*script.law, script.now));
        script.law.on_recovery_end(script.now);
        assert_eq!(script.law.phase(), FIRST_TRAIN);
    }

    #[test]
    fn after_a_loss_it_has_the_link_full_again_before_fast() {
        let delivered = |name: &str| {
            let mut path = Bottleneck::new(Rate::from_bits_per_sec(1_500_000), 20);
            path.add(built(&format!("{name}?alpha=6"), 2), MS * 240);
            path.run(Duration::from_secs(30));
            // One packet, which takes 5.3 ms, or two.
            path.loss = 1.0;
            path.run(MS * 6);
            path.loss = 0.0;
            let before = path.flows[0].delivered;
            path.run(Duration::from_secs(6));
            assert!((1..=2).contains(&(path.flows[0].lost / MSS)));
            path.flows[0].delivered - before
        };
        let (fast, emfast) = (delivered("fast"), delivered("emfast"));
        // 26 of 46 packets are missing at first, and fewer each round trip: FAST fills 3 a round trip, this law up to 6.
        assert!(emfast > fast + 40 * MSS, "{emfast} {fast}");
        assert!(emfast <= 6 * 1_500_000 / 8);
    }
}
