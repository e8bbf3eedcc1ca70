//! The greatest value of a recent window, in constant space.
//!
//! K. Nichols' algorithm as Linux has it (lib/win_minmax.c; V. Jacobson, N. Cardwell and K. Nichols, 2016): the three
//! best samples of the window are kept, each newer than the one before it, so that when the best grows too old the
//! next is at hand. A sample counts until it is older than the window. The answer is exact while values fall and, when
//! they rise and fall within a window, never below the greatest of its last half.
//!
//! Times are in any unit that never goes back (BBR counts round trips); values in any unit.

/// A value and when it was seen.
#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    at: u64,
    value: u64,
}

/// Remembers the greatest value of a sliding window.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WindowedMax {
    /// The best, the best since it, the best since that.
    best: [Sample; 3],
}

impl WindowedMax {
    /// The greatest value of the window that ended with the last update; 0 before the first.
    pub fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Takes `value` in, seen at `at`, and answers with the greatest of the last `window`.
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

    /// Lets go of what is older than the window, and picks a second and a third best from its later parts.
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
    fn a_greater_value_counts_at_once() {
        let mut max = WindowedMax::default();
        assert_eq!(max.get(), 0);
        assert_eq!(max.update(10, 0, 7), 7);
        assert_eq!(max.update(10, 1, 9), 9);
    }

    #[test]
    fn the_best_is_forgotten_when_it_is_older_than_the_window() {
        let mut max = WindowedMax::default();
        max.update(10, 0, 100);
        for at in 1..=10 {
            assert_eq!(max.update(10, at, 50), 100, "{at}");
        }
        assert_eq!(max.update(10, 11, 50), 50);
    }

    #[test]
    fn values_that_fall_are_each_remembered_for_a_window() {
        let mut max = WindowedMax::default();
        // One value a round, each one less: the greatest of the last eleven is that of ten rounds ago, give or take
        // the quarter of the window by which the second best is chosen.
        for at in 0..100 {
            let answer = max.update(10, at, 1000 - at);
            let exact = 1000 - at.saturating_sub(10);
            assert!(answer <= exact && answer + 5 >= exact, "{at}: {answer}");
        }
    }

    #[test]
    fn after_a_long_silence_only_the_newest_counts() {
        let mut max = WindowedMax::default();
        max.update(10, 0, 100);
        assert_eq!(max.update(10, 1000, 3), 3);
    }
}
