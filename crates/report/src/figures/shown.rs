//! Which flows are shown over time, with their routes and queues.

use super::setting::{Setting, at, is_called, is_controller};
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{
    FlowOutcome, FlowSample, LinkName, LinkOutcome, LossEpisode, Network, PathOutcome, Route,
};

/// Of a single run with at most this many flows, all are shown; otherwise the first of each
/// controller.
const FEW: usize = 4;
/// At most this many flows are shown.
const MOST: usize = 12;

/// A flow over time, or one of its paths.
pub(super) struct Shown<'a> {
    /// The name in the legend.
    pub label: String,
    /// Its controller.
    pub protocol: &'a str,
    pub run: &'a Run<'a>,
    pub flow: &'a FlowOutcome,
    pub path: Option<&'a PathOutcome>,
    pub route: Route,
    /// Index of its run's network in [`AllShown`].
    pub network: usize,
}

impl<'a> Shown<'a> {
    pub fn samples(&self) -> &'a [FlowSample] {
        self.path.map_or(&self.flow.samples, |path| &path.samples)
    }

    pub fn episodes(&self) -> &'a [LossEpisode] {
        self.path.map_or(&self.flow.episodes, |path| &path.episodes)
    }

    /// The sampled link on its route in which packets waited longest on average.
    pub fn queue(&self, network: &Network) -> Option<&'a LinkOutcome> {
        let on_route = |link: &LinkName| {
            self.route.forward.iter().any(|id| {
                let named = network.links.get(id.0 as usize);
                named.is_some_and(|named| named.name == *link)
            })
        };
        let links = self.run.outcome.links.iter();
        let links = links.filter(|link| !link.samples.is_empty() && on_route(&link.name));
        links.max_by_key(|link| link.mean_wait)
    }
}

/// All flows that a figure over time shows.
pub(super) struct AllShown<'a> {
    pub shown: Vec<Shown<'a>>,
    /// The networks of the runs.
    pub networks: Vec<Network>,
    /// Which flows were chosen, for a caption.
    pub chosen: String,
    /// The end of the last run, in seconds.
    pub end: f64,
}

/// The sampled flows with a controller of a setting's first seeds. `None` if there are none.
pub(super) fn shown<'a>(setting: &Setting<'a>) -> Option<AllShown<'a>> {
    let runs: Vec<&'a Run<'a>> = setting.firsts().collect();
    let name = setting.flows.as_deref();
    let all_of_one = runs.len() == 1 && sampled(runs[0], name).count() <= FEW;
    let label = |run: &Run<'_>, flow: &FlowOutcome| {
        let same = sampled(run, name).filter(|(_, other)| other.controller == flow.controller);
        if all_of_one && same.count() > 1 {
            flow.name.to_string()
        } else {
            beside(run, flow.controller.as_deref().unwrap_or_default())
        }
    };
    collect(&runs, name, label, |flows, more| match name {
        Some(name) => format!("Flows called {name}"),
        None if more => "The first flow of each controller".to_owned(),
        None if flows == 1 => "The only flow".to_owned(),
        None => "All flows".to_owned(),
    })
}

/// The first sampled flow with a controller of each point of a sweep, called by the swept values.
/// `None` if there is none.
pub(super) fn first_of_each_point<'a>(runs: &[&'a Run<'a>]) -> Option<AllShown<'a>> {
    let label = |run: &Run<'_>, _: &FlowOutcome| at(run.point.parameters());
    collect(runs, None, label, |_, _| {
        "The first flow of each point of the sweep".to_owned()
    })
}

/// The sampled flows of a run that have a controller and, if given, this name, with their indices.
fn sampled<'a>(
    run: &'a Run<'_>,
    name: Option<&str>,
) -> impl Iterator<Item = (usize, &'a FlowOutcome)> {
    let wanted = move |flow: &FlowOutcome| {
        flow.controller.is_some() && name.is_none_or(|name| is_called(flow, name))
    };
    let flows = run.outcome.flows.iter().enumerate();
    flows.filter(move |(_, flow)| wanted(flow) && flow.samples.len() > 1)
}

/// The first flow with each label. `chosen` gets the number of flows shown and whether there are
/// more.
fn collect<'a>(
    runs: &[&'a Run<'a>],
    name: Option<&str>,
    label: impl Fn(&Run<'_>, &FlowOutcome) -> String,
    chosen: impl Fn(usize, bool) -> String,
) -> Option<AllShown<'a>> {
    let mut shown: Vec<Shown<'a>> = Vec::new();
    let mut networks = Vec::new();
    let mut more = false;
    for &run in runs {
        let network = run.point.network(run.seed);
        for (index, flow) in sampled(run, name) {
            let label = label(run, flow);
            let known = |s: &Shown<'_>| {
                s.label == label || s.path.is_some() && s.label.starts_with(&format!("{label}, "))
            };
            if shown.iter().any(known) || shown.len() >= MOST {
                more = true;
                continue;
            }
            let Some(spec) = network.flows.get(index) else {
                continue;
            };
            let of = |path: Option<&'a PathOutcome>, route: &Route| Shown {
                label: path.map_or(label.clone(), |path| format!("{label}, {}", path.route)),
                protocol: flow.controller.as_deref().unwrap_or_default(),
                run,
                flow,
                path,
                route: route.clone(),
                network: networks.len(),
            };
            if flow.paths.is_empty() {
                shown.extend(spec.routes.first().map(|route| of(None, route)));
            } else {
                let paths = flow.paths.iter().zip(&spec.routes);
                shown.extend(paths.map(|(path, route)| of(Some(path), route)));
            }
        }
        networks.push(network);
    }
    let end = runs.iter().map(|run| run.outcome.duration.as_secs_f64());
    let end = end.fold(0.0, f64::max);
    let seed = runs.first().map_or(0, |run| run.seed);
    (!shown.is_empty() && end > 0.0).then(|| AllShown {
        chosen: format!("{}; seed {seed}.", chosen(shown.len(), more)),
        shown,
        networks,
        end,
    })
}

/// A controller, and those that a sweep gave to other flows of the run.
pub(super) fn beside(run: &Run<'_>, protocol: &str) -> String {
    let controllers = run.point.parameters().iter();
    let others = controllers
        .filter(|p| is_controller(&p.key))
        .map(|p| p.value.to_string())
        .filter(|other| other != protocol);
    let others: Vec<String> = others.collect();
    if others.is_empty() {
        protocol.to_owned()
    } else {
        format!("{protocol} beside {}", others.join(", "))
    }
}
