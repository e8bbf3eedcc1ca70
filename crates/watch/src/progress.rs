//! The progress bar.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use whimbrel_study::Observer;

/// Steps of the bar.
const STEPS: f64 = 1e6;
/// Shorter work shows no progress bar.
const PATIENCE: Duration = Duration::from_secs(1);
const TEMPLATE: &str = "{msg} {percent} % {wide_bar} {eta} left";

/// A progress bar on stderr, if stderr is a terminal and the work takes longer than a second. Notes
/// go to stderr, too. Dropping it removes it.
pub struct Bar {
    bar: ProgressBar,
    begin: Instant,
    work: Mutex<Work>,
}

#[derive(Default)]
struct Work {
    total: f64,
    done: f64,
}

impl Bar {
    /// A bar that is not shown yet.
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(STEPS as u64), ProgressDrawTarget::hidden());
        // The template is constant and tested; without it the bar has the default style.
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        Self {
            bar,
            begin: Instant::now(),
            work: Mutex::default(),
        }
    }

    /// Prints while the bar is hidden.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

impl Default for Bar {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for Bar {
    fn begin(&self, total: f64, name: &str) {
        *self.work.lock().unwrap_or_else(PoisonError::into_inner) = Work { total, done: 0.0 };
        self.bar.reset();
        self.bar.set_message(name.to_owned());
    }

    fn done(&self, weight: f64) -> ControlFlow<()> {
        let share = {
            let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
            work.done += weight;
            work.done / work.total.max(f64::MIN_POSITIVE)
        };
        self.bar.set_position((share.min(1.0) * STEPS) as u64);
        let lasts = self.begin.elapsed() > PATIENCE;
        if self.bar.is_hidden() && lasts && io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        ControlFlow::Continue(())
    }

    fn note(&self, text: &str) {
        // Nobody may read standard error any more.
        self.suspend(|| writeln!(io::stderr(), "{text}").ok());
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_valid() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }
}
