//! A link whose queue is managed by CoDel: the fate of a packet is known when it leaves the queue.

use crate::clock::Clock;
use crate::ecn;
use crate::held::Buffer;
use crate::waiting::Waiting;
use whimbrel_net::{CodelLink, Counters, Fate};
use whimbrel_units::Time;

/// The link and the packets in its queue.
pub(crate) struct Managed {
    link: CodelLink,
    clock: Clock,
    waiting: Waiting,
    /// Buffer for the fates that one call returns.
    departed: Vec<Fate>,
}

impl Managed {
    pub fn new(link: CodelLink, clock: Clock) -> Self {
        Self {
            link,
            clock,
            waiting: Waiting::default(),
            departed: Vec::new(),
        }
    }

    /// Offers a packet. Returns its buffer if the queue is full.
    pub fn offer(&mut self, buffer: Buffer, len: usize) -> Option<Buffer> {
        let ect = ecn::is_capable(&buffer[..len]);
        let now = self.clock.now();
        let accepted = self.link.offer(now, len as u32, ect, &mut self.departed);
        self.waiting.known.extend(self.departed.drain(..));
        if !accepted {
            return Some(buffer);
        }
        self.waiting.push(buffer, len);
        None
    }

    /// Advances the link to the present; afterwards [`next_departed`](Self::next_departed) returns
    /// the packets that have left.
    pub fn advance_to_now(&mut self) {
        self.link.advance(self.clock.now(), &mut self.departed);
        self.waiting.known.extend(self.departed.drain(..));
    }

    /// The next packet whose fate is known.
    pub fn next_departed(&mut self) -> Option<(Fate, Buffer, usize)> {
        self.waiting.next_departed()
    }

    /// Number of packets not yet returned by [`next_departed`](Self::next_departed).
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// When the link must be advanced next.
    pub fn next(&self) -> Option<Time> {
        self.link.next()
    }

    /// The link's counters so far.
    pub fn counters(&self) -> Counters {
        *self.link.counters()
    }
}
