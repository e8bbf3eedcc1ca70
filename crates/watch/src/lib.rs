//! What a terminal shows while something runs: a progress bar, or with `--watch` a live view with
//! curves, a table and the last lines of output.
//!
//! | file | contents |
//! |---|---|
//! | `view` | draws a [`View`] into any buffer, so it is tested without a terminal |
//! | `screen` | owns the terminal |
//! | `progress`, `transfers` | progress bars |
//! | `file_transfer` | a transfer of files: `whimbrel send`, `get` |
//! | `path_probe` | the measurement of a path: `whimbrel advise HOST` |
//! | `path` | the view of an emulated path: `whimbrel link` |
//! | `arrivals` | what arrives at a server, live or as text: `whimbrel serve` |
//! | `connections` | the view of Linux TCP's connections: `whimbrel tcp status` |

pub mod arrivals;
pub mod connections;
pub mod file_transfer;
pub mod path;
pub mod path_probe;
mod progress;
mod screen;
mod silent;
pub mod transfers;
mod view;

pub use progress::Bar;
pub use screen::Screen;
pub use view::View;

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time between looks for the end.
const POLL: Duration = Duration::from_millis(50);

/// Updates and shows a view after each `interval` until `stopped` is set.
///
/// # Errors
/// If the terminal is gone, or the update fails.
pub fn until<E: From<io::Error>>(
    stopped: &AtomicBool,
    interval: Duration,
    screen: &mut Screen,
    view: &mut View,
    mut update: impl FnMut(&mut View, Instant) -> Result<(), E>,
) -> Result<(), E> {
    while !stopped.load(Ordering::Relaxed) {
        let now = Instant::now();
        update(view, now)?;
        screen.show(view)?;
        while now.elapsed() < interval && !stopped.load(Ordering::Relaxed) {
            sleep(POLL);
        }
    }
    Ok(())
}

/// Turns growing totals into rates: how much each grew per second since the last time.
#[derive(Debug, Default)]
pub struct Rates<const N: usize>(Option<(Instant, [f64; N])>);

impl<const N: usize> Rates<N> {
    /// The rates at `now`; `None` at first, and if no time has passed.
    pub fn at(&mut self, now: Instant, totals: [f64; N]) -> Option<[f64; N]> {
        let (then, before) = self.0.replace((now, totals))?;
        let seconds = now.saturating_duration_since(then).as_secs_f64();
        let rate = |i: usize| (totals[i] - before[i]) / seconds;
        (seconds > 0.0).then(|| std::array::from_fn(rate))
    }
}

/// Values that a curve keeps: more than a terminal has columns.
const KEPT: usize = 512;

/// A number over time, one value for each time that the view is drawn.
#[derive(Debug, Clone, Default)]
pub struct Curve {
    /// What it is, with its unit.
    pub name: String,
    values: VecDeque<f64>,
}

impl Curve {
    /// A curve without values.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            values: VecDeque::new(),
        }
    }

    /// Adds the newest value; what is not finite or negative counts as 0.
    pub fn push(&mut self, value: f64) {
        if self.values.len() == KEPT {
            self.values.pop_front();
        }
        self.values.push_back(if value.is_finite() {
            value.max(0.0)
        } else {
            0.0
        });
    }

    /// The newest value.
    pub fn last(&self) -> f64 {
        self.values.back().copied().unwrap_or(0.0)
    }

    /// The maximum of the values that are kept.
    pub fn most(&self) -> f64 {
        self.values.iter().copied().fold(0.0, f64::max)
    }

    /// The newest values, at most this many, the oldest first.
    pub fn newest(&self, count: usize) -> impl Iterator<Item = f64> {
        let skip = self.values.len().saturating_sub(count);
        self.values.iter().skip(skip).copied()
    }
}

/// A number with three digits.
pub fn short(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v > 0.0 => format!("{v:.2}"),
        _ => "0".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_keeps_the_newest_values() {
        let mut curve = Curve::new("rate, Mbit/s");
        (0..KEPT + 3).for_each(|i| curve.push(i as f64));
        curve.push(f64::NAN);
        assert_eq!(curve.newest(3).collect::<Vec<_>>(), [513.0, 514.0, 0.0]);
        assert_eq!((curve.last(), curve.most()), (0.0, 514.0));
        assert_eq!(curve.newest(usize::MAX).count(), KEPT);
    }

    #[test]
    fn rates_are_of_the_time_between_two_views() {
        let (mut rates, start) = (Rates::default(), Instant::now());
        assert_eq!(rates.at(start, [5.0, 1.0]), None);
        let later = start + Duration::from_millis(500);
        assert_eq!(rates.at(later, [6.0, 1.0]), Some([2.0, 0.0]));
        assert_eq!(rates.at(later, [7.0, 1.0]), None, "no time has passed");
    }

    #[test]
    fn numbers_have_three_digits() {
        let all = [0.0, 0.123, 12.34, 123.4, 12_345.6].map(short);
        assert_eq!(all, ["0", "0.12", "12.3", "123", "12346"]);
    }
}
