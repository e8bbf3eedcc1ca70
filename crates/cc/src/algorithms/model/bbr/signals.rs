//! The parts of the input processing that both versions of BBR share.

use whimbrel_units::{Duration, Rate, Time};

/// The pacing rate is never below so many segments per second.
///
/// Neither source has this minimum. A rate of zero, which a wrong sample can give, would never send
/// again and so never be measured again.
const SLOWEST: u64 = 1;

/// Fraction of the estimated bandwidth at which both versions pace (bbr_pacing_margin_percent = 1),
/// so that a queue drains rather than grows on average.
const PACING_MARGIN: f64 = 0.99;

/// RTT assumed before the first sample, for the first pacing rate.
const NOMINAL_RTT: Duration = Duration::from_millis(1);

/// Counts round trips by packets: a round ends when a packet is acknowledged that was sent after it
/// began.
///
/// BBR counts its own rounds: they restart where the algorithm requires it, as at the start of a
/// recovery.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rounds {
    /// The round ends with a packet that was sent when at least this many bytes had been delivered.
    end: u64,
    /// A new round begins with the next acknowledgment.
    pending: bool,
}

impl Rounds {
    /// Begins a round now, with `delivered` bytes delivered.
    pub fn start(&mut self, delivered: u64) {
        *self = Self {
            end: delivered,
            pending: false,
        };
    }

    /// Begins a round with the next acknowledgment: losses are reported before the number of
    /// delivered bytes is known.
    pub fn start_with_next_ack(&mut self) {
        self.pending = true;
    }

    /// Processes an acknowledgment whose newest packet was sent when `prior` bytes had been
    /// delivered, and which brings them to `delivered`. Returns whether it ends the round (and
    /// begins the next).
    pub fn on_ack(&mut self, prior: u64, delivered: u64) -> bool {
        let ends = !self.pending && prior >= self.end;
        if ends || self.pending {
            self.start(delivered);
        }
        ends
    }
}

/// The flights that the algorithm itself kept small (ProbeRTT), so that their rates do not measure
/// the path. The sources mark the connection as application-limited instead.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OwnLimit {
    /// Packets sent while the delivered bytes were in this range.
    flights: Option<(u64, u64)>,
}

impl OwnLimit {
    /// Marks everything in flight now, and everything sent until it is delivered, as limited.
    pub fn mark(&mut self, delivered: u64, in_flight: u64) {
        let since = match self.flights {
            Some((since, until)) if delivered <= until => since,
            _ => delivered,
        };
        self.flights = Some((since, delivered.saturating_add(in_flight)));
    }

    /// Whether a packet was limited that was sent when `prior` bytes had been delivered.
    pub fn covers(&self, prior: u64) -> bool {
        self.flights
            .is_some_and(|(since, until)| (since..=until).contains(&prior))
    }
}

/// Data acknowledged in excess of the bandwidth, a sign of aggregated acknowledgments (or data).
///
/// Counted since the last time when no more than expected had been acknowledged
/// (bbr_update_ack_aggregation; draft-ietf-ccwg-bbr-06 section 5.5.9).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AckEpoch {
    start: Time,
    /// Bytes acknowledged since.
    acked: u64,
}

impl AckEpoch {
    /// Restarts the count at `now`.
    pub fn restart(&mut self, now: Time) {
        *self = Self {
            start: now,
            acked: 0,
        };
    }

    /// Adds `acked` bytes on a path with `bandwidth`. Returns the excess so far, bytes.
    pub fn excess(&mut self, now: Time, acked: u64, bandwidth: Rate) -> u64 {
        let mut expected = bandwidth.bytes_in(now.since(self.start)).get();
        if self.acked <= expected {
            self.restart(now);
            expected = 0;
        }
        self.acked = self.acked.saturating_add(acked);
        self.acked - expected.min(self.acked)
    }
}

/// The pacing rate for a bandwidth estimate and a gain.
pub(crate) fn paced(bandwidth: Rate, gain: f64) -> Rate {
    bandwidth.mul_f64(gain * PACING_MARGIN)
}

/// The bandwidth of one window per `srtt`; `srtt` is zero before the first sample.
pub(crate) fn nominal_bandwidth(cwnd: u64, srtt: Duration) -> Rate {
    let rtt = if srtt.is_zero() { NOMINAL_RTT } else { srtt };
    Rate::over(whimbrel_units::Bytes::new(cwnd), rtt)
}

/// `rate`, but at least the rate at which the connection does not stop.
pub(crate) fn at_least_slowest(rate: Rate, mss: u64) -> Rate {
    rate.max(Rate::from_bytes_per_sec(mss.max(1).saturating_mul(SLOWEST)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_round_ends_with_a_packet_sent_after_it_began() {
        let mut rounds = Rounds::default();
        // Ten packets of 1000 bytes were sent at once; the first acknowledgment ends the initial
        // round.
        assert!(rounds.on_ack(0, 1_000));
        for n in 2..=10 {
            assert!(!rounds.on_ack(0, n * 1_000));
        }
        // The first packet sent after that acknowledgment.
        assert!(rounds.on_ack(1_000, 11_000));
        assert!(!rounds.on_ack(10_000, 12_000));
        assert!(rounds.on_ack(11_000, 21_000));
        rounds.start_with_next_ack();
        assert!(!rounds.on_ack(21_000, 30_000), "a new round began instead");
        assert!(!rounds.on_ack(29_000, 31_000));
        assert!(rounds.on_ack(30_000, 32_000));
    }

    #[test]
    fn limited_flights_are_identified_by_their_send_time() {
        let mut limit = OwnLimit::default();
        assert!(!limit.covers(0));
        limit.mark(100_000, 40_000);
        assert!(!limit.covers(99_000), "sent before");
        assert!(limit.covers(100_000) && limit.covers(140_000));
        limit.mark(104_000, 4_000);
        assert!(limit.covers(100_000) && limit.covers(108_000) && !limit.covers(109_000));
        limit.mark(500_000, 4_000);
        assert!(!limit.covers(104_000), "the old period has ended");
    }

    #[test]
    fn aggregated_acknowledgments_show_as_excess() {
        // 8 Mbit/s is 1000 bytes per millisecond. An aggregate of 20 packets every 20 ms: 20 more
        // than expected when it arrives.
        let bandwidth = Rate::from_bits_per_sec(8_000_000);
        let mut epoch = AckEpoch::default();
        epoch.restart(Time::ZERO);
        for lump in 1..10 {
            let excess = epoch.excess(Time::ZERO + MS * 20 * lump, 20_000, bandwidth);
            assert_eq!(excess, 20_000);
        }
        // The same bytes one by one: never more than the last packet.
        for n in 1..100 {
            let now = Time::ZERO + MS * (200 + n);
            assert!(epoch.excess(now, 1_000, bandwidth) <= 1_000);
        }
    }

    #[test]
    fn without_a_sample_the_rtt_is_assumed_to_be_1_ms() {
        // Ten packets of 1000 bytes in a millisecond.
        let rate = nominal_bandwidth(10_000, Duration::ZERO);
        assert_eq!(rate, Rate::from_bits_per_sec(80_000_000));
        assert_eq!(
            paced(rate, 1.0),
            Rate::from_bits_per_sec(79_200_000),
            "1 % below"
        );
    }
}
