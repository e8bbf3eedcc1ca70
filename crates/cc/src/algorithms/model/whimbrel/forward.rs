//! The delay of the way to the receiver, where the receiver's clock is known.
//!
//! Only a queue in the direction of the data says anything about this flow's window. Queues of
//! acknowledgments, their batches and slots are in the RTT all the same. The receiver's time of
//! arrival separates the two: an RTT is `(arrival - sent) + (now - arrival)`, and although the
//! offset of the clocks is unknown, it is in both parts with opposite signs. So the RTT without
//! what varies on the way back is
//!
//! `RTT - ((now - arrival) - min(now - arrival))`,
//!
//! and the offset cancels. The minimum is of this drain period and of the two before it, as the
//! base RTT is, so that clocks may drift against each other: 50 ppm are 0.75 ms in 15 s.
//!
//! The wait of acknowledgments is no queue, but a part of the round trip: rates and what the path
//! holds are computed with its mean, and pacing and the largest window with that of the slow ones,
//! so that a batch finds packets to acknowledge.
//!
//! Both are forgotten by the round trip, not by the acknowledgment. After a stall of seconds a
//! flow that paces its window over that wait sends little, so it hears few acknowledgments: a
//! memory of so many acknowledgments would keep it slow for minutes. For the same reason pacing
//! never falls below the rate that the path has delivered lately (`limits.rs`).
//!
//! TCP's timestamps and marks of this project's own QUIC endpoints carry the time. Without it the
//! RTT itself is used.
//!
//! Units: seconds.

use super::{higher, lower};

/// Drain periods that are remembered.
const PERIODS: usize = 3;

/// Round trips without a time of arrival after which the RTT itself counts again.
const MISSING: f64 = 2.0;

/// How fast the slow wait follows a longer one, per acknowledgment, and a shorter one, per round
/// trip.
const GAINS: (f64, f64) = (0.2, 0.25);

/// How fast the mean wait follows that of a round trip.
const MEAN_GAIN: f64 = 0.5;

/// A longer wait, s, is an outage of the way back: no window lasts for it.
const LONGEST: f64 = 1.0;

/// The way back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Backward {
    /// Minima of `now - arrival` of the drain periods, the present one first.
    periods: [f64; PERIODS],
    /// The minimum of these.
    min: f64,
    seen: f64,
    /// The delay above the minimum: of the slow ones, and on average.
    excess: f64,
    mean: f64,
    /// The same of the latest sample.
    latest: f64,
    /// The waits of this round trip: their sum, number and maximum.
    sum: f64,
    count: f64,
    max: f64,
}

impl Backward {
    pub fn new() -> Self {
        Self {
            periods: [f64::INFINITY; PERIODS],
            min: f64::INFINITY,
            seen: f64::NEG_INFINITY,
            excess: 0.0,
            mean: 0.0,
            latest: 0.0,
            sum: 0.0,
            count: 0.0,
            max: 0.0,
        }
    }

    /// The RTT of a packet without what varies on the way back, if its time of `arrival` by the
    /// receiver's clock is known. `None`: the sample does not compare with others.
    pub fn forward(&mut self, now: f64, rtt: f64, arrival: Option<f64>) -> Option<f64> {
        let Some(arrival) = arrival else {
            self.latest = 0.0;
            return (now - self.seen > MISSING * rtt).then_some(rtt);
        };
        self.seen = now;
        let back = now - arrival;
        self.periods[0] = lower(self.periods[0], back);
        self.min = lower(self.min, back);
        let excess = back - self.min;
        self.latest = excess;
        Some(higher(rtt - excess, 0.0))
    }

    /// Learns from the latest acknowledgment, which belongs to this path.
    pub fn learn(&mut self) {
        let excess = lower(self.latest, LONGEST);
        self.sum += excess;
        self.count += 1.0;
        self.max = higher(self.max, excess);
        if excess > self.excess {
            self.excess += GAINS.0 * (excess - self.excess);
        }
    }

    /// Ends a round trip: what was long before it is half forgotten, however few its
    /// acknowledgments were.
    pub fn on_round(&mut self) {
        if self.count > 0.0 {
            self.mean += MEAN_GAIN * (self.sum / self.count - self.mean);
            if self.max < self.excess {
                self.excess += GAINS.1 * (self.max - self.excess);
            }
        }
        (self.sum, self.count, self.max) = (0.0, 0.0, 0.0);
    }

    /// By how much acknowledgments take longer than the fastest, on average.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// By how much the slow ones of the last acknowledgments took longer than the fastest.
    pub fn excess(&self) -> f64 {
        self.excess
    }

    /// The same of the latest acknowledgment.
    pub fn latest(&self) -> f64 {
        self.latest
    }

    /// A drain ends: the oldest period is forgotten.
    pub fn end_period(&mut self) {
        self.periods = [f64::INFINITY, self.periods[0], self.periods[1]];
        self.min = lower(self.periods[1], self.periods[2]);
    }

    /// The path is another one: its way back takes as long as the latest acknowledgment did.
    pub fn on_new_path(&mut self) {
        let periods = self.periods.map(|min| min + self.latest);
        let min = periods.into_iter().fold(f64::INFINITY, f64::min);
        *self = Self {
            periods: [min; PERIODS],
            min,
            seen: self.seen,
            ..Self::new()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The receiver's clock is 1000 s ahead.
    const OFFSET: f64 = 1000.0;

    /// A packet sent at `sent` that takes `there` and whose acknowledgment takes `back`.
    fn sample(backward: &mut Backward, sent: f64, there: f64, back: f64) -> Option<f64> {
        let rtt = there + back;
        let forward = backward.forward(sent + rtt, rtt, Some(sent + there + OFFSET));
        backward.learn();
        forward
    }

    #[test]
    fn only_the_way_to_the_receiver_counts() {
        let mut backward = Backward::new();
        for (there, back, expected) in [
            (0.02, 0.02, 0.04),
            (0.02, 0.06, 0.04),
            (0.03, 0.05, 0.05),
            // A faster way back is the path's own.
            (0.03, 0.01, 0.04),
        ] {
            let rtt = sample(&mut backward, 1.0, there, back).expect("a time of arrival");
            assert!((rtt - expected).abs() < 1e-9, "{there}, {back}: {rtt}");
        }
        assert!((backward.latest() - 0.0).abs() < 1e-9);
    }

    #[test]
    fn a_longer_way_back_is_believed_after_three_drains() {
        let mut backward = Backward::new();
        sample(&mut backward, 1.0, 0.02, 0.02);
        for expected in [0.04, 0.04, 0.05] {
            backward.end_period();
            let rtt = sample(&mut backward, 1.0, 0.02, 0.03).expect("a time of arrival");
            assert!((rtt - expected).abs() < 1e-9, "{rtt}");
        }
    }

    #[test]
    fn samples_without_a_time_count_only_if_there_are_no_others() {
        let mut backward = Backward::new();
        assert_eq!(backward.forward(0.5, 0.04, None), Some(0.04));
        sample(&mut backward, 1.0, 0.02, 0.02);
        assert_eq!(backward.forward(1.05, 0.04, None), None);
        assert_eq!(backward.forward(1.2, 0.04, None), Some(0.04));
    }

    #[test]
    fn the_longest_wait_follows_batches_of_acknowledgments() {
        let mut backward = Backward::new();
        for packet in 0..1000u32 {
            let wait = f64::from(packet % 10) * 0.004;
            sample(&mut backward, 1.0, 0.02, 0.02 + wait);
            if packet % 20 == 19 {
                backward.on_round();
            }
        }
        let (mean, excess) = (backward.mean(), backward.excess());
        assert!((0.016..0.02).contains(&mean), "{mean} of 18 ms");
        assert!((0.027..0.036).contains(&excess), "{excess} of 36 ms");
    }
    #[test]
    fn a_stall_is_forgotten_by_the_round_trip() {
        let mut backward = Backward::new();
        sample(&mut backward, 1.0, 0.02, 0.02);
        for _ in 0..40 {
            sample(&mut backward, 1.0, 0.02, 3.0);
        }
        backward.on_round();
        assert!(backward.mean() > 0.4 && backward.excess() > 0.9);
        // One acknowledgment in each of ten round trips.
        for _ in 0..10 {
            sample(&mut backward, 9.0, 0.02, 0.02);
            backward.on_round();
        }
        let (mean, excess) = (backward.mean(), backward.excess());
        assert!(mean < 0.001 && excess < 0.06, "{mean} {excess}");
    }
}
