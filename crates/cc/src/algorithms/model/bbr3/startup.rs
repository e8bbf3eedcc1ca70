//! Startup and Drain: find the path's rate, and drain the queue that this creates (sections 5.3.1
//! and 5.3.2).

use super::{Bbr3, NO_LIMIT, Sample, State};
use whimbrel_units::Rate;

/// The pipe is not full if the rate grows by this factor ...
const GROWTH: f64 = 1.25;
/// ... and full after this many rounds without it.
const FULL_ROUNDS: u32 = 3;
/// Lost ranges in a round from which Startup may end because of loss `BBRStartupFullLossCnt`.
const FULL_LOSSES: u32 = 6;
/// Drain ends after this many rounds at the latest.
const DRAIN_ROUNDS: u64 = 3;

/// Estimates whether more in flight still increases the rate (5.3.1.2).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FullPipe {
    /// The rate to exceed `BBR.full_bw`.
    pub baseline: Rate,
    /// Rounds without growth `BBR.full_bw_count`.
    pub count: u32,
    /// `BBR.full_bw_now`
    pub now: bool,
}

impl FullPipe {
    /// Restarts from `baseline` `ResetFullBW`.
    pub fn from(baseline: Rate) -> Self {
        Self {
            baseline,
            ..Self::default()
        }
    }
}

impl Bbr3 {
    /// `CheckFullBWReached`
    pub(super) fn check_full_bw_reached(&mut self, sample: &Sample) {
        if self.full_pipe.now || !self.round_start || sample.app_limited {
            return;
        }
        let Some(rate) = sample.rate else { return };
        if rate >= self.full_pipe.baseline.mul_f64(GROWTH) {
            self.full_pipe = FullPipe::from(rate);
            return;
        }
        self.full_pipe.count += 1;
        self.full_pipe.now = self.full_pipe.count >= FULL_ROUNDS;
        self.full_bw_reached |= self.full_pipe.now;
    }

    /// `CheckStartupDone`
    pub(super) fn check_startup_done(&mut self, sample: &Sample) {
        self.check_startup_high_loss(sample);
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
            self.drain_start_round = self.round_count;
        }
    }

    /// `CheckStartupHighLoss`
    fn check_startup_high_loss(&mut self, sample: &Sample) {
        self.loss_events = self.loss_events.saturating_add(u32::from(sample.losses));
        if !self.loss_round_start {
            return;
        }
        let events = std::mem::take(&mut self.loss_events);
        let lossy = events >= FULL_LOSSES && self.is_too_high(sample.lost, sample.tx_in_flight);
        let in_recovery = self.recovering || self.recovered;
        if self.state == State::Startup && !self.full_bw_reached && in_recovery && lossy {
            self.undo.state = Some(State::Startup);
            self.full_pipe.now = true;
            self.full_bw_reached = true;
            self.inflight_longterm = self.bdp().max(self.inflight_latest);
        }
    }

    /// `CheckDrainDone`
    pub(super) fn check_drain_done(&mut self, sample: &Sample) {
        if self.state != State::Drain {
            return;
        }
        let drained = sample.in_flight <= self.inflight(self.bw(), 1.0);
        if drained || self.round_count > self.drain_start_round.saturating_add(DRAIN_ROUNDS) {
            self.start_down(sample.now, Some(self.delivered));
        }
    }

    /// `EnterStartup`
    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    /// Whether a safe limit has been found.
    pub(super) fn has_longterm_limit(&self) -> bool {
        self.inflight_longterm != NO_LIMIT
    }
}
