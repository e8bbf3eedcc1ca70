//! Vegas: keeps a few packets in the queue by comparing the actual rate with the rate expected
//! without a queue.
//!
//! L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE
//! JSAC 13(8), 1995. The paper was not available. The code follows the implementations ns-2
//! `tcp-vegas.cc`, Linux `tcp_vegas.c` and ns-3 `tcp-vegas.cc`; equations as in (2.8) and (2.9) of
//! the thesis of T. Saedi (see `cerl`).
//!
//! * once per round trip: `Diff = cwnd/BaseRTT - cwnd/RTT`; as packets in the queue, `Diff*BaseRTT
//!   = cwnd*(RTT - BaseRTT)/RTT`
//! * fewer than alpha of them: `cwnd += 1`; more than beta: `cwnd -= 1`; in between: no change
//! * slow start doubles the window every other round trip and compares after the round trips in
//!   which the window was constant; with more than gamma packets queued, slow start ends
//! * losses and timeouts are Reno's
//!
//! Units: windows in bytes; alpha, beta and gamma in segments.
//!
//! **Physics.** A window above the bandwidth-delay product does not increase the rate; the excess
//! waits in the queue. alpha packets in the queue suffice to use bandwidth that becomes free; more
//! only add delay.
//!
//! **When it works.** Alone or among Vegas flows: no loss, and a queue of alpha to beta packets per
//! flow.
//!
//! **Limits.**
//! * **Beside loss-based algorithms** Vegas yields: it sees their queue as delay.
//! * **Random loss** halves the window as in Reno, and it grows back no faster: one segment per
//!   round trip.
//! * **BaseRTT** must be that of the path. A flow that starts while a queue exists includes that
//!   queue in BaseRTT and keeps its alpha packets on top of it. A route that becomes longer looks
//!   like a queue, and the window shrinks to two segments.
//! * **Jitter** of more than a few packet times looks like a queue: three samples decide for a
//!   round trip.
//!
//! **Decisions.**
//! * alpha 2, beta 4 and gamma 1 as in Linux and ns-3, the implementations in use; `alpha=1&beta=3`
//!   is the paper's other choice (from a secondary source). The queues differ by one packet.
//! * RTT is the minimum of the first three samples of a round trip. The paper times one
//!   "distinguished segment", the first one sent in the previous round trip, which has met the
//!   queue of that round's window. Three samples are used because one acknowledgment may be
//!   delayed, which looks like a queue. Linux and ns-3 take the minimum of all samples of the
//!   round. That value is as old as the first sample when the round ends, and meanwhile slow start
//!   overflows the queue that it should spare. A mean (ns-2) would include the round's own bursts.
//! * A round trip with fewer than three samples gives no decision, and the window grows as in Reno
//!   (Linux and ns-3: for one acknowledgment; `linux=true`).
//! * Linux divides by BaseRTT instead of RTT and by whole packets:
//!   `Diff*BaseRTT = floor(cwnd*(RTT - BaseRTT)/BaseRTT)` (`linux=true`). On a path that its queue
//!   makes longer by half, it counts half as many packets again; its 2 to 4 are 2 to below 5.
//! * BaseRTT is that of the whole connection. Linux forgets it whenever sending resumes with
//!   nothing in flight (ns-3 does not).
//! * At the end of slow start the window falls to what the path held, `cwnd*BaseRTT/RTT`, plus a
//!   segment (Linux, ns-3; ns-2: by an eighth). The window may be twice that, and would otherwise
//!   shrink by one per round trip.
//! * Linux and ns-3 double every round trip; the paper and ns-2 every other one, so that the
//!   comparison uses a constant window.
//! * The finer retransmission timer and the treatment of duplicate ACKs belong to the transport,
//!   and with them ns-2's cut by a quarter: a loss halves the window here, as in Linux and ns-3.
//! * No comparison takes place during recovery or while the window is not used.

use crate::building_blocks::rule::{Rule, WindowController, grow_as_reno, half, slow_start};
use crate::building_blocks::window::{SLOW_START_LIMIT, Window};
use crate::estimators::round_rtt::{Round, RoundRtt, queued};
use crate::interface::{Ack, Loss, LossResponse, Timeout};
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};

const ALPHA: Parameter = Parameter {
    name: "alpha",
    domain: Domain::Number {
        default: 2.0,
        range: (0.0, 1000.0),
    },
    meaning: "the window grows with fewer packets than this in the queue",
};

const BETA: Parameter = Parameter {
    name: "beta",
    domain: Domain::Number {
        default: 4.0,
        range: (0.0, 1000.0),
    },
    meaning: "the window shrinks with more packets than this in the queue",
};

const GAMMA: Parameter = Parameter {
    name: "gamma",
    domain: Domain::Number {
        default: 1.0,
        range: (0.0, 1000.0),
    },
    meaning: "slow start ends with more packets than this in the queue",
};

const LINUX: Parameter = Parameter {
    name: "linux",
    domain: Domain::Switch(false),
    meaning: "as Linux's tcp_vegas: it counts queued packets by the minimum RTT, in whole packets, \
              and after a round trip with two samples or fewer the window grows as Reno's for one \
              acknowledgment, instead of by a segment",
};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "vegas",
    code: code!("algorithms/delay/vegas.rs"),
    summary: "Keeps a few packets in the queue, estimated from the round-trip time",
    citation: "L. Brakmo, L. Peterson, \"TCP Vegas: End to End Congestion Avoidance on a Global \
               Internet\", IEEE JSAC 13(8), 1995",
    parameters: &[ALPHA, BETA, GAMMA, LINUX],
    feed: Feed::Acknowledgments {
        family: Family::Delay,
        driven_by: DrivenBy::LossesAndDelays,
        build: |setup, values| {
            let vegas = Vegas {
                alpha: values.number("alpha"),
                beta: values.number("beta"),
                gamma: values.number("gamma"),
                linux: values.switch("linux"),
                rounds: RoundRtt::default(),
                doubles: false,
            };
            Box::new(WindowController::new(setup, vegas))
        },
    },
    kernel: Some("vegas"),
    look: Look::of(14, 14),
    ..Entry::BLANK
};

/// Minimum number of RTT samples for a decision: fewer may all be of delayed ACKs.
pub(crate) const SAMPLES: u32 = 3;

/// The rule of Vegas.
#[derive(Debug, Clone)]
struct Vegas {
    /// Segments.
    alpha: f64,
    /// Segments.
    beta: f64,
    /// Segments.
    gamma: f64,
    /// Counts as Linux does, and grows for one acknowledgment after a round trip without a
    /// decision.
    linux: bool,
    rounds: RoundRtt,
    /// In slow start: the window doubles until the next decision, then stays constant until the one
    /// after.
    doubles: bool,
}

impl Vegas {
    /// Decides once per round trip; `None`: it had too few samples.
    fn decide(&mut self, window: &mut Window, round: Option<Round>) {
        // Bytes in the queue.
        let backlog = round.map(|round| queued(window.cwnd, round.base, round.min));
        let counted = match (self.linux, round) {
            (true, Some(round)) => {
                let longer = (round.min - round.base).as_secs_f64() / round.base.as_secs_f64();
                let packets = (window.segments() * longer).floor();
                Some(packets * window.mss as f64).filter(|bytes| bytes.is_finite())
            }
            _ => backlog,
        };
        let over = |packets: f64| counted.is_some_and(|bytes| bytes > packets * window.mss as f64);
        let under = |packets: f64| counted.is_none_or(|bytes| bytes < packets * window.mss as f64);
        if !window.in_slow_start() {
            if over(self.beta) {
                window.reduce_to(window.cwnd.saturating_sub(window.mss));
            } else if under(self.alpha) {
                window.cwnd = window.cwnd.saturating_add(window.mss);
            }
            return;
        }
        if !self.doubles && over(self.gamma) {
            let held = window
                .cwnd
                .saturating_sub(backlog.map_or(0, |bytes| bytes as u64));
            window.reduce_to(held.saturating_add(window.mss));
        }
        self.doubles = !self.doubles;
    }
}

impl Rule for Vegas {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let ended = self.rounds.on_ack(ack);
        if !Window::may_grow(ack) {
            return;
        }
        if ended.is_some_and(|round| round.samples < SAMPLES) {
            match self.linux {
                true => grow_as_reno(window, ack, SLOW_START_LIMIT),
                false => self.decide(window, None),
            }
        }
        if let (Some(_), Some(round)) = (ack.rtt, self.rounds.so_far())
            && round.samples == SAMPLES
        {
            self.decide(window, Some(round));
        }
        if window.in_slow_start() && self.doubles {
            slow_start(window, ack);
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
        window.reduce_to(half(window, loss.in_flight));
        LossResponse::REDUCED
    }

    fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        self.doubles = false;
        window.collapse(Some(half(window, timeout.in_flight)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Controller;
    use crate::testing::{ACK, Bottleneck, Path, built, loss, segments, timeout};
    use whimbrel_units::{Duration, Rate, Time};

    const MS: Duration = Duration::from_millis(1);

    /// A controller in congestion avoidance with this many segments and no measurement yet.
    fn avoiding(text: &str, segments: u64) -> Box<dyn Controller> {
        let mut controller = built(text, 2 * segments);
        know_base(&mut *controller);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        controller
    }

    /// A round trip at 100 ms in which the window is not used. The handshake was faster because its
    /// packets are short.
    fn know_base(controller: &mut dyn Controller) {
        for _ in 0..SAMPLES {
            controller.on_ack(&Ack {
                rtt: Some(MS * 100),
                min_rtt: MS * 90,
                cwnd_limited: false,
                ..ACK
            });
        }
    }

    /// A round trip of `samples` ACKs with an RTT of `ms`.
    fn round(controller: &mut dyn Controller, ms: u64, samples: u32) {
        for i in 0..samples {
            controller.on_ack(&Ack {
                rtt: Some(MS * ms),
                min_rtt: MS * 90,
                round_start: i == 0,
                ..ACK
            });
        }
    }

    /// The window after a round trip with an RTT of `ms`, whose third ACK decides.
    fn judged(text: &str, segments_before: u64, ms: u64) -> f64 {
        let mut controller = avoiding(text, segments_before);
        round(&mut *controller, ms, 10);
        segments(&*controller)
    }

    #[test]
    fn it_grows_below_alpha_and_shrinks_above_beta() {
        // 30 segments, base 100 ms. 107 ms: 1.96 packets queued; 108: 2.2; 115: 3.9; 116: 4.1.
        assert_eq!(judged("vegas", 30, 107), 31.0);
        assert_eq!(judged("vegas", 30, 108), 30.0);
        assert_eq!(judged("vegas", 30, 115), 30.0);
        assert_eq!(judged("vegas", 30, 116), 29.0);
        // With the paper's other values, 1 and 3: 103 ms is 0.87, 104 is 1.15, 111 is 2.97, 112 is
        // 3.2.
        let paper = "vegas?alpha=1&beta=3";
        assert_eq!(judged(paper, 30, 103), 31.0);
        assert_eq!(judged(paper, 30, 104), 30.0);
        assert_eq!(judged(paper, 30, 111), 30.0);
        assert_eq!(judged(paper, 30, 112), 29.0);
    }

    #[test]
    fn linux_counts_by_the_minimum_rtt_in_whole_packets() {
        // tcp_vegas_cong_avoid: diff = cwnd*(rtt - base)/base in integers, 30 segments and 100 ms.
        // 106.5 ms would be 1.95: 1 packet, below alpha; 107: 2. 116 ms: 4.8, which is 4, not above
        // beta; 117 ms: 5.1.
        let linux = "vegas?linux=true";
        for (ms, left) in [(106, 31.0), (107, 30.0), (116, 30.0), (117, 29.0)] {
            assert_eq!(judged(linux, 30, ms), left, "{ms}");
        }
        // A queue as long as the path: 5 of 10 segments wait, and Linux counts 10.
        assert_eq!(judged("vegas?beta=7", 10, 200), 10.0);
        assert_eq!(judged("vegas?beta=7&linux=true", 10, 200), 9.0);
    }

    #[test]
    fn a_round_trip_with_two_samples_is_that_of_reno() {
        let mut controller = avoiding("vegas", 30);
        round(&mut *controller, 300, 2);
        round(&mut *controller, 300, 1);
        assert_eq!(segments(&*controller), 31.0);
        // Linux's: for one acknowledgment of each, so thirty make a segment.
        let mut controller = avoiding("vegas?linux=true", 30);
        for (rounds, window) in [(30, 30.0), (1, 31.0)] {
            for _ in 0..rounds {
                round(&mut *controller, 300, 2);
            }
            assert_eq!(segments(&*controller), window);
        }
    }

    #[test]
    fn the_minimum_window_is_two_segments() {
        let mut controller = avoiding("vegas?beta=0&alpha=0", 3);
        for _ in 0..5 {
            round(&mut *controller, 900, 10);
        }
        assert_eq!(segments(&*controller), 2.0);
    }

    #[test]
    fn one_delayed_ack_is_not_taken_for_a_queue() {
        let mut controller = avoiding("vegas", 30);
        round(&mut *controller, 300, 1);
        for _ in 0..5 {
            controller.on_ack(&Ack {
                rtt: Some(MS * 109),
                min_rtt: MS * 90,
                ..ACK
            });
        }
        assert_eq!(
            segments(&*controller),
            30.0,
            "at 109 ms 2.5 packets are queued"
        );
    }

    #[test]
    fn slow_start_doubles_every_other_round_trip() {
        let mut controller = built("vegas", 10);
        let mut path = Path::new(MS * 100);
        for expected in [20.0, 40.0, 80.0] {
            path.round(&mut *controller);
            path.round(&mut *controller);
            assert_eq!(segments(&*controller), expected);
        }
    }

    #[test]
    fn slow_start_ends_at_the_capacity_of_the_path_plus_one() {
        // At 125 ms 4 of 20 segments wait; at 105 ms 0.95, not more than gamma.
        for (ms, left, phase) in [
            (125, 17.0, "congestion avoidance"),
            (105, 21.0, "slow start"),
        ] {
            let mut controller = built("vegas", 10);
            round(&mut *controller, 100, 10);
            round(&mut *controller, 100, 10);
            assert_eq!(segments(&*controller), 20.0, "it is constant");
            round(&mut *controller, ms, 3);
            assert_eq!((segments(&*controller), controller.phase()), (left, phase));
        }
    }

    #[test]
    fn losses_and_timeouts_are_those_of_reno() {
        let mut controller = built("vegas", 40);
        assert_eq!(
            controller.on_loss(&loss(&*controller, Time::ZERO)),
            LossResponse::REDUCED
        );
        assert_eq!(segments(&*controller), 20.0);
        controller.on_timeout(&timeout(&*controller, Time::ZERO));
        assert_eq!(
            (segments(&*controller), controller.phase()),
            (1.0, "slow start")
        );
        let mut path = Path::new(MS * 100);
        path.round(&mut *controller);
        path.round(&mut *controller);
        assert_eq!(segments(&*controller), 2.0, "every other round trip again");
    }

    #[test]
    fn a_single_flow_queues_two_to_four_packets_on_a_full_link() {
        // With a buffer of one bandwidth-delay product, slow start does not overflow it.
        for (mbit, ms, bdp) in [(8, 100, 100), (40, 50, 250), (4, 20, 10)] {
            let rate = Rate::from_bits_per_sec(mbit * 1_000_000);
            let mut path = Bottleneck::new(rate, bdp);
            path.add(built("vegas", 10), MS * ms);
            path.run(Duration::from_secs(30));
            let delivered = path.flows[0].delivered;
            // The count includes the packet in transmission, which is no queue in the RTT.
            let (mean, max) = path.run(Duration::from_secs(30));
            assert!(
                (2.0..=5.5).contains(&mean),
                "{mbit} Mbit/s, {ms} ms: {mean}"
            );
            assert!(max <= 8, "{max}");
            let got = path.flows[0].rate_since(delivered, Duration::from_secs(30));
            assert!(got.as_bits_per_sec() as f64 > 0.99 * rate.as_bits_per_sec() as f64);
            assert_eq!(path.flows[0].lost, 0);
        }
    }
}
