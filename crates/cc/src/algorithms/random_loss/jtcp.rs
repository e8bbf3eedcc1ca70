//! JTCP: Reno that reduces only if the path stretched the last round trip by more than the window's
//! growth explains.
//!
//! E. H.-K. Wu, M.-Z. Chen, "JTCP: Jitter-Based TCP for Heterogeneous Wireless Networks", IEEE JSAC
//! 22(4), 2004. Its abstract was available, and section 2 of Briones et al. (see `jitter`), which
//! describes the Jitter Ratio and its comparison with k/w, k = 1. The response to a loss or a
//! timeout is known from secondary sources only and could not be checked against the paper.
//!
//! * Jitter Ratio of a round trip: `Jr = (received - sent)/received`, the spans between its first
//!   and its last packet
//! * loss: congestion if `Jr > k/w`, w the window in packets; then half of the flight (fast
//!   recovery), unless the last reduction was at most one round-trip time ago. Otherwise "immediate
//!   recovery": retransmission without a change of the window
//! * timeout: one segment; ssthresh is half of the flight for congestion, otherwise the previous
//!   window
//! * growth and slow start are Reno's
//!
//! Units: spans in nanoseconds; Jr and k/w are fractions of a window; k in packets.
//!
//! **Physics.** A window that is clocked by its own ACKs has their span, and arrives with a longer
//! one if packets had to wait: with k more of them queued at its end than at its beginning, Jr =
//! k/w. Growing by one per round trip, Reno adds one packet to the queue in each once the path is
//! full, and none before.
//!
//! **When it works.** A separate bottleneck that loses packets only after it was filled by one
//! packet per round trip; fine-grained receiver timestamps.
//!
//! **Limits** (more in `jitter`, which has the same measure).
//! * **A window at a queue that stays full** is not stretched, and its losses count as random: the
//!   "ineffective jitter ratio" for which the same group changed the algorithm later (Chen et al.,
//!   "Improving SCTP Performance by Jitter-Based Congestion Control over Wired-Wireless Networks",
//!   EURASIP 2011). Without random loss and with a buffer of one BDP: at 20 Mbit/s and 50 ms the
//!   first loss of each overflow counts as random and the next, a round trip later, as congestion;
//!   at 100 Mbit/s all of them count as random, the window stays where slow start left it, and 23 %
//!   of the packets are lost.
//! * **The margin is small** in growth, too: the round of w packets, one more than before, has Jr =
//!   1/(w-1), which is compared with 1/w.
//! * **The receiver's clock.** A tick of 1 ms exceeds k/w of a round of 100 ms from 10 packets on.
//!   On a transport without receiver times (QUIC) every loss is congestion, and JTCP is Reno.
//! * **Packets of other flows** stretch the window as much as its own.
//!
//! **Decisions.** Jr is taken over the last whole round trip; a round trip without a value (fewer
//! than two packets, or all at once) keeps the last Jr. A loss within a round-trip time of the last
//! reduction keeps its verdict, and the window does not change. A random timeout keeps the slow
//! start threshold but not the window: nothing is in flight then, and the old window would leave in
//! one burst. Marks (RFC 3168) are congestion.

use crate::building_blocks::rule::{Rule, WindowController, half, slow_start};
use crate::building_blocks::window::Window;
use crate::classifiers::jitter::Round;
use crate::interface::{Ack, Loss, LossResponse, Signal, Timeout, TransportFeatures, Verdict};
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};
use whimbrel_units::{Duration, Time};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "jtcp",
    code: code!("algorithms/random_loss/jtcp.rs", "classifiers/jitter.rs"),
    summary: "NewReno that ignores losses while the path does not stretch its round trips \
              (equations at second hand)",
    citation: "E. H.-K. Wu, M.-Z. Chen, \"JTCP: Jitter-Based TCP for Heterogeneous Wireless \
               Networks\", IEEE JSAC 22(4), 2004",
    parameters: &[Parameter {
        name: "k",
        domain: Domain::Number {
            default: 1.0,
            range: (0.0, 1000.0),
        },
        meaning: "growth of the queue per round trip above which a loss is congestion, packets",
    }],
    feed: Feed::Acknowledgments {
        family: Family::RandomLoss,
        driven_by: DrivenBy::Losses,
        build: |setup, values| {
            let rule = Jtcp::new(values.number("k"));
            Box::new(
                WindowController::new(setup, rule)
                    .with_transport_features(TransportFeatures::RECEIVER_TIMES),
            )
        },
    },
    look: Look::of(37, 6),
    without_receiver_clock: Some("it took every loss for congestion"),
    ..Entry::BLANK
};

/// The rule of JTCP.
#[derive(Debug, Clone)]
struct Jtcp {
    /// Packets.
    k: f64,
    round: Round,
    /// Jr of the last round trip with a value.
    ratio: Option<f64>,
    srtt: Duration,
    last_decrease: Option<Time>,
}

impl Jtcp {
    fn new(k: f64) -> Self {
        Self {
            k,
            round: Round::default(),
            ratio: None,
            srtt: Duration::ZERO,
            last_decrease: None,
        }
    }

    fn judge(&self, window: &Window) -> Verdict {
        let allowed = self.k * window.mss as f64 / window.cwnd as f64;
        match self.ratio {
            Some(ratio) if ratio <= allowed => Verdict::Random,
            _ => Verdict::Congestion,
        }
    }
}

impl Rule for Jtcp {
    const CLASSIFIES_LOSSES: bool = true;

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.srtt = ack.srtt;
        if ack.round_start {
            let ended = std::mem::take(&mut self.round);
            self.ratio = ended
                .spans()
                .and_then(|spans| spans.jitter_ratio())
                .or(self.ratio);
        }
        self.round.on_ack(ack);
        let acked = slow_start(window, ack);
        window.grow(acked, 1.0);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
        let verdict = match loss.signal {
            Signal::Ecn => Verdict::Congestion,
            Signal::Loss => loss.verdict(self.judge(window)),
        };
        let recent = self
            .last_decrease
            .is_some_and(|last| loss.now.since(last) <= self.srtt);
        let reduced = verdict == Verdict::Congestion && !recent;
        if reduced {
            self.last_decrease = Some(loss.now);
            window.reduce_to(half(window, loss.in_flight));
        }
        LossResponse {
            reduced,
            verdict: Some(verdict),
            confidence: None,
        }
    }

    fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        self.last_decrease = Some(timeout.now);
        let ssthresh = match self.judge(window) {
            Verdict::Congestion => half(window, timeout.in_flight),
            Verdict::Random => window.cwnd,
        };
        window.collapse(Some(ssthresh));
    }

    fn on_spurious(&mut self, before: &Self) {
        self.last_decrease = before.last_decrease;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::{AtSending, Controller};
    use crate::registry::Spec;
    use crate::testing::{ACK, MSS, loss, segments, setup, timeout};
    use whimbrel_units::Bytes;

    /// A flow and a path that answers its round trips.
    struct Flow {
        controller: Box<dyn Controller>,
        now: Time,
    }

    impl Flow {
        fn new(text: &str, segments: u64) -> Self {
            Self {
                controller: text
                    .parse::<Spec>()
                    .expect("valid")
                    .build(&setup(segments))
                    .expect("fed acknowledgments"),
                now: Time::from_nanos(10_000_000_000),
            }
        }

        /// A round trip of 100 ms whose packets left over `sent` and arrived over `received`
        /// microseconds.
        fn round(&mut self, sent: u64, received: Option<u64>) {
            for share in [0, 1] {
                let newest = AtSending {
                    sent: self.now + Duration::from_micros(share * sent),
                    in_flight: Bytes::new(MSS),
                    delivered: Bytes::ZERO,
                    lost: Bytes::ZERO,
                    app_limited: false,
                    retransmitted: false,
                };
                self.controller.on_ack(&Ack {
                    now: self.now,
                    round_start: share == 0,
                    newest: Some(newest),
                    receiver_time: received.map(|us| self.now + Duration::from_micros(share * us)),
                    in_recovery: true,
                    ..ACK
                });
            }
            self.now += Duration::from_millis(100);
        }

        /// Ends the round trip and loses a packet of the next one.
        fn lose(&mut self) -> (LossResponse, f64) {
            self.round(0, None);
            let response = self.controller.on_loss(&loss(&*self.controller, self.now));
            (response, segments(&*self.controller))
        }
    }

    const RANDOM: LossResponse = LossResponse {
        reduced: false,
        verdict: Some(Verdict::Random),
        confidence: None,
    };
    const CONGESTION: LossResponse = LossResponse {
        reduced: true,
        verdict: Some(Verdict::Congestion),
        confidence: None,
    };

    #[test]
    fn a_window_stretched_by_more_than_1_over_w_is_congestion() {
        // w = 50: k/w = 0.02. 98 ms that arrive as 100 ms are Jr = 0.02, as 101 ms 0.0297.
        let mut flow = Flow::new("jtcp", 50);
        flow.round(98_000, Some(100_000));
        assert_eq!(flow.lose(), (RANDOM, 50.0), "on equality");
        flow.round(98_000, Some(101_000));
        assert_eq!(flow.lose(), (CONGESTION, 25.0));
    }

    #[test]
    fn k_sets_the_number_of_packets() {
        // Jr = 0.1 compared with 5/50 and 4/50.
        for (text, expected) in [
            ("jtcp?k=5", (RANDOM, 50.0)),
            ("jtcp?k=4", (CONGESTION, 25.0)),
        ] {
            let mut flow = Flow::new(text, 50);
            flow.round(90_000, Some(100_000));
            assert_eq!(flow.lose(), expected, "{text}");
        }
    }

    #[test]
    fn a_compressed_window_is_not_congestion() {
        let mut flow = Flow::new("jtcp", 50);
        flow.round(100_000, Some(50_000));
        assert_eq!(flow.lose(), (RANDOM, 50.0));
    }

    #[test]
    fn without_receiver_times_every_loss_is_congestion() {
        let mut flow = Flow::new("jtcp", 50);
        flow.round(100_000, None);
        assert_eq!(flow.lose(), (CONGESTION, 25.0));
    }

    #[test]
    fn within_a_round_trip_of_a_reduction_the_window_is_kept() {
        let mut flow = Flow::new("jtcp", 64);
        flow.round(50_000, Some(100_000));
        assert_eq!(flow.lose(), (CONGESTION, 32.0));
        let kept = LossResponse {
            reduced: false,
            ..CONGESTION
        };
        let reduced_at = flow.now;
        // The smoothed RTT is 100 ms.
        for (ms, expected) in [
            (0, (kept, 32.0)),
            (100, (kept, 32.0)),
            (101, (CONGESTION, 16.0)),
        ] {
            let now = reduced_at + Duration::from_millis(ms);
            let response = flow.controller.on_loss(&loss(&*flow.controller, now));
            assert_eq!((response, segments(&*flow.controller)), expected, "{ms}");
        }
    }

    #[test]
    fn within_a_round_trip_of_a_timeout_the_window_is_kept() {
        // With k = 1 no loss of a window of one segment is congestion.
        let mut flow = Flow::new("jtcp?k=0", 64);
        flow.round(50_000, Some(100_000));
        flow.round(0, None);
        let fired = flow.now;
        flow.controller
            .on_timeout(&timeout(&*flow.controller, fired));
        for (ms, reduced) in [(100, false), (101, true)] {
            let now = fired + Duration::from_millis(ms);
            let response = flow.controller.on_loss(&loss(&*flow.controller, now));
            assert_eq!(response.reduced, reduced, "{ms}");
        }
    }

    #[test]
    fn an_undo_allows_the_next_reduction() {
        let mut flow = Flow::new("jtcp", 64);
        flow.round(50_000, Some(100_000));
        flow.lose();
        flow.controller.on_spurious(flow.now);
        assert_eq!(segments(&*flow.controller), 64.0);
        let again = flow.controller.on_loss(&loss(&*flow.controller, flow.now));
        assert_eq!(again, CONGESTION);
    }

    #[test]
    fn a_random_timeout_keeps_the_window_as_ssthresh() {
        for (received, ssthresh) in [(100_000, 40), (200_000, 20)] {
            let mut flow = Flow::new("jtcp", 40);
            flow.round(100_000, Some(received));
            flow.round(0, None);
            flow.controller
                .on_timeout(&timeout(&*flow.controller, flow.now));
            assert_eq!(segments(&*flow.controller), 1.0);
            assert_eq!(flow.controller.ssthresh(), Some(Bytes::new(ssthresh * MSS)));
        }
    }

    #[test]
    fn a_known_cause_is_used_and_marks_are_congestion() {
        let mut flow = Flow::new("jtcp", 40);
        flow.round(50_000, Some(100_000));
        flow.round(0, None);
        let event = Loss {
            truth: Some(Verdict::Random),
            ..loss(&*flow.controller, flow.now)
        };
        assert_eq!(flow.controller.on_loss(&event), RANDOM);
        let marked = Loss {
            signal: Signal::Ecn,
            ..event
        };
        assert_eq!(flow.controller.on_loss(&marked), CONGESTION);
    }
}
