//! Round-trip times, one-way delays and queueing delay.

use super::definition::{Definition, Samples};
use super::view::some;

/// The measures of this topic.
pub(super) const MEASURES: &[Definition] = &[
    // Mean of all RTT samples.
    Definition {
        name: "rtt mean",
        unit: "ms",
        samples: Samples::Never,
        value: |view| view.mean_of_all(|f| f.rtt),
    },
    // 95th percentile of the RTT; mean over the flows.
    Definition {
        name: "rtt p95",
        unit: "ms",
        samples: Samples::Never,
        value: |view| view.mean(|f| some(f.rtt).map(|rtt| rtt.p95.as_millis_f64())),
    },
    // Mean one-way delay of the data packets.
    Definition {
        name: "delay mean",
        unit: "ms",
        samples: Samples::Never,
        value: |view| view.mean_of_all(|f| f.one_way_delay),
    },
    // 95th percentile of the one-way delay; mean over the flows.
    Definition {
        name: "delay p95",
        unit: "ms",
        samples: Samples::Never,
        value: |view| view.mean(|f| some(f.one_way_delay).map(|d| d.p95.as_millis_f64())),
    },
    // Mean one-way delay over the propagation delay of the flow's route; mean over the flows. The
    // measured delay includes the transmission time of a packet, the propagation delay does not.
    Definition {
        name: "delay ratio mean",
        unit: "",
        samples: Samples::Never,
        value: |view| view.delay_ratio(|delay| delay.mean),
    },
    // As `delay ratio mean`, of the 95th percentile of the one-way delay.
    Definition {
        name: "delay ratio p95",
        unit: "",
        samples: Samples::Never,
        value: |view| view.delay_ratio(|delay| delay.p95),
    },
    // Mean wait in the queue with the longest mean wait.
    Definition {
        name: "queue delay",
        unit: "ms",
        samples: Samples::Never,
        value: |view| {
            let links = view.run.outcome.links.iter();
            links
                .map(|link| link.mean_wait.as_millis_f64())
                .reduce(f64::max)
        },
    },
    // Difference of the one-way delay between successive data packets, the jitter that D-ITG
    // reports; mean over the packets, mean over the flows.
    Definition {
        name: "delay jitter",
        unit: "ms",
        samples: Samples::Never,
        value: |view| view.mean(|f| some(f.one_way_delay).map(|d| d.jitter.as_millis_f64())),
    },
];
