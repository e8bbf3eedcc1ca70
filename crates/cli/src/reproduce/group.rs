//! Experiments that share a scenario, and so its runs.

use super::Task;
use super::keep::Keep;
use super::progress::Progress;
use super::told::{Reproduced, Told};
use crate::page::over_time;
use crate::play::first_seeds;
use jiff::Timestamp;
use std::num::NonZeroUsize;
use std::time::Instant;
use whimbrel_sim::scenario::{Parameter, Scenario, Setting};
use whimbrel_sim::sweep::{self, Run, ThreadsError};

/// Tasks with the same scenario; at least one.
pub struct Group<'a> {
    tasks: Vec<&'a Task>,
}

impl<'a> Group<'a> {
    /// Tasks in order, those together that share a scenario.
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

    /// Whose runs they share.
    pub fn scenario_id(&self) -> &'a str {
        &self.tasks[0].experiment.scenario_id
    }

    /// Whom people see running: the first that is not kept. `None` if all are.
    pub fn running(&self) -> Option<&'a str> {
        self.to_run().next().map(|task| task.experiment.id.as_str())
    }

    fn to_run(&self) -> impl Iterator<Item = &'a Task> {
        let tasks = self.tasks.iter().copied();
        tasks.filter(|task| task.kept.is_none())
    }

    /// Runs the scenario unless all is kept, and judges what is not. Keeps it.
    pub fn reproduce(
        &self,
        keep: Option<&Keep>,
        seeds: Option<&Setting>,
        threads: Option<NonZeroUsize>,
        progress: &Progress,
    ) -> anyhow::Result<Vec<Told<'a>>> {
        let mut fresh = match self.running() {
            Some(_) => self.run(seeds, threads, progress)?.into_iter(),
            None => Vec::new().into_iter(),
        };
        let mut all = Vec::new();
        for task in &self.tasks {
            let told =
                |reproduced, kept| Told::new(&task.experiment, &task.files, reproduced, kept);
            if let Some(kept) = &task.kept {
                all.push(told(kept.clone(), true));
            } else if let Some(new) = fresh.next() {
                if let (Some(keep), Some(key)) = (keep, &task.key) {
                    keep.write(key, &new);
                }
                all.push(told(new, false));
            }
        }
        Ok(all)
    }

    /// Of each task that is not kept, in order.
    fn run(
        &self,
        seeds: Option<&Setting>,
        threads: Option<NonZeroUsize>,
        progress: &Progress,
    ) -> anyhow::Result<Vec<Reproduced>> {
        let begin = Instant::now();
        let seeds: Vec<Setting> = seeds.into_iter().cloned().collect();
        let scenario = self.tasks[0].experiment.scenario(&seeds)?;
        let over_time = OverTime::new(&scenario, self.to_run());
        let jobs = sweep::jobs(scenario.points());
        progress.begin(self, jobs.len() + over_time.jobs());
        let runs = sweep::run_all(&jobs, threads, || progress.step())?;
        let sampled = over_time.run(threads, progress)?;
        let seconds = begin.elapsed().as_secs_f64();
        progress.end();
        let at = Timestamp::now();
        let judge = |(i, task): (usize, &Task)| {
            let judgement = task.experiment.judge(&runs);
            let sampled = over_time.of[i].map_or(&runs, |few| &sampled[few]);
            let figures = task.experiment.figures(&judgement.rows, &runs, sampled);
            Reproduced {
                judgement,
                figures,
                seconds,
                at,
            }
        };
        Ok(self.to_run().enumerate().map(judge).collect())
    }
}

/// The few points of a scenario that experiments show over time: they are run once more, with samples.
struct OverTime {
    /// Each once: experiments that show the same share its runs. What is shown of one must not depend on what else is asked for.
    few: Vec<Scenario>,
    /// Which of them each experiment shows; `None`: its runs are sampled anyway.
    of: Vec<Option<usize>>,
}

impl OverTime {
    fn new<'a>(scenario: &Scenario, tasks: impl Iterator<Item = &'a Task>) -> Self {
        let mut few: Vec<Scenario> = Vec::new();
        let mut of = Vec::new();
        for task in tasks {
            let own = over_time(scenario, |point| task.experiment.wants(point));
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
        progress: &Progress,
    ) -> Result<Vec<Vec<Run<'_>>>, ThreadsError> {
        let run = |few| sweep::run_all(&first_seeds(few), threads, || progress.step());
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
