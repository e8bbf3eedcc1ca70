//! Round-trip estimation and the retransmission timeout (RFC 6298) of a TCP sender.
//!
//! It smooths samples as Linux does; [`whimbrel_cc::smoothed_rtt`] says why RFC 6298 does not
//! suffice.
//!
//! The timeout doubles while nothing is heard (section 5.5) up to a maximum (section 2.5), by
//! default 60 s: after an outage a sender is idle for up to as long again as the outage lasted. A
//! maximum of a second makes an outage cost at most a second more than its length, and costs one
//! packet a second while the path is down. Linux has the same setting (`tcp_rto_max_ms`, 1 s to
//! 120 s, since 6.15).
//!
//! **Where it departs from RFC 6298 and Linux:** the maximum limits the doublings, not the
//! estimate. A timeout is never shorter than what the round trips require, SRTT + 4 RTTVAR, so a
//! small maximum causes no spurious timeouts on a long path.
//!
//! **A small maximum needs Karn's rule whole.** Without timestamps a retransmitted segment gives no
//! sample. On a path whose round-trip time rises above the maximum every segment would be
//! retransmitted before its acknowledgment arrives, and no sample would ever show the longer path.
//! So an acknowledgment without a sample after a timeout lifts the maximum to 60 s until there is a
//! sample: something is heard, so the timeout was not an outage's. Linux does not do so; it has
//! timestamps on.

use crate::coarse_timer::CoarseTimer;
use crate::network::TcpSettings;
use whimbrel_cc::smoothed_rtt::LinuxRtt;
use whimbrel_units::{Duration, Time};

/// RFC 6298 section 2.1.
const INITIAL_RTO: Duration = Duration::from_secs(1);
/// The maximum of RFC 6298 section 2.5.
const STANDARD_MAX_RTO: Duration = Duration::from_secs(60);

/// The estimator of one sender.
#[derive(Debug, Clone)]
pub(crate) struct RttEstimator {
    /// `None` before the first sample.
    estimate: Option<LinuxRtt>,
    /// The smoothed RTT of the estimate; zero before the first sample.
    srtt: Duration,
    min_rtt: Duration,
    /// The newest sample, zero before the first.
    latest: Duration,
    /// The timeout without back-off; it may exceed `max_rto`.
    base_rto: Duration,
    /// The timeout: with the back-off, up to its maximum.
    rto: Duration,
    /// Doublings since the last sample of new data.
    backoff: u32,
    /// Since the last timeout there were acknowledgments, none with a sample.
    unsampled: bool,
    min_rto: Duration,
    max_rto: Duration,
    /// The timeout is ns-2's, and not the estimate's ([`TcpSettings::coarse_timer`]). Boxed: few
    /// senders have one.
    coarse: Option<Box<CoarseTimer>>,
}

impl RttEstimator {
    /// An estimator without samples.
    pub fn new(settings: &TcpSettings) -> Self {
        Self {
            estimate: None,
            srtt: Duration::ZERO,
            min_rtt: Duration::MAX,
            latest: Duration::ZERO,
            base_rto: INITIAL_RTO,
            rto: INITIAL_RTO,
            backoff: 0,
            unsampled: false,
            min_rto: settings.min_rto,
            max_rto: settings.max_rto,
            coarse: settings
                .coarse_timer
                .map(|tick| Box::new(CoarseTimer::new(tick))),
        }
    }

    /// Adds a sample; `round_start`: it is the first of a round trip.
    #[inline(always)]
    pub fn add(&mut self, rtt: Duration, round_start: bool) {
        self.min_rtt = self.min_rtt.min(rtt);
        self.latest = rtt;
        let estimate = match &mut self.estimate {
            Some(estimate) => {
                estimate.add(rtt, round_start);
                estimate
            }
            none => none.insert(LinuxRtt::new(rtt)),
        };
        self.srtt = estimate.srtt();
        if self.coarse.is_none() {
            self.base_rto = estimate.rto().max(self.min_rto);
            self.end_back_off();
        }
    }

    /// Adds the sample of the handshake.
    pub fn add_handshake(&mut self, rtt: Duration) {
        self.add(rtt, true);
        if let Some(coarse) = &mut self.coarse {
            coarse.add(Time::ZERO + rtt, rtt);
            self.follow_coarse();
        }
    }

    /// The timeout follows ns-2's rules.
    pub fn is_coarse(&self) -> bool {
        self.coarse.is_some()
    }

    /// A new segment is sent.
    #[inline]
    pub fn on_sent_new(&mut self, now: Time, seg: u32) {
        if let Some(coarse) = &mut self.coarse {
            coarse.on_sent_new(now, seg);
        }
    }

    /// A loss is being repaired.
    #[inline]
    pub fn on_loss(&mut self) {
        if let Some(coarse) = &mut self.coarse {
            coarse.abandon();
        }
    }

    /// All segments below `una` are acknowledged; `partial`: a loss is still being repaired.
    #[inline]
    pub fn on_advance(&mut self, now: Time, una: u32, partial: bool) {
        if let Some(coarse) = &mut self.coarse
            && coarse.on_advance(now, una, partial)
        {
            self.follow_coarse();
            self.end_back_off();
        }
    }

    fn follow_coarse(&mut self) {
        if let Some(timeout) = self.coarse.as_ref().and_then(|coarse| coarse.timeout()) {
            self.base_rto = timeout.max(self.min_rto);
            self.rto = self.backed_off();
        }
    }

    #[inline]
    fn end_back_off(&mut self) {
        self.backoff = 0;
        self.unsampled = false;
        // Only doublings are limited.
        self.rto = self.base_rto;
    }

    /// An acknowledgment arrived that gives no sample.
    #[inline]
    pub fn add_unknown(&mut self) {
        if self.backoff > 0 {
            self.unsampled = true;
            self.rto = self.backed_off();
        }
    }

    /// Smoothed RTT, zero before the first sample.
    #[inline]
    pub fn srtt(&self) -> Duration {
        self.srtt
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

    /// The timeout, backed off (RFC 6298 section 5.5) up to its maximum.
    #[inline]
    pub fn rto(&self) -> Duration {
        self.rto
    }

    fn backed_off(&self) -> Duration {
        let factor = 1u64 << self.backoff.min(16);
        (self.base_rto * factor).min(self.limit())
    }

    /// The timer fired: the next timeout is twice as long, up to its maximum.
    pub fn back_off(&mut self) {
        if self.rto < self.limit() {
            self.backoff += 1;
            self.rto = self.backed_off();
        }
        if let Some(coarse) = &mut self.coarse {
            coarse.on_timeout(self.backoff);
        }
    }

    fn limit(&self) -> Duration {
        let limit = self.max_rto.max(self.base_rto);
        if self.unsampled {
            limit.max(STANDARD_MAX_RTO)
        } else {
            limit
        }
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

    #[test]
    fn an_acknowledgment_without_a_sample_lifts_a_small_maximum() {
        let ms = Duration::from_millis;
        let mut rtt = RttEstimator::new(&TcpSettings {
            min_rto: ms(200),
            max_rto: ms(1000),
            ..TcpSettings::default()
        });
        rtt.add(ms(100), true);
        rtt.add_unknown();
        (0..40).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto(), ms(1000), "an outage: nothing is heard");
        rtt.add_unknown();
        let doubled = |rtt: &mut RttEstimator| {
            rtt.back_off();
            rtt.rto()
        };
        // 300 ms * 2^n.
        assert_eq!(rtt.rto(), ms(1200));
        assert_eq!(doubled(&mut rtt), ms(2400));
        (0..40).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto(), STANDARD_MAX_RTO);
        rtt.add(ms(100), true);
        (0..40).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto(), ms(1000), "a sample restores it");
    }

    #[test]
    fn a_small_maximum_limits_the_doublings_and_not_the_estimate() {
        let ms = Duration::from_millis;
        let settings = TcpSettings {
            min_rto: ms(200),
            max_rto: ms(1000),
            ..TcpSettings::default()
        };
        let mut rtt = RttEstimator::new(&settings);
        assert_eq!(rtt.rto(), ms(1000), "before the first sample");
        rtt.back_off();
        assert_eq!(rtt.rto(), ms(1000));
        // SRTT + 4 RTTVAR = 3 RTT.
        rtt.add(ms(100), true);
        let mut timeouts = Vec::new();
        for _ in 0..4 {
            timeouts.push(rtt.rto());
            rtt.back_off();
        }
        assert_eq!(timeouts, [ms(300), ms(600), ms(1000), ms(1000)]);
        let mut long = RttEstimator::new(&settings);
        long.add(ms(700), true);
        assert_eq!(long.rto(), ms(2100), "a long path");
        long.back_off();
        assert_eq!(long.rto(), ms(2100), "and no doublings");
    }
}
