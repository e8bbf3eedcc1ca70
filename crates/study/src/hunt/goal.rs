//! What is hunted for: paths with a low score beside the best of others, or with wrong decisions.

use super::{Request, Target};
use crate::{Error, Observer};
use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use whimbrel_rank::{Cell, League, Library, MatrixPoint, Measures, Runs, Task, run_tasks};
use whimbrel_report::Interval;
use whimbrel_sim::Confusion;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::sweep::Job;

/// A path on which the best of the others has less is no weakness: nobody can use it.
const USABLE: f64 = 0.2;
/// Decisions of each kind, random loss and congestion, that a path must cause in all seeds together.
const DECISIONS: u64 = 10;

/// How an algorithm does on a path.
#[derive(Debug, Clone)]
pub struct Measured {
    /// What is minimized, for each seed: the score over that of the best other, or the balanced
    /// accuracy of decisions; 1 where the path says nothing.
    pub ratios: Vec<f64>,
    /// What it was computed of.
    pub detail: Detail,
}

/// What a ratio was computed of.
#[derive(Debug, Clone)]
pub enum Detail {
    /// Scores.
    Scores {
        /// The algorithm.
        subject: Box<Cell>,
        /// The best other.
        best: Box<Cell>,
        /// The measures of all, for scores with some of them exchanged.
        runs: Runs,
    },
    /// Decisions on losses.
    Decisions(Confusion),
}

impl Measured {
    /// The mean over the seeds.
    pub fn ratio(&self) -> f64 {
        self.interval().mean
    }

    /// The mean and its 95 % confidence interval over the seeds.
    pub fn interval(&self) -> Interval {
        Interval::of(&self.ratios).unwrap_or(Interval {
            mean: 1.0,
            half_width: None,
        })
    }
}

/// Runs senders that the simulator has not, such as stacks of others.
pub trait Runner: fmt::Debug + Send + Sync {
    /// The measures of each sender, by its name, at its point, one for each seed. `done` is called
    /// after each, from any thread.
    ///
    /// # Errors
    /// If a sender cannot run.
    fn run(
        &self,
        senders: &[(&MatrixPoint, &str)],
        seeds: &[u64],
        threads: Option<NonZeroUsize>,
        done: &(dyn Fn() + Sync),
    ) -> Result<Vec<Vec<Measures>>, Error>;
}

/// Runs all points with these seeds.
///
/// # Errors
/// If an algorithm cannot run at a point, the observer stops it, or threads cannot be started.
pub fn measure(
    request: &Request,
    points: &[MatrixPoint],
    seeds: &[u64],
    observer: &dyn Observer,
) -> Result<Vec<Measured>, Error> {
    match &request.target {
        Target::Algorithm { name, against } => {
            scores(request, name, against, points, seeds, observer)
        }
        Target::Classifier { controller, .. } => {
            decisions(controller, points, seeds, request.threads, observer)
        }
    }
}

fn scores(
    request: &Request,
    name: &str,
    against: &[String],
    points: &[MatrixPoint],
    seeds: &[u64],
    observer: &dyn Observer,
) -> Result<Vec<Measured>, Error> {
    let (mut tasks, mut senders) = (Vec::new(), Vec::new());
    for point in points {
        let scored = std::iter::once(name).chain(against.iter().map(String::as_str));
        let mut all: BTreeSet<&str> = point.references().into_iter().collect();
        match request.runner {
            None => all.extend(scored),
            Some(_) => senders.extend(scored.map(|name| (point, name))),
        }
        for controller in all {
            tasks.push(Task::with_seeds(point, controller, seeds)?);
        }
    }
    let count = tasks.len() + senders.len();
    let weight = points.len() as f64 / count.max(1) as f64;
    let finished: Mutex<Runs> = Mutex::default();
    run_tasks(&tasks, request.threads, |task, measures| {
        let place = (task.point.id.clone(), task.controller.clone());
        let mut finished = finished.lock().unwrap_or_else(PoisonError::into_inner);
        finished.insert(place, measures.to_vec());
        observer.done(weight).is_continue()
    })?;
    let mut runs = finished
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(runner) = &request.runner {
        let stopped = AtomicBool::new(false);
        let done = || {
            let stop = observer.done(weight).is_break();
            stopped.fetch_or(stop, Ordering::Relaxed);
        };
        let measured = runner.run(&senders, seeds, request.threads, &done)?;
        if stopped.into_inner() {
            return Err(Error::Stopped);
        }
        let places = senders.iter();
        let places = places.map(|(point, name)| (point.id.clone(), (*name).to_owned()));
        runs.extend(places.zip(measured));
    }
    let mut names = vec![name.to_owned()];
    names.extend_from_slice(against);
    let library = Library {
        version: String::new(),
        points: points.to_vec(),
    };
    let league = League::new(&library, &names, &runs);
    let of_point = |point: &MatrixPoint| {
        let subject = league.cell(name, &point.id)?.clone();
        let others = against
            .iter()
            .filter_map(|name| league.cell(name, &point.id));
        let mean = |cell: &Cell| cell.interval().mean;
        let best = others.max_by(|a, b| mean(a).total_cmp(&mean(b)))?.clone();
        let whole = mean(&best);
        let ratio = |score: &f64| match whole >= USABLE {
            true => score / whole,
            false => 1.0,
        };
        let here = |(place, _): &(&(String, String), &Vec<_>)| place.0 == point.id;
        let runs = runs.iter().filter(here);
        Some(Measured {
            ratios: subject.scores.iter().map(ratio).collect(),
            detail: Detail::Scores {
                subject: Box::new(subject),
                best: Box::new(best),
                runs: runs
                    .map(|(place, all)| (place.clone(), all.clone()))
                    .collect(),
            },
        })
    };
    let missing = || Error::failed("cannot compare", "no other algorithm was measured");
    let all = points
        .iter()
        .map(|point| of_point(point).ok_or_else(missing));
    all.collect()
}

fn decisions(
    controller: &str,
    points: &[MatrixPoint],
    seeds: &[u64],
    threads: Option<NonZeroUsize>,
    observer: &dyn Observer,
) -> Result<Vec<Measured>, Error> {
    let scenario = |point: &MatrixPoint| point.scenario_with(controller, seeds.to_vec());
    let scenarios: Vec<Scenario> = points.iter().map(scenario).collect::<Result<_, _>>()?;
    let jobs: Vec<Job<'_>> = scenarios
        .iter()
        .flat_map(|scenario| whimbrel_sim::sweep::jobs(scenario.points()))
        .collect();
    let weight = points.len() as f64 / jobs.len().max(1) as f64;
    let runs = crate::runs::run_more(&jobs, threads, weight, observer)?;
    let of_point = |runs: &[whimbrel_sim::sweep::Run<'_>]| {
        let of_run = |run: &whimbrel_sim::sweep::Run<'_>| {
            let mut all = Confusion::default();
            for flow in &run.outcome.flows {
                all += flow.discrimination.unwrap_or_default();
            }
            all
        };
        let each: Vec<Confusion> = runs.iter().map(of_run).collect();
        let mut all = Confusion::default();
        each.iter().for_each(|one| all += *one);
        let enough = all.random().min(all.congestion()) >= DECISIONS;
        let ratio = |one: &Confusion| one.balanced_accuracy().filter(|_| enough).unwrap_or(1.0);
        Measured {
            // A seed without one kind of loss says as much as all seeds together.
            ratios: each
                .iter()
                .map(|one| match one.random().min(one.congestion()) {
                    0 => ratio(&all),
                    _ => ratio(one),
                })
                .collect(),
            detail: Detail::Decisions(all),
        }
    };
    Ok(runs.chunks(seeds.len().max(1)).map(of_point).collect())
}
