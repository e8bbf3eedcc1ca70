//! How controllers classified losses, against their true causes.

use super::setting::settings;
use super::sweep::by_controller;
use crate::figure::{Figure, Matrix, Plot};
use whimbrel_sim::Confusion;
use whimbrel_sim::sweep::Run;

/// A matrix for each controller that classifies losses, summed over all runs. `None` if there is
/// none.
pub fn confusion(runs: &[&Run<'_>]) -> Option<Figure> {
    let mut all: Vec<(String, Confusion)> = Vec::new();
    for run in runs {
        for (protocol, flows) in by_controller(run) {
            for decisions in flows.iter().filter_map(|flow| flow.discrimination) {
                match all.iter_mut().find(|(known, _)| *known == protocol) {
                    Some((_, sum)) => *sum += decisions,
                    None => all.push((protocol.clone(), decisions)),
                }
            }
        }
    }
    all.retain(|(_, sum)| sum.random() + sum.congestion() > 0);
    let places = settings(runs).len();
    let over = if places > 1 {
        format!("all {} runs at {places} points of the sweep", runs.len())
    } else {
        format!("{} runs", runs.len())
    };
    (!all.is_empty()).then(|| Figure {
        id: "confusion".to_owned(),
        title: "Decisions on losses".to_owned(),
        caption: format!(
            "Causes of losses and how the controllers classified them, summed over {over}. Random \
             loss classified as congestion costs the flow itself; congestion classified as random \
             loss costs all others. The Brier score is the mean over the losses of (p - truth)²: p \
             is the confidence that a loss is congestion, 0 or 1 without one; 0 is best."
        ),
        plot: Plot::Confusion {
            matrices: all
                .iter()
                .map(|(protocol, sum)| Matrix::new(protocol, protocol, sum))
                .collect(),
        },
    })
}
