//! Lost packets, and what the senders did about them.

use super::definition::{Definition, Samples, percent};

/// The measures of this topic.
pub(super) const MEASURES: &[Definition] = &[
    // Data packets lost for any cause, over data packets sent.
    Definition {
        name: "loss",
        unit: "%",
        samples: Samples::Never,
        value: |view| percent(view.sum(|f| f.lost.total()), view.sum(|f| f.packets_sent)),
    },
    // Data packets lost to congestion (dropped by a queue, or collided), over data packets sent.
    Definition {
        name: "congestion loss",
        unit: "%",
        samples: Samples::Never,
        value: |view| {
            percent(
                view.sum(|f| f.lost.congestion()),
                view.sum(|f| f.packets_sent),
            )
        },
    },
    // Data packets lost for any cause.
    Definition {
        name: "packets lost",
        unit: "packets",
        samples: Samples::Never,
        value: |view| Some(view.sum(|f| f.lost.total())),
    },
    // Data packets retransmitted.
    Definition {
        name: "retransmits",
        unit: "packets",
        samples: Samples::Never,
        value: |view| Some(view.sum(|f| f.retransmits)),
    },
    // Expiries of the retransmission timers.
    Definition {
        name: "timeouts",
        unit: "",
        samples: Samples::Never,
        value: |view| Some(view.sum(|f| f.timeouts)),
    },
];
