//! Veno: Reno that halves its window only for congestion losses, and grows slowly where the path is
//! just full.
//!
//! C. P. Fu, S. C. Liew, "TCP Veno: TCP Enhancement for Transmission Over Wireless Access
//! Networks", IEEE JSAC 21(2), 2003. Its abstract was available, and section 2.2.11 of the thesis
//! of T. Saedi (see `cerl`), which gives the rest; also Linux's `tcp_veno.c` and ns-3's
//! `tcp-veno.cc`.
//!
//! * backlog: `N = (cwnd/BaseRTT - cwnd/RTT) * BaseRTT`, segments
//! * growth: `N < beta`: 1/cwnd per ACK; `N >= beta`: 1/cwnd for every other ACK
//! * loss: `N < beta`: random, `ssthresh = 4/5` of the flight; `N >= beta`: congestion, half of it
//! * slow start and timeouts are Reno's
//!
//! Units: windows in bytes, N and beta in segments.
//!
//! **Physics.** N is the excess of the window over the path: the flow's own packets in the queue. A
//! loss with fewer than three packets queued is unlikely to be an overflow. It still costs a fifth,
//! which limits the damage of a misclassification. Growing at half the rate when the path is full
//! doubles the time spent there.
//!
//! **When it works.** Alone or with few flows, at a queue that holds more than beta of its packets,
//! with losses rare enough that the window fills the path between them.
//!
//! **Limits.**
//! * **High loss.** From 4/5 w to w the window takes w/5 round trips and 0.18 w^2 packets. With a
//!   loss rate p the mean window is `sqrt(4.5/p)`, 1.7 times Reno's. At 1 % that is 21 segments on
//!   any path.
//! * **Short queues.** At a queue that overflows with fewer than beta packets of the flow, every
//!   overflow counts as random.
//! * **Other flows' queues** are in the RTT too, but N counts only the flow's part. With n flows at
//!   a queue of less than `3*n` packets, all flows take congestion for random loss.
//!
//! **Departures, and where the sources differ.**
//! * **BaseRTT.** The paper resets it at each loss and timeout, "to take the changing traffic from
//!   other connections in consideration" (quoted in the thesis); Linux and ns-3 keep the minimum of
//!   the connection. `reset` selects the paper's rule. If the queue does not drain after a loss,
//!   its delay is then included in BaseRTT, N is too small, and a flow at a standing queue takes
//!   overflows for random losses.
//! * **RTT** is the mean of the last whole round trip, as in mVeno, which is based on Veno. Linux
//!   and ns-3 use the latest sample, so N changes with each ACK. (A smoothed RTT would lag by more
//!   than beta behind a queue that grows by one packet per round trip.)
//! * Growth for every other ACK is implemented as half of the growth for each.
//! * Before the first round trip N is unknown, and a loss counts as congestion. In Linux N is then
//!   0.
//! * Marks (RFC 3168) are congestion for any N.
//! * In Linux and ns-3, where one function serves losses and timeouts, a timeout with `N < beta`
//!   leaves 4/5 as ssthresh.

use crate::building_blocks::rule::{Rule, WindowController, half, slow_start};
use crate::building_blocks::window::Window;
use crate::estimators::round_rtt::{RoundRtt, queued};
use crate::interface::{Ack, Loss, LossResponse, Signal, Timeout, Verdict};
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};
use whimbrel_units::Duration;

/// The threshold of Veno and mVeno.
pub(crate) const BETA: Parameter = Parameter {
    name: "beta",
    domain: Domain::Number {
        default: 3.0,
        range: (0.0, 1000.0),
    },
    meaning: "own packets in the queue from which a loss is congestion",
};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "veno",
    code: code!("algorithms/random_loss/veno.rs"),
    summary: "Reno that reduces by a fifth instead of a half for losses while the queue is short",
    citation: "C. P. Fu, S. C. Liew, \"TCP Veno: TCP Enhancement for Transmission Over Wireless \
               Access Networks\", IEEE JSAC 21(2), 2003",
    parameters: &[
        BETA,
        Parameter {
            name: "reset",
            domain: Domain::Switch(true),
            meaning: "reset BaseRTT at each loss (the paper), or keep the minimum of the \
                      connection (Linux)",
        },
    ],
    feed: Feed::Acknowledgments {
        family: Family::RandomLoss,
        driven_by: DrivenBy::Losses,
        build: |setup, values| {
            let veno = Veno::new(values.number("beta"), values.switch("reset"));
            Box::new(WindowController::new(setup, veno))
        },
    },
    kernel: Some("veno"),
    look: Look::of(22, 8),
    ..Entry::BLANK
};

/// The rule of Veno.
#[derive(Debug, Clone)]
pub(crate) struct Veno {
    /// Segments.
    beta: f64,
    /// BaseRTT is reset at each loss.
    reset: bool,
    rounds: RoundRtt,
    base: Option<Duration>,
    /// N of the last round trip with a measurement, segments.
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

    /// [`Rule::on_ack`] with the growth multiplied by `weight`.
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

    /// Whether the path is full: N is beta or more.
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
            confidence: None,
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
        confidence: None,
    };
    const HALVED: LossResponse = LossResponse {
        reduced: true,
        verdict: Some(Verdict::Congestion),
        confidence: None,
    };

    /// A controller after a round trip of 100 ms and two of `ms`.
    fn after(text: &str, segments: u64, ms: u64) -> Box<dyn Controller> {
        let mut controller = built(text, segments);
        for rtt in [100, ms, ms] {
            round(&mut *controller, rtt);
        }
        controller
    }

    /// The first ACK of a round trip, in recovery so that the window does not grow.
    fn round(controller: &mut dyn Controller, ms: u64) {
        controller.on_ack(&Ack {
            rtt: Some(Duration::from_millis(ms)),
            round_start: true,
            in_recovery: true,
            ..ACK
        });
    }

    fn lose(controller: &mut dyn Controller) -> LossResponse {
        controller.on_loss(&loss(controller, Time::ZERO))
    }

    #[test]
    fn a_loss_costs_a_fifth_with_fewer_than_three_packets_queued() {
        // 30 segments and BaseRTT = 100 ms: N = 30*(RTT - 100)/RTT is 2.8 at 110.3 ms and 3 at
        // 111.1 ms.
        let mut controller = after("veno", 30, 110);
        assert_eq!(lose(&mut *controller), REDUCED_BY_A_FIFTH);
        assert_eq!(segments(&*controller), 24.0);
        let mut controller = after("veno", 30, 112);
        assert_eq!(lose(&mut *controller), HALVED);
        assert_eq!(segments(&*controller), 15.0);
    }

    #[test]
    fn beta_sets_the_number_of_packets() {
        // 40 segments at 125 ms: N = 40*25/125 = 8.
        for (text, expected) in [("veno?beta=9", 32.0), ("veno?beta=8", 20.0)] {
            let mut controller = after(text, 40, 125);
            lose(&mut *controller);
            assert_eq!(segments(&*controller), expected, "{text}");
        }
    }

    #[test]
    fn growth_is_one_segment_per_round_trip_or_half_on_a_full_path() {
        for (ms, expected) in [(100, 10.0), (200, 5.0)] {
            let mut controller = built("veno", 100);
            round(&mut *controller, 100);
            lose(&mut *controller);
            round(&mut *controller, 100);
            let mut path = Path::new(Duration::from_millis(ms));
            path.round(&mut *controller);
            let before = segments(&*controller);
            path.rounds_for(&mut *controller, path.rtt * 10);
            let grown = segments(&*controller) - before;
            assert!((grown - expected).abs() <= 1.0, "{ms}: {grown}");
        }
    }

    #[test]
    fn base_rtt_is_reset_at_a_loss_unless_reset_is_off() {
        // A standing queue of 50 ms: 60 segments at 150 ms are N = 20 with a base of 100 ms, and 0
        // with one of 150 ms.
        for (text, second) in [("veno", REDUCED_BY_A_FIFTH), ("veno?reset=false", HALVED)] {
            let mut controller = after(text, 120, 150);
            assert_eq!(lose(&mut *controller), HALVED, "{text}");
            round(&mut *controller, 150);
            round(&mut *controller, 150);
            assert_eq!(lose(&mut *controller), second, "{text}");
        }
    }

    #[test]
    fn an_unknown_backlog_and_a_mark_are_congestion() {
        assert_eq!(lose(&mut *built("veno", 40)), HALVED);
        let mut controller = after("veno", 40, 100);
        let mark = Loss {
            signal: Signal::Ecn,
            truth: Some(Verdict::Random),
            ..loss(&*controller, Time::ZERO)
        };
        assert_eq!(controller.on_loss(&mark), HALVED);
    }

    #[test]
    fn a_known_cause_of_a_loss_is_used() {
        for (ms, truth, expected) in [
            (100, Verdict::Congestion, 20.0),
            (200, Verdict::Random, 32.0),
        ] {
            let mut controller = after("veno", 40, ms);
            let event = Loss {
                truth: Some(truth),
                ..loss(&*controller, Time::ZERO)
            };
            assert_eq!(controller.on_loss(&event).verdict, Some(truth));
            assert_eq!(segments(&*controller), expected);
        }
    }

    #[test]
    fn a_timeout_is_that_of_reno_even_with_a_short_queue() {
        let mut controller = after("veno", 40, 100);
        controller.on_timeout(&timeout(&*controller, Time::ZERO));
        assert_eq!(
            (segments(&*controller), controller.ssthresh()),
            (1.0, Some(Bytes::new(20 * MSS)))
        );
    }

    #[test]
    fn the_mean_window_under_random_loss_follows_from_the_sawtooth() {
        // sqrt(4.5/p): 0.9 w for w/5 round trips of 0.9 w packets. Reno's is sqrt(1.5/p) = 38 at
        // 1/1000.
        for (packets, expected) in [(100, 21.2), (1_000, 67.1), (10_000, 212.1)] {
            let mut controller = after("veno", 10, 100);
            let mut path = Path::new(Duration::from_millis(100));
            let mean = path.mean_window(&mut *controller, packets, 20);
            assert!((mean / expected - 1.0).abs() < 0.05, "1/{packets}: {mean}");
        }
    }

    #[test]
    fn every_overflow_of_a_drop_tail_queue_halves_the_window() {
        // 1 MB/s and 100 ms: 100 packets in flight and 50 in the buffer, which overflows at 150.
        let rate = Rate::from_bits_per_sec(8_000_000);
        let least_of = |loss: f64| {
            let mut path = Bottleneck::new(rate, 50);
            path.loss = loss;
            path.add(built("veno", 10), Duration::from_millis(100));
            path.run(Duration::from_secs(20));
            let mut min = f64::MAX;
            for _ in 0..600 {
                path.run(Duration::from_millis(100));
                min = min.min(segments(&*path.flows[0].controller));
            }
            (min, path.flows[0].delivered)
        };
        let (min, delivered) = least_of(0.0);
        assert!((74.0..78.0).contains(&min), "half of 150: {min}");
        // The window falls to 75 of the 100 packets, and the link is idle for a moment.
        assert!(delivered > 76_000_000, "{delivered}");
    }
}
