//! Packet trains: they measure the bandwidth of the path by how far it spreads packets that left
//! together (section 4 of the paper).
//!
//! * (3) `BW_i = b*(N-1)/Qb_i`: b bits in a packet, N packets of the train received, Qb_i from the
//!   first to the last
//! * (4) BW is the mean of the last ten
//!
//! Trains have 2, 4, ... 20 packets. **Decided here, because the paper leaves it open:** a train
//! waits for the confirmation of the train before it. Trains that follow each other at once would
//! queue behind each other and could overflow the queue that they measure. The wait costs ten round
//! trips. A train is over when its last packet and another have arrived (on a path that reorders,
//! the last may be the first), or when none has arrived for `PATIENCE`: the last packet never gets
//! through a queue that is shorter than the train.
//!
//! A peer may send any number of packets in a train, or send them closer together than its link
//! would: it can raise its own estimate up to `MAX_RATE`, and no memory grows with it.
//!
//! A train measures the capacity of the narrowest link if nothing else enters its queue meanwhile;
//! cross traffic reduces the estimate. If a whole train arrives at one instant, because no link on
//! the path has a rate, the estimate is `MAX_RATE`.

use std::collections::VecDeque;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Maximum number of packets in a train; the minimum is two.
pub const MAX_TRAIN: u8 = 20;
/// Trains in an estimate.
pub const TRAINS: u8 = 10;
/// A train is over after a silence of this length. The sender waits longer for the confirmation.
pub const PATIENCE: Duration = Duration::from_millis(500);
/// Upper bound of an estimate.
const MAX_RATE: Rate = Rate::from_bits_per_sec(100_000_000_000);

/// Packets of train `step`, from 0 to 9.
pub fn packets(step: u8) -> u8 {
    step.saturating_add(1).saturating_mul(2).min(MAX_TRAIN)
}

/// A rate that the other end reported, bounded: no link is faster than `MAX_RATE`.
pub fn bounded_rate(bits_per_sec: u64) -> Rate {
    Rate::from_bits_per_sec(bits_per_sec).min(MAX_RATE)
}

/// The trains of a receiver.
#[derive(Debug, Default)]
pub struct Trains {
    arriving: Option<Arriving>,
    /// The newest train that is over.
    over: Option<u32>,
    /// BW_i of the last ten.
    last: VecDeque<Rate>,
}

#[derive(Debug, Clone, Copy)]
struct Arriving {
    number: u32,
    first: Time,
    latest: Time,
    received: u32,
    /// Its last packet has arrived.
    ended: bool,
}

impl Trains {
    /// When the current train is over even without its last packet.
    pub fn deadline(&self) -> Option<Time> {
        self.arriving.map(|arriving| arriving.latest + PATIENCE)
    }

    /// Packet `index` of the `count` packets of train `number` arrived; `packet` is its size on the
    /// wire, including headers. Returns the number of the train if it is now over and gave an
    /// estimate: it is to be confirmed.
    ///
    /// Numbers of trains ascend. A train whose number is not above that of the last one that is
    /// over is ignored.
    pub fn on_packet(
        &mut self,
        now: Time,
        number: u32,
        index: u8,
        count: u8,
        packet: Bytes,
    ) -> Option<u32> {
        let over = self.over.is_some_and(|over| number <= over);
        let older = |arriving: Arriving| number < arriving.number;
        if over || self.arriving.is_some_and(older) {
            return None; // A straggler.
        }
        let arriving = match &mut self.arriving {
            Some(arriving) if arriving.number == number => arriving,
            other => other.insert(Arriving {
                number,
                first: now,
                latest: now,
                received: 0,
                ended: false,
            }),
        };
        arriving.received = arriving.received.saturating_add(1);
        arriving.latest = now;
        arriving.ended |= index.checked_add(1) == Some(count);
        if arriving.ended && arriving.received > 1 {
            self.end(packet)
        } else {
            None
        }
    }

    /// The time is `now`. Returns as [`Self::on_packet`] does.
    pub fn on_timer(&mut self, now: Time, packet: Bytes) -> Option<u32> {
        if self.deadline().is_some_and(|at| at <= now) {
            self.end(packet)
        } else {
            None
        }
    }

    /// The current train is over.
    fn end(&mut self, packet: Bytes) -> Option<u32> {
        let arriving = self.arriving.take()?;
        self.over = Some(arriving.number);
        if arriving.received < 2 {
            return None;
        }
        let bits = packet.times(u64::from(arriving.received - 1));
        let span = arriving.latest.since(arriving.first);
        if self.last.len() == usize::from(TRAINS) {
            self.last.pop_front();
        }
        let rate = Rate::over(bits, span.max(Duration::from_nanos(1)));
        self.last.push_back(rate.min(MAX_RATE));
        Some(arriving.number)
    }

    /// The median of the estimates; zero if there are none. For real clocks: if the first of two
    /// packets is 70 us late, their rate is ten times that of the link, and one such train would
    /// raise the mean of ten by the whole rate.
    pub fn median(&self) -> Rate {
        let mut sorted: Vec<u64> = self
            .last
            .iter()
            .map(|rate| rate.as_bits_per_sec())
            .collect();
        sorted.sort_unstable();
        let middle = sorted.len() / 2;
        let upper = sorted.get(middle).copied().unwrap_or(0);
        let lower = match sorted.len() % 2 {
            0 => middle
                .checked_sub(1)
                .and_then(|below| sorted.get(below))
                .copied(),
            _ => None,
        };
        Rate::from_bits_per_sec(lower.map_or(upper, |lower| lower.midpoint(upper)))
    }

    /// The number of estimates, up to ten.
    pub fn measured(&self) -> u8 {
        self.last.len() as u8
    }

    /// The estimate of the newest train; zero before the first.
    pub fn latest(&self) -> Rate {
        self.last.back().copied().unwrap_or(Rate::ZERO)
    }

    /// BW: the mean of the estimates; zero if there are none.
    pub fn mean(&self) -> Rate {
        let sum: u64 = self.last.iter().map(|rate| rate.as_bits_per_sec()).sum();
        Rate::from_bits_per_sec(sum / (self.last.len() as u64).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Bytes = Bytes::new(1500);

    /// A train of `count` packets, of which those with these indexes arrive 120 us apart: 100
    /// Mbit/s.
    fn send(
        trains: &mut Trains,
        number: u32,
        count: u8,
        arriving: impl Iterator<Item = u8>,
    ) -> bool {
        let mut confirmed = None;
        for index in arriving {
            let at =
                Time::from_nanos(u64::from(number) * 1_000_000_000 + u64::from(index) * 120_000);
            confirmed = trains.on_packet(at, number, index, count, PACKET);
        }
        confirmed == Some(number)
    }

    #[test]
    fn ten_trains_of_two_to_twenty_packets() {
        let sizes: Vec<u8> = (0..TRAINS).map(packets).collect();
        assert_eq!(sizes, [2, 4, 6, 8, 10, 12, 14, 16, 18, 20]);
    }

    #[test]
    fn equally_spaced_packets_give_their_rate() {
        let mut trains = Trains::default();
        for step in 0..TRAINS {
            assert!(send(
                &mut trains,
                step.into(),
                packets(step),
                0..packets(step)
            ));
        }
        assert_eq!(trains.measured(), 10);
        assert_eq!(trains.mean(), Rate::from_bits_per_sec(100_000_000));
    }

    #[test]
    fn a_train_that_arrived_in_a_lump_does_not_move_the_median() {
        let mut trains = Trains::default();
        assert_eq!(trains.median(), Rate::ZERO);
        // Two packets 1 us apart: 12 Gbit/s.
        for (index, at) in [(0, 0), (1, 1_000)] {
            let _ = trains.on_packet(Time::from_nanos(at), 0, index, 2, PACKET);
        }
        assert_eq!(trains.median(), Rate::from_bits_per_sec(12_000_000_000));
        for step in 1..TRAINS {
            assert!(send(
                &mut trains,
                step.into(),
                packets(step),
                0..packets(step)
            ));
        }
        assert_eq!(trains.median(), Rate::from_bits_per_sec(100_000_000));
        assert!(trains.mean() > Rate::from_bits_per_sec(1_000_000_000));
    }

    #[test]
    fn losses_reduce_the_estimate_and_a_lost_last_packet_delays_it() {
        let mut trains = Trains::default();
        // (3) counts what was received: 2 gaps of data over 3 gaps of time.
        assert!(send(&mut trains, 0, 4, [0, 1, 3].into_iter()));
        assert_eq!(trains.mean(), Rate::from_bits_per_sec(66_666_666));
        assert!(!send(&mut trains, 2, 2, 1..2), "one packet spans nothing");
        // The sender tries again with a new number; a late packet of the old train is ignored.
        assert!(!send(&mut trains, 1, 4, 3..4));
        assert_eq!(trains.measured(), 1);
        // The last packet is lost: the train is over half a second after the packet before it.
        assert!(!send(&mut trains, 3, 4, 0..3));
        let over = Time::from_nanos(3_000_240_000) + PATIENCE;
        assert_eq!(trains.deadline(), Some(over));
        assert_eq!(trains.on_timer(over, PACKET), Some(3));
        assert_eq!(trains.mean(), Rate::from_bits_per_sec(83_333_333));
        assert_eq!(trains.deadline(), None);
    }

    #[test]
    fn a_train_is_measured_if_its_last_packet_arrives_first() {
        let mut trains = Trains::default();
        let mut arrive = |index, ms: u64| {
            trains.on_packet(Time::from_nanos(ms * 1_000_000), 0, index, 2, PACKET)
        };
        assert_eq!(arrive(1, 100), None, "one packet spans nothing yet");
        assert_eq!(arrive(0, 112), Some(0));
        // 12,000 bits in 12 ms.
        assert_eq!(trains.mean(), Rate::from_bits_per_sec(1_000_000));
    }

    #[test]
    fn a_path_without_a_rate_gives_the_maximum_rate() {
        let mut trains = Trains::default();
        for index in 0..2 {
            trains.on_packet(Time::ZERO, 0, index, 2, PACKET);
        }
        assert_eq!(trains.mean(), MAX_RATE);
    }

    #[test]
    fn any_packets_of_a_peer_give_a_bounded_estimate() {
        assert_eq!(packets(u8::MAX), MAX_TRAIN);
        let mut trains = Trains::default();
        for (number, index, count) in [(0, 255, 0), (0, 255, 255), (0, 0, 0), (u32::MAX, 7, 2)] {
            trains.on_packet(Time::ZERO, number, index, count, Bytes::new(u64::MAX));
        }
        trains.on_timer(Time::ZERO + PATIENCE, PACKET);
        assert!(trains.measured() <= TRAINS && trains.mean() <= MAX_RATE);
        assert_eq!(bounded_rate(u64::MAX), MAX_RATE);
    }

    #[test]
    fn only_the_last_ten_count() {
        let mut trains = Trains::default();
        send(&mut trains, 0, 4, [0, 3].into_iter());
        for number in 1..=10 {
            send(&mut trains, number, 4, 0..4);
        }
        assert_eq!(trains.mean(), Rate::from_bits_per_sec(100_000_000));
    }
}
