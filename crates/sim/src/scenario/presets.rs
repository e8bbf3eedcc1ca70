//! Presets: the settings of a known simulator or kernel by name, as data with their sources.
//!
//! `preset = "ns-2.35"` in `[run]` sets the defaults of all flows, and the buffer size of all links
//! that have a rate and no `queue`. Keys beside it, and those of flows and links, override it. The
//! values stand in `presets/NAME.toml` of this crate: each key has a `value` and its `source`.

use super::ScenarioError;
use super::document::{Document, Entry, Node, Table, Value};
use super::fields::{Field, Fields, unknown};
use std::path::Path;

/// A preset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Its name in scenario files.
    pub name: &'static str,
    text: &'static str,
}

/// One key of a preset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresetValue {
    /// The key, as in `[run]`, or `queue` of a link.
    pub key: String,
    /// Its value, as it would be written in a scenario file.
    pub value: String,
    /// Where the value comes from.
    pub source: String,
}

/// All presets.
pub const PRESETS: [Preset; 4] = [
    Preset {
        name: "ns-2.35",
        text: include_str!("../../presets/ns-2.35.toml"),
    },
    Preset {
        name: "ns-3",
        text: include_str!("../../presets/ns-3.toml"),
    },
    Preset {
        name: "linux-2.6.32",
        text: include_str!("../../presets/linux-2.6.32.toml"),
    },
    Preset {
        name: "riverbed",
        text: include_str!("../../presets/riverbed.toml"),
    },
];

/// The key of the buffer size, which is a link's and not a flow's.
const QUEUE: &str = "queue";

impl Preset {
    /// The preset of this name.
    pub fn named(name: &str) -> Option<Self> {
        PRESETS.into_iter().find(|preset| preset.name == name)
    }

    /// What it is, in one sentence.
    ///
    /// # Errors
    /// If the file is malformed, which a test excludes.
    pub fn summary(self) -> Result<String, ScenarioError> {
        let document = self.document()?;
        let root = Fields::new(&document.root, "")?;
        Ok(root.required("summary", "\"...\"")?.text()?.to_owned())
    }

    /// Its values, in the order of the file.
    ///
    /// # Errors
    /// If the file is malformed, which a test excludes.
    pub fn values(self) -> Result<Vec<PresetValue>, ScenarioError> {
        let document = self.document()?;
        let root = Fields::new(&document.root, "")?;
        let keys = root.all().filter(|(key, _)| *key != "summary");
        keys.map(|(key, field)| {
            let fields = field.fields()?;
            fields.only(&["value", "source"])?;
            let value = fields.required("value", "\"40 B\"")?;
            let written = match value.value() {
                Value::Text(text) => format!("{text:?}"),
                other => other.to_string(),
            };
            Ok(PresetValue {
                key: key.to_owned(),
                value: written,
                source: fields.required("source", "\"...\"")?.text()?.to_owned(),
            })
        })
        .collect()
    }

    fn document(self) -> Result<Document, ScenarioError> {
        let path = format!("preset {}", self.name);
        Document::parse(self.text, Path::new(&path))
    }

    /// Its values as the tree of a table: `key = value`.
    fn entries(self) -> Result<Vec<Entry>, ScenarioError> {
        let document = self.document()?;
        let Value::Table(root) = document.root.value else {
            return Ok(Vec::new());
        };
        let value = |entry: Entry| {
            let Value::Table(table) = entry.node.value else {
                return None;
            };
            let node = table.get("value").cloned()?;
            Some(Entry { node, ..entry })
        };
        Ok(root.entries.into_iter().filter_map(value).collect())
    }
}

/// `[run]` with the values of its preset, and the buffer size that the preset sets for links.
#[derive(Debug)]
pub(super) struct Completed {
    pub run: Node,
    pub queue: Option<Node>,
}

/// Adds the values of the preset to `[run]` where it has no value of its own. `None` without a
/// preset.
pub(super) fn complete(run: &Field<'_>) -> Result<Option<Completed>, ScenarioError> {
    let fields = run.fields()?;
    let Some(field) = fields.get("preset") else {
        return Ok(None);
    };
    let name = field.text()?;
    let preset = Preset::named(name).ok_or_else(|| {
        let known = PRESETS.iter().map(|preset| preset.name);
        field.fail(unknown("preset", name, known))
    })?;
    let mut table = match run.value() {
        Value::Table(table) => table.clone(),
        _ => Table::default(),
    };
    let mut queue = None;
    for entry in preset.entries()? {
        if entry.key == QUEUE {
            queue = Some(entry.node);
        } else if table.get(&entry.key).is_none() {
            table.entries.push(entry);
        }
    }
    Ok(Some(Completed {
        run: run.node_with(Value::Table(table)),
        queue,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_preset_parses_and_each_value_has_a_source() {
        for preset in PRESETS {
            assert!(!preset.summary().expect("a summary").is_empty());
            let values = preset.values().expect("well-formed");
            assert!(!values.is_empty(), "{}", preset.name);
            for value in values {
                assert!(value.source.len() > 5, "{} of {}", value.key, preset.name);
            }
        }
    }
}
