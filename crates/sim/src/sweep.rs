//! All runs of a scenario: every point with every seed, on several threads. A run depends on its
//! network alone, so the results are the same, bit for bit, on any number of threads.

use crate::outcome::Outcome;
use crate::scenario::Point;
use rayon::prelude::*;
use std::num::NonZeroUsize;
use std::time::Instant;

/// A run to play.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The point of the sweep.
    pub point: &'a Point,
    /// The seed.
    pub seed: u64,
}

/// A run that was played.
#[derive(Debug)]
pub struct Run<'a> {
    /// The point of the sweep.
    pub point: &'a Point,
    /// The seed.
    pub seed: u64,
    /// Real time that it took.
    pub wall: std::time::Duration,
    /// What was measured.
    pub outcome: Outcome,
}

/// Every point with each of its seeds, in order.
pub fn jobs(points: &[Point]) -> Vec<Job<'_>> {
    points
        .iter()
        .flat_map(|point| point.seeds().iter().map(move |&seed| Job { point, seed }))
        .collect()
}

/// Plays all jobs on `threads` threads (`None`: one for each core), and returns the runs in the
/// order of the jobs. `done` is called after each run, from any thread.
///
/// # Errors
/// If the threads cannot be started.
pub fn run_all<'a>(
    jobs: &[Job<'a>],
    threads: Option<NonZeroUsize>,
    done: impl Fn() + Sync,
) -> Result<Vec<Run<'a>>, ThreadsError> {
    let pool = pool(threads)?;
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
    // Runs differ in length by orders of magnitude, so each is a task of its own.
    Ok(pool.install(|| jobs.par_iter().with_max_len(1).map(one).collect()))
}

/// A pool of `threads` threads; `None`: one for each core.
///
/// # Errors
/// If the threads cannot be started.
pub fn pool(threads: Option<NonZeroUsize>) -> Result<rayon::ThreadPool, ThreadsError> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.map_or(0, NonZeroUsize::get))
        .build()
        .map_err(|error| ThreadsError(error.to_string()))
}

/// The threads cannot be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot start the threads of the sweep: {0}")]
pub struct ThreadsError(String);
