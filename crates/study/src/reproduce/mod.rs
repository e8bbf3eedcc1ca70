//! The papers' experiments, run again and compared with the papers' numbers.

mod artifact;
mod folder;
mod group;
pub mod list;
mod page;
mod result;
mod task;
#[cfg(test)]
mod tests;
pub mod text;
mod words;

pub use artifact::{MANIFEST, write_artifact};
pub use folder::{PAGE, write_folder};
pub use result::{ExperimentResult, Reproduced, ResultRow, by_paper, json, paper_title};
pub use task::Task;
pub use words::{duration, rows, when};

use crate::cache::Cache;
use crate::runs::seeds_setting;
use crate::{BadInput, Error, Observer};
use group::Group;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Component, Path, PathBuf};
use whimbrel_experiment::{Experiment, Library, LibraryError};
use whimbrel_sim::scenario::Setting;

/// Which experiments, and how they run.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Ids, or the words that ids begin with; empty: all.
    pub ids: Vec<String>,
    /// The folder of the experiments; `None`: `experiments` in the current folder or above, else
    /// the built-in ones.
    pub experiments: Option<PathBuf>,
    /// Number of runs of each combination, which overrides the experiment's.
    pub seeds: Option<u32>,
    /// Run again what is stored.
    pub again: bool,
    /// Number of threads; `None`: one for each core.
    pub threads: Option<NonZeroUsize>,
}

/// The experiments that a request names, each once, in order.
#[derive(Debug)]
pub struct Found {
    /// Where they are.
    pub library: Library,
    /// The experiments.
    pub experiments: Vec<Experiment>,
}

/// Experiments with what is known before they run.
#[derive(Debug)]
pub struct Plan {
    /// A task for each.
    pub tasks: Vec<Task>,
    /// Known run times of scenarios in seconds, by their ids.
    pub expected: BTreeMap<String, f64>,
    /// What overrides the seeds of the scenarios.
    pub seeds: Option<Setting>,
    threads: Option<NonZeroUsize>,
}

impl From<LibraryError> for Error {
    fn from(error: LibraryError) -> Self {
        match error {
            LibraryError::Wrong(error) => error.into(),
            LibraryError::Unknown(why) => BadInput::in_argument("ids", why).into(),
            other => BadInput::new(other).into(),
        }
    }
}

impl Request {
    /// Finds the experiments.
    ///
    /// # Errors
    /// If an id is unknown, or a file cannot be read.
    pub fn find(&self) -> Result<Found, Error> {
        let library = match &self.experiments {
            Some(folder) => Library::Folder(folder.clone()),
            None => Library::nearest(
                &std::env::current_dir()
                    .map_err(|error| Error::failed("cannot find the current directory", error))?,
            ),
        };
        let everything = [String::new()];
        let names = if self.ids.is_empty() {
            &everything[..]
        } else {
            &self.ids
        };
        let mut found = BTreeMap::new();
        for name in names {
            for experiment in library.experiments(name)? {
                found.insert(result::place(&experiment), experiment);
            }
        }
        Ok(Found {
            library,
            experiments: found.into_values().collect(),
        })
    }

    /// Looks up what is known of experiments before they run; results that are in the cache, unless
    /// they are to be run again.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn plan(&self, found: Found, cache: Option<&Cache>) -> Result<Plan, Error> {
        let seeds = self.seeds.map(seeds_setting);
        let Found {
            library,
            experiments,
        } = found;
        let mut expected = library.seconds()?;
        let mut tasks = task::tasks(&library, experiments, cache, seeds.as_ref())?;
        // Stored run times are from this machine.
        for task in &mut tasks {
            if let Some(cached) = &task.cached {
                expected.insert(task.experiment.scenario_id.clone(), cached.seconds);
            }
            task.cached.take_if(|_| self.again);
        }
        Ok(Plan {
            tasks,
            expected,
            seeds,
            threads: self.threads,
        })
    }
}

impl Found {
    /// Leaves out the experiments whose traces are not on this machine, with a note to the
    /// observer.
    ///
    /// # Errors
    /// If that is all.
    pub fn runnable(mut self, observer: &dyn Observer) -> Result<Self, Error> {
        let (runnable, incomplete): (Vec<_>, Vec<_>) = self
            .experiments
            .into_iter()
            .partition(|experiment| experiment.missing_traces.is_empty());
        let reasons: Vec<String> = incomplete.iter().map(missing).collect();
        if runnable.is_empty() && !reasons.is_empty() {
            return Err(BadInput::new(reasons.join("\n")).into());
        }
        for reason in reasons {
            observer.note(&format!("note: {reason}"));
        }
        self.experiments = runnable;
        Ok(self)
    }
}

/// The missing traces of an experiment, in one line.
fn missing(experiment: &Experiment) -> String {
    let paths = experiment.missing_traces.iter();
    let paths: Vec<String> = paths
        .map(|path| plain(path).display().to_string())
        .collect();
    format!(
        "{} is not run: it needs a trace that is not in this repository: {} \
         (see docs/simulate.md)",
        experiment.id,
        paths.join(", ")
    )
}

/// A path without `FOLDER/..`, for the reader.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        let above = part == Component::ParentDir;
        if !(above && plain.file_name().is_some() && plain.pop()) {
            plain.push(part);
        }
    }
    plain
}

/// Runs the experiments of a plan that have no stored result, and stores theirs in the cache.
/// `each` gets the results of experiments that share a scenario as soon as they are known.
///
/// # Errors
/// If a scenario is wrong, `each` fails, or the observer stops it.
pub fn reproduce<'a>(
    plan: &'a Plan,
    cache: Option<&Cache>,
    observer: &dyn Observer,
    mut each: impl FnMut(&[ExperimentResult<'a>]) -> std::io::Result<()>,
) -> Result<Vec<ExperimentResult<'a>>, Error> {
    let groups = Group::all(&plan.tasks);
    let to_run = groups.iter().filter(|group| group.must_run());
    let seconds = to_run.map(|group| group.expected(&plan.expected)).sum();
    observer.begin(seconds, "experiments");
    let mut all = Vec::new();
    for group in &groups {
        let results = group.reproduce(cache, plan, observer)?;
        each(&results).map_err(|error| Error::failed("cannot show the results", error))?;
        all.extend(results);
    }
    all.sort_by_key(|result| result::place(result.experiment));
    Ok(all)
}
