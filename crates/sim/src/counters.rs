//! The counters of a sender, for any transport.

use crate::outcome::{Confusion, FlowOutcome, Truth};
use whimbrel_cc::connection::EpisodeCounts;
use whimbrel_cc::{LossResponse, Signal};
use whimbrel_units::Bytes;

/// The counters of a sender. They go into the outcome. The fields are in this order in memory:
/// those that each packet changes come first.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct SenderCounters {
    /// Data packets sent, retransmissions included.
    pub packets: u64,
    /// Size of all data packets on the wire in bytes.
    pub wire_bytes: u64,
    /// Data packets retransmitted.
    pub retransmits: u64,
    /// Timeouts, and episodes that the controller responded to.
    pub episodes: EpisodeCounts,
    confusion: Option<Confusion>,
}

impl SenderCounters {
    /// All zero; decisions are counted if the controller classifies losses.
    pub fn new(classifies_losses: bool) -> Self {
        Self {
            confusion: classifies_losses.then(Confusion::default),
            ..Self::default()
        }
    }

    /// Counts a response of the controller to a loss, and the truth about the loss.
    pub fn count_episode(&mut self, response: &LossResponse, truth: Truth) {
        self.episodes.count(Signal::Loss, response);
        if let Some(verdict) = response.verdict {
            let confusion = self.confusion.get_or_insert_default();
            confusion.count(truth, verdict, response.confidence);
        }
    }

    /// Adds all counters to the outcome of a flow.
    pub fn add_to(&self, outcome: &mut FlowOutcome) {
        outcome.sent_on_wire += Bytes::new(self.wire_bytes);
        outcome.packets_sent += self.packets;
        outcome.retransmits += self.retransmits;
        outcome.timeouts += self.episodes.timeouts;
        outcome.loss_episodes += self.episodes.episodes - self.episodes.marked;
        outcome.spurious += self.episodes.spurious;
        outcome.mark_episodes += self.episodes.marked;
        if let Some(confusion) = self.confusion {
            *outcome.discrimination.get_or_insert_default() += confusion;
        }
    }
}
