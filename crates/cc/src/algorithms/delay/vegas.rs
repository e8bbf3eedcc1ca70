//! Vegas: keeps a few packets in the queue, by comparing the rate it has with the rate it would have without one.
//!
//! L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8), 1995,
//! which was not to be had; built from the implementations that follow it: ns-2's `tcp-vegas.cc`, Linux' `tcp_vegas.c`,
//! ns-3's `tcp-vegas.cc`; equations as in (2.8) and (2.9) of the thesis of T. Saedi (see `cerl`).
//!
//! * once a round trip: `Diff = cwnd/BaseRTT - cwnd/RTT`; as packets in the queue, `Diff*BaseRTT = cwnd*(RTT - BaseRTT)/RTT`
//! * fewer than alpha of them: `cwnd += 1`; more than beta: `cwnd -= 1`; between: it stays
//! * slow start doubles the window every other round trip, and compares after those in which it stood; with more than
//!   gamma packets queued slow start is over
//! * losses and timeouts are Reno's
//!
//! Units: windows in bytes; alpha, beta, gamma in segments.
//!
//! **The physics.** A window larger than the bandwidth-delay product does not send faster, it only waits: what is beyond
//! the BDP stands in the queue. Alpha of them are enough to take up bandwidth that becomes free; more only delay.
//!
//! **When it works.** Alone, or among its like: no loss, a queue of alpha to beta packets for each flow.
//!
//! **When not.**
//! * **Beside laws that live by losses** it gives way: their queue is its delay.
//! * **Random loss** halves it as Reno, and it grows back no faster: one segment a round trip.
//! * **BaseRTT** must be the path's own. A flow that begins while a queue stands takes it for the path, and keeps its alpha
//!   packets on top of it; a route that grows longer looks like a queue, and the window shrinks to two segments.
//! * **Jitter** of more than a few packets' time is taken for a queue: three samples decide for a round trip.
//!
//! **Decisions.**
//! * alpha 2, beta 4 and gamma 1 as in Linux and ns-3, where people meet Vegas; `alpha=1&beta=3` are the paper's other choice
//!   (at second hand). The queue differs by a packet.
//! * RTT is the least of the first three samples of a round trip. The paper times one "distinguished segment", the first
//!   that was sent in the round trip before: it has met what the window of that round queues. Three, because the
//!   acknowledgment of one may have been delayed, which looks like a queue. Linux and ns-3 take the least of all samples of
//!   the round; that is as old as the first of them when the round is over, and in the meantime slow start overflows the
//!   queue that it was to spare. A mean (ns-2) would count the round's own bursts.
//! * A round trip with fewer than three samples tells nothing, and the window grows as Reno's (Linux, ns-3).
//! * At the end of slow start the window comes down to what the path held, `cwnd*BaseRTT/RTT`, and a segment (Linux,
//!   ns-3; ns-2: by an eighth): it may be the double of that, and would come down by one a round trip.
//! * Linux and ns-3 double every round trip; the paper and ns-2 every other, so that something is compared that stood still.
//! * Its finer retransmission timer and what it makes of duplicate ACKs are the transport's, and with them the cut by
//!   a quarter that ns-2 has there: half, as in Linux and ns-3.
//! * While losses are repaired, or the window is not used, nothing is compared.

use crate::building_blocks::rule::{Rule, WindowController, half, slow_start};
use crate::building_blocks::window::Window;
use crate::estimators::round_rtt::{RoundRtt, queued};
use crate::interface::{Ack, Loss, LossResponse, Timeout};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Value, code};

const ALPHA: Parameter = Parameter {
    name: "alpha",
    default: Value::Number(2.0),
    range: (0.0, 1000.0),
    meaning: "packets in the queue below which the window grows",
};

const BETA: Parameter = Parameter {
    name: "beta",
    default: Value::Number(4.0),
    range: (0.0, 1000.0),
    meaning: "packets in the queue above which the window shrinks",
};

const GAMMA: Parameter = Parameter {
    name: "gamma",
    default: Value::Number(1.0),
    range: (0.0, 1000.0),
    meaning: "packets in the queue above which slow start is over",
};

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "vegas",
    code: code!("algorithms/delay/vegas.rs"),
    summary: "Keeps a few packets in the queue, by the round-trip time",
    citation: "L. Brakmo, L. Peterson, \"TCP Vegas: End to End Congestion Avoidance on a Global Internet\", \
               IEEE JSAC 13(8), 1995",
    family: Family::Delay,
    driven_by: DrivenBy::LossesAndDelays,
    feed: Feed::Acknowledgments,
    parameters: &[ALPHA, BETA, GAMMA],
    build: |setup, values| {
        let vegas = Vegas {
            alpha: values.number("alpha"),
            beta: values.number("beta"),
            gamma: values.number("gamma"),
            rounds: RoundRtt::default(),
            doubles: false,
        };
        Box::new(WindowController::new(setup, vegas))
    },
};

/// Fewer samples may be of delayed ACKs only.
pub(crate) const SAMPLES: u32 = 3;

/// Vegas' rule.
#[derive(Debug, Clone)]
struct Vegas {
    /// Segments.
    alpha: f64,
    /// Segments.
    beta: f64,
    /// Segments.
    gamma: f64,
    rounds: RoundRtt,
    /// In slow start: the window doubles until the next decision, and stands until the one after that.
    doubles: bool,
}

impl Vegas {
    /// Once a round trip, with what it found queued, bytes, if it could tell.
    fn decide(&mut self, window: &mut Window, backlog: Option<f64>) {
        let over = |packets: f64| backlog.is_some_and(|bytes| bytes > packets * window.mss as f64);
        let under = |packets: f64| backlog.is_none_or(|bytes| bytes < packets * window.mss as f64);
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
            self.decide(window, None);
        }
        if let (Some(_), Some(round)) = (ack.rtt, self.rounds.so_far())
            && round.samples == SAMPLES
        {
            let backlog = queued(window.cwnd, round.base, round.least);
            self.decide(window, Some(backlog));
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

    /// In congestion avoidance with this many segments, nothing measured yet.
    fn avoiding(text: &str, segments: u64) -> Box<dyn Controller> {
        let mut law = built(text, 2 * segments);
        know_base(&mut *law);
        law.on_loss(&loss(&*law, Time::ZERO));
        law
    }

    /// A round trip at 100 ms in which the window is not used. The handshake was faster: its packets are short.
    fn know_base(law: &mut dyn Controller) {
        for _ in 0..SAMPLES {
            law.on_ack(&Ack {
                rtt: Some(MS * 100),
                min_rtt: MS * 90,
                cwnd_limited: false,
                ..ACK
            });
        }
    }

    /// A round trip of `samples` ACKs at `ms`.
    fn round(law: &mut dyn Controller, ms: u64, samples: u32) {
        for i in 0..samples {
            law.on_ack(&Ack {
                rtt: Some(MS * ms),
                min_rtt: MS * 90,
                round_start: i == 0,
                ..ACK
            });
        }
    }

    /// The window after a round trip at `ms`, whose third ACK decides.
    fn judged(text: &str, segments_before: u64, ms: u64) -> f64 {
        let mut law = avoiding(text, segments_before);
        round(&mut *law, ms, 10);
        segments(&*law)
    }

    #[test]
    fn below_alpha_it_grows_above_beta_it_shrinks_and_between_it_stays() {
        // 30 segments, base 100 ms. 107 ms: 1.96 packets queued; 108: 2.2; 115: 3.9; 116: 4.1.
        assert_eq!(judged("vegas", 30, 107), 31.0);
        assert_eq!(judged("vegas", 30, 108), 30.0);
        assert_eq!(judged("vegas", 30, 115), 30.0);
        assert_eq!(judged("vegas", 30, 116), 29.0);
        // By the paper's other values, 1 and 3: 103 ms are 0.87, 104 are 1.15, 111 are 2.97, 112 are 3.2.
        let paper = "vegas?alpha=1&beta=3";
        assert_eq!(judged(paper, 30, 103), 31.0);
        assert_eq!(judged(paper, 30, 104), 30.0);
        assert_eq!(judged(paper, 30, 111), 30.0);
        assert_eq!(judged(paper, 30, 112), 29.0);
    }

    #[test]
    fn a_round_trip_of_two_samples_is_renos() {
        let mut law = avoiding("vegas", 30);
        round(&mut *law, 300, 2);
        round(&mut *law, 300, 1);
        assert_eq!(segments(&*law), 31.0);
    }

    #[test]
    fn two_segments_are_the_least() {
        let mut law = avoiding("vegas?beta=0&alpha=0", 3);
        for _ in 0..5 {
            round(&mut *law, 900, 10);
        }
        assert_eq!(segments(&*law), 2.0);
    }

    #[test]
    fn one_delayed_ack_is_no_queue() {
        let mut law = avoiding("vegas", 30);
        round(&mut *law, 300, 1);
        for _ in 0..5 {
            law.on_ack(&Ack {
                rtt: Some(MS * 109),
                min_rtt: MS * 90,
                ..ACK
            });
        }
        assert_eq!(segments(&*law), 30.0, "at 109 ms 2.5 packets are queued");
    }

    #[test]
    fn slow_start_doubles_every_other_round_trip() {
        let mut law = built("vegas", 10);
        let mut path = Path::new(MS * 100);
        for expected in [20.0, 40.0, 80.0] {
            path.round(&mut *law);
            path.round(&mut *law);
            assert_eq!(segments(&*law), expected);
        }
    }

    #[test]
    fn slow_start_ends_with_what_the_path_held_and_a_segment() {
        // At 125 ms 4 of 20 segments wait; at 105 ms 0.95: not more than gamma.
        for (ms, left, phase) in [
            (125, 17.0, "congestion avoidance"),
            (105, 21.0, "slow start"),
        ] {
            let mut law = built("vegas", 10);
            round(&mut *law, 100, 10);
            round(&mut *law, 100, 10);
            assert_eq!(segments(&*law), 20.0, "it stands");
            round(&mut *law, ms, 3);
            assert_eq!((segments(&*law), law.phase()), (left, phase));
        }
    }

    #[test]
    fn losses_and_timeouts_are_renos() {
        let mut law = built("vegas", 40);
        assert_eq!(law.on_loss(&loss(&*law, Time::ZERO)), LossResponse::REDUCED);
        assert_eq!(segments(&*law), 20.0);
        law.on_timeout(&timeout(&*law, Time::ZERO));
        assert_eq!((segments(&*law), law.phase()), (1.0, "slow start"));
        let mut path = Path::new(MS * 100);
        path.round(&mut *law);
        path.round(&mut *law);
        assert_eq!(segments(&*law), 2.0, "every other round trip again");
    }

    #[test]
    fn alone_it_keeps_two_to_four_packets_queued_and_the_link_full() {
        // With room for one bandwidth-delay product: slow start does not overflow it.
        for (mbit, ms, bdp) in [(8, 100, 100), (40, 50, 250), (4, 20, 10)] {
            let rate = Rate::from_bits_per_sec(mbit * 1_000_000);
            let mut path = Bottleneck::new(rate, bdp);
            path.add(built("vegas", 10), MS * ms);
            path.run(Duration::from_secs(30));
            let delivered = path.flows[0].delivered;
            // Queued here counts the one that is being sent, which is no queue to the RTT.
            let (mean, most) = path.run(Duration::from_secs(30));
            assert!(
                (2.0..=5.5).contains(&mean),
                "{mbit} Mbit/s, {ms} ms: {mean}"
            );
            assert!(most <= 8, "{most}");
            let got = path.flows[0].rate_since(delivered, Duration::from_secs(30));
            assert!(got.as_bits_per_sec() as f64 > 0.99 * rate.as_bits_per_sec() as f64);
            assert_eq!(path.flows[0].lost, 0);
        }
    }
}
