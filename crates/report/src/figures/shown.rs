//! Which flows are shown over time, and what is known of their ways.

use super::setting::{Setting, is_called};
use crate::curves::{longest_queue, passes};
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{
    FlowOutcome, FlowSample, LinkOutcome, LossEpisode, Network, PathOutcome, Route,
};

/// If a setting has one run with so few flows, all are shown; else the first of each controller.
const FEW: usize = 4;
/// More are never shown.
const MOST: usize = 12;

/// A flow over time, or one path of it.
pub(super) struct Shown<'a> {
    /// What people read.
    pub label: String,
    /// Its controller.
    pub protocol: &'a str,
    pub run: &'a Run<'a>,
    pub flow: &'a FlowOutcome,
    pub path: Option<&'a PathOutcome>,
    /// Its way, and where that lies in the run.
    pub route: Route,
    /// Of the run, among those of [`AllShown`].
    pub network: usize,
}

impl<'a> Shown<'a> {
    pub fn samples(&self) -> &'a [FlowSample] {
        self.path.map_or(&self.flow.samples, |path| &path.samples)
    }

    pub fn episodes(&self) -> &'a [LossEpisode] {
        self.path.map_or(&self.flow.episodes, |path| &path.episodes)
    }

    /// The link on its way in which packets waited longest.
    pub fn queue(&self, network: &Network) -> Option<&'a LinkOutcome> {
        match self.path {
            Some(path) => longest_queue(self.run, |link| passes(path, link)),
            None => longest_queue(self.run, |link| {
                let mut names = self.route.forward.iter();
                names.any(|id| {
                    let named = network.links.get(id.0 as usize);
                    named.is_some_and(|named| named.name == link)
                })
            }),
        }
    }
}

/// What is shown of a setting.
pub(super) struct AllShown<'a> {
    pub shown: Vec<Shown<'a>>,
    /// What each of the runs ran.
    pub networks: Vec<Network>,
    /// What they are called, if only some were wanted.
    pub named: Option<String>,
    /// Whether there are flows that are not shown.
    pub more: bool,
    /// The seed of the runs.
    pub seed: u64,
    /// When the last run ended, in seconds.
    pub end: f64,
}

impl AllShown<'_> {
    /// What was chosen, for a caption.
    pub fn chosen(&self) -> String {
        let flows = if let Some(name) = &self.named {
            format!("Flows called {name}")
        } else if self.more {
            "The first flow of each controller".to_owned()
        } else if self.shown.len() == 1 {
            "The only flow".to_owned()
        } else {
            "All flows".to_owned()
        };
        format!("{flows}; seed {}.", self.seed)
    }
}

/// The flows of a setting's first seeds that have a controller and were sampled. `None` if there are none.
pub(super) fn shown<'a>(setting: &Setting<'a>) -> Option<AllShown<'a>> {
    let runs: Vec<&'a Run<'a>> = setting.firsts().collect();
    let sampled = |run: &'a Run<'a>| {
        let flows = run.outcome.flows.iter().enumerate();
        let wanted = |flow: &FlowOutcome| {
            let named = setting.flows.as_deref();
            flow.controller.is_some() && named.is_none_or(|name| is_called(flow, name))
        };
        flows.filter(move |(_, flow)| wanted(flow) && flow.samples.len() > 1)
    };
    let all_of_one = runs.len() == 1 && sampled(runs[0]).count() <= FEW;
    let mut shown: Vec<Shown<'a>> = Vec::new();
    let mut networks = Vec::new();
    let mut more = false;
    for run in &runs {
        let network = run.point.network(run.seed);
        for (index, flow) in sampled(run) {
            let protocol = flow.controller.as_deref().unwrap_or_default();
            let alone = sampled(run)
                .filter(|(_, other)| other.controller == flow.controller)
                .count()
                == 1;
            let label = if all_of_one && !alone {
                flow.name.clone()
            } else {
                beside(run, protocol)
            };
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
                protocol,
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
    (!shown.is_empty() && end > 0.0).then(|| AllShown {
        shown,
        networks,
        named: setting.flows.clone(),
        more,
        seed: runs.first().map_or(0, |run| run.seed),
        end,
    })
}

/// A controller, and whom it ran beside if a sweep gave others to other flows.
pub(super) fn beside(run: &Run<'_>, protocol: &str) -> String {
    let controllers = run.point.parameters().iter();
    let others = controllers
        .filter(|p| super::setting::is_controller(&p.key))
        .map(|p| p.value.to_string())
        .filter(|other| other != protocol);
    let others: Vec<String> = others.collect();
    if others.is_empty() {
        protocol.to_owned()
    } else {
        format!("{protocol} beside {}", others.join(", "))
    }
}
