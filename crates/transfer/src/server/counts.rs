//! What a server counts, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of a server.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub accepted: AtomicU64,
    pub replaced: AtomicU64,
    pub ignored: AtomicU64,
    pub sent_packets: AtomicU64,
    pub lost_packets: AtomicU64,
}

/// What a server has counted since its start, and its present connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Connections of clients that have not shown a token yet.
    pub strangers: usize,
    /// Connections of authenticated clients.
    pub clients: usize,
    /// Attempts to connect that were accepted.
    pub accepted: u64,
    /// Strangers that had to leave for others.
    pub replaced: u64,
    /// Attempts that were ignored, because too many wrong tokens came from their address.
    pub ignored: u64,
    /// Packets that connections sent which have ended.
    pub sent_packets: u64,
    /// Those of them that were lost.
    pub lost_packets: u64,
}

impl Counters {
    /// The counts, with the present connections.
    pub fn at(&self, strangers: usize, clients: usize) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            strangers,
            clients,
            accepted: read(&self.accepted),
            replaced: read(&self.replaced),
            ignored: read(&self.ignored),
            sent_packets: read(&self.sent_packets),
            lost_packets: read(&self.lost_packets),
        }
    }
}
