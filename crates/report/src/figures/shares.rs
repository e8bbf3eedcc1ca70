//! How flows share a bottleneck over time: their parts on top of each other, and below how fair that is.

use super::over_time::series;
use super::setting::Setting;
use super::shown::beside;
use super::thin::{Place, shorten};
use crate::curves;
use crate::figure::{Axis, Figure, Form, Panel, Plot};
use crate::series::{goodput_in, means_in};
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{FlowOutcome, jain};

/// Shares are of means over so many spans: one to two percent of the run.
const SPANS: usize = 60;
/// So many flows have a part of their own; what the others have is one.
const PARTS: usize = 10;
/// So many runs of a setting are shown.
const RUNS: usize = 4;

/// How flows shared the link that they have in common, a figure for each of some runs in which several flows do.
pub fn shares(setting: &Setting<'_>) -> Vec<Figure> {
    let runs: Vec<&Run<'_>> = setting
        .firsts()
        .filter(|run| sharing(run).len() > 1)
        .collect();
    let several = runs.len() > 1;
    let of = |run: &&Run<'_>| one(setting, run, several);
    super::setting::evenly(runs, RUNS)
        .iter()
        .filter_map(of)
        .collect()
}

/// The sampled flows with a controller that pass the link that most of them pass.
fn sharing<'a>(run: &'a Run<'_>) -> Vec<&'a FlowOutcome> {
    let network = run.point.network(run.seed);
    let flows = || {
        let all = network.flows.iter().zip(&run.outcome.flows);
        all.filter(|(_, flow)| flow.controller.is_some() && flow.samples.len() > 1)
    };
    let passing = |link: usize| {
        let passes = move |spec: &whimbrel_sim::FlowSpec| {
            let mut ways = spec.routes.iter().flat_map(|route| &route.forward);
            ways.any(|id| id.0 as usize == link)
        };
        flows()
            .filter(move |(spec, _)| passes(spec))
            .map(|(_, flow)| flow)
    };
    // Of links that as many pass, the first.
    let links = (0..network.links.len()).rev();
    let busiest = links.max_by_key(|link| passing(*link).count());
    busiest.map_or(Vec::new(), |link| passing(link).collect())
}

fn one(setting: &Setting<'_>, run: &Run<'_>, several: bool) -> Option<Figure> {
    let flows = sharing(run);
    let end = run.outcome.duration.as_secs_f64();
    if end <= 0.0 {
        return None;
    }
    let span = |x: f64| ((x * SPANS as f64 / end) as usize).min(SPANS - 1);
    // What each had in each span; `None` while it was not there.
    let rates: Vec<Vec<Option<f64>>> = flows
        .iter()
        .map(|flow| {
            let mut of_spans = vec![None; SPANS];
            let (from, to) = (
                flow.start.as_secs_f64(),
                (flow.start + flow.active).as_secs_f64(),
            );
            for (x, rate) in goodput_in(&flow.samples, end, SPANS) {
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
    let part = |rates: &[&Vec<Option<f64>>]| -> Vec<Place> {
        let of = |i: &usize| {
            let had: f64 = rates.iter().filter_map(|flow| flow[*i]).sum();
            [middle(*i), 100.0 * had / total(*i)]
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
                &flow.name,
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
        let there = rates.iter().filter_map(|flow| flow[*i]);
        [middle(*i), jain(there)]
    };
    let mut fairness = vec![series(
        None,
        "Jain's index",
        Form::Line,
        spans.iter().map(fair).collect(),
    )];
    if let Some(node) = curves::shares(run) {
        let served = node.fairness.iter().filter(|s| s.flows > 0);
        let weighted = means_in(served.map(|s| (s.at.as_secs_f64(), s.fairness)), end, SPANS);
        let places = weighted.into_iter().map(|(x, y)| [x, y]).collect();
        let label = format!("weighted fairness at {}", node.node);
        fairness.push(series(None, &label, Form::Dashed, places));
    }
    let whose = if several {
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
    } else {
        String::new()
    };
    let window = whimbrel_units::Duration::from_secs_f64(end / SPANS as f64);
    let caption = format!(
        "What each of {} flows had of what they delivered together, means over {window}; seed {}. Below, Jain's index of the \
         flows that were there: 1 is equal shares, 1/n is one of n taking all.",
        flows.len(),
        run.seed
    );
    (!spans.is_empty()).then(|| {
        shorten(Figure {
            id: "shares".to_owned(),
            title: setting.titled(&format!("Shares{whose}")),
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
