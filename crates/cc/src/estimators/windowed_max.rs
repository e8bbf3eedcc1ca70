//! The maximum of a sliding window, in constant space.
//!
//! K. Nichols' algorithm as in Linux (lib/win_minmax.c; V. Jacobson, N. Cardwell and K. Nichols,
//! 2016). It keeps the three best samples of the window, each newer than the one before it, so that
//! the next one is available when the best one expires. A sample expires when it is older than the
//! window. The result is exact while values fall; when they rise and fall within a window, it is at
//! least the maximum of the last half of the window.
//!
//! Times have any unit that never decreases (BBR counts round trips), and values have any unit.

/// A value and its time.
#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    at: u64,
    value: u64,
}

/// The maximum of a sliding window.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WindowedMax {
    /// The best sample, the best one after it, and the best one after that.
    best: [Sample; 3],
}

impl WindowedMax {
    /// The maximum of the window that ended with the last update; 0 before the first.
    #[inline]
    pub fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Adds `value`, seen at time `at`, and returns the maximum of the last `window`.
    pub fn update(&mut self, window: u64, at: u64, value: u64) -> u64 {
        let new = Sample { at, value };
        let nothing_left = at.saturating_sub(self.best[2].at) > window;
        if value >= self.best[0].value || nothing_left {
            self.best = [new; 3];
            return value;
        }
        if value >= self.best[1].value {
            self.best[1] = new;
            self.best[2] = new;
        } else if value >= self.best[2].value {
            self.best[2] = new;
        }
        self.expire(window, new);
        self.get()
    }

    /// Removes samples older than the window, and picks the second and third best from its later
    /// parts.
    fn expire(&mut self, window: u64, new: Sample) {
        let age = |sample: Sample| new.at.saturating_sub(sample.at);
        if age(self.best[0]) > window {
            self.best = [self.best[1], self.best[2], new];
            if age(self.best[0]) > window {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].at == self.best[0].at && age(self.best[0]) > window / 4 {
            self.best[1] = new;
            self.best[2] = new;
        } else if self.best[2].at == self.best[1].at && age(self.best[0]) > window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_value_counts_at_once() {
        let mut max = WindowedMax::default();
        assert_eq!(max.get(), 0);
        assert_eq!(max.update(10, 0, 7), 7);
        assert_eq!(max.update(10, 1, 9), 9);
    }

    #[test]
    fn the_best_value_expires_after_the_window() {
        let mut max = WindowedMax::default();
        max.update(10, 0, 100);
        for at in 1..=10 {
            assert_eq!(max.update(10, at, 50), 100, "{at}");
        }
        assert_eq!(max.update(10, 11, 50), 50);
    }

    #[test]
    fn falling_values_are_each_kept_for_a_window() {
        let mut max = WindowedMax::default();
        // One value per round, each smaller by one: the maximum of the last eleven is that of ten
        // rounds ago, within the quarter of the window by which the second best is chosen.
        for at in 0..100 {
            let answer = max.update(10, at, 1000 - at);
            let exact = 1000 - at.saturating_sub(10);
            assert!(answer <= exact && answer + 5 >= exact, "{at}: {answer}");
        }
    }

    #[test]
    fn after_a_long_pause_only_the_newest_value_counts() {
        let mut max = WindowedMax::default();
        max.update(10, 0, 100);
        assert_eq!(max.update(10, 1000, 3), 3);
    }
}
