//! Smoothed round-trip time and its variation (RFC 6298 section 2).
//!
//! * first sample R: `SRTT = R`, `RTTVAR = R/2` (2.2)
//! * next sample R': `RTTVAR = 3/4*RTTVAR + 1/4*|SRTT - R'|`, then `SRTT = 7/8*SRTT + 1/8*R'` (2.3)
//!
//! [`SmoothedRtt`] is the standard's, for transports that take few samples per round trip or do not
//! derive a timeout from them.
//!
//! [`LinuxRtt`] is Linux's variant (`tcp_rtt_estimator`), for a TCP that takes a sample from every
//! acknowledgment. RFC 6298's gains are meant for one sample per round trip: applied to every
//! sample, RTTVAR collapses within a round trip, and any queue that grows a little fires the timer.
//! Divided by the number of samples (RFC 7323 appendix G), they follow a queue that fills in slow
//! start far too late. Linux therefore smooths every sample, gives a sample that falls below the
//! expected deviation a smaller gain (1/32), because it is no reason to expect a larger one later,
//! and derives the timeout from the maximum deviation of a round trip, which decays by 1/4 per
//! round trip. With one sample per round trip it equals RFC 6298 while the RTT does not fall.
//!
//! In both, RTTVAR ([`SmoothedRtt::rttvar`], [`LinuxRtt::rttvar`]) is the smoothed mean deviation.

use whimbrel_units::Duration;

/// SRTT and RTTVAR of RFC 6298, in whole nanoseconds, rounded down.
#[derive(Debug, Clone, Copy, Default)]
pub struct SmoothedRtt {
    /// `None` before the first sample.
    srtt: Option<Duration>,
    rttvar: Duration,
}

impl SmoothedRtt {
    /// Adds a sample.
    #[inline]
    pub fn add(&mut self, rtt: Duration) {
        // RTTVAR uses SRTT before its update.
        self.rttvar = match self.srtt {
            Some(srtt) => (self.rttvar * 3 + (srtt.max(rtt) - srtt.min(rtt))) / 4,
            None => rtt / 2,
        };
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8));
    }

    /// SRTT; zero before the first sample.
    #[inline]
    pub fn srtt(&self) -> Duration {
        self.srtt.unwrap_or(Duration::ZERO)
    }

    /// RTTVAR; zero before the first sample.
    #[inline]
    pub fn rttvar(&self) -> Duration {
        self.rttvar
    }
}

/// Clock granularity G of RFC 6298, that of a modern kernel, in nanoseconds.
const GRANULARITY_NS: f64 = 1e6;

/// SRTT, RTTVAR and the retransmission timeout as Linux computes them. All fields in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct LinuxRtt {
    srtt: f64,
    /// `mdev` in Linux.
    rttvar: f64,
    /// The maximum of `rttvar` in this round trip: `mdev_max` in Linux.
    round_max: f64,
    /// The variation that the timeout uses: `rttvar` in Linux.
    timeout_rttvar: f64,
}

impl LinuxRtt {
    /// The estimate after the first sample.
    #[inline]
    pub fn new(rtt: Duration) -> Self {
        let r = rtt.as_nanos() as f64;
        Self {
            srtt: r,
            rttvar: r / 2.0,
            round_max: r / 2.0,
            timeout_rttvar: r / 2.0,
        }
    }

    /// Adds a sample; `round_start`: it is the first of a round trip.
    #[inline(always)]
    pub fn add(&mut self, rtt: Duration, round_start: bool) {
        let r = rtt.as_nanos() as f64;
        if round_start {
            self.timeout_rttvar -= (self.timeout_rttvar - self.round_max).max(0.0) / 4.0;
            self.round_max = 0.0;
        }
        let error = r - self.srtt;
        let excess = error.abs() - self.rttvar;
        let gain = if error < 0.0 && excess > 0.0 {
            1.0 / 32.0
        } else {
            0.25
        };
        self.rttvar += gain * excess;
        self.srtt += error / 8.0;
        self.round_max = larger(self.round_max, self.rttvar);
        self.timeout_rttvar = larger(self.timeout_rttvar, self.round_max);
    }

    /// SRTT.
    #[inline]
    pub fn srtt(&self) -> Duration {
        nanos(self.srtt)
    }

    /// RTTVAR, the smoothed mean deviation, as Linux reports it in `tcpi_rttvar`.
    #[inline]
    pub fn rttvar(&self) -> Duration {
        nanos(self.rttvar)
    }

    /// The retransmission timeout `SRTT + max(G, 4*RTTVAR)` (RFC 6298 section 2.3) with the maximum
    /// RTTVAR of recent round trips, before any lower or upper limit.
    #[inline]
    pub fn rto(&self) -> Duration {
        nanos(self.srtt + larger(GRANULARITY_NS, 4.0 * self.timeout_rttvar))
    }
}

/// The larger of two numbers, neither of them NaN: one instruction, where `f64::max` has seven.
#[inline]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// A time of at least zero in nanoseconds, at most 292 years. The conversion to a signed number has
/// half the instructions.
#[inline]
fn nanos(time: f64) -> Duration {
    Duration::from_nanos(time as i64 as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn both_estimates_are_those_of_rfc_6298_while_the_rtt_rises() {
        // SRTT = 7/8*100 + 1/8*200 = 112.5; RTTVAR = 3/4*50 + 1/4*100 = 62.5; RTO = 362.5 ms.
        let mut rfc = SmoothedRtt::default();
        assert_eq!((rfc.srtt(), rfc.rttvar()), (Duration::ZERO, Duration::ZERO));
        rfc.add(ms(100));
        assert_eq!((rfc.srtt(), rfc.rttvar()), (ms(100), ms(50)));
        rfc.add(ms(200));
        let expected = (
            Duration::from_micros(112_500),
            Duration::from_micros(62_500),
        );
        assert_eq!((rfc.srtt(), rfc.rttvar()), expected);

        let mut linux = LinuxRtt::new(ms(100));
        assert_eq!((linux.srtt(), linux.rttvar()), (ms(100), ms(50)));
        assert_eq!(linux.rto(), ms(300));
        linux.add(ms(200), true);
        assert_eq!((linux.srtt(), linux.rttvar()), expected);
        assert_eq!(linux.rto(), Duration::from_micros(362_500));
    }

    #[test]
    fn a_falling_rtt_moves_the_variation_by_a_quarter_and_in_linux_by_1_32() {
        // 3/4*50 + 1/4*100 = 62.5 ms; 50 + (100 - 50)/32 = 51.5625 ms.
        let mut rfc = SmoothedRtt::default();
        rfc.add(ms(100));
        rfc.add(Duration::ZERO);
        assert_eq!(rfc.rttvar(), Duration::from_micros(62_500));
        let mut linux = LinuxRtt::new(ms(100));
        linux.add(Duration::ZERO, true);
        assert_eq!(linux.rttvar(), Duration::from_nanos(51_562_500));
    }
}
