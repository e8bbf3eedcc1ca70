//! Enhanced Multistream FAST TCP (EMFAST): FAST that makes a step with every ACK from the end of a
//! fast recovery until the link is full again.
//!
//! S. Ahmad, M. J. Arshad, "Enhanced Multistream Fast TCP: Rapid Bandwidth Utilization after
//! Fast-Recovery Phase", Appl. Sci. 9(21), 4698, 2019: equation (2) and Algorithm 1, "congestion
//! control after fast recovery" (CCaFR).
//!
//! * after a fast recovery, with every ACK until the link is full: Algorithm 1
//!   (`after_recovery/mod.rs`), with FAST's equation (1) as its step
//!
//! Units: windows in bytes; 1/w is a packet per window of packets; times in seconds.
//!
//! **Physics.** A recovery leaves half of the window, which returns as a train at the bottleneck's
//! rate with a gap behind it. (1) once per round trip fills that gap by gamma*alpha packets each
//! time. With every ACK of a round trip, and w on its right side being the number in flight when
//! the acknowledged packet was sent, it covers `1 - (1 - gamma)^acks` of the distance, which is all
//! of it: `w -> flight*baseRTT/RTT + alpha`. So the window grows by up to alpha per round trip,
//! 1/gamma times as fast as FAST, however many ACKs arrive. With the current window on the right
//! side each ACK would add gamma*alpha, and a round trip gamma*alpha windows. The module's
//! `old_pif`, which Algorithm 1 uses too, prevents this explosion.
//!
//! **When it works.** Single losses on a path whose queue holds alpha packets. It refills the path
//! in the fraction gamma of FAST's round trips, and in half of that where FAST steps every other
//! round trip (the module).
//!
//! **Limits.**
//! * **Bursts.** The growth of a round trip leaves with its first ACKs, all at once: small queues
//!   overflow, and RTTs in the train rise before the link is full.
//! * **A slow mean of RTTs** in (1) (`memory = 256`, the module) reflects the queue only after it
//!   has overflowed.
//! * **Losses** before the link is full restart the mode; everything else is FAST's.
//!
//! **Decisions**, measured in docs/emfast.md.
//! * Floating-point numbers are not "equal". Spacings are equal within half of the average, which
//!   is half of a packet's time at the measured rate; RTTs within 2 %, or 1 ms. With this tolerance
//!   a link used to two thirds counts as full: where a third of the time is a gap, the average is
//!   1.5 times the spacing in the train. The mode therefore ends early and FAST does the rest. This
//!   reproduces the paper's numbers. With `ipd_tolerance = 0.1`, and `gap_at_equality = false` or
//!   SACK, the mode lasts until the link is full and takes less than half as long; where others
//!   share a short queue it then loses more.
//! * Averages cover five windows of ACKs, which is the module's 256 on the paper's path. They still
//!   reflect the full link at the end of a recovery, and the RTT can return to them. ACKs of the
//!   recovery itself do not count. An average that started at the recovery's end would be that of
//!   the train, and every ACK of the train would equal it.
//! * gapflag is set as line 11 is printed, at equal spacings. The text of (2) says "true as the
//!   first gap between the series of acknowledgment is detected", and at every gap line 11 is
//!   false. `gap_at_equality = false` follows the text: the flag is set at the first spacing above
//!   the average. Where a recovery sends continuously (SACK, PRR) both have the same effect.
//! * Line 12 may set the flag that line 4 has cleared, and the next recovery would begin with it
//!   set. Here each recovery begins with the flag cleared.
//! * A new loss, a timeout and an undo end the mode. Marks and timeouts do not begin it, because
//!   they have no fast recovery.
//! * The paper does not state alpha.

use super::{ALPHA, EVERY, Fast, GAMMA, MEMORY, SLOW_START_DELAY};
use crate::after_recovery::{
    AfterRecovery, GAP_AT_EQUALITY, Growth, IPD_TOLERANCE, RTT_TOLERANCE, WINDOWS,
};
use crate::building_blocks::rule::{Rule, WindowController};
use crate::building_blocks::window::Window;
use crate::interface::{Ack, Loss, LossResponse, Timeout, TransportFeatures};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Look, code};
use whimbrel_units::Time;

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "emfast",
    code: code!(
        "algorithms/delay/fast/emfast.rs",
        "after_recovery/mod.rs",
        "algorithms/delay/fast/mod.rs",
        "estimators/average.rs",
        "algorithms/delay/fast/alpha.rs"
    ),
    summary: "FAST for several streams, with a step per ACK after a fast recovery",
    citation: "S. Ahmad, M. J. Arshad, \"Enhanced Multistream Fast TCP: Rapid Bandwidth \
               Utilization after Fast-Recovery Phase\", Appl. Sci. 9(21), 4698, 2019",
    parameters: &[
        ALPHA,
        GAMMA,
        EVERY,
        SLOW_START_DELAY,
        MEMORY,
        WINDOWS,
        IPD_TOLERANCE,
        RTT_TOLERANCE,
        GAP_AT_EQUALITY,
    ],
    feed: Feed::Acknowledgments {
        family: Family::Delay,
        driven_by: DrivenBy::LossesAndDelays,
        build: |setup, values| {
            let rule = Emfast {
                fast: Fast::new(values),
                after: AfterRecovery::new(values),
            };
            Box::new(
                WindowController::new(setup, rule)
                    .with_transport_features(TransportFeatures::STREAMS),
            )
        },
    },
    look: Look::of(10, 11),
    ..Entry::BLANK
};

/// The rule of EMFAST.
#[derive(Debug, Clone)]
struct Emfast {
    fast: Fast,
    after: AfterRecovery,
}

impl Rule for Emfast {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.fast.measure(window, ack);
        let spacing = self.after.measure(window.segments(), ack);
        if !Window::may_grow(ack) {
            return;
        }
        match self.after.on_ack(ack, spacing) {
            None => self.fast.act(window, ack),
            Some(Growth::OneOverWindow) => window.grow(ack.acked.get(), 1.0),
            Some(Growth::Step) => {
                if let Some(next) = self.fast.next_window(window, ack) {
                    if next < window.cwnd {
                        window.reduce_to(next);
                    } else {
                        window.cwnd = next;
                    }
                }
            }
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
        self.after.on_loss(loss.signal);
        self.fast.on_loss(window, loss)
    }

    fn on_recovery_end(&mut self, window: &mut Window, now: Time) {
        self.fast.on_recovery_end(window, now);
        self.after.on_recovery_end();
    }

    fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        self.after.stop();
        self.fast.on_timeout(window, timeout);
    }

    fn on_spurious(&mut self, before: &Self) {
        self.after.stop();
        self.fast.on_spurious(&before.fast);
    }

    fn phase(&self, window: &Window) -> &'static str {
        self.after
            .phase()
            .unwrap_or_else(|| self.fast.phase(window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::{AtSending, Controller, Signal};
    use crate::testing::{ACK, Bottleneck, MSS, built, loss, segments, timeout};
    use whimbrel_units::{Bytes, Duration, Rate};

    const MS: Duration = Duration::from_millis(1);

    /// A flow that receives one ACK after another.
    struct Script {
        controller: Box<dyn Controller>,
        now: Time,
        /// RTT of the packets acknowledged.
        rtt: Duration,
        /// Packets in flight when they were sent.
        in_flight: u64,
    }

    impl Script {
        /// The link has been full with 52 packets for a long time: ACKs arrive every 5 ms with an
        /// RTT of `rtt` on a path with a base RTT of `base`.
        fn on_path(parameters: &str, base: Duration, rtt: Duration) -> Self {
            let mut script = Self {
                controller: built(&format!("emfast?alpha=6{parameters}"), 52),
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

        /// Approximately the paper's path.
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
                retransmitted: false,
            };
            self.controller.on_ack(&Ack {
                now: self.now,
                rtt: Some(self.rtt),
                cwnd_limited: limited,
                newest: Some(at),
                ..ACK
            });
            segments(&*self.controller)
        }

        /// A packet is lost and repaired while ACKs keep arriving.
        fn recover(&mut self) {
            let lost = loss(&*self.controller, self.now);
            self.controller.on_loss(&lost);
            assert_eq!(segments(&*self.controller), 26.0);
            self.controller.on_recovery_end(self.now);
            self.in_flight = 26;
            assert_eq!(self.controller.phase(), FIRST_TRAIN);
        }
    }

    /// The gap flag by the text.
    const TEXT: &str = "&gap_at_equality=false";
    const FIRST_TRAIN: &str = "after recovery: first train";
    const REFILLING: &str = "after recovery: refilling";
    const NORMAL: &str = "congestion avoidance";

    fn near(got: f64, expected: f64) {
        assert!((got - expected).abs() < 0.002, "{got}, not {expected}");
    }

    #[test]
    fn in_the_first_train_each_ack_adds_one_over_the_window() {
        let mut script = Script::full(TEXT, MS * 290);
        script.recover();
        script.rtt = MS * 250;
        // 26 + 1/26, and again.
        near(script.ack(MS * 5, true), 26.038);
        near(script.ack(MS * 5, true), 26.077);
        assert_eq!(script.controller.phase(), FIRST_TRAIN);
    }

    #[test]
    fn after_a_gap_each_ack_makes_a_step_of_equation_1() {
        // No tolerance, so that a hundred gaps do not become the average.
        let never_equal = format!("{TEXT}&ipd_tolerance=0");
        let mut script = Script::full(&never_equal, MS * 250);
        script.recover();
        // Line 12 sets the flag after line 9 has added 1/26.
        near(script.ack(MS * 110, true), 26.038);
        assert_eq!(script.controller.phase(), REFILLING);
        // Empty queue: 13.019 + (26 + 6)/2, and 14.510 + 16.
        near(script.ack(MS * 110, true), 29.019);
        near(script.ack(MS * 110, true), 30.510);
        for _ in 0..100 {
            script.ack(MS * 110, true);
        }
        near(segments(&*script.controller), 32.0);
        // The number in flight one round trip ago plus alpha: the ACKs of one round trip cannot add
        // more.
        script.in_flight = 32;
        for _ in 0..100 {
            script.ack(MS * 110, true);
        }
        near(segments(&*script.controller), 38.0);
    }

    #[test]
    fn equation_1_reduces_the_window_too() {
        let mut script = Script::full(TEXT, MS * 250);
        script.recover();
        script.ack(MS * 110, true);
        // With 10 in flight at that time: 13.019 + 16/2.
        script.in_flight = 10;
        near(script.ack(MS * 110, true), 21.019);
    }

    #[test]
    fn by_line_11_as_printed_equal_spacings_set_the_flag() {
        let mut script = Script::full("", MS * 290);
        script.recover();
        script.rtt = MS * 250;
        near(script.ack(MS * 110, true), 26.038);
        assert_eq!(script.controller.phase(), FIRST_TRAIN, "a gap does not");
        let mut script = Script::full("", MS * 290);
        script.recover();
        script.rtt = MS * 250;
        near(script.ack(MS * 5, true), 26.038);
        assert_eq!(script.controller.phase(), REFILLING);
    }

    /// The phase after an ACK with this spacing in microseconds and this RTT, when the averages are
    /// `average` ms and 5 ms.
    fn phase_after(average: u64, spacing: u64, rtt: u64) -> &'static str {
        let parameters = format!("{TEXT}&afr_windows=1000");
        let mut script = Script::on_path(&parameters, MS * average, MS * average);
        script.recover();
        script.rtt = Duration::from_micros(rtt);
        script.ack(Duration::from_micros(spacing), true);
        script.controller.phase()
    }

    #[test]
    fn the_link_is_full_when_spacing_and_rtt_equal_their_averages() {
        assert_eq!(phase_after(290, 5_000, 290_000), NORMAL);
        // Half of 5 ms; 2 % of 290 ms are 5.8 ms.
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
    fn only_a_fast_recovery_begins_the_mode() {
        let begun = || {
            let mut script = Script::full("", MS * 290);
            script.recover();
            script
        };
        let mut script = begun();
        script
            .controller
            .on_loss(&loss(&*script.controller, script.now));
        assert_eq!(script.controller.phase(), NORMAL);
        let mut script = begun();
        script.controller.on_spurious(script.now);
        assert_eq!(
            (segments(&*script.controller), script.controller.phase()),
            (52.0, "slow start")
        );
        let mut script = begun();
        script
            .controller
            .on_timeout(&timeout(&*script.controller, script.now));
        script.controller.on_recovery_end(script.now);
        assert_eq!(script.controller.phase(), "slow start");
        let mut script = begun();
        script.controller.on_loss(&Loss {
            signal: Signal::Ecn,
            ..loss(&*script.controller, script.now)
        });
        script.controller.on_recovery_end(script.now);
        assert_eq!(script.controller.phase(), NORMAL);
    }

    #[test]
    fn each_recovery_begins_with_the_first_train() {
        // Line 12 comes after line 4, and as printed would leave the flag set.
        let mut script = Script::full("", MS * 290);
        script.recover();
        script.ack(MS * 5, true);
        assert_eq!(script.controller.phase(), NORMAL);
        script
            .controller
            .on_loss(&loss(&*script.controller, script.now));
        script.controller.on_recovery_end(script.now);
        assert_eq!(script.controller.phase(), FIRST_TRAIN);
    }

    #[test]
    fn after_a_loss_it_fills_the_link_before_fast_does() {
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
        // 26 of 46 packets are missing at first, and fewer each round trip: FAST adds 3 per round
        // trip, EMFAST up to 6.
        assert!(emfast > fast + 40 * MSS, "{emfast} {fast}");
        assert!(emfast <= 6 * 1_500_000 / 8);
    }
}
