//! Results for programs: one object whose `runs` lists every run with every flow, in base units.

mod record;
mod records;

pub(crate) use record::Field;
pub(crate) use records::{
    ConfusionJson, DestinationJson, DestinationSampleJson, EpisodeJson, FlowJson, FlowSampleJson,
    LinkJson, LinkSampleJson, PathJson, StreamJson, TotalJson,
};

use record::List;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use whimbrel_sim::scenario::{Parameter, ParameterValue, Point};
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{Confusion, FlowOutcome};

#[derive(Serialize)]
struct RunJson<'a> {
    parameters: Map<String, Value>,
    seed: u64,
    duration_s: f64,
    wall_s: f64,
    events: u64,
    delivered_packets: u64,
    total: TotalJson,
    flows: List<'a, FlowOutcome>,
    /// Without the flows' own copies of links.
    links: Vec<LinkJson<'a>>,
    /// Nodes that receive AATP flows, without those behind the flows' own copies of links, each of
    /// which receives one flow.
    destinations: Vec<DestinationJson<'a>>,
}

/// Writes `{"runs": [...]}` with all runs, in their order.
///
/// # Errors
/// If the writer fails.
pub fn json(runs: &[Run<'_>], to: &mut dyn std::io::Write) -> std::io::Result<()> {
    #[derive(Serialize)]
    struct All<'a> {
        runs: Vec<RunJson<'a>>,
    }
    let all = All {
        runs: runs.iter().map(RunJson::from).collect(),
    };
    serde_json::to_writer_pretty(to, &all).map_err(std::io::Error::from)
}

/// Serializes decisions on losses as [`json()`] does.
///
/// # Errors
/// If the serializer fails.
pub fn confusion<S: Serializer>(decisions: &Confusion, to: S) -> Result<S::Ok, S::Error> {
    ConfusionJson::from(decisions).serialize(to)
}

/// Serializes the values of a sweep as [`json()`] does: an object with its keys.
///
/// # Errors
/// If the serializer fails.
pub fn parameters<S: Serializer>(parameters: &[Parameter], to: S) -> Result<S::Ok, S::Error> {
    values(parameters).serialize(to)
}

fn values(parameters: &[Parameter]) -> Map<String, Value> {
    let value = |value: &ParameterValue| match value {
        ParameterValue::Text(text) => Value::from(text.as_str()),
        ParameterValue::Integer(n) => Value::from(*n),
        ParameterValue::Float(n) => Value::from(*n),
        ParameterValue::Switch(on) => Value::from(*on),
    };
    let all = parameters.iter();
    all.map(|p| (p.key.clone(), value(&p.value))).collect()
}

/// The values of the sweep and, as `controller`, the controllers of the TCP and AATP flows, joined
/// by ", " if they differ, null if there are none.
fn of_point(point: &Point) -> Map<String, Value> {
    let mut map = values(point.parameters());
    let controllers = point.controllers();
    let controller = (!controllers.is_empty()).then(|| controllers.join(", "));
    map.insert("controller".to_owned(), Value::from(controller));
    map
}

impl<'a> From<&'a Run<'_>> for RunJson<'a> {
    fn from(run: &'a Run<'_>) -> Self {
        let outcome = &run.outcome;
        Self {
            parameters: of_point(run.point),
            seed: run.seed,
            duration_s: outcome.duration.as_secs_f64(),
            wall_s: run.wall.as_secs_f64(),
            events: outcome.events,
            delivered_packets: outcome.delivered_packets,
            total: TotalJson::from(run),
            flows: List(&outcome.flows),
            links: outcome
                .links
                .iter()
                .filter(|link| link.name.copy.is_none())
                .map(LinkJson::from)
                .collect(),
            destinations: outcome
                .destinations
                .iter()
                .filter(|node| !node.is_copy)
                .map(DestinationJson::from)
                .collect(),
        }
    }
}
