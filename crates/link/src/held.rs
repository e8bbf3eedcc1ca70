//! Packets in transit: held from the time they were read until they are due.

use crate::MTU;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use whimbrel_units::Time;

/// A buffer for one packet. A TUN device has no packet larger than its MTU.
pub(crate) type Buffer = Box<Frame>;

/// The bytes of a packet.
#[derive(Debug)]
pub(crate) struct Frame {
    bytes: [u8; MTU as usize],
    /// If set, the transport's checksum is still to be computed.
    pub partial: Option<Partial>,
}

/// A checksum that is still to be computed: over all bytes from `start` on. Its place is `offset`
/// bytes behind, and has the sum of the pseudo-header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Partial {
    pub start: usize,
    pub offset: usize,
}

impl Default for Frame {
    fn default() -> Self {
        Self {
            bytes: [0; MTU as usize],
            partial: None,
        }
    }
}

impl Deref for Frame {
    type Target = [u8; MTU as usize];
    fn deref(&self) -> &Self::Target {
        &self.bytes
    }
}

impl DerefMut for Frame {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.bytes
    }
}

/// A packet in transit.
pub(crate) struct Packet {
    /// When it is to be written.
    pub due: Time,
    pub buffer: Buffer,
    /// Length of the packet in the buffer.
    pub len: usize,
}

impl Packet {
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

/// Packets in the order in which they are due; packets due at the same time in order of arrival.
/// Buffers are reused: nothing is allocated after the number of packets in transit has reached its
/// maximum.
#[derive(Default)]
pub(crate) struct Held {
    packets: VecDeque<Packet>,
    spare: Vec<Buffer>,
}

impl Held {
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// An empty buffer.
    pub fn buffer(&mut self) -> Buffer {
        self.spare.pop().unwrap_or_default()
    }

    /// Returns a buffer for reuse.
    pub fn recycle(&mut self, buffer: Buffer) {
        self.spare.push(buffer);
    }

    /// When the next packet is due.
    pub fn next_due(&self) -> Option<Time> {
        self.packets.front().map(|p| p.due)
    }

    pub fn push(&mut self, packet: Packet) {
        // Nearly always the last: packets overtake only when the delay falls.
        match self.packets.back() {
            Some(last) if last.due > packet.due => {
                let at = self.packets.partition_point(|p| p.due <= packet.due);
                self.packets.insert(at, packet);
            }
            _ => self.packets.push_back(packet),
        }
    }

    /// The next packet, if it is due.
    pub fn pop_due(&mut self, now: Time) -> Option<Packet> {
        self.pop_due_if(now, |_| true)
    }

    /// The same, if `wanted` says so.
    pub fn pop_due_if(&mut self, now: Time, wanted: impl Fn(&Packet) -> bool) -> Option<Packet> {
        let next = self.packets.front()?;
        (next.due <= now && wanted(next)).then(|| self.packets.pop_front())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packets_leave_when_due_and_in_order(dues in prop::collection::vec(0_u64..50, 1..100)) {
            let mut held = Held::default();
            for (i, due) in dues.iter().enumerate() {
                let buffer = held.buffer();
                held.push(Packet { due: Time::from_nanos(*due), buffer, len: i });
            }
            let mut expected: Vec<_> = dues.iter().copied().enumerate().map(|(i, due)| (due, i)).collect();
            expected.sort_unstable();
            let mut got = Vec::new();
            for now in 0..50 {
                while let Some(packet) = held.pop_due(Time::from_nanos(now)) {
                    prop_assert_eq!(packet.due, Time::from_nanos(now));
                    got.push((now, packet.len));
                    held.recycle(packet.buffer);
                }
            }
            prop_assert_eq!(got, expected);
            prop_assert_eq!(held.len(), 0);
        }
    }
}
