//! ProbeBW: the cycle of DOWN, CRUISE, REFILL and UP (section 5.3.3).

use super::startup::FullPipe;
use super::{Bbr3, NO_LIMIT, Sample, State};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Maximum number of round trips between two probes; at random one less (5.3.3.8.2).
const RENO_ROUNDS: u64 = 63;
/// Minimum time between two probes unless rounds end it; at random up to one second more.
const MIN_WAIT: Duration = Duration::from_secs(2);
/// Number of rounds of UP after which the growth of inflight_longterm no longer doubles.
const MAX_DOUBLINGS: u32 = 30;

/// The meaning of the acknowledgments that arrive `BBR.ack_phase`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// No particular meaning.
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

impl Bbr3 {
    /// `StartRound`; `delivered` is unknown where losses are reported before their acknowledgment.
    pub(super) fn start_round(&mut self, delivered: Option<u64>) {
        match delivered {
            Some(delivered) => self.rounds.start(delivered),
            None => self.rounds.start_with_next_ack(),
        }
    }

    /// `StartProbeBW_DOWN`
    pub(super) fn start_down(&mut self, now: Time, delivered: Option<u64>) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = NO_LIMIT;
        self.pick_probe_wait();
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round(delivered);
        self.state = State::Down;
    }

    /// `StartProbeBW_CRUISE`
    pub(super) fn start_cruise(&mut self) {
        self.state = State::Cruise;
    }

    /// `StartProbeBW_REFILL`
    pub(super) fn start_refill(&mut self, delivered: Option<u64>) {
        self.reset_short_term_model();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acked = 0;
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round(delivered);
        self.state = State::Refill;
    }

    /// `StartProbeBW_UP`
    fn start_up(&mut self, sample: &Sample) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round(Some(self.delivered));
        self.full_pipe = FullPipe::from(sample.rate.unwrap_or(Rate::ZERO));
        self.state = State::Up;
        self.raise_longterm_slope();
    }

    /// `UpdateProbeBWCyclePhase`
    pub(super) fn update_probe_bw_cycle_phase(&mut self, sample: &Sample) {
        if !self.full_bw_reached || self.adapt_long_term_model(sample) {
            return;
        }
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(sample.now) => {
                self.start_refill(Some(self.delivered));
            }
            State::Down if self.is_time_to_cruise(sample) => self.start_cruise(),
            State::Refill if self.round_start => {
                self.is_bw_probe_sample = true;
                self.start_up(sample);
            }
            State::Up => self.check_up_done(sample),
            _ => {}
        }
    }

    /// Ends a probe that has not lost too much.
    fn check_up_done(&mut self, sample: &Sample) {
        if self.is_time_to_go_down(sample) {
            self.prev_probe_too_high = false;
            self.start_down(sample.now, Some(self.delivered));
        }
    }

    /// `AdaptLongTermModel`. Returns whether it has selected another state.
    fn adapt_long_term_model(&mut self, sample: &Sample) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.is_in_probe_bw() && !sample.app_limited {
                self.advance_max_bw_filter();
            }
            // A round has passed since the precautionary probe, and its flight was safe: probe
            // again.
            let safe = self.prev_probe_precautionary && !self.prev_probe_too_high;
            if self.is_in_probe_bw() && safe {
                self.start_refill(Some(self.delivered));
                return true;
            }
        }
        let safe = !self.is_too_high(sample.lost, sample.tx_in_flight);
        if safe && self.has_longterm_limit() {
            self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight);
            if self.state == State::Up {
                self.probe_longterm_upward(sample);
            }
        }
        false
    }

    /// `PickProbeWait`
    fn pick_probe_wait(&mut self) {
        self.rounds_since_probe_up = self.random.below(2);
        let chance = Duration::from_secs_f64(self.random.unit());
        self.bw_probe_wait = MIN_WAIT + chance;
    }

    /// `IsTimeToProbeBW`, without the transition.
    fn is_time_to_probe(&self, now: Time) -> bool {
        let reno_rounds = (self.target_inflight() / self.mss).min(RENO_ROUNDS);
        now > self.cycle_stamp + self.bw_probe_wait || self.rounds_since_probe_up >= reno_rounds
    }

    /// `IsTimeToCruise`
    fn is_time_to_cruise(&self, sample: &Sample) -> bool {
        sample.in_flight <= self.inflight_with_headroom()
            && sample.in_flight <= self.inflight(self.max_bw(), 1.0)
    }

    /// `IsTimeToGoDown`
    fn is_time_to_go_down(&mut self, sample: &Sample) -> bool {
        // Before this acknowledgment there was no space for another segment under the limit.
        let reached = sample.prior_in_flight.saturating_add(self.mss) > self.inflight_longterm;
        if self.prev_probe_too_high && reached {
            self.prev_probe_precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.cwnd >= self.inflight_longterm {
            // The limit, not the path, prevents growth of the rate.
            self.full_pipe = FullPipe::from(sample.rate.unwrap_or(Rate::ZERO));
            return false;
        }
        self.full_pipe.now
    }

    /// `InflightWithHeadroom`
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        if !self.has_longterm_limit() {
            return NO_LIMIT;
        }
        let share = Bytes::new(self.inflight_longterm).mul_f64(self.config.headroom);
        let headroom = share.get().max(self.mss);
        let room = self.inflight_longterm.saturating_sub(headroom);
        room.max(self.min_window())
    }

    /// `RaiseInflightLongtermSlope`
    fn raise_longterm_slope(&mut self) {
        let growth = 1u64 << self.bw_probe_up_rounds;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(MAX_DOUBLINGS);
        self.probe_up_acked_per_inc = (self.cwnd / growth).max(self.mss);
    }

    /// `ProbeInflightLongtermUpward`
    fn probe_longterm_upward(&mut self, sample: &Sample) {
        if !self.is_cwnd_limited() || self.cwnd < self.inflight_longterm {
            return;
        }
        self.bw_probe_up_acked = self.bw_probe_up_acked.saturating_add(sample.acked);
        let segments = self.bw_probe_up_acked / self.probe_up_acked_per_inc;
        self.bw_probe_up_acked %= self.probe_up_acked_per_inc;
        let growth = self.mss.saturating_mul(segments);
        self.inflight_longterm = self.inflight_longterm.saturating_add(growth);
        if self.round_start {
            self.raise_longterm_slope();
        }
    }
}
