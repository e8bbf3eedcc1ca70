//! Runs of a scenario.

use crate::{Error, Observer};
use std::num::NonZeroUsize;
use whimbrel_report::figures::choose;
use whimbrel_sim::scenario::{Point, Scenario, Setting};
use whimbrel_sim::sweep::{self, Job, Run};
use whimbrel_units::Duration;

/// Default time between samples that are saved.
pub const SAMPLE: Duration = Duration::from_millis(100);
/// Number of samples of a curve in a picture.
const PICTURE_SAMPLES: u64 = 1000;
/// Minimum time between such samples.
const MIN_INTERVAL: Duration = Duration::from_millis(1);

/// Runs all jobs on `threads` threads (`None`: one for each core), in the order of the jobs. The
/// results do not depend on the number of threads.
///
/// # Errors
/// If the observer stops it, or threads cannot be started.
pub fn run_all<'a>(
    jobs: &[Job<'a>],
    threads: Option<NonZeroUsize>,
    observer: &dyn Observer,
) -> Result<Vec<Run<'a>>, Error> {
    observer.begin(jobs.len() as f64, "runs");
    run_more(jobs, threads, 1.0, observer)
}

/// The same as a part of work that was announced to the observer: each run has this weight.
///
/// # Errors
/// As [`run_all`].
pub fn run_more<'a>(
    jobs: &[Job<'a>],
    threads: Option<NonZeroUsize>,
    weight: f64,
    observer: &dyn Observer,
) -> Result<Vec<Run<'a>>, Error> {
    let done = || observer.done(weight).is_continue();
    Ok(sweep::run_while(jobs, threads, done)?)
}

/// Runs each point with its first seed.
///
/// # Errors
/// As [`run_all`].
pub fn run_first_seeds<'a>(
    scenario: &'a Scenario,
    threads: Option<NonZeroUsize>,
    observer: &dyn Observer,
) -> Result<Vec<Run<'a>>, Error> {
    run_all(&first_seeds(scenario), threads, observer)
}

/// Each point with its first seed.
pub fn first_seeds(scenario: &Scenario) -> Vec<Job<'_>> {
    let first = |point| -> Option<Job<'_>> {
        let point: &Point = point;
        point.seeds().first().map(|&seed| Job { point, seed })
    };
    scenario.points().iter().filter_map(first).collect()
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

/// The scenario with samples at this interval, by default its own or [`SAMPLE`]; `None` if it has
/// them already.
pub fn resampled(scenario: &Scenario, interval: Option<Duration>) -> Option<Scenario> {
    let wanted = |point: &Point| interval.or(point.sample()).unwrap_or(SAMPLE);
    let points = scenario.points();
    let interval = wanted(points.first()?);
    let has = |point: &Point| point.sample() == Some(wanted(point));
    (!points.iter().all(has)).then(|| {
        let mut scenario = scenario.clone();
        scenario.set_sample(interval);
        scenario
    })
}

/// The few points of a scenario that figures show over time, and those that `also` selects, with
/// samples; `None` if the scenario itself sets samples. Of too many, those with the highest `rank`.
pub fn over_time(
    scenario: &Scenario,
    also: impl Fn(&Point) -> bool,
    rank: impl Fn(&Point) -> f64,
) -> Option<Scenario> {
    let is_sampled = scenario
        .points()
        .iter()
        .all(|point| point.sample().is_some());
    (!is_sampled).then(|| sampled(&choose::few(scenario, also, rank)))
}

/// The setting that overrides the number of runs of each combination.
pub fn seeds_setting(seeds: u32) -> Setting {
    Setting::new("run.seeds", seeds.to_string())
}
