//! What a scenario says, as types. A file is one way to write it; flags and arguments are others.

use super::ScenarioError;
use super::document::Value;
use super::flow::Flow;
use super::link::Link;
use super::parameter::{Parameter, ParameterValue, choices, too_many};
use super::run::Run;
use super::traces::Traces;
use super::written::{Span, Written};
use crate::network::Destination;
use std::fmt;
use std::sync::Arc;
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
    /// Flows over these links, without recorded traces.
    pub fn new(links: Vec<Link>, flows: Vec<Flow>, run: Run) -> Self {
        Self {
            links,
            flows,
            run,
            traces: Traces::default().digest(),
            ..Self::default()
        }
    }

    /// One path that all flows share: `[link.L]`.
    pub fn on(link: Link, flows: Vec<Flow>, run: Run) -> Self {
        Self::new(vec![link], flows, run)
    }

    /// Gives the flows with this name another controller.
    pub fn set_controller(&mut self, flow: &str, controller: &Written<Spec>) {
        let named = |one: &&mut Flow| one.name.as_deref() == Some(flow);
        let flows = self.flows.iter_mut().filter(named);
        for data in flows.filter_map(Flow::data_mut) {
            data.controller = controller.clone();
        }
    }
}

/// One dimension of a sweep: a key, its values, and what each sets.
#[derive(Clone)]
pub struct Axis {
    key: String,
    values: Vec<Choice>,
}

/// One value of an axis.
#[derive(Clone)]
struct Choice {
    parameter: Parameter,
    source: Value,
    set: Arc<dyn Fn(&mut ScenarioSpec) + Send + Sync>,
}

impl Axis {
    /// Sweeps these values. `key` is the name of the values in results, as in `[sweep]` of a file:
    /// `link.L.rate`; `set` puts one into the scenario.
    pub fn new<T: Clone + Send + Sync + 'static>(
        key: &str,
        values: &[Written<T>],
        set: impl Fn(&mut ScenarioSpec, Written<T>) + Clone + Send + Sync + 'static,
    ) -> Self {
        let choice = |value: &Written<T>| {
            let (value, set) = (value.clone(), set.clone());
            Choice {
                parameter: Parameter {
                    key: key.to_owned(),
                    value: value.parameter(),
                },
                source: value.source().clone(),
                set: Arc::new(move |spec| set(spec, value.clone())),
            }
        };
        Self {
            key: key.to_owned(),
            values: values.iter().map(choice).collect(),
        }
    }

    /// In results its values have another name and are written otherwise, one text for each value:
    /// what the user gave, if the scenario has something that follows from it.
    pub fn shown_as(mut self, name: &str, texts: impl IntoIterator<Item = String>) -> Self {
        for (choice, text) in self.values.iter_mut().zip(texts) {
            choice.parameter = Parameter {
                key: name.to_owned(),
                value: ParameterValue::Text(text),
            };
        }
        self
    }

    /// The name of its values in a scenario file.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Its values, as a list of a scenario file.
    pub(super) fn source(&self) -> Value {
        Value::list(self.values.iter().map(|choice| choice.source.clone()))
    }
}

impl fmt::Debug for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.key, self.source())
    }
}

/// The combinations of all values of a sweep, each with its scenario; the last axis varies fastest.
pub(super) fn combinations(
    spec: &ScenarioSpec,
) -> Result<impl Iterator<Item = (Vec<Parameter>, ScenarioSpec)> + '_, ScenarioError> {
    let lengths: Vec<usize> = spec.sweep.iter().map(|axis| axis.values.len()).collect();
    let points = lengths
        .iter()
        .fold(1_usize, |n, length| n.saturating_mul(*length));
    if let Some(why) = too_many(points) {
        return Err(spec.span.fail(why));
    }
    let base = ScenarioSpec {
        sweep: Vec::new(),
        ..spec.clone()
    };
    Ok(choices(lengths).map(move |chosen| {
        let mut point = base.clone();
        let mut parameters = Vec::with_capacity(chosen.len());
        for (axis, choice) in spec.sweep.iter().zip(chosen) {
            let choice = &axis.values[choice];
            (choice.set)(&mut point);
            parameters.push(choice.parameter.clone());
        }
        (parameters, point)
    }))
}
