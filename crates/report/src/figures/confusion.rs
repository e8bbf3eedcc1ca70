//! What controllers took losses for, and what they were.

use super::setting::settings;
use super::sweep::by_controller;
use crate::figure::{Figure, Matrix, Plot};
use whimbrel_sim::Confusion;
use whimbrel_sim::sweep::Run;

/// A matrix for each controller that tells random loss from congestion, over all runs. `None` if none was asked.
pub fn confusion(runs: &[&Run<'_>]) -> Option<Figure> {
    let mut all: Vec<(String, Confusion)> = Vec::new();
    for run in runs {
        for (protocol, flows) in by_controller(run) {
            for told in flows.iter().filter_map(|flow| flow.discrimination) {
                match all.iter_mut().find(|(known, _)| *known == protocol) {
                    Some((_, sum)) => *sum += told,
                    None => all.push((protocol.clone(), told)),
                }
            }
        }
    }
    all.retain(|(_, sum)| sum.random() + sum.congestion() > 0);
    let places = settings(runs).len();
    let over = if places > 1 {
        format!("all {} runs at {places} places of the sweep", runs.len())
    } else {
        format!("{} runs", runs.len())
    };
    (!all.is_empty()).then(|| Figure {
        id: "confusion".to_owned(),
        title: "Decisions on losses".to_owned(),
        caption: format!(
            "What losses were, and what controllers took them for, summed over {over}. Random loss taken for congestion costs \
             the flow itself, congestion taken for random loss costs all others."
        ),
        plot: Plot::Confusion {
            matrices: all
                .iter()
                .map(|(protocol, sum)| Matrix::new(protocol, protocol, sum))
                .collect(),
        },
    })
}
