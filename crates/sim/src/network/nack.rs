//! Negative acknowledgments (NACKs) for corrupted segments.

use whimbrel_units::Duration;

/// What is done about segments that arrive corrupted, but with readable headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nack {
    /// The checksum rejects them, and the sender sees them as lost.
    Off,
    /// The receiver answers with a negative acknowledgment, and the sender retransmits at once. The
    /// hole in the sequence space begins no recovery.
    On,
    /// As [`Self::On`], but duplicate acknowledgments for the hole begin a recovery as usual.
    Unsuppressed,
}

/// Negative acknowledgments that an attacker near the receiver sends in its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgedNacks {
    /// Time from one forged NACK to the next; greater than zero.
    pub interval: Duration,
    /// Which segments they name.
    pub sequences: Sequences,
}

/// Which segments forged negative acknowledgments name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sequences {
    /// Any sequence number: the attacker sees nothing.
    Random,
    /// Any segment between the last acknowledgment and the newest data that passed: the attacker
    /// sees the traffic.
    InWindow,
    /// The segment that the receiver's own last NACK named: a copy of that NACK.
    Replayed,
}
