//! The packets that were sent and are not yet accounted for, in the order in which they were sent.
//!
//! noq names a packet by its number, but the three packet number spaces of a handshake share one
//! controller and each begins at zero (RFC 9002 section 7: one controller, appendix A.1). So the order
//! of transmission is counted here, and a packet is found by the time it was sent and its number.

use std::collections::VecDeque;
use whimbrel_cc::delivery_rate::Tag;
use whimbrel_units::{Duration, Time};

/// How many packets from the start of a connection may belong to a handshake space, where numbers
/// are not in order. A handshake sends fewer than that (RFC 9000 section 8.1, three flights).
const HANDSHAKE: u64 = 64;

/// After this long a packet that was neither acknowledged nor lost is forgotten. noq tells neither
/// for MTU probes that were lost and for keys that were discarded.
const FORGET: Duration = Duration::from_secs(10);

/// A packet as it was when it was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    /// Its place in the order of transmission, from 0.
    pub order: u64,
    /// When.
    pub sent: Time,
    /// What the delivery rate needs of that moment.
    pub tag: Tag,
}

#[derive(Debug, Clone)]
struct Entry {
    sent: Time,
    number: u64,
    tag: Tag,
    gone: bool,
}

/// All packets in flight.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flight {
    entries: VecDeque<Entry>,
    /// The order of the first entry.
    first: u64,
}

impl Flight {
    /// A packet was sent. Times never go back.
    pub fn sent(&mut self, now: Time, number: u64, tag: Tag) {
        self.entries.push_back(Entry {
            sent: now,
            number,
            tag,
            gone: false,
        });
    }

    /// The order of the next packet to be sent.
    pub fn next_order(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// The packet of this number sent at this time was acknowledged.
    pub fn acknowledged(&mut self, sent: Time, number: u64) -> Option<Packet> {
        let found = self
            .entries
            .binary_search_by(|e| (e.sent, e.number).cmp(&(sent, number)))
            .ok()
            .or_else(|| self.early(|e| e.sent == sent && e.number == number))?;
        self.take(found)
    }

    /// The packet of this number was lost.
    pub fn lost(&mut self, number: u64) -> Option<Packet> {
        let found = self
            .entries
            .binary_search_by(|e| e.number.cmp(&number))
            .ok()
            .filter(|i| !self.entries[*i].gone)
            .or_else(|| self.early(|e| e.number == number))?;
        self.take(found)
    }

    /// Lets go of packets of which nothing more will be heard.
    pub fn tidy(&mut self, now: Time) {
        while let Some(entry) = self.entries.front()
            && (entry.gone || now.since(entry.sent) > FORGET)
        {
            self.entries.pop_front();
            self.first += 1;
        }
    }

    /// The order of the first packet sent at `sent` or later.
    pub fn order_at(&self, sent: Time) -> u64 {
        self.first + self.entries.partition_point(|e| e.sent < sent) as u64
    }

    /// Looks among the packets of the handshake, whose numbers are not in order.
    fn early(&self, is_it: impl Fn(&Entry) -> bool) -> Option<usize> {
        let early = HANDSHAKE.saturating_sub(self.first) as usize;
        self.entries
            .iter()
            .take(early)
            .position(|e| !e.gone && is_it(e))
    }

    fn take(&mut self, index: usize) -> Option<Packet> {
        let entry = self.entries.get_mut(index).filter(|e| !e.gone)?;
        entry.gone = true;
        Some(Packet {
            order: self.first + index as u64,
            sent: entry.sent,
            tag: entry.tag,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn numbers_of_three_spaces_are_told_apart() {
        let mut flight = Flight::default();
        flight.sent(at(0), 0, Tag::default()); // Initial
        flight.sent(at(5), 1, Tag::default()); // Initial
        flight.sent(at(5), 0, Tag::default()); // Handshake, in the same datagram
        flight.sent(at(9), 0, Tag::default()); // Data
        assert_eq!(flight.acknowledged(at(9), 0).map(|p| p.order), Some(3));
        assert_eq!(flight.acknowledged(at(5), 0).map(|p| p.order), Some(2));
        assert_eq!(flight.acknowledged(at(0), 0).map(|p| p.order), Some(0));
        assert_eq!(flight.lost(1).map(|p| p.order), Some(1));
        assert!(flight.lost(1).is_none(), "a packet is accounted for once");
        flight.tidy(at(9));
        assert_eq!(flight.next_order(), 4);
        assert!(flight.entries.is_empty());
    }

    #[test]
    fn a_packet_that_noq_never_mentions_again_is_forgotten() {
        let mut flight = Flight::default();
        for n in 0..100 {
            flight.sent(at(n), n, Tag::default());
        }
        for n in 1..100 {
            assert!(flight.acknowledged(at(n), n).is_some());
        }
        flight.tidy(at(200));
        assert_eq!(
            flight.entries.len(),
            100,
            "number 0 may yet be acknowledged"
        );
        flight.tidy(at(10_200));
        assert!(flight.entries.is_empty());
        assert_eq!(flight.next_order(), 100);
    }
}
