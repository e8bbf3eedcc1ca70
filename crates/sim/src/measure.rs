//! Distributions of delays in little memory.

use crate::buckets::Buckets;
use crate::outcome::{Distribution, Summary};
use whimbrel_units::Duration;

/// A distribution of delays: count, sum and extremes are exact, percentiles to 0.1 %.
#[derive(Debug, Clone)]
pub(crate) struct Delays {
    /// Samples that are not counted yet. Buckets have kilobytes, and with hundreds of flows none
    /// are in a cache when the next sample comes. So samples are collected and counted in batches.
    recent: Vec<Duration>,
    /// Boxed, so that what each packet changes in an endpoint is in few cache lines.
    counted: Box<Counted>,
}

/// The samples that are counted.
#[derive(Debug, Clone)]
struct Counted {
    /// In microseconds, which is finer than any delay that matters on a network.
    buckets: Buckets,
    count: u64,
    sum: u64,
    min: Duration,
    max: Duration,
    /// The sample that was counted last; the sum of the differences between consecutive samples in
    /// nanoseconds; the number of those differences.
    last: Option<Duration>,
    varied: u64,
    variations: u64,
}

/// Longer delays are counted as one hour.
const LONGEST_US: u64 = 3_600_000_000;
/// Samples that are counted at once: 4 kB.
const BATCH: usize = 512;

impl Delays {
    /// No samples.
    pub fn new() -> Self {
        Self {
            recent: Vec::new(),
            counted: Box::new(Counted {
                buckets: Buckets::default(),
                count: 0,
                sum: 0,
                min: Duration::MAX,
                max: Duration::ZERO,
                last: None,
                varied: 0,
                variations: 0,
            }),
        }
    }

    /// Adds a sample.
    #[inline]
    pub fn add(&mut self, delay: Duration) {
        self.recent.push(delay);
        if self.recent.len() >= BATCH {
            self.count_recent();
        }
    }

    #[inline(never)]
    fn count_recent(&mut self) {
        self.counted.add(&self.recent);
        self.recent.clear();
    }

    /// Adds all samples of another distribution. The first sample of one is not compared with the
    /// last of the other.
    pub fn merge(&mut self, other: &mut Self) {
        other.count_recent();
        self.counted.merge(&other.counted);
    }

    /// The distribution at its shares; see [`Distribution`].
    pub fn distribution(&mut self) -> Distribution {
        self.count_recent();
        self.counted.distribution()
    }

    /// The distribution in a few numbers.
    pub fn summary(&mut self) -> Summary {
        self.count_recent();
        self.counted.summary()
    }
}

impl Counted {
    /// Adds samples.
    fn add(&mut self, samples: &[Duration]) {
        let Some(first) = samples.first() else {
            return;
        };
        // The first sample differs from nothing.
        let mut last = self.last.unwrap_or(*first);
        self.variations += samples.len() as u64 - u64::from(self.last.is_none());
        self.count += samples.len() as u64;
        let (mut sum, mut varied) = (self.sum, self.varied);
        let (mut min, mut max) = (self.min, self.max);
        for delay in samples {
            sum = sum.saturating_add(delay.as_nanos());
            min = min.min(*delay);
            max = max.max(*delay);
            varied = varied.saturating_add(delay.as_nanos().abs_diff(last.as_nanos()));
            last = *delay;
        }
        (self.sum, self.varied) = (sum, varied);
        (self.min, self.max) = (min, max);
        self.last = Some(last);
        self.buckets.make_room(micros(self.min)..=micros(self.max));
        for delay in samples {
            self.buckets.count(micros(*delay));
        }
    }

    fn merge(&mut self, other: &Self) {
        self.buckets.add(&other.buckets);
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.varied = self.varied.saturating_add(other.varied);
        self.variations += other.variations;
    }

    /// A quantile. There must be samples.
    fn quantile(&self, q: f64) -> Duration {
        let n = ((q * self.count as f64).ceil() as u64).max(1);
        // The buckets reach a little beyond the extremes, which are known exactly.
        Duration::from_micros(self.buckets.nth(n)).clamp(self.min, self.max)
    }

    fn distribution(&self) -> Distribution {
        if self.count == 0 {
            return Distribution::default();
        }
        let at = |share: u32| (share, self.quantile(f64::from(share) * 1e-6));
        let mut quantiles: Vec<_> = shares().map(at).collect();
        // The extremes are known exactly.
        if let Some(first) = quantiles.first_mut() {
            first.1 = self.min;
        }
        if let Some(last) = quantiles.last_mut() {
            last.1 = self.max;
        }
        Distribution { quantiles }
    }

    fn summary(&self) -> Summary {
        if self.count == 0 {
            return Summary::default();
        }
        let at = |q| self.quantile(q);
        Summary {
            count: self.count,
            min: self.min,
            mean: Duration::from_nanos(self.sum / self.count),
            p50: at(0.50),
            p95: at(0.95),
            p99: at(0.99),
            max: self.max,
            jitter: Duration::from_nanos(self.varied / self.variations.max(1)),
        }
    }
}

/// A delay in the unit of the buckets, rounded down.
#[inline]
fn micros(delay: Duration) -> u64 {
    (delay.as_nanos() / 1000).min(LONGEST_US)
}

/// The shares at which a distribution is reported, in millionths: each percent up to 90 %, then 80
/// shares towards 100 %, of which each twenty divide the remainder by ten, then 100 %.
fn shares() -> impl Iterator<Item = u32> {
    let body = (0..=90).map(|percent| percent * 10_000);
    let tail = (1..=80).map(|step| {
        let left = 1e5 * 10_f64.powf(-f64::from(step) / 20.0);
        1_000_000 - left.round() as u32
    });
    body.chain(tail).chain([1_000_000])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_has_exact_ends_and_a_fine_tail() {
        let mut delays = Delays::new();
        (1..=1000).for_each(|ms| delays.add(Duration::from_millis(ms)));
        let all = delays.distribution().quantiles;
        assert_eq!(all[0], (0, Duration::from_millis(1)));
        assert_eq!(all.last(), Some(&(1_000_000, Duration::from_secs(1))));
        assert!(all.windows(2).all(|p| p[0].0 < p[1].0 && p[0].1 <= p[1].1));
        let at = |share| {
            all.iter()
                .find(|(s, _)| *s == share)
                .map(|(_, d)| d.as_millis_f64())
        };
        // The median of 1 to 1000 is 500, to 0.1 %; 99 % are 990, 99.9 % are 999.
        for (share, ms) in [(500_000, 500.0), (990_000, 990.0), (999_000, 999.0)] {
            let got = at(share).expect("one of the shares");
            assert!((got / ms - 1.0).abs() < 0.002, "{got} for {ms} ms");
        }
        let beyond = all.iter().filter(|(share, _)| *share > 990_000).count();
        assert!(beyond > 50, "{beyond} shares in the last percent");
        assert_eq!(Delays::new().distribution(), Distribution::default());
    }

    #[test]
    fn a_summary_of_a_thousand_delays() {
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
    fn merging_equals_adding_the_samples() {
        // More than one batch, over six decades, and one beyond the longest delay.
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
        one.merge(&mut other);
        let without_jitter = |delays: &mut Delays| Summary {
            jitter: Duration::ZERO,
            ..delays.summary()
        };
        assert_eq!(without_jitter(&mut one), without_jitter(&mut both));
        assert_eq!(one.summary().count, 30_001);
    }

    #[test]
    fn jitter_is_the_mean_difference_of_consecutive_delays() {
        let ms = Duration::from_millis;
        let mut one = Delays::new();
        [10, 14, 12, 12]
            .into_iter()
            .for_each(|delay| one.add(ms(delay)));
        // Differences of 4, 2 and 0 ms: 2 ms on average.
        assert_eq!(one.summary().jitter, ms(2));
        // 100 and 110 differ by 10: 16 over 4. The step between the two distributions does not
        // count.
        let mut other = Delays::new();
        [100, 110]
            .into_iter()
            .for_each(|delay| other.add(ms(delay)));
        one.merge(&mut other);
        assert_eq!(one.summary().jitter, ms(4));
        let mut single = Delays::new();
        single.add(ms(7));
        assert_eq!(single.summary().jitter, Duration::ZERO);
    }
}
