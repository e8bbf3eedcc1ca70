//! Round-trip estimation and the retransmission timeout (RFC 6298).
//!
//! Every acknowledgment gives a sample, many in a round trip. RFC 6298's gains are made for one: taken at
//! every sample they would let the variation collapse within a round, so that any queue that grows a little
//! fires the timer; divided by the number of samples (RFC 7323 appendix G) they follow a queue that fills in
//! slow start far too late. So it is done as Linux does: srtt moves by 1/8 at every sample, the mean
//! deviation by 1/4 (by 1/32 when a sample falls below, which is no reason to expect later ones), and RTTVAR is
//! the greatest deviation of a round trip, which decays by 1/4 a round. With one sample a round this is
//! RFC 6298 to the letter while the RTT does not fall.

use crate::network::TcpSettings;
use whimbrel_units::Duration;

/// Clock granularity G of RFC 6298, as a modern kernel's.
const GRANULARITY_NS: f64 = 1e6;
/// RFC 6298 section 2.1.
const INITIAL_RTO: Duration = Duration::from_secs(1);

/// All in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Estimate {
    srtt: f64,
    /// Smoothed deviation, and its greatest value in this round trip.
    deviation: f64,
    greatest: f64,
    /// RTTVAR of RFC 6298.
    rttvar: f64,
}

/// The estimator of one sender.
#[derive(Debug, Clone)]
pub(crate) struct RttEstimator {
    /// `None` before the first sample.
    estimate: Option<Estimate>,
    min_rtt: Duration,
    /// The newest sample, zero before the first.
    latest: Duration,
    /// The timeout without back-off.
    base_rto: Duration,
    /// Doublings since the last sample of fresh data.
    backoff: u32,
    min_rto: Duration,
    max_rto: Duration,
}

impl RttEstimator {
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

    /// Takes a sample; `round_start`: it is the first of a round trip.
    #[inline(always)]
    pub fn add(&mut self, rtt: Duration, round_start: bool) {
        self.min_rtt = self.min_rtt.min(rtt);
        self.latest = rtt;
        let r = rtt.as_nanos() as f64;
        let estimate = match self.estimate {
            None => Estimate {
                srtt: r,
                deviation: r / 2.0,
                greatest: r / 2.0,
                rttvar: r / 2.0,
            },
            Some(e) => e.with(r, round_start),
        };
        let rto = estimate.srtt + GRANULARITY_NS.max(4.0 * estimate.rttvar);
        self.base_rto = Duration::from_nanos(rto as u64).clamp(self.min_rto, self.max_rto);
        self.estimate = Some(estimate);
        self.backoff = 0;
    }

    /// Smoothed RTT, zero before the first sample.
    pub fn srtt(&self) -> Duration {
        Duration::from_nanos(self.estimate.map_or(0, |e| e.srtt as u64))
    }

    /// Smoothed mean deviation of the RTT, zero before the first sample: the RTTVAR of RFC 6298, as Linux reports it in
    /// `tcpi_rttvar`. What the timeout is made of keeps the greatest of a round trip besides.
    pub fn rttvar(&self) -> Duration {
        Duration::from_nanos(self.estimate.map_or(0, |e| e.deviation as u64))
    }

    /// The newest sample, zero before the first.
    pub fn latest(&self) -> Duration {
        self.latest
    }

    /// Least RTT of the connection; zero before the first sample.
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

impl Estimate {
    #[inline(always)]
    fn with(self, r: f64, round_start: bool) -> Self {
        let mut e = self;
        if round_start {
            e.rttvar -= (e.rttvar - e.greatest).max(0.0) / 4.0;
            e.greatest = 0.0;
        }
        let error = r - e.srtt;
        let excess = error.abs() - e.deviation;
        let gain = if error < 0.0 && excess > 0.0 {
            1.0 / 32.0
        } else {
            0.25
        };
        e.deviation += gain * excess;
        e.srtt += error / 8.0;
        e.greatest = e.greatest.max(e.deviation);
        e.rttvar = e.rttvar.max(e.greatest);
        e
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
    fn the_first_sample_gives_three_times_itself() {
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
    fn many_samples_of_one_round_do_not_wear_the_variation_out() {
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
    fn it_backs_off_to_its_ceiling_and_recovers_with_a_sample() {
        let mut rtt = estimator(1000);
        rtt.add(Duration::from_millis(100), true);
        assert_eq!(rtt.rto(), Duration::from_secs(1), "the floor");
        for expected in [2, 4, 8, 16, 32, 60, 60] {
            rtt.back_off();
            assert_eq!(rtt.rto(), Duration::from_secs(expected));
        }
        rtt.add(Duration::from_millis(100), true);
        assert_eq!(rtt.rto(), Duration::from_secs(1));
    }
}
