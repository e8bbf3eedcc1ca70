//! The oracle: which mistakes of a loss classifier are corrected with the truth.

use crate::outcome::Truth;
use whimbrel_cc::Verdict;

/// For which losses the loss classifier of a controller is given the truth instead of deciding for
/// itself. A run with the mistakes of one kind corrected shows what these mistakes cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Oracle {
    /// None, as on a real network.
    Nothing,
    /// Losses that the link caused: no random loss is mistaken for congestion.
    Random,
    /// Losses that a queue caused: no congestion is mistaken for random loss.
    Congestion,
    /// All losses.
    Everything,
}

impl Oracle {
    /// The verdict that it gives on a loss with this true cause; `None`: the classifier decides.
    pub(crate) fn verdict(self, truth: Truth) -> Option<Verdict> {
        match (self, truth) {
            (Self::Random | Self::Everything, Truth::Random) => Some(Verdict::Random),
            (Self::Congestion | Self::Everything, Truth::Congestion) => Some(Verdict::Congestion),
            _ => None,
        }
    }
}
