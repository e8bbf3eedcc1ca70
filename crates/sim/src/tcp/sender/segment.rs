//! One segment that was sent, and not yet acknowledged.

use crate::outcome::Truth;
use whimbrel_cc::delivery_rate::Tag;
use whimbrel_net::DropCause;
use whimbrel_units::Time;

/// One segment that was sent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Segment {
    /// When it was last sent.
    pub sent: Time,
    /// The state of the delivery rate estimator when it was last sent.
    pub tag: Tag,
    /// Sequence number of its last transmission among all transmissions.
    pub transmission: u32,
    /// The receiver has it out of order.
    pub sacked: bool,
    /// Marked lost, and not retransmitted since.
    pub lost: bool,
    /// Whether and why it was retransmitted.
    pub again: Again,
    /// The true cause if its last transmission was dropped. The sender's algorithms never use it.
    pub dropped: Option<DropCause>,
}

/// Whether a segment was retransmitted, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Again {
    /// It was sent once.
    #[default]
    Once,
    /// The last retransmission was for a loss, or was a probe.
    Retransmitted,
    /// It was NACKed, and is retransmitted for that reason only; with the true cause of what was
    /// NACKed.
    Nacked(Truth),
}

impl Segment {
    /// It was retransmitted, or is about to be.
    #[inline]
    pub fn retransmitted(&self) -> bool {
        !matches!(self.again, Again::Once)
    }

    /// It was sent once, and is neither SACKed nor marked lost.
    #[inline]
    pub fn is_untouched(&self) -> bool {
        !(self.sacked | self.lost | self.retransmitted())
    }

    /// This transmission is its last one, and is neither SACKed nor marked lost.
    #[inline]
    pub fn waits(&self, transmission: u32) -> bool {
        self.transmission == transmission && !self.sacked && !self.lost
    }

    /// The true cause for the NACKed transmission; `None`: it was not NACKed.
    #[inline]
    pub fn nacked(&self) -> Option<Truth> {
        match self.again {
            Again::Nacked(truth) => Some(truth),
            Again::Once | Again::Retransmitted => None,
        }
    }
}

// There is one for every packet of a window; the speed of a simulation depends on this size.
const _: () = assert!(size_of::<Segment>() == 48);
