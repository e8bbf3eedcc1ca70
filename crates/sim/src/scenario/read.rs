//! Reads one point of a file into a [`ScenarioSpec`].

use super::document::{Document, Node, Value};
use super::fields::{Field, Fields};
use super::flow::{self, Flow};
use super::link::{self, Link};
use super::run::{self, Run};
use super::traces::Traces;
use super::{ScenarioError, ScenarioSpec, destination};

/// The error for a scenario without flows.
const NO_FLOWS: &str = "no flows: write e.g. [[flow]] with `route = [\"L\"]`";

impl ScenarioSpec {
    /// Reads one file without its sweep.
    ///
    /// # Errors
    /// The first mistake, with file, line, key and the nearest right word.
    pub fn read(document: &Document) -> Result<Self, ScenarioError> {
        let mut traces = Traces::of(document);
        let mut spec = read(&document.root, &mut traces)?;
        spec.traces = traces.digest();
        Ok(spec)
    }
}

/// Reads one point's tree.
pub(super) fn read(tree: &Node, traces: &mut Traces) -> Result<ScenarioSpec, ScenarioError> {
    let root = Fields::new(tree, "")?;
    let run = run::read(&root)?;
    let links = links(&root, traces)?;
    let flows = read_flows(&root, &links, &run)?;
    Ok(ScenarioSpec {
        destinations: destination::read(&root, &flows)?,
        links,
        flows,
        run,
        sweep: Vec::new(),
        traces: 0,
        span: root.span(),
    })
}

/// Reads all `[link.NAME]`.
pub(super) fn links(root: &Fields<'_>, traces: &mut Traces) -> Result<Vec<Link>, ScenarioError> {
    let mut links = Vec::new();
    if let Some(all) = root.get("link") {
        for (name, field) in all.fields()?.all() {
            if name.is_empty() || name.ends_with('*') {
                return Err(field.fail(
                    "the name of a link must not be empty or end in `*`, which marks per-flow \
                     copies",
                ));
            }
            links.push(link::read(name, &field, traces)?);
        }
    }
    Ok(links)
}

fn read_flows(root: &Fields<'_>, links: &[Link], run: &Run) -> Result<Vec<Flow>, ScenarioError> {
    let written = root.get("flow").ok_or_else(|| root.fail(NO_FLOWS))?;
    one_bracket(&written)?;
    let written = written.list()?;
    if written.is_empty() {
        return Err(root.fail(NO_FLOWS));
    }
    let mut flows: Vec<Flow> = Vec::new();
    for (index, field) in written.iter().enumerate() {
        // Errors name a flow as a key of [sweep] does.
        let path = if written.len() == 1 {
            "flow".to_owned()
        } else {
            format!("flow.{index}")
        };
        let fields = field.named(&path).fields()?;
        flows.push(flow::read(&fields, links, run.settings)?);
    }
    Ok(flows)
}

/// Refuses `[flow]`.
pub(super) fn one_bracket(flow: &Field<'_>) -> Result<(), ScenarioError> {
    match flow.value() {
        Value::Table(_) => Err(flow.fail("flows are a list: write [[flow]] with double brackets")),
        _ => Ok(()),
    }
}
