//! TCP Westwood+: Westwood with one bandwidth sample per round trip.
//!
//! L. Grieco, S. Mascolo, "Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas TCP Congestion
//! Control", ACM CCR 34(2), 2004, section 2. What could be read is its account in T. Saedi, "Congestion Control
//! Enhancement Over Wireless Networks", MSc thesis, Lakehead University, 2019, section 2.2.7, and as second
//! opinions Linux's `tcp_westwood.c` (A. Dell'Aera) and ns-3's `tcp-westwood-plus.cc`.
//!
//! * sample: `b_k = d_k/D_k`, d_k the bytes acknowledged during the last round trip, which took D_k
//! * filter: `BWE_k = alpha*BWE_{k-1} + (1 - alpha)*b_k`, alpha = 0.9
//! * loss and timeout: as Westwood (`westwood.rs`): `ssthresh = max(BWE*RTTmin, 2 segments)`
//!
//! Units: bytes, seconds.
//!
//! **The physics.** Over a whole round trip it does not matter how the ACKs were spaced: as many come as packets
//! were sent in the one before. So the sample is the flow's own rate, cwnd/RTT, and after a loss
//! `cwnd = cwnd*RTTmin/RTT`: the queue's share is given up, and nothing where there was no queue.
//!
//! **When it works.** Random losses on a path whose queue now and then drains; ACKs that were pressed together.
//!
//! **When not.**
//! * The filter remembers some ten round trips. In slow start the rate doubles in one, so that a first slow start that
//!   overflows ends at about a fifth of what it had reached; and where the rate falls, too much is kept for as long.
//! * It keeps a rate and does not look for one: where each round trip loses something, BWE and window fall together.
//! * A flow with little to send measures how little that is.
//! * RTTmin as in Westwood.
//!
//! **Where the source is silent.** The first sample is taken whole, as later versions of Linux have it (that of early
//! 2006 began at nothing): a filter that begins at nothing needs twenty round trips. A round trip is over with the
//! first ACK that comes a smoothed RTT after the last one was, and that ACK's data belongs to it: it arrived before.
//! Linux takes no less than 50 ms for it, in ticks of the kernel's clock; here time is exact. Linux filters twice
//! with 7/8; ns-3 by 0.9, of the mean of the last two samples. Duplicate and delayed ACKs are counted by
//! [`Ack::acked`], every byte once; without SACK what duplicates announced is counted with the cumulative ACK, a
//! round trip later. The paper sets cwnd to ssthresh; here a loss never raises it, and slow start goes there.

use crate::algorithms::bandwidth::westwood::{Estimate, Westwood};
use crate::building_blocks::rule::WindowController;
use crate::interface::Ack;
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Value, code};
use whimbrel_units::Time;

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "westwood+",
    code: code!(
        "algorithms/bandwidth/westwood_plus.rs",
        "algorithms/bandwidth/westwood.rs"
    ),
    summary: "Reno that after a loss takes the window that its rate of the last round trips needs",
    citation: "L. Grieco, S. Mascolo, \"Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas TCP \
               Congestion Control\", ACM CCR 34(2), 2004",
    family: Family::Bandwidth,
    driven_by: DrivenBy::Losses,
    feed: Feed::Acknowledgments,
    parameters: &[Parameter {
        name: "alpha",
        default: Value::Number(0.9),
        range: (0.0, 0.999),
        meaning: "weight of the old estimate of bandwidth against a round trip's sample",
    }],
    build: |setup, values| {
        let estimate = PerRoundTrip::new(values.number("alpha"));
        Box::new(WindowController::new(setup, Westwood::new(estimate)))
    },
};

/// One sample per round trip through a low-pass filter.
#[derive(Debug, Clone)]
pub(crate) struct PerRoundTrip {
    alpha: f64,
    /// BWE, bytes per second.
    filtered: Option<f64>,
    /// When the round trip began.
    began: Option<Time>,
    /// Acknowledged in it, bytes.
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

    /// In segments per second, after ACKs of (milliseconds, segments); the RTT is 100 ms.
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
    fn a_round_trip_gives_one_sample_and_the_first_is_taken_whole() {
        assert_eq!(measured(&[(0, 10)]), 0.0, "no round trip is over");
        assert_eq!(measured(&[(0, 10), (99, 5)]), 0.0);
        // 5 + 5 segments in 100 ms; what came at its beginning belongs to the one before.
        assert!((measured(&[(0, 10), (50, 5), (100, 5)]) - 100.0).abs() < 1e-9);
        // Then 20 in 100 ms: 0.9*100 + 0.1*200.
        let two = measured(&[(0, 10), (50, 5), (100, 5), (150, 10), (200, 10)]);
        assert!((two - 110.0).abs() < 1e-9, "{two}");
        // The time it took counts, not the RTT: 30 in 150 ms.
        assert!((measured(&[(0, 1), (99, 10), (150, 20)]) - 200.0).abs() < 1e-9);
    }

    #[test]
    fn it_does_not_matter_how_the_acks_of_a_round_trip_were_spaced() {
        let even = measured(&[(0, 1), (25, 5), (50, 5), (75, 5), (100, 5)]);
        let together = measured(&[(0, 1), (100, 5), (100, 15)]);
        assert!((even - 200.0).abs() < 1e-9);
        // Without SACK, one ACK for what the duplicates before it announced.
        assert!((measured(&[(0, 1), (100, 20)]) - even).abs() < 1e-9);
        assert!((together - 50.0).abs() < 1e-9, "the rest is the next one's");
    }

    fn new(window: u64) -> Box<dyn Controller> {
        let spec: Spec = "westwood+".parse().expect("in the table");
        spec.build(&setup(window))
    }

    /// 8 Mbit/s and 100 ms: 1000 segments a second and 100 in flight, with room for so many more.
    fn path(room: usize) -> Bottleneck {
        Bottleneck::new(Rate::from_bits_per_sec(8_000_000), room)
    }

    #[test]
    fn after_an_overflow_the_queue_is_given_up_and_the_path_stays_full() {
        let mut path = path(100);
        path.add(new(10), Duration::from_millis(100));
        path.run(Duration::from_secs(60));
        // By then the window swings between the path's 101 segments and those and the queue's 100.
        let (mut least, mut greatest) = (f64::MAX, 0.0f64);
        let before = path.flows[0].delivered;
        for _ in 0..6000 {
            path.run(Duration::from_millis(10));
            let window = segments(&*path.flows[0].controller);
            least = least.min(window);
            greatest = greatest.max(window);
        }
        assert!((95.0..103.0).contains(&least), "{least}");
        assert!((200.0..206.0).contains(&greatest), "{greatest}");
        let rate = (path.flows[0].delivered - before) / MSS / 60;
        assert!(rate >= 990, "{rate}");
    }

    /// The window half a second after a single loss, while the path was full and its queue empty.
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
        // One packet is sent in each millisecond.
        let lost = path.flows[0].lost;
        path.loss = 1.0;
        path.run(Duration::from_millis(1));
        path.loss = 0.0;
        path.run(Duration::from_millis(500));
        assert_eq!(path.flows[0].lost - lost, MSS);
        window(&path)
    }

    #[test]
    fn a_random_loss_while_no_queue_stands_leaves_the_window_and_reno_loses_half() {
        // 1000 segments a second for the 101 ms of RTTmin, and what some round trips since the loss have added.
        let plus = after_one_random_loss(new(10));
        assert!((100.0..107.0).contains(&plus), "{plus}");
        let reno = after_one_random_loss(Box::new(newreno(10)));
        assert!((50.0..58.0).contains(&reno), "{reno}");
    }

    #[test]
    fn rare_random_losses_leave_the_path_full() {
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
