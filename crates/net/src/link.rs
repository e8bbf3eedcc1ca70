//! One direction of a link at work.

use crate::aqm::{Arrival, Early, Verdict};
use crate::exit::Exit;
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
        /// The first of its bits that was changed on the way, from 0, if any was. There may be more behind it.
        corrupted: Option<u32>,
        /// The queue marked it: it met congestion (CE of RFC 3168). Only if it was offered as one that may be marked.
        marked: bool,
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

/// What a link did so far. Every offered packet is counted in exactly one of delivered, `queue_overflow`, `early`, `random`,
/// `outage`, `contention`; on a Wi-Fi link and on one with CoDel, once it has left the queue.
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
    /// Packets that the queue dropped before it was full.
    pub early: u64,
    /// Packets lost at random, singly or in bursts.
    pub random: u64,
    /// Packets lost in outages.
    pub outage: u64,
    /// Packets given up because they collided as often as they may be sent; only on a Wi-Fi link.
    pub contention: u64,
    /// Delivered packets that were corrupted.
    pub corrupted: u64,
    /// Delivered packets that the queue had marked.
    pub marked: u64,
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
    /// Packets that the queue did not drop: served, in service or waiting.
    pub fn admitted(&self) -> u64 {
        self.offered
            .saturating_sub(self.queue_overflow)
            .saturating_sub(self.early)
    }

    #[inline]
    pub(crate) fn count_delivered(&mut self, size: u32, corrupted: bool, marked: bool) {
        self.delivered += 1;
        self.delivered_bytes = self.delivered_bytes.saturating_add(Bytes::new(size.into()));
        if corrupted {
            self.corrupted += 1;
        }
        if marked {
            self.marked += 1;
        }
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

/// One direction of a link. Packets must be offered in order of time. Its queue may be managed by what judges packets when
/// they arrive; for CoDel there is [`CodelLink`](crate::CodelLink).
#[derive(Debug, Clone)]
pub struct Link {
    server: Server,
    exit: Exit,
    queue: QueueLimit,
    /// What judges packets before the queue is full, if anything does.
    early: Option<Box<Early>>,
    /// When each waiting packet's service begins, and its size.
    waiting: VecDeque<(Time, u32)>,
    waiting_bytes: u64,
    counters: Counters,
}

impl Link {
    /// A link at rest. `seed` decides every random event on it.
    pub fn new(spec: &LinkSpec, seed: u64) -> Self {
        // 2^192 draws ahead of the channel's: they never meet.
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed);
        draws.long_jump();
        Self {
            server: Server::new(&spec.service, seed),
            exit: Exit::new(spec, seed),
            queue: spec.queue,
            early: Early::new(spec.aqm, draws),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            counters: Counters::default(),
        }
    }

    /// Offers a packet of `size` bytes, headers included, at `now`, which never goes back. `ect`: it may be marked (RFC
    /// 3168).
    ///
    /// Every packet of a simulation passes this on every link. It is inlined, with all that each packet passes below it, wherever
    /// it is called: a second caller would else cost a simulation 4 %.
    #[inline(always)]
    pub fn offer(&mut self, now: Time, size: u32, ect: bool) -> Fate {
        self.counters.offered += 1;
        self.leave_queue(now);
        let room = self.server.free_at() <= now || self.has_room(size);
        let verdict = match &self.early {
            None => Verdict::Pass,
            Some(_) => self.judge(now, size, ect, room),
        };
        if !room {
            self.counters.queue_overflow += 1;
            return Fate::Dropped(DropCause::QueueOverflow);
        }
        if verdict == Verdict::Drop {
            self.counters.early += 1;
            return Fate::Dropped(DropCause::Early);
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
        let marked = verdict == Verdict::Mark;
        self.exit.pass(served, size, marked, &mut self.counters)
    }

    #[inline(never)]
    fn judge(&mut self, now: Time, size: u32, ect: bool, room: bool) -> Verdict {
        let arrival = Arrival {
            size,
            ect,
            packets: self.waiting.len(),
            bytes: self.waiting_bytes,
            idle: now.since(self.server.free_at()),
        };
        self.early
            .as_mut()
            .map_or(Verdict::Pass, |early| early.arrive(&arrival, room))
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
        self.exit.keeps_order()
    }

    #[inline(always)]
    fn leave_queue(&mut self, now: Time) {
        while let Some((begins, size)) = self.waiting.front() {
            if *begins > now {
                break;
            }
            self.waiting_bytes -= u64::from(*size);
            self.waiting.pop_front();
            if self.waiting.is_empty() {
                // From the start again: a queue that is short stays in the same few cache lines.
                self.waiting.clear();
            }
        }
    }

    #[inline]
    fn has_room(&self, size: u32) -> bool {
        self.queue
            .has_room(self.waiting.len(), self.waiting_bytes, size)
    }
}
