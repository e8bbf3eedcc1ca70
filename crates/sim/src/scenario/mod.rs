//! Scenario files: links and flows as a person writes them, turned into [`Network`]s.
//!
//! ```toml
//! [link.access]                    # a `*` in a route gives each flow its own copy
//! rate = "1 Mbit/s"                # see "Links" for steps and traces
//! delay = "10 ms"
//! [link.L]
//! rate = "8 Mbit/s"                # default: unlimited
//! delay = "50 ms"                  # default: none
//! queue = "50 packets"             # or "64 kB", or "1 bdp"; default: unlimited
//! aqm = "codel"                    # or "red", "mark", or a table; default: DropTail
//! loss = "1 %"                     # or a table of random, corrupt, outages, drops, ...
//! reverse = { rate = "1 Mbit/s" }  # the mirrored direction: rate, delay, queue, aqm, loss
//! [link.home]
//! wifi = "65 Mbit/s"               # instead of a rate: a channel that both directions share
//! [[flow]]
//! count = 10                       # default: 1; 0 is allowed, so that a sweep can begin there
//! controller = "cerl"              # or "cerl?A=0.6"; default: "cubic"
//! route = ["access*", "L", "access*"]
//! start = "0 s .. 5 s"             # drawn uniformly for each flow; default: 0 s
//! size = "1 GB"                    # default: endless
//! [destination.L]                  # a node that receives AATP flows
//! bandwidth = "8 Mbit/s"           # default: estimated
//! [run]
//! duration = "100 s"
//! seeds = 10                       # a count, from `seed` (default: 1) upwards, or a list
//! [sweep]
//! "link.L.loss" = ["0 %", "1 %"]
//! "flow.controller" = ["newreno", "cubic", "cerl"]
//! ```
//!
//! **Links.** Each `[link.NAME]` has two directions. `rate` and `delay` may change over time:
//!
//! * `rate = [["0 s", "10 Mbit/s"], ["5 s", "50 Mbit/s"]]` (steps), or `{ trace = "file" }` in
//!   mahimahi's format
//! * `delay = [["0 s", "25 ms"], ["5 s", "300 ms"]]` (steps), `{ every = "15 s", steps = ["25 ms",
//!   "40 ms"] }` (steps that repeat), or `{ every = "10 ms", trace = "file" }` (recorded: one
//!   one-way delay in milliseconds per line)
//!
//! Where a delay falls, packets may overtake each other, unless the delay was recorded;
//! `keep_order` overrides this.
//!
//! The mirrored direction has the same rate, delay and outages, and a queue of the same size of its
//! own; `reverse` overrides these. **Random loss, burst loss and corruption apply to the written
//! direction only**, as in the papers' simulators, unless `reverse.loss` is written. Random outages
//! are drawn by the seed, separately for each copy of a link. Both directions have the same ones
//! unless `reverse.loss` has its own.
//!
//! The directions of a `wifi` link contend for one channel. Where a link rate is needed, the rate
//! of the channel is used, although it is an upper bound.
//!
//! `between = ["ship", "shore"]` names the nodes at the ends of a link. Only a [`Topology`] uses
//! it.
//!
//! A queue in packets or bytes counts the waiting packets, not the one in service. `"x bdp"` is x
//! times the link's rate (maximum of a schedule, mean of a trace) times the maximum base RTT of the
//! flows that pass it, in bytes, and at least one full packet. The base RTT sums the propagation
//! delays of the route and of the way back (maximum of steps, mean of a recorded delay).
//!
//! `aqm` sets the active queue management of each direction. Values that it leaves out are derived
//! from the link ([`AqmSetting::resolve`](whimbrel_net::AqmSetting::resolve)). With `ecn` it marks
//! TCP's data where it can.
//!
//! **Routes.** `route` lists links in the order in which data passes them. `NAME*` is a copy of the
//! link for each flow, and for each time it appears in the route. Acknowledgments take the mirrored
//! route, or `back`: a list of links in order and in their written direction. `routes = [["wifi"],
//! ["lte"]]` instead of `route` makes a TCP flow a multipath connection with one subflow per route;
//! `back` is then a list with one entry per route.
//!
//! **Flows.** `controller` decides which transport carries a flow: AATP carries algorithms that use
//! reports about bursts, TCP all others. `kind = "tcp"` or `"aatp"` only asserts this. Both have
//! `size`.
//!
//! * TCP has `two_way`, the keys of [`Streams`](crate::Streams) (`streams`, `interleave`, and
//!   instead of `size` `messages = { size = "1 kB .. 20 kB", every = "10 ms" }` with `exponential`
//!   and `count`), and the settings of [`TcpSettings`](crate::TcpSettings) under their names.
//! * AATP has `priority` (1 to 8; default 1), `destination`, and the settings of
//!   [`AatpSettings`](crate::AatpSettings) except `packet`, which is the sum of `mss` and `header`.
//! * `kind = "udp"` has `rate`, `packet` (1500 B), and `on`, `off`, `exponential` for bursts.
//!
//! The settings may also be written in `[run]` for all flows; those of a flow override them.
//! Without `kind`, the keys of TCP and AATP are both accepted and each transport uses its own, so
//! that `flow.controller` can be swept over both. `stop` takes an instant or a range like `start`;
//! `name` names a flow.
//!
//! **Destinations.** `destination` names the node that receives an AATP flow. By default it is
//! named after the last link of the route: flows that end on the same link share the node, flows
//! that end on copies of their own do not. `[destination.NAME]` sets `gamma` (5), `beta` (0.05) and
//! `bandwidth` of a node; `NAME*` those of the nodes of all copies.
//!
//! **Run.** `duration` (60 s), `seeds`, `seed`, `sample` (record time series at this interval),
//! `preset` (the settings of a known simulator or kernel: [`presets`]).
//!
//! **Sweep.** Every combination of the values; the last key varies fastest. Keys are
//! `link.NAME.KEY`, `destination.NAME.KEY`, `run.KEY`, `flow.KEY` (all flows that can have it),
//! `flow.0.KEY` or `flow.NAME.KEY` (one `[[flow]]`). A key that the file does not contain is added.
//!
//! **Types.** A file is read into a [`ScenarioSpec`], which flags and arguments can make without a
//! file. Printing one gives a file.
//!
//! The tables `[experiment]` and `[point]` are ignored here: a file that describes an experiment,
//! or a point of the matrix of `whimbrel rank`, is a scenario too.

mod aqm;
mod between;
mod capacity;
mod cellular;
mod destination;
pub mod document;
mod error;
pub mod fields;
mod flow;
mod generated;
mod instances;
mod kind;
mod limits;
mod link;
mod loss;
mod low_orbit;
mod parameter;
mod points;
mod position;
pub mod presets;
mod print;
mod read;
mod resolved;
mod resolved_flow;
mod resolved_link;
mod resolved_streams;
mod route;
mod run;
mod service;
mod settings;
mod spec;
mod streams;
#[cfg(test)]
mod tests;
mod topology;
mod traces;
mod wifi;
mod wireless;
mod with;
mod written;

pub use error::ScenarioError;
pub use flow::{Data, DrawnTime, Flow, Sends};
pub use generated::Generator;
pub use kind::Kind;
pub use link::{Direction, Link, constant_rate, half_of};
pub use loss::{DrawnOutages, Loss};
pub use parameter::{Parameter, ParameterValue};
pub use points::Setting;
pub use print::Section;
pub use route::{FlowRoute, Hop};
pub use run::Run;
pub use service::repeated_delay;
pub use settings::Settings;
pub use spec::{Axis, ScenarioSpec};
pub use topology::{Topology, TopologyLink};
pub use traces::{Traces, recorded_text};
pub use with::With;
pub use written::{Span, Written};

use crate::network::{Network, Oracle, Traffic};
use document::Document;
use fields::Fields;
use resolved::Resolved;
use resolved_flow::ResolvedFlow;
use std::path::Path;
use whimbrel_units::{Duration, Rate};

/// The tables of a file. The last two are read by others.
const ROOT_KEYS: [&str; 7] = [
    "link",
    "flow",
    "destination",
    "run",
    "sweep",
    "experiment",
    "point",
];

/// Maximum number of runs of a scenario, over all points and seeds.
const MAX_RUNS: usize = 1_000_000;

/// A scenario: one point, or one point for each combination of its sweep.
#[derive(Debug, Clone)]
pub struct Scenario {
    points: Vec<Point>,
    traces: u64,
}

/// One combination of a sweep's values, ready to run with any seed.
#[derive(Debug, Clone)]
pub struct Point {
    parameters: Vec<Parameter>,
    resolved: Resolved,
}

/// One `[[flow]]`, which stands for any number of equal flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFlow<'a> {
    /// Its name, if it has one.
    pub name: Option<&'a str>,
    /// Number of flows; may be 0.
    pub count: u32,
    /// Their controller; `None` for UDP.
    pub controller: Option<String>,
}

impl Scenario {
    /// Reads a scenario. `path` names the file in errors; paths of traces are relative to its
    /// folder.
    ///
    /// # Errors
    /// The first mistake, with file, line, key and the nearest right word. All points of the sweep
    /// are checked.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ScenarioError> {
        Self::from_document(Document::parse(text, path)?, &[])
    }

    /// Makes a scenario from a parsed file; `settings` override the file.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn from_document(
        mut document: Document,
        settings: &[Setting],
    ) -> Result<Self, ScenarioError> {
        let root = Fields::new(&document.root, "")?;
        root.only(&ROOT_KEYS)?;
        // Before the sweep, which would blame its own line.
        if let Some(flow) = root.get("flow") {
            read::one_bracket(&flow)?;
        }
        points::set_all(&mut document.root, settings)?;
        let root = Fields::new(&document.root, "")?;
        let axes = points::axes(&root)?;
        let mut traces = Traces::of(&document);
        let mut all = Points::new(root.span());
        for combination in points::combinations(&document.root, &axes) {
            let (parameters, tree) = combination?;
            all.add(parameters, &read::read(&tree, &mut traces)?)?;
        }
        Ok(Self {
            points: all.points,
            traces: traces.digest(),
        })
    }

    /// Makes a scenario from types.
    ///
    /// # Errors
    /// The first value that does not fit the others, by the flag or argument that it came from. All
    /// points of the sweep are checked.
    pub fn new(spec: &ScenarioSpec) -> Result<Self, ScenarioError> {
        let mut all = Points::new(spec.span.clone());
        for (parameters, point) in spec::combinations(spec)? {
            all.add(parameters, &point)?;
        }
        Ok(Self {
            points: all.points,
            traces: spec.traces,
        })
    }

    /// The combinations of the sweep, in order; without a sweep, one point without parameters.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// A hash of the traces that it read: with its text and settings it determines every run.
    pub fn traces(&self) -> u64 {
        self.traces
    }

    /// Keeps only the points for which `keep` is true.
    pub fn retain(&mut self, keep: impl FnMut(&Point) -> bool) {
        self.points.retain(keep);
    }

    /// Records time series at this interval; overrides the file.
    pub fn set_sample(&mut self, sample: Duration) {
        for point in &mut self.points {
            point.resolved.run.sample = Some(sample);
        }
    }
}

/// The points of a scenario that is being made.
struct Points {
    points: Vec<Point>,
    runs: usize,
    span: Span,
}

impl Points {
    fn new(span: Span) -> Self {
        Self {
            points: Vec::new(),
            runs: 0,
            span,
        }
    }

    fn add(
        &mut self,
        parameters: Vec<Parameter>,
        spec: &ScenarioSpec,
    ) -> Result<(), ScenarioError> {
        let resolved = Resolved::new(spec)?;
        self.runs += resolved.run.seeds.len();
        if self.runs > MAX_RUNS {
            return Err(self.span.fail(format!(
                "too many runs (points times seeds): the maximum is {MAX_RUNS}"
            )));
        }
        self.points.push(Point {
            parameters,
            resolved,
        });
        Ok(())
    }
}

impl Point {
    /// The swept values of this point.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The seeds of its runs.
    pub fn seeds(&self) -> &[u64] {
        &self.resolved.run.seeds
    }

    /// The length of a run.
    pub fn duration(&self) -> Duration {
        self.resolved.run.duration.value
    }

    /// The interval at which time series are recorded; `None`: they are not.
    pub fn sample(&self) -> Option<Duration> {
        self.resolved.run.sample
    }

    /// The controllers of its TCP and AATP flows in the order of the flows, without duplicates.
    pub fn controllers(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        let flows = self.flows().into_iter().filter(|flow| flow.count > 0);
        for name in flows.filter_map(|flow| flow.controller) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        all
    }

    /// Its `[[flow]]` entries, in order.
    pub fn flows(&self) -> Vec<WrittenFlow<'_>> {
        let written = |flow: &'_ ResolvedFlow| match &flow.traffic {
            Traffic::Tcp(tcp) => Some(tcp.controller.to_string()),
            Traffic::Aatp(aatp) => Some(aatp.controller.to_string()),
            Traffic::Udp(_) => None,
        };
        let all = self.resolved.flows.iter();
        all.map(|flow| WrittenFlow {
            name: flow.name.as_deref(),
            count: flow.count,
            controller: written(flow),
        })
        .collect()
    }

    /// A copy in which all TCP flows with this controller have this oracle; it overrides the file.
    /// Flows with other controllers stay as they are.
    pub fn with_oracle(&self, controller: &str, oracle: Oracle) -> Self {
        let mut point = self.clone();
        point.resolved.set_oracle(controller, oracle);
        point
    }

    /// The total rate of all flows, headers included, averaged over the run, if the links lost
    /// nothing and were shared with max-min fairness. `None` if some flow has no rate limit at all.
    pub fn capacity(&self) -> Option<Rate> {
        self.resolved.capacity()
    }

    /// The run with this seed.
    pub fn network(&self, seed: u64) -> Network {
        self.resolved.network(seed)
    }
}
