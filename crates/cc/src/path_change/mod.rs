//! Detection of a change of the path itself.
//!
//! A round-trip time grows for two reasons: packets wait in a queue, or the path has become longer
//! (a handover to a satellite, or from one satellite to the next). In the first case a sender
//! should slow down; in the second it needs a larger window, and its estimates of the path are
//! void. Implementations: `three_samples.rs`, by the round-trip times themselves, and
//! `rtt_step.rs`, by the way in which they rose.

pub(crate) mod rtt_step;
pub(crate) mod three_samples;

use crate::interface::Ack;
use std::fmt::Debug;
use whimbrel_units::{Duration, Rate};

/// Distinguishes a changed path from a congested one.
pub(crate) trait PathChange: Clone + Debug + Send + Sync + 'static {
    /// Processes an acknowledgment.
    fn on_ack(&mut self, ack: &Ack) -> Observation;
}

/// The interpretation of one acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Observation {
    /// The round-trip sample for the congestion control: `None` if there is no sample, or while it
    /// may be an outlier or the first of a new path.
    pub rtt: Option<Duration>,
    /// The change of the path that it reveals.
    pub change: Option<Change>,
}

impl Observation {
    /// A sample, or none, of an unchanged path.
    pub fn sample(rtt: Option<Duration>) -> Self {
        Self { rtt, change: None }
    }

    /// The sample that reveals a new path.
    pub fn change(rtt: Duration, change: Change) -> Self {
        Self {
            rtt: Some(rtt),
            change: Some(change),
        }
    }
}

/// A change from one path to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    /// The round-trip time before.
    pub from: Duration,
    /// The round-trip time now.
    pub to: Duration,
    /// The maximum expected rate of the new path, if there is an estimate.
    pub rate: Option<Rate>,
}

impl Change {
    /// Whether the new path is longer.
    pub fn is_longer(&self) -> bool {
        self.to > self.from
    }
}
