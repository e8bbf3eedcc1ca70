//! The control parameters derived from the model: pacing rate, send quantum, window (section 5.6).

use super::probe_rtt::CWND_GAIN;
use super::{Bbr3, NO_LIMIT, Sample, State, nominal_bandwidth, paced};
use whimbrel_units::{Duration, Rate};

/// Minimum window in segments, which keeps a pipe full even if acknowledgments come for two
/// `BBR.MinPipeCwnd`.
const MIN_WINDOW: u64 = 4;
/// Maximum send quantum, bytes.
const MAX_QUANTUM: u64 = 64 * 1024;
/// A send quantum is the data of this time.
const QUANTUM_TIME: Duration = Duration::from_millis(1);
/// Factor of UP for the window gain: 2 becomes 2.25.
const UP_CWND_GAIN: f64 = 1.125;

impl Bbr3 {
    /// Table 5.6.1.
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.config.startup_gain,
            State::Drain => 0.5,
            State::Down => 0.9,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
            State::Up => 1.25,
        }
    }

    /// Table 5.6.1.
    pub(super) fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => self.config.cwnd_gain * UP_CWND_GAIN,
            State::ProbeRtt => CWND_GAIN,
            _ => self.config.cwnd_gain,
        }
    }

    /// `SetPacingRateWithGain`, after the first `InitPacingRate` with an RTT sample (5.6.2).
    pub(super) fn set_pacing_rate(&mut self, gain: f64, srtt: Duration) {
        if !self.has_seen_rtt && !srtt.is_zero() {
            self.has_seen_rtt = true;
            let nominal = nominal_bandwidth(self.initial_window, srtt);
            self.pacing_rate = nominal.mul_f64(self.config.startup_gain);
        }
        let rate: Rate = paced(self.bw(), gain);
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `SetSendQuantum`
    fn send_quantum(&self) -> u64 {
        let paced = self.pacing_rate.bytes_in(QUANTUM_TIME).get();
        paced.min(MAX_QUANTUM).max(self.mss.saturating_mul(2))
    }

    /// `BBR.MinPipeCwnd`
    pub(super) fn min_window(&self) -> u64 {
        self.mss.saturating_mul(MIN_WINDOW)
    }

    /// `QuantizationBudget`
    fn with_budget(&self, cap: u64) -> u64 {
        let probe = match self.state {
            State::Up => self.mss.saturating_mul(2),
            _ => 0,
        };
        let cap = cap.max(self.send_quantum()).max(self.min_window());
        cap.saturating_add(probe)
    }

    /// `Inflight`
    pub(super) fn inflight(&self, bw: Rate, gain: f64) -> u64 {
        self.with_budget(self.bdp_multiple(bw, gain))
    }

    /// `UpdateMaxInflight`
    fn max_inflight(&self) -> u64 {
        let cap = self.bdp_multiple(self.bw(), self.cwnd_gain());
        self.with_budget(cap.saturating_add(self.extra_acked.get()))
    }

    /// `ProbeRTTCwnd`
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp_multiple(self.bw(), CWND_GAIN)
            .max(self.min_window())
    }

    /// `SaveCwnd`
    pub(super) fn save_cwnd(&mut self) {
        let good = !self.recovering && self.state != State::ProbeRtt;
        self.prior_cwnd = if good {
            self.cwnd
        } else {
            self.prior_cwnd.max(self.cwnd)
        };
    }

    /// `RestoreCwnd`
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// `SetCwnd`
    pub(super) fn set_cwnd(&mut self, sample: &Sample) {
        let max = self.max_inflight();
        let grown = self.cwnd.saturating_add(sample.acked);
        if self.full_bw_reached {
            self.cwnd = grown.min(max);
        } else if self.cwnd < max || self.delivered < self.initial_window {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(self.min_window());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.cwnd = self.cwnd.min(self.model_cap());
    }

    /// `BoundCwndForModel`
    fn model_cap(&self) -> u64 {
        let long_term = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => NO_LIMIT,
        };
        long_term
            .min(self.inflight_shortterm)
            .max(self.min_window())
    }
}
