//! HighSpeed TCP: the larger the window, the more it grows per round trip and the less it shrinks
//! on loss.
//!
//! S. Floyd, "HighSpeed TCP for Large Congestion Windows", RFC 3649, 2003. Section numbers in this
//! file are those of the RFC.
//!
//! * response function, a straight line in logarithms from (Low_P, Low_Window) to (High_P,
//!   High_Window): `log p(w) = log Low_P + (log w - log Low_Window)/(log High_Window - log
//!   Low_Window)*(log High_P - log Low_P)`, about `p(w) = 0.078/w^1.2`, `w = 0.12/p^0.835` (5)
//! * decrease: `b(w) = (High_Decrease - 0.5)*(log w - log Low_Window)/(log High_Window - log
//!   Low_Window) + 0.5` (7)
//! * increase per round trip: `a(w) = w^2*p(w)*2*b(w)/(2 - b(w))` segments (7)
//! * up to Low_Window both are Reno's: a = 1, b = 1/2 (7)
//!
//! **Physics.** Reno at 10 Gbit/s and 100 ms requires a loss rate of one in 5 billion packets, and
//! takes half an hour to recover from a loss. HighSpeed TCP specifies the window for each loss
//! rate, and a and b follow: at 83,000 segments a loss takes a tenth, and each round trip adds 72
//! segments. Where one packet in 1000 or more is lost, window and rules are Reno's, so HighSpeed
//! TCP does not displace other flows there.
//!
//! **Limits.** With drop-tail queues, where flows lose packets together, the larger window grows
//! faster and shrinks less, and a new flow takes long to get its share. Of two flows the one with
//! the shorter round trip gets much more. The initial slow start overshoots as much as path and
//! queue hold, as in Reno. The RFC suggests limited slow start (RFC 3742), which is not implemented
//! here.
//!
//! Units: windows are bytes, w is in segments.
//!
//! **Choices where the RFC is silent.** Above High_Window b stays at High_Decrease, because the
//! line would fall to zero. a is never below Reno's 1, which the formula misses by 4 % just above
//! Low_Window. The tests check a and b against the table of appendix B as quoted in Linux's
//! tcp_highspeed.c; the equations and tables of the RFC are cited from memory.

use crate::building_blocks::aimd::{Aimd, IncreaseDecrease, RENO_DECREASE, RENO_INCREASE};
use crate::building_blocks::rule::WindowController;
use crate::building_blocks::window::Window;
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "highspeed",
    code: code!("algorithms/loss/highspeed.rs"),
    summary: "Reno that grows faster and shrinks less as its window exceeds 38 segments",
    citation: "S. Floyd, \"HighSpeed TCP for Large Congestion Windows\", RFC 3649, 2003",
    parameters: &[
        Parameter {
            name: "Low_Window",
            domain: Domain::Number {
                default: 38.0,
                range: (2.0, 1_000.0),
            },
            meaning: "Reno up to this window, segments",
        },
        Parameter {
            name: "High_Window",
            domain: Domain::Number {
                default: 83_000.0,
                range: (2_000.0, 10_000_000.0),
            },
            meaning: "target mean window at High_P, segments",
        },
        Parameter {
            name: "Low_P",
            domain: Domain::Number {
                default: 1e-3,
                range: (1e-5, 0.1),
            },
            meaning: "loss rate at which Reno's mean window is Low_Window",
        },
        Parameter {
            name: "High_P",
            domain: Domain::Number {
                default: 1e-7,
                range: (1e-12, 1e-5),
            },
            meaning: "loss rate at which the mean window should be High_Window",
        },
        Parameter {
            name: "High_Decrease",
            domain: Domain::Number {
                default: 0.1,
                range: (0.01, 0.5),
            },
            meaning: "decrease on loss at High_Window and above, fraction of the window",
        },
    ],
    feed: Feed::Acknowledgments {
        family: Family::Loss,
        driven_by: DrivenBy::Losses,
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
    },
    kernel: Some("highspeed"),
    look: Look::of(32, 6),
    ..Entry::BLANK
};

/// The parameters of the response function, with the RFC's names.
#[derive(Debug, Clone)]
struct HighSpeed {
    low_window: f64,
    high_window: f64,
    low_p: f64,
    high_p: f64,
    high_decrease: f64,
}

impl HighSpeed {
    /// Position of w between Low_Window (0) and High_Window (1), on a logarithmic scale.
    fn position(&self, w: f64) -> f64 {
        (w / self.low_window).ln() / (self.high_window / self.low_window).ln()
    }

    /// b(w).
    fn b(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return RENO_DECREASE;
        }
        let b = (self.high_decrease - RENO_DECREASE) * self.position(w) + RENO_DECREASE;
        b.max(self.high_decrease)
    }

    /// a(w), segments.
    fn a(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return RENO_INCREASE;
        }
        let p = self.low_p * (self.high_p / self.low_p).powf(self.position(w));
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
        let spec: Spec = "highspeed".parse().expect("a known controller");
        spec.build(&setup(segments)).expect("fed acknowledgments")
    }

    #[test]
    fn increase_and_decrease_match_the_table_of_appendix_b() {
        // w, a(w), b(w). The table lists the windows at which a reaches the next whole number, with
        // 0.078/w^1.2 for p(w), which is 2.5 % below the line at High_Window.
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
    fn the_formulas_hold_for_any_window_and_are_renos_at_first() {
        for w in [1.0, 37.0, 38.0] {
            assert_eq!((RFC.a(w), RFC.b(w)), (1.0, 0.5));
        }
        // At High_Window: 83,000^2 * 1e-7 * 2 * 0.1/1.9 = 72.5.
        assert!((RFC.a(83_000.0) - 72.5).abs() < 0.1);
        // Above it b is constant, where the line would reach zero at 568,000.
        assert_eq!(RFC.b(1e9), 0.1);
        assert!(RFC.a(u64::MAX as f64).is_finite());
    }

    #[test]
    fn a_loss_takes_less_of_a_larger_window() {
        for (before, left) in [(38, 19.0), (1_058, 708.9), (83_000, 74_700.0)] {
            let mut controller = highspeed(before);
            controller.on_loss(&loss(&*controller, Time::ZERO));
            let share = segments(&*controller) / left;
            assert!(
                (share - 1.0).abs() < 0.01,
                "{before}: {}",
                segments(&*controller)
            );
        }
    }

    #[test]
    fn a_round_trip_adds_as_much_as_the_table_states() {
        let mut controller = highspeed(15_000);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        let before = segments(&*controller);
        assert!((11_358.0..12_834.0).contains(&before), "{before}");
        Path::new(RTT).round(&mut *controller);
        // a(11,358) = 31 and a(12,834) = 33.
        let grown = segments(&*controller) - before;
        assert!((30.5..34.0).contains(&grown), "{grown}");
    }

    #[test]
    fn the_mean_window_matches_the_rfcs_response_function() {
        // The RFC's table of the response function at loss rates of 1e-2 to 1e-6. The table takes a
        // and b at the mean window, but the window moves around the mean: at 1/1000 between Reno
        // and the first steps above it. Start near the steady state: after the overshoot of slow
        // start, dozens of losses would be needed to come down.
        for (packets, expected, epochs) in [
            (100, 12.0, 20),
            (1_000, 38.0, 20),
            (10_000, 263.0, 20),
            (100_000, 1_795.0, 10),
            (1_000_000, 12_279.0, 4),
        ] {
            let mut controller = highspeed(expected as u64);
            controller.on_loss(&loss(&*controller, Time::ZERO));
            let mean = Path::new(RTT).mean_window(&mut *controller, packets, epochs);
            assert!((mean / expected - 1.0).abs() < 0.07, "1/{packets}: {mean}");
        }
    }

    #[test]
    fn a_single_flow_fills_a_link_with_a_buffer_of_half_a_bdp() {
        // 40 Mbit/s and 100 ms: 500 packets in flight and 250 in the buffer. At 750 packets b is
        // 0.345, which leaves 491: all but 2 %.
        let mut link = Bottleneck::new(Rate::from_bits_per_sec(40_000_000), 250);
        link.add(highspeed(10), RTT);
        link.run(Duration::from_secs(20));
        let before = link.flows[0].delivered;
        link.run(Duration::from_secs(30));
        let rate = link.flows[0].rate_since(before, Duration::from_secs(30));
        assert!(rate.as_bits_per_sec() > 39_500_000, "{rate}");
    }
}
