//! Round-trip times as the algorithms see them: unsmoothed samples, SRTT and RTTVAR of RFC 6298,
//! the minimum.
//!
//! noq passes its own estimate to the controller before it has processed the acknowledgment at hand
//! (333 ms at first), and subtracts the delay that the peer reports. The algorithms need the same
//! definition on every transport: a sample is the time since the newest packet acknowledged was
//! sent (RFC 9002 section 5.1), smoothed by RFC 6298 section 2, and nothing is subtracted.

use crate::smoothed_rtt::SmoothedRtt;
use whimbrel_units::Duration;

/// The connection's round-trip times.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rtt {
    smoothed: SmoothedRtt,
    min: Option<Duration>,
    latest: Option<Duration>,
}

impl Rtt {
    /// Adds a sample.
    pub fn sample(&mut self, rtt: Duration) {
        // A sample of zero would make rates infinite; the clock cannot resolve less than a tick.
        let rtt = rtt.max(Duration::from_nanos(1));
        self.latest = Some(rtt);
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
        self.smoothed.add(rtt);
    }

    /// SRTT; zero before the first sample.
    pub fn smoothed(&self) -> Duration {
        self.smoothed.srtt()
    }

    /// RTTVAR; zero before the first sample.
    pub fn variation(&self) -> Duration {
        self.smoothed.rttvar()
    }

    /// The minimum; zero before the first sample.
    pub fn min(&self) -> Duration {
        self.min.unwrap_or(Duration::ZERO)
    }

    /// The newest sample; zero before the first.
    pub fn latest(&self) -> Duration {
        self.latest.unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srtt_and_rttvar_follow_rfc_6298() {
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
