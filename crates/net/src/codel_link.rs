//! One direction of a link whose queue is managed by CoDel.
//!
//! Like a [`Link`](crate::Link), but a packet's fate is known only when it leaves the queue,
//! because CoDel then looks at what has arrived behind it. Call [`advance`](CodelLink::advance) at
//! [`next`](CodelLink::next) to get the fates. Times are those of a `Link`: while CoDel does not
//! drop or mark, both give every packet the same fate to the nanosecond.

use crate::aqm::{CoDel, CodelState, Fifo, Waiting};
use crate::counters::{Backlog, Counters, Fate};
use crate::exit::Exit;
use crate::service::Server;
use crate::spec::{DropCause, LinkSpec, QueueLimit};
use whimbrel_units::{Bytes, Duration, Time};

/// One direction of a link whose queue is managed by CoDel.
#[derive(Debug, Clone)]
pub struct CodelLink {
    server: Server,
    exit: Exit,
    limit: QueueLimit,
    codel: CodelState,
    fifo: Fifo,
    /// When the next packet is taken from the queue.
    due: Option<Time>,
    counters: Counters,
}

impl CodelLink {
    /// An idle link. `seed` decides every random event on it, in the same way as on a
    /// [`Link`](crate::Link).
    pub fn new(spec: &LinkSpec, codel: CoDel, seed: u64) -> Self {
        Self {
            server: Server::new(&spec.service, seed),
            exit: Exit::new(spec, seed),
            limit: spec.queue,
            codel: CodelState::new(codel),
            fifo: Fifo::default(),
            due: None,
            counters: Counters::default(),
        }
    }

    /// Offers a packet of `size` bytes, headers included, at `now`, which never goes back. `ect`:
    /// the packet may be marked (RFC 3168). Advances the link to `now`: the fates of packets
    /// accepted before are added to `departed`, and this packet's if it leaves the queue at once.
    /// Returns false if the queue is full and the packet is dropped.
    pub fn offer(&mut self, now: Time, size: u32, ect: bool, departed: &mut Vec<Fate>) -> bool {
        self.advance(now, departed);
        self.counters.offered += 1;
        let idle = self.server.free_at() <= now && self.fifo.len() == 0;
        if !idle
            && !self
                .limit
                .has_room(self.fifo.len(), self.fifo.bytes(), size)
        {
            self.counters.queue_overflow += 1;
            return false;
        }
        self.fifo.push(Waiting {
            since: now,
            size,
            ect,
        });
        if self.due.is_none() {
            self.due = Some(self.server.begin(now));
        }
        self.advance(now, departed);
        self.counters.most_waiting = self.counters.most_waiting.max(self.fifo.len() as u32);
        true
    }

    /// When the next packet leaves the queue if none is offered before; `None` if the queue is
    /// empty or the rate stays zero for ever.
    pub fn next(&self) -> Option<Time> {
        self.due.filter(|due| *due < Time::MAX)
    }

    /// Advances the link to `now`. Adds the fates of packets that leave the queue to `departed`, in
    /// the order in which they were accepted. Each fate is known before the packet comes out.
    pub fn advance(&mut self, now: Time, departed: &mut Vec<Fate>) {
        while let Some(due) = self.due.filter(|due| *due <= now) {
            let early = &mut self.counters.early;
            let taken = self.codel.dequeue(due, &mut self.fifo, |_| {
                *early += 1;
                departed.push(Fate::Dropped(DropCause::Early));
            });
            if let Some(taken) = taken {
                departed.push(self.serve(due, taken.packet, taken.marked));
            }
            self.due = self.fifo.first().map(|head| self.server.begin(head.since));
        }
    }

    fn serve(&mut self, due: Time, packet: Waiting, marked: bool) -> Fate {
        self.counters.count_wait(due.since(packet.since));
        let last_end = self.server.free_at();
        let served = self.server.serve(packet.since, packet.size);
        self.counters.busy += served.ends.since(last_end.max(packet.since));
        let on_air = self.server.on_air();
        self.exit
            .pass(served, on_air, packet.size, marked, &mut self.counters)
    }

    /// The queue as of the last time that the link advanced to.
    pub fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.fifo.len() as u32,
            bytes: Bytes::new(self.fifo.bytes()),
        }
    }

    /// The counters so far. A packet is counted in its cause when it leaves the queue.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How much of the service decided so far lies after `now`.
    pub fn busy_beyond(&self, now: Time) -> Duration {
        self.server.free_at().since(now)
    }
}
