//! Runs simulations, with a progress bar.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
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
    Ok(sweep::run_all(jobs, threads, || progress.done())?)
}

/// A progress bar on stderr for work that takes longer than [`PATIENCE`]; dropping it removes it.
pub struct Progress {
    bar: ProgressBar,
    begin: Instant,
    /// Steps of the bar for a weight of 1.
    scale: f64,
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
        let begin = Instant::now();
        Self {
            bar,
            begin,
            scale: 1.0,
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
        bar
    }

    /// One piece of work is done.
    pub fn done(&self) {
        self.add(1.0);
    }

    /// Work of this weight is done.
    pub fn add(&self, weight: f64) {
        self.bar.inc((weight * self.scale).round() as u64);
        let lasts = self.begin.elapsed() > PATIENCE;
        if self.bar.is_hidden() && lasts && io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
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
