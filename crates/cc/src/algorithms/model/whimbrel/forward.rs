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
//! TCP's timestamps and marks of this project's own QUIC endpoints carry the time. Without it the
//! RTT itself is used.
//!
//! Units: seconds.

/// Drain periods that are remembered.
const PERIODS: usize = 3;

/// Round trips without a time of arrival after which the RTT itself counts again.
const MISSING: f64 = 2.0;

/// How fast the longest wait of acknowledgments follows one that is longer, and a shorter one.
const GAINS: (f64, f64) = (0.2, 0.005);

/// The way back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Backward {
    /// Minima of `now - arrival` of the drain periods, the present one first.
    periods: [f64; PERIODS],
    seen: f64,
    /// The delay above the minimum, on average.
    excess: f64,
    /// The same of the latest sample.
    latest: f64,
}

impl Backward {
    pub fn new() -> Self {
        Self {
            periods: [f64::INFINITY; PERIODS],
            seen: f64::NEG_INFINITY,
            excess: 0.0,
            latest: 0.0,
        }
    }

    /// The RTT of a packet without what varies on the way back, if its time of `arrival` by the
    /// receiver's clock is known. `None`: the sample does not compare with others.
    pub fn forward(&mut self, now: f64, rtt: f64, arrival: Option<f64>) -> Option<f64> {
        let Some(arrival) = arrival else {
            return (now - self.seen > MISSING * rtt).then_some(rtt);
        };
        self.seen = now;
        let back = now - arrival;
        self.periods[0] = self.periods[0].min(back);
        let min = self.periods.iter().copied().fold(f64::INFINITY, f64::min);
        let excess = back - min;
        self.latest = excess;
        let (up, down) = GAINS;
        let gain = if excess > self.excess { up } else { down };
        self.excess += gain * (excess - self.excess);
        Some((rtt - excess).max(0.0))
    }

    /// By how much acknowledgments took longer than the fastest, on average over the last of them.
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
    }

    /// The path is another one.
    pub fn on_new_path(&mut self) {
        *self = Self::new();
    }
}
