//! The packets in flight, in order of transmission.
//!
//! noq identifies a packet by its packet number. The three packet number spaces of a handshake
//! share one controller and each begins at zero (RFC 9002 section 7 and appendix A.1). The adapter
//! therefore counts the order of transmission itself, and finds a packet by its send time and its
//! number. quinn reports only when an acknowledged packet was sent.

use crate::delivery_rate::Tag;
use std::collections::VecDeque;
use whimbrel_units::{Duration, Time};

/// The number of packets at the start of a connection that may belong to a handshake space, where
/// packet numbers are not in order of transmission. A handshake sends fewer (RFC 9000 section 8.1:
/// three flights).
const HANDSHAKE: u64 = 64;

/// A packet that is neither acknowledged nor lost is forgotten after this time. noq reports neither
/// for lost MTU probes and for packets of discarded keys.
const FORGET_AFTER: Duration = Duration::from_secs(10);

/// A packet as it was when it was sent.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// Its place in the order of transmission, from 0.
    pub order: u64,
    /// When it was sent.
    pub sent: Time,
    /// The delivery rate estimator's state at that time.
    pub tag: Tag,
}

#[derive(Debug, Clone)]
struct Entry {
    sent: Time,
    number: u64,
    tag: Tag,
    accounted: bool,
}

/// All packets in flight.
#[derive(Debug, Clone, Default)]
pub struct Flight {
    entries: VecDeque<Entry>,
    /// The order of the first entry.
    first: u64,
    /// The order of the packet that follows the last one acknowledged: most often the next one.
    expected: u64,
}

impl Flight {
    /// Records a packet. Send times never decrease.
    pub fn sent(&mut self, now: Time, number: u64, tag: Tag) {
        self.entries.push_back(Entry {
            sent: now,
            number,
            tag,
            accounted: false,
        });
    }

    /// The order of the next packet to be sent.
    pub fn next_order(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// Removes the packet with this number and send time, because it was acknowledged.
    pub fn acknowledged(&mut self, sent: Time, number: u64) -> Option<Packet> {
        let is_it = |e: &Entry| e.sent == sent && e.number == number;
        let expected = self.expected.checked_sub(self.first);
        let expected = expected.and_then(|index| usize::try_from(index).ok());
        let found = expected
            .filter(|index| self.entries.get(*index).is_some_and(is_it))
            .or_else(|| {
                let place = |e: &Entry| (e.sent, e.number).cmp(&(sent, number));
                self.entries.binary_search_by(place).ok()
            })
            .or_else(|| self.find_in_handshake(is_it))?;
        self.expected = self.first + found as u64 + 1;
        self.take(found)
    }

    /// Removes the first packet with this send time that is in flight, because it was acknowledged:
    /// for a transport that does not report the number.
    pub fn acknowledged_at(&mut self, sent: Time) -> Option<Packet> {
        let first = self.entries.partition_point(|e| e.sent < sent);
        let mut same = self.entries.range(first..).take_while(|e| e.sent == sent);
        let index = first + same.position(|e| !e.accounted)?;
        self.take(index)
    }

    /// Removes the packet with this number, because it was lost.
    pub fn lost(&mut self, number: u64) -> Option<Packet> {
        let found = self
            .entries
            .binary_search_by(|e| e.number.cmp(&number))
            .ok()
            .filter(|i| !self.entries[*i].accounted)
            .or_else(|| self.find_in_handshake(|e| e.number == number))?;
        self.take(found)
    }

    /// Drops the oldest entries that are accounted for or too old.
    pub fn forget_old(&mut self, now: Time) {
        while let Some(entry) = self.entries.front()
            && (entry.accounted || now.since(entry.sent) > FORGET_AFTER)
        {
            self.entries.pop_front();
            self.first += 1;
        }
    }

    /// The order of the first packet sent at `sent` or later.
    pub fn order_at(&self, sent: Time) -> u64 {
        self.first + self.entries.partition_point(|e| e.sent < sent) as u64
    }

    /// Searches the packets of the handshake, whose numbers are not in order.
    fn find_in_handshake(&self, matches: impl Fn(&Entry) -> bool) -> Option<usize> {
        let candidates = HANDSHAKE.saturating_sub(self.first) as usize;
        self.entries
            .iter()
            .take(candidates)
            .position(|e| !e.accounted && matches(e))
    }

    fn take(&mut self, index: usize) -> Option<Packet> {
        let entry = self.entries.get_mut(index).filter(|e| !e.accounted)?;
        entry.accounted = true;
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
    fn packets_of_three_number_spaces_are_kept_apart() {
        let mut flight = Flight::default();
        flight.sent(at(0), 0, Tag::default()); // Initial
        flight.sent(at(5), 1, Tag::default()); // Initial
        flight.sent(at(5), 0, Tag::default()); // Handshake, in the same datagram
        flight.sent(at(9), 0, Tag::default()); // Data
        assert_eq!(flight.acknowledged(at(9), 0).map(|p| p.order), Some(3));
        assert_eq!(flight.acknowledged(at(5), 0).map(|p| p.order), Some(2));
        assert_eq!(flight.acknowledged(at(0), 0).map(|p| p.order), Some(0));
        assert_eq!(flight.lost(1).map(|p| p.order), Some(1));
        assert!(
            flight.lost(1).is_none(),
            "each packet is accounted for once"
        );
        flight.forget_old(at(9));
        assert_eq!(flight.next_order(), 4);
        assert!(flight.entries.is_empty());
    }

    #[test]
    fn packets_sent_at_once_are_acknowledged_one_by_one() {
        let mut flight = Flight::default();
        for number in 0..3 {
            flight.sent(at(1), number, Tag::default());
        }
        flight.sent(at(2), 3, Tag::default());
        let mut order = |sent| flight.acknowledged_at(at(sent)).map(|p| p.order);
        assert_eq!(
            [1, 2, 1, 1].map(&mut order),
            [Some(0), Some(3), Some(1), Some(2)]
        );
        assert_eq!([1, 2, 3].map(order), [None; 3]);
    }

    #[test]
    fn a_packet_noq_never_reports_on_is_forgotten() {
        let mut flight = Flight::default();
        for n in 0..100 {
            flight.sent(at(n), n, Tag::default());
        }
        for n in 1..100 {
            assert!(flight.acknowledged(at(n), n).is_some());
        }
        flight.forget_old(at(200));
        assert_eq!(
            flight.entries.len(),
            100,
            "packet 0 may still be acknowledged"
        );
        flight.forget_old(at(10_200));
        assert!(flight.entries.is_empty());
        assert_eq!(flight.next_order(), 100);
    }
}
