//! Scenario files: a path and its flows as a person writes them, turned into [`Network`]s.
//!
//! ```toml
//! [link.access]                    # a '*' in a route gives each flow its own copy
//! rate = "1 Mbit/s"                # or { trace = "file" } (mahimahi), or [["0 s", "10 Mbit/s"], ["5 s", "50 Mbit/s"]]
//! delay = "10 ms"                  # or steps: [["0 s", "25 ms"], ["5 s", "300 ms"]]; or what repeats:
//!                                  # { every = "15 s", steps = ["25 ms", "40 ms"] }, { every = "10 ms", trace = "file" }
//! [link.L]
//! rate = "8 Mbit/s"                # left out: packets are served at once
//! delay = "50 ms"                  # left out: none
//! queue = "50 packets"             # or "64 kB", or "1 bdp"; left out: never overflows
//! aqm = "codel"                    # or "red", "mark", or a table; left out: DropTail
//! loss = "1 %"                     # or a table of random, gilbert-elliott, corrupt, bit_errors, outages, drops, ...
//! reverse = { rate = "1 Mbit/s" }  # what differs in the mirrored direction: rate, delay, queue, aqm, loss
//! [link.home]
//! wifi = "65 Mbit/s"               # instead of a rate: a channel that both directions share
//! [[flow]]
//! count = 10                       # left out: 1; 0: none, so that a sweep can begin there
//! controller = "cerl"              # or "cerl?A=0.6"; left out: "cubic"
//! route = ["access*", "L", "access*"]
//! start = "0 s .. 5 s"             # drawn evenly for each flow; left out: 0 s
//! size = "1 GB"                    # left out: endless
//! [destination.L]                  # a node that receives AATP flows
//! bandwidth = "8 Mbit/s"           # left out: estimated
//! [run]
//! duration = "100 s"
//! seeds = 10                       # a count, from `seed` (1 when left out) upwards, or a list
//! [sweep]
//! "link.L.loss" = ["0 %", "1 %"]
//! "flow.controller" = ["newreno", "cubic", "cerl"]
//! ```
//!
//! **Links.** Each `[link.NAME]` has two directions. Where a delay falls packets may overtake each other, unless it was recorded
//! (`trace`: a one-way delay in milliseconds a line) or `keep_order` says otherwise. The mirrored one has the same rate, delay and
//! outages and a queue of its own of the same size; `reverse` overrides these. **Random loss, in bursts
//! or not, and corruption apply to the written direction only**, as in the papers' simulators, unless
//! `reverse.loss` is written. Random outages are drawn by the seed, for each copy of a link anew, and are the
//! same in both directions unless `reverse.loss` has its own. The directions of a `wifi` link contend for one channel;
//! its rate stands for the link's wherever one is needed, as the bound that it is. A queue in packets or bytes counts what waits, the packet in service not. `"x bdp"` is x
//! times the link's rate (the greatest of a schedule, the mean of a trace) times the greatest base RTT
//! of the flows that pass it (the propagation delays of the route and the way back, of steps the
//! greatest, of a recorded delay the mean), in bytes, and at least one full packet. `aqm` is what the queue does before it is full, for each direction by
//! itself; what it does not say fits the link ([`AqmSetting::resolve`](whimbrel_net::AqmSetting::resolve)). With `ecn` it
//! marks TCP's data where it can.
//!
//! **Routes.** `route` lists links in the order in which data passes them; `NAME*` is a copy of its own
//! for each flow and for each time it stands in the route. Acknowledgments take the route mirrored, or
//! `back`, a list of links in order and in their written direction. `routes = [["wifi"], ["lte"]]` instead of `route` makes a
//! TCP flow a multipath connection with a subflow on each; `back` is then a list of as many. A copy `NAME*` is one for each
//! time it stands in any of them.
//!
//! **Flows.** `controller` (`"cubic"`) decides which transport carries a flow: AATP one that lives on
//! reports about bursts, TCP all others. `kind = "tcp"` or `"aatp"` only insists. Both have `size`. TCP has `two_way`, the
//! keys of [`Streams`](crate::Streams) (`streams`, `interleave`, and `messages = { size = "1 kB .. 20 kB", every = "10 ms" }`
//! with `exponential` and `count`, instead of `size`) and the settings of [`TcpSettings`](crate::TcpSettings) under their
//! names; AATP has `priority` (1 to 8; 1), `destination` and the settings of [`AatpSettings`](crate::AatpSettings) but `packet`, which is `mss` and `header` together. The settings may also
//! stand in `[run]` for all flows, and a flow's own win. Where `kind` is left out, the keys of both are taken and each
//! transport heeds its own, so that `flow.controller` can be swept over both. `kind = "udp"`: `rate`, `packet` (1500 B),
//! and `on`, `off`, `exponential` for bursts. `stop` takes an instant or a span like `start`; `name` names a flow.
//!
//! **Destinations.** An AATP flow is received by the node `destination`, or else by one that has the name of the last link
//! of its route: flows that end on the same link share it, flows that end on copies of their own do not.
//! `[destination.NAME]` says something of one: `gamma` (5), `beta` (0.05), `bandwidth`; `NAME*` of those of all copies.
//!
//! **Run.** `duration` (60 s), `seeds`, `seed`, `sample` (record time series at this interval).
//!
//! **Sweep.** Every combination of the values, the last line turning fastest. Keys are `link.NAME.KEY`,
//! `destination.NAME.KEY`, `run.KEY`, `flow.KEY` (all flows that can have it), `flow.0.KEY` or `flow.NAME.KEY` (one `[[flow]]`).
//! A key that is not written is added.
//!
//! A table `[experiment]` is left to whoever reads experiments: such a file is a scenario too.

mod aqm;
mod destination;
pub mod document;
mod error;
mod expand;
pub mod fields;
mod flow;
mod link;
mod loss;
mod points;
mod run;
mod settings;
mod streams;
#[cfg(test)]
mod tests;
mod wifi;
mod wireless;

pub use error::ScenarioError;
pub use points::{Parameter, ParameterValue, Setting};

use crate::network::{Network, Oracle, Traffic};
use document::{Document, Node};
use expand::Form;
use fields::{Field, Fields};
use std::path::Path;
use whimbrel_units::{Duration, Rate};

/// The most runs of a scenario, all points and seeds together.
const MOST_RUNS: usize = 1_000_000;

/// A scenario: one point, or one for each combination of its sweep.
#[derive(Debug, Clone)]
pub struct Scenario {
    points: Vec<Point>,
}

/// One combination of a sweep's values, ready to run with any seed.
#[derive(Debug, Clone)]
pub struct Point {
    parameters: Vec<Parameter>,
    form: Form,
}

/// One `[[flow]]`: one or more flows that are written once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFlow<'a> {
    /// Its name, if it has one.
    pub name: Option<&'a str>,
    /// How many flows it stands for; may be 0.
    pub count: u32,
    /// Their controller; `None` for datagrams.
    pub controller: Option<String>,
}

impl Scenario {
    /// Reads a scenario. `path` names the file in errors; traces are looked for beside it.
    ///
    /// # Errors
    /// The first thing that is wrong, with file, line, key and the nearest right word. All points of the
    /// sweep are checked.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ScenarioError> {
        Self::from_document(Document::parse(text, path)?, &[])
    }

    /// Makes a scenario of a file that is read already, with `settings` over what it says.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn from_document(
        mut document: Document,
        settings: &[Setting],
    ) -> Result<Self, ScenarioError> {
        let root = Fields::new(&document.root, "")?;
        root.only(&["link", "flow", "destination", "run", "sweep", "experiment"])?;
        points::set_all(&mut document.root, settings)?;
        let root = Fields::new(&document.root, "")?;
        let axes = points::axes(&root)?;
        let mut traces = link::Traces::new(&document);
        let mut points: Vec<Point> = Vec::new();
        let mut runs = 0;
        for combination in points::combinations(&document.root, &axes) {
            let (parameters, tree) = combination?;
            let form = read(&tree, &mut traces)?;
            runs += form.run().seeds.len();
            if runs > MOST_RUNS {
                return Err(root.fail(format!("points times seeds are more than {MOST_RUNS} runs")));
            }
            points.push(Point { parameters, form });
        }
        Ok(Self { points })
    }

    /// The combinations of the sweep, in order; one without parameters if there is no sweep.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Leaves only the points that `keep` takes, in their order.
    pub fn retain(&mut self, keep: impl FnMut(&Point) -> bool) {
        self.points.retain(keep);
    }

    /// Records time series at this interval, whatever the file says.
    pub fn set_sample(&mut self, sample: Duration) {
        for point in &mut self.points {
            point.form.set_sample(sample);
        }
    }
}

impl Point {
    /// The swept values that make this point.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The seeds that the scenario asks for.
    pub fn seeds(&self) -> &[u64] {
        &self.form.run().seeds
    }

    /// How long a run is.
    pub fn duration(&self) -> Duration {
        self.form.run().duration
    }

    /// The interval at which time series are recorded, if they are.
    pub fn sample(&self) -> Option<Duration> {
        self.form.run().sample
    }

    /// The controllers of its TCP and AATP flows, each once, in the order of the flows.
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

    /// What is written once each, in order.
    pub fn flows(&self) -> Vec<WrittenFlow<'_>> {
        let written = |flow: &'_ flow::FlowForm| match &flow.traffic {
            Traffic::Tcp(tcp) => Some(tcp.controller.to_string()),
            Traffic::Aatp(aatp) => Some(aatp.controller.to_string()),
            Traffic::Udp(_) => None,
        };
        let all = self.form.flows().iter();
        all.map(|flow| WrittenFlow {
            name: flow.name.as_deref(),
            count: flow.count,
            controller: written(flow),
        })
        .collect()
    }

    /// The same, but what each TCP flow with this controller is told of its losses is this, whatever the file says. Flows
    /// with other controllers stay as they are.
    pub fn told(&self, controller: &str, oracle: Oracle) -> Self {
        let mut told = self.clone();
        told.form.set_oracle(controller, oracle);
        told
    }

    /// What all flows together would carry, headers included, if the links lost nothing and were shared by max-min
    /// fairness, in the mean over the run; `None` if some flow meets no limit at all.
    pub fn capacity(&self) -> Option<Rate> {
        self.form.capacity()
    }

    /// The run with this seed.
    pub fn network(&self, seed: u64) -> Network {
        self.form.network(seed)
    }
}

/// Reads one point's tree.
fn read(tree: &Node, traces: &mut link::Traces) -> Result<Form, ScenarioError> {
    let root = Fields::new(tree, "")?;
    let run = run::read(&root)?;
    let mut links = Vec::new();
    if let Some(all) = root.get("link") {
        for (name, field) in all.fields()?.all() {
            if name.is_empty() || name.ends_with('*') {
                return Err(field.fail(
                    "a link's name must not be empty or end in `*`, which stands for own copies",
                ));
            }
            links.push(link::read(name, &field, run.duration, traces)?);
        }
    }
    let flows = read_flows(&root, &links, run.settings)?;
    let destinations = destination::read(&root, &flows)?;
    Form::new(links, flows, destinations, run, &Field::new(tree, ""))
}

fn read_flows(
    root: &Fields<'_>,
    links: &[link::LinkForm],
    settings: settings::Settings,
) -> Result<Vec<flow::FlowForm>, ScenarioError> {
    let written = root
        .get("flow")
        .ok_or_else(|| root.fail("there is no flow; write e.g. [[flow]] with `route = [\"L\"]`"))?;
    if let document::Value::Table(_) = written.value() {
        return Err(written.fail("flows are a list: write [[flow]], with two brackets"));
    }
    let written = written.list()?;
    if written.is_empty() {
        return Err(root.fail("there is no flow; write e.g. [[flow]] with `route = [\"L\"]`"));
    }
    let mut flows: Vec<flow::FlowForm> = Vec::new();
    for (index, field) in written.iter().enumerate() {
        // Errors call a flow as a sweep would.
        let path = if written.len() == 1 {
            "flow".to_owned()
        } else {
            format!("flow.{index}")
        };
        let fields = field.named(&path).fields()?;
        let flow = flow::read(&fields, links, settings)?;
        if let Some(name) = &flow.name {
            let key = points::is_flow_key(name);
            if name.is_empty() || key || name.parse::<usize>().is_ok() {
                return Err(fields.fail(format!(
                    "`{name}` cannot name a flow: a sweep would take it for a key"
                )));
            }
            if flows.iter().any(|f| f.name.as_ref() == Some(name)) {
                return Err(fields.fail(format!("two flows are named `{name}`")));
            }
        }
        flows.push(flow);
    }
    Ok(flows)
}
