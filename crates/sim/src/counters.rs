//! What a sender counts for the outcome, whatever its transport.

use crate::outcome::{Confusion, FlowOutcome, Truth};
use whimbrel_cc::{Controller, LossResponse};
use whimbrel_units::Bytes;

/// What a sender counts for the outcome.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SenderCounters {
    /// Data packets, retransmissions included, and their size on the wire.
    pub packets: u64,
    pub wire_bytes: u64,
    pub retransmits: u64,
    pub timeouts: u64,
    /// Losses that the controller was asked about.
    pub episodes: u64,
    pub spurious: u64,
    /// Marks that the controller was asked about.
    pub mark_episodes: u64,
    confusion: Option<Confusion>,
}

impl SenderCounters {
    /// Nothing yet, under this controller.
    pub fn new(controller: &dyn Controller) -> Self {
        Self {
            confusion: controller.classifies_losses().then(Confusion::default),
            ..Self::default()
        }
    }

    /// The controller answered for a loss, of which this is the truth.
    pub fn count_episode(&mut self, response: &LossResponse, truth: Truth) {
        self.episodes += 1;
        if let Some(verdict) = response.verdict {
            self.confusion.get_or_insert_default().count(truth, verdict);
        }
    }

    /// Adds all of it to a flow's outcome.
    pub fn add_to(&self, outcome: &mut FlowOutcome) {
        outcome.sent_on_wire += Bytes::new(self.wire_bytes);
        outcome.packets_sent += self.packets;
        outcome.retransmits += self.retransmits;
        outcome.timeouts += self.timeouts;
        outcome.loss_episodes += self.episodes;
        outcome.spurious += self.spurious;
        outcome.mark_episodes += self.mark_episodes;
        if let Some(confusion) = self.confusion {
            *outcome.discrimination.get_or_insert_default() += confusion;
        }
    }
}
