//! A link whose queue CoDel manages: what becomes of its packets is known when they leave the queue.

use crate::clock::Clock;
use crate::ecn;
use crate::held::Buffer;
use crate::waiting::Waiting;
use whimbrel_net::{CodelLink, Counters, Fate};
use whimbrel_units::Time;

/// The link, with the packets that wait in it.
pub(crate) struct Managed {
    link: CodelLink,
    clock: Clock,
    waiting: Waiting,
    /// Scratch for what leaves at once.
    left: Vec<Fate>,
}

impl Managed {
    pub fn new(link: CodelLink, clock: Clock) -> Self {
        Self {
            link,
            clock,
            waiting: Waiting::default(),
            left: Vec::new(),
        }
    }

    /// Offers a packet; gives its buffer back if the queue is full.
    pub fn offer(&mut self, buffer: Buffer, len: usize) -> Option<Buffer> {
        let ect = ecn::is_capable(&buffer[..len]);
        let now = self.clock.now();
        let accepted = self.link.offer(now, len as u32, ect, &mut self.left);
        self.waiting.known.extend(self.left.drain(..));
        if !accepted {
            return Some(buffer);
        }
        self.waiting.push(buffer, len);
        None
    }

    /// Plays what has happened; afterwards [`next_left`](Self::next_left) gives what has left.
    pub fn play_until_now(&mut self) {
        self.link.advance(self.clock.now(), &mut self.left);
        self.waiting.known.extend(self.left.drain(..));
    }

    /// The next packet whose fate is known.
    pub fn next_left(&mut self) -> Option<(Fate, Buffer, usize)> {
        self.waiting.next_left()
    }

    /// Packets whose fate is open or not told yet.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// When something happens next.
    pub fn next(&self) -> Option<Time> {
        self.link.next()
    }

    /// What the link did so far.
    pub fn counters(&self) -> Counters {
        *self.link.counters()
    }
}
