//! The burst that is arriving at a receiver.

use super::wire::Data;
use crate::engine::packet::Block;
use crate::ranges::Ranges;
use whimbrel_units::{Duration, Time};

/// Maximum wait for the next packet of a burst, whatever interval the peer announces.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// When a packet left and when it arrived.
#[derive(Debug, Clone, Copy)]
struct Passage {
    index: u32,
    sent: u64,
    at: Time,
}

/// A burst of which something has arrived.
#[derive(Debug)]
pub(super) struct Arrival {
    /// Its number.
    pub burst: u32,
    /// Packets that it has.
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

    /// A packet of it arrived. Returns whether it was the last of the burst.
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

    /// When nothing more of it is expected: its packets are never a whole interval apart.
    pub fn deadline(&self) -> Time {
        self.newest_at + self.interval
    }

    /// The span over which the sender sends it.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Packets that arrived, each counted once.
    pub fn received(&self) -> u32 {
        self.received
    }

    /// When the last packet, by its index, arrived.
    pub fn last_at(&self) -> Time {
        self.last.at
    }

    /// From the first to the last packet that arrived: time at the sender and time here, in
    /// nanoseconds.
    pub fn spans(&self) -> Option<(u64, u64)> {
        let sent = self.last.sent.checked_sub(self.first.sent)?;
        let received = self.last.at.since(self.first.at).as_nanos();
        (self.received >= 2).then_some((sent, received))
    }

    /// The gaps: start and length of each.
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

/// Splits gaps into parts of at most `fit` gaps, at most `parts` of them. Gaps that do not fit are
/// merged into one last gap up to the end of the burst: the sender then retransmits too much rather
/// than too little.
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

    /// A burst sent at one packet per ms, of which these arrive, each 2 ms after the one before.
    fn arrived(indexes: &[u32]) -> Arrival {
        let at = |i: usize| Time::ZERO + MS * (50 + 2 * i as u64);
        let mut arrival = Arrival::new(at(0), &data(indexes[0]));
        for (i, index) in indexes.iter().enumerate().skip(1) {
            arrival.add(at(i), &data(*index));
        }
        arrival
    }

    #[test]
    fn gaps_and_spans_describe_what_arrived() {
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
    fn a_duplicate_counts_once_and_the_last_packet_ends_the_burst() {
        let mut arrival = arrived(&[0, 0]);
        assert_eq!(arrival.received(), 1);
        assert!(!arrival.add(Time::ZERO, &data(8)));
        assert!(arrival.add(Time::ZERO, &data(9)));
    }

    #[test]
    fn gaps_that_do_not_fit_are_merged_into_the_last_part() {
        let gaps: Vec<(u32, u32)> = (0..10).map(|i| (10 * i, 1)).collect();
        assert_eq!(parts(&[], 4, 3, 100), [vec![]]);
        let split = parts(&gaps, 4, 3, 100);
        assert_eq!(split.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 2]);
        let split = parts(&gaps, 4, 2, 100);
        assert_eq!(split[1], [(40, 1), (50, 1), (60, 1), (70, 30)]);
    }
}
