//! HighSpeed TCP: the larger the window, the more it adds and the less it gives up.
//!
//! S. Floyd, "HighSpeed TCP for Large Congestion Windows", RFC 3649, 2003. Section numbers in this file are its.
//!
//! * response function, a straight line in logarithms from (Low_P, Low_Window) to (High_P, High_Window):
//!   `log p(w) = log Low_P + (log w - log Low_Window)/(log High_Window - log Low_Window)*(log High_P - log Low_P)`,
//!   about `p(w) = 0.078/w^1.2`, `w = 0.12/p^0.835` (5)
//! * decrease: `b(w) = (High_Decrease - 0.5)*(log w - log Low_Window)/(log High_Window - log Low_Window) + 0.5` (7)
//! * increase per round trip: `a(w) = w^2*p(w)*2*b(w)/(2 - b(w))` segments (7)
//! * up to Low_Window both are Reno's: a = 1, b = 1/2 (7)
//!
//! **The physics.** Reno at 10 Gbit/s and 100 ms wants one loss in 5 billion packets and half an hour to make it
//! good. Here the designer chose the windows that losses allow, and a and b follow: at 83,000 segments a loss takes a
//! tenth and 72 segments are added each round trip. Where losses are as frequent as 1 in 1000 the window is
//! Reno's, and so is the law: nobody is pushed aside there.
//!
//! **When not.** With drop-tail queues, where flows lose together: the larger window grows faster and falls less, and
//! takes long to let a newcomer have its share; of two flows the one with the shorter round trip gets much the more.
//! Its initial slow start overshoots as Reno's does, by as much as path and queue hold; the RFC suggests limited slow
//! start (RFC 3742) for that, which is not part of this law.
//!
//! Units: windows are bytes, w is in segments.
//!
//! Where the RFC leaves room: above High_Window b stays at High_Decrease, for on the line it would fall to nothing; a
//! is never below Reno's 1, which the formula falls short of by 4 % just above Low_Window. The tests check a and b
//! against the table of appendix B (as Linux' tcp_highspeed.c quotes it; of the RFC's own text the equations and tables
//! were known, not read again).

use crate::building_blocks::aimd::{Aimd, IncreaseDecrease, RENO_DECREASE, RENO_INCREASE};
use crate::building_blocks::rule::WindowController;
use crate::building_blocks::window::Window;
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Value, code};

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "highspeed",
    code: code!("algorithms/loss/highspeed.rs"),
    summary: "Reno that adds more and gives up less as its window grows beyond 38 segments",
    citation: "S. Floyd, \"HighSpeed TCP for Large Congestion Windows\", RFC 3649, 2003",
    family: Family::Loss,
    driven_by: DrivenBy::Losses,
    feed: Feed::Acknowledgments,
    parameters: &[
        Parameter {
            name: "Low_Window",
            default: Value::Number(38.0),
            range: (2.0, 1_000.0),
            meaning: "up to this window it is Reno, segments",
        },
        Parameter {
            name: "High_Window",
            default: Value::Number(83_000.0),
            range: (2_000.0, 10_000_000.0),
            meaning: "mean window wanted at High_P, segments",
        },
        Parameter {
            name: "Low_P",
            default: Value::Number(1e-3),
            range: (1e-5, 0.1),
            meaning: "share of packets lost at which Reno's mean window is Low_Window",
        },
        Parameter {
            name: "High_P",
            default: Value::Number(1e-7),
            range: (1e-12, 1e-5),
            meaning: "share of packets lost at which the mean window is to be High_Window",
        },
        Parameter {
            name: "High_Decrease",
            default: Value::Number(0.1),
            range: (0.01, 0.5),
            meaning: "share of the window that a loss takes at High_Window and above",
        },
    ],
    build: |setup, values| {
        let rule = HighSpeed {
            low_window: values.number("Low_Window"),
            high_window: values.number("High_Window"),
            low_p: values.number("Low_P"),
            high_p: values.number("High_P"),
            high_decrease: values.number("High_Decrease"),
        };
        Box::new(WindowController::new(setup, Aimd(rule)))
    },
};

/// The five points through which the response function goes, as the RFC names them.
#[derive(Debug, Clone)]
struct HighSpeed {
    low_window: f64,
    high_window: f64,
    low_p: f64,
    high_p: f64,
    high_decrease: f64,
}

impl HighSpeed {
    /// How far w lies on the way from Low_Window to High_Window, in logarithms: 0 at the one and 1 at the other.
    fn way(&self, w: f64) -> f64 {
        (w / self.low_window).ln() / (self.high_window / self.low_window).ln()
    }

    /// b(w).
    fn b(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return RENO_DECREASE;
        }
        let b = (self.high_decrease - RENO_DECREASE) * self.way(w) + RENO_DECREASE;
        b.max(self.high_decrease)
    }

    /// a(w), segments.
    fn a(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return RENO_INCREASE;
        }
        let p = self.low_p * (self.high_p / self.low_p).powf(self.way(w));
        let b = self.b(w);
        (w * w * p * 2.0 * b / (2.0 - b)).max(RENO_INCREASE)
    }
}

impl IncreaseDecrease for HighSpeed {
    fn increase(&self, window: &Window) -> f64 {
        self.a(window.segments())
    }

    fn decrease(&mut self, window: &Window) -> f64 {
        self.b(window.segments())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Controller;
    use crate::registry::Spec;
    use crate::testing::{Bottleneck, Path, loss, segments, setup};
    use whimbrel_units::{Duration, Rate, Time};

    const RTT: Duration = Duration::from_millis(100);

    const RFC: HighSpeed = HighSpeed {
        low_window: 38.0,
        high_window: 83_000.0,
        low_p: 1e-3,
        high_p: 1e-7,
        high_decrease: 0.1,
    };

    fn highspeed(segments: u64) -> Box<dyn Controller> {
        let spec: Spec = "highspeed".parse().expect("in the table");
        spec.build(&setup(segments))
    }

    #[test]
    fn increase_and_decrease_are_those_of_the_table_of_appendix_b() {
        // w, a(w), b(w). The table has the windows at which a reaches the next whole number, with 0.078/w^1.2 for p(w),
        // which at High_Window is 2.5 % below the line.
        let table = [
            (118.0, 2.0, 0.44),
            (221.0, 3.0, 0.41),
            (495.0, 5.0, 0.37),
            (1_058.0, 8.0, 0.33),
            (2_076.0, 12.0, 0.29),
            (5_036.0, 20.0, 0.25),
            (10_661.0, 30.0, 0.21),
            (21_013.0, 42.0, 0.17),
            (35_586.0, 53.0, 0.14),
            (51_258.0, 61.0, 0.13),
            (71_617.0, 68.0, 0.11),
            (84_035.0, 71.0, 0.10),
        ];
        for (w, a, b) in table {
            assert!((RFC.a(w) / a - 1.0).abs() < 0.035, "a({w}) = {}", RFC.a(w));
            assert!((RFC.b(w) - b).abs() <= 0.0051, "b({w}) = {}", RFC.b(w));
        }
    }

    #[test]
    fn up_to_low_window_it_is_reno_and_no_formula_breaks_at_any_window() {
        for w in [1.0, 37.0, 38.0] {
            assert_eq!((RFC.a(w), RFC.b(w)), (1.0, 0.5));
        }
        // At High_Window: 83,000^2 * 1e-7 * 2 * 0.1/1.9 = 72.5.
        assert!((RFC.a(83_000.0) - 72.5).abs() < 0.1);
        // Above it b keeps, where the line would reach nothing at 568,000.
        assert_eq!(RFC.b(1e9), 0.1);
        assert!(RFC.a(u64::MAX as f64).is_finite());
    }

    #[test]
    fn a_loss_of_a_large_window_takes_a_third_and_of_a_small_one_a_half() {
        for (before, left) in [(38, 19.0), (1_058, 708.9), (83_000, 74_700.0)] {
            let mut law = highspeed(before);
            law.on_loss(&loss(&*law, Time::ZERO));
            let share = segments(&*law) / left;
            assert!((share - 1.0).abs() < 0.01, "{before}: {}", segments(&*law));
        }
    }

    #[test]
    fn a_round_trip_adds_what_the_table_says() {
        let mut law = highspeed(15_000);
        law.on_loss(&loss(&*law, Time::ZERO));
        let before = segments(&*law);
        assert!((11_358.0..12_834.0).contains(&before), "{before}");
        Path::new(RTT).round(&mut *law);
        // a(11,358) = 31 and a(12,834) = 33.
        let grown = segments(&*law) - before;
        assert!((30.5..34.0).contains(&grown), "{grown}");
    }

    #[test]
    fn the_mean_window_is_that_of_the_rfcs_table_of_the_response_function() {
        // The RFC's table of the response function at loss rates of 1e-2 to 1e-6. It takes a and b at the mean window,
        // where the law moves around it: at 1/1000 between Reno and the first steps above it.
        // It begins near there, as the overshoot of a slow start would take dozens of losses to come down.
        for (packets, expected, epochs) in [
            (100, 12.0, 20),
            (1_000, 38.0, 20),
            (10_000, 263.0, 20),
            (100_000, 1_795.0, 10),
            (1_000_000, 12_279.0, 4),
        ] {
            let mut law = highspeed(expected as u64);
            law.on_loss(&loss(&*law, Time::ZERO));
            let mean = Path::new(RTT).mean_window(&mut *law, packets, epochs);
            assert!((mean / expected - 1.0).abs() < 0.07, "1/{packets}: {mean}");
        }
    }

    #[test]
    fn alone_it_fills_a_link_whose_queue_holds_half_of_the_path() {
        // 40 Mbit/s and 100 ms: 500 packets, and 250 may wait. At 750, b is 0.345: 491 are left, all but 2 %.
        let mut link = Bottleneck::new(Rate::from_bits_per_sec(40_000_000), 250);
        link.add(highspeed(10), RTT);
        link.run(Duration::from_secs(20));
        let before = link.flows[0].delivered;
        link.run(Duration::from_secs(30));
        let rate = link.flows[0].rate_since(before, Duration::from_secs(30));
        assert!(rate.as_bits_per_sec() > 39_500_000, "{rate}");
    }
}
