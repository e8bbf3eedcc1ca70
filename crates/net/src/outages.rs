//! Outages: lookup in order of time, and random outages.
//!
//! A draw is uniform over all ways to place the outages in the span without overlap: subtract the
//! length of all outages from the span, draw as many points in the rest, uniformly and
//! independently, and insert one outage at each point. (The gaps are then the uniform spacings of
//! R. Pyke, "Spacings", Journal of the Royal Statistical Society B 27(3), 1965.) Redrawing until no
//! outages overlap gives the same distribution, but may never end.

use crate::spec::Outage;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use whimbrel_units::{Duration, Time};

/// A number of outages of one length at random times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomOutages {
    /// Number of outages.
    pub count: u32,
    /// Length of each; not zero.
    pub length: Duration,
    /// Earliest begin.
    pub from: Time,
    /// Latest end.
    pub to: Time,
}

/// Why outages cannot be drawn. Its text is meant for users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RandomOutagesError {
    /// The length is zero.
    #[error("outages must be longer than zero")]
    NoLength,
    /// The outages together are longer than the span.
    #[error("{count} outages of {length} do not fit into {span}")]
    NoRoom {
        /// Number of outages.
        count: u32,
        /// Length of each.
        length: Duration,
        /// The span to place them in.
        span: Duration,
    },
}

impl RandomOutages {
    /// Draws the outages, in order of time and without overlap. The seed alone determines them.
    ///
    /// # Errors
    /// If the length is zero or the outages do not fit.
    pub fn draw(&self, seed: u64) -> Result<Vec<Outage>, RandomOutagesError> {
        let Self {
            count,
            length,
            from,
            to,
        } = *self;
        if length.is_zero() {
            return Err(RandomOutagesError::NoLength);
        }
        let span = to.since(from);
        let free = length
            .as_nanos()
            .checked_mul(count.into())
            .and_then(|taken| span.as_nanos().checked_sub(taken))
            .ok_or(RandomOutagesError::NoRoom {
                count,
                length,
                span,
            })?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut points: Vec<u64> = (0..count).map(|_| rng.random_range(0..=free)).collect();
        points.sort_unstable();
        let before = (0_u64..).map(|i| i * length.as_nanos());
        let begins = points
            .iter()
            .zip(before)
            .map(|(point, before)| from + Duration::from_nanos(point + before));
        Ok(begins
            .map(|from| Outage {
                from,
                to: from + length,
            })
            .collect())
    }
}

/// Looks up outages at times that never go back.
#[derive(Debug, Clone)]
pub(crate) struct Outages {
    /// The outages that have not ended, in order of their begin.
    ahead: VecDeque<Outage>,
}

impl Outages {
    pub fn new(mut outages: Vec<Outage>) -> Self {
        outages.sort_by_key(|o| o.from);
        Self {
            ahead: outages.into(),
        }
    }

    /// Whether an outage is in force at `at`.
    #[inline]
    pub fn cover(&mut self, at: Time) -> bool {
        while self.ahead.front().is_some_and(|o| o.to <= at) {
            self.ahead.pop_front();
        }
        self.ahead.front().is_some_and(|o| o.from <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn s(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    fn draw(count: u32, seconds: u64, span: (u64, u64), seed: u64) -> Vec<Outage> {
        let outages = RandomOutages {
            count,
            length: Duration::from_secs(seconds),
            from: s(span.0),
            to: s(span.1),
        };
        outages.draw(seed).expect("room")
    }

    #[test]
    fn outages_that_fill_the_span_follow_each_other() {
        let row = draw(3, 2, (10, 16), 1);
        let begins: Vec<Time> = row.iter().map(|o| o.from).collect();
        assert_eq!(begins, [s(10), s(12), s(14)]);
        assert_eq!(row[2].to, s(16));
    }

    #[test]
    fn outages_that_do_not_fit_are_an_error() {
        let mut outages = RandomOutages {
            count: 4,
            length: Duration::from_secs(2),
            from: s(10),
            to: s(17),
        };
        let refused = outages.draw(1).expect_err("8 s into 7 s");
        assert_eq!(refused.to_string(), "4 outages of 2 s do not fit into 7 s");
        outages.length = Duration::ZERO;
        assert_eq!(outages.draw(1), Err(RandomOutagesError::NoLength));
        outages.length = Duration::MAX;
        assert!(outages.draw(1).is_err());
        outages.count = 0;
        assert_eq!(outages.draw(1), Ok(vec![]));
        // A span that ends before it begins has no room.
        (outages.count, outages.from) = (1, s(20));
        assert!(outages.draw(1).is_err());
    }

    #[test]
    fn all_gaps_have_the_same_mean_length() {
        // Two outages of 2 s in 10 s leave 6 s for three gaps: 2 s each on average. The standard
        // deviation of a uniform spacing is 6 x sqrt(1 x 2 / (3^2 x 4)) = 1.41 s; of the mean of 10
        // 000 draws, 0.014 s.
        let mut sums = [0.0; 3];
        for seed in 0..10_000 {
            let o = draw(2, 2, (0, 10), seed);
            let gaps = [
                o[0].from.since(s(0)),
                o[1].from.since(o[0].to),
                s(10).since(o[1].to),
            ];
            for (sum, gap) in sums.iter_mut().zip(gaps) {
                *sum += gap.as_secs_f64();
            }
        }
        for sum in sums {
            assert!((sum / 10_000.0 - 2.0).abs() < 0.06, "{sums:?}");
        }
    }

    #[test]
    fn the_begin_of_a_single_outage_is_uniform() {
        // It begins in 0 to 8 s: a quarter of the draws in each 2 s, 2500 of 10 000, standard
        // deviation 43.
        let mut bins = [0_i32; 4];
        for seed in 0..10_000 {
            let begin = draw(1, 2, (0, 10), seed)[0].from.as_secs_f64();
            bins[((begin / 2.0) as usize).min(3)] += 1;
        }
        assert!(bins.iter().all(|n| (n - 2500).abs() < 175), "{bins:?}");
    }

    proptest! {
        #[test]
        fn outages_lie_in_the_span_in_order_without_overlap(
            count in 0_u32..50, length in 1_u64..1_000_000, from: u32, spare in 0_u64..100_000_000, seed: u64,
        ) {
            let from = Time::from_nanos(from.into());
            let length = Duration::from_nanos(length);
            let to = from + length * u64::from(count) + Duration::from_nanos(spare);
            let outages = RandomOutages { count, length, from, to };
            let drawn = outages.draw(seed).expect("room");
            prop_assert_eq!(drawn.len(), count as usize);
            prop_assert!(drawn.iter().all(|o| o.to.since(o.from) == length));
            prop_assert!(drawn.iter().all(|o| from <= o.from && o.to <= to));
            prop_assert!(drawn.windows(2).all(|pair| pair[0].to <= pair[1].from));
            prop_assert_eq!(outages.draw(seed).expect("room"), drawn);
        }
    }
}
