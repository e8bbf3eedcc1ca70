//! The response to losses: too much in flight in a probe, less bandwidth outside a probe (sections
//! 5.5.10 and 5.5.11).

use super::{Bbr3, NO_LIMIT, NO_RATE_LIMIT, Sample, State};
use crate::interface::{Loss, LostPacket};
use whimbrel_units::{Bytes, Rate, Time};

/// The state before a recovery, in case the loss was spurious.
#[derive(Debug, Clone, Copy)]
pub(super) struct Undo {
    /// The state that losses ended.
    pub state: Option<State>,
    bw_shortterm: Rate,
    inflight_shortterm: u64,
    inflight_longterm: u64,
}

impl Default for Undo {
    fn default() -> Self {
        Self {
            state: None,
            bw_shortterm: Rate::ZERO,
            inflight_shortterm: 0,
            inflight_longterm: 0,
        }
    }
}

impl Bbr3 {
    /// `NoteLoss`, without saving state.
    fn note_loss(&mut self) {
        if !self.is_loss_in_round {
            self.loss_rounds.start_with_next_ack();
        }
        self.is_loss_in_round = true;
    }

    /// `SaveStateUponLoss`
    pub(super) fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            state: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// `HandleLostPacket`
    pub(super) fn handle_lost_packet(&mut self, lost: &LostPacket) {
        self.note_loss();
        if !self.is_bw_probe_sample {
            return;
        }
        let in_flight = lost.at.in_flight.get();
        let lost_since = (lost.lost - lost.at.lost).get();
        if self.is_too_high(lost_since, in_flight) {
            let safe = self.inflight_at_loss(lost.size.get(), in_flight, lost_since);
            let app_limited = lost.at.app_limited || self.own_limit.covers(lost.at.delivered.get());
            self.handle_inflight_too_high(lost.now, safe, app_limited);
        }
    }

    /// Marked packets: the round had congestion, and a probe went too high.
    pub(super) fn handle_marks(&mut self, marks: &Loss) {
        self.note_loss();
        if self.is_bw_probe_sample {
            self.handle_inflight_too_high(marks.now, marks.in_flight.get(), false);
        }
    }

    /// `IsInflightTooHigh`
    pub(super) fn is_too_high(&self, lost: u64, in_flight: u64) -> bool {
        lost as f64 > in_flight as f64 * self.config.loss_threshold
    }

    /// The flight at which the losses crossed the threshold, somewhere within the packet
    /// `InflightAtLoss`.
    pub(super) fn inflight_at_loss(&self, size: u64, in_flight: u64, lost: u64) -> u64 {
        let threshold = self.config.loss_threshold;
        let before = in_flight.saturating_sub(size);
        let lost_before = lost.saturating_sub(size);
        let prefix = (threshold * before as f64 - lost_before as f64) / (1.0 - threshold);
        // The prefix is negative if the losses exceeded the threshold before this packet.
        let change = Bytes::new(prefix.abs() as u64).get();
        if prefix < 0.0 {
            before.saturating_sub(change)
        } else {
            before.saturating_add(change)
        }
    }

    /// `HandleInflightTooHigh`
    fn handle_inflight_too_high(&mut self, now: Time, in_flight: u64, app_limited: bool) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !app_limited {
            let min = Bytes::new(self.target_inflight()).mul_f64(self.config.beta);
            self.inflight_longterm = in_flight.max(min.get());
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now, None);
        }
    }

    /// `UpdateLatestDeliverySignals`
    pub(super) fn update_latest_delivery_signals(&mut self, sample: &Sample) {
        self.bw_latest = self.bw_latest.max(sample.rate.unwrap_or(Rate::ZERO));
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        self.loss_round_start = sample
            .prior_delivered
            .is_some_and(|prior| self.loss_rounds.on_ack(prior, self.delivered));
    }

    /// `AdvanceLatestDeliverySignals`
    pub(super) fn advance_latest_delivery_signals(&mut self, sample: &Sample) {
        if self.loss_round_start {
            self.bw_latest = sample.rate.unwrap_or(Rate::ZERO);
            self.inflight_latest = sample.delivered;
        }
    }

    /// `ResetCongestionSignals`
    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = Rate::ZERO;
        self.inflight_latest = 0;
    }

    /// `UpdateCongestionSignals`
    pub(super) fn update_congestion_signals(&mut self, sample: &Sample) {
        self.update_max_bw(sample);
        if self.loss_round_start {
            self.adapt_lower_bounds();
            self.is_loss_in_round = false;
        }
    }

    /// `AdaptLowerBoundsFromCongestion`
    fn adapt_lower_bounds(&mut self) {
        if self.is_probing_bw() || !self.is_loss_in_round {
            return;
        }
        if self.bw_shortterm == NO_RATE_LIMIT {
            self.bw_shortterm = self.max_bw();
        }
        if self.inflight_shortterm == NO_LIMIT {
            self.inflight_shortterm = self.cwnd;
        }
        let beta = self.config.beta;
        self.bw_shortterm = self.bw_latest.max(self.bw_shortterm.mul_f64(beta));
        let min = Bytes::new(self.inflight_shortterm).mul_f64(beta).get();
        self.inflight_shortterm = self.inflight_latest.max(min);
    }

    /// `ResetShortTermModel`
    pub(super) fn reset_short_term_model(&mut self) {
        self.bw_shortterm = NO_RATE_LIMIT;
        self.inflight_shortterm = NO_LIMIT;
    }

    /// `HandleSpuriousLossDetection`
    pub(super) fn handle_spurious_loss(&mut self) {
        self.restore_cwnd();
        self.is_loss_in_round = false;
        self.full_pipe = Default::default();
        let undo = self.undo;
        self.bw_shortterm = self.bw_shortterm.max(undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(undo.inflight_longterm);
        match undo.state {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_bw_reached = false;
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => {
                self.start_refill(None);
            }
            _ => {}
        }
        self.undo.state = None;
    }
}
