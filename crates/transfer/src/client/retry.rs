//! When an interrupted transfer is tried again.

use std::time::Duration;
use whimbrel_units::Duration as Span;

/// The first wait, and the longest.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(15);

/// Whether and how long an interrupted transfer is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Give up when nothing has worked for this long; `None` never gives up.
    pub limit: Option<Span>,
    /// Also wait for a server that has not answered once. Otherwise a wrong address would be tried
    /// for ever.
    pub from_start: bool,
}

/// The waits between the attempts of one transfer.
#[derive(Debug, Default)]
pub(super) struct BackOff {
    failures: u32,
}

impl BackOff {
    /// An attempt made progress.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// The time to wait before the next attempt: 0.5 s, doubled with each failure up to 15 s, times
    /// 0.75 to 1.25. `random` is from 0 to 1.
    pub fn next(&mut self, random: f64) -> Duration {
        let wait = FIRST
            .saturating_mul(1 << self.failures.min(10))
            .min(LONGEST);
        self.failures += 1;
        wait.mul_f64(0.75 + 0.5 * random.clamp(0.0, 1.0))
    }
}

/// A random number from 0 to 1.
pub(super) fn random() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    (RandomState::new().hash_one(()) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_quarter_of_a_minute() {
        let mut waits = BackOff::default();
        let seconds: Vec<f64> = (0..7).map(|_| waits.next(0.5).as_secs_f64()).collect();
        assert_eq!(seconds, [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0]);
        // However long nothing works.
        assert!((0..100).all(|_| waits.next(0.5) == LONGEST));
        waits.reset();
        assert_eq!(waits.next(0.0), Duration::from_millis(375));
        assert_eq!(waits.next(1.0), Duration::from_millis(1250));
        assert!((0.0..1.0).contains(&random()));
    }
}
