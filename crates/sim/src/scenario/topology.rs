//! A topology: named nodes, and the links of a scenario between them.
//!
//! ```toml
//! [link.radio]
//! between = ["ship", "shore"]      # written direction: from the ship to the shore
//! rate = "20 Mbit/s"
//! delay = "300 ms"
//! [link.core]
//! between = ["shore", "office"]
//! rate = "1 Gbit/s"
//! ```
//!
//! A file needs no `[[flow]]`. If it has flows, they only size buffers in `bdp`. Of a sweep, the
//! first values count.

use super::between::{EXAMPLE, read_between};
use super::document::Document;
use super::fields::Fields;
use super::flow::Flow;
use super::route::FlowRoute;
use super::run;
use super::traces::Traces;
use super::written::Written;
use super::{ROOT_KEYS, Scenario, ScenarioError, ScenarioSpec, points, read};
use std::path::Path;
use whimbrel_cc::Spec;
use whimbrel_units::nearest;

/// Named nodes and the links between them.
#[derive(Debug, Clone)]
pub struct Topology {
    /// The links, each shared by a flow.
    pub scenario: Scenario,
    /// The names of the nodes, in the order of the file.
    pub nodes: Vec<String>,
    /// The links, in the order of the file.
    pub links: Vec<TopologyLink>,
}

/// A link of a topology.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopologyLink {
    /// Its name in the scenario.
    pub name: String,
    /// Its ends, by their indices among the nodes. The written direction is from the first.
    pub between: [usize; 2],
}

impl Topology {
    /// Reads a topology. `path` names the file in errors; paths of traces are relative to its
    /// folder.
    ///
    /// # Errors
    /// The first mistake, with file, line, key and the nearest right word; also if links do not
    /// connect all nodes.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ScenarioError> {
        let document = Document::parse(text, path)?;
        let root = Fields::new(&document.root, "")?;
        root.only(&ROOT_KEYS)?;
        let axes = points::axes(&root)?;
        let first = points::combinations(&document.root, &axes).next();
        let tree = first.map_or_else(
            || Ok(document.root.clone()),
            |one| one.map(|(_, tree)| tree),
        );
        let tree = tree?;
        let root = Fields::new(&tree, "")?;
        let mut traces = Traces::of(&document);
        let mut spec = match root.get("flow") {
            Some(_) => read::read(&tree, &mut traces)?,
            None => ScenarioSpec {
                links: read::links(&root, &mut traces)?,
                run: run::read(&root)?,
                span: root.span(),
                ..ScenarioSpec::default()
            },
        };
        spec.traces = traces.digest();
        let (nodes, links) = connections(&root)?;
        let controller = Written::<Spec>::parse("controller", "cubic")?;
        spec.flows.extend((0..spec.links.len()).map(|link| {
            let mut flow = Flow::new(controller.clone());
            flow.routes = controller.with(vec![FlowRoute::over(link)]);
            flow
        }));
        Ok(Self {
            scenario: Scenario::new(&spec)?,
            nodes,
            links,
        })
    }
}

/// The nodes and what is between them.
fn connections(root: &Fields<'_>) -> Result<(Vec<String>, Vec<TopologyLink>), ScenarioError> {
    let example = "no links: write e.g. [link.radio] with `between = [\"ship\", \"shore\"]`";
    let tables = root
        .get("link")
        .ok_or_else(|| root.fail(example))?
        .fields()?;
    let mut nodes: Vec<String> = Vec::new();
    let mut links = Vec::new();
    let mut written = Vec::new();
    for (name, table) in tables.all() {
        let between = table.fields()?.required("between", EXAMPLE)?;
        let ends = read_between(&between)?.map(|end| {
            let known = nodes.iter().position(|node| *node == end);
            known.unwrap_or_else(|| {
                nodes.push(end);
                nodes.len() - 1
            })
        });
        links.push(TopologyLink {
            name: name.to_owned(),
            between: ends,
        });
        written.push(between);
    }
    if links.is_empty() {
        return Err(root.fail(example));
    }
    let apart = apart(nodes.len(), &links);
    let cut = |link: &TopologyLink| link.between.into_iter().find(|end| apart[*end]);
    let found = links
        .iter()
        .zip(&written)
        .find_map(|(link, at)| Some((cut(link)?, at)));
    if let Some((node, at)) = found {
        let others = (0..nodes.len()).filter(|other| !apart[*other]);
        let near = nearest(&nodes[node], others.map(|other| nodes[other].as_str()));
        let hint = near.map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
        let text = format!(
            "no links lead from `{}` to `{}`{hint}",
            nodes[0], nodes[node]
        );
        return Err(at.fail(text));
    }
    Ok((nodes, links))
}

/// Which nodes the links do not connect with the first.
fn apart(nodes: usize, links: &[TopologyLink]) -> Vec<bool> {
    let mut apart = vec![true; nodes];
    apart[0] = false;
    // Each round reaches a further node, or none.
    while let Some(link) = links.iter().find(|link| {
        let [a, b] = link.between;
        apart[a] != apart[b]
    }) {
        link.between.into_iter().for_each(|end| apart[end] = false);
    }
    apart
}
