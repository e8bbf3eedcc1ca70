//! How long answers took.

use hdrhistogram::Histogram;
use whimbrel_units::Duration;

/// The longest time that is recorded, nanoseconds; longer ones count as this.
const MAX: u64 = 10_000_000_000;

/// A histogram of times, to two significant digits.
#[derive(Debug)]
pub(super) struct Latency(Option<Histogram<u64>>);

impl Default for Latency {
    fn default() -> Self {
        Self(Histogram::new_with_max(MAX, 2).ok())
    }
}

impl Latency {
    /// Adds one, in nanoseconds.
    pub fn add(&mut self, nanos: u64) {
        if let Some(histogram) = &mut self.0 {
            histogram.saturating_record(nanos.min(MAX));
        }
    }

    /// How many were added.
    pub fn count(&self) -> u64 {
        self.0.as_ref().map_or(0, Histogram::len)
    }

    /// The time that the fraction `q` of all did not exceed; zero without any.
    pub fn quantile(&self, q: f64) -> Duration {
        let nanos = self.0.as_ref().map_or(0, |h| h.value_at_quantile(q));
        Duration::from_nanos(nanos)
    }
}
