//! `[run]`: the duration, the seeds, and what to record.

use super::ScenarioError;
use super::document::{Node, Value};
use super::fields::{Field, Fields};
use super::presets;
use super::settings::{self, Settings};
use std::collections::HashSet;
use whimbrel_units::Duration;

/// Keys of `[run]`, besides the settings of all flows.
pub(super) const KEYS: [&str; 5] = ["preset", "duration", "seeds", "seed", "sample"];

/// The default duration.
const DURATION: Duration = Duration::from_secs(60);
/// Maximum number of runs of one point.
const MAX_SEEDS: u64 = 100_000;
/// Maximum seed: the maximum integer of TOML.
const MAX_SEED: u64 = i64::MAX as u64;

/// `[run]` as written.
#[derive(Debug, Clone)]
pub(super) struct RunForm {
    pub duration: Duration,
    pub seeds: Vec<u64>,
    pub sample: Option<Duration>,
    /// Settings for all flows.
    pub settings: Settings,
    /// The buffer size of links with a rate and without `queue`, if a preset sets it.
    pub queue: Option<Node>,
}

impl Default for RunForm {
    fn default() -> Self {
        Self {
            duration: DURATION,
            seeds: vec![1],
            sample: None,
            settings: Settings::default(),
            queue: None,
        }
    }
}

/// Reads `[run]`.
pub(super) fn read(root: &Fields<'_>) -> Result<RunForm, ScenarioError> {
    let mut form = RunForm::default();
    let Some(field) = root.get("run") else {
        return Ok(form);
    };
    let completed = presets::complete(&field)?;
    let with_preset = completed
        .as_ref()
        .map(|completed| Field::new(&completed.run, "run"));
    let fields = with_preset.as_ref().unwrap_or(&field).fields()?;
    let known: Vec<&str> = KEYS.into_iter().chain(settings::keys()).collect();
    fields.only(&known)?;
    form.settings = settings::read(&fields, form.settings)?;
    form.queue = completed.as_ref().and_then(|c| c.queue.clone());
    if let Some(field) = fields.get("duration") {
        form.duration = positive(&field)?;
    }
    form.sample = fields
        .get("sample")
        .map(|field| positive(&field))
        .transpose()?;
    let first = fields
        .get("seed")
        .map(|field| field.integer(0..=MAX_SEED))
        .transpose()?;
    match fields.get("seeds") {
        None => form.seeds = vec![first.unwrap_or(1)],
        Some(field) if matches!(field.value(), Value::List(_)) => {
            if first.is_some() {
                return Err(field.fail("`seed` cannot be combined with a list of `seeds`"));
            }
            form.seeds = list(&field)?;
        }
        Some(field) => {
            let count = field.integer(1..=MAX_SEEDS)?;
            let first = first.unwrap_or(1);
            form.seeds = (0..count).map(|i| first.saturating_add(i)).collect();
        }
    }
    Ok(form)
}

fn positive(field: &Field<'_>) -> Result<Duration, ScenarioError> {
    let span: Duration = field.parse()?;
    if span.is_zero() {
        Err(field.fail("must be greater than zero"))
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
