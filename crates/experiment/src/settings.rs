//! What an experiment's scenario sets, for people.

use crate::Experiment;
use whimbrel_sim::scenario::document::{Node, Value};

impl Experiment {
    /// What its scenario sets, as it was written: of each link, flow and so on a name and a line, in the order of the file.
    pub fn settings(&self) -> Vec<(String, String)> {
        let Value::Table(root) = &self.document.root.value else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for entry in root.entries.iter().filter(|e| e.key != "experiment") {
            settings(&entry.key, &entry.node, &mut all);
        }
        all
    }

    /// The algorithms that take part, as its scenario names them, in the order in which they come up.
    pub fn controllers(&self) -> Vec<String> {
        // The scenario was checked when the experiment was read.
        let scenario = self.scenario(&[]).ok();
        let mut all: Vec<String> = Vec::new();
        for point in scenario.iter().flat_map(|scenario| scenario.points()) {
            for name in point.controllers() {
                if !all.contains(&name) {
                    all.push(name);
                }
            }
        }
        all
    }
}

/// A table that holds tables is one setting for each of them; a list of tables is one for each, too.
fn settings(name: &str, node: &Node, into: &mut Vec<(String, String)>) {
    match &node.value {
        Value::Table(table) if named(name) => {
            for entry in &table.entries {
                let name = format!("{name} {}", entry.key);
                into.push((name, line(&entry.node.value)));
            }
        }
        Value::List(items) => {
            for item in items {
                into.push((name.to_owned(), line(&item.value)));
            }
        }
        other => into.push((name.to_owned(), line(other))),
    }
}

/// Whether what a table holds has names that people gave: links, and the keys of a sweep.
fn named(table: &str) -> bool {
    !matches!(table, "run" | "flow")
}

/// A table without its braces.
fn line(value: &Value) -> String {
    let text = value.to_string();
    let inner = text.strip_prefix("{ ").and_then(|t| t.strip_suffix(" }"));
    inner.map_or(text.clone(), str::to_owned)
}
