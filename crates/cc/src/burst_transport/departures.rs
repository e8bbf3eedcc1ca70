//! When the packets of a burst leave: evenly spaced over T_burst (5), (6).
//!
//! **Decided here, because the paper leaves it open:** a burst is paced, not sent at line rate (see
//! `aatp` in the registry for the reason), so a new rate applies from the next burst on.

use super::MAX_PACKETS;
use crate::interface::BurstPlan;
use whimbrel_units::{Bytes, Duration, Time};

/// The size and the pace of one burst.
#[derive(Debug, Clone, Copy)]
pub struct Departures {
    began: Time,
    count: u32,
    spacing_ns: f64,
}

impl Departures {
    /// Plans a burst that begins at `began` and lasts about `interval`, which is T_burst =
    /// max(timer, srtt) (5), at the rate of `plan`.
    ///
    /// `packet` is the size of a full packet on the wire, including headers. The burst has at least
    /// one packet, at most `available`, and at most [`MAX_PACKETS`]; none if `available` is zero.
    pub fn new(
        began: Time,
        plan: &BurstPlan,
        packet: Bytes,
        interval: Duration,
        available: u32,
    ) -> Self {
        let bits = packet.get().saturating_mul(8) as f64;
        let spacing_ns = bits * 1e9 / (plan.rate.as_bits_per_sec().max(1) as f64);
        // (6), and at least one packet.
        let packets = (interval.as_nanos() as f64 / spacing_ns).round().max(1.0);
        Self {
            began,
            count: (packets as u32).min(MAX_PACKETS).min(available),
            spacing_ns,
        }
    }

    /// Number of packets.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The span over which they leave.
    pub fn interval(&self) -> Duration {
        Duration::from_nanos((self.spacing_ns * f64::from(self.count)) as u64)
    }

    /// When packet `index` leaves; with [`count`](Self::count), when the next burst may begin.
    pub fn at(&self, index: u32) -> Time {
        self.began + Duration::from_nanos((self.spacing_ns * f64::from(index)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_units::Rate;

    fn planned(bits_per_sec: u64, packet: u64, ms: u64, available: u32) -> Departures {
        let plan = BurstPlan {
            rate: Rate::from_bits_per_sec(bits_per_sec),
            increase: 0.0,
        };
        let began = Time::ZERO + Duration::from_secs(1);
        let interval = Duration::from_millis(ms);
        Departures::new(began, &plan, Bytes::new(packet), interval, available)
    }

    #[test]
    fn packets_are_evenly_spaced_over_the_interval() {
        // 12 Mbit/s in packets of 1500 bytes: one per ms.
        let burst = planned(12_000_000, 1500, 20, 1000);
        assert_eq!(burst.count(), 20);
        assert_eq!(burst.interval(), Duration::from_millis(20));
        assert_eq!(burst.at(0), Time::from_nanos(1_000_000_000));
        assert_eq!(burst.at(3), Time::from_nanos(1_003_000_000));
        assert_eq!(burst.at(20), Time::from_nanos(1_020_000_000));
    }

    #[test]
    fn little_data_makes_a_shorter_burst() {
        let burst = planned(12_000_000, 1500, 20, 4);
        assert_eq!(burst.count(), 4);
        assert_eq!(burst.interval(), Duration::from_millis(4));
    }

    #[test]
    fn any_plan_gives_a_bounded_burst() {
        assert_eq!(planned(1, 1500, 20, 9).count(), 1, "at least one packet");
        assert_eq!(planned(0, 1500, 20, 9).count(), 1);
        assert_eq!(planned(u64::MAX, 1, 10_000, u32::MAX).count(), MAX_PACKETS);
        assert_eq!(planned(12_000_000, 0, 20, 9).count(), 9, "no size: no pace");
        assert_eq!(planned(12_000_000, 0, 0, 9).count(), 1);
        let last = planned(0, u64::MAX, 20, 9).at(u32::MAX);
        assert_eq!(last, Time::from_nanos(u64::MAX), "far, not around");
    }
}
