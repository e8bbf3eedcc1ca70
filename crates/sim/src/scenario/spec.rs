//! What a scenario says, as types. A file is one way to write it; flags and arguments are others.

use super::ScenarioError;
use super::axis::Axis;
use super::document::{Document, Node};
use super::fields::Fields;
use super::flow::{self, Flow};
use super::link::{self, Link};
use super::run::{self, Run};
use super::traces::Traces;
use super::written::{Span, Written};
use super::{NO_FLOWS, destination, one_bracket};
use crate::network::Destination;
use whimbrel_cc::Spec;

/// A scenario as types.
#[derive(Debug, Clone, Default)]
pub struct ScenarioSpec {
    /// The links.
    pub links: Vec<Link>,
    /// The flows; their routes name links by their index.
    pub flows: Vec<Flow>,
    /// The nodes that receive AATP flows and are described; others have default settings.
    pub destinations: Vec<Destination>,
    /// The runs of each point.
    pub run: Run,
    /// The sweep: all combinations are run, the last axis varies fastest.
    pub sweep: Vec<Axis>,
    /// A hash of the traces that links use ([`Traces::digest`]).
    pub traces: u64,
    pub(super) span: Span,
}

impl ScenarioSpec {
    /// One path that all flows share: `[link.L]`.
    pub fn on(link: Link, flows: Vec<Flow>, run: Run) -> Self {
        Self {
            links: vec![link],
            flows,
            run,
            traces: Traces::default().digest(),
            ..Self::default()
        }
    }

    /// Gives the flows with this name another controller.
    pub fn set_controller(&mut self, flow: &str, controller: &Written<Spec>) {
        let named = |one: &&mut Flow| one.name.as_deref() == Some(flow);
        let flows = self.flows.iter_mut().filter(named);
        for data in flows.filter_map(Flow::data_mut) {
            data.controller = controller.clone();
        }
    }

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
