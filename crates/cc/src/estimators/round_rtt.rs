//! Round-trip times, one round trip at a time: what the laws that watch delay have in common.
//!
//! L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8), 1995,
//! section IV.B, from which the others took it.
//!
//! The path's own time, BaseRTT, is the least of all samples that acknowledgments of data gave (ns-2, Linux, ns-3).
//! [`Ack::min_rtt`] can be less: it knows the handshake too, whose packets are short. On slow links a full packet takes
//! milliseconds longer, and that would look like a queue that never drains.

use crate::interface::Ack;
use whimbrel_units::Duration;

/// Round-trip times of the round trip that is under way.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RoundRtt {
    least: Option<Duration>,
    sum: Duration,
    samples: u32,
    /// BaseRTT, of all round trips.
    base: Option<Duration>,
}

/// Round-trip times of a round trip that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Round {
    /// The least of them.
    pub least: Duration,
    /// The least of all since the connection began: BaseRTT.
    pub base: Duration,
    /// Their mean.
    pub mean: Duration,
    /// How many there were, at least one.
    pub samples: u32,
}

impl RoundRtt {
    /// Takes in an acknowledgment; gives the round trip that it ended, if it ended one in which a time was measured.
    pub fn on_ack(&mut self, ack: &Ack) -> Option<Round> {
        let ended = if ack.round_start { self.end() } else { None };
        if let Some(rtt) = ack.rtt {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.sum = self.sum.saturating_add(rtt);
            self.samples = self.samples.saturating_add(1);
        }
        ended
    }

    /// What was measured so far of the round trip that is under way.
    pub fn so_far(&self) -> Option<Round> {
        self.least.map(|least| Round {
            least,
            base: self.base.unwrap_or(least),
            mean: self.sum / u64::from(self.samples),
            samples: self.samples,
        })
    }

    /// BaseRTT: the least time of all samples so far.
    pub fn base(&self) -> Option<Duration> {
        self.base
    }

    /// Forgets the round trip that is under way, and gives what was measured in it.
    pub fn end(&mut self) -> Option<Round> {
        let round = self.so_far();
        *self = Self {
            base: self.base,
            ..Self::default()
        };
        round
    }
}

/// Bytes of the window that wait in queues: what it holds beyond the path itself, `cwnd*(rtt - base)/rtt`. In segments
/// this is Diff*baseRTT of Vegas, N of Veno, Q of YeAH. `base` is the round-trip time without queues.
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
    fn a_round_trip_has_a_least_and_a_mean() {
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
            "nothing before it"
        );
        assert_eq!(rounds.on_ack(&ack(Some(160), false)), None);
        assert_eq!(rounds.on_ack(&ack(None, false)), None);
        let so_far = rounds.so_far().expect("begun");
        assert_eq!((so_far.least, so_far.samples), (ms(100), 2));
        let round = rounds.on_ack(&ack(Some(300), true)).expect("over");
        assert_eq!(
            (round.least, round.mean, round.samples),
            (ms(100), ms(130), 2)
        );
        let next = rounds.on_ack(&ack(None, true)).expect("over");
        assert_eq!(
            (next.least, next.samples),
            (ms(300), 1),
            "the ACK that begins a round is of it"
        );
        assert_eq!(next.base, ms(100), "of all round trips");
        assert_eq!(
            rounds.on_ack(&ack(Some(1), true)),
            None,
            "one without a sample says nothing"
        );
    }

    #[test]
    fn what_waits_is_what_the_window_holds_beyond_the_path() {
        // 30 packets in flight on a path of 100 ms, of which 50 ms are spent waiting: 10 of them wait.
        let ms = Duration::from_millis;
        assert!((queued(30, ms(100), ms(150)) - 10.0).abs() < 1e-9);
        assert_eq!(queued(30, ms(100), ms(100)), 0.0);
        assert_eq!(queued(30, ms(100), ms(90)), 0.0, "the base lags");
        assert_eq!(queued(30, ms(0), ms(0)), 0.0);
    }
}
