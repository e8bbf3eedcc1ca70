//! Scalable TCP: a window that grows and falls by shares of itself.
//!
//! T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", ACM SIGCOMM Computer Communication
//! Review 33(2), 2003.
//!
//! * per ACK: `cwnd += a`, a = 0.01 segments
//! * loss: `cwnd -= b*cwnd`, b = 0.125
//! * up to the legacy window, lwnd = 16 segments, both are Reno's: `cwnd += 1/cwnd`, b = 1/2
//!
//! **The physics.** a per ACK is a*cwnd per round trip: growth is exponential, and a loss is made good in
//! `ln(1/(1 - b))/ln(1 + a)` = 13.4 round trips whatever the window is, where Reno needs cwnd/2 of them. With p losses
//! per packet the window is `a/(b*p)` = 0.08/p at its peak.
//!
//! **When.** Alone on a long fast path. **When not.** Two flows that lose together keep their ratio for ever, since
//! both grow and fall by the same factors: with synchronized losses it does not converge to fair shares, and the flow
//! with the shorter round trip drives the other out. Random losses cost it all the more than Reno in relation, as its
//! window goes with 1/p.
//!
//! Units: windows are bytes; a and lwnd are in segments. Of the paper only its abstract and secondary sources were at
//! hand; the constants were checked against Linux' tcp_scalable.c, which takes a = 0.02 per ACK for receivers that
//! delay them. Here a counts segments acknowledged, which is the paper's meaning with an ACK for each.

use crate::building_blocks::aimd::{Aimd, IncreaseDecrease, RENO_DECREASE, RENO_INCREASE};
use crate::building_blocks::rule::WindowController;
use crate::building_blocks::window::Window;
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Value, code};

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "scalable",
    code: code!("algorithms/loss/scalable.rs"),
    summary: "Grows by a hundredth and falls by an eighth of the window: recovers in the same time at any rate",
    citation: "T. Kelly, \"Scalable TCP: Improving Performance in Highspeed Wide Area Networks\", ACM CCR 33(2), 2003",
    family: Family::Loss,
    driven_by: DrivenBy::Losses,
    feed: Feed::Acknowledgments,
    parameters: &[
        Parameter {
            name: "a",
            default: Value::Number(0.01),
            range: (0.0001, 1.0),
            meaning: "growth per segment acknowledged, segments",
        },
        Parameter {
            name: "b",
            default: Value::Number(0.125),
            range: (0.01, 0.9),
            meaning: "share of the window that a loss takes",
        },
        Parameter {
            name: "lwnd",
            default: Value::Number(16.0),
            range: (0.0, 10_000.0),
            meaning: "legacy window, segments: up to it the law is Reno's",
        },
    ],
    build: |setup, values| {
        let rule = Scalable {
            a: values.number("a"),
            b: values.number("b"),
            lwnd: values.number("lwnd"),
        };
        Box::new(WindowController::new(setup, Aimd(rule)))
    },
};

#[derive(Debug, Clone)]
struct Scalable {
    /// Segments per segment acknowledged.
    a: f64,
    /// Share that a loss takes.
    b: f64,
    /// Segments.
    lwnd: f64,
}

impl IncreaseDecrease for Scalable {
    fn increase(&self, window: &Window) -> f64 {
        let cwnd = window.segments();
        if cwnd <= self.lwnd {
            RENO_INCREASE
        } else {
            self.a * cwnd
        }
    }

    fn decrease(&mut self, window: &Window) -> f64 {
        if window.segments() <= self.lwnd {
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
        let spec: Spec = "scalable".parse().expect("in the table");
        spec.build(&setup(segments))
    }

    #[test]
    fn a_hundred_acks_grow_it_by_a_segment_and_a_loss_takes_an_eighth() {
        let mut law = scalable(1600);
        law.on_loss(&loss(&*law, Time::ZERO));
        assert_eq!(segments(&*law), 1400.0);
        // One round trip, 1400 ACKs.
        Path::new(RTT).round(&mut *law);
        assert!(
            (segments(&*law) - 1414.0).abs() < 0.01,
            "{}",
            segments(&*law)
        );
    }

    #[test]
    fn a_loss_is_made_good_in_fourteen_round_trips_at_any_window() {
        // ln(8/7)/ln(1.01) = 13.4.
        for before in [200, 20_000] {
            let mut law = scalable(before);
            law.on_loss(&loss(&*law, Time::ZERO));
            let mut path = Path::new(RTT);
            path.rounds_for(&mut *law, RTT * 13);
            assert!(segments(&*law) < before as f64);
            path.round(&mut *law);
            assert!(segments(&*law) >= before as f64);
        }
    }

    #[test]
    fn up_to_the_legacy_window_of_sixteen_segments_it_is_reno() {
        let mut law = scalable(16);
        law.on_loss(&loss(&*law, Time::ZERO));
        assert_eq!(segments(&*law), 8.0);
        Path::new(RTT).rounds_for(&mut *law, RTT * 7);
        assert!((14.2..=15.0).contains(&segments(&*law)));
        // Just above it, both are Scalable's: 0.17 segments a round trip, and 7/8.
        let mut above = scalable(20);
        above.on_loss(&loss(&*above, Time::ZERO));
        assert_eq!(segments(&*above), 17.5);
        Path::new(RTT).round(&mut *above);
        assert!((segments(&*above) - 17.67).abs() < 0.02);
    }

    #[test]
    fn the_mean_window_goes_with_one_over_p() {
        // N packets from 7/8 of the peak W to W at 0.01 a packet: N = 12.5 W, so W = 0.08 N (the paper's a/(b p)); they
        // take ln(8/7)/0.01 = 13.35 round trips, so that the mean is 0.0749 N.
        for (packets, peak, mean) in [(10_000, 800.0, 749.0), (100_000, 8_000.0, 7_490.0)] {
            // It begins near there, as the overshoot of a slow start would take dozens of losses to come down by
            // eighths.
            let mut law = scalable(peak as u64);
            law.on_loss(&loss(&*law, Time::ZERO));
            let measured = Path::new(RTT).mean_window(&mut *law, packets, 10);
            assert!((measured / mean - 1.0).abs() < 0.01, "{measured}");
            let before = segments(&*law) / 0.875;
            assert!((before / peak - 1.0).abs() < 0.01, "{before}");
        }
    }

    #[test]
    fn alone_it_fills_a_link_whose_queue_holds_a_fifth_of_the_path() {
        // 20 Mbit/s and 100 ms: 250 packets, and 50 may wait. The window falls from 300 to 262: the link stays full.
        let mut link = Bottleneck::new(Rate::from_bits_per_sec(20_000_000), 50);
        link.add(scalable(10), RTT);
        link.run(Duration::from_secs(20));
        let before = link.flows[0].delivered;
        link.run(Duration::from_secs(20));
        let rate = link.flows[0].rate_since(before, Duration::from_secs(20));
        assert!(rate.as_bits_per_sec() > 19_900_000, "{rate}");
    }
}
