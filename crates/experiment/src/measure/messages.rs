//! Messages: their latency, and their wait behind other messages.
//!
//! The latency of a message is the time from its arrival at the sender to the delivery of its last
//! byte. Only messages that were delivered count.

use super::definition::{Definition, Samples, percent};
use super::view::{View, some};
use whimbrel_sim::{FlowOutcome, MessageOutcome, Summary};

/// The measures of this topic.
pub(super) const MEASURES: &[Definition] = &[
    // Median of the messages' latency; mean over the flows.
    Definition {
        name: "message latency p50",
        unit: "ms",
        samples: Samples::Never,
        value: |view| view.mean(|f| some(latency(f)).map(|l| l.p50.as_millis_f64())),
    },
    // 95th percentile of the messages' latency; mean over the flows.
    Definition {
        name: "message latency p95",
        unit: "ms",
        samples: Samples::Never,
        value: |view| view.mean(|f| some(latency(f)).map(|l| l.p95.as_millis_f64())),
    },
    // 99th percentile of the messages' latency; mean over the flows.
    Definition {
        name: "message latency p99",
        unit: "ms",
        samples: Samples::Never,
        value: |view| view.mean(|f| some(latency(f)).map(|l| l.p99.as_millis_f64())),
    },
    // Mean latency of all messages.
    Definition {
        name: "message latency mean",
        unit: "ms",
        samples: Samples::Never,
        value: |view| view.mean_of_all(latency),
    },
    // Time that complete messages waited behind other messages; mean over all messages.
    Definition {
        name: "blocked mean",
        unit: "ms",
        samples: Samples::Never,
        value: |view| view.mean_of_all(blocked),
    },
    // 99th percentile of the same; mean over the flows.
    Definition {
        name: "blocked p99",
        unit: "ms",
        samples: Samples::Never,
        value: |view| view.mean(|f| some(blocked(f)).map(|b| b.p99.as_millis_f64())),
    },
    // Messages delivered, over messages that arrived at the senders.
    Definition {
        name: "messages delivered",
        unit: "%",
        samples: Samples::Never,
        value: |view| {
            percent(
                count(view, |messages| messages.delivered),
                count(view, |messages| messages.arrived),
            )
        },
    },
    // Difference of the latency between messages in the order of their delivery; mean over the
    // messages, mean over the flows.
    Definition {
        name: "message jitter",
        unit: "ms",
        samples: Samples::Never,
        value: |view| view.mean(|f| some(latency(f)).map(|l| l.jitter.as_millis_f64())),
    },
];

/// Latency of a flow's messages; without samples if the flow has no messages.
fn latency(flow: &FlowOutcome) -> Summary {
    let messages = flow.messages.as_ref();
    messages.map(|m| m.latency).unwrap_or_default()
}

/// Time that a flow's messages were blocked; without samples if the flow has no messages.
fn blocked(flow: &FlowOutcome) -> Summary {
    let messages = flow.messages.as_ref();
    messages.map(|m| m.blocked).unwrap_or_default()
}

/// Sum of a count over all flows that have messages.
fn count(view: &View<'_>, part: fn(&MessageOutcome) -> u64) -> f64 {
    let flows = view.flows.iter().filter_map(|(_, f)| f.messages.as_ref());
    flows.map(part).sum::<u64>() as f64
}
