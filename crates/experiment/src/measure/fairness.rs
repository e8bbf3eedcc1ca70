//! How flows share what there is.

use super::definition::{Definition, Samples, percent};
use super::period::average;
use whimbrel_cc::fairness::jain;
use whimbrel_sim::FlowOutcome;

/// The measures of this topic.
pub(super) const MEASURES: &[Definition] = &[
    // Data that the chosen flows delivered, over the data that all flows delivered.
    Definition {
        name: "share",
        unit: "%",
        samples: Samples::InPeriod,
        value: |view| {
            let flows = view.run.outcome.flows.iter();
            let all: Vec<(usize, &FlowOutcome)> = flows.enumerate().collect();
            percent(view.delivered(&view.flows)?, view.delivered(&all)?)
        },
    },
    // Jain's fairness index of the flows' goodput.
    Definition {
        name: "jain",
        unit: "",
        samples: Samples::InPeriod,
        value: |view| Some(jain(view.goodputs())),
    },
    // Weighted fairness (WF) at each destination node while it had flows; mean over the nodes.
    Definition {
        name: "weighted fairness",
        unit: "",
        samples: Samples::InPeriod,
        value: |view| {
            let nodes = view.run.outcome.destinations.iter();
            average(nodes.filter_map(|node| match view.period() {
                Some(period) => period.fairness(node),
                None => Some(node.mean_fairness),
            }))
        },
    },
    // Time from the beginning of the period until the weighted fairness of every destination node
    // stays at 0.99 or above to the end of the period. No value if one node does not get there.
    Definition {
        name: "convergence time",
        unit: "s",
        samples: Samples::Always,
        value: |view| {
            let nodes = view.run.outcome.destinations.iter();
            let times: Option<Vec<f64>> = nodes
                .map(|node| Some(view.span.convergence(node)?.as_secs_f64()))
                .collect();
            times?.into_iter().reduce(f64::max)
        },
    },
];
