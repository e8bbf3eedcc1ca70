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
use whimbrel_sim::scenario::Setting;
use whimbrel_sim::sweep;

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
        let task = self.tasks.iter().find(|task| task.kept.is_none())?;
        Some(&task.experiment.id)
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
        let few = over_time(&scenario, |_| false);
        let jobs = sweep::jobs(scenario.points());
        let again = few.as_ref().map_or(Vec::new(), first_seeds);
        progress.begin(self, jobs.len() + again.len());
        let runs = sweep::run_all(&jobs, threads, || progress.step())?;
        let again = sweep::run_all(&again, threads, || progress.step())?;
        let sampled = if few.is_some() { &again } else { &runs };
        let seconds = begin.elapsed().as_secs_f64();
        progress.end();
        let at = Timestamp::now();
        let tasks = self.tasks.iter().filter(|task| task.kept.is_none());
        let judge = |task: &&Task| {
            let judgement = task.experiment.judge(&runs);
            let figures = task.experiment.figures(&judgement.rows, &runs, sampled);
            Reproduced {
                judgement,
                figures,
                seconds,
                at,
            }
        };
        Ok(tasks.map(judge).collect())
    }
}
