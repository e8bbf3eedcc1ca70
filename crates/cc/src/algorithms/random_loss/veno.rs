//! Veno: Reno that halves its window only for losses from a queue, and lingers where the path is just full.
//!
//! C. P. Fu, S. C. Liew, "TCP Veno: TCP Enhancement for Transmission Over Wireless Access Networks", IEEE JSAC 21(2),
//! 2003. Its abstract could be read, and section 2.2.11 of the thesis of T. Saedi (see `cerl`), which gives the rest of it;
//! beside them Linux' `tcp_veno.c` and ns-3's `tcp-veno.cc`.
//!
//! * backlog: `N = (cwnd/BaseRTT - cwnd/RTT) * BaseRTT`, segments
//! * growth: `N < beta`: 1/cwnd for each ACK; `N >= beta`: 1/cwnd for every other ACK
//! * loss: `N < beta`: random, `ssthresh = 4/5` of the flight; `N >= beta`: congestion, half of it
//! * slow start and timeouts are Reno's
//!
//! Units: windows in bytes, N and beta in segments.
//!
//! **The physics.** N is what the window holds beyond the path itself: the flow's own packets in the queue. A loss while
//! fewer than three of them wait cannot well be an overflow. It still costs a fifth, so that a mistake is no disaster.
//! Growing at half the pace once the path is full doubles the time spent there.
//!
//! **When it works.** Alone, or with few flows, before a queue that takes more than beta packets of it; losses rare enough
//! that the window fills the path between them.
//!
//! **When not.**
//! * **High loss.** From 4/5 w to w the window takes w/5 round trips and 0.18 w^2 packets; with one loss in 1/p packets its
//!   mean is `sqrt(4.5/p)`, Reno's times 1.7. At 1 % that is 21 segments, whatever the path takes.
//! * **Short queues.** One that overflows with fewer than beta packets of the flow in it makes every overflow random.
//! * **Other flows' queues** are in the RTT too, but N counts the flow's share only: with n flows before a queue of less than
//!   `3*n` packets, all take congestion for random.
//!
//! **Where it departs, and where the sources disagree.**
//! * **BaseRTT.** The paper forgets it at each loss and timeout, "to take the changing traffic from other connections in
//!   consideration" (as the thesis has it); Linux and ns-3 keep the least of the connection. `reset` is the paper's. Where
//!   the queue does not drain after a loss, its delay is then taken for the path's, N is too small, and a flow that meets
//!   a standing queue takes overflows for random losses.
//! * **RTT** is the mean of the last whole round trip, as in mVeno, which builds on Veno. Linux and ns-3 take the
//!   latest sample, N changing with each ACK. (A smoothed RTT would lag behind a queue that fills by a packet a round trip
//!   by more than beta.)
//! * Every other ACK is half of the growth for each.
//! * Before any round trip was measured N is unknown, and a loss is congestion. In Linux N is then 0.
//! * Marks (RFC 3168) are congestion whatever N.

use crate::building_blocks::rule::{Rule, WindowController, half, slow_start};
use crate::building_blocks::window::Window;
use crate::estimators::round_rtt::{RoundRtt, queued};
use crate::interface::{Ack, Loss, LossResponse, Signal, Timeout, Verdict};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Value, code};
use whimbrel_units::Duration;

/// Its threshold, as mVeno has it too.
pub(crate) const BETA: Parameter = Parameter {
    name: "beta",
    default: Value::Number(3.0),
    range: (0.0, 1000.0),
    meaning: "packets of its own in the queue from which a loss is congestion",
};

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "veno",
    code: code!("algorithms/random_loss/veno.rs"),
    summary: "Reno that gives up a fifth, not a half, for losses while its queue is short",
    citation: "C. P. Fu, S. C. Liew, \"TCP Veno: TCP Enhancement for Transmission Over Wireless Access Networks\", \
               IEEE JSAC 21(2), 2003",
    family: Family::RandomLoss,
    driven_by: DrivenBy::Losses,
    feed: Feed::Acknowledgments,
    parameters: &[
        BETA,
        Parameter {
            name: "reset",
            default: Value::Switch(true),
            range: (0.0, 0.0),
            meaning: "forget BaseRTT at each loss (the paper), or keep the least of the connection (Linux)",
        },
    ],
    build: |setup, values| {
        let veno = Veno::new(values.number("beta"), values.switch("reset"));
        Box::new(WindowController::new(setup, veno))
    },
};

/// Veno's rule.
#[derive(Debug, Clone)]
pub(crate) struct Veno {
    /// Segments.
    beta: f64,
    /// BaseRTT is forgotten at each loss.
    reset: bool,
    rounds: RoundRtt,
    base: Option<Duration>,
    /// N of the last round trip that was measured, segments.
    backlog: Option<f64>,
}

impl Veno {
    pub fn new(beta: f64, reset: bool) -> Self {
        Self {
            beta,
            reset,
            rounds: RoundRtt::default(),
            base: None,
            backlog: None,
        }
    }

    /// [`Rule::on_ack`], with growth times `weight`.
    pub fn on_weighted_ack(&mut self, window: &mut Window, ack: &Ack, weight: f64) {
        if let Some(rtt) = ack.rtt {
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
        }
        if let (Some(round), Some(base)) = (self.rounds.on_ack(ack), self.base) {
            self.backlog = Some(queued(window.cwnd, base, round.mean) / window.mss as f64);
        }
        let acked = slow_start(window, ack);
        let pace = if self.full() { 0.5 } else { 1.0 };
        window.grow(acked, pace * weight);
    }

    /// The path is full: N is beta or more.
    fn full(&self) -> bool {
        self.backlog.is_some_and(|n| n >= self.beta)
    }

    fn judge(&self) -> Verdict {
        match self.backlog {
            Some(n) if n < self.beta => Verdict::Random,
            _ => Verdict::Congestion,
        }
    }

    fn forget_base(&mut self) {
        if self.reset {
            self.base = None;
        }
    }
}

impl Rule for Veno {
    const CLASSIFIES_LOSSES: bool = true;

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.on_weighted_ack(window, ack, 1.0);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
        let verdict = match loss.signal {
            Signal::Ecn => Verdict::Congestion,
            Signal::Loss => loss.verdict(self.judge()),
        };
        self.forget_base();
        let flight = window.flight(loss.in_flight);
        let ssthresh = match verdict {
            Verdict::Random => flight - flight / 5,
            Verdict::Congestion => flight / 2,
        };
        window.reduce_to(ssthresh);
        LossResponse {
            reduced: true,
            verdict: Some(verdict),
        }
    }

    fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        self.forget_base();
        window.collapse(Some(half(window, timeout.in_flight)));
    }

    fn phase(&self, _: &Window) -> &'static str {
        if self.full() {
            "congestive state"
        } else {
            "congestion avoidance"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Controller;
    use crate::testing::{ACK, Bottleneck, MSS, Path, built, loss, segments, timeout};
    use whimbrel_units::{Bytes, Rate, Time};

    const REDUCED_BY_A_FIFTH: LossResponse = LossResponse {
        reduced: true,
        verdict: Some(Verdict::Random),
    };
    const HALVED: LossResponse = LossResponse {
        reduced: true,
        verdict: Some(Verdict::Congestion),
    };

    /// After a round trip of 100 ms and one of `ms`.
    fn after(text: &str, segments: u64, ms: u64) -> Box<dyn Controller> {
        let mut law = built(text, segments);
        for rtt in [100, ms, ms] {
            round(&mut *law, rtt);
        }
        law
    }

    /// The first ACK of a round trip, in recovery so that nothing grows.
    fn round(law: &mut dyn Controller, ms: u64) {
        law.on_ack(&Ack {
            rtt: Some(Duration::from_millis(ms)),
            round_start: true,
            in_recovery: true,
            ..ACK
        });
    }

    fn lose(law: &mut dyn Controller) -> LossResponse {
        law.on_loss(&loss(law, Time::ZERO))
    }

    #[test]
    fn with_fewer_than_three_packets_queued_a_loss_costs_a_fifth_and_else_a_half() {
        // 30 segments and BaseRTT = 100 ms: N = 30*(RTT - 100)/RTT is 2.8 at 110.3 ms and 3 at 111.1 ms.
        let mut law = after("veno", 30, 110);
        assert_eq!(lose(&mut *law), REDUCED_BY_A_FIFTH);
        assert_eq!(segments(&*law), 24.0);
        let mut law = after("veno", 30, 112);
        assert_eq!(lose(&mut *law), HALVED);
        assert_eq!(segments(&*law), 15.0);
    }

    #[test]
    fn beta_is_the_number_of_packets() {
        // 40 segments at 125 ms: N = 40*25/125 = 8.
        for (text, expected) in [("veno?beta=9", 32.0), ("veno?beta=8", 20.0)] {
            let mut law = after(text, 40, 125);
            lose(&mut *law);
            assert_eq!(segments(&*law), expected, "{text}");
        }
    }

    #[test]
    fn the_window_grows_by_one_a_round_trip_and_by_a_half_where_the_path_is_full() {
        for (ms, expected) in [(100, 10.0), (200, 5.0)] {
            let mut law = built("veno", 100);
            round(&mut *law, 100);
            lose(&mut *law);
            round(&mut *law, 100);
            let mut path = Path::new(Duration::from_millis(ms));
            path.round(&mut *law);
            let before = segments(&*law);
            path.rounds_for(&mut *law, path.rtt * 10);
            let grown = segments(&*law) - before;
            assert!((grown - expected).abs() <= 1.0, "{ms}: {grown}");
        }
    }

    #[test]
    fn base_rtt_is_forgotten_at_a_loss_unless_it_is_told_to_keep_it() {
        // A standing queue of 50 ms: 60 segments at 150 ms are N = 20 by a base of 100 ms, 0 by one of 150.
        for (text, second) in [("veno", REDUCED_BY_A_FIFTH), ("veno?reset=false", HALVED)] {
            let mut law = after(text, 120, 150);
            assert_eq!(lose(&mut *law), HALVED, "{text}");
            round(&mut *law, 150);
            round(&mut *law, 150);
            assert_eq!(lose(&mut *law), second, "{text}");
        }
    }

    #[test]
    fn what_was_never_measured_and_what_is_marked_is_congestion() {
        assert_eq!(lose(&mut *built("veno", 40)), HALVED);
        let mut law = after("veno", 40, 100);
        let mark = Loss {
            signal: Signal::Ecn,
            truth: Some(Verdict::Random),
            ..loss(&*law, Time::ZERO)
        };
        assert_eq!(law.on_loss(&mark), HALVED);
    }

    #[test]
    fn told_the_truth_it_goes_by_it() {
        for (ms, truth, expected) in [
            (100, Verdict::Congestion, 20.0),
            (200, Verdict::Random, 32.0),
        ] {
            let mut law = after("veno", 40, ms);
            let told = Loss {
                truth: Some(truth),
                ..loss(&*law, Time::ZERO)
            };
            assert_eq!(law.on_loss(&told).verdict, Some(truth));
            assert_eq!(segments(&*law), expected);
        }
    }

    #[test]
    fn a_timeout_is_renos_however_short_the_queue() {
        let mut law = after("veno", 40, 100);
        law.on_timeout(&timeout(&*law, Time::ZERO));
        assert_eq!(
            (segments(&*law), law.ssthresh()),
            (1.0, Some(Bytes::new(20 * MSS)))
        );
    }

    #[test]
    fn the_mean_window_under_random_loss_is_that_of_its_saw_teeth() {
        // sqrt(4.5/p): 0.9 w for w/5 round trips of 0.9 w packets. Reno's is sqrt(1.5/p) = 38 at 1/1000.
        for (packets, expected) in [(100, 21.2), (1_000, 67.1), (10_000, 212.1)] {
            let mut law = after("veno", 10, 100);
            let mut path = Path::new(Duration::from_millis(100));
            let mean = path.mean_window(&mut *law, packets, 20);
            assert!((mean / expected - 1.0).abs() < 0.05, "1/{packets}: {mean}");
        }
    }

    #[test]
    fn before_a_drop_tail_queue_every_loss_halves_and_without_one_every_loss_costs_a_fifth() {
        // 1 MB/s, 100 ms: 100 packets on the path and 50 in the queue, which overflows at 150.
        let rate = Rate::from_bits_per_sec(8_000_000);
        let least_of = |loss: f64| {
            let mut path = Bottleneck::new(rate, 50);
            path.loss = loss;
            path.add(built("veno", 10), Duration::from_millis(100));
            path.run(Duration::from_secs(20));
            let mut least = f64::MAX;
            for _ in 0..600 {
                path.run(Duration::from_millis(100));
                least = least.min(segments(&*path.flows[0].controller));
            }
            (least, path.flows[0].delivered)
        };
        let (least, delivered) = least_of(0.0);
        assert!((74.0..78.0).contains(&least), "half of 150: {least}");
        // The queue drains to 75 of 100 and the link idles for a moment.
        assert!(delivered > 76_000_000, "{delivered}");
    }
}
