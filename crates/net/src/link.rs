//! One direction of a link.

use crate::aqm::{AqmDecision, Arrival, Early};
use crate::counters::{Backlog, Counters, Fate};
use crate::exit::Exit;
use crate::ring::Ring;
use crate::service::Server;
use crate::spec::{DropCause, LinkSpec, QueueLimit};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::mem::offset_of;
use whimbrel_units::{Bytes, Duration, Time};

/// One direction of a link. Packets must be offered in order of time. Its queue can have management
/// that decides when packets arrive; for CoDel use [`CodelLink`](crate::CodelLink).
///
/// The fields are in this order in memory, in cache lines: a packet that passes a plain link
/// without waiting needs only the one from `Exit`'s delay to `Server`'s time for a byte; one
/// that waits needs also the one before it and the first one.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Link {
    /// Of all packets but those in `passed`.
    counters: Counters,
    /// Queue management, if any.
    early: Option<Box<Early>>,
    /// When each waiting packet's service begins, and its size. Packets whose service has begun are
    /// removed when it matters: [`Self::leave_queue`].
    waiting: Ring<(Time, u32)>,
    waiting_bytes: u64,
    /// The two limits of the [`QueueLimit`]. One of them is never reached.
    limit_bytes: u64,
    limit_packets: u32,
    plain: bool,
    exit: Exit,
    passed: Passed,
    server: Server,
}

/// The packets that a plain link delivered, which are nearly all packets of a run. All that
/// [`Counters`] says of them follows from this.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Passed {
    packets: u64,
    bytes: u64,
}

impl Link {
    /// An idle link. `seed` decides every random event on it.
    pub fn new(spec: &LinkSpec, seed: u64) -> Self {
        // Begins 2^192 draws after the stream of the impairments: they never overlap.
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed);
        draws.long_jump();
        let server = Server::new(&spec.service, seed);
        let exit = Exit::new(spec, seed);
        let early = Early::new(spec.aqm, draws);
        let (limit_packets, limit_bytes) = match spec.queue {
            QueueLimit::Unlimited => (u32::MAX, u64::MAX),
            QueueLimit::Packets(packets) => (packets, u64::MAX),
            QueueLimit::Bytes(bytes) => (u32::MAX, bytes.get()),
        };
        Self {
            plain: early.is_none() && server.is_constant() && exit.is_plain(),
            server,
            exit,
            limit_bytes,
            limit_packets,
            early,
            waiting: Ring::default(),
            waiting_bytes: 0,
            counters: Counters::default(),
            passed: Passed::default(),
        }
    }

    /// Whether its rate and its delay are constant, its queue has no management, and independent
    /// random loss is its only impairment. Most links of most scenarios are plain.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Offers a packet of `size` bytes, headers included, at `now`, which never goes back. `ect`:
    /// the packet may be marked (RFC 3168).
    #[inline]
    pub fn offer(&mut self, now: Time, size: u32, ect: bool) -> Fate {
        if !self.plain {
            return self.offer_any(now, size, ect);
        }
        match self.offer_plain(now, size) {
            Err(cause) => Fate::Dropped(cause),
            Ok(at) => Fate::Delivered {
                at,
                corrupted: None,
                marked: false,
            },
        }
    }

    /// [`Self::offer`] on a link that [is plain](Self::is_plain): when the packet comes out, or why
    /// not.
    ///
    /// A simulation calls this for nearly every packet on every link. It is always inlined, with
    /// all common code below it.
    #[inline(always)]
    pub fn offer_plain(&mut self, now: Time, size: u32) -> Result<Time, DropCause> {
        debug_assert!(self.plain);
        let free_at = self.server.free_at();
        if free_at > now {
            // The packets that have left the queue are removed many at a time, when they could
            // make a difference.
            let longest = self.waiting.len() >= self.counters.most_waiting as usize;
            if longest || !self.has_room(size) {
                self.leave_queue(now);
                if !self.has_room(size) {
                    self.counters.offered += 1;
                    self.counters.queue_overflow += 1;
                    return Err(DropCause::QueueOverflow);
                }
                self.counters.count_waiting(self.waiting.len() + 1);
            }
            self.wait(now, free_at, size);
        }
        let served = self.server.serve_constant(now, size);
        let Some(at) = self.exit.pass_plain(served.ends) else {
            self.counters.offered += 1;
            self.counters.count_served(size);
            self.counters.busy += served.length();
            self.counters.random += 1;
            return Err(DropCause::Random);
        };
        self.passed.packets += 1;
        self.passed.bytes += u64::from(size);
        // Whole nanoseconds for each byte follow from the bytes.
        if self.server.per_byte == 0 {
            self.counters.busy += served.length();
        }
        Ok(at)
    }

    /// [`Self::offer`] on any link.
    fn offer_any(&mut self, now: Time, size: u32, ect: bool) -> Fate {
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
            self.wait(now, served.begins, size);
            self.counters.count_waiting(self.waiting.len());
        }
        self.counters.busy += served.ends.since(last_end.max(now));
        let marked = verdict == AqmDecision::Mark;
        let on_air = self.server.on_air();
        self.exit
            .pass(served, on_air, size, marked, &mut self.counters)
    }

    /// A packet waits from `now` until its service begins.
    #[inline(always)]
    fn wait(&mut self, now: Time, begins: Time, size: u32) {
        self.waiting.push_back((begins, size));
        self.waiting_bytes += u64::from(size);
        // It waits, so `begins` is later: nothing is compared.
        let wait = begins.as_nanos() - now.as_nanos();
        self.counters.count_wait(Duration::from_nanos(wait));
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
    pub fn counters(&self) -> Counters {
        let Passed { packets, bytes } = self.passed;
        let busy = bytes.saturating_mul(self.server.per_byte);
        Counters {
            offered: self.counters.offered + packets,
            delivered: self.counters.delivered + packets,
            delivered_bytes: self.counters.delivered_bytes + Bytes::new(bytes),
            served_bytes: self.counters.served_bytes + Bytes::new(bytes),
            busy: self
                .counters
                .busy
                .saturating_add(Duration::from_nanos(busy)),
            ..self.counters
        }
    }

    /// How much of the service decided so far lies after `now`.
    pub fn busy_beyond(&self, now: Time) -> Duration {
        self.server.free_at().since(now)
    }

    /// Whether packets always come out in the order in which they were offered.
    pub fn keeps_order(&self) -> bool {
        self.exit.keeps_order()
    }

    /// Removes the packets whose service has begun from the queue.
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

    /// Whether a packet of this size may join the queue.
    #[inline]
    fn has_room(&self, size: u32) -> bool {
        self.waiting.len() < self.limit_packets as usize
            && self.waiting_bytes + u64::from(size) <= self.limit_bytes
    }
}

// A packet passes several links, and a run has many. The speed of a simulation depends on this
// size, and on the cache lines that a packet needs.
const _: () = assert!(size_of::<Link>() <= 320);
const _: () = assert!(offset_of!(Link, waiting) == 128);
const _: () = assert!(offset_of!(Link, exit.delay.constant) == 192);
const _: () = assert!(offset_of!(Link, server.per_byte) == 248);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{LossSpec, ServiceSpec};
    use crate::{Delay, Schedule};
    use proptest::prelude::*;
    use whimbrel_units::{Probability, Rate};

    fn limits() -> impl Strategy<Value = QueueLimit> {
        prop_oneof![
            Just(QueueLimit::Unlimited),
            (0u32..6).prop_map(QueueLimit::Packets),
            (0u64..6000).prop_map(|bytes| QueueLimit::Bytes(Bytes::new(bytes))),
        ]
    }

    fn services() -> impl Strategy<Value = ServiceSpec> {
        // Bytes take whole nanoseconds at the first three rates, and not at the others.
        let rates = [8u64, 1_000_000, 8_000_000_000, 3, 0, 3_000_000, 7_777_777];
        let rated = prop::sample::select(rates.to_vec())
            .prop_map(|rate| Schedule::constant(Rate::from_bits_per_sec(rate)));
        prop_oneof![
            1 => Just(ServiceSpec::Unlimited),
            6 => rated.prop_map(ServiceSpec::Rate),
        ]
    }

    proptest! {
        #[test]
        fn a_plain_link_does_what_any_link_does(
            service in services(),
            queue in limits(),
            loss in prop::sample::select(vec![0.0, 0.1, 1.0]),
            packets in prop::collection::vec((0u64..9_000_000, 40u32..1500), 1..200),
            looks in prop::collection::vec(any::<bool>(), 200),
        ) {
            let spec = LinkSpec {
                service,
                queue,
                delay: Delay::constant(Duration::from_millis(3)),
                loss: LossSpec {
                    random: Probability::new(loss).expect("a probability"),
                    ..LossSpec::default()
                },
                ..LinkSpec::default()
            };
            let (mut plain, mut any) = (Link::new(&spec, 1), Link::new(&spec, 1));
            prop_assert!(plain.is_plain());
            let mut now = Time::ZERO;
            for ((gap, size), look) in packets.into_iter().zip(looks) {
                now += Duration::from_nanos(gap);
                prop_assert_eq!(plain.offer(now, size, false), any.offer_any(now, size, false));
                if look {
                    prop_assert_eq!(plain.backlog(now), any.backlog(now));
                }
                prop_assert_eq!(plain.counters(), any.counters());
                prop_assert_eq!(plain.busy_beyond(now), any.busy_beyond(now));
            }
        }
    }
}
