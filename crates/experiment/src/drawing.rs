//! `[[experiment.figure]]`: a figure that an experiment file defines, to show what the paper's
//! figure shows.

use crate::measure::{Measure, Period};
use crate::selection::Selection;
use whimbrel_report::figures::{Delays, Look};
use whimbrel_sim::scenario::Point;

/// A figure that an experiment file defines.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    /// Its title.
    pub title: String,
    /// What it draws.
    pub kind: Kind,
    /// The points of the sweep that it shows.
    pub at: Selection,
}

/// What a figure draws.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A measure over a key of the sweep, with a line for each series.
    Lines {
        /// The key of the x axis.
        x: String,
        /// The measure.
        y: Quantity,
    },
    /// A measure over two keys of the sweep, with a map for each series.
    Heat {
        /// The key of the x axis.
        x: String,
        /// The key of the y axis.
        rows: String,
        /// The measure.
        y: Quantity,
    },
    /// Panels over time.
    Time(Vec<Look>, Flows),
    /// Throughput against delay.
    Tradeoff,
    /// A distribution.
    Cdf(Of, Flows),
    /// Data sent and delivered over time.
    Sequence(Flows),
    /// How flows share a link over time.
    Shares,
    /// Decisions on losses against their true causes.
    Confusion,
}

/// The flows that a figure shows, by controller or name; `None` for the default choice.
pub type Flows = Option<String>;

/// What a figure measures.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// The measure.
    pub measure: Measure,
    /// The period of the run it covers; the whole run if `None`.
    pub period: Option<Period>,
    /// The flows it covers, by controller or name; all if `None`.
    pub flows: Flows,
    /// The key of the sweep whose values are the series; the controllers if `None`.
    pub series: Option<String>,
}

/// What a distribution shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Delays of packets or messages.
    Delays(Delays),
    /// Goodput and completion times of flows, as far as there are any.
    Flows,
}

impl Drawing {
    /// Whether it shows this point over time, so that the point must be run with samples.
    pub fn needs_samples(&self, point: &Point) -> bool {
        let over_time = match self.kind {
            Kind::Time(..) | Kind::Sequence(_) | Kind::Shares | Kind::Cdf(Of::Delays(_), _) => true,
            Kind::Lines { .. }
            | Kind::Heat { .. }
            | Kind::Tradeoff
            | Kind::Cdf(Of::Flows, _)
            | Kind::Confusion => false,
        };
        over_time && !self.at.is_everything() && self.at.takes(point.parameters())
    }
}
