//! Counts of values in buckets whose width grows with the value: the buckets of G. Tene's
//! HdrHistogram with three significant digits, so any quantile is off by at most 0.1 %.
//!
//! A run has two for each flow, and each packet is counted in one. So this holds only the buckets
//! from the lowest to the highest value so far: delays of 100 to 300 ms need 4 kilobytes, where a
//! histogram from zero needs 40.

use std::ops::RangeInclusive;

/// Buckets of one width, as a power of two. The first of these groups, of width one, has twice as
/// many. Three digits need at least 1000.
const GROUP_BITS: u32 = 10;
const GROUP: usize = 1 << GROUP_BITS;
/// Room grows by multiples of this number of buckets.
const STEP: usize = 256;

/// Counts of values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Buckets {
    /// The number of the first bucket that is held; a multiple of [`STEP`].
    first: usize,
    counts: Vec<u32>,
}

impl Buckets {
    /// Makes room for values in a range.
    pub fn make_room(&mut self, values: RangeInclusive<u64>) {
        let low = bucket(*values.start()) / STEP * STEP;
        let high = bucket(*values.end()) / STEP * STEP + STEP;
        if self.counts.is_empty() {
            self.first = low;
        }
        let (first, end) = (self.first, self.first + self.counts.len());
        if low < first {
            let more = std::iter::repeat_n(0, first - low);
            self.counts.splice(..0, more);
            self.first = low;
        }
        if high > end {
            self.counts.resize(high - self.first, 0);
        }
    }

    /// Counts a value that there is room for.
    #[inline]
    pub fn count(&mut self, value: u64) {
        let count = &mut self.counts[bucket(value) - self.first];
        *count = count.saturating_add(1);
    }

    /// Adds the counts of another.
    pub fn add(&mut self, other: &Self) {
        if other.counts.is_empty() {
            return;
        }
        let last = other.first + other.counts.len() - 1;
        self.make_room(highest(other.first)..=highest(last));
        let offset = other.first - self.first;
        for (own, count) in self.counts[offset..].iter_mut().zip(&other.counts) {
            *own = own.saturating_add(*count);
        }
    }

    /// The highest value of the bucket that holds the `n`th smallest value; `n` starts at 1. Zero
    /// if there are fewer values.
    pub fn nth(&self, n: u64) -> u64 {
        let mut below = 0;
        // Whole chunks first: their sums are computed several buckets at a time.
        for (chunk, counts) in self.counts.chunks(8).enumerate() {
            let sum: u64 = counts.iter().map(|count| u64::from(*count)).sum();
            if below + sum < n {
                below += sum;
                continue;
            }
            for (place, count) in counts.iter().enumerate() {
                below += u64::from(*count);
                if below >= n {
                    return highest(self.first + 8 * chunk + place);
                }
            }
        }
        0
    }
}

/// The bucket of a value.
#[inline]
fn bucket(value: u64) -> usize {
    // Values below 2^11 have buckets of their own.
    let shift = (value | GROUP as u64).ilog2() - GROUP_BITS;
    ((shift as usize) << GROUP_BITS) + (value >> shift) as usize
}

/// The highest value of a bucket.
fn highest(bucket: usize) -> u64 {
    let shift = (bucket >> GROUP_BITS).saturating_sub(1);
    let place = (bucket - (shift << GROUP_BITS)) as u64;
    ((place + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    /// Values of all magnitudes up to an hour in microseconds.
    fn values() -> impl Strategy<Value = Vec<u64>> {
        let value =
            (0_u32..32, any::<u64>()).prop_map(|(bits, v)| v % (1 << bits).min(3_600_000_001));
        prop::collection::vec(value, 1..200)
    }

    #[test]
    fn each_value_is_in_the_bucket_that_ends_at_or_after_it() {
        assert_eq!((bucket(0), bucket(2047), bucket(2048)), (0, 2047, 2048));
        assert_eq!((bucket(2049), bucket(2050)), (2048, 2049));
        for value in (0..5000).chain((12..40).flat_map(|bits| (1 << bits) - 2..(1 << bits) + 2)) {
            let own = bucket(value);
            assert!(value <= highest(own), "{value}");
            assert!(own == 0 || highest(own - 1) < value, "{value}");
        }
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_an_hdr_histogram(one in values(), other in values()) {
            let mut model = Histogram::<u32>::new(3).expect("three digits");
            model.auto(true);
            let mut parts = [Buckets::default(), Buckets::default()];
            for (part, values) in parts.iter_mut().zip([&one, &other]) {
                for value in values {
                    part.make_room(*value..=*value);
                    part.count(*value);
                    model.record(*value).expect("it grows");
                }
            }
            let [mut all, other] = parts;
            all.add(&other);
            for share in 0..=100 {
                let q = f64::from(share) / 100.0;
                let n = ((q * model.len() as f64).ceil() as u64).max(1);
                let expected = match share {
                    0 => model.highest_equivalent(model.min()),
                    _ => model.value_at_quantile(q),
                };
                prop_assert_eq!(all.nth(n), expected, "{} of {}", n, model.len());
            }
        }
    }
}
