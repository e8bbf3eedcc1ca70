//! An observer of the packets that the path drops or corrupts.

use std::fmt::Debug;
use std::sync::Arc;
use whimbrel_net::{Counters, DropCause, Side};
use whimbrel_units::Time;

/// Is told of each packet that the path drops or corrupts. A path without an observer does no work
/// for it.
pub trait Observer: Debug + Send + Sync {
    /// The path has decided the fate of a packet on its way in the direction `side`
    /// ([`Side::Forward`]: from near to far), at the time `at` since the start of the path.
    /// `packet` is the IP packet as its sender sent it. Both directions call this from their own
    /// threads, and wait for it.
    fn lost(&self, at: Time, side: Side, packet: &[u8], cause: LossCause);

    /// Whether [`sent`](Self::sent) and [`arrived`](Self::arrived) do anything. Asked once.
    fn sees_packets(&self) -> bool {
        false
    }

    /// An end has sent this packet. By default does nothing.
    fn sent(&self, at: Time, side: Side, packet: &[u8]) {
        let _ = (at, side, packet);
    }

    /// The other end gets this packet. By default does nothing.
    fn arrived(&self, at: Time, side: Side, packet: &[u8]) {
        let _ = (at, side, packet);
    }

    /// The counters of a direction so far, and the packets in its queue. Called about ten times a
    /// second while packets pass, from the thread of the direction. By default does nothing.
    fn progress(&self, at: Time, side: Side, counters: &Counters, waiting: usize) {
        let _ = (at, side, counters, waiting);
    }
}

/// Several observers of one path.
#[derive(Debug)]
pub(crate) struct Observers(Vec<Arc<dyn Observer>>);

impl Observers {
    /// `None` without any.
    pub(crate) fn of(all: &[Arc<dyn Observer>]) -> Option<Self> {
        (!all.is_empty()).then(|| Self(all.to_vec()))
    }
}

impl Observer for Observers {
    fn lost(&self, at: Time, side: Side, packet: &[u8], cause: LossCause) {
        for observer in &self.0 {
            observer.lost(at, side, packet, cause);
        }
    }

    fn sees_packets(&self) -> bool {
        self.0.iter().any(|observer| observer.sees_packets())
    }

    fn sent(&self, at: Time, side: Side, packet: &[u8]) {
        for observer in &self.0 {
            observer.sent(at, side, packet);
        }
    }

    fn arrived(&self, at: Time, side: Side, packet: &[u8]) {
        for observer in &self.0 {
            observer.arrived(at, side, packet);
        }
    }

    fn progress(&self, at: Time, side: Side, counters: &Counters, waiting: usize) {
        for observer in &self.0 {
            observer.progress(at, side, counters, waiting);
        }
    }
}

/// Why a packet does not arrive intact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossCause {
    /// The link drops it.
    Dropped(DropCause),
    /// It arrives corrupted, and its checksum will not match.
    Corrupted,
}

impl LossCause {
    /// Whether a lower sending rate could have prevented the loss.
    pub const fn is_congestion(self) -> bool {
        matches!(self, Self::Dropped(cause) if cause.is_congestion())
    }
}
