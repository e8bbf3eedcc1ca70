//! TCP Westwood+: Westwood with one bandwidth sample per round trip.
//!
//! L. Grieco, S. Mascolo, "Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas
//! TCP Congestion Control", ACM CCR 34(2), 2004, section 2. The code follows its account in T.
//! Saedi, "Congestion Control Enhancement Over Wireless Networks", MSc thesis, Lakehead University,
//! 2019, section 2.2.7, with Linux's `tcp_westwood.c` (A. Dell'Aera) and ns-3's
//! `tcp-westwood-plus.cc` for comparison.
//!
//! * sample: `b_k = d_k/D_k`, d_k the bytes acknowledged during the last round trip, D_k its
//!   duration
//! * filter: `BWE_k = alpha*BWE_{k-1} + (1 - alpha)*b_k`, alpha = 0.9
//! * loss and timeout: as Westwood (`westwood.rs`): `ssthresh = max(BWE*RTTmin, 2 segments)`
//!
//! Units: bytes, seconds.
//!
//! **Physics.** Over a whole round trip the spacing of ACKs does not matter: as many ACKs arrive as
//! packets were sent in the round trip before. The sample is the flow's own rate, cwnd/RTT, and
//! after a loss `cwnd = cwnd*RTTmin/RTT`: the window gives up its part of the queue, and nothing
//! where there was no queue.
//!
//! **When it works.** Random losses on a path whose queue drains from time to time; compressed
//! ACKs.
//!
//! **Limits.**
//! * The filter remembers about ten round trips. In slow start the rate doubles in one, so an
//!   initial slow start that overflows ends at about a fifth of what it had reached. When the rate
//!   falls, the estimate is too high for as long.
//! * The estimate follows the flow's own rate and does not probe. Where each round trip loses
//!   packets, BWE and window fall together.
//! * A flow with little data measures its own demand.
//! * RTTmin has the limits described in `westwood.rs`.
//!
//! **Choices where the source is silent.** The first sample is used unfiltered, as in later
//! versions of Linux (that of early 2006 began at zero): a filter that begins at zero needs twenty
//! round trips. A round trip ends with the first ACK that arrives a smoothed RTT after the last one
//! ended; the data of that ACK belongs to it. Linux uses at least 50 ms, in ticks of the kernel's
//! clock; here time is exact. Linux filters twice with 7/8; ns-3 filters the mean of the last two
//! samples with 0.9. [`Ack::acked`] accounts for duplicate and delayed ACKs, every byte once;
//! without SACK the data announced by duplicates counts with the cumulative ACK, one round trip
//! later. The paper sets cwnd to ssthresh; here a loss never raises cwnd, and slow start raises it
//! to ssthresh.

use crate::algorithms::bandwidth::westwood::{Estimate, Westwood};
use crate::algorithms::bandwidth::westwood_linux::LinuxWestwood;
use crate::building_blocks::rule::WindowController;
use crate::interface::Ack;
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};
use whimbrel_units::Time;

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "westwood-plus",
    code: code!(
        "algorithms/bandwidth/westwood_plus.rs",
        "algorithms/bandwidth/westwood_linux.rs",
        "algorithms/bandwidth/westwood.rs"
    ),
    summary: "Reno that sets the window after a loss to the rate of the last round trips times the \
              minimum RTT",
    citation: "L. Grieco, S. Mascolo, \"Performance Evaluation and Comparison of Westwood+, New \
               Reno, and Vegas TCP Congestion Control\", ACM CCR 34(2), 2004",
    parameters: &[
        Parameter {
            name: "alpha",
            domain: Domain::Number {
                default: 0.9,
                range: (0.0, 0.999),
            },
            meaning: "weight of the old bandwidth estimate in the filter",
        },
        Parameter {
            name: "linux",
            domain: Domain::Switch(false),
            meaning: "as Linux's tcp_westwood: recovery towards the half, then the measured \
                      window; a filter of its own, so alpha has no effect",
        },
    ],
    feed: Feed::Acknowledgments {
        family: Family::Bandwidth,
        driven_by: DrivenBy::Losses,
        build: |setup, values| {
            if values.switch("linux") {
                return Box::new(WindowController::new(setup, LinuxWestwood::default()));
            }
            let estimate = PerRoundTrip::new(values.number("alpha"));
            Box::new(WindowController::new(setup, Westwood::new(estimate)))
        },
    },
    old_name: Some("westwood+"),
    kernel: Some("westwood"),
    look: Look::of(13, 13),
    ..Entry::BLANK
};

/// A low-pass filter with one sample per round trip.
#[derive(Debug, Clone)]
pub(crate) struct PerRoundTrip {
    alpha: f64,
    /// BWE, bytes per second.
    filtered: Option<f64>,
    /// When the current round trip began.
    began: Option<Time>,
    /// Bytes acknowledged in it.
    acked: u64,
}

impl PerRoundTrip {
    pub fn new(alpha: f64) -> Self {
        Self {
            alpha,
            filtered: None,
            began: None,
            acked: 0,
        }
    }
}

impl Estimate for PerRoundTrip {
    fn on_ack(&mut self, ack: &Ack, _mss: u64) {
        let Some(began) = self.began else {
            self.began = Some(ack.now);
            return;
        };
        self.acked = self.acked.saturating_add(ack.acked.get());
        let took = ack.now.since(began);
        if took.is_zero() || took < ack.srtt {
            return;
        }
        self.began = Some(ack.now);
        let sample = std::mem::take(&mut self.acked) as f64 / took.as_secs_f64();
        self.filtered = Some(match self.filtered {
            None => sample,
            Some(old) => self.alpha * old + (1.0 - self.alpha) * sample,
        });
    }

    fn bandwidth(&self) -> f64 {
        self.filtered.unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Controller;
    use crate::registry::Spec;
    use crate::testing::{ACK, Bottleneck, MSS, newreno, segments, setup};
    use whimbrel_units::{Bytes, Duration, Rate};

    /// The estimate in segments per second after ACKs of (milliseconds, segments); the RTT is 100
    /// ms.
    fn measured(acks: &[(u64, u64)]) -> f64 {
        let mut estimate = PerRoundTrip::new(0.9);
        for &(ms, segments) in acks {
            estimate.on_ack(
                &Ack {
                    now: Time::ZERO + Duration::from_millis(ms),
                    acked: Bytes::new(segments * MSS),
                    ..ACK
                },
                MSS,
            );
        }
        estimate.bandwidth() / MSS as f64
    }

    #[test]
    fn a_round_trip_gives_one_sample_and_the_first_is_unfiltered() {
        assert_eq!(measured(&[(0, 10)]), 0.0, "no round trip has ended");
        assert_eq!(measured(&[(0, 10), (99, 5)]), 0.0);
        // 5 + 5 segments in 100 ms; the ACK at the beginning belongs to the round trip before.
        assert!((measured(&[(0, 10), (50, 5), (100, 5)]) - 100.0).abs() < 1e-9);
        // Then 20 in 100 ms: 0.9*100 + 0.1*200.
        let two = measured(&[(0, 10), (50, 5), (100, 5), (150, 10), (200, 10)]);
        assert!((two - 110.0).abs() < 1e-9, "{two}");
        // The actual duration counts, not the RTT: 30 segments in 150 ms.
        assert!((measured(&[(0, 1), (99, 10), (150, 20)]) - 200.0).abs() < 1e-9);
    }

    #[test]
    fn the_spacing_of_acks_in_a_round_trip_does_not_matter() {
        let even = measured(&[(0, 1), (25, 5), (50, 5), (75, 5), (100, 5)]);
        let together = measured(&[(0, 1), (100, 5), (100, 15)]);
        assert!((even - 200.0).abs() < 1e-9);
        // Without SACK, one ACK for the data that the duplicates before it announced.
        assert!((measured(&[(0, 1), (100, 20)]) - even).abs() < 1e-9);
        assert!(
            (together - 50.0).abs() < 1e-9,
            "the rest belongs to the next one"
        );
    }

    fn new(window: u64) -> Box<dyn Controller> {
        let spec: Spec = "westwood-plus".parse().expect("a known controller");
        spec.build(&setup(window)).expect("fed acknowledgments")
    }

    /// 8 Mbit/s and 100 ms: 1000 segments per second and 100 in flight, with a buffer of `room`.
    fn path(room: usize) -> Bottleneck {
        Bottleneck::new(Rate::from_bits_per_sec(8_000_000), room)
    }

    #[test]
    fn after_an_overflow_the_queue_drains_and_the_path_stays_full() {
        let mut path = path(100);
        path.add(new(10), Duration::from_millis(100));
        path.run(Duration::from_secs(60));
        // By then the window oscillates between the 101 segments of the path and 100 more in the
        // queue.
        let (mut min, mut max) = (f64::MAX, 0.0f64);
        let before = path.flows[0].delivered;
        for _ in 0..6000 {
            path.run(Duration::from_millis(10));
            let window = segments(&*path.flows[0].controller);
            min = min.min(window);
            max = max.max(window);
        }
        assert!((95.0..103.0).contains(&min), "{min}");
        assert!((200.0..206.0).contains(&max), "{max}");
        let rate = (path.flows[0].delivered - before) / MSS / 60;
        assert!(rate >= 990, "{rate}");
    }

    /// The window half a second after a single loss on a full path with an empty queue.
    fn after_one_random_loss(controller: Box<dyn Controller>) -> f64 {
        let mut path = path(100);
        path.add(controller, Duration::from_millis(100));
        path.run(Duration::from_secs(60));
        let window = |path: &Bottleneck| segments(&*path.flows[0].controller);
        while !(101.0..104.0).contains(&window(&path)) {
            path.run(Duration::from_millis(10));
        }
        path.run(Duration::from_millis(300));
        assert!(path.queued() <= 5, "{}", path.queued());
        // One packet is sent per millisecond.
        let lost = path.flows[0].lost;
        path.loss = 1.0;
        path.run(Duration::from_millis(1));
        path.loss = 0.0;
        path.run(Duration::from_millis(500));
        assert_eq!(path.flows[0].lost - lost, MSS);
        window(&path)
    }

    #[test]
    fn a_random_loss_without_a_queue_keeps_the_window() {
        // 1000 segments per second for the 101 ms of RTTmin, and the growth of some round trips
        // since the loss.
        let plus = after_one_random_loss(new(10));
        assert!((100.0..107.0).contains(&plus), "{plus}");
        let reno = after_one_random_loss(Box::new(newreno(10)));
        assert!((50.0..58.0).contains(&reno), "{reno}");
    }

    #[test]
    fn rare_random_losses_keep_the_path_full() {
        // One in 2000, every two seconds. By 1.22/sqrt(p) Reno's window is 55 segments of the 101.
        let rate = |controller: Box<dyn Controller>| {
            let mut path = path(100);
            path.add(controller, Duration::from_millis(100));
            path.run(Duration::from_secs(60));
            path.loss = 0.0005;
            let before = path.flows[0].delivered;
            path.run(Duration::from_secs(120));
            (path.flows[0].delivered - before) / MSS / 120
        };
        let (plus, reno) = (rate(new(10)), rate(Box::new(newreno(10))));
        assert!(plus >= 980, "{plus}");
        assert!(reno <= 800, "{reno}");
    }
}
