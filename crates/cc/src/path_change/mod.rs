//! Has the path itself changed? The seam for everything that answers, and what its answers are about.
//!
//! A round-trip time grows for two reasons: packets wait in a queue, or the path has become longer (a hand-over to a
//! satellite, or from one to the next). For the first a sender should slow down; for the second it needs a larger window,
//! and what it knows of the path is void. Implementations: `three_samples.rs`, which goes by how long a round trip takes,
//! and `rtt_step.rs`, which goes by how it came to take so long.

pub(crate) mod rtt_step;
pub(crate) mod three_samples;

use crate::interface::Ack;
use std::fmt::Debug;
use whimbrel_units::{Duration, Rate};

/// Tells a changed path from one that is merely busy.
pub(crate) trait PathChange: Clone + Debug + Send + Sync + 'static {
    /// Data was acknowledged.
    fn on_ack(&mut self, ack: &Ack) -> Heard;
}

/// What is to be made of one acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heard {
    /// The round-trip sample that a congestion control may hear of: none while it may be an outlier, or the first of a new
    /// path.
    pub rtt: Option<Duration>,
    /// The path has changed.
    pub change: Option<Change>,
}

impl Heard {
    /// Nothing happened but this sample.
    pub fn sample(rtt: Option<Duration>) -> Self {
        Self { rtt, change: None }
    }

    /// The sample that shows a new path.
    pub fn change(rtt: Duration, change: Change) -> Self {
        Self {
            rtt: Some(rtt),
            change: Some(change),
        }
    }
}

/// From which path to which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    /// Round-trip time before.
    pub from: Duration,
    /// Round-trip time now.
    pub to: Duration,
    /// What the new path is believed to carry at most, where something is known of that.
    pub rate: Option<Rate>,
}

impl Change {
    /// The new path is the longer one.
    pub fn is_longer(&self) -> bool {
        self.to > self.from
    }
}
