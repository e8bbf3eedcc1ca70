//! Decisions of controllers between random loss and congestion, compared with the true causes.

use super::definition::{Definition, Samples, percent};
use whimbrel_sim::Confusion;

/// The measures of this topic.
pub(super) const MEASURES: &[Definition] = &[
    // Correct decisions, over all decisions.
    Definition {
        name: "accuracy",
        unit: "%",
        samples: Samples::Never,
        value: |view| {
            percent(
                view.decisions(|d| d.congestion_as_congestion + d.random_as_random),
                view.decisions(Confusion::random) + view.decisions(Confusion::congestion),
            )
        },
    },
    // Decisions on random loss.
    Definition {
        name: "random judged",
        unit: "",
        samples: Samples::Never,
        value: |view| Some(view.decisions(Confusion::random)),
    },
    // Decisions on random loss that mistook it for congestion, over all decisions on random loss.
    Definition {
        name: "random taken for congestion",
        unit: "%",
        samples: Samples::Never,
        value: |view| {
            percent(
                view.decisions(|d| d.random_as_congestion),
                view.decisions(Confusion::random),
            )
        },
    },
    // Decisions on congestion.
    Definition {
        name: "congestion judged",
        unit: "",
        samples: Samples::Never,
        value: |view| Some(view.decisions(Confusion::congestion)),
    },
    // Decisions on congestion that mistook it for random loss, over all decisions on congestion.
    Definition {
        name: "congestion taken for random",
        unit: "%",
        samples: Samples::Never,
        value: |view| {
            percent(
                view.decisions(|d| d.congestion_as_random),
                view.decisions(Confusion::congestion),
            )
        },
    },
];
