//! What a receiver knows of the burst that is arriving.

use super::wire::Data;
use crate::engine::packet::Block;
use crate::ranges::Ranges;
use whimbrel_units::{Duration, Time};

/// A receiver waits at most so long for the next packet of a burst, whatever interval the peer names.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// A packet's departure and arrival.
#[derive(Debug, Clone, Copy)]
struct Passage {
    index: u32,
    sent: u64,
    at: Time,
}

/// A burst of which something has arrived.
#[derive(Debug)]
pub(super) struct Arrival {
    pub burst: u32,
    pub count: u32,
    interval: Duration,
    held: Ranges,
    received: u32,
    first: Passage,
    last: Passage,
    newest_at: Time,
}

impl Arrival {
    /// The first packet of a burst arrived.
    pub fn new(now: Time, data: &Data) -> Self {
        let passage = Passage {
            index: data.index,
            sent: data.sent,
            at: now,
        };
        let mut arrival = Self {
            burst: data.burst,
            count: data.count,
            interval: Duration::from_nanos(data.interval).min(LONGEST_WAIT),
            held: Ranges::default(),
            received: 0,
            first: passage,
            last: passage,
            newest_at: now,
        };
        arrival.add(now, data);
        arrival
    }

    /// A packet of it arrived; true if it was its last.
    pub fn add(&mut self, now: Time, data: &Data) -> bool {
        let mut new = false;
        let packet = Block {
            start: data.index,
            end: data.index + 1,
        };
        self.held.insert(packet, |_| new = true);
        if !new {
            return false;
        }
        self.received += 1;
        self.newest_at = now;
        let passage = Passage {
            index: data.index,
            sent: data.sent,
            at: now,
        };
        if data.index < self.first.index {
            self.first = passage;
        }
        if data.index > self.last.index {
            self.last = passage;
        }
        data.index + 1 == self.count
    }

    /// When nothing more is expected of it: its packets are never an interval apart.
    pub fn deadline(&self) -> Time {
        self.newest_at + self.interval
    }

    /// The span over which the sender sends it.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    pub fn received(&self) -> u32 {
        self.received
    }

    /// When its last packet, by its place in the burst, arrived.
    pub fn last_at(&self) -> Time {
        self.last.at
    }

    /// Spans between the first and the last that arrived, at the sender and here, in nanoseconds.
    pub fn spans(&self) -> Option<(u64, u64)> {
        let sent = self.last.sent.checked_sub(self.first.sent)?;
        let received = self.last.at.since(self.first.at).as_nanos();
        (self.received >= 2).then_some((sent, received))
    }

    /// What is missing: start and length.
    pub fn gaps(&self) -> Vec<(u32, u32)> {
        let mut gaps = Vec::new();
        let mut end = 0;
        for block in self.held.blocks() {
            if block.start > end {
                gaps.push((end, block.start - end));
            }
            end = block.end;
        }
        if end < self.count {
            gaps.push((end, self.count - end));
        }
        gaps
    }
}

/// Gaps in parts of at most `fit`, and at most `parts` parts: what does not fit is named in one last gap that covers
/// all from there on, so that the sender resends too much rather than too little.
pub(super) fn parts(
    gaps: &[(u32, u32)],
    fit: usize,
    parts: u8,
    count: u32,
) -> Vec<Vec<(u32, u32)>> {
    let most = fit * usize::from(parts);
    let mut gaps = gaps.to_vec();
    if gaps.len() > most {
        gaps.truncate(most);
        if let Some(last) = gaps.last_mut() {
            last.1 = count - last.0;
        }
    }
    if gaps.is_empty() {
        return vec![gaps];
    }
    gaps.chunks(fit).map(<[_]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn data(index: u32) -> Data {
        Data {
            sequence: 100 + index,
            burst: 3,
            index,
            count: 10,
            interval: 10_000_000,
            sent: u64::from(index) * 1_000_000,
            ack: None,
        }
    }

    /// A burst sent at one packet a ms, of which these arrive, each 2 ms after the one before.
    fn arrived(indexes: &[u32]) -> Arrival {
        let at = |i: usize| Time::ZERO + MS * (50 + 2 * i as u64);
        let mut arrival = Arrival::new(at(0), &data(indexes[0]));
        for (i, index) in indexes.iter().enumerate().skip(1) {
            arrival.add(at(i), &data(*index));
        }
        arrival
    }

    #[test]
    fn gaps_and_spans_are_of_what_arrived() {
        let arrival = arrived(&[1, 2, 5, 6, 8]);
        assert_eq!(arrival.gaps(), [(0, 1), (3, 2), (7, 1), (9, 1)]);
        assert_eq!(arrival.received(), 5);
        // Sent from 1 to 8 ms, received over four times 2 ms.
        assert_eq!(arrival.spans(), Some((7_000_000, 8_000_000)));
        assert_eq!(arrival.deadline(), Time::ZERO + MS * 68);
    }

    #[test]
    fn spans_follow_the_order_of_sending_and_need_two_packets() {
        assert_eq!(arrived(&[4]).spans(), None);
        // The second overtook the first.
        let arrival = arrived(&[3, 2, 9]);
        assert_eq!(arrival.spans(), Some((7_000_000, 2_000_000)));
    }

    #[test]
    fn a_packet_that_came_twice_counts_once_and_the_last_ends_it() {
        let mut arrival = arrived(&[0, 0]);
        assert_eq!(arrival.received(), 1);
        assert!(!arrival.add(Time::ZERO, &data(8)));
        assert!(arrival.add(Time::ZERO, &data(9)));
    }

    #[test]
    fn more_gaps_than_fit_are_named_in_several_parts_and_the_rest_in_one() {
        let gaps: Vec<(u32, u32)> = (0..10).map(|i| (10 * i, 1)).collect();
        assert_eq!(parts(&[], 4, 3, 100), [vec![]]);
        let split = parts(&gaps, 4, 3, 100);
        assert_eq!(split.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 2]);
        let split = parts(&gaps, 4, 2, 100);
        assert_eq!(split[1], [(40, 1), (50, 1), (60, 1), (70, 30)]);
    }
}
