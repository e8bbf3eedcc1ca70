//! How flows share a bottleneck over time: their shares on top of each other, and fairness below.

use super::over_time::series;
use super::series::{goodput, means};
use super::setting::{Setting, evenly};
use super::shown::beside;
use crate::figure::{Axis, Figure, Form, Panel, Plot};
use crate::thin::{Point, shorten};
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{DestinationOutcome, FlowOutcome, Traffic, jain};

/// Shares are of means over this many spans of the run.
const SPANS: usize = 60;
/// At most this many flows have a share of their own; the others are one.
const PARTS: usize = 10;
/// At most this many runs of a setting are shown.
const RUNS: usize = 4;

/// How flows shared the link that they have in common: a figure for each of some runs in which
/// several flows do.
pub fn shares(setting: &Setting<'_>) -> Vec<Figure> {
    let runs: Vec<&Run<'_>> = setting
        .firsts()
        .filter(|run| sharing(run).len() > 1)
        .collect();
    let several = runs.len() > 1;
    let of = |run: &&Run<'_>| {
        let flows = sharing(run);
        let whose = if several {
            whose(run, &flows)
        } else {
            String::new()
        };
        one(run, &flows, setting.titled(&format!("Shares{whose}")))
    };
    evenly(runs, RUNS).iter().filter_map(of).collect()
}

/// How flows shared the destination that received them, of the first run in which one received
/// several.
pub(super) fn node_shares(runs: &[&Run<'_>]) -> Option<Figure> {
    runs.iter().find_map(|run| {
        let (node, flows) = shared_node(run)?;
        one(run, &flows, format!("Shares at {}", node.name))
    })
}

/// The first sampled destination that received several flows, and these flows.
fn shared_node<'a>(run: &'a Run<'_>) -> Option<(&'a DestinationOutcome, Vec<&'a FlowOutcome>)> {
    let nodes = run.outcome.destinations.iter().enumerate();
    let mut sampled = nodes
        .filter(|(_, node)| !node.samples.is_empty())
        .peekable();
    sampled.peek()?;
    // The outcome of a flow does not name its destination; the network does.
    let network = run.point.network(run.seed);
    sampled.find_map(|(index, node)| {
        let flows = network.flows.iter().zip(&run.outcome.flows);
        let received = flows.filter(
            |(flow, _)| matches!(&flow.traffic, Traffic::Aatp(aatp) if aatp.destination == index),
        );
        let flows: Vec<&FlowOutcome> = received.map(|(_, flow)| flow).collect();
        (flows.len() > 1).then_some((node, flows))
    })
}

/// The sampled flows with a controller on the link that has most of them.
fn sharing<'a>(run: &'a Run<'_>) -> Vec<&'a FlowOutcome> {
    let network = run.point.network(run.seed);
    let flows = || {
        let all = network.flows.iter().zip(&run.outcome.flows);
        all.filter(|(_, flow)| flow.controller.is_some() && flow.samples.len() > 1)
    };
    let passing = |link: usize| {
        let passes = move |spec: &whimbrel_sim::FlowSpec| {
            let mut links = spec.routes.iter().flat_map(|route| &route.forward);
            links.any(|id| id.0 as usize == link)
        };
        flows()
            .filter(move |(spec, _)| passes(spec))
            .map(|(_, flow)| flow)
    };
    // The first of several such links.
    let links = (0..network.links.len()).rev();
    let busiest = links.max_by_key(|link| passing(*link).count());
    busiest.map_or(Vec::new(), |link| passing(link).collect())
}

/// The controllers of these flows, for a title.
fn whose(run: &Run<'_>, flows: &[&FlowOutcome]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in flows.iter().filter_map(|flow| flow.controller.as_deref()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.as_slice() {
        [one] => format!(", {}", beside(run, one)),
        _ => format!(", {}", names.join(" and ")),
    }
}

fn one(run: &Run<'_>, flows: &[&FlowOutcome], title: String) -> Option<Figure> {
    let end = run.outcome.duration.as_secs_f64();
    if end <= 0.0 {
        return None;
    }
    let span = |x: f64| ((x * SPANS as f64 / end) as usize).min(SPANS - 1);
    // The rate of each flow in each span; `None` while it was not active.
    let rates: Vec<Vec<Option<f64>>> = flows
        .iter()
        .map(|flow| {
            let mut of_spans = vec![None; SPANS];
            let (from, to) = (
                flow.start.as_secs_f64(),
                (flow.start + flow.active).as_secs_f64(),
            );
            for (x, rate) in goodput(&flow.samples, end, SPANS) {
                if x + end / SPANS as f64 >= from && x <= to {
                    of_spans[span(x)] = Some(rate);
                }
            }
            of_spans
        })
        .collect();
    let total = |i: usize| rates.iter().filter_map(|flow| flow[i]).sum::<f64>();
    let middle = |i: usize| (i as f64 + 0.5) * end / SPANS as f64;
    let spans: Vec<usize> = (0..SPANS).filter(|i| total(*i) > 0.0).collect();
    let part = |rates: &[&Vec<Option<f64>>]| -> Vec<Point> {
        let of = |i: &usize| {
            let own: f64 = rates.iter().filter_map(|flow| flow[*i]).sum();
            [middle(*i), 100.0 * own / total(*i)]
        };
        spans.iter().map(of).collect()
    };
    let own = if flows.len() > PARTS {
        PARTS - 1
    } else {
        flows.len()
    };
    let mut stack: Vec<_> = flows[..own]
        .iter()
        .zip(&rates)
        .map(|(flow, rates)| {
            series(
                flow.controller.as_deref(),
                &flow.name.to_string(),
                Form::Stack,
                part(&[rates]),
            )
        })
        .collect();
    if own < flows.len() {
        let others: Vec<_> = rates[own..].iter().collect();
        let label = format!("{} others", others.len());
        stack.push(series(None, &label, Form::Stack, part(&others)));
    }
    let fair = |i: &usize| {
        let active = rates.iter().filter_map(|flow| flow[*i]);
        [middle(*i), jain(active)]
    };
    let mut fairness = vec![series(
        None,
        "Jain's index",
        Form::Line,
        spans.iter().map(fair).collect(),
    )];
    if let Some((node, _)) = shared_node(run) {
        let served = node.samples.iter().filter(|s| s.flows > 0);
        let weighted = means(served.map(|s| (s.at.as_secs_f64(), s.fairness)), end, SPANS);
        let places = weighted.into_iter().map(|(x, y)| [x, y]).collect();
        let label = format!("weighted fairness at {}", node.name);
        fairness.push(series(None, &label, Form::Dashed, places));
    }
    let window = whimbrel_units::Duration::from_secs_f64(end / SPANS as f64);
    let caption = format!(
        "The share of each of {} flows in the data that they delivered, means over {window}; seed \
         {}. Below, Jain's index of the active flows: 1 is equal shares, 1/n is one of n taking all.",
        flows.len(),
        run.seed
    );
    (!spans.is_empty()).then(|| {
        shorten(Figure {
            id: "shares".to_owned(),
            title,
            caption,
            plot: Plot::Panels {
                x: Axis::new("time", "s"),
                panels: vec![
                    Panel {
                        y: Axis::new("share", "%"),
                        series: stack,
                    },
                    Panel {
                        y: Axis::new("fairness", ""),
                        series: fairness,
                    },
                ],
            },
        })
    })
}
