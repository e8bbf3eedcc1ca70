//! Scalable TCP: the window grows and shrinks by fixed fractions.
//!
//! T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", ACM SIGCOMM
//! Computer Communication Review 33(2), 2003.
//!
//! * per ACK: `cwnd += a`, a = 0.01 segments
//! * loss: `cwnd -= b*cwnd`, b = 0.125
//! * up to the legacy window, lwnd = 16 segments, both are Reno's: `cwnd += 1/cwnd`, b = 1/2
//!
//! **Physics.** a per ACK is a*cwnd per round trip, so growth is exponential. The window recovers
//! from a loss in `ln(1/(1 - b))/ln(1 + a)` = 13.4 round trips whatever its size, where Reno needs
//! cwnd/2. With p losses per packet the peak window is `a/(b*p)` = 0.08/p.
//!
//! **When it works.** A single flow on a long, fast path.
//!
//! **Limits.** Two flows that lose packets together keep their ratio for ever, because both grow
//! and shrink by the same factors: with synchronized losses the shares do not converge, and the
//! flow with the shorter round trip displaces the other. Random losses cost it more than Reno in
//! proportion, because its window is proportional to 1/p.
//!
//! **Linux** (`linux=true`, tcp_scalable.c of 6.1) has no legacy window: a loss always takes b, in
//! whole segments, rounded down (of 8 to 15 segments one), and up to 1/a segments the window grows
//! by one per round trip, as Reno's.
//!
//! Units: windows are bytes; a and lwnd are in segments. Only the abstract of the paper and
//! secondary sources were available. The constants were checked against Linux's tcp_scalable.c.
//! Here a applies to each segment acknowledged, as in Linux, which is the paper's rule with an ACK
//! per segment.

use crate::building_blocks::aimd::{Aimd, IncreaseDecrease, RENO_DECREASE, RENO_INCREASE};
use crate::building_blocks::rule::WindowController;
use crate::building_blocks::window::Window;
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "scalable",
    code: code!("algorithms/loss/scalable.rs"),
    summary: "Grows by 1/100 and shrinks by 1/8 of the window: recovers in the same time at any \
              rate",
    citation: "T. Kelly, \"Scalable TCP: Improving Performance in Highspeed Wide Area Networks\", \
               ACM CCR 33(2), 2003",
    parameters: &[
        Parameter {
            name: "a",
            domain: Domain::Number {
                default: 0.01,
                range: (0.0001, 1.0),
            },
            meaning: "growth per segment acknowledged, segments",
        },
        Parameter {
            name: "b",
            domain: Domain::Number {
                default: 0.125,
                range: (0.01, 0.9),
            },
            meaning: "decrease on loss, fraction of the window",
        },
        Parameter {
            name: "lwnd",
            domain: Domain::Number {
                default: 16.0,
                range: (0.0, 10_000.0),
            },
            meaning: "legacy window, segments: Reno up to this window",
        },
        Parameter {
            name: "linux",
            domain: Domain::Switch(false),
            meaning: "as Linux's tcp_scalable: no legacy window, growth of at least a segment per \
                      round trip, decrease by whole segments",
        },
    ],
    feed: Feed::Acknowledgments {
        family: Family::Loss,
        driven_by: DrivenBy::Losses,
        build: |setup, values| {
            let rule = Scalable {
                a: values.number("a"),
                b: values.number("b"),
                lwnd: values.number("lwnd"),
                linux: values.switch("linux"),
            };
            Box::new(WindowController::new(setup, Aimd(rule)))
        },
    },
    kernel: Some("scalable"),
    look: Look::of(33, 11),
    ..Entry::BLANK
};

#[derive(Debug, Clone)]
struct Scalable {
    /// Growth per segment acknowledged, segments.
    a: f64,
    /// Decrease on loss, fraction of the window.
    b: f64,
    /// Legacy window, segments.
    lwnd: f64,
    /// Linux's growth and decrease.
    linux: bool,
}

impl IncreaseDecrease for Scalable {
    fn increase(&self, window: &Window) -> f64 {
        let cwnd = window.segments();
        if self.linux {
            (self.a * cwnd).max(RENO_INCREASE)
        } else if cwnd <= self.lwnd {
            RENO_INCREASE
        } else {
            self.a * cwnd
        }
    }

    fn decrease(&mut self, window: &Window) -> f64 {
        let cwnd = window.segments();
        if self.linux {
            (self.b * cwnd).floor() / cwnd
        } else if cwnd <= self.lwnd {
            RENO_DECREASE
        } else {
            self.b
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::interface::Controller;
    use crate::registry::Spec;
    use crate::testing::{Bottleneck, Path, loss, segments, setup};
    use whimbrel_units::{Duration, Rate, Time};

    const RTT: Duration = Duration::from_millis(100);

    fn scalable(segments: u64) -> Box<dyn Controller> {
        let spec: Spec = "scalable".parse().expect("a known controller");
        spec.build(&setup(segments)).expect("fed acknowledgments")
    }

    #[test]
    fn a_hundred_acks_add_one_segment_and_a_loss_takes_an_eighth() {
        let mut controller = scalable(1600);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        assert_eq!(segments(&*controller), 1400.0);
        // One round trip, 1400 ACKs.
        Path::new(RTT).round(&mut *controller);
        assert!(
            (segments(&*controller) - 1414.0).abs() < 0.01,
            "{}",
            segments(&*controller)
        );
    }

    #[test]
    fn recovery_takes_fourteen_round_trips_at_any_window() {
        // ln(8/7)/ln(1.01) = 13.4.
        for before in [200, 20_000] {
            let mut controller = scalable(before);
            controller.on_loss(&loss(&*controller, Time::ZERO));
            let mut path = Path::new(RTT);
            path.rounds_for(&mut *controller, RTT * 13);
            assert!(segments(&*controller) < before as f64);
            path.round(&mut *controller);
            assert!(segments(&*controller) >= before as f64);
        }
    }

    #[test]
    fn up_to_the_legacy_window_of_16_segments_it_is_reno() {
        let mut controller = scalable(16);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        assert_eq!(segments(&*controller), 8.0);
        Path::new(RTT).rounds_for(&mut *controller, RTT * 7);
        assert!((14.2..=15.0).contains(&segments(&*controller)));
        // Just above it both rules are Scalable's: 0.17 segments per round trip, and 7/8.
        let mut above = scalable(20);
        above.on_loss(&loss(&*above, Time::ZERO));
        assert_eq!(segments(&*above), 17.5);
        Path::new(RTT).round(&mut *above);
        assert!((segments(&*above) - 17.67).abs() < 0.02);
    }

    #[test]
    fn linuxs_grows_as_reno_and_shrinks_by_an_eighth_below_a_hundred_segments() {
        let spec: Spec = "scalable?linux=true".parse().expect("a known controller");
        for (before, after, grown) in [(15, 14.0, 7.0), (16, 14.0, 7.0), (1600, 1400.0, 101.0)] {
            let mut controller = spec.build(&setup(before)).expect("fed acknowledgments");
            controller.on_loss(&loss(&*controller, Time::ZERO));
            assert_eq!(segments(&*controller), after);
            Path::new(RTT).rounds_for(&mut *controller, RTT * 7);
            let growth = segments(&*controller) - after;
            assert!((growth / grown - 1.0).abs() < 0.12, "{growth}");
        }
    }

    #[test]
    fn the_mean_window_is_proportional_to_one_over_p() {
        // N packets from 7/8 of the peak W to W at 0.01 per packet: N = 12.5 W, so W = 0.08 N (the
        // paper's a/(b p)). They take ln(8/7)/0.01 = 13.35 round trips, so the mean is 0.0749 N.
        for (packets, peak, mean) in [(10_000, 800.0, 749.0), (100_000, 8_000.0, 7_490.0)] {
            // Start near the steady state: after the overshoot of slow start, dozens of losses
            // would be needed to come down by eighths.
            let mut controller = scalable(peak as u64);
            controller.on_loss(&loss(&*controller, Time::ZERO));
            let measured = Path::new(RTT).mean_window(&mut *controller, packets, 10);
            assert!((measured / mean - 1.0).abs() < 0.01, "{measured}");
            let before = segments(&*controller) / 0.875;
            assert!((before / peak - 1.0).abs() < 0.01, "{before}");
        }
    }

    #[test]
    fn a_single_flow_fills_a_link_with_a_buffer_of_a_fifth_bdp() {
        // 20 Mbit/s and 100 ms: 250 packets in flight and 50 in the buffer. The window falls from
        // 300 to 262, so the link stays full.
        let mut link = Bottleneck::new(Rate::from_bits_per_sec(20_000_000), 50);
        link.add(scalable(10), RTT);
        link.run(Duration::from_secs(20));
        let before = link.flows[0].delivered;
        link.run(Duration::from_secs(20));
        let rate = link.flows[0].rate_since(before, Duration::from_secs(20));
        assert!(rate.as_bits_per_sec() > 19_900_000, "{rate}");
    }
}
