//! TCP Westwood: Reno that sets the window after a loss to the measured capacity of the path.
//!
//! S. Mascolo, C. Casetti, M. Gerla, M. Sanadidi, R. Wang, "TCP Westwood: Bandwidth Estimation for
//! Enhanced Transport over Wireless Links", MobiCom 2001, sections 2 and 3. The code follows its
//! account in T. Saedi, "Congestion Control Enhancement Over Wireless Networks", MSc thesis,
//! Lakehead University, 2019, section 2.2.6, and the authors' code for ns-2 (`tcp-westwood.cc`
//! v1.3, M. Valla, UCLA, 2002), from which the filter is taken.
//!
//! * sample: `b_k = d_k/(t_k - t_{k-1})`, d_k the bytes that the ACK at t_k reports
//! * filter: `BWE_k = a_k*BWE_{k-1} + (1 - a_k)*(b_k + b_{k-1})/2`, `a_k = (2*tau - D)/(2*tau +
//!   D)`, D = t_k - t_{k-1}: a low-pass filter with the time constant tau, made discrete by
//!   Tustin's rule
//! * virtual samples: without an ACK for tau/m, a sample of 0 every tau/m
//! * loss: `ssthresh = max(BWE*RTTmin, 2 segments)`, `cwnd = min(cwnd, ssthresh)`
//! * timeout: the same ssthresh, cwnd of one segment
//! * all other rules are Reno's
//!
//! Units: bytes, seconds.
//!
//! **Physics.** BWE*RTTmin is the flight that sustains the arrival rate without a queue. If the
//! window overfilled the path, the reduction removes the queue. If the channel lost a packet while
//! there was no queue, RTT = RTTmin, BWE = cwnd/RTT, and the window does not change. Losses are not
//! classified.
//!
//! **When it works.** One bottleneck, ACKs spaced as the data was, losses caused by the channel.
//!
//! **Limits.**
//! * Compressed ACKs give samples far above the rate of any link, and half of the last sample
//!   persists through the gap that follows: ten ACKs 0.1 ms apart every 100 ms measure fifty times
//!   too much (a test below). With a queue on the return path the window is hardly reduced at all.
//!   Westwood+ corrects this.
//! * A window sent in one burst on a path that it does not fill has the same effect at a smaller
//!   scale: BWE lies between the flow's rate and the bottleneck's. It then measures what is
//!   available, as the paper puts it, and not the rate.
//! * The filter needs several tau to follow. An initial slow start that overflows earlier results
//!   in a small ssthresh.
//! * Without a queue that drains, RTTmin contains the queues of other flows, and too much is kept;
//!   after a change to a longer route, too little.
//!
//! **Departures.** The paper counts a duplicate ACK as one segment, and of a later cumulative ACK
//! only what exceeds those. Here [`Ack::acked`] counts every byte once: with SACK when the
//! duplicate arrives, which is the same, and without SACK when the cumulative ACK does. Such an
//! ACK, of more than the two segments of a delayed ACK, is spread evenly over the time since the
//! last one, because that is when the data arrived; no virtual samples are inserted there. Silence
//! is divided into equal parts of at most tau/m instead of parts of tau/m and a rest: the rest
//! could be arbitrarily short, and its sample arbitrarily large (ns-2 has a minimum rest of 10 ms
//! for that). ACKs of the same instant are one sample.
//!
//! tau is 1 s and m is 2, as in ns-2. A loss never raises the window, as in the paper's pseudocode.

use crate::building_blocks::rule::{Rule, WindowController, grow_as_reno};
use crate::building_blocks::window::{SLOW_START_LIMIT, Window};
use crate::interface::{Ack, Loss, LossResponse, Timeout};
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};
use std::fmt::Debug;
use whimbrel_units::{Duration, Time};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "westwood",
    code: code!("algorithms/bandwidth/westwood.rs"),
    summary: "Reno that sets the window after a loss to the path's capacity, measured at every ACK",
    citation: "S. Mascolo et al., \"TCP Westwood: Bandwidth Estimation for Enhanced Transport over \
               Wireless Links\", MobiCom 2001",
    parameters: &[
        Parameter {
            name: "tau",
            domain: Domain::Number {
                default: 1.0,
                range: (0.001, 100.0),
            },
            meaning: "time constant of the bandwidth filter, seconds",
        },
        Parameter {
            name: "m",
            domain: Domain::Number {
                default: 2.0,
                range: (2.0, 100.0),
            },
            meaning: "a time of tau/m without an ACK counts as a sample of zero bandwidth",
        },
    ],
    feed: Feed::Acknowledgments {
        family: Family::Bandwidth,
        driven_by: DrivenBy::Losses,
        build: |setup, values| {
            let rule = Westwood::classic(values.number("tau"), values.number("m"));
            Box::new(WindowController::new(setup, rule))
        },
    },
    look: Look::of(21, 2),
    ..Entry::BLANK
};

/// A method to measure the bandwidth that a flow gets.
pub(crate) trait Estimate: Debug + Clone + Send + Sync + 'static {
    /// Updates the estimate with an acknowledgment; `mss` is the segment size, bytes.
    fn on_ack(&mut self, ack: &Ack, mss: u64);

    /// BWE, bytes per second, finite and not negative; 0 before the first measurement.
    fn bandwidth(&self) -> f64;
}

/// The rule of Westwood with any bandwidth estimate.
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
    /// The original Westwood: a bandwidth sample with each ACK, filtered with the time constant
    /// `tau` in seconds; a time of `tau/m` without an ACK counts as a sample of zero.
    pub fn classic(tau: f64, m: f64) -> Self {
        Self::new(Tustin::new(tau, m))
    }
}

/// A low-pass filter with one sample per ACK.
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
    /// Bytes acknowledged since.
    acked: u64,
}

impl Tustin {
    /// Maximum number of parts of a silence: after that many virtual samples, (3/5)^64, the old
    /// estimate has no weight.
    const MAX_PARTS: f64 = 64.0;

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

    /// Filters a sample over `interval` seconds, above 0 and at most tau/m.
    fn filter(&mut self, sample: f64, interval: f64) {
        let k = 2.0 * self.tau / interval;
        self.filtered = (self.filtered * (k - 1.0) + sample + self.sample) / (k + 1.0);
        self.sample = sample;
    }
}

impl Estimate for Tustin {
    fn on_ack(&mut self, ack: &Ack, mss: u64) {
        let Some(last) = self.last else {
            self.last = Some(ack.now); // The time over which its data arrived is unknown.
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
        let parts = (interval / longest).ceil().clamp(1.0, Self::MAX_PARTS);
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

    /// Sends the estimate ACKs of `segments` segments each at these times in microseconds.
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

    /// The estimate in segments per second after ACKs of `segments` segments each at these times in
    /// milliseconds.
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
    fn the_filter_has_the_weights_of_ns_2() {
        // The constants of ns-2 at ten ACKs per second: 0.9047 and 0.0476, which is 19/21 and 1/21.
        // Samples are 10 segments per second.
        assert_near(measured(1, &[0, 100]), 10.0 / 21.0);
        assert_near(
            measured(1, &[0, 100, 200]),
            19.0 / 21.0 * 10.0 / 21.0 + 20.0 / 21.0,
        );
    }

    #[test]
    fn half_a_second_without_an_ack_counts_as_zero_bandwidth() {
        // tau/m = 0.5 s, for which ns-2 uses 3/5 of the old estimate and 1/5 of the last sample.
        // After the first sample, 10/21, follow a part without a segment and one with a segment: 2
        // segments per second.
        let silent = 0.6 * (10.0 / 21.0) + 0.2 * 10.0;
        assert_near(measured(1, &[0, 100, 1100]), 0.6 * silent + 0.2 * 2.0);
        // A silence of half a century leaves nothing of the estimate.
        assert!(measured(1, &[0, 100, 1_600_000_000_000]) < 0.5);
    }

    #[test]
    fn recovery_without_sack_is_not_taken_for_silence() {
        // 20 segments that arrived in the second before: two parts of 20 segments per second each.
        let first = 0.2 * 20.0;
        let second = 0.6 * first + 0.2 * 40.0;
        assert_near(measured(20, &[0, 1000]), second);
    }

    #[test]
    fn acks_of_the_same_instant_are_one_sample() {
        assert_near(measured(1, &[0, 100, 100, 200]), {
            // 1 segment, then 2: 10 and 20 per second.
            19.0 / 21.0 * 10.0 / 21.0 + 30.0 / 21.0
        });
    }

    #[test]
    fn evenly_spaced_acks_are_measured_correctly() {
        let mut filter = Tustin::new(1.0, 2.0);
        acks(&mut filter, 1, (0..2000).map(|i| i * 10_000));
        assert_near(filter.bandwidth(), 100.0 * MSS as f64);
        // With delayed ACKs too.
        let mut filter = Tustin::new(1.0, 2.0);
        acks(&mut filter, 2, (0..1000).map(|i| i * 20_000));
        assert_near(filter.bandwidth(), 100.0 * MSS as f64);
    }

    #[test]
    fn compressed_acks_mislead_westwood_but_not_westwood_plus() {
        // 100 segments per second, ten at a time 0.1 ms apart. The filter's integral over 100 ms: 8
        // intervals of 0.1 ms at 10,000 per second, one at half of that, and 99.1 ms at half of it
        // again: 8*1 + 0.5 + 496 = 504.5 segments.
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

    /// A controller with a window of `window` segments after a long time with 100 segments per
    /// second and an RTTmin of 100 ms.
    fn measuring(window: u64) -> WindowController<Westwood<Tustin>> {
        let mut controller = westwood(window);
        for i in 0..2000 {
            controller.on_ack(&Ack {
                now: Time::from_nanos(i * 10_000_000),
                cwnd_limited: false,
                ..ACK
            });
        }
        controller
    }

    #[test]
    fn a_loss_leaves_bandwidth_times_min_rtt_and_never_more() {
        // 100 segments per second for 0.1 s: 10 segments.
        let mut controller = measuring(30);
        assert_eq!(
            controller.on_loss(&loss(&controller, Time::ZERO)),
            LossResponse::REDUCED
        );
        assert!(
            (segments(&controller) - 10.0).abs() < 0.01,
            "{}",
            segments(&controller)
        );
        assert_eq!(controller.phase(), "congestion avoidance");

        let mut small = measuring(4);
        small.on_loss(&loss(&small, Time::ZERO));
        assert_eq!(segments(&small), 4.0);
        assert_eq!(small.phase(), "slow start", "to the 10 segments measured");
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_a_repeated_one_no_less() {
        let mut controller = measuring(30);
        controller.on_timeout(&timeout(&controller, Time::ZERO));
        let ssthresh = controller.ssthresh().expect("set").get();
        assert_eq!(segments(&controller), 1.0);
        assert!((9_990..=10_010).contains(&ssthresh), "{ssthresh}");
        controller.on_timeout(&Timeout {
            repeated: true,
            ..timeout(&controller, Time::ZERO)
        });
        controller.on_spurious(Time::ZERO);
        assert_eq!(segments(&controller), 30.0, "both are undone");
    }

    #[test]
    fn before_the_first_measurement_a_loss_leaves_two_segments() {
        let mut controller = westwood(10);
        controller.on_loss(&loss(&controller, Time::ZERO));
        assert_eq!(segments(&controller), 2.0);
    }

    #[test]
    fn random_losses_cost_much_less_rate_than_with_reno() {
        // 8 Mbit/s and 100 ms: 1000 segments per second, 100 in flight. At 1 % Reno's window is
        // 1.22/sqrt(p) = 12.
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
