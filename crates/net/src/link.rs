//! One direction of a link at work.

use crate::channel::Channel;
use crate::outages::Outages;
use crate::schedule::Cursor;
use crate::service::Server;
use crate::spec::{DropCause, LinkSpec, QueueLimit};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use whimbrel_units::{Bytes, Duration, Time};

/// What becomes of a packet that was offered to a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It comes out at the far end.
    Delivered {
        /// When its last bit arrives. [`Time::MAX`] is never: the rate fell to zero for good.
        at: Time,
        /// Some of its bits were changed on the way.
        corrupted: bool,
    },
    /// It does not.
    Dropped(DropCause),
}

/// What waits in a link's queue at an instant, the packet in service not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// How many packets.
    pub packets: u32,
    /// Their size.
    pub bytes: Bytes,
}

/// What a link did so far. Every offered packet is counted in exactly one of delivered,
/// `queue_overflow`, `random`, `outage`, `contention`; on a Wi-Fi link, once it has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Packets offered.
    pub offered: u64,
    /// Packets that came or will come out, corrupted ones included.
    pub delivered: u64,
    /// Size of the delivered packets.
    pub delivered_bytes: Bytes,
    /// Size of all packets that were served, those lost on the channel included.
    pub served_bytes: Bytes,
    /// Packets dropped because the queue was full.
    pub queue_overflow: u64,
    /// Packets lost at random, singly or in bursts.
    pub random: u64,
    /// Packets lost in outages.
    pub outage: u64,
    /// Packets given up because they collided as often as they may be sent; only on a Wi-Fi link.
    pub contention: u64,
    /// Delivered packets that were corrupted.
    pub corrupted: u64,
    /// Time that served packets waited before their service began, added up.
    pub waited: Duration,
    /// The longest such wait.
    pub longest_wait: Duration,
    /// The most packets that ever waited at once.
    pub most_waiting: u32,
    /// Time during which the link was not empty: a packet was in service or, on a trace, waited for its
    /// opportunity.
    pub busy: Duration,
}

impl Counters {
    #[inline]
    pub(crate) fn count_delivered(&mut self, size: u32, corrupted: bool) {
        self.delivered += 1;
        self.delivered_bytes = self.delivered_bytes.saturating_add(Bytes::new(size.into()));
        self.corrupted += u64::from(corrupted);
    }

    #[inline]
    pub(crate) fn count_served(&mut self, size: u32) {
        self.served_bytes = self.served_bytes.saturating_add(Bytes::new(size.into()));
    }

    #[inline]
    pub(crate) fn count_wait(&mut self, wait: Duration) {
        self.waited = self.waited.saturating_add(wait);
        self.longest_wait = self.longest_wait.max(wait);
    }
}

/// One direction of a link. Packets must be offered in order of time.
#[derive(Debug, Clone)]
pub struct Link {
    server: Server,
    delay: Cursor<Duration>,
    queue: QueueLimit,
    channel: Channel,
    outages: Outages,
    /// When each waiting packet's service begins, and its size.
    waiting: VecDeque<(Time, u32)>,
    waiting_bytes: u64,
    counters: Counters,
}

impl Link {
    /// A link at rest. `seed` decides every random event on it.
    pub fn new(spec: &LinkSpec, seed: u64) -> Self {
        Self {
            server: Server::new(&spec.service),
            delay: Cursor::new(spec.delay.clone()),
            queue: spec.queue,
            channel: Channel::new(&spec.loss, Xoshiro256PlusPlus::seed_from_u64(seed)),
            outages: Outages::new(spec.loss.outages.clone()),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            counters: Counters::default(),
        }
    }

    /// Offers a packet of `size` bytes, headers included, at `now`, which never goes back.
    #[inline]
    pub fn offer(&mut self, now: Time, size: u32) -> Fate {
        self.counters.offered += 1;
        self.leave_queue(now);
        if self.server.free_at() > now && !self.has_room(size) {
            self.counters.queue_overflow += 1;
            return Fate::Dropped(DropCause::QueueOverflow);
        }
        let last_end = self.server.free_at();
        let served = self.server.serve(now, size);
        if served.begins > now {
            self.waiting.push_back((served.begins, size));
            self.waiting_bytes += u64::from(size);
            self.counters.count_wait(served.begins.since(now));
            self.counters.most_waiting = self.counters.most_waiting.max(self.waiting.len() as u32);
        }
        self.counters.busy += served.ends.since(last_end.max(now));
        self.counters.count_served(size);
        let passage = self.channel.pass(served.ends);
        if self.outages.cover(served.ends) {
            self.counters.outage += 1;
            Fate::Dropped(DropCause::Outage)
        } else if passage.lost {
            self.counters.random += 1;
            Fate::Dropped(DropCause::Random)
        } else {
            self.counters.count_delivered(size, passage.corrupted);
            Fate::Delivered {
                at: served.ends + self.delay.at(served.ends),
                corrupted: passage.corrupted,
            }
        }
    }

    /// What waits at `now`, which is not earlier than the last offer.
    pub fn backlog(&mut self, now: Time) -> Backlog {
        self.leave_queue(now);
        Backlog {
            packets: self.waiting.len() as u32,
            bytes: Bytes::new(self.waiting_bytes),
        }
    }

    /// What the link did so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How much of the service that is already decided lies after `now`.
    pub fn busy_beyond(&self, now: Time) -> Duration {
        self.server.free_at().since(now)
    }

    /// Whether packets come out in the order in which they were offered, whatever the times.
    pub fn keeps_order(&self) -> bool {
        self.delay.is_constant()
    }

    #[inline]
    fn leave_queue(&mut self, now: Time) {
        while let Some((begins, size)) = self.waiting.front() {
            if *begins > now {
                break;
            }
            self.waiting_bytes -= u64::from(*size);
            self.waiting.pop_front();
        }
    }

    #[inline]
    fn has_room(&self, size: u32) -> bool {
        self.queue
            .has_room(self.waiting.len(), self.waiting_bytes, size)
    }
}
