//! Congestion windows, the spacing of acknowledgments, and changes of the path.

use super::definition::{Definition, Samples};
use super::period::average;

/// The measures of this topic.
pub(super) const MEASURES: &[Definition] = &[
    // Congestion window; mean over time, mean over the flows.
    Definition {
        name: "mean cwnd",
        unit: "kB",
        samples: Samples::Always,
        value: |view| view.mean(|f| Some(average(view.span.windows(f))? * 1e-3)),
    },
    // Maximum congestion window of all flows.
    Definition {
        name: "greatest cwnd",
        unit: "kB",
        samples: Samples::Always,
        value: |view| Some(view.windows().reduce(f64::max)? * 1e-3),
    },
    // Minimum congestion window of all flows.
    Definition {
        name: "least cwnd",
        unit: "kB",
        samples: Samples::Always,
        value: |view| Some(view.windows().reduce(f64::min)? * 1e-3),
    },
    // Spacing of successive acknowledgments; mean over the samples, mean over the flows.
    Definition {
        name: "mean ack spacing",
        unit: "ms",
        samples: Samples::Always,
        value: |view| view.mean(|f| view.span.ack_spacing(f)),
    },
    // Difference of the spacing of acknowledgments between successive samples (RFC 3550, section
    // 6.4.1 calls the mean of such differences jitter); mean over the samples, mean over the flows.
    Definition {
        name: "ack spacing jitter",
        unit: "ms",
        samples: Samples::Always,
        value: |view| view.mean(|f| view.span.ack_jitter(f)),
    },
    // Number of path changes that controllers detected. No value if no controller detects them.
    Definition {
        name: "path changes",
        unit: "",
        samples: Samples::Never,
        value: |view| {
            let changes = view.flows.iter().filter_map(|(_, f)| f.path_changes);
            changes.map(|n| n as f64).reduce(|a, b| a + b)
        },
    },
];
