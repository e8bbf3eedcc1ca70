//! Distributions of delays, kept in little memory.

use crate::outcome::Summary;
use hdrhistogram::Histogram;
use whimbrel_units::Duration;

/// A distribution of delays: count, sum and extremes exactly, percentiles to 0.1 %.
#[derive(Debug, Clone)]
pub(crate) struct Delays {
    /// In microseconds: finer than any delay on a network that matters.
    histogram: Histogram<u32>,
    sum: u64,
    min: Duration,
    max: Duration,
}

/// Three significant digits, as RTTs are read.
const DIGITS: u8 = 3;
/// Longer delays are counted as this: one day.
const LONGEST_US: u64 = 86_400_000_000;

impl Delays {
    pub fn new() -> Self {
        let mut histogram =
            Histogram::new(DIGITS).expect("three digits are within the library's 0 to 5");
        histogram.auto(true);
        Self {
            histogram,
            sum: 0,
            min: Duration::MAX,
            max: Duration::ZERO,
        }
    }

    #[inline]
    pub fn add(&mut self, delay: Duration) {
        // Fails only if it may not grow, and it may.
        let _ = self
            .histogram
            .record((delay.as_nanos() / 1000).min(LONGEST_US));
        self.sum = self.sum.saturating_add(delay.as_nanos());
        self.min = self.min.min(delay);
        self.max = self.max.max(delay);
    }

    /// Adds all of another's samples.
    pub fn merge(&mut self, other: &Self) {
        // Fails only if `other` cannot fit, and this one grows.
        let _ = self.histogram.add(&other.histogram);
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    pub fn summary(&self) -> Summary {
        let count = self.histogram.len();
        if count == 0 {
            return Summary::default();
        }
        // The histogram's buckets reach a little beyond the extremes, which are known exactly.
        let at = |q| {
            Duration::from_micros(self.histogram.value_at_quantile(q)).clamp(self.min, self.max)
        };
        Summary {
            count,
            min: self.min,
            mean: Duration::from_nanos(self.sum / count),
            p50: at(0.50),
            p95: at(0.95),
            p99: at(0.99),
            max: self.max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_delays_in_a_few_numbers() {
        let mut delays = Delays::new();
        (1..=1000).for_each(|ms| delays.add(Duration::from_millis(ms)));
        let s = delays.summary();
        assert_eq!(s.count, 1000);
        assert_eq!(
            (s.min, s.max),
            (Duration::from_millis(1), Duration::from_secs(1))
        );
        assert_eq!(s.mean, Duration::from_micros(500_500));
        for (got, ms) in [(s.p50, 500.0), (s.p95, 950.0), (s.p99, 990.0)] {
            assert!(
                (got.as_millis_f64() / ms - 1.0).abs() < 0.002,
                "{got} for {ms} ms"
            );
        }
        assert_eq!(Delays::new().summary(), Summary::default());
    }
}
