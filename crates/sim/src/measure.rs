//! Distributions of delays, kept in little memory.
//!
//! A histogram with the buckets of G. Tene's HdrHistogram: the first 2048 are a microsecond wide, each further 1024
//! twice as wide as those before, so that a bucket is never wider than 0.1 % of what is in it. It is written out here because
//! every packet is measured, and a general one costs more than the rest of what a packet's receiver does.

use crate::outcome::Summary;
use whimbrel_units::Duration;

/// A distribution of delays: count, sum and extremes exactly, percentiles to 0.1 %.
#[derive(Debug, Clone)]
pub(crate) struct Delays {
    /// How many samples each bucket has; none beyond the last that has any.
    counts: Vec<u32>,
    /// The buckets of samples that are not counted yet. The counts are tens of kilobytes; with hundreds of flows none of them
    /// is in a cache when the next sample comes. So samples are noted one behind the other, and counted when there
    /// are many.
    recent: Vec<u16>,
    count: u64,
    sum: u64,
    min: Duration,
    max: Duration,
}

/// Buckets that are as wide as each other, but for the first, which are twice as many.
const ALIKE_BITS: u32 = 10;
/// Longer delays are counted as this: one day.
const LONGEST_US: u64 = 86_400_000_000;
const _: () = assert!(bucket(LONGEST_US) <= u16::MAX as u64);
/// So many samples are counted at once: 8 kB.
const BATCH: usize = 4096;

/// The bucket of a delay in microseconds: finer than any delay on a network that matters.
#[inline]
const fn bucket(us: u64) -> u64 {
    let width_bits = (u64::BITS - us.leading_zeros()).saturating_sub(ALIKE_BITS + 1);
    ((width_bits as u64) << ALIKE_BITS) + (us >> width_bits)
}

/// The longest delay of a bucket, in microseconds.
const fn longest_in(bucket: u64) -> u64 {
    let width_bits = (bucket >> ALIKE_BITS).saturating_sub(1);
    let first = (bucket - (width_bits << ALIKE_BITS)) << width_bits;
    first + (1 << width_bits) - 1
}

impl Delays {
    pub fn new() -> Self {
        Self {
            counts: Vec::new(),
            recent: Vec::new(),
            count: 0,
            sum: 0,
            min: Duration::MAX,
            max: Duration::ZERO,
        }
    }

    #[inline]
    pub fn add(&mut self, delay: Duration) {
        let us = (delay.as_nanos() / 1000).min(LONGEST_US);
        self.recent.push(bucket(us) as u16);
        if self.recent.len() >= BATCH {
            self.count_recent();
        }
        self.count += 1;
        self.sum = self.sum.saturating_add(delay.as_nanos());
        self.min = self.min.min(delay);
        self.max = self.max.max(delay);
    }

    #[inline(never)]
    fn count_recent(&mut self) {
        count_all(&mut self.counts, &self.recent);
        self.recent.clear();
    }

    /// Adds all of another's samples.
    pub fn merge(&mut self, other: &Self) {
        let buckets = self.counts.len().max(other.counts.len());
        self.counts.resize(buckets, 0);
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
        count_all(&mut self.counts, &other.recent);
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    pub fn summary(&mut self) -> Summary {
        self.count_recent();
        if self.count == 0 {
            return Summary::default();
        }
        // The shares must rise: each goes on where the one before ended.
        let mut counts = (0..).zip(&self.counts);
        let (mut passed, mut last) = (0, 0);
        let [p50, p95, p99] = [0.50, 0.95, 0.99].map(|share| {
            let wanted = (share * self.count as f64).ceil() as u64;
            while passed < wanted
                && let Some((bucket, count)) = counts.next()
            {
                passed += u64::from(*count);
                last = bucket;
            }
            // A bucket reaches a little beyond the extremes, which are known exactly.
            Duration::from_micros(longest_in(last)).clamp(self.min, self.max)
        });
        Summary {
            count: self.count,
            min: self.min,
            mean: Duration::from_nanos(self.sum / self.count),
            p50,
            p95,
            p99,
            max: self.max,
        }
    }
}

fn count_all(counts: &mut Vec<u32>, buckets: &[u16]) {
    for bucket in buckets {
        let bucket = usize::from(*bucket);
        if bucket >= counts.len() {
            counts.resize(bucket + 1, 0);
        }
        counts[bucket] = counts[bucket].saturating_add(1);
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

    #[test]
    fn a_bucket_is_a_microsecond_wide_at_first_and_then_a_thousandth() {
        // 2048 buckets to 2.047 ms; then 1024 of 2 us to 4.095 ms, 1024 of 4 us to 8.191 ms.
        for (us, its, longest) in [
            (0, 0, 0),
            (2047, 2047, 2047),
            (2048, 2048, 2049),
            (2049, 2048, 2049),
            (4095, 3071, 4095),
            (4096, 3072, 4099),
            (8191, 4095, 8191),
            (1_000_000, 11_169, 1_000_447),
        ] {
            assert_eq!((bucket(us), longest_in(its)), (its, longest), "{us}");
        }
    }

    #[test]
    fn what_is_merged_is_as_if_it_had_been_added() {
        // More than are counted at once, over six decades, and longer than can be told apart.
        let delays = |from: u64| {
            (from..30_000)
                .step_by(2)
                .map(|i| Duration::from_nanos(i * i * i))
        };
        let (mut one, mut other, mut both) = (Delays::new(), Delays::new(), Delays::new());
        delays(0).for_each(|d| one.add(d));
        delays(1).for_each(|d| other.add(d));
        delays(0).chain(delays(1)).for_each(|d| both.add(d));
        both.add(Duration::MAX);
        other.add(Duration::MAX);
        one.merge(&other);
        assert_eq!(one.summary(), both.summary());
        assert_eq!(one.summary().count, 30_001);
    }
}
