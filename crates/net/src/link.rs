//! One direction of a link.

use crate::aqm::{AqmDecision, Arrival, Early};
use crate::exit::Exit;
use crate::ring::Ring;
use crate::service::Server;
use crate::spec::{DropCause, LinkSpec, QueueLimit};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
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
/// Those that every packet changes come first: they share a cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C, align(64))]
pub struct Counters {
    /// Packets offered.
    pub offered: u64,
    /// Packets delivered, or to be delivered, corrupted ones included.
    pub delivered: u64,
    /// Size of the delivered packets.
    pub delivered_bytes: Bytes,
    /// Size of all packets served, those lost in transit included.
    pub served_bytes: Bytes,
    /// Sum of the times that served packets waited before their service began.
    pub waited: Duration,
    /// The longest such wait.
    pub longest_wait: Duration,
    /// Time during which a packet was in service or, on a trace, waited for its opportunity.
    pub busy: Duration,
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

/// One direction of a link. Packets must be offered in order of time. Its queue can have management
/// that decides when packets arrive; for CoDel use [`CodelLink`](crate::CodelLink).
#[derive(Debug, Clone)]
pub struct Link {
    counters: Counters,
    server: Server,
    /// When each waiting packet's service begins, and its size.
    waiting: Ring<(Time, u32)>,
    waiting_bytes: u64,
    queue: QueueLimit,
    /// Queue management, if any.
    early: Option<Box<Early>>,
    exit: Exit,
}

impl Link {
    /// An idle link. `seed` decides every random event on it.
    pub fn new(spec: &LinkSpec, seed: u64) -> Self {
        // Begins 2^192 draws after the stream of the impairments: they never overlap.
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed);
        draws.long_jump();
        Self {
            server: Server::new(&spec.service, seed),
            exit: Exit::new(spec, seed),
            queue: spec.queue,
            early: Early::new(spec.aqm, draws),
            waiting: Ring::default(),
            waiting_bytes: 0,
            counters: Counters::default(),
        }
    }

    /// Offers a packet of `size` bytes, headers included, at `now`, which never goes back. `ect`:
    /// the packet may be marked (RFC 3168).
    ///
    /// A simulation calls this for every packet on every link. It is always inlined, with all
    /// common code below it: otherwise a second caller would cost a simulation 4 %.
    #[inline(always)]
    pub fn offer(&mut self, now: Time, size: u32, ect: bool) -> Fate {
        self.counters.offered += 1;
        self.leave_queue(now);
        let room = self.server.free_at() <= now || self.has_room(size);
        let verdict = match &self.early {
            None => AqmDecision::Pass,
            Some(_) => self.judge(now, size, ect, room),
        };
        if !room {
            self.counters.queue_overflow += 1;
            return Fate::Dropped(DropCause::QueueOverflow);
        }
        if verdict == AqmDecision::Drop {
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
        let marked = verdict == AqmDecision::Mark;
        let on_air = self.server.on_air();
        self.exit
            .pass(served, on_air, size, marked, &mut self.counters)
    }

    #[inline(never)]
    fn judge(&mut self, now: Time, size: u32, ect: bool, room: bool) -> AqmDecision {
        let arrival = Arrival {
            now,
            size,
            ect,
            packets: self.waiting.len(),
            bytes: self.waiting_bytes,
            idle: now.since(self.server.free_at()),
        };
        self.early
            .as_mut()
            .map_or(AqmDecision::Pass, |early| early.arrive(&arrival, room))
    }

    /// The queue at `now`, which is not earlier than the last offer.
    pub fn backlog(&mut self, now: Time) -> Backlog {
        self.leave_queue(now);
        Backlog {
            packets: self.waiting.len() as u32,
            bytes: Bytes::new(self.waiting_bytes),
        }
    }

    /// The counters so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How much of the service decided so far lies after `now`.
    pub fn busy_beyond(&self, now: Time) -> Duration {
        self.server.free_at().since(now)
    }

    /// Whether packets always come out in the order in which they were offered.
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
        }
    }

    #[inline]
    fn has_room(&self, size: u32) -> bool {
        self.queue
            .has_room(self.waiting.len(), self.waiting_bytes, size)
    }
}

// A packet passes several links, and a run has many. The speed of a simulation depends on this
// size.
const _: () = assert!(size_of::<Link>() <= 320);
