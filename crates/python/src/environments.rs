//! Environments: many episodes at once, for `whimbrel.gym`.

use crate::failure::raise;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use whimbrel_environment::{Batch, Episode, EpisodeError, FIELDS};
use whimbrel_study::{BadInput, Error};
use whimbrel_units::Duration;

/// Episodes that are played in step.
#[pyclass(frozen, module = "whimbrel._whimbrel")]
pub struct NativeEpisodes {
    batch: Mutex<Batch>,
    length: Duration,
}

#[pymethods]
impl NativeEpisodes {
    /// Places for this many episodes, with this many agents each; a step lasts `seconds`.
    #[new]
    fn new(episodes: usize, agents: usize, seconds: f64) -> Self {
        Self {
            batch: Mutex::new(Batch::new(episodes, agents)),
            length: Duration::from_secs_f64(seconds.clamp(1e-6, 1e6)),
        }
    }

    /// The names of what an agent sees.
    #[staticmethod]
    fn fields() -> Vec<&'static str> {
        FIELDS.to_vec()
    }

    /// Begins an episode: the first point of a scenario, whose flows with these names are agents.
    fn begin(
        &self,
        py: Python<'_>,
        place: usize,
        text: &str,
        path: PathBuf,
        flows: Vec<String>,
        seed: u64,
    ) -> PyResult<()> {
        let begin = || -> Result<(), Error> {
            let wrong = |text: &str| Error::from(BadInput::new(text));
            let episode = Episode::new(text, &path, &flows, seed).map_err(|error| match error {
                EpisodeError::Scenario(error) => error.into(),
                EpisodeError::NoAgents => wrong("no TCP flow of the scenario has such a name"),
            })?;
            let mut batch = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
            let fits = batch.begin(place, episode);
            fits.then_some(()).ok_or_else(|| {
                wrong("the scenario has another number of learning flows than the environment")
            })
        };
        py.detach(begin).map_err(|error| raise(py, &error))
    }

    /// Plays a step. Takes the windows in packets (negative: unchanged) as 64-bit floats; returns
    /// what each agent has seen, as 64-bit floats, and which episodes are over.
    fn step<'py>(&self, py: Python<'py>, windows: &[u8]) -> (Bound<'py, PyBytes>, Vec<bool>) {
        let windows: Vec<f64> = windows
            .as_chunks::<8>()
            .0
            .iter()
            .map(|bytes| f64::from_le_bytes(*bytes))
            .collect();
        let (bytes, over) = py.detach(|| {
            let mut seen = Vec::new();
            let mut batch = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
            let over = batch.step(&windows, self.length, &mut seen);
            let bytes: Vec<u8> = seen.iter().flat_map(|value| value.to_le_bytes()).collect();
            (bytes, over)
        });
        (PyBytes::new(py, &bytes), over)
    }
}
