//! `[run]`: the duration, the seeds, and what to record.

use super::ScenarioError;
use super::document::Value;
use super::fields::{Field, Fields};
use super::presets;
use super::settings::{self, Settings};
use super::written::Written;
use std::collections::HashSet;
use whimbrel_net::Queue;
use whimbrel_units::Duration;

/// Keys of `[run]`, besides the settings of all flows.
pub(super) const KEYS: [&str; 5] = ["preset", "duration", "seeds", "seed", "sample"];

/// The default duration.
const DURATION: Duration = Duration::from_secs(60);
/// Maximum number of runs of one point.
const MAX_SEEDS: u64 = 100_000;
/// Maximum seed: the maximum integer of TOML.
const MAX_SEED: u64 = i64::MAX as u64;
/// Why a length is refused.
const ZERO: &str = "must be greater than zero";

/// A run as written.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its length.
    pub duration: Written<Duration>,
    /// The seeds, one for each run of a point.
    pub seeds: Vec<u64>,
    /// The interval at which time series are recorded; `None`: they are not.
    pub sample: Option<Duration>,
    /// Settings of all flows.
    pub settings: Settings,
    /// The buffer of links that have a rate and no `queue`; `None`: unlimited.
    pub queue: Option<Written<Queue>>,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            duration: Written::of("duration", DURATION),
            seeds: vec![1],
            sample: None,
            settings: Settings::default(),
            queue: None,
        }
    }
}

impl Run {
    /// The first seeds, from 1.
    ///
    /// # Errors
    /// If there are none or too many.
    pub fn seeds(count: &Written<u32>) -> Result<Vec<u64>, ScenarioError> {
        let count = match u64::from(count.value) {
            n if (1..=MAX_SEEDS).contains(&n) => n,
            n => return Err(count.fail(format!("must be from 1 to {MAX_SEEDS}, not {n}"))),
        };
        Ok((1..=count).collect())
    }

    /// Checks the duration.
    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        match self.duration.value.is_zero() {
            true => Err(self.duration.fail(ZERO)),
            false => Ok(()),
        }
    }
}

/// Reads `[run]`.
pub(super) fn read(root: &Fields<'_>) -> Result<Run, ScenarioError> {
    let mut run = Run::default();
    let Some(field) = root.get("run") else {
        return Ok(run);
    };
    let completed = presets::complete(&field)?;
    let with_preset = completed
        .as_ref()
        .map(|completed| Field::new(&completed.run, "run"));
    let fields = with_preset.as_ref().unwrap_or(&field).fields()?;
    let known: Vec<&str> = KEYS.into_iter().chain(settings::keys()).collect();
    fields.only(&known)?;
    run.settings = settings::read(&fields, run.settings)?;
    if let Some(queue) = completed.as_ref().and_then(|c| c.queue.as_ref()) {
        let field = Field::new(queue, "queue");
        run.queue = Some(field.written(field.parse()?));
    }
    if let Some(duration) = fields.read("duration", positive)? {
        run.duration = duration;
    }
    run.sample = fields
        .get("sample")
        .map(|field| positive(&field))
        .transpose()?;
    let first = fields
        .get("seed")
        .map(|field| field.integer(0..=MAX_SEED))
        .transpose()?;
    match fields.get("seeds") {
        None => run.seeds = vec![first.unwrap_or(1)],
        Some(field) if matches!(field.value(), Value::List(_)) => {
            if first.is_some() {
                return Err(field.fail("`seed` cannot be combined with a list of `seeds`"));
            }
            run.seeds = list(&field)?;
        }
        Some(field) => {
            let count = field.integer(1..=MAX_SEEDS)?;
            let first = first.unwrap_or(1);
            run.seeds = (0..count).map(|i| first.saturating_add(i)).collect();
        }
    }
    Ok(run)
}

fn positive(field: &Field<'_>) -> Result<Duration, ScenarioError> {
    let span: Duration = field.parse()?;
    if span.is_zero() {
        Err(field.fail(ZERO))
    } else {
        Ok(span)
    }
}

fn list(field: &Field<'_>) -> Result<Vec<u64>, ScenarioError> {
    let items = field.list()?;
    if items.is_empty() || items.len() as u64 > MAX_SEEDS {
        return Err(field.fail(format!(
            "must have 1 to {MAX_SEEDS} seeds, not {}",
            items.len()
        )));
    }
    let seeds: Vec<u64> = items
        .iter()
        .map(|item| item.integer(0..=MAX_SEED))
        .collect::<Result<_, _>>()?;
    let mut seen = HashSet::new();
    if let Some((item, seed)) = items
        .iter()
        .zip(&seeds)
        .find(|(_, seed)| !seen.insert(**seed))
    {
        return Err(item.fail(format!(
            "seed {seed} appears twice: both runs would be the same"
        )));
    }
    Ok(seeds)
}
