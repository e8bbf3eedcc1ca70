//! Which flows, queues and nodes of many runs a picture shows.

use whimbrel_sim::scenario::Parameter;
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{
    DestinationOutcome, DestinationSample, FlowOutcome, FlowSample, LinkOutcome, LinkSample,
    LossEpisode, PathOutcome, Traffic,
};

/// What a picture shows.
#[derive(Debug, Clone)]
pub struct Curves<'a> {
    /// The curves.
    pub all: Vec<Curve<'a>>,
    /// The swept values that all curves have in common: `loss 1 %`. Empty if none.
    pub at: String,
    /// A node that received several flows, if there was one.
    pub shares: Option<Shares<'a>>,
    /// The spacing of acknowledgments is drawn too.
    pub spacing: bool,
}

/// How a node was shared by the flows that it received.
#[derive(Debug, Clone)]
pub struct Shares<'a> {
    /// The node's name.
    pub node: &'a str,
    /// Each flow's name, and the flow over time.
    pub flows: Vec<(&'a str, &'a [FlowSample])>,
    /// The node over time.
    pub fairness: &'a [DestinationSample],
}

/// What is drawn in one colour: one flow, and the queue it met.
#[derive(Debug, Clone)]
pub struct Curve<'a> {
    /// What the legend calls it.
    pub label: String,
    /// The flow over time.
    pub flow: &'a [FlowSample],
    /// Its episodes of loss.
    pub episodes: &'a [LossEpisode],
    /// The queue over time.
    pub queue: &'a [LinkSample],
}

/// What a picture of these runs shows, of sampled runs with their first seed: the first flow of each
/// controller, at the first point where it is; if all have the same controller, the first flow of each point. A multipath
/// connection has a curve for each of its paths.
/// The queue is the one of the run, or of the path's route, in which packets waited longest. The node is the first that received two flows or more.
pub fn curves<'a>(runs: &'a [Run<'_>]) -> Curves<'a> {
    let mut by_controller: Vec<Curve<'a>> = Vec::new();
    let mut controllers: Vec<&str> = Vec::new();
    let mut by_point = Vec::new();
    let mut points = 0;
    let firsts = || {
        let points = runs.chunk_by(|a, b| std::ptr::eq(a.point, b.point));
        points.filter_map(|runs| runs.first())
    };
    for run in firsts() {
        let sampled = |flow: &&FlowOutcome| flow.controller.is_some() && !flow.samples.is_empty();
        let mut flows = run.outcome.flows.iter().filter(sampled);
        for flow in flows.clone() {
            let label = flow.controller.as_deref().unwrap_or_default();
            if !controllers.contains(&label) {
                controllers.push(label);
                by_controller.extend(curves_of(run, flow, label));
            }
        }
        if let Some(flow) = flows.next() {
            points += 1;
            by_point.extend(curves_of(run, flow, &values(run)));
        }
    }
    let shares = firsts().find_map(shares);
    if controllers.len() == 1 && points > 1 {
        return Curves {
            all: by_point,
            at: String::new(),
            shares,
            spacing: false,
        };
    }
    let at = firsts().next().map(|run| values(run)).unwrap_or_default();
    Curves {
        all: by_controller,
        at,
        shares,
        spacing: false,
    }
}

/// The curve of a flow, or those of its paths, each with the queue of its own route.
fn curves_of<'a>(run: &'a Run<'_>, flow: &'a FlowOutcome, label: &str) -> Vec<Curve<'a>> {
    if flow.paths.is_empty() {
        return vec![Curve {
            label: label.to_owned(),
            flow: &flow.samples,
            episodes: &flow.episodes,
            queue: queue_of(longest_queue(run, |_| true)),
        }];
    }
    let path = |path: &'a PathOutcome| Curve {
        label: format!("{label}, {}", path.route),
        flow: &path.samples,
        episodes: &path.episodes,
        queue: queue_of(longest_queue(run, |link| passes(path, link))),
    };
    flow.paths.iter().map(path).collect()
}

/// Whether a link is one of a path's.
pub(crate) fn passes(path: &PathOutcome, link: &str) -> bool {
    path.route.split(" > ").any(|name| name == link)
}

/// The queue in which packets waited longest, of the links whose names are `wanted`.
pub(crate) fn longest_queue<'a>(
    run: &'a Run<'_>,
    wanted: impl Fn(&str) -> bool,
) -> Option<&'a LinkOutcome> {
    let links = run.outcome.links.iter();
    let links = links.filter(|link| !link.samples.is_empty() && wanted(&link.name));
    links.max_by_key(|link| link.mean_wait)
}

fn queue_of(link: Option<&LinkOutcome>) -> &[LinkSample] {
    link.map_or(&[], |link| &link.samples)
}

/// The first node of a sampled run that received several flows.
pub(crate) fn shares<'a>(run: &'a Run<'_>) -> Option<Shares<'a>> {
    let sampled = |(_, node): &(usize, &'a DestinationOutcome)| !node.samples.is_empty();
    let mut nodes = run.outcome.destinations.iter().enumerate().filter(sampled);
    let first = nodes.next()?;
    // Which node receives which flow stands in what was run, not in what was measured.
    let network = run.point.network(run.seed);
    std::iter::once(first)
        .chain(nodes)
        .find_map(|(index, node)| {
            let flows = network.flows.iter().zip(&run.outcome.flows);
            let received = flows.filter(|(flow, _)| {
            matches!(&flow.traffic, Traffic::Aatp(aatp) if aatp.destination == index)
        });
            let flows: Vec<_> = received
                .map(|(_, flow)| (flow.name.as_str(), flow.samples.as_slice()))
                .collect();
            (flows.len() > 1).then_some(Shares {
                node: &node.name,
                flows,
                fairness: &node.samples,
            })
        })
}

/// The swept values of a run: `loss 1 %, delay 50 ms`; its controller has the legend.
fn values(run: &Run<'_>) -> String {
    let swept = run
        .point
        .parameters()
        .iter()
        .filter(|p| p.key != "flow.controller");
    let value =
        |p: &Parameter| format!("{} {}", p.key.rsplit('.').next().unwrap_or(&p.key), p.value);
    swept.map(value).collect::<Vec<_>>().join(", ")
}
