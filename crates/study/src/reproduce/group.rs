//! Experiments that share a scenario, and therefore its runs.

use super::Plan;
use super::result::{ExperimentResult, Reproduced};
use super::task::Task;
use crate::cache::Cache;
use crate::runs::{first_seeds, over_time, run_more};
use crate::{Error, Observer};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Instant;
use whimbrel_sim::scenario::{Parameter, Scenario, Setting};
use whimbrel_sim::sweep::{self, Run};

/// Expected run time of a scenario in seconds if no run time is known.
const UNKNOWN: f64 = 5.0;

/// Tasks with the same scenario; at least one.
pub struct Group<'a> {
    tasks: Vec<&'a Task>,
}

impl<'a> Group<'a> {
    /// The tasks in order, grouped by scenario.
    pub fn all(tasks: &'a [Task]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for task in tasks {
            let id = &task.experiment.scenario_id;
            match groups.iter_mut().find(|group| group.scenario_id() == id) {
                Some(group) => group.tasks.push(task),
                None => groups.push(Self { tasks: vec![task] }),
            }
        }
        groups
    }

    /// The id of the common scenario.
    pub fn scenario_id(&self) -> &'a str {
        &self.tasks[0].experiment.scenario_id
    }

    /// Whether an experiment of the group has to run.
    pub fn must_run(&self) -> bool {
        self.to_run().next().is_some()
    }

    /// Its expected run time in seconds: the known one, or else the median of all known ones.
    pub fn expected(&self, known: &BTreeMap<String, f64>) -> f64 {
        let mut all: Vec<f64> = known.values().copied().collect();
        all.sort_by(f64::total_cmp);
        let middle = all.get(all.len() / 2).copied().unwrap_or(UNKNOWN);
        known.get(self.scenario_id()).copied().unwrap_or(middle)
    }

    /// The tasks without a cached result.
    fn to_run(&self) -> impl Iterator<Item = &'a Task> {
        let tasks = self.tasks.iter().copied();
        tasks.filter(|task| task.cached.is_none())
    }

    /// Runs the scenario unless all results are cached, assesses the missing experiments, and
    /// caches their results.
    pub fn reproduce(
        &self,
        cache: Option<&Cache>,
        plan: &Plan,
        observer: &dyn Observer,
    ) -> Result<Vec<ExperimentResult<'a>>, Error> {
        let mut fresh = if self.must_run() {
            self.run(plan, observer)?.into_iter()
        } else {
            Vec::new().into_iter()
        };
        let mut all = Vec::new();
        for task in &self.tasks {
            let result = |reproduced, cached| {
                ExperimentResult::new(&task.experiment, &task.files, reproduced, cached)
            };
            if let Some(cached) = &task.cached {
                all.push(result(cached.clone(), true));
            } else if let Some(new) = fresh.next() {
                if let (Some(cache), Some(key)) = (cache, &task.key) {
                    cache.write(key, &new, observer);
                }
                all.push(result(new, false));
            }
        }
        Ok(all)
    }

    /// The results of the tasks to run, in order.
    fn run(&self, plan: &Plan, observer: &dyn Observer) -> Result<Vec<Reproduced>, Error> {
        let begin = Instant::now();
        let seeds: Vec<Setting> = plan.seeds.iter().cloned().collect();
        let scenario = self.tasks[0].experiment.scenario(&seeds)?;
        let over_time = OverTime::new(&scenario, self.to_run());
        let jobs = sweep::jobs(scenario.points());
        let weight = self.expected(&plan.expected) / (jobs.len() + over_time.jobs()).max(1) as f64;
        let runs = run_more(&jobs, plan.threads, weight, observer)?;
        let sampled = over_time.run(plan.threads, weight, observer)?;
        let seconds = begin.elapsed().as_secs_f64();
        let at = Timestamp::now();
        let assess = |(i, task): (usize, &Task)| {
            let assessment = task.experiment.assess(&runs);
            let sampled = over_time.of[i].map_or(&runs, |few| &sampled[few]);
            let figures = task.experiment.figures(&assessment.rows, &runs, sampled);
            Reproduced {
                assessment,
                figures,
                seconds,
                at,
            }
        };
        Ok(self.to_run().enumerate().map(assess).collect())
    }
}

/// The few points of a scenario that figures show over time: they run once more, with samples.
struct OverTime {
    /// The sets of points. Experiments with the same set share its runs. What one experiment shows
    /// does not depend on the other experiments of the command.
    few: Vec<Scenario>,
    /// The set of each experiment; `None` if the scenario itself sets samples.
    of: Vec<Option<usize>>,
}

impl OverTime {
    fn new<'a>(scenario: &Scenario, tasks: impl Iterator<Item = &'a Task>) -> Self {
        let mut few: Vec<Scenario> = Vec::new();
        let mut of = Vec::new();
        for task in tasks {
            let own = over_time(
                scenario,
                |point| task.experiment.needs_samples(point),
                |_| 0.0,
            );
            of.push(own.map(|own| {
                let known = few.iter().position(|other| same_points(other, &own));
                known.unwrap_or_else(|| {
                    few.push(own);
                    few.len() - 1
                })
            }));
        }
        Self { few, of }
    }

    fn jobs(&self) -> usize {
        self.few.iter().map(|few| first_seeds(few).len()).sum()
    }

    fn run(
        &self,
        threads: Option<NonZeroUsize>,
        weight: f64,
        observer: &dyn Observer,
    ) -> Result<Vec<Vec<Run<'_>>>, Error> {
        let run = |few| run_more(&first_seeds(few), threads, weight, observer);
        self.few.iter().map(run).collect()
    }
}

fn same_points(a: &Scenario, b: &Scenario) -> bool {
    let points = |scenario: &'_ Scenario| -> Vec<Vec<Parameter>> {
        let points = scenario.points().iter();
        points.map(|point| point.parameters().to_vec()).collect()
    };
    points(a) == points(b)
}
