//! Packets in a polled link, until it reports their fates. It reports them in order.

use crate::held::Buffer;
use std::collections::VecDeque;
use whimbrel_net::Fate;

/// Packets in the order in which the link accepted them.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// Packets that have not been returned.
    open: VecDeque<(Buffer, usize)>,
    /// The fates of the first of them, appended by the link's owner.
    pub known: VecDeque<Fate>,
}

impl Waiting {
    /// Adds a packet of `len` bytes that the link has accepted.
    pub fn push(&mut self, buffer: Buffer, len: usize) {
        self.open.push_back((buffer, len));
    }

    /// The next packet whose fate is known.
    pub fn next_departed(&mut self) -> Option<(Fate, Buffer, usize)> {
        let fate = self.known.pop_front()?;
        let (buffer, len) = self.open.pop_front()?;
        Some((fate, buffer, len))
    }

    /// Number of packets that have not been returned.
    pub fn len(&self) -> usize {
        self.open.len()
    }
}
