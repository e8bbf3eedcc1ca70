//! All runs of a scenario on all cores: every point with every seed. A run depends on its network alone,
//! so results are the same bits on any number of threads.

use crate::outcome::Outcome;
use crate::scenario::Point;
use rayon::prelude::*;
use std::num::NonZeroUsize;
use std::time::Instant;

/// One run to do.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// What to run.
    pub point: &'a Point,
    /// With which seed.
    pub seed: u64,
}

/// One run that was done.
#[derive(Debug)]
pub struct Run<'a> {
    /// What was run.
    pub point: &'a Point,
    /// With which seed.
    pub seed: u64,
    /// How long it took on the wall's clock.
    pub wall: std::time::Duration,
    /// What was measured.
    pub outcome: Outcome,
}

/// Every point with every one of its seeds, in order.
pub fn jobs(points: &[Point]) -> Vec<Job<'_>> {
    points
        .iter()
        .flat_map(|point| point.seeds().iter().map(move |&seed| Job { point, seed }))
        .collect()
}

/// Does all runs, on so many threads (all cores when `None`), and gives them in the order of the jobs.
/// `done` is called after each run, from any thread.
///
/// # Errors
/// If the system gives no threads.
pub fn run_all<'a>(
    jobs: &[Job<'a>],
    threads: Option<NonZeroUsize>,
    done: impl Fn() + Sync,
) -> Result<Vec<Run<'a>>, ThreadsError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.map_or(0, NonZeroUsize::get))
        .build()
        .map_err(|error| ThreadsError(error.to_string()))?;
    let one = |job: &Job<'a>| {
        let begin = Instant::now();
        let outcome = crate::run(&job.point.network(job.seed));
        let run = Run {
            point: job.point,
            seed: job.seed,
            wall: begin.elapsed(),
            outcome,
        };
        done();
        run
    };
    // Runs differ in length by orders of magnitude: each is a task of its own.
    Ok(pool.install(|| jobs.par_iter().with_max_len(1).map(one).collect()))
}

/// The system gives no threads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no threads to run on: {0}")]
pub struct ThreadsError(String);
