//! RTT statistics of one round trip, for algorithms that respond to delay.
//!
//! L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE
//! JSAC 13(8), 1995, section IV.B, which the others follow.
//!
//! BaseRTT, the round-trip time of the path without queues, is the minimum of all samples from
//! acknowledgments of data (ns-2, Linux, ns-3). [`Ack::min_rtt`] can be less: it includes the
//! handshake, whose packets are short. On slow links a full packet takes milliseconds longer, which
//! would look like a queue that never drains.

use crate::interface::Ack;
use whimbrel_units::Duration;

/// Statistics of the present round trip.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RoundRtt {
    min: Option<Duration>,
    sum: Duration,
    samples: u32,
    /// BaseRTT, of all round trips.
    base: Option<Duration>,
}

/// Statistics of a completed round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Round {
    /// Its minimum.
    pub min: Duration,
    /// BaseRTT: the minimum of the entire connection so far.
    pub base: Duration,
    /// Its mean.
    pub mean: Duration,
    /// The number of samples, at least one.
    pub samples: u32,
}

impl RoundRtt {
    /// Processes an acknowledgment. Returns the round trip that it completes, unless that had no
    /// sample.
    pub fn on_ack(&mut self, ack: &Ack) -> Option<Round> {
        let ended = if ack.round_start { self.end() } else { None };
        if let Some(rtt) = ack.rtt {
            self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.sum = self.sum.saturating_add(rtt);
            self.samples = self.samples.saturating_add(1);
        }
        ended
    }

    /// The statistics of the present round trip so far.
    pub fn so_far(&self) -> Option<Round> {
        self.min.map(|min| Round {
            min,
            base: self.base.unwrap_or(min),
            mean: self.sum / u64::from(self.samples),
            samples: self.samples,
        })
    }

    /// BaseRTT: the minimum of all samples so far.
    pub fn base(&self) -> Option<Duration> {
        self.base
    }

    /// Ends the present round trip and returns its statistics.
    pub fn end(&mut self) -> Option<Round> {
        let round = self.so_far();
        *self = Self {
            base: self.base,
            ..Self::default()
        };
        round
    }
}

/// The bytes of the window that wait in queues: the part beyond the path itself, `cwnd*(rtt -
/// base)/rtt`. In segments it is Diff*baseRTT of Vegas, N of Veno, Q of YeAH. `base` is the
/// round-trip time without queues.
pub(crate) fn queued(cwnd: u64, base: Duration, rtt: Duration) -> f64 {
    let waiting = (rtt - base).as_secs_f64();
    if rtt.is_zero() {
        return 0.0;
    }
    cwnd as f64 * waiting / rtt.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ACK;

    #[test]
    fn a_round_trip_has_a_minimum_and_a_mean() {
        let mut rounds = RoundRtt::default();
        let ms = Duration::from_millis;
        let ack = |rtt: Option<u64>, round_start| Ack {
            rtt: rtt.map(ms),
            round_start,
            ..ACK
        };
        assert_eq!(
            rounds.on_ack(&ack(Some(100), true)),
            None,
            "no round trip before it"
        );
        assert_eq!(rounds.on_ack(&ack(Some(160), false)), None);
        assert_eq!(rounds.on_ack(&ack(None, false)), None);
        let so_far = rounds.so_far().expect("begun");
        assert_eq!((so_far.min, so_far.samples), (ms(100), 2));
        let round = rounds.on_ack(&ack(Some(300), true)).expect("over");
        assert_eq!(
            (round.min, round.mean, round.samples),
            (ms(100), ms(130), 2)
        );
        let next = rounds.on_ack(&ack(None, true)).expect("over");
        assert_eq!(
            (next.min, next.samples),
            (ms(300), 1),
            "the ACK that begins a round trip belongs to it"
        );
        assert_eq!(next.base, ms(100), "of all round trips");
        assert_eq!(
            rounds.on_ack(&ack(Some(1), true)),
            None,
            "a round trip without a sample"
        );
    }

    #[test]
    fn the_queued_part_of_the_window_is_the_part_beyond_the_path() {
        // 30 packets in flight on a path of 100 ms with 50 ms of queueing: 10 of them wait.
        let ms = Duration::from_millis;
        assert!((queued(30, ms(100), ms(150)) - 10.0).abs() < 1e-9);
        assert_eq!(queued(30, ms(100), ms(100)), 0.0);
        assert_eq!(queued(30, ms(100), ms(90)), 0.0, "the base lags");
        assert_eq!(queued(30, ms(0), ms(0)), 0.0);
    }
}
