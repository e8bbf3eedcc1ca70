//! One direction of a link whose queue is managed by FQ-CoDel: a queue for each flow, served in
//! turns, each managed by CoDel.
//!
//! T. Hoeiland-Joergensen, P. McKenney, D. Taht, J. Gettys, E. Dumazet, "The Flow Queue CoDel
//! Packet Scheduler and Active Queue Management Algorithm", RFC 8290, 2018, section 4:
//!
//! * **Enqueue** (4.1): a packet joins the queue that its flow hashes to. A queue that was not
//!   active joins the end of the *new* queues, with a *quantum* of credits. If the total exceeds
//!   the limit, the queue with the most bytes loses its head.
//! * **Dequeue** (4.2): the first of the new queues is chosen, or else the first of the *old* ones.
//!   If its credits are used up, it gets a quantum and goes to the end of the old queues, and the
//!   choice is repeated. Otherwise CoDel takes a packet from it, whose bytes are deducted. A new
//!   queue that is empty goes to the end of the old ones; an old one that is empty becomes
//!   inactive.
//!
//! **The physics.** Deficit round robin gives each flow an equal share of the link, whatever the
//! others do, and a flow that sends less than its share passes without waiting (it is always new).
//! CoDel keeps each queue short. So no algorithm can harm another here; what differs is what it
//! makes of its own share.
//!
//! A packet's fate is known when it leaves its queue, as on a [`CodelLink`](crate::CodelLink); a
//! departure names the queue, because queues overtake each other.
//!
//! **Departures from the RFC.** An overlong queue loses one packet at a time, as the RFC's text
//! says; Linux drops up to 64 at once to save time. The buffer size of the link is the limit.

use crate::aqm::{CoDel, CodelState, Fifo, FqCodel, Waiting};
use crate::counters::{Backlog, Counters, Fate};
use crate::exit::Exit;
use crate::service::Server;
use crate::spec::{DropCause, LinkSpec, QueueLimit};
use std::collections::VecDeque;
use whimbrel_units::{Bytes, Duration, Time};

/// One direction of a link whose queue is managed by FQ-CoDel.
#[derive(Debug, Clone)]
pub struct FqCodelLink {
    server: Server,
    exit: Exit,
    limit: QueueLimit,
    setting: FqCodel,
    queues: Vec<Queue>,
    /// Queues whose turn comes first, and then the others.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Over all queues.
    packets: usize,
    bytes: u64,
    /// When the next packet is taken from a queue.
    due: Option<Time>,
    counters: Counters,
}

/// The queue of the flows with one hash.
#[derive(Debug, Clone)]
struct Queue {
    fifo: Fifo,
    codel: CodelState,
    /// Bytes that it may still send in this turn; at most 0: its turn is over.
    credits: i64,
    /// It is among the new or the old queues.
    active: bool,
}

/// A packet has left its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowFate {
    /// The queue, as [`FqCodelLink::queue_of`] numbers them. Packets of one queue leave in order.
    pub queue: u32,
    /// What happens to the packet.
    pub fate: Fate,
}

impl FqCodelLink {
    /// An idle link. `seed` decides every random event on it, in the same way as on a
    /// [`Link`](crate::Link).
    pub fn new(spec: &LinkSpec, setting: FqCodel, seed: u64) -> Self {
        let queue = |codel: CoDel| Queue {
            fifo: Fifo::default(),
            codel: CodelState::new(codel),
            credits: 0,
            active: false,
        };
        Self {
            server: Server::new(&spec.service, seed),
            exit: Exit::new(spec, seed),
            limit: spec.queue,
            queues: vec![queue(setting.codel); setting.queues.max(1) as usize],
            setting,
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
            due: None,
            counters: Counters::default(),
        }
    }

    /// The queue that a flow with this hash uses.
    pub fn queue_of(&self, hash: u64) -> u32 {
        (hash % self.queues.len() as u64) as u32
    }

    /// Offers a packet of `size` bytes, headers included, for a queue at `now`, which never goes
    /// back. `ect`: the packet may be marked (RFC 3168). Every packet is accepted; if the limit is
    /// exceeded, the head of the longest queue is dropped, which may be this packet. Fates, this
    /// packet's included if it leaves at once, are added to `departed`.
    pub fn offer(
        &mut self,
        now: Time,
        queue: u32,
        size: u32,
        ect: bool,
        departed: &mut Vec<FlowFate>,
    ) {
        self.advance(now, departed);
        self.counters.offered += 1;
        let idle = self.server.free_at() <= now && self.packets == 0;
        let of = &mut self.queues[queue as usize];
        of.fifo.push(Waiting {
            since: now,
            size,
            ect,
        });
        if !of.active {
            of.active = true;
            of.credits = self.setting.quantum.get() as i64;
            self.new.push_back(queue);
        }
        self.packets += 1;
        self.bytes += u64::from(size);
        if self.due.is_none() {
            self.due = Some(self.server.begin(now));
        }
        // The packet in service does not count: an idle link takes any packet.
        while !idle && !self.limit.holds(self.packets, self.bytes) {
            self.drop_head_of_longest(departed);
        }
        self.advance(now, departed);
        self.counters.most_waiting = self.counters.most_waiting.max(self.packets as u32);
    }

    fn drop_head_of_longest(&mut self, departed: &mut Vec<FlowFate>) {
        let active = self.new.iter().chain(&self.old);
        let Some(&longest) = active.max_by_key(|i| self.queues[**i as usize].fifo.bytes()) else {
            return;
        };
        if let Some(head) = self.queues[longest as usize].fifo.pop() {
            self.packets -= 1;
            self.bytes -= u64::from(head.size);
            self.counters.queue_overflow += 1;
            departed.push(FlowFate {
                queue: longest,
                fate: Fate::Dropped(DropCause::QueueOverflow),
            });
        }
    }

    /// When the next packet leaves the queue if none is offered before; `None` if all queues are
    /// empty or the rate stays zero for ever.
    pub fn next(&self) -> Option<Time> {
        self.due.filter(|due| *due < Time::MAX)
    }

    /// Advances the link to `now`. Adds the fates of packets that leave their queues to `departed`.
    pub fn advance(&mut self, now: Time, departed: &mut Vec<FlowFate>) {
        while let Some(due) = self.due.filter(|due| *due <= now) {
            self.take(due, departed);
            self.due = (self.packets > 0).then(|| self.server.begin(due));
        }
    }

    /// Takes the next packet and serves it (section 4.2).
    fn take(&mut self, due: Time, departed: &mut Vec<FlowFate>) {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let Some(&index) = list.front() else {
                return;
            };
            let queue = &mut self.queues[index as usize];
            if queue.credits <= 0 {
                queue.credits += self.setting.quantum.get() as i64;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let (counters, packets, bytes) =
                (&mut self.counters, &mut self.packets, &mut self.bytes);
            let taken = queue.codel.dequeue(due, &mut queue.fifo, |dropped| {
                counters.early += 1;
                *packets -= 1;
                *bytes -= u64::from(dropped.size);
                departed.push(FlowFate {
                    queue: index,
                    fate: Fate::Dropped(DropCause::Early),
                });
            });
            let Some(taken) = taken else {
                list.pop_front();
                // An empty new queue waits among the old ones for a turn, so that it cannot gain
                // priority by staying just empty (section 4.2).
                if is_new {
                    self.old.push_back(index);
                } else {
                    queue.active = false;
                }
                continue;
            };
            let packet = taken.packet;
            queue.credits -= i64::from(packet.size);
            self.packets -= 1;
            self.bytes -= u64::from(packet.size);
            let fate = self.serve(due, packet, taken.marked);
            departed.push(FlowFate { queue: index, fate });
            return;
        }
    }

    fn serve(&mut self, due: Time, packet: Waiting, marked: bool) -> Fate {
        self.counters.count_wait(due.since(packet.since));
        let last_end = self.server.free_at();
        let served = self.server.serve(due, packet.size);
        self.counters.busy += served.ends.since(last_end.max(due));
        let on_air = self.server.on_air();
        self.exit
            .pass(served, on_air, packet.size, marked, &mut self.counters)
    }

    /// All queues together, as of the last time that the link advanced to.
    pub fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.packets as u32,
            bytes: Bytes::new(self.bytes),
        }
    }

    /// The counters so far. A packet is counted in its cause when it leaves its queue.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How much of the service decided so far lies after `now`.
    pub fn busy_beyond(&self, now: Time) -> Duration {
        self.server.free_at().since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Schedule;
    use crate::spec::ServiceSpec;
    use whimbrel_units::Rate;

    /// 12 Mbit/s: 1500 bytes in a millisecond.
    fn link(limit: u32) -> FqCodelLink {
        let rate = Rate::from_bits_per_sec(12_000_000);
        let spec = LinkSpec {
            service: ServiceSpec::Rate(Schedule::constant(rate)),
            queue: QueueLimit::Packets(limit),
            ..LinkSpec::default()
        };
        let setting = FqCodel {
            codel: CoDel {
                target: Duration::from_millis(5),
                interval: Duration::from_millis(100),
                mtu: Bytes::new(1500),
            },
            queues: 1024,
            quantum: Bytes::new(1500),
        };
        FqCodelLink::new(&spec, setting, 1)
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// The queues of delivered packets in the order in which they come out, with the milliseconds.
    fn delivered(departed: &[FlowFate]) -> Vec<(u32, f64)> {
        let out = |one: &FlowFate| match one.fate {
            Fate::Delivered { at, .. } => Some((one.queue, at.as_secs_f64() * 1e3)),
            Fate::Dropped(_) => None,
        };
        departed.iter().filter_map(out).collect()
    }

    #[test]
    fn queues_take_turns_and_a_new_one_comes_first() {
        let (mut link, mut departed) = (link(100), Vec::new());
        for _ in 0..4 {
            link.offer(ms(0), 1, 1500, false, &mut departed);
        }
        // Queue 1 has used its first quantum; queue 2 is new at 0.5 ms, and overtakes three
        // packets.
        link.offer(Time::from_nanos(500_000), 2, 1500, false, &mut departed);
        link.offer(Time::from_nanos(500_000), 2, 1500, false, &mut departed);
        link.advance(ms(10), &mut departed);
        let expected = [(1, 1.0), (2, 2.0), (1, 3.0), (2, 4.0), (1, 5.0), (1, 6.0)];
        assert_eq!(delivered(&departed), expected);
        assert_eq!(link.backlog(), Backlog::default());
        assert_eq!(link.next(), None);
    }

    #[test]
    fn turns_count_bytes_not_packets() {
        let (mut link, mut departed) = (link(100), Vec::new());
        for _ in 0..3 {
            link.offer(ms(0), 1, 1500, false, &mut departed);
        }
        for _ in 0..9 {
            link.offer(ms(0), 2, 500, false, &mut departed);
        }
        link.advance(ms(10), &mut departed);
        let order: Vec<u32> = delivered(&departed)
            .iter()
            .map(|(queue, _)| *queue)
            .collect();
        // Three packets of 500 bytes for each of 1500.
        assert_eq!(order, [1, 2, 2, 2, 1, 2, 2, 2, 1, 2, 2, 2]);
    }

    /// RFC 8290 section 4.2: otherwise flows whose queues are empty at each turn would always come
    /// first.
    #[test]
    fn flows_that_are_always_new_keep_no_other_from_its_share() {
        let (mut link, mut departed) = (link(10_000), Vec::new());
        for _ in 0..200 {
            link.offer(ms(0), 1, 1500, false, &mut departed);
        }
        // Ten flows together send 11.6 Mbit/s, a little more than their shares.
        for n in 0..966 {
            let at = Time::from_nanos(n * 207_000);
            link.offer(at, 2 + (n % 10) as u32, 300, false, &mut departed);
        }
        link.advance(ms(200), &mut departed);
        let in_time = |(queue, at): &&(u32, f64)| *queue == 1 && *at <= 200.0;
        let own = delivered(&departed).iter().filter(in_time).count();
        // An eleventh of 200 packets.
        assert!((14..=22).contains(&own), "{own}");
    }

    #[test]
    fn the_longest_queue_pays_when_the_limit_is_exceeded() {
        let (mut link, mut departed) = (link(4), Vec::new());
        for _ in 0..5 {
            link.offer(ms(0), 1, 1500, false, &mut departed);
        }
        link.offer(ms(0), 2, 1500, false, &mut departed);
        let dropped: Vec<u32> = departed
            .iter()
            .filter(|one| one.fate == Fate::Dropped(DropCause::QueueOverflow))
            .map(|one| one.queue)
            .collect();
        assert_eq!(dropped, [1]);
        assert_eq!(link.counters().queue_overflow, 1);
        link.advance(ms(10), &mut departed);
        assert_eq!(delivered(&departed).len(), 5);
    }

    #[test]
    fn codel_drops_from_a_standing_queue_and_spares_the_other() {
        let (mut link, mut departed) = (link(10_000), Vec::new());
        // Queue 1 gets 2 packets each millisecond, twice what the link carries, for a second;
        // queue 2 one each 10 ms.
        for i in 0..1000 {
            for _ in 0..2 {
                link.offer(ms(i), 1, 1500, false, &mut departed);
            }
            if i % 10 == 0 {
                link.offer(ms(i), 2, 1500, false, &mut departed);
            }
        }
        let early = |queue: u32| {
            let dropped = Fate::Dropped(DropCause::Early);
            departed
                .iter()
                .filter(|one| one.queue == queue && one.fate == dropped)
                .count()
        };
        assert!(early(1) > 10 && early(2) == 0, "{} {}", early(1), early(2));
        // A packet of queue 2 waits for at most the packet in service and one more.
        let second = delivered(&departed)
            .into_iter()
            .filter(|(queue, _)| *queue == 2);
        for (i, (_, at)) in second.enumerate() {
            assert!(at - 10.0 * i as f64 <= 3.0, "packet {i} at {at} ms");
        }
    }
}
