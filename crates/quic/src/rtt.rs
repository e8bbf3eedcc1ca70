//! Round-trip times as the algorithms see them: unsmoothed samples, RFC 6298's mean, the least.
//!
//! noq hands its own estimate to the controller before it has taken in the acknowledgment it is about
//! (333 ms at first), and subtracts the delay the peer says it added. The algorithms are held to one
//! meaning in all their worlds: a sample is the time from sending the newest packet acknowledged to
//! now (RFC 9002 section 5.1), the mean is RFC 6298 section 2's, nothing is subtracted.

use whimbrel_units::Duration;

/// The connection's round-trip times.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rtt {
    smoothed: Option<Duration>,
    variation: Duration,
    least: Option<Duration>,
    latest: Option<Duration>,
}

impl Rtt {
    /// Takes a sample in.
    pub fn sample(&mut self, rtt: Duration) {
        // Zero would make rates infinite; a clock's tick is as near as one can tell.
        let rtt = rtt.max(Duration::from_nanos(1));
        self.latest = Some(rtt);
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        // RTTVAR <- 3/4 RTTVAR + 1/4 |SRTT - R'|, before SRTT changes; at first R/2 (RFC 6298 section 2)
        self.variation = match self.smoothed {
            Some(srtt) => (self.variation * 3 + (srtt.max(rtt) - srtt.min(rtt))) / 4,
            None => rtt / 2,
        };
        // SRTT <- 7/8 SRTT + 1/8 R' (RFC 6298 equation 2.3; its first sample, 2.2)
        self.smoothed = Some(self.smoothed.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8));
    }

    /// SRTT; zero before the first sample.
    pub fn smoothed(&self) -> Duration {
        self.smoothed.unwrap_or(Duration::ZERO)
    }

    /// RTTVAR; zero before the first sample.
    pub fn variation(&self) -> Duration {
        self.variation
    }

    /// The least; zero before the first sample.
    pub fn least(&self) -> Duration {
        self.least.unwrap_or(Duration::ZERO)
    }

    /// The last; zero before the first sample.
    pub fn latest(&self) -> Duration {
        self.latest.unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_variation_are_those_of_rfc_6298() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.variation(), Duration::ZERO);
        rtt.sample(Duration::from_millis(100));
        assert_eq!(rtt.variation(), Duration::from_millis(50));
        // 3/4*50 + 1/4*|100 - 200| = 62.5; 7/8*100 + 1/8*200 = 112.5.
        rtt.sample(Duration::from_millis(200));
        assert_eq!(rtt.variation(), Duration::from_micros(62_500));
        assert_eq!(rtt.smoothed(), Duration::from_micros(112_500));
        // 3/4*62.5 + 1/4*|112.5 - 72.5| = 56.875.
        rtt.sample(Duration::from_micros(72_500));
        assert_eq!(rtt.variation(), Duration::from_micros(56_875));
    }
}
