//! Rates, amounts of data, and how much of the bottleneck they use.

use super::definition::{Definition, Samples};
use super::path::outside_outages;
use super::period::{Period, average};
use super::view::{mbits, megabits};
use whimbrel_sim::FlowOutcome;

/// The measures of this topic.
pub(super) const MEASURES: &[Definition] = &[
    // Goodput of all flows together, over the run.
    Definition {
        name: "total goodput",
        unit: "Mbit/s",
        samples: Samples::InPeriod,
        value: |view| view.per_second(view.delivered(&view.flows)?),
    },
    // Goodput of each flow while it was active; mean over the flows.
    Definition {
        name: "mean flow goodput",
        unit: "Mbit/s",
        samples: Samples::InPeriod,
        value: |view| average(view.goodputs().into_iter()),
    },
    // What all flows together sent on the wire, over the run.
    Definition {
        name: "total throughput",
        unit: "Mbit/s",
        samples: Samples::InPeriod,
        value: |view| view.per_second(view.sent()),
    },
    // What each flow sent on the wire while it was active; mean over the flows.
    Definition {
        name: "mean flow throughput",
        unit: "Mbit/s",
        samples: Samples::InPeriod,
        value: |view| average(view.throughputs().into_iter()),
    },
    // What all flows together sent on the wire.
    Definition {
        name: "transmitted",
        unit: "MB",
        samples: Samples::InPeriod,
        value: |view| Some(view.sent() * 1e-6),
    },
    // What all flows together delivered.
    Definition {
        name: "delivered",
        unit: "MB",
        samples: Samples::InPeriod,
        value: |view| Some(view.delivered(&view.flows)? * 1e-6),
    },
    // As `mean flow throughput`, without the outages on the flow's route: neither their time nor
    // the packets lost in them count. All packets are taken to have the same size.
    Definition {
        name: "throughput outside outages",
        unit: "Mbit/s",
        samples: Samples::Never,
        value: |view| {
            let network = view.network();
            view.mean_by_index(|i, flow| {
                let active = Period::of_flows([flow]);
                let up = outside_outages(&network, network.flows.get(i)?, active);
                megabits(arrived(flow, flow.lost.outage)?, up)
            })
        },
    },
    // Pacing rate that the controller set; mean over time, mean over the flows.
    Definition {
        name: "sending rate",
        unit: "Mbit/s",
        samples: Samples::Always,
        value: |view| view.mean(|f| Some(view.span.sending_rate(f)? * 1e-6)),
    },
    // What the flows sent on the wire, over what their bottleneck could carry while any of them
    // was active; above 100 % the link was overloaded. The bottleneck is the link with the
    // highest load.
    Definition {
        name: "offered load",
        unit: "%",
        samples: Samples::Never,
        value: |view| view.load(|f| Some(f.sent_on_wire.get() as f64)),
    },
    // As `offered load`, without the packets that were lost. All packets are taken to have the
    // same size.
    Definition {
        name: "utilisation",
        unit: "%",
        samples: Samples::Never,
        value: |view| view.load(|f| arrived(f, f.lost.total())),
    },
    // Time from a flow's start to its completion; mean over the flows. No value if a flow did not
    // complete.
    Definition {
        name: "completion time",
        unit: "s",
        samples: Samples::Never,
        value: |view| view.mean(|f| f.completion.map(|span| span.as_secs_f64())),
    },
    // Bandwidth that AATP connections work with; mean over the connections.
    Definition {
        name: "bandwidth estimate",
        unit: "Mbit/s",
        samples: Samples::Never,
        value: |view| {
            let flows = view.flows.iter().filter_map(|(_, f)| f.aatp.as_ref());
            average(flows.map(|aatp| mbits(aatp.bandwidth)))
        },
    },
];

/// Bytes that a flow sent on the wire, less the bytes of `lost` packets. All packets are taken to
/// have the same size.
fn arrived(flow: &FlowOutcome, lost: u64) -> Option<f64> {
    let sent = flow.packets_sent as f64;
    let share = 1.0 - lost as f64 / sent;
    (sent > 0.0).then(|| flow.sent_on_wire.get() as f64 * share)
}
