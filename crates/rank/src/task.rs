//! Runs of points on several threads.

use crate::measure::Measures;
use crate::point::MatrixPoint;
use rayon::prelude::*;
use std::num::NonZeroUsize;
use whimbrel_sim::scenario::{Point, Scenario, ScenarioError};
use whimbrel_sim::sweep::SweepError;
use whimbrel_sim::{FlowSpec, Network, Outcome, Session, Traffic};
use whimbrel_units::{Duration, Time};

/// A run is stopped when it has offered so many times the packets to its links that it would if its
/// longest route had been full in both directions until then: nine of ten packets are lost.
/// A sender that loses four of five, as many do on short buffers, is not stopped.
const TOO_MUCH: f64 = 6.0;
/// From its beginning a run may offer so many times what this part of it carries: startup may lose
/// more for a while.
const EARLY: f64 = 0.2;
/// A run may offer so many packets, whatever its links carry.
const LEAST: f64 = 3e5;
/// How often the packets are counted.
const LOOK: Duration = Duration::from_millis(50);
/// Bits of a full packet.
const FULL_PACKET: f64 = 12_000.0;

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
        // A run costs something even if nothing is sent.
        let packets = |point: &Point| {
            1000.0 + carried(point).unwrap_or_default() * point.seeds().len() as f64
        };
        self.scenario.points().iter().map(packets).sum()
    }

    fn run(&self) -> Vec<Measures> {
        let points = self.scenario.points().iter();
        let runs = points.flat_map(|point| point.seeds().iter().map(move |&seed| (point, seed)));
        runs.map(|(point, seed)| {
            let network = point.network(seed);
            let (outcome, stopped) = play(point, &network);
            Measures::of_part(self.point, point, &network, &outcome, seed, stopped)
        })
        .collect()
    }
}

/// The full packets that all flows of a point together get through its links in a run; `None`
/// without a limit.
fn carried(point: &Point) -> Option<f64> {
    let rate = point.capacity()?.as_bits_per_sec() as f64;
    Some(rate * point.duration().as_secs_f64() / FULL_PACKET)
}

/// Plays a run, and stops it when its flows have sent far more than the path carries: without that,
/// the runs of algorithms whose window grows without bound take a hundred times as long as others.
/// Returns whether it was stopped.
fn play(point: &Point, network: &Network) -> (Outcome, bool) {
    let routes = network.flows.iter().flat_map(|flow| &flow.routes);
    let links = routes.map(|route| route.forward.len() + route.backward.len());
    let links = links.max().unwrap_or(0) as f64;
    // A path without a limit has no measure of too much. Senders of bursts have no window that
    // could grow: they may flood a path while they learn its rate, and then fill it.
    let bursts = |flow: &FlowSpec| matches!(flow.traffic, Traffic::Aatp(_));
    let Some(carried) = carried(point).filter(|_| !network.flows.iter().any(bursts)) else {
        return (whimbrel_sim::run(network), false);
    };
    let length = point.duration().as_secs_f64();
    let most = |now: Time| {
        let part = (now.since(Time::ZERO).as_secs_f64() / length).clamp(EARLY, 1.0);
        (LEAST + TOO_MUCH * carried * links * part) as u64
    };
    let mut session = Session::new(network.clone());
    let mut now = Time::ZERO;
    loop {
        now += LOOK;
        if session.advance(now) {
            return (session.finish(), false);
        }
        if session.offered() > most(now) {
            return (session.stop(now), true);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::{Library, Version};

    fn runs(controller: &str) -> Vec<Measures> {
        let mut library = Library::matrix(Version::One).expect("valid");
        library.points.retain(|point| point.id == "a01");
        Task::new(&library.points[0], controller, 1)
            .expect("valid")
            .run()
    }

    /// Jersey never reduces its window where routers do not mark.
    #[test]
    fn a_sender_that_runs_away_is_stopped() {
        let stopped = runs("jersey")[0].stopped.expect("stopped");
        assert!((1.0..50.0).contains(&stopped), "{stopped}");
        assert_eq!(runs("cubic")[0].stopped, None);
    }
}
