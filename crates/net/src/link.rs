//! One direction of a link at work.

use crate::schedule::Cursor;
use crate::service::Server;
use crate::spec::{DropCause, LinkSpec, Outage, QueueLimit};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use whimbrel_units::{Bytes, Duration, Probability, Time};

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

/// What a link did so far. Every offered packet is counted in exactly one of delivered, `queue_overflow`, `random`, `outage`.
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
    /// Packets lost at random.
    pub random: u64,
    /// Packets lost in outages.
    pub outage: u64,
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

/// One direction of a link. Packets must be offered in order of time.
#[derive(Debug, Clone)]
pub struct Link {
    server: Server,
    delay: Cursor<Duration>,
    queue: QueueLimit,
    loss: Channel,
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
            loss: Channel::new(spec, seed),
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
            let wait = served.begins.since(now);
            self.counters.waited = self.counters.waited.saturating_add(wait);
            self.counters.longest_wait = self.counters.longest_wait.max(wait);
            self.counters.most_waiting = self.counters.most_waiting.max(self.waiting.len() as u32);
        }
        self.counters.busy += served.ends.since(last_end.max(now));
        let bytes = Bytes::new(u64::from(size));
        self.counters.served_bytes = self.counters.served_bytes.saturating_add(bytes);
        match self.loss.fate(served.ends) {
            ChannelFate::Lost(cause) => {
                match cause {
                    DropCause::Outage => self.counters.outage += 1,
                    _ => self.counters.random += 1,
                }
                Fate::Dropped(cause)
            }
            ChannelFate::Arrives { corrupted } => {
                self.counters.delivered += 1;
                self.counters.delivered_bytes = self.counters.delivered_bytes.saturating_add(bytes);
                self.counters.corrupted += u64::from(corrupted);
                Fate::Delivered {
                    at: served.ends + self.delay.at(served.ends),
                    corrupted,
                }
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
        match self.queue {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => self.waiting.len() < limit as usize,
            QueueLimit::Bytes(limit) => self.waiting_bytes + u64::from(size) <= limit.get(),
        }
    }
}

/// Outages, random loss and corruption.
///
/// Each served packet has its own draw for loss and for corruption, from two generators: the same seed
/// loses the same packets whatever else is switched on.
#[derive(Debug, Clone)]
struct Channel {
    /// In order of their beginning.
    outages: VecDeque<Outage>,
    random: Chance,
    corrupt: Chance,
}

enum ChannelFate {
    Arrives { corrupted: bool },
    Lost(DropCause),
}

impl Channel {
    fn new(spec: &LinkSpec, seed: u64) -> Self {
        let mut outages = spec.loss.outages.clone();
        outages.sort_by_key(|o| o.from);
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut other = rng.clone();
        // 2^128 draws ahead: they never meet.
        other.jump();
        Self {
            outages: outages.into(),
            random: Chance {
                threshold: threshold(spec.loss.random),
                rng,
            },
            corrupt: Chance {
                threshold: threshold(spec.loss.corrupt),
                rng: other,
            },
        }
    }

    #[inline]
    fn fate(&mut self, at: Time) -> ChannelFate {
        let lost = self.random.happens();
        let corrupted = self.corrupt.happens();
        while self.outages.front().is_some_and(|o| o.to <= at) {
            self.outages.pop_front();
        }
        if self.outages.front().is_some_and(|o| o.from <= at) {
            ChannelFate::Lost(DropCause::Outage)
        } else if lost {
            ChannelFate::Lost(DropCause::Random)
        } else {
            ChannelFate::Arrives { corrupted }
        }
    }
}

/// Something that happens to a packet with a set probability.
#[derive(Debug, Clone)]
struct Chance {
    /// The probability as a threshold for 64 random bits; `u64::MAX` is certainty.
    threshold: u64,
    rng: Xoshiro256PlusPlus,
}

impl Chance {
    #[inline]
    fn happens(&mut self) -> bool {
        match self.threshold {
            0 => false,
            u64::MAX => true,
            threshold => self.rng.random::<u64>() < threshold,
        }
    }
}

fn threshold(p: Probability) -> u64 {
    // 2^64 as f64; the cast saturates, so certainty becomes u64::MAX.
    (p.get() * 18_446_744_073_709_551_616.0) as u64
}
