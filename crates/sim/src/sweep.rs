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
    run_while(jobs, threads, || {
        done();
        true
    })
    .map_err(|error| match error {
        SweepError::Threads(error) => error,
        SweepError::Stopped => unreachable!("it never stops"),
    })
}

/// The same for a caller that may stop it: `done` returns whether to go on. Runs that have begun
/// are played to their ends.
///
/// # Errors
/// [`SweepError::Stopped`] if `done` returned false; if the threads cannot be started.
pub fn run_while<'a>(
    jobs: &[Job<'a>],
    threads: Option<NonZeroUsize>,
    done: impl Fn() -> bool + Sync,
) -> Result<Vec<Run<'a>>, SweepError> {
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
        done().then_some(run).ok_or(SweepError::Stopped)
    };
    // Runs differ in length by orders of magnitude, so each is a task of its own.
    pool.install(|| jobs.par_iter().with_max_len(1).map(one).collect())
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

/// Why a sweep ended early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SweepError {
    /// The threads cannot be started.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// The caller stopped it.
    #[error("stopped")]
    Stopped,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_caller_stops_a_sweep() {
        let text = "[link.L]\nrate = \"1 Mbit/s\"\n[[flow]]\nroute = [\"L\"]\n\
                    [run]\nduration = \"1 s\"\nseeds = 50\n";
        let scenario = Scenario::parse(text, Path::new("test")).expect("valid");
        let jobs = jobs(scenario.points());
        let count = AtomicUsize::new(0);
        let done = || count.fetch_add(1, Ordering::Relaxed) < 3;
        let stopped = run_while(&jobs, NonZeroUsize::new(1), done);
        assert_eq!(stopped.map(|runs| runs.len()), Err(SweepError::Stopped));
        assert!(count.into_inner() < 50);
    }
}
