//! Compound TCP: Reno's window plus a second window that depends on delay.
//!
//! K. Tan, J. Song, Q. Zhang, M. Sridharan, "A Compound TCP Approach for High-speed and Long
//! Distance Networks", IEEE INFOCOM 2006; M. Sridharan, K. Tan, D. Bansal, D. Thaler,
//! draft-sridharan-tcpm-ctcp-02, 2008.
//!
//! The window is `win = cwnd + dwnd`. Per ACK `cwnd += 1/win`. Once per round trip in congestion
//! avoidance, with `diff = win*(RTT - base)/RTT` packets in queues:
//!
//! * `diff < gamma`: `dwnd += alpha*win^k - 1`, if positive
//! * otherwise: `dwnd -= zeta*diff`, not below zero
//! * loss: `win -= beta*win`; `cwnd` is halved and dwnd is the rest, `win*(1 - beta) - cwnd/2`
//! * below W_low, and in slow start, dwnd does not grow; a timeout sets it to zero
//!
//! **Physics.** On an idle path win grows by alpha*win^k per round trip, which gives a response
//! function of p^-0.8, close to HighSpeed's. As soon as gamma packets wait, dwnd yields and Reno
//! remains, which neither loses to other flows nor takes more from them than Reno would.
//!
//! **When it works.** Long, fast paths with queues longer than gamma.
//!
//! **Limits.** With a buffer below gamma packets the delay is never noticed, and each climb ends in
//! a loss. A base RTT that is too long (a path that became longer, a queue that existed before the
//! flow began) or too short misleads it as it does Vegas.
//!
//! Units: windows are bytes; gamma, diff and W_low are in segments.
//!
//! **Choices where the sources are silent.** The RTT of diff is the mean of the round trip that
//! ended (Linux's patch of 2006: its minimum). W_low is the draft's 38 segments, and zeta is 1 as
//! in that patch (another simulation has 0.03). Nothing changes during recovery or while the window
//! is not used. gamma is fixed: its optional tuning by Reno's queue (in the draft and in TUBE) is
//! not implemented. The equations are those of the Linux patch and two other programs based on the
//! draft; the full texts of paper and draft were not available.

use crate::building_blocks::aimd::{Aimd, IncreaseDecrease, RENO_INCREASE};
use crate::building_blocks::rule::WindowController;
use crate::building_blocks::window::Window;
use crate::estimators::round_rtt::{RoundRtt, queued};
use crate::interface::Ack;
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "compound",
    code: code!("algorithms/delay/compound.rs"),
    summary: "Reno with a second window that grows fast on an idle path and yields to queues",
    citation: "K. Tan, J. Song, Q. Zhang, M. Sridharan, \"A Compound TCP Approach for High-speed \
               and Long Distance Networks\", IEEE INFOCOM 2006; draft-sridharan-tcpm-ctcp-02",
    parameters: &[
        Parameter {
            name: "alpha",
            domain: Domain::Number {
                default: 0.125,
                range: (0.0, 10.0),
            },
            meaning: "growth of the delay window per round trip: alpha*win^k - 1 segments",
        },
        Parameter {
            name: "beta",
            domain: Domain::Number {
                default: 0.5,
                range: (0.01, 0.9),
            },
            meaning: "decrease on loss, fraction of the window",
        },
        Parameter {
            name: "k",
            domain: Domain::Number {
                default: 0.75,
                range: (0.0, 1.0),
            },
            meaning: "exponent of the growth alpha*win^k - 1",
        },
        Parameter {
            name: "gamma",
            domain: Domain::Number {
                default: 30.0,
                range: (1.0, 10_000.0),
            },
            meaning: "queue from which the delay window shrinks, segments",
        },
        Parameter {
            name: "zeta",
            domain: Domain::Number {
                default: 1.0,
                range: (0.001, 10.0),
            },
            meaning: "decrease of the delay window, segments per packet in the queue",
        },
        Parameter {
            name: "W_low",
            domain: Domain::Number {
                default: 38.0,
                range: (0.0, 1_000.0),
            },
            meaning: "window below which the delay window does not grow, segments",
        },
    ],
    feed: Feed::Acknowledgments {
        family: Family::Delay,
        driven_by: DrivenBy::Path,
        build: |setup, values| {
            let rule = Compound {
                alpha: values.number("alpha"),
                beta: values.number("beta"),
                k: values.number("k"),
                gamma: values.number("gamma"),
                zeta: values.number("zeta"),
                w_low: values.number("W_low"),
                dwnd: 0,
                rounds: RoundRtt::default(),
            };
            Box::new(WindowController::new(setup, Aimd(rule)))
        },
    },
    look: Look::of(34, 8),
    ..Entry::BLANK
};

#[derive(Debug, Clone)]
struct Compound {
    alpha: f64,
    beta: f64,
    k: f64,
    /// Segments.
    gamma: f64,
    zeta: f64,
    /// Segments.
    w_low: f64,
    /// dwnd, the part of the window that depends on delay, bytes; at most the whole window.
    dwnd: u64,
    rounds: RoundRtt,
}

impl Compound {
    fn grow(&mut self, window: &mut Window) {
        let win = window.segments();
        if win < self.w_low {
            return;
        }
        let segments = self.alpha * win.powf(self.k) - 1.0;
        let grown = window
            .cwnd
            .saturating_add((segments * window.mss as f64) as u64);
        self.dwnd += grown - window.cwnd;
        window.cwnd = grown;
    }

    fn shrink(&mut self, window: &mut Window, diff: f64) {
        let less = ((self.zeta * diff * window.mss as f64) as u64).min(self.dwnd);
        self.dwnd -= less;
        window.cwnd = (window.cwnd - less).max(window.mss);
        if window.in_slow_start() {
            // ssthresh applied to the whole window; Reno's part did not fall below it.
            window.end_slow_start();
        }
    }
}

impl IncreaseDecrease for Compound {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        // A loss while the window is not used can leave less than dwnd.
        self.dwnd = self.dwnd.min(window.cwnd);
        let Some(round) = self.rounds.on_ack(ack) else {
            return;
        };
        if window.in_slow_start() || !Window::may_grow(ack) {
            return;
        }
        let diff = queued(window.cwnd, round.base, round.mean) / window.mss as f64;
        if diff < self.gamma {
            self.grow(window);
        } else {
            self.shrink(window, diff);
        }
    }

    fn increase(&self, _: &Window) -> f64 {
        RENO_INCREASE
    }

    fn decrease(&mut self, window: &Window) -> f64 {
        let losses = window.cwnd.saturating_sub(self.dwnd);
        let left = (window.cwnd as f64 * (1.0 - self.beta)) as u64;
        self.dwnd = left.saturating_sub(losses / 2);
        self.beta
    }

    fn on_timeout(&mut self) {
        self.dwnd = 0;
    }

    fn on_spurious(&mut self, before: &Self) {
        self.dwnd = before.dwnd;
    }

    fn phase(&self, _: &Window) -> &'static str {
        if self.dwnd > 0 {
            "delay window open"
        } else {
            "congestion avoidance"
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::interface::{Ack, Controller, Loss};
    use crate::testing::{ACK, Bottleneck, MSS, Path, built, loss, newreno, segments, timeout};
    use whimbrel_units::{Bytes, Duration, Rate, Time};

    const RTT: Duration = Duration::from_millis(100);

    /// A controller in congestion avoidance with half of `segments` segments.
    fn avoiding(segments: u64) -> Box<dyn Controller> {
        let mut controller = built("compound", segments);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        controller
    }

    /// Ends a round trip with this RTT on a path of 100 ms. No data is acknowledged.
    fn judged(controller: &mut dyn Controller, ms: u64) {
        let ack = Ack {
            acked: Bytes::ZERO,
            rtt: Some(Duration::from_millis(ms)),
            ..ACK
        };
        controller.on_ack(&ack);
        controller.on_ack(&Ack {
            rtt: None,
            round_start: true,
            ..ack
        });
    }

    #[test]
    fn on_an_idle_path_a_round_trip_adds_win_to_the_3_4_over_8() {
        // 256^0.75/8 - 1 = 7; 10,000^0.75/8 - 1 = 124.
        for (win, added) in [(256.0, 7.0), (10_000.0, 124.0)] {
            let mut controller = avoiding(2 * win as u64);
            judged(&mut *controller, 100);
            assert!((segments(&*controller) - win - added).abs() < 0.01);
            assert_eq!(controller.phase(), "delay window open");
        }
        // Below 38 segments dwnd does not grow. Reno's one segment is per ACK, and none arrived.
        let mut small = avoiding(74);
        judged(&mut *small, 100);
        assert_eq!(segments(&*small), 37.0);
    }

    #[test]
    fn thirty_packets_in_the_queue_shrink_the_delay_window() {
        let mut controller = avoiding(20_000);
        judged(&mut *controller, 100);
        let open = segments(&*controller);
        // 10,124 segments; 29 and 31 of them wait at 100.287 and 100.307 ms. 101 ms: 100.2.
        judged(&mut *controller, 101);
        assert!((open - segments(&*controller) - 100.2).abs() < 0.2);
        // 23.8 remain in dwnd; Reno's 10,000 stay, however long the queue.
        for _ in 0..3 {
            judged(&mut *controller, 200);
            assert!((segments(&*controller) - 10_000.0).abs() < 0.01);
        }
        assert_eq!(controller.phase(), "congestion avoidance");
        Path::new(RTT).round(&mut *controller);
        assert!(
            (10_000.9..10_001.0).contains(&segments(&*controller)),
            "not in slow start below the last threshold"
        );
    }

    #[test]
    fn a_loss_halves_both_windows() {
        let mut controller = avoiding(20_000);
        judged(&mut *controller, 100);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        assert!((segments(&*controller) - 5_062.0).abs() < 0.01);
        // 62 of 124 remain: win/2 - cwnd/2.
        judged(&mut *controller, 200);
        assert!((segments(&*controller) - 5_000.0).abs() < 0.01);
        controller.on_spurious(Time::ZERO);
        assert!((segments(&*controller) - 10_124.0).abs() < 0.01);
        judged(&mut *controller, 200);
        assert!(
            (segments(&*controller) - 10_000.0).abs() < 0.01,
            "with its delay window"
        );
    }

    #[test]
    fn the_delay_window_never_exceeds_the_whole_window() {
        let mut controller = built("compound?zeta=10&alpha=10", 20_000);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        judged(&mut *controller, 100);
        assert!(segments(&*controller) > 19_000.0);
        controller.on_loss(&Loss {
            in_flight: Bytes::new(100 * MSS),
            ..loss(&*controller, Time::ZERO)
        });
        assert_eq!(segments(&*controller), 50.0);
        judged(&mut *controller, 1_000);
        assert_eq!(segments(&*controller), 1.0);
    }

    #[test]
    fn a_timeout_closes_the_delay_window() {
        let mut controller = avoiding(20_000);
        judged(&mut *controller, 100);
        controller.on_timeout(&timeout(&*controller, Time::ZERO));
        assert_eq!(segments(&*controller), 1.0);
        assert_eq!(controller.ssthresh(), Some(Bytes::new(5_062 * MSS)));
        judged(&mut *controller, 100);
        assert_eq!(
            segments(&*controller),
            1.0,
            "it does not open in slow start"
        );
    }

    #[test]
    fn on_an_idle_path_the_mean_window_goes_with_p_to_the_minus_0_8() {
        // dw/dt = w^0.75/8 per round trip, from W/2 to W: N = W^1.25*(1 - 2^-1.25)/0.15625 packets
        // in W^0.25*(1 - 2^-0.25)/0.03125 round trips. N = 1e4: W = 555, mean 405; N = 1e5: 2553.
        for (packets, expected, epochs) in [(10_000, 405.0, 20), (100_000, 2_553.0, 10)] {
            let mut controller = built("compound", 10);
            let mean = Path::new(RTT).mean_window(&mut *controller, packets, epochs);
            assert!((mean / expected - 1.0).abs() < 0.05, "1/{packets}: {mean}");
        }
    }

    #[test]
    fn a_single_flow_fills_a_link_faster_than_reno() {
        // 80 Mbit/s and 100 ms: 1000 packets in flight and 500 in the buffer. After the overshoot
        // of slow start Reno needs 300 round trips, 30 s, to fill the link.
        let run = |controller: Box<dyn Controller>| {
            let mut link = Bottleneck::new(Rate::from_bits_per_sec(80_000_000), 500);
            link.add(controller, RTT);
            link.run(Duration::from_secs(10));
            let before = link.flows[0].delivered;
            let (queue, _) = link.run(Duration::from_secs(40));
            let rate = link.flows[0].rate_since(before, Duration::from_secs(40));
            (rate.as_bits_per_sec() as f64 / 1e6, queue)
        };
        let (ours, reno) = (run(built("compound", 10)), run(Box::new(newreno(10))));
        assert!(ours.0 > 78.0, "{ours:?} {reno:?}");
        assert!(ours.0 > reno.0 + 1.0, "{ours:?} {reno:?}");
    }
}
