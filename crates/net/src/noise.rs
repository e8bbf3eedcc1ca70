//! Noise of a delay: jitter drawn from a distribution, and release in batches.
//!
//! **Jitter** is added to a base delay. It is drawn anew for each interval of a set length, by the
//! seed of the link, so that packets close to each other see the same delay, as behind one busy
//! scheduler. The mean is set; the distribution decides how rare large values are:
//!
//! | distribution | values with mean m |
//! |---|---|
//! | uniform | 0 to 2 m |
//! | normal | standard deviation m/2, not below 0 |
//! | exponential | 5 % above 3 m |
//! | pareto | Lomax with shape 3: 1 % above 7.3 m; at most 100 m |
//!
//! **Batches** release packets only at multiples of a time, as a cellular uplink does that is
//! granted a slot every 10 ms, a cable modem, or a driver that coalesces interrupts. On the reverse
//! direction this is ACK compression: acknowledgments arrive together, and the sender bursts.
//!
//! Order is kept: a radio or a scheduler is first in, first out.

use whimbrel_units::{Duration, Time};

/// The largest jitter, as a multiple of its mean.
const MOST: f64 = 100.0;
/// Shape of the Lomax distribution: its variance is finite, its third moment is not.
const SHAPE: f64 = 3.0;

/// How jitter is distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// From zero to twice the mean.
    Uniform,
    /// A standard deviation of half the mean, cut at zero.
    Normal,
    /// Exponential.
    Exponential,
    /// Lomax (Pareto from zero) with shape 3.
    Pareto,
}

impl Distribution {
    /// All, with their names in scenarios.
    pub const ALL: [(&'static str, Self); 4] = [
        ("uniform", Self::Uniform),
        ("normal", Self::Normal),
        ("exponential", Self::Exponential),
        ("pareto", Self::Pareto),
    ];

    /// A value with mean 1, of two independent numbers that are uniform in [0, 1).
    fn draw(self, u: f64, v: f64) -> f64 {
        let value = match self {
            Self::Uniform => 2.0 * u,
            // Box and Muller's transformation.
            Self::Normal => {
                let radius = (-2.0 * (1.0 - u).ln()).sqrt();
                1.0 + 0.5 * radius * (std::f64::consts::TAU * v).cos()
            }
            Self::Exponential => -(1.0 - u).ln(),
            Self::Pareto => (SHAPE - 1.0) * ((1.0 - u).powf(-1.0 / SHAPE) - 1.0),
        };
        value.clamp(0.0, MOST)
    }
}

/// A delay with noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noise {
    /// The minimum delay.
    pub base: Duration,
    /// Mean of the jitter.
    pub jitter: Duration,
    /// Its distribution.
    pub distribution: Distribution,
    /// How long a drawn value holds; greater than zero.
    pub every: Duration,
    /// Packets come out at multiples of this time only; zero: at any time.
    pub batch: Duration,
}

/// No jitter; what is drawn holds for 5 ms, about a frame of a radio.
impl Default for Noise {
    fn default() -> Self {
        Self {
            base: Duration::ZERO,
            jitter: Duration::ZERO,
            distribution: Distribution::Exponential,
            every: Duration::from_millis(5),
            batch: Duration::ZERO,
        }
    }
}

impl Noise {
    /// The delay without the wait for a batch, of a packet that leaves at `at`.
    pub(crate) fn delay(&self, seed: u64, at: Time) -> Duration {
        if self.jitter.is_zero() {
            return self.base;
        }
        let interval = at.as_nanos() / self.every.as_nanos().max(1);
        let first = mix(seed ^ mix(interval));
        let value = self.distribution.draw(unit(first), unit(mix(first)));
        self.base.saturating_add(self.jitter.mul_f64(value))
    }

    /// When a packet comes out that would come out at `at` without batches.
    pub(crate) fn released(&self, at: Time) -> Time {
        let batch = self.batch.as_nanos();
        if batch == 0 {
            return at;
        }
        let whole = at.as_nanos().div_ceil(batch).checked_mul(batch);
        whole.map_or(Time::MAX, Time::from_nanos)
    }

    /// The mean delay, the wait for a batch included.
    pub fn mean(&self) -> Duration {
        self.base
            .saturating_add(self.jitter)
            .saturating_add(self.batch / 2)
    }
}

/// The finalizer of SplitMix64 (S. Vigna, 2015): a bijection in which every bit of the input
/// changes half of the output's.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// 53 of the bits as a number in [0, 1).
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn noise(distribution: Distribution, batch: u64) -> Noise {
        Noise {
            base: MS(20),
            jitter: MS(4),
            distribution,
            every: MS(5),
            batch: MS(batch),
        }
    }

    /// The jitter of many intervals in units of its mean, sorted.
    fn many(distribution: Distribution) -> Vec<f64> {
        let noise = noise(distribution, 0);
        let jitter = |i: u64| {
            let delay = noise.delay(7, Time::ZERO + MS(5 * i));
            (delay.as_millis_f64() - 20.0) / 4.0
        };
        let mut all: Vec<f64> = (0..100_000).map(jitter).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    #[test]
    fn every_distribution_has_the_mean_and_tail_that_it_promises() {
        // Means: the cut of the normal distribution adds 0.0042 (half the standard deviation times
        // 0.0085). Quantiles at 99 %: 1.98, 1 + 0.5 x 2.326, ln 100, 2 (100^(1/3) - 1).
        for (distribution, mean, p99) in [
            (Distribution::Uniform, 1.0, 1.98),
            (Distribution::Normal, 1.004, 2.163),
            (Distribution::Exponential, 1.0, 4.605),
            (Distribution::Pareto, 1.0, 7.283),
        ] {
            let all = many(distribution);
            let found = all.iter().sum::<f64>() / all.len() as f64;
            assert!(
                (found - mean).abs() < 0.02,
                "{distribution:?}: mean {found}"
            );
            let found = all[all.len() * 99 / 100];
            assert!(
                (found / p99 - 1.0).abs() < 0.05,
                "{distribution:?}: p99 {found}"
            );
            assert!(all[0] >= 0.0 && all[all.len() - 1] <= MOST);
        }
    }

    #[test]
    fn a_value_holds_for_its_interval_and_depends_on_the_seed() {
        let noise = noise(Distribution::Exponential, 0);
        let at = |seed, ms: u64| noise.delay(seed, Time::ZERO + MS(ms));
        assert_eq!(at(1, 10), at(1, 14));
        assert_ne!(at(1, 14), at(1, 15));
        assert_ne!(at(1, 10), at(2, 10));
    }

    #[test]
    fn batches_release_packets_at_multiples_of_their_time() {
        let noise = noise(Distribution::Uniform, 10);
        let out = |ms: u64| noise.released(Time::ZERO + MS(ms)).as_secs_f64() * 1e3;
        assert_eq!([0, 1, 10, 11].map(out), [0.0, 10.0, 10.0, 20.0]);
        assert_eq!(noise.released(Time::MAX), Time::MAX);
        assert_eq!(noise.mean(), MS(29));
    }
}
