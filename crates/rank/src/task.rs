//! Runs of points on several threads.

use crate::measure::Measures;
use crate::point::MatrixPoint;
use rayon::prelude::*;
use std::num::NonZeroUsize;
use whimbrel_sim::scenario::{Scenario, ScenarioError};
use whimbrel_sim::sweep::SweepError;

/// One algorithm at one point, with several seeds.
#[derive(Debug)]
pub struct Task<'a> {
    /// The point.
    pub point: &'a MatrixPoint,
    /// The algorithm.
    pub controller: String,
    scenario: Scenario,
}

impl<'a> Task<'a> {
    /// For the seeds 1 to `seeds`.
    ///
    /// # Errors
    /// If the controller cannot run at the point.
    pub fn new(
        point: &'a MatrixPoint,
        controller: &str,
        seeds: u32,
    ) -> Result<Self, ScenarioError> {
        Ok(Self {
            point,
            controller: controller.to_owned(),
            scenario: point.scenario(controller, seeds)?,
        })
    }

    /// For these seeds.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_seeds(
        point: &'a MatrixPoint,
        controller: &str,
        seeds: &[u64],
    ) -> Result<Self, ScenarioError> {
        Ok(Self {
            point,
            controller: controller.to_owned(),
            scenario: point.scenario_with(controller, seeds.to_vec())?,
        })
    }

    /// About how much work it is: packets that fit through its links in all its runs.
    pub fn work(&self) -> f64 {
        let packets = |point: &whimbrel_sim::scenario::Point| {
            let rate = point
                .capacity()
                .map_or(0.0, |rate| rate.as_bits_per_sec() as f64);
            // A run costs something even if nothing is sent.
            1000.0 + rate * point.duration().as_secs_f64() / 12_000.0 * point.seeds().len() as f64
        };
        self.scenario.points().iter().map(packets).sum()
    }

    fn run(&self) -> Vec<Measures> {
        let points = self.scenario.points().iter();
        let runs = points.flat_map(|point| point.seeds().iter().map(move |&seed| (point, seed)));
        runs.map(|(point, seed)| {
            let network = point.network(seed);
            let outcome = whimbrel_sim::run(&network);
            Measures::of(self.point, point, &network, &outcome, seed)
        })
        .collect()
    }
}

/// Runs all tasks on `threads` threads (`None`: one for each core), the longest first. `done` is
/// called with each finished task and its measures in the order of the seeds, from any thread; it
/// returns whether to go on.
/// Results do not depend on the number of threads.
///
/// # Errors
/// If `done` stopped it, or the threads cannot be started.
pub fn run_tasks(
    tasks: &[Task<'_>],
    threads: Option<NonZeroUsize>,
    done: impl Fn(&Task<'_>, &[Measures]) -> bool + Sync,
) -> Result<Vec<Vec<Measures>>, SweepError> {
    let run = |task: &Task<'_>| {
        let runs = task.run();
        done(task, &runs).then_some(runs).ok_or(SweepError::Stopped)
    };
    whimbrel_sim::sweep::pool(threads)?
        .install(|| tasks.par_iter().with_max_len(1).map(run).collect())
}
