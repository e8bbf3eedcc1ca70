//! One direction of a link whose queue is managed by CoDel.
//!
//! As a [`Link`](crate::Link), but what becomes of a packet is known only when it leaves the queue: CoDel then looks at
//! what has arrived behind it. So it is told afterwards: call [`advance`](CodelLink::advance) at
//! [`next`](CodelLink::next). Times are those of a `Link`: as long as CoDel does nothing, both give every packet the same
//! fate to the nanosecond.

use crate::aqm::{CoDel, Fifo, Law, Waiting};
use crate::exit::Exit;
use crate::link::{Backlog, Counters, Fate};
use crate::service::Server;
use crate::spec::{DropCause, LinkSpec, QueueLimit};
use whimbrel_units::{Bytes, Duration, Time};

/// One direction of a link whose queue is managed by CoDel.
#[derive(Debug, Clone)]
pub struct CodelLink {
    server: Server,
    exit: Exit,
    limit: QueueLimit,
    law: Law,
    fifo: Fifo,
    /// When the next packet is taken from the queue.
    due: Option<Time>,
    counters: Counters,
}

impl CodelLink {
    /// A link at rest. `seed` decides every random event on it; it is the same that it would be on a
    /// [`Link`](crate::Link).
    pub fn new(spec: &LinkSpec, codel: CoDel, seed: u64) -> Self {
        Self {
            server: Server::new(&spec.service, seed),
            exit: Exit::new(spec, seed),
            limit: spec.queue,
            law: Law::new(codel),
            fifo: Fifo::default(),
            due: None,
            counters: Counters::default(),
        }
    }

    /// Offers a packet of `size` bytes, headers included, at `now`, which never goes back; `ect`: it may be marked (RFC
    /// 3168). All that happens up to `now` is played: fates of packets that were accepted before are added to `left`, and
    /// this one's if it leaves the queue at once. False if the queue is full: it is dropped.
    pub fn offer(&mut self, now: Time, size: u32, ect: bool, left: &mut Vec<Fate>) -> bool {
        self.advance(now, left);
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
        self.advance(now, left);
        self.counters.most_waiting = self.counters.most_waiting.max(self.fifo.len() as u32);
        true
    }

    /// When something happens next if nothing is offered before; never, if the rate fell to zero for good.
    pub fn next(&self) -> Option<Time> {
        self.due.filter(|due| *due < Time::MAX)
    }

    /// Plays all that happens up to `now`; adds the fates of packets that leave the queue to `left`, in the order in which
    /// they were accepted. Each is told of before it comes out.
    pub fn advance(&mut self, now: Time, left: &mut Vec<Fate>) {
        while let Some(due) = self.due.filter(|due| *due <= now) {
            let early = &mut self.counters.early;
            let taken = self.law.dequeue(due, &mut self.fifo, |_| {
                *early += 1;
                left.push(Fate::Dropped(DropCause::Early));
            });
            if let Some(taken) = taken {
                left.push(self.serve(due, taken.packet, taken.marked));
            }
            self.due = self.fifo.first().map(|head| self.server.begin(head.since));
        }
    }

    fn serve(&mut self, due: Time, packet: Waiting, marked: bool) -> Fate {
        self.counters.count_wait(due.since(packet.since));
        let last_end = self.server.free_at();
        let served = self.server.serve(packet.since, packet.size);
        self.counters.busy += served.ends.since(last_end.max(packet.since));
        self.exit
            .pass(served, packet.size, marked, &mut self.counters)
    }

    /// What waits, as of the last time that was played.
    pub fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.fifo.len() as u32,
            bytes: Bytes::new(self.fifo.bytes()),
        }
    }

    /// What the link did so far. A packet is counted in its cause when it leaves the queue.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How much of the service that is already decided lies after `now`.
    pub fn busy_beyond(&self, now: Time) -> Duration {
        self.server.free_at().since(now)
    }
}
