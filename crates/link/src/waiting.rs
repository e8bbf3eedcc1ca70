//! Packets that a polled link has taken, until it says what became of them. It says so in their order.

use crate::held::Buffer;
use std::collections::VecDeque;
use whimbrel_net::Fate;

/// Packets in the order in which they were taken.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// Packets whose fate is open or not told yet.
    open: VecDeque<(Buffer, usize)>,
    /// What became of the first of them; the link adds to it.
    pub known: VecDeque<Fate>,
}

impl Waiting {
    /// The link has taken a packet of so many bytes.
    pub fn push(&mut self, buffer: Buffer, len: usize) {
        self.open.push_back((buffer, len));
    }

    /// The next packet whose fate is known.
    pub fn next_left(&mut self) -> Option<(Fate, Buffer, usize)> {
        let fate = self.known.pop_front()?;
        let (buffer, len) = self.open.pop_front()?;
        Some((fate, buffer, len))
    }

    /// Packets whose fate is open or not told yet.
    pub fn len(&self) -> usize {
        self.open.len()
    }
}
