//! Runs simulations, with a progress bar or for a caller that watches.

use crate::progress::Bar;
use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::sync::Arc;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::sweep::{Job, Run};
use whimbrel_study::Observer;
pub use whimbrel_study::runs::{first_seeds, sampled};

/// What observes the work of a thread.
pub type Watch = dyn Observer + Send + Sync;

/// Runs all jobs.
pub fn run_all<'a>(
    jobs: &[Job<'a>],
    threads: Option<NonZeroUsize>,
) -> anyhow::Result<Vec<Run<'a>>> {
    Ok(whimbrel_study::runs::run_all(jobs, threads, &*observer())?)
}

/// Runs each point with its first seed.
pub fn run_first_seeds(
    scenario: &Scenario,
    threads: Option<NonZeroUsize>,
) -> anyhow::Result<Vec<Run<'_>>> {
    run_all(&first_seeds(scenario), threads)
}

thread_local! {
    static WATCH: RefCell<Option<Arc<Watch>>> = const { RefCell::new(None) };
}

/// What observes the work of this thread: a progress bar by default.
pub fn observer() -> Arc<Watch> {
    WATCH
        .with_borrow(Clone::clone)
        .unwrap_or_else(|| Arc::new(Bar::new()))
}

/// Does `work`, whose progress `watch` sees instead of the terminal.
pub fn watched<T>(watch: Arc<Watch>, work: impl FnOnce() -> T) -> T {
    let before = WATCH.replace(Some(watch));
    let done = work();
    WATCH.set(before);
    done
}
