//! Round-trip estimation and the retransmission timeout (RFC 6298) of a TCP sender.
//!
//! It smooths samples as Linux does; [`whimbrel_cc::smoothed_rtt`] says why RFC 6298 does not
//! suffice.

use crate::network::TcpSettings;
use whimbrel_cc::smoothed_rtt::LinuxRtt;
use whimbrel_units::Duration;

/// RFC 6298 section 2.1.
const INITIAL_RTO: Duration = Duration::from_secs(1);

/// The estimator of one sender.
#[derive(Debug, Clone)]
pub(crate) struct RttEstimator {
    /// `None` before the first sample.
    estimate: Option<LinuxRtt>,
    min_rtt: Duration,
    /// The newest sample, zero before the first.
    latest: Duration,
    /// The timeout without back-off.
    base_rto: Duration,
    /// Doublings since the last sample of new data.
    backoff: u32,
    min_rto: Duration,
    max_rto: Duration,
}

impl RttEstimator {
    /// An estimator without samples.
    pub fn new(settings: &TcpSettings) -> Self {
        Self {
            estimate: None,
            min_rtt: Duration::MAX,
            latest: Duration::ZERO,
            base_rto: INITIAL_RTO,
            backoff: 0,
            min_rto: settings.min_rto,
            max_rto: settings.max_rto,
        }
    }

    /// Adds a sample; `round_start`: it is the first of a round trip.
    #[inline(always)]
    pub fn add(&mut self, rtt: Duration, round_start: bool) {
        self.min_rtt = self.min_rtt.min(rtt);
        self.latest = rtt;
        let estimate = match self.estimate {
            None => LinuxRtt::new(rtt),
            Some(mut estimate) => {
                estimate.add(rtt, round_start);
                estimate
            }
        };
        self.base_rto = estimate.rto().clamp(self.min_rto, self.max_rto);
        self.estimate = Some(estimate);
        self.backoff = 0;
    }

    /// Smoothed RTT, zero before the first sample.
    pub fn srtt(&self) -> Duration {
        self.estimate.map_or(Duration::ZERO, |e| e.srtt())
    }

    /// RTTVAR of RFC 6298, the smoothed mean deviation of the RTT, zero before the first sample.
    pub fn rttvar(&self) -> Duration {
        self.estimate.map_or(Duration::ZERO, |e| e.rttvar())
    }

    /// The newest sample, zero before the first.
    pub fn latest(&self) -> Duration {
        self.latest
    }

    /// Minimum RTT of the connection; zero before the first sample.
    pub fn min_rtt(&self) -> Duration {
        if self.estimate.is_some() {
            self.min_rtt
        } else {
            Duration::ZERO
        }
    }

    /// The timeout, backed off (RFC 6298 section 5.5).
    pub fn rto(&self) -> Duration {
        let factor = 1u64 << self.backoff.min(16);
        (self.base_rto * factor).min(self.max_rto)
    }

    /// The timer fired: the next timeout is twice as long.
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator(min_rto_ms: u64) -> RttEstimator {
        let settings = TcpSettings {
            min_rto: Duration::from_millis(min_rto_ms),
            ..TcpSettings::default()
        };
        RttEstimator::new(&settings)
    }

    #[test]
    fn the_first_sample_gives_a_timeout_of_three_rtts() {
        // RFC 6298 (2.2): SRTT = R, RTTVAR = R/2, RTO = SRTT + 4*RTTVAR = 3R.
        let mut rtt = estimator(200);
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        rtt.add(Duration::from_millis(100), true);
        assert_eq!(rtt.srtt(), Duration::from_millis(100));
        assert_eq!(rtt.rto(), Duration::from_millis(300));
    }

    #[test]
    fn the_second_sample_moves_it_by_an_eighth() {
        // SRTT = 7/8*100 + 1/8*200 = 112.5; RTTVAR = 3/4*50 + 1/4*100 = 62.5; RTO = 362.5 ms.
        let mut rtt = estimator(200);
        rtt.add(Duration::from_millis(100), true);
        rtt.add(Duration::from_millis(200), true);
        assert_eq!(rtt.srtt(), Duration::from_micros(112_500));
        assert_eq!(rtt.rttvar(), Duration::from_micros(62_500));
        assert_eq!(rtt.rto(), Duration::from_micros(362_500));
        assert_eq!(rtt.min_rtt(), Duration::from_millis(100));
    }

    #[test]
    fn many_samples_in_a_round_trip_keep_the_variation() {
        let mut rtt = estimator(200);
        rtt.add(Duration::from_millis(100), true);
        rtt.add(Duration::from_millis(300), true);
        let before = rtt.rto();
        (0..100).for_each(|_| rtt.add(Duration::from_millis(300), false));
        // srtt is 300 ms by now; the variation of the step is still on top of it.
        assert!(
            rtt.rto() > Duration::from_millis(500),
            "{} after {before}",
            rtt.rto()
        );
        (0..40).for_each(|_| rtt.add(Duration::from_millis(300), true));
        assert!(rtt.rto() < Duration::from_millis(310), "{}", rtt.rto());
    }

    #[test]
    fn it_backs_off_to_its_maximum_and_resets_with_a_sample() {
        let mut rtt = estimator(1000);
        rtt.add(Duration::from_millis(100), true);
        assert_eq!(rtt.rto(), Duration::from_secs(1), "the minimum");
        for expected in [2, 4, 8, 16, 32, 60, 60] {
            rtt.back_off();
            assert_eq!(rtt.rto(), Duration::from_secs(expected));
        }
        rtt.add(Duration::from_millis(100), true);
        assert_eq!(rtt.rto(), Duration::from_secs(1));
    }
}
