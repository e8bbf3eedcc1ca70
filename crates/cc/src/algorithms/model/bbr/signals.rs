//! What both versions of BBR read from acknowledgments in the same way.

use whimbrel_units::{Duration, Rate, Time};

/// Least time for which the window holds the rate: a pacing rate is never below one segment in this.
///
/// A floor that neither source has: a rate of zero, which a broken sample can give, would never send again and so never
/// be measured anew.
const SLOWEST_SEGMENT: Duration = Duration::from_secs(1);

/// Share of the estimated bandwidth at which both pace (bbr_pacing_margin_percent = 1), so that on average a queue
/// drains rather than grows.
const PACING_MARGIN: f64 = 0.99;

/// Round-trip time that stands for the unknown one before the first sample, for the first pacing rate.
const NOMINAL_RTT: Duration = Duration::from_millis(1);

/// Round trips counted by packets: one ends when a packet is acknowledged that was sent after it began.
///
/// Each of BBR's own: it begins anew where the algorithm says so, as at the start of a recovery.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rounds {
    /// It ends with a packet that was sent when at least this much had been delivered, bytes.
    end: u64,
    /// A new one begins with the next acknowledgment.
    pending: bool,
}

impl Rounds {
    /// A round begins now, with `delivered` bytes delivered.
    pub fn start(&mut self, delivered: u64) {
        *self = Self {
            end: delivered,
            pending: false,
        };
    }

    /// A round begins with the acknowledgment that is about to be told: losses are told before what has been
    /// delivered is known.
    pub fn start_with_next_ack(&mut self) {
        self.pending = true;
    }

    /// Whether an acknowledgment ends the round (and begins the next) whose newest packet was sent when `prior` bytes had
    /// been delivered; it brings them to `delivered`.
    pub fn on_ack(&mut self, prior: u64, delivered: u64) -> bool {
        let ends = !self.pending && prior >= self.end;
        if ends || self.pending {
            self.start(delivered);
        }
        ends
    }
}

/// The flights that the algorithm itself kept small, so that their rates say nothing of the path (ProbeRTT): what the
/// sources do by marking the connection as limited by the application.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OwnLimit {
    /// Packets sent when this much to that much had been delivered, bytes.
    flights: Option<(u64, u64)>,
}

impl OwnLimit {
    /// All that is in flight now is limited, and what is sent until it is delivered.
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

/// Data acknowledged beyond what the bandwidth accounts for: the mark of acknowledgments (or data) that come in lumps.
///
/// Counted from the last moment when no more had been acknowledged than expected (bbr_update_ack_aggregation;
/// draft-ietf-ccwg-bbr-06 section 5.5.9).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AckEpoch {
    start: Time,
    /// Bytes acknowledged since.
    acked: u64,
}

impl AckEpoch {
    /// Counts from `now` on.
    pub fn restart(&mut self, now: Time) {
        *self = Self {
            start: now,
            acked: 0,
        };
    }

    /// Takes in `acked` bytes on a path of `bandwidth`, and answers with the excess so far, bytes.
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

/// The rate to pace at for an estimate of the bandwidth and a gain.
pub(crate) fn paced(bandwidth: Rate, gain: f64) -> Rate {
    bandwidth.mul_f64(gain * PACING_MARGIN)
}

/// The bandwidth that the window would make over `srtt`, which is zero if there has been no sample.
pub(crate) fn nominal_bandwidth(cwnd: u64, srtt: Duration) -> Rate {
    let rtt = if srtt.is_zero() { NOMINAL_RTT } else { srtt };
    Rate::over(whimbrel_units::Bytes::new(cwnd), rtt)
}

/// `rate`, but never so low that the connection stands still.
pub(crate) fn at_least_slowest(rate: Rate, mss: u64) -> Rate {
    rate.max(Rate::over(
        whimbrel_units::Bytes::new(mss.max(1)),
        SLOWEST_SEGMENT,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_round_ends_with_a_packet_sent_after_it_began() {
        let mut rounds = Rounds::default();
        // Ten packets of 1000 were sent at once; the first acknowledged ends the round that was none.
        assert!(rounds.on_ack(0, 1_000));
        for n in 2..=10 {
            assert!(!rounds.on_ack(0, n * 1_000));
        }
        // The first packet sent after that acknowledgment.
        assert!(rounds.on_ack(1_000, 11_000));
        assert!(!rounds.on_ack(10_000, 12_000));
        assert!(rounds.on_ack(11_000, 21_000));
        rounds.start_with_next_ack();
        assert!(!rounds.on_ack(21_000, 30_000), "a new one began instead");
        assert!(!rounds.on_ack(29_000, 31_000));
        assert!(rounds.on_ack(30_000, 32_000));
    }

    #[test]
    fn flights_kept_small_are_known_by_when_they_were_sent() {
        let mut limit = OwnLimit::default();
        assert!(!limit.covers(0));
        limit.mark(100_000, 40_000);
        assert!(!limit.covers(99_000), "sent before");
        assert!(limit.covers(100_000) && limit.covers(140_000));
        limit.mark(104_000, 4_000);
        assert!(limit.covers(100_000) && limit.covers(108_000) && !limit.covers(109_000));
        limit.mark(500_000, 4_000);
        assert!(!limit.covers(104_000), "the old spell is over");
    }

    #[test]
    fn acknowledgments_in_lumps_show_as_excess() {
        // 8 Mbit/s is 1000 bytes a millisecond. A lump of 20 packets every 20 ms: 20 more than expected when it comes.
        let bandwidth = Rate::from_bits_per_sec(8_000_000);
        let mut epoch = AckEpoch::default();
        epoch.restart(Time::ZERO);
        for lump in 1..10 {
            let excess = epoch.excess(Time::ZERO + MS * 20 * lump, 20_000, bandwidth);
            assert_eq!(excess, 20_000);
        }
        // The same bytes one by one: never more than the one that has just come.
        for n in 1..100 {
            let now = Time::ZERO + MS * (200 + n);
            assert!(epoch.excess(now, 1_000, bandwidth) <= 1_000);
        }
    }

    #[test]
    fn without_a_sample_the_round_trip_is_taken_for_a_millisecond() {
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
