//! TCP Westwood: Reno that after a loss takes the window the path was measured to carry.
//!
//! S. Mascolo, C. Casetti, M. Gerla, M. Sanadidi, R. Wang, "TCP Westwood: Bandwidth Estimation for Enhanced Transport
//! over Wireless Links", MobiCom 2001, sections 2 and 3. What could be read is its account in T. Saedi, "Congestion
//! Control Enhancement Over Wireless Networks", MSc thesis, Lakehead University, 2019, section 2.2.6, and the authors'
//! own code for ns-2 (`tcp-westwood.cc` v1.3, M. Valla, UCLA, 2002), from which the filter is taken.
//!
//! * sample: `b_k = d_k/(t_k - t_{k-1})`, d_k the bytes that the ACK at t_k reports
//! * filter: `BWE_k = a_k*BWE_{k-1} + (1 - a_k)*(b_k + b_{k-1})/2`, `a_k = (2*tau - D)/(2*tau + D)`, D = t_k - t_{k-1}:
//!   a low-pass of time constant tau, made discrete by Tustin's rule
//! * virtual samples: while no ACK has come for tau/m, a sample of 0 every tau/m
//! * loss: `ssthresh = max(BWE*RTTmin, 2 segments)`, `cwnd = min(cwnd, ssthresh)`
//! * timeout: the same ssthresh, cwnd of one segment
//! * all else is Reno's
//!
//! Units: bytes, seconds.
//!
//! **The physics.** BWE*RTTmin is what has to be in flight to keep up the rate at which data was arriving, with no
//! queue. If the window overfilled the path, the queue is what goes; if the channel lost a packet while there was
//! no queue, RTT = RTTmin, BWE = cwnd/RTT, and the window stays what it was. Nothing is told apart.
//!
//! **When it works.** One bottleneck, ACKs spaced as the data was, losses that are the channel's.
//!
//! **When not.**
//! * ACKs that were pressed together on their way give samples far above what any link passes, and half of the last of
//!   them is held through the gap that follows: ten ACKs 0.1 ms apart every 100 ms measure fifty times too much (a test
//!   below). So with a queue on the way back the window is hardly reduced at all. Westwood+ was made for that.
//! * A window sent in one burst on a path it does not fill is the same at a smaller scale: BWE is between the flow's rate
//!   and the bottleneck's. The rate itself is not measured then, but, as the paper has it, what is available.
//! * The filter needs some tau to follow. A first slow start that overflows sooner is punished with a small ssthresh.
//! * Without a queue that drains, RTTmin holds other flows' queues and too much is kept; after a change to a longer
//!   route it is too little.
//!
//! **Where it departs.** The paper counts a duplicate ACK as one segment, and of a later cumulative ACK what exceeds
//! those. Here [`Ack::acked`] counts every byte once: with SACK when the duplicate comes, which is the same, and without
//! SACK when the cumulative one does. Such an ACK, of more than the two segments of a delayed one, is spread evenly over the
//! time since the last, for that is when the data arrived; nothing virtual is put there. Silence is divided into
//! equal parts of at most tau/m rather than into tau/m and a rest: the rest could be as short as one likes, and its
//! sample as large (ns-2 has a least rest of 10 ms for that). ACKs of the same instant are one sample.
//!
//! tau is 1 s and m is 2 as in ns-2. A loss never raises the window, as in the paper's pseudo-code.

use crate::building_blocks::rule::{Rule, WindowController, grow_as_reno};
use crate::building_blocks::window::{SLOW_START_LIMIT, Window};
use crate::interface::{Ack, Loss, LossResponse, Timeout};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Value, code};
use std::fmt::Debug;
use whimbrel_units::{Duration, Time};

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "westwood",
    code: code!("algorithms/bandwidth/westwood.rs"),
    summary: "Reno that after a loss takes the window the path was measured to carry, ACK by ACK",
    citation: "S. Mascolo et al., \"TCP Westwood: Bandwidth Estimation for Enhanced Transport over Wireless Links\", \
               MobiCom 2001",
    family: Family::Bandwidth,
    driven_by: DrivenBy::Losses,
    feed: Feed::Acknowledgments,
    parameters: &[
        Parameter {
            name: "tau",
            default: Value::Number(1.0),
            range: (0.001, 100.0),
            meaning: "time constant of the bandwidth filter, seconds",
        },
        Parameter {
            name: "m",
            default: Value::Number(2.0),
            range: (2.0, 100.0),
            meaning: "tau/m without an ACK counts as a sample of no bandwidth",
        },
    ],
    build: |setup, values| {
        let rule = Westwood::classic(values.number("tau"), values.number("m"));
        Box::new(WindowController::new(setup, rule))
    },
};

/// A way to measure the bandwidth that a flow gets.
pub(crate) trait Estimate: Debug + Clone + Send + Sync + 'static {
    /// Data was acknowledged; `mss` is the segment size, bytes.
    fn on_ack(&mut self, ack: &Ack, mss: u64);

    /// BWE, bytes per second, finite and not negative; 0 before anything was measured.
    fn bandwidth(&self) -> f64;
}

/// Westwood's rule, on any estimate.
#[derive(Debug, Clone)]
pub(crate) struct Westwood<E> {
    estimate: E,
    /// RTTmin.
    min_rtt: Duration,
}

impl<E> Westwood<E> {
    pub fn new(estimate: E) -> Self {
        Self {
            estimate,
            min_rtt: Duration::ZERO,
        }
    }
}

impl<E: Estimate> Westwood<E> {
    /// BWE*RTTmin, bytes.
    fn ssthresh_after_loss(&self) -> u64 {
        (self.estimate.bandwidth() * self.min_rtt.as_secs_f64()) as u64
    }
}

impl<E: Estimate> Rule for Westwood<E> {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.min_rtt = ack.min_rtt;
        self.estimate.on_ack(ack, window.mss);
        grow_as_reno(window, ack, SLOW_START_LIMIT);
    }

    fn on_loss(&mut self, window: &mut Window, _: &Loss) -> LossResponse {
        window.reduce_to(self.ssthresh_after_loss());
        LossResponse::REDUCED
    }

    fn on_timeout(&mut self, window: &mut Window, _: &Timeout) {
        window.collapse(Some(self.ssthresh_after_loss()));
    }
}

impl Westwood<Tustin> {
    /// The first Westwood: a sample of bandwidth with each ACK, filtered with time constant `tau` in seconds; `tau/m` without
    /// an ACK counts as a sample of none.
    pub fn classic(tau: f64, m: f64) -> Self {
        Self::new(Tustin::new(tau, m))
    }
}

/// One sample per ACK through a low-pass filter.
#[derive(Debug, Clone)]
pub(crate) struct Tustin {
    /// Seconds.
    tau: f64,
    m: f64,
    /// BWE_k, bytes per second.
    filtered: f64,
    /// b_k, bytes per second.
    sample: f64,
    /// t_k.
    last: Option<Time>,
    /// Acknowledged since, bytes.
    acked: u64,
}

impl Tustin {
    /// Parts of a silence: after so many virtual samples, (3/5)^64, nothing is left of what was before.
    const MOST_PARTS: f64 = 64.0;

    fn new(tau: f64, m: f64) -> Self {
        Self {
            tau,
            m,
            filtered: 0.0,
            sample: 0.0,
            last: None,
            acked: 0,
        }
    }

    /// Takes in a sample of an interval of so many seconds, more than 0 and at most tau/m.
    fn filter(&mut self, sample: f64, interval: f64) {
        let k = 2.0 * self.tau / interval;
        self.filtered = (self.filtered * (k - 1.0) + sample + self.sample) / (k + 1.0);
        self.sample = sample;
    }
}

impl Estimate for Tustin {
    fn on_ack(&mut self, ack: &Ack, mss: u64) {
        let Some(last) = self.last else {
            self.last = Some(ack.now); // Over what time its data arrived, nobody knows.
            return;
        };
        self.acked = self.acked.saturating_add(ack.acked.get());
        let interval = ack.now.since(last).as_secs_f64();
        if interval == 0.0 {
            return;
        }
        self.last = Some(ack.now);
        let spread = self.acked > mss.saturating_mul(2);
        let acked = std::mem::take(&mut self.acked) as f64;
        let longest = self.tau / self.m;
        let parts = (interval / longest).ceil().clamp(1.0, Self::MOST_PARTS);
        let part = (interval / parts).min(longest);
        let (before, own) = match spread {
            true => (acked / interval, acked / interval),
            false => (0.0, acked / part),
        };
        for _ in 1..parts as u32 {
            self.filter(before, part);
        }
        self.filter(own, part);
    }

    fn bandwidth(&self) -> f64 {
        self.filtered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::bandwidth::westwood_plus::PerRoundTrip;
    use crate::interface::Controller;
    use crate::testing::{ACK, Bottleneck, MSS, loss, newreno, segments, setup, timeout};
    use whimbrel_units::{Bytes, Rate};

    /// ACKs of so many segments each, at these times in microseconds.
    fn acks<E: Estimate>(estimate: &mut E, segments: u64, at: impl Iterator<Item = u64>) {
        for us in at {
            estimate.on_ack(
                &Ack {
                    now: Time::from_nanos(us * 1000),
                    acked: Bytes::new(segments * MSS),
                    ..ACK
                },
                MSS,
            );
        }
    }

    /// After ACKs of so many segments each, at these times in milliseconds, in segments per second.
    fn measured(segments: u64, at: &[u64]) -> f64 {
        let mut filter = Tustin::new(1.0, 2.0);
        acks(&mut filter, segments, at.iter().map(|ms| ms * 1000));
        filter.bandwidth() / MSS as f64
    }

    fn assert_near(actual: f64, expected: f64) {
        assert!(
            (actual - expected).abs() < expected * 1e-6,
            "{actual}, expected {expected}"
        );
    }

    #[test]
    fn the_filter_weighs_as_ns_2_does_at_ten_acks_a_second() {
        // Its constants for that interval: 0.9047 and 0.0476, which is 19/21 and 1/21. Samples are 10 segments a second.
        assert_near(measured(1, &[0, 100]), 10.0 / 21.0);
        assert_near(
            measured(1, &[0, 100, 200]),
            19.0 / 21.0 * 10.0 / 21.0 + 20.0 / 21.0,
        );
    }

    #[test]
    fn half_a_second_without_an_ack_counts_as_no_bandwidth() {
        // tau/m = 0.5 s, for which ns-2 has 3/5 of the old estimate and 1/5 of the last sample. After the first sample,
        // 10/21, come a part without and one with a segment in it: 2 segments a second.
        let silent = 0.6 * (10.0 / 21.0) + 0.2 * 10.0;
        assert_near(measured(1, &[0, 100, 1100]), 0.6 * silent + 0.2 * 2.0);
        // A silence of half a century leaves nothing of what was.
        assert!(measured(1, &[0, 100, 1_600_000_000_000]) < 0.5);
    }

    #[test]
    fn what_arrived_during_recovery_without_sack_is_not_taken_for_silence() {
        // 20 segments that came in the second before: two parts of 20 segments a second each.
        let first = 0.2 * 20.0;
        let second = 0.6 * first + 0.2 * 40.0;
        assert_near(measured(20, &[0, 1000]), second);
    }

    #[test]
    fn acks_of_the_same_instant_are_one_sample() {
        assert_near(measured(1, &[0, 100, 100, 200]), {
            // 1 segment, then 2: 10 and 20 a second.
            19.0 / 21.0 * 10.0 / 21.0 + 30.0 / 21.0
        });
    }

    #[test]
    fn evenly_spaced_acks_are_measured_as_they_are() {
        let mut filter = Tustin::new(1.0, 2.0);
        acks(&mut filter, 1, (0..2000).map(|i| i * 10_000));
        assert_near(filter.bandwidth(), 100.0 * MSS as f64);
        // With delayed ACKs too.
        let mut filter = Tustin::new(1.0, 2.0);
        acks(&mut filter, 2, (0..1000).map(|i| i * 20_000));
        assert_near(filter.bandwidth(), 100.0 * MSS as f64);
    }

    #[test]
    fn compressed_acks_are_measured_fifty_times_too_fast_and_westwood_plus_is_not_fooled() {
        // 100 segments a second, ten at a time 0.1 ms apart. What the filter integrates over one such 100 ms: 8 intervals of
        // 0.1 ms at 10,000 a second, one at half of that, and 99.1 ms at half of it again: 8*1 + 0.5 + 496 = 504.5 segments.
        let train = |i: u64| i / 10 * 100_000 + i % 10 * 100;
        let mut filter = Tustin::new(1.0, 2.0);
        acks(&mut filter, 1, (0..3000).map(train));
        let measured = filter.bandwidth() / MSS as f64;
        assert!((4500.0..5600.0).contains(&measured), "{measured}");
        let mut plus = PerRoundTrip::new(0.9);
        acks(&mut plus, 1, (0..3000).map(train));
        let measured = plus.bandwidth() / MSS as f64;
        assert!((99.0..101.0).contains(&measured), "{measured}");
    }

    fn westwood(segments: u64) -> WindowController<Westwood<Tustin>> {
        WindowController::new(&setup(segments), Westwood::new(Tustin::new(1.0, 2.0)))
    }

    /// Has heard 100 segments a second for long, with 100 ms of RTTmin, in a window of so many segments.
    fn measuring(window: u64) -> WindowController<Westwood<Tustin>> {
        let mut law = westwood(window);
        for i in 0..2000 {
            law.on_ack(&Ack {
                now: Time::from_nanos(i * 10_000_000),
                cwnd_limited: false,
                ..ACK
            });
        }
        law
    }

    #[test]
    fn a_loss_leaves_bandwidth_times_least_rtt_and_never_more_than_there_was() {
        // 100 segments a second for 0.1 s: 10 segments.
        let mut law = measuring(30);
        assert_eq!(law.on_loss(&loss(&law, Time::ZERO)), LossResponse::REDUCED);
        assert!((segments(&law) - 10.0).abs() < 0.01, "{}", segments(&law));
        assert_eq!(law.phase(), "congestion avoidance");

        let mut small = measuring(4);
        small.on_loss(&loss(&small, Time::ZERO));
        assert_eq!(segments(&small), 4.0);
        assert_eq!(small.phase(), "slow start", "to the 10 that were measured");
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_the_same_ssthresh_and_a_repeated_one_the_first_ones() {
        let mut law = measuring(30);
        law.on_timeout(&timeout(&law, Time::ZERO));
        let ssthresh = law.ssthresh().expect("set").get();
        assert_eq!(segments(&law), 1.0);
        assert!((9_990..=10_010).contains(&ssthresh), "{ssthresh}");
        law.on_timeout(&Timeout {
            repeated: true,
            ..timeout(&law, Time::ZERO)
        });
        law.on_spurious(Time::ZERO);
        assert_eq!(segments(&law), 30.0, "both were mistakes");
    }

    #[test]
    fn before_anything_was_measured_two_segments_are_left() {
        let mut law = westwood(10);
        law.on_loss(&loss(&law, Time::ZERO));
        assert_eq!(segments(&law), 2.0);
    }

    #[test]
    fn random_losses_leave_most_of_the_rate_that_reno_loses() {
        // 8 Mbit/s and 100 ms: 1000 segments a second, 100 in flight. At 1% Reno's window is 1.22/sqrt(p) = 12.
        let rate = |controller: Box<dyn Controller>| {
            let mut path = Bottleneck::new(Rate::from_bits_per_sec(8_000_000), 50);
            path.loss = 0.01;
            path.add(controller, Duration::from_millis(100));
            path.run(Duration::from_secs(60));
            path.flows[0].delivered / MSS / 60
        };
        let reno = rate(Box::new(newreno(10)));
        let westwood = rate(Box::new(westwood(10)));
        assert!((90..180).contains(&reno), "{reno}");
        assert!(westwood > 3 * reno, "{westwood}, Reno {reno}");
    }
}
