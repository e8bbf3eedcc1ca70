//! The receiver of bursts and trains: decides when each is over.
//!
//! A burst is over when its last packet or a packet of a later burst has arrived, or when nothing
//! has arrived for an interval. The carrier then reports it. A packet of a burst that is over
//! belongs to no report.

use super::{Arrival, BurstPacket, Trains};
use whimbrel_units::{Bytes, Time};

/// The receiver of one flow.
#[derive(Debug, Default)]
pub struct Receiver {
    trains: Trains,
    arriving: Option<Arrival>,
    /// The first burst that is not over.
    next_burst: u32,
}

/// A burst that is over.
#[derive(Debug)]
pub struct ArrivedBurst {
    /// What arrived of it.
    pub arrival: Arrival,
    /// Bursts just before it of which nothing arrived.
    pub lost_bursts: u32,
}

impl Receiver {
    /// What the trains measured.
    pub fn trains(&self) -> &Trains {
        &self.trains
    }

    /// When a burst or a train is over without its end.
    pub fn deadline(&self) -> Option<Time> {
        let burst = self.arriving.as_ref().map(Arrival::deadline);
        burst.into_iter().chain(self.trains.deadline()).min()
    }

    /// A packet of a train arrived: see [`Trains::on_packet`].
    pub fn on_train(
        &mut self,
        at: Time,
        number: u32,
        index: u8,
        count: u8,
        packet: Bytes,
    ) -> Option<u32> {
        self.trains.on_packet(at, number, index, count, packet)
    }

    /// A packet of a burst arrived at `at`. Returns the bursts that are over, in order: that before
    /// it, and its own.
    pub fn on_packet(&mut self, at: Time, packet: &BurstPacket) -> [Option<ArrivedBurst>; 2] {
        let arriving = self.arriving.as_ref().map(Arrival::burst);
        if packet.burst < self.next_burst || arriving.is_some_and(|burst| burst > packet.burst) {
            return [None, None]; // Overtaken by a later burst.
        }
        let before = match arriving {
            Some(burst) if burst < packet.burst => self.end(),
            _ => None,
        };
        let over = match &mut self.arriving {
            Some(arrival) => arrival.add(at, packet),
            None => {
                self.arriving = Arrival::new(at, packet);
                self.arriving.as_ref().is_some_and(Arrival::has_last)
            }
        };
        [before, if over { self.end() } else { None }]
    }

    /// The time is `at`. Returns the burst and the number of the train that are over; `packet` is
    /// the size of a train's packets on the wire.
    pub fn on_timer(&mut self, at: Time, packet: Bytes) -> (Option<ArrivedBurst>, Option<u32>) {
        let silent = self.arriving.as_ref().is_some_and(|a| a.deadline() <= at);
        let burst = if silent { self.end() } else { None };
        (burst, self.trains.on_timer(at, packet))
    }

    fn end(&mut self) -> Option<ArrivedBurst> {
        let arrival = self.arriving.take()?;
        let lost_bursts = arrival.burst() - self.next_burst;
        self.next_burst = arrival.burst().saturating_add(1);
        Some(ArrivedBurst {
            arrival,
            lost_bursts,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use whimbrel_units::Duration;

    fn ms(n: u64) -> Time {
        Time::ZERO + Duration::from_millis(n)
    }

    fn packet(burst: u32, index: u32) -> BurstPacket {
        BurstPacket {
            burst,
            index,
            count: 10,
            interval: Duration::from_millis(10),
            sent: 0,
        }
    }

    /// The numbers of the bursts that are over, with the packets that arrived and the bursts lost
    /// before.
    fn over(bursts: [Option<ArrivedBurst>; 2]) -> Vec<(u32, u32, u32)> {
        let of = |b: ArrivedBurst| (b.arrival.burst(), b.arrival.received(), b.lost_bursts);
        bursts.into_iter().flatten().map(of).collect()
    }

    #[test]
    fn a_burst_is_over_with_its_last_packet_or_a_later_burst() {
        let mut receiver = Receiver::default();
        assert_eq!(over(receiver.on_packet(ms(0), &packet(2, 8))), []);
        assert_eq!(over(receiver.on_packet(ms(1), &packet(2, 9))), [(2, 2, 2)]);
        assert_eq!(over(receiver.on_packet(ms(2), &packet(2, 7))), [], "late");
        assert_eq!(over(receiver.on_packet(ms(3), &packet(3, 0))), []);
        let both = over(receiver.on_packet(ms(4), &packet(5, 9)));
        assert_eq!(both, [(3, 1, 0), (5, 1, 1)]);
    }

    #[test]
    fn a_burst_without_its_end_is_over_after_an_interval() {
        let mut receiver = Receiver::default();
        receiver.on_packet(ms(4), &packet(0, 0));
        assert_eq!(receiver.deadline(), Some(ms(14)));
        assert!(receiver.on_timer(ms(13), Bytes::new(1500)).0.is_none());
        assert!(receiver.on_timer(ms(14), Bytes::new(1500)).0.is_some());
        assert_eq!(receiver.deadline(), None);
    }

    #[test]
    fn packets_that_arrive_in_lumps_share_an_instant() {
        let mut receiver = Receiver::default();
        for index in 0..10 {
            let [_, over] = receiver.on_packet(ms(u64::from(index / 5) * 5), &packet(0, index));
            if let Some(burst) = over {
                assert_eq!(
                    (burst.arrival.received(), burst.arrival.instants()),
                    (10, 2)
                );
            }
        }
        assert_eq!(receiver.next_burst, 1);
    }

    proptest! {
        #[test]
        fn any_packets_give_each_burst_once_and_in_order(
            packets in prop::collection::vec((0u64..30, any::<u32>(), 0u32..12, 0u32..12), 1..200),
        ) {
            let (mut receiver, mut now, mut next) = (Receiver::default(), 0, 0);
            for (after, burst, index, count) in packets {
                now += after;
                let (timed, _) = receiver.on_timer(ms(now), Bytes::new(1500));
                let packet = BurstPacket { index, count, ..packet(burst % 50, 0) };
                let arrived = receiver.on_packet(ms(now), &packet);
                for burst in [timed].into_iter().chain(arrived).flatten() {
                    prop_assert_eq!(burst.arrival.burst(), next + burst.lost_bursts);
                    next = burst.arrival.burst() + 1;
                }
                prop_assert!(receiver.deadline().is_none_or(|at| at > ms(now)));
            }
        }
    }
}
