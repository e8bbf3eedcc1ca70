//! The burst that is arriving at a receiver.
//!
//! A burst is over when its last packet has arrived, when a packet of a later burst arrives, or
//! when nothing of it has arrived for an interval. A packet of it that arrives later belongs to no
//! report any more.

use crate::interface::Spans;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Maximum number of packets in a burst: 12 Gbit at 1500 bytes. An [`Arrival`] keeps one bit for
/// each.
pub const MAX_PACKETS: u32 = 1 << 20;

/// Maximum wait for the next packet of a burst, whatever interval the peer announces.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What a packet says about its burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BurstPacket {
    /// The number of the burst.
    pub burst: u32,
    /// The index of the packet in the burst, from 0.
    pub index: u32,
    /// The number of packets in the burst, 1 to [`MAX_PACKETS`].
    pub count: u32,
    /// The span over which the sender sends the burst.
    pub interval: Duration,
    /// When the packet was sent by the sender's clock, in nanoseconds. Only differences are used.
    pub sent: u64,
}

impl BurstPacket {
    fn is_valid(&self) -> bool {
        self.index < self.count && self.count <= MAX_PACKETS
    }
}

/// When a packet left and when it arrived.
#[derive(Debug, Clone, Copy)]
struct Passage {
    index: u32,
    sent: u64,
    at: Time,
}

/// A burst of which something has arrived.
#[derive(Debug)]
pub struct Arrival {
    burst: u32,
    count: u32,
    interval: Duration,
    held: Indexes,
    received: u32,
    first: Passage,
    last: Passage,
    newest_at: Time,
    instants: u32,
}

impl Arrival {
    /// The first packet of a burst arrived. `None` if it contradicts itself: an index that is not
    /// below the count, or a count above [`MAX_PACKETS`].
    pub fn new(now: Time, packet: &BurstPacket) -> Option<Self> {
        if !packet.is_valid() {
            return None;
        }
        let passage = Passage {
            index: packet.index,
            sent: packet.sent,
            at: now,
        };
        let mut arrival = Self {
            burst: packet.burst,
            count: packet.count,
            interval: packet.interval.min(LONGEST_WAIT),
            held: Indexes::default(),
            received: 0,
            first: passage,
            last: passage,
            newest_at: now,
            instants: 0,
        };
        arrival.add(now, packet);
        Some(arrival)
    }

    /// A packet of it arrived. Returns whether it is the last of the burst.
    ///
    /// A duplicate has no effect, nor has an index beyond the count that the first packet gave. The
    /// caller compares the number of the burst.
    pub fn add(&mut self, now: Time, packet: &BurstPacket) -> bool {
        let index = packet.index;
        if index >= self.count || !self.held.insert(index) {
            return false;
        }
        self.received += 1;
        // Packets that are closer than half of their spacing at departure arrived together.
        let near = self.interval / u64::from(2 * self.count);
        self.instants += u32::from(self.received == 1 || now.since(self.newest_at) > near);
        self.newest_at = now;
        let passage = Passage {
            index,
            sent: packet.sent,
            at: now,
        };
        if index < self.first.index {
            self.first = passage;
        }
        if index > self.last.index {
            self.last = passage;
        }
        self.has_last()
    }

    /// Its number.
    pub fn burst(&self) -> u32 {
        self.burst
    }

    /// Packets that it has.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Packets that arrived, each counted once.
    pub fn received(&self) -> u32 {
        self.received
    }

    /// Instants at which packets arrived: fewer than packets if the network delivers them in lumps.
    pub fn instants(&self) -> u32 {
        self.instants
    }

    /// Whether its last packet has arrived.
    pub fn has_last(&self) -> bool {
        self.last.index + 1 == self.count
    }

    /// The span over which the sender sends it; at most ten seconds.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// When nothing more of it is expected: its packets are never a whole interval apart.
    pub fn deadline(&self) -> Time {
        self.newest_at + self.interval
    }

    /// When the last packet, by its index, arrived.
    pub fn last_at(&self) -> Time {
        self.last.at
    }

    /// The index of the first packet that arrived, by index.
    pub fn first_index(&self) -> u32 {
        self.first.index
    }

    /// The index of the last packet that arrived.
    pub fn last_index(&self) -> u32 {
        self.last.index
    }

    /// From the first to the last packet that arrived, by index: the spans of (10). `None` if fewer
    /// than two arrived, or if the sender's times run backwards.
    pub fn spans(&self) -> Option<Spans> {
        let sent = self.last.sent.checked_sub(self.first.sent)?;
        (self.received >= 2).then(|| Spans {
            sent: Duration::from_nanos(sent),
            received: self.last.at.since(self.first.at),
        })
    }

    /// V of (21): the data of it that arrived, over the time that it took. `packet` is the size of
    /// a full packet on the wire, including headers.
    pub fn delivered_rate(&self, packet: Bytes) -> Rate {
        match self.spans() {
            Some(spans) if !spans.received.is_zero() => {
                Rate::over(packet.times(u64::from(self.received - 1)), spans.received)
            }
            _ => Rate::over(packet.times(u64::from(self.received)), self.interval),
        }
    }

    /// The gaps, in order: start and length of each. For a transport whose reports name what is
    /// missing.
    pub fn gaps(&self) -> Vec<(u32, u32)> {
        let mut gaps = Vec::new();
        let mut from = 0;
        while from < self.count {
            let start = self.held.next(from, false).min(self.count);
            let end = self.held.next(start, true).min(self.count);
            if start < end {
                gaps.push((start, end - start));
            }
            from = end;
        }
        gaps
    }
}

/// A set of indexes below [`MAX_PACKETS`], as bits.
#[derive(Debug, Default)]
struct Indexes(Vec<u64>);

impl Indexes {
    /// Adds an index. Returns false if it is in the set already.
    fn insert(&mut self, index: u32) -> bool {
        let (word, bit) = ((index / u64::BITS) as usize, 1_u64 << (index % u64::BITS));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let Some(word) = self.0.get_mut(word) else {
            return false;
        };
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// The first index from `from` on that is in the set, or that is not; `u32::MAX` if every index
    /// to the end is not.
    fn next(&self, from: u32, held: bool) -> u32 {
        let mut at = from;
        while let Some(word) = self.0.get((at / u64::BITS) as usize) {
            let seen = if held { *word } else { !*word };
            let rest = seen >> (at % u64::BITS);
            if rest != 0 {
                return at + rest.trailing_zeros();
            }
            at = (at / u64::BITS + 1) * u64::BITS;
        }
        if held { u32::MAX } else { at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);
    const PACKET: Bytes = Bytes::new(1500);

    fn packet(index: u32) -> BurstPacket {
        BurstPacket {
            burst: 3,
            index,
            count: 10,
            interval: MS * 10,
            sent: u64::from(index) * 1_000_000,
        }
    }

    /// A burst sent at one packet per ms, of which these arrive, each 2 ms after the one before.
    fn arrived(indexes: &[u32]) -> Arrival {
        let at = |i: usize| Time::ZERO + MS * (50 + 2 * i as u64);
        let mut arrival = Arrival::new(at(0), &packet(indexes[0])).expect("valid");
        for (i, index) in indexes.iter().enumerate().skip(1) {
            arrival.add(at(i), &packet(*index));
        }
        arrival
    }

    fn spans(sent: u64, received: u64) -> Option<Spans> {
        Some(Spans {
            sent: MS * sent,
            received: MS * received,
        })
    }

    #[test]
    fn gaps_and_spans_describe_what_arrived() {
        let arrival = arrived(&[1, 2, 5, 6, 8]);
        assert_eq!(arrival.gaps(), [(0, 1), (3, 2), (7, 1), (9, 1)]);
        assert_eq!(arrival.received(), 5);
        // Sent from 1 to 8 ms, received over four times 2 ms.
        assert_eq!(arrival.spans(), spans(7, 8));
        assert_eq!(arrival.deadline(), Time::ZERO + MS * 68);
        assert_eq!((arrival.burst(), arrival.count()), (3, 10));
        assert_eq!(arrival.last_index(), 8);
    }

    #[test]
    fn spans_follow_the_order_of_sending_and_need_two_packets() {
        assert_eq!(arrived(&[4]).spans(), None);
        // The second overtook the first.
        let arrival = arrived(&[3, 2, 9]);
        assert_eq!(arrival.spans(), spans(7, 2));
    }

    #[test]
    fn a_duplicate_counts_once_and_the_last_packet_ends_the_burst() {
        let mut arrival = arrived(&[0, 0]);
        assert_eq!(arrival.received(), 1);
        assert!(!arrival.add(Time::ZERO, &packet(8)));
        assert!(!arrival.has_last());
        assert!(arrival.add(Time::ZERO, &packet(9)) && arrival.has_last());
    }

    #[test]
    fn the_delivered_rate_is_of_the_span_or_else_of_the_interval() {
        // Four gaps of 12,000 bits in 8 ms.
        let rate = arrived(&[1, 2, 5, 6, 8]).delivered_rate(PACKET);
        assert_eq!(rate, Rate::from_bits_per_sec(6_000_000));
        // One packet in 10 ms.
        let rate = arrived(&[4]).delivered_rate(PACKET);
        assert_eq!(rate, Rate::from_bits_per_sec(1_200_000));
    }

    #[test]
    fn a_peer_cannot_choose_the_memory_or_the_wait() {
        let wrong = |index, count| BurstPacket {
            index,
            count,
            interval: Duration::MAX,
            ..packet(0)
        };
        for (index, count) in [(0, 0), (5, 5), (0, MAX_PACKETS + 1), (u32::MAX, u32::MAX)] {
            assert!(Arrival::new(Time::ZERO, &wrong(index, count)).is_none());
        }
        let mut arrival = Arrival::new(Time::ZERO, &wrong(0, 4)).expect("valid");
        assert_eq!(arrival.deadline(), Time::ZERO + LONGEST_WAIT);
        // A later packet that gives another count.
        assert!(!arrival.add(Time::ZERO, &wrong(MAX_PACKETS - 1, MAX_PACKETS)));
        assert_eq!((arrival.received(), arrival.held.0.len()), (1, 1));
        // Times that run backwards.
        let last = BurstPacket {
            sent: 0,
            ..packet(3)
        };
        let first = BurstPacket {
            sent: 9,
            ..packet(0)
        };
        let mut arrival = Arrival::new(Time::ZERO, &first).expect("valid");
        arrival.add(Time::ZERO + MS, &last);
        assert_eq!(arrival.spans(), None);
    }

    proptest! {
        #[test]
        fn gaps_are_the_packets_that_did_not_arrive(
            count in 1u32..300,
            indexes in prop::collection::vec(any::<u32>(), 1..300),
        ) {
            let made = |index: &u32| BurstPacket { index: index % count, count, ..packet(0) };
            let mut arrival = Arrival::new(Time::ZERO, &made(&indexes[0])).expect("valid");
            for index in &indexes {
                arrival.add(Time::ZERO, &made(index));
            }
            let held: std::collections::BTreeSet<_> = indexes.iter().map(|i| i % count).collect();
            prop_assert_eq!(arrival.received() as usize, held.len());
            let gaps = arrival.gaps();
            for pair in gaps.windows(2) {
                prop_assert!(pair[0].0 + pair[0].1 < pair[1].0, "apart: {:?}", gaps);
            }
            let missing: Vec<_> = gaps.iter().flat_map(|(from, n)| *from..from + n).collect();
            let expected: Vec<_> = (0..count).filter(|i| !held.contains(i)).collect();
            prop_assert_eq!(missing, expected);
        }
    }
}
