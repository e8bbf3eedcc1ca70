//! BIC: looks for the window at which it last lost something by halving the distance to it.
//!
//! L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control for Fast, Long-Distance Networks", IEEE INFOCOM
//! 2004.
//!
//! Segments per round trip in congestion avoidance, with w the window and W_max that of the last loss:
//!
//! * below W_max, binary search: `(W_max - w)/B`, B = 2, at least Smin and at most Smax (there: additive increase)
//! * from W_max on, max probing: as far as it has come, `(w - W_max)/(B - 1)`, at least 1 and at most Smax
//! * loss: `W_max = w`, and `w*(1 - beta/2)` if it came below the old W_max (fast convergence); `w = (1 - beta)*w`
//! * up to low_window, both are Reno's: 1, and a half
//!
//! **The physics.** What was lost at W_max says that the path holds less; the window goes there quickly where it is far
//! below, and slowly near it, so that it stays long just below the point of loss. Smax bounds the step, for two flows
//! with the same step converge as Reno's do, while steps that grow with the window (Scalable, HighSpeed) do not.
//! With large windows the step is nearly always Smax, and the mean window is `sqrt(Smax/2*(2 - beta)/beta)/sqrt(p)`.
//!
//! **When not.** On short or slow paths Smax segments per round trip push Reno aside. With random losses W_max falls
//! with each of them. CUBIC, its successor, made the growth a function of time and so the same at any round trip.
//!
//! Units: windows are bytes; Smax, Smin and low_window are in segments.
//!
//! The defaults are the paper's. Linux' tcp_bic.c and ns-3's TcpBic have a gentler law, near which
//! `bic?B=4&Smax=16&Smin=0.2&beta=0.2` comes (4/20 is Linux' BICTCP_B/smooth_part; for ns-3, whose smooth_part is 5,
//! 0.8): there the first four segments above W_max are at Smin too, and windows are whole segments. ns-3 also takes
//! `W_max = 0.8*w` where fast convergence says 0.9.
//!
//! Where the paper leaves room: it computes targets once a round trip, and its slow start above W_max doubles each
//! time, from 1; here both are followed with every ACK, which is e-fold growth in place of twofold. Where W_max is
//! unknown, before any loss and after a timeout (as in Linux), growth is additive by Smax. W_max follows losses below
//! low_window too, as in Linux. Of the paper only its abstract could be read again; the law is as its pseudo code is
//! quoted in others'.

use crate::building_blocks::aimd::{Aimd, IncreaseDecrease, RENO_DECREASE, RENO_INCREASE};
use crate::building_blocks::rule::WindowController;
use crate::building_blocks::window::Window;
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Value, code};

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "bic",
    code: code!("algorithms/loss/bic.rs"),
    summary: "Binary search for the window of the last loss: CUBIC's predecessor",
    citation: "L. Xu, K. Harfoush, I. Rhee, \"Binary Increase Congestion Control for Fast, Long-Distance Networks\", \
               IEEE INFOCOM 2004",
    family: Family::Loss,
    driven_by: DrivenBy::Losses,
    feed: Feed::Acknowledgments,
    parameters: &[
        Parameter {
            name: "low_window",
            default: Value::Number(14.0),
            range: (0.0, 1_000.0),
            meaning: "up to this window it is Reno, segments",
        },
        Parameter {
            name: "Smax",
            default: Value::Number(32.0),
            range: (1.0, 10_000.0),
            meaning: "most that a round trip adds, segments (Linux: 16)",
        },
        Parameter {
            name: "Smin",
            default: Value::Number(0.01),
            range: (0.0001, 1.0),
            meaning: "least that a round trip adds below the last maximum, segments (Linux: about 0.2)",
        },
        Parameter {
            name: "B",
            default: Value::Number(2.0),
            range: (2.0, 16.0),
            meaning: "a round trip covers one B-th of the distance to the last maximum (Linux: 4)",
        },
        Parameter {
            name: "beta",
            default: Value::Number(0.125),
            range: (0.01, 0.9),
            meaning: "share of the window that a loss takes (Linux: 0.2)",
        },
        Parameter {
            name: "fast_convergence",
            default: Value::Switch(true),
            range: (0.0, 0.0),
            meaning: "yield to newcomers: aim lower after a loss below the last maximum",
        },
    ],
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
};

#[derive(Debug, Clone)]
struct Bic {
    low_window: f64,
    s_max: f64,
    s_min: f64,
    b: f64,
    beta: f64,
    fast_convergence: bool,
    /// W_max, bytes, if the last loss left one.
    w_max: Option<f64>,
}

impl Bic {
    /// W_max in segments of today.
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

    /// After a loss at so many segments.
    fn reduced(text: &str, segments: u64) -> Box<dyn Controller> {
        let mut law = built(text, segments);
        law.on_loss(&loss(&*law, Time::ZERO));
        law
    }

    /// What a round trip adds, segments. A little less than the rate says, which is per window while the window grows.
    fn growth(law: &mut dyn Controller) -> f64 {
        let before = segments(law);
        Path::new(RTT).round(law);
        segments(law) - before
    }

    #[test]
    fn it_climbs_by_smax_halves_the_rest_and_probes_ever_faster() {
        // 1024 segments: 896 are left, and up to 960 each round trip adds Smax.
        let mut law = reduced("bic", 1024);
        assert_eq!(segments(&*law), 896.0);
        for _ in 0..2 {
            assert_eq!(law.phase(), "additive increase");
            assert!((growth(&mut *law) - 32.0).abs() < 1.0);
        }
        // The rest is 65 and shrinks by e^-0.5 = 0.61 each time, for the rate follows every ACK.
        for rest in [39.6, 24.1, 14.6, 8.9] {
            growth(&mut *law);
            let measured = 1024.0 - segments(&*law);
            assert!((measured - rest).abs() < 0.6, "{rest}: {measured}");
            assert_eq!(law.phase(), "binary search");
        }
        // From there to Smin's 0.02 segments, 2*ln(8.9/0.02) = 12.2 round trips, and 2 more at 0.01.
        Path::new(RTT).rounds_for(&mut *law, RTT * 13);
        assert_eq!(law.phase(), "binary search");
        assert!(1024.0 - segments(&*law) < 0.05);
        Path::new(RTT).rounds_for(&mut *law, RTT * 3);
        assert_eq!(law.phase(), "max probing");
        Path::new(RTT).rounds_for(&mut *law, RTT * 7);
        assert!((growth(&mut *law) - 32.0).abs() < 1.0, "Smax again");
    }

    #[test]
    fn with_linux_constants_the_steps_are_those_of_linux() {
        // tcp_bic.c, max_increment 16, B = 4: at 800 of 1000, 50 is bounded to 16; at 960, 40/4 = 10.
        let mut law = reduced("bic?B=4&Smax=16&Smin=0.2&beta=0.2", 1000);
        assert_eq!(segments(&*law), 800.0);
        assert!((growth(&mut *law) - 16.0).abs() < 0.3);
        while segments(&*law) < 960.0 {
            growth(&mut *law);
        }
        let distance = 1000.0 - segments(&*law);
        let grown = growth(&mut *law);
        assert!((0.85..1.0).contains(&(grown / (distance / 4.0))), "{grown}");
    }

    #[test]
    fn a_loss_below_the_last_maximum_aims_lower() {
        let mut law = reduced("bic", 1024);
        law.on_loss(&loss(&*law, Time::ZERO));
        assert_eq!(segments(&*law), 784.0);
        // 896*(1 - 0.125/2) = 840: probing begins there and not at 896.
        while law.phase() != "max probing" {
            growth(&mut *law);
        }
        assert!((840.0..842.0).contains(&segments(&*law)));
        let mut greedy = reduced("bic?fast_convergence=false", 1024);
        greedy.on_loss(&loss(&*greedy, Time::ZERO));
        while greedy.phase() != "max probing" {
            growth(&mut *greedy);
        }
        assert!((896.0..898.0).contains(&segments(&*greedy)));
    }

    #[test]
    fn up_to_fourteen_segments_it_is_reno() {
        let mut law = reduced("bic", 14);
        assert_eq!(segments(&*law), 7.0);
        assert!((growth(&mut *law) - 1.0).abs() < 0.1);
        assert_eq!(segments(&*reduced("bic", 16)), 14.0);
    }

    #[test]
    fn a_mistaken_loss_gives_back_the_last_maximum_too() {
        let mut law = reduced("bic", 1024);
        law.on_loss(&loss(&*law, Time::ZERO));
        law.on_spurious(Time::ZERO);
        assert_eq!(segments(&*law), 896.0);
        Path::new(RTT).rounds_for(&mut *law, RTT * 10);
        assert!((1015.0..1024.0).contains(&segments(&*law)));
        assert_eq!(law.phase(), "binary search");
    }

    #[test]
    fn after_a_timeout_no_maximum_is_known() {
        let mut law = built("bic", 1000);
        law.on_timeout(&timeout(&*law, Time::ZERO));
        assert_eq!(law.ssthresh(), Some(Bytes::new(875 * MSS)));
        while law.phase() == "slow start" {
            growth(&mut *law);
        }
        assert_eq!(law.phase(), "additive increase");
        assert!((growth(&mut *law) - 32.0).abs() < 1.0);
    }

    #[test]
    fn the_mean_window_is_that_of_steps_to_the_last_maximum() {
        // N packets from W*7/8 to W. By 32 a round trip to W - 64: (W/8 - 64)/32 round trips of (15/16 W - 32)
        // segments; then 2*ln(64/0.02) + 2 = 18.1 of nearly W. N = 1e6: W = 14,468, 54.5 + 18.1 round trips, mean
        // 13,763. N = 1e5: W = 3,469, 11.6 + 18.1, mean 3,368.
        // It begins near there, as the overshoot of a slow start would take dozens of losses to come down by eighths.
        for (packets, peak, expected) in [(1_000_000, 14_468, 13_763.0), (100_000, 3_469, 3_368.0)]
        {
            let mut law = reduced("bic?fast_convergence=false", peak);
            let mean = Path::new(RTT).mean_window(&mut *law, packets, 4);
            assert!((mean / expected - 1.0).abs() < 0.02, "1/{packets}: {mean}");
        }
    }

    #[test]
    fn alone_it_fills_a_link_whose_queue_holds_a_fifth_of_the_path() {
        // 40 Mbit/s and 100 ms: 500 packets, and 100 may wait. The window falls from some 600 to 525.
        let mut link = Bottleneck::new(Rate::from_bits_per_sec(40_000_000), 100);
        link.add(built("bic", 10), RTT);
        link.run(Duration::from_secs(20));
        let before = link.flows[0].delivered;
        link.run(Duration::from_secs(30));
        let rate = link.flows[0].rate_since(before, Duration::from_secs(30));
        assert!(rate.as_bits_per_sec() > 39_500_000, "{rate}");
    }
}
