//! Policer: drops what exceeds a rate, without a queue of its own.
//!
//! A token bucket: it fills at `rate` up to `burst` bytes; a packet that finds as many tokens as it
//! has bytes takes them and passes, any other packet is dropped. This is the single-rate meter of
//! J. Heinanen, R. Guerin, "A Single Rate Three Color Marker", RFC 2697, 1999, with an excess burst
//! of zero, whose red packets are dropped. T. Flach et al., "An Internet-Wide Analysis of Traffic
//! Policing", ACM SIGCOMM 2016, found policers on 7 % of connections.
//!
//! It is computed as virtual scheduling (the generic cell rate algorithm of ITU-T I.371), which is
//! exact in whole nanoseconds: a packet passes if the bucket, drained by all packets before it at
//! `rate`, is no more than `burst` behind.
//!
//! **The physics.** To a sender, a policed link first looks fast, then loses everything above the
//! rate, without any delay before: there is no queue to measure. An algorithm that takes losses
//! without a queue for random ones keeps sending too fast.

use super::{AqmDecision, Arrival};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Drops what exceeds a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer {
    /// The rate that passes in the long run, headers included; above zero.
    pub rate: Rate,
    /// What may pass at once after a pause.
    pub burst: Bytes,
}

/// The bucket of one policer.
#[derive(Debug, Clone)]
pub(crate) struct PolicerState {
    policer: Policer,
    /// When the bucket would be full again if nothing came.
    full_at: Time,
}

impl PolicerState {
    pub fn new(policer: Policer) -> Self {
        Self {
            policer,
            full_at: Time::ZERO,
        }
    }

    pub fn arrive(&mut self, arrival: &Arrival) -> AqmDecision {
        let Policer { rate, burst } = self.policer;
        let from = self.full_at.max(arrival.now);
        let full_at = from + rate.time_for(Bytes::new(arrival.size.into()));
        if full_at.since(arrival.now) > rate.time_for(burst) {
            return AqmDecision::Drop;
        }
        self.full_at = full_at;
        AqmDecision::Pass
    }
}

/// The time in which a policer passes its burst, if it is not written: a compromise between the
/// 10 ms and 100 ms of common configurations.
pub(super) const BURST_TIME: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    /// The milliseconds at which packets of 1500 bytes pass that arrive at these milliseconds, at
    /// 12 Mbit/s (a packet in 1 ms) with a burst of three packets.
    fn passes(arrivals: &[u64]) -> Vec<u64> {
        let mut state = PolicerState::new(Policer {
            rate: Rate::from_bits_per_sec(12_000_000),
            burst: Bytes::new(4500),
        });
        let mut pass = |ms: u64| {
            let arrival = Arrival {
                now: Time::ZERO + Duration::from_millis(ms),
                size: 1500,
                ect: true,
                packets: 0,
                bytes: 0,
                idle: Duration::ZERO,
            };
            state.arrive(&arrival) == AqmDecision::Pass
        };
        arrivals.iter().copied().filter(|ms| pass(*ms)).collect()
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        // Three at once, then one each millisecond.
        assert_eq!(passes(&[0, 0, 0, 0, 0]), [0, 0, 0]);
        assert_eq!(passes(&[0, 0, 0, 0, 1, 1, 2, 2, 2]), [0, 0, 0, 1, 2]);
    }

    #[test]
    fn a_pause_fills_the_bucket_up_to_the_burst() {
        assert_eq!(
            passes(&[0, 0, 0, 100, 100, 100, 100]),
            [0, 0, 0, 100, 100, 100]
        );
        // Two milliseconds fill two packets.
        assert_eq!(passes(&[0, 0, 0, 2, 2, 2]), [0, 0, 0, 2, 2]);
    }
}
