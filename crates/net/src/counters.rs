//! What links report: the fate of a packet, the queue, and counters.

use crate::spec::DropCause;
use whimbrel_units::{Bytes, Duration, Time};

/// The fate of a packet that was offered to a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It comes out at the far end.
    Delivered {
        /// When its last bit arrives. [`Time::MAX`] means never: the rate stays zero for ever.
        at: Time,
        /// The first changed bit, counted from 0, if the packet was corrupted. Later bits may be
        /// changed too.
        corrupted: Option<u32>,
        /// The queue marked it for congestion (CE of RFC 3168). Only packets offered as ECN-capable
        /// are marked.
        marked: bool,
    },
    /// It is lost.
    Dropped(DropCause),
}

/// The packets in a link's queue at an instant, without the one in service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Number of packets.
    pub packets: u32,
    /// Their size together.
    pub bytes: Bytes,
}

/// The counters of a link. Every offered packet is counted in exactly one of `delivered`,
/// `queue_overflow`, `early`, `random`, `outage` and `contention`; on a Wi-Fi link and on a link
/// with CoDel, once it has left the queue.
///
/// Those that every packet may change come first, in the same order in memory: they share a cache
/// line. No two that change together are neighbors: the compiler would add them as a vector, which
/// takes longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Counters {
    /// Packets offered.
    pub offered: u64,
    /// Size of the delivered packets.
    pub delivered_bytes: Bytes,
    /// Time during which a packet was in service or, on a trace, waited for its opportunity.
    pub busy: Duration,
    /// Packets delivered, or to be delivered, corrupted ones included.
    pub delivered: u64,
    /// Size of all packets served, those lost in transit included.
    pub served_bytes: Bytes,
    /// Sum of the times that served packets waited before their service began.
    pub waited: Duration,
    /// The longest such wait.
    pub longest_wait: Duration,
    /// The maximum number of packets waiting at once.
    pub most_waiting: u32,
    /// Packets dropped because the queue was full.
    pub queue_overflow: u64,
    /// Packets that queue management dropped before the queue was full.
    pub early: u64,
    /// Packets lost at random, singly or in bursts.
    pub random: u64,
    /// Packets lost in outages.
    pub outage: u64,
    /// Packets given up after collisions in all permitted attempts; only on a Wi-Fi link.
    pub contention: u64,
    /// Delivered packets that were corrupted.
    pub corrupted: u64,
    /// Delivered packets that the queue had marked.
    pub marked: u64,
}

impl Counters {
    /// Packets that the queue did not drop: served, in service or waiting.
    pub fn admitted(&self) -> u64 {
        self.offered
            .saturating_sub(self.queue_overflow)
            .saturating_sub(self.early)
    }

    #[inline]
    pub(crate) fn count_delivered(&mut self, size: u32, corrupted: bool, marked: bool) {
        self.delivered += 1;
        self.delivered_bytes += Bytes::new(size.into());
        if corrupted {
            self.corrupted += 1;
        }
        if marked {
            self.marked += 1;
        }
    }

    #[inline]
    pub(crate) fn count_served(&mut self, size: u32) {
        self.served_bytes += Bytes::new(size.into());
    }

    #[inline]
    pub(crate) fn count_waiting(&mut self, packets: usize) {
        self.most_waiting = self.most_waiting.max(packets as u32);
    }

    #[inline]
    pub(crate) fn count_wait(&mut self, wait: Duration) {
        self.waited = self.waited.saturating_add(wait);
        self.longest_wait = self.longest_wait.max(wait);
    }
}
