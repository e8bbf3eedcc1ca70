//! Negative acknowledgments (NACKs). A run in which no transport uses them has none of these
//! values.

use super::definition::{Definition, Samples};
use super::view::View;
use whimbrel_sim::NackCounts;

/// The measures of this topic.
pub(super) const MEASURES: &[Definition] = &[
    // NACKs that receivers sent.
    Definition {
        name: "nacks sent",
        unit: "",
        samples: Samples::Never,
        value: |view| count(view, |n| n.sent),
    },
    // NACKs that senders accepted.
    Definition {
        name: "nacks accepted",
        unit: "",
        samples: Samples::Never,
        value: |view| count(view, |n| n.accepted),
    },
    // NACKs that senders rejected.
    Definition {
        name: "nacks refused",
        unit: "",
        samples: Samples::Never,
        value: |view| count(view, |n| n.refused),
    },
    // Data packets retransmitted because of a NACK.
    Definition {
        name: "nack resends",
        unit: "packets",
        samples: Samples::Never,
        value: |view| count(view, |n| n.resent),
    },
];

/// Sum of a count over all flows; `None` if no transport uses NACKs.
fn count(view: &View<'_>, part: fn(&NackCounts) -> u64) -> Option<f64> {
    let flows = view.flows.iter().filter_map(|(_, f)| f.nacks.as_ref());
    let counts: Vec<u64> = flows.map(part).collect();
    (!counts.is_empty()).then(|| counts.iter().sum::<u64>() as f64)
}
