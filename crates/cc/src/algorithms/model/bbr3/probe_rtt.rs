//! min_rtt, and ProbeRTT, which keeps it up to date (sections 5.3.4 and 5.4).

use super::probe_bw::AckPhase;
use super::{Bbr3, Sample, State};
use whimbrel_units::{Duration, Time};

/// Window of the minimum RTT filter `BBR.MinRTTFilterLen`.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// Time between two ProbeRTTs `BBR.ProbeRTTInterval`.
const INTERVAL: Duration = Duration::from_secs(5);
/// Minimum time with half a bdp in flight `BBR.ProbeRTTDuration`.
const DURATION: Duration = Duration::from_millis(200);
/// Flight in ProbeRTT, bandwidth-delay products `BBR.ProbeRTTCwndGain`.
pub(super) const CWND_GAIN: f64 = 0.5;

impl Bbr3 {
    /// `UpdateMinRTT`
    pub(super) fn update_min_rtt(&mut self, sample: &Sample) {
        let now = sample.now;
        let stamp = self.probe_rtt_min.map(|(_, stamp)| stamp);
        self.probe_rtt_expired = stamp.is_some_and(|stamp| now > stamp + INTERVAL);
        if let Some(rtt) = sample.rtt
            && (self.probe_rtt_expired || self.probe_rtt_min.is_none_or(|(min, _)| rtt < min))
        {
            self.probe_rtt_min = Some((rtt, now));
        }
        if let Some((delay, stamp)) = self.probe_rtt_min
            && self
                .min_rtt
                .is_none_or(|(min, since)| delay < min || now > since + MIN_RTT_WINDOW)
        {
            self.min_rtt = Some((delay, stamp));
        }
    }

    /// `CheckProbeRTT`
    pub(super) fn check_probe_rtt(&mut self, sample: &Sample) {
        let due = self.config.probe_rtt && self.probe_rtt_expired && !self.idle_restart;
        if due && self.state != State::ProbeRtt {
            self.state = State::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_done = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round(Some(self.delivered));
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(sample);
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// `HandleProbeRTT`
    fn handle_probe_rtt(&mut self, sample: &Sample) {
        self.own_limit.mark(self.delivered, sample.in_flight);
        if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(sample.now, Some(self.delivered));
            }
        } else if sample.in_flight <= self.probe_rtt_cwnd() {
            self.probe_rtt_done = Some(sample.now + DURATION);
            self.probe_rtt_round_done = false;
            self.start_round(Some(self.delivered));
        }
    }

    /// `CheckProbeRTTDone`, with `ExitProbeRTT`
    fn check_probe_rtt_done(&mut self, now: Time, delivered: Option<u64>) {
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        if let Some((_, stamp)) = &mut self.probe_rtt_min {
            *stamp = now;
        }
        self.restore_cwnd();
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_down(now, delivered);
            self.start_cruise();
        } else {
            self.enter_startup();
        }
    }

    /// `HandleRestartFromIdle`
    pub(super) fn restart_from_idle(&mut self, now: Time) {
        self.idle_restart = true;
        self.epoch.restart(now);
        if self.is_in_probe_bw() {
            self.set_pacing_rate(1.0, Duration::ZERO);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now, None);
        }
    }
}
