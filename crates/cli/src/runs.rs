//! Runs simulations, with a progress bar or for a caller that watches.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::RefCell;
use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use whimbrel_sim::scenario::{Point, Scenario};
use whimbrel_sim::sweep::{self, Job, Run};

/// Number of samples of a curve in a picture.
const PICTURE_SAMPLES: u64 = 1000;
/// Minimum time between such samples.
const MIN_INTERVAL: whimbrel_units::Duration = whimbrel_units::Duration::from_millis(1);
/// Steps of a bar whose pieces differ in weight.
const WEIGHT: f64 = 1e6;
/// Shorter work shows no progress bar.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// Runs all jobs. Shows a progress bar on stderr if stderr is a terminal and the work takes longer
/// than [`PATIENCE`].
pub fn run_all<'a>(
    jobs: &[Job<'a>],
    threads: Option<NonZeroUsize>,
) -> anyhow::Result<Vec<Run<'a>>> {
    let progress = Progress::new(jobs.len(), "runs");
    Ok(sweep::run_while(jobs, threads, || progress.done())?)
}

/// Watches long work in place of a progress bar, from any thread.
pub trait Watch: Send + Sync {
    /// Work of this total weight begins; `name` is what a piece of it is called.
    fn begin(&self, total: f64, name: &str);

    /// Work of this weight is done. Returns whether to go on.
    fn done(&self, weight: f64) -> bool;
}

thread_local! {
    static WATCH: RefCell<Option<Arc<dyn Watch>>> = const { RefCell::new(None) };
}

/// What watches the work of this thread.
pub fn watch() -> Option<Arc<dyn Watch>> {
    WATCH.with_borrow(Clone::clone)
}

/// Does `work`, whose progress `watch` sees instead of the terminal.
pub fn watched<T>(watch: Arc<dyn Watch>, work: impl FnOnce() -> T) -> T {
    let before = WATCH.replace(Some(watch));
    let done = work();
    WATCH.set(before);
    done
}

/// A progress bar on stderr for work that takes longer than [`PATIENCE`]; dropping it removes it.
pub struct Progress {
    bar: ProgressBar,
    begin: Instant,
    /// Steps of the bar for a weight of 1.
    scale: f64,
    watch: Option<Arc<dyn Watch>>,
}

impl Progress {
    /// For this many pieces of work; `name` is what a piece is called.
    pub fn new(pieces: usize, name: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(pieces as u64), ProgressDrawTarget::hidden());
        let template = format!("{{pos}}/{{len}} {name} {{wide_bar}} {{eta}} left");
        // The template is constant and tested; without it the bar has the default style.
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        let progress = Self {
            bar,
            begin: Instant::now(),
            scale: 1.0,
            watch: watch(),
        };
        progress.announce(pieces as f64, name);
        progress
    }

    fn announce(&self, total: f64, name: &str) {
        if let Some(watch) = &self.watch {
            watch.begin(total, name);
        }
    }

    /// For work of this total weight; the bar shows percent and the time left, not pieces.
    pub fn weighted(total: f64, name: &str) -> Self {
        let mut bar = Self::new(WEIGHT as usize, name);
        let template = format!("{name} {{percent}} % {{wide_bar}} {{eta}} left");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.bar.set_style(style);
        }
        bar.scale = WEIGHT / total.max(1.0);
        bar.announce(total, name);
        bar
    }

    /// One piece of work is done. Returns whether to go on.
    pub fn done(&self) -> bool {
        self.add(1.0)
    }

    /// Work of this weight is done. Returns whether to go on.
    pub fn add(&self, weight: f64) -> bool {
        if let Some(watch) = &self.watch {
            return watch.done(weight);
        }
        self.bar.inc((weight * self.scale).round() as u64);
        let lasts = self.begin.elapsed() > PATIENCE;
        if self.bar.is_hidden() && lasts && io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        true
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The same points with as many samples as a picture can show.
pub fn sampled(scenario: &Scenario) -> Scenario {
    let mut sampled = scenario.clone();
    if let Some(longest) = sampled.points().iter().map(Point::duration).max() {
        let interval = longest / PICTURE_SAMPLES;
        sampled.set_sample(interval.max(MIN_INTERVAL));
    }
    sampled
}

/// Runs each point with its first seed.
pub fn run_first_seeds(
    scenario: &Scenario,
    threads: Option<NonZeroUsize>,
) -> anyhow::Result<Vec<Run<'_>>> {
    run_all(&first_seeds(scenario), threads)
}

/// Each point with its first seed.
pub fn first_seeds(scenario: &Scenario) -> Vec<Job<'_>> {
    let first = |point| -> Option<Job<'_>> {
        let point: &Point = point;
        point.seeds().first().map(|&seed| Job { point, seed })
    };
    scenario.points().iter().filter_map(first).collect()
}
