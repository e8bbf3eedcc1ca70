//! The recorded traces that a scenario names. Recorded traces are not part of this repository.

use crate::embedded::embedded;
use std::path::PathBuf;
use whimbrel_sim::scenario::document::{Document, Node, Value};

/// The paths of the traces that a scenario names, each once.
pub(crate) fn trace_paths(document: &Document) -> Vec<PathBuf> {
    let mut names = Vec::new();
    named_traces(&document.root, &mut names);
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in names.iter().map(|name| document.folder.join(name)) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// The traces that a scenario names and that are neither compiled in nor on the disk.
pub(crate) fn missing_traces(document: &Document) -> Vec<PathBuf> {
    let mut missing = trace_paths(document);
    missing.retain(|path| (document.built_in)(path).is_none() && !path.exists());
    missing
}

/// The document with a short trace in place of each missing one, so that the rest can be checked.
pub(crate) fn with_stand_ins(mut document: Document) -> Document {
    document.built_in = |path| embedded(path).or((!path.exists()).then_some("1\n"));
    document
}

/// Collects the trace files that the links and the sweep of a scenario name.
fn named_traces<'a>(node: &'a Node, into: &mut Vec<&'a str>) {
    match &node.value {
        Value::Table(table) => {
            for entry in &table.entries {
                if entry.key == "trace" || entry.key.ends_with(".trace") {
                    texts(&entry.node, into);
                } else {
                    named_traces(&entry.node, into);
                }
            }
        }
        Value::List(items) => items.iter().for_each(|item| named_traces(item, into)),
        _ => {}
    }
}

/// Collects a text, or the texts of a list.
fn texts<'a>(node: &'a Node, into: &mut Vec<&'a str>) {
    match &node.value {
        Value::Text(text) => into.push(text),
        Value::List(items) => items.iter().for_each(|item| texts(item, into)),
        _ => {}
    }
}
