//! BIC: a binary search for the window at which the last loss occurred.
//!
//! L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control for Fast, Long-Distance
//! Networks", IEEE INFOCOM 2004.
//!
//! Growth in segments per round trip in congestion avoidance, with w the window and W_max that of
//! the last loss:
//!
//! * below W_max, binary search: `(W_max - w)/B`, B = 2, at least Smin and at most Smax (at Smax:
//!   additive increase)
//! * from W_max on, max probing: the distance covered so far, `(w - W_max)/(B - 1)`, at least 1 and
//!   at most Smax
//! * loss: `W_max = w`, or `w*(1 - beta/2)` if the loss came below the old W_max (fast
//!   convergence); `w = (1 - beta)*w`
//! * up to low_window both are Reno's: growth by 1, decrease to a half
//!
//! **Physics.** A loss at W_max means that the path holds less. The window approaches W_max fast
//! while it is far below and slowly when it is near, so it stays just below the point of loss for
//! long. Smax bounds the step: two flows with the same step converge as Reno's do, while steps that
//! grow with the window (Scalable, HighSpeed) do not converge. With large windows the step is
//! nearly always Smax, and the mean window is `sqrt(Smax/2*(2 - beta)/beta)/sqrt(p)`.
//!
//! **Limits.** On short or slow paths Smax segments per round trip displace Reno. With random
//! losses W_max falls with each loss. CUBIC, its successor, makes growth a function of time and
//! thus independent of the round trip.
//!
//! Units: windows are bytes; Smax, Smin and low_window are in segments.
//!
//! The defaults are those of the paper. Linux's tcp_bic.c and ns-3's TcpBic grow more gently;
//! `bic?B=4&Smax=16&Smin=0.2&beta=0.2` is close to them (4/20 is Linux's BICTCP_B/smooth_part; for
//! ns-3, with a smooth_part of 5, it is 0.8). There the first four segments above W_max are at Smin
//! too, and windows are whole segments. ns-3 also sets `W_max = 0.8*w` where fast convergence gives
//! 0.9.
//!
//! **Departures.** The paper computes targets once per round trip, and its slow start above W_max
//! doubles each time from 1. Here both follow every ACK, which gives e-fold growth instead of
//! twofold. While W_max is unknown, before any loss and after a timeout (as in Linux), growth is
//! additive with Smax. W_max follows losses below low_window too, as in Linux. Only the abstract of
//! the paper was available; the rules follow its pseudocode as quoted by others.

use crate::building_blocks::aimd::{Aimd, IncreaseDecrease, RENO_DECREASE, RENO_INCREASE};
use crate::building_blocks::rule::WindowController;
use crate::building_blocks::window::Window;
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "bic",
    code: code!("algorithms/loss/bic.rs"),
    summary: "Binary search for the window of the last loss: predecessor of CUBIC",
    citation: "L. Xu, K. Harfoush, I. Rhee, \"Binary Increase Congestion Control for Fast, \
               Long-Distance Networks\", IEEE INFOCOM 2004",
    parameters: &[
        Parameter {
            name: "low_window",
            domain: Domain::Number {
                default: 14.0,
                range: (0.0, 1_000.0),
            },
            meaning: "Reno up to this window, segments",
        },
        Parameter {
            name: "Smax",
            domain: Domain::Number {
                default: 32.0,
                range: (1.0, 10_000.0),
            },
            meaning: "maximum growth per round trip, segments (Linux: 16)",
        },
        Parameter {
            name: "Smin",
            domain: Domain::Number {
                default: 0.01,
                range: (0.0001, 1.0),
            },
            meaning: "minimum growth per round trip below the last maximum, segments (Linux: about \
                      0.2)",
        },
        Parameter {
            name: "B",
            domain: Domain::Number {
                default: 2.0,
                range: (2.0, 16.0),
            },
            meaning: "a round trip covers 1/B of the distance to the last maximum (Linux: 4)",
        },
        Parameter {
            name: "beta",
            domain: Domain::Number {
                default: 0.125,
                range: (0.01, 0.9),
            },
            meaning: "decrease on loss, fraction of the window (Linux: 0.2)",
        },
        Parameter {
            name: "fast_convergence",
            domain: Domain::Switch(true),
            meaning: "release capacity for new flows: aim lower after a loss below the last \
                      maximum",
        },
    ],
    feed: Feed::Acknowledgments {
        family: Family::Loss,
        driven_by: DrivenBy::Losses,
        build: |setup, values| {
            let rule = Bic {
                low_window: values.number("low_window"),
                s_max: values.number("Smax"),
                s_min: values.number("Smin"),
                b: values.number("B"),
                beta: values.number("beta"),
                fast_convergence: values.switch("fast_convergence"),
                w_max: None,
            };
            Box::new(WindowController::new(setup, Aimd(rule)))
        },
    },
    kernel: Some("bic"),
    look: Look::of(31, 5),
    ..Entry::BLANK
};

#[derive(Debug, Clone)]
struct Bic {
    low_window: f64,
    s_max: f64,
    s_min: f64,
    b: f64,
    beta: f64,
    fast_convergence: bool,
    /// W_max, bytes; `None` before the first loss and after a timeout.
    w_max: Option<f64>,
}

impl Bic {
    /// W_max in segments of the current size.
    fn w_max(&self, window: &Window) -> Option<f64> {
        self.w_max.map(|bytes| bytes / window.mss as f64)
    }
}

impl IncreaseDecrease for Bic {
    fn increase(&self, window: &Window) -> f64 {
        let w = window.segments();
        if w <= self.low_window {
            return RENO_INCREASE;
        }
        match self.w_max(window) {
            None => self.s_max,
            Some(w_max) if w < w_max => ((w_max - w) / self.b).max(self.s_min).min(self.s_max),
            Some(w_max) => ((w - w_max) / (self.b - 1.0)).max(1.0).min(self.s_max),
        }
    }

    fn decrease(&mut self, window: &Window) -> f64 {
        let cwnd = window.cwnd as f64;
        let below = self.w_max.is_some_and(|w_max| cwnd < w_max);
        self.w_max = Some(if self.fast_convergence && below {
            cwnd * (1.0 - self.beta / 2.0)
        } else {
            cwnd
        });
        if window.segments() <= self.low_window {
            RENO_DECREASE
        } else {
            self.beta
        }
    }

    fn on_timeout(&mut self) {
        self.w_max = None;
    }

    fn on_spurious(&mut self, before: &Self) {
        self.w_max = before.w_max;
    }

    fn phase(&self, window: &Window) -> &'static str {
        let w = window.segments();
        match self.w_max(window) {
            _ if w <= self.low_window => "congestion avoidance",
            Some(w_max) if w >= w_max => "max probing",
            Some(w_max) if w_max - w < self.b * self.s_max => "binary search",
            _ => "additive increase",
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::interface::Controller;
    use crate::testing::{Bottleneck, MSS, Path, built, loss, segments, timeout};
    use whimbrel_units::{Bytes, Duration, Rate, Time};

    const RTT: Duration = Duration::from_millis(100);

    /// A controller after a loss at `segments` segments.
    fn reduced(text: &str, segments: u64) -> Box<dyn Controller> {
        let mut controller = built(text, segments);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        controller
    }

    /// Growth over one round trip, segments. A little less than the nominal rate, which is per
    /// window, because the window grows meanwhile.
    fn growth(controller: &mut dyn Controller) -> f64 {
        let before = segments(controller);
        Path::new(RTT).round(controller);
        segments(controller) - before
    }

    #[test]
    fn growth_is_additive_then_a_binary_search_then_probing() {
        // 1024 segments: a loss leaves 896, and up to 960 each round trip adds Smax.
        let mut controller = reduced("bic", 1024);
        assert_eq!(segments(&*controller), 896.0);
        for _ in 0..2 {
            assert_eq!(controller.phase(), "additive increase");
            assert!((growth(&mut *controller) - 32.0).abs() < 1.0);
        }
        // The remaining distance is 65 and shrinks by a factor of e^-0.5 = 0.61 each time, because
        // the growth follows every ACK.
        for rest in [39.6, 24.1, 14.6, 8.9] {
            growth(&mut *controller);
            let measured = 1024.0 - segments(&*controller);
            assert!((measured - rest).abs() < 0.6, "{rest}: {measured}");
            assert_eq!(controller.phase(), "binary search");
        }
        // From there to the 0.02 segments of Smin it takes 2*ln(8.9/0.02) = 12.2 round trips, and 2
        // more at 0.01.
        Path::new(RTT).rounds_for(&mut *controller, RTT * 13);
        assert_eq!(controller.phase(), "binary search");
        assert!(1024.0 - segments(&*controller) < 0.05);
        Path::new(RTT).rounds_for(&mut *controller, RTT * 3);
        assert_eq!(controller.phase(), "max probing");
        Path::new(RTT).rounds_for(&mut *controller, RTT * 7);
        assert!((growth(&mut *controller) - 32.0).abs() < 1.0, "Smax again");
    }

    #[test]
    fn with_the_constants_of_linux_the_steps_match_linux() {
        // tcp_bic.c, max_increment 16, B = 4: at 800 of 1000, 50 is limited to 16; at 960, 40/4 =
        // 10.
        let mut controller = reduced("bic?B=4&Smax=16&Smin=0.2&beta=0.2", 1000);
        assert_eq!(segments(&*controller), 800.0);
        assert!((growth(&mut *controller) - 16.0).abs() < 0.3);
        while segments(&*controller) < 960.0 {
            growth(&mut *controller);
        }
        let distance = 1000.0 - segments(&*controller);
        let grown = growth(&mut *controller);
        assert!((0.85..1.0).contains(&(grown / (distance / 4.0))), "{grown}");
    }

    #[test]
    fn a_loss_below_the_last_maximum_aims_lower() {
        let mut controller = reduced("bic", 1024);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        assert_eq!(segments(&*controller), 784.0);
        // 896*(1 - 0.125/2) = 840: probing begins there and not at 896.
        while controller.phase() != "max probing" {
            growth(&mut *controller);
        }
        assert!((840.0..842.0).contains(&segments(&*controller)));
        let mut greedy = reduced("bic?fast_convergence=false", 1024);
        greedy.on_loss(&loss(&*greedy, Time::ZERO));
        while greedy.phase() != "max probing" {
            growth(&mut *greedy);
        }
        assert!((896.0..898.0).contains(&segments(&*greedy)));
    }

    #[test]
    fn up_to_14_segments_it_is_reno() {
        let mut controller = reduced("bic", 14);
        assert_eq!(segments(&*controller), 7.0);
        assert!((growth(&mut *controller) - 1.0).abs() < 0.1);
        assert_eq!(segments(&*reduced("bic", 16)), 14.0);
    }

    #[test]
    fn a_spurious_loss_restores_the_last_maximum_too() {
        let mut controller = reduced("bic", 1024);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        controller.on_spurious(Time::ZERO);
        assert_eq!(segments(&*controller), 896.0);
        Path::new(RTT).rounds_for(&mut *controller, RTT * 10);
        assert!((1015.0..1024.0).contains(&segments(&*controller)));
        assert_eq!(controller.phase(), "binary search");
    }

    #[test]
    fn after_a_timeout_the_maximum_is_unknown() {
        let mut controller = built("bic", 1000);
        controller.on_timeout(&timeout(&*controller, Time::ZERO));
        assert_eq!(controller.ssthresh(), Some(Bytes::new(875 * MSS)));
        while controller.phase() == "slow start" {
            growth(&mut *controller);
        }
        assert_eq!(controller.phase(), "additive increase");
        assert!((growth(&mut *controller) - 32.0).abs() < 1.0);
    }

    #[test]
    fn the_mean_window_follows_from_the_steps() {
        // N packets from W*7/8 to W. With 32 per round trip to W - 64: (W/8 - 64)/32 round trips of
        // (15/16 W - 32) segments; then 2*ln(64/0.02) + 2 = 18.1 round trips of nearly W. N = 1e6:
        // W = 14,468, 54.5 + 18.1 round trips, mean 13,763. N = 1e5: W = 3,469, 11.6 + 18.1, mean
        // 3,368. Start near the steady state: after the overshoot of slow start, dozens of losses
        // would be needed to come down by eighths.
        for (packets, peak, expected) in [(1_000_000, 14_468, 13_763.0), (100_000, 3_469, 3_368.0)]
        {
            let mut controller = reduced("bic?fast_convergence=false", peak);
            let mean = Path::new(RTT).mean_window(&mut *controller, packets, 4);
            assert!((mean / expected - 1.0).abs() < 0.02, "1/{packets}: {mean}");
        }
    }

    #[test]
    fn a_single_flow_fills_a_link_with_a_buffer_of_a_fifth_bdp() {
        // 40 Mbit/s and 100 ms: 500 packets in flight and 100 in the buffer. The window falls from
        // about 600 to 525.
        let mut link = Bottleneck::new(Rate::from_bits_per_sec(40_000_000), 100);
        link.add(built("bic", 10), RTT);
        link.run(Duration::from_secs(20));
        let before = link.flows[0].delivered;
        link.run(Duration::from_secs(30));
        let rate = link.flows[0].rate_since(before, Duration::from_secs(30));
        assert!(rate.as_bits_per_sec() > 39_500_000, "{rate}");
    }
}
