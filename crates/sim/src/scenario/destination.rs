//! `[destination.NAME]`: nodes that share their receive bandwidth among AATP flows.

use super::ScenarioError;
use super::fields::{Field, Fields, unknown};
use super::flow::Flow;
use crate::network::Destination;
use std::collections::HashMap;
use whimbrel_cc::fairness::Adapter;
use whimbrel_units::Rate;

/// Keys of a destination.
pub(super) const KEYS: [&str; 3] = ["gamma", "beta", "bandwidth"];

/// Maximum of `gamma`: beyond it rates grow without bound.
const MAX_GAMMA: f64 = 1000.0;
/// Maximum of `beta`, for the same reason.
const MAX_BETA: f64 = 1.0;

/// Reads all `[destination.NAME]`. A node that is not the destination of any flow is an error.
pub(super) fn read(root: &Fields<'_>, flows: &[Flow]) -> Result<Vec<Destination>, ScenarioError> {
    let Some(tables) = root.get("destination") else {
        return Ok(Vec::new());
    };
    let used = || flows.iter().filter_map(|flow| flow.destination.as_deref());
    let mut all = Vec::new();
    for (name, field) in tables.fields()?.all() {
        if used().all(|used| used != name) {
            let mut known: Vec<&str> = used().collect();
            known.sort_unstable();
            known.dedup();
            return Err(field.fail(unknown("destination", name, known.into_iter())));
        }
        all.push(read_one(name, &field)?);
    }
    Ok(all)
}

fn read_one(name: &str, field: &Field<'_>) -> Result<Destination, ScenarioError> {
    let fields = field.fields()?;
    fields.only(&KEYS)?;
    let mut node = plain(name);
    if let Some(field) = fields.get("gamma") {
        node.adapter.gamma = number(&field, MAX_GAMMA)?;
    }
    if let Some(field) = fields.get("beta") {
        node.adapter.beta = number(&field, MAX_BETA)?;
    }
    if let Some(field) = fields.get("bandwidth") {
        node.bandwidth = Some(rate(&field)?);
    }
    Ok(node)
}

/// A node with default settings.
fn plain(name: &str) -> Destination {
    Destination {
        name: name.to_owned(),
        is_copy: false,
        adapter: Adapter::default(),
        bandwidth: None,
    }
}

fn number(field: &Field<'_>, max: f64) -> Result<f64, ScenarioError> {
    match field.number()? {
        n if (0.0..=max).contains(&n) => Ok(n),
        n => Err(field.fail(format!("must be from 0 to {max}, not {n}"))),
    }
}

fn rate(field: &Field<'_>) -> Result<Rate, ScenarioError> {
    match field.parse()? {
        Rate::ZERO => {
            Err(field.fail("must be greater than zero; omit `bandwidth` to have it estimated"))
        }
        rate => Ok(rate),
    }
}

/// The nodes of a run, added as flows use them.
#[derive(Debug)]
pub(super) struct Destinations<'a> {
    written: &'a [Destination],
    all: Vec<Destination>,
    by_name: HashMap<String, usize>,
}

impl<'a> Destinations<'a> {
    /// No nodes yet; `written` are those that the scenario describes.
    pub fn new(written: &'a [Destination]) -> Self {
        Self {
            written,
            all: Vec::new(),
            by_name: HashMap::new(),
        }
    }

    /// The index of the node `name`, whose settings are in `[destination.TABLE]`.
    pub fn index(&mut self, table: &str, name: &str) -> usize {
        if let Some(index) = self.by_name.get(name) {
            return *index;
        }
        let written = self.written.iter().find(|written| written.name == table);
        let node = written.cloned().unwrap_or_else(|| plain(table));
        self.all.push(Destination {
            name: name.to_owned(),
            is_copy: name != table,
            ..node
        });
        self.by_name.insert(name.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }

    /// All nodes.
    pub fn into_all(self) -> Vec<Destination> {
        self.all
    }
}
