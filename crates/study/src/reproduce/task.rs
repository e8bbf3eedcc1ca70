//! An experiment to reproduce, with what is known before it runs.

use super::result::Reproduced;
use crate::cache::{Cache, Key};
use whimbrel_experiment::{Experiment, File, Library, LibraryError};
use whimbrel_sim::scenario::Setting;

/// An experiment to reproduce, with what is known before it runs.
#[derive(Debug)]
pub struct Task {
    /// The experiment.
    pub experiment: Experiment,
    /// Its files.
    pub files: Vec<File>,
    /// The key of its result in the cache.
    pub key: Option<Key>,
    /// Its result from the cache.
    pub cached: Option<Reproduced>,
}

/// A task for each experiment.
pub fn tasks(
    library: &Library,
    experiments: Vec<Experiment>,
    cache: Option<&Cache>,
    seeds: Option<&Setting>,
) -> Result<Vec<Task>, LibraryError> {
    let task = |experiment: Experiment| {
        let files = library.files(&experiment)?;
        let key = cache.map(|cache| cache.key(&experiment.id, &files, seeds));
        let cached = cache
            .zip(key.as_ref())
            .and_then(|(cache, key)| cache.read(key));
        Ok(Task {
            experiment,
            files,
            key,
            cached,
        })
    };
    experiments.into_iter().map(task).collect()
}
