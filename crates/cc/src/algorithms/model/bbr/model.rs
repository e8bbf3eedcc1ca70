//! BBR's model of the path, and the state machine that maintains it `bbr_update_model`.

use super::{Bbr, Counts, MIN_WINDOW, Mode, Sample};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Number of phases of the gain cycle `CYCLE_LEN`.
const CYCLE: usize = 8;
/// Window of the bandwidth filter, round trips `bbr_bw_rtts`.
const BANDWIDTH_ROUNDS: u64 = 10;
/// Number of phases with which the cycle may begin: all except the second, which drains what has
/// not been added `bbr_cycle_rand`.
const CYCLE_STARTS: u64 = 7;
/// The pipe is not full if the bandwidth grows by this factor `bbr_full_bw_thresh` ...
const GROWTH: f64 = 1.25;
/// ... and full after this many rounds without it `bbr_full_bw_cnt`.
const FULL_ROUNDS: u32 = 3;
/// Minimum time with few packets in flight in PROBE_RTT `bbr_probe_rtt_mode_ms`.
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// Maximum silence between acknowledgments that the window allows for `bbr_extra_acked_max_us`.
const MAX_SILENCE: Duration = Duration::from_millis(100);
/// Round trips of each half of the aggregation window `bbr_extra_acked_win_rtts`.
const AGGREGATION_ROUNDS: u32 = 5;

/// The maximum excess of acknowledgments in the last 5 to 10 round trips `extra_acked`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Aggregation {
    /// Maximum of this half of the window and of the other, bytes.
    halves: [u64; 2],
    rounds: u32,
}

impl Aggregation {
    fn max(&self) -> u64 {
        self.halves[0].max(self.halves[1])
    }

    fn on_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= AGGREGATION_ROUNDS {
            self.rounds = 0;
            self.halves = [0, self.halves[0]];
        }
    }

    fn take(&mut self, excess: u64) {
        self.halves[0] = self.halves[0].max(excess);
    }
}

impl Bbr {
    pub(super) fn update_model(&mut self, sample: &Sample) {
        self.update_bw(sample);
        self.update_aggregation(sample);
        self.update_cycle_phase(sample);
        self.check_full_bw_reached(sample);
        self.check_drain(sample);
        self.update_min_rtt(sample);
    }

    /// `bbr_update_bw`
    fn update_bw(&mut self, sample: &Sample) {
        self.round_start = false;
        let Some((rate, prior_delivered)) = sample.rate else {
            return;
        };
        if self.rounds.on_ack(prior_delivered, sample.delivered) {
            self.round_count += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.sample_long_term(&Counts {
            now: sample.now,
            delivered: sample.delivered,
            lost: sample.lost,
            losses: sample.losses > 0,
            round_start: self.round_start,
            app_limited: sample.app_limited,
            probing: matches!(self.mode, Mode::ProbeBw { .. }),
        });
        // Application-limited samples count only if they exceed the estimate.
        if !sample.app_limited || rate >= self.max_bw() {
            let (round, bits) = (self.round_count, rate.as_bits_per_sec());
            self.max_bw.update(BANDWIDTH_ROUNDS, round, bits);
        }
    }

    pub(super) fn sample_long_term(&mut self, counts: &Counts) {
        if self.config.long_term && self.long_term.sample(counts) {
            self.enter_probe_bw(counts.now);
        }
    }

    /// `bbr_update_ack_aggregation`
    fn update_aggregation(&mut self, sample: &Sample) {
        if sample.rate.is_none() || sample.acked == 0 {
            return;
        }
        if self.round_start {
            self.aggregation.on_round();
        }
        let bw = self.bw();
        let excess = self.epoch.excess(sample.now, sample.acked, bw);
        self.aggregation.take(excess.min(self.cwnd));
    }

    /// The allowance of the window for silences between acknowledgments, bytes
    /// `bbr_ack_aggregation_cwnd`.
    pub(super) fn aggregation_budget(&self) -> u64 {
        if !self.full_bw_reached {
            return 0;
        }
        let max = self.bw().bytes_in(MAX_SILENCE).get();
        self.aggregation.max().min(max)
    }

    /// `bbr_update_cycle_phase`
    fn update_cycle_phase(&mut self, sample: &Sample) {
        if let Mode::ProbeBw { phase } = self.mode
            && self.is_phase_over(sample)
        {
            self.begin_phase((phase + 1) % CYCLE, sample.now);
        }
    }

    /// `bbr_is_next_cycle_phase`
    fn is_phase_over(&self, sample: &Sample) -> bool {
        let gain = self.pacing_gain();
        let full_length = self
            .min_rtt
            .is_some_and(|(rtt, _)| sample.now.since(self.cycle_stamp) > rtt);
        let prior_in_flight = sample
            .in_flight
            .saturating_add(sample.acked)
            .saturating_add(sample.losses);
        let bw = self.max_bw();
        if gain > 1.0 {
            // Until a quarter more is in flight, or losses show that it does not fit into the path.
            // The next burst counts.
            let in_flight = prior_in_flight.saturating_add(self.burst());
            full_length && (sample.losses > 0 || in_flight >= self.inflight(bw, gain))
        } else if gain < 1.0 {
            // Until the excess of the probe has drained; longer would leave the path idle.
            full_length || prior_in_flight <= self.inflight(bw, 1.0)
        } else {
            full_length
        }
    }

    fn begin_phase(&mut self, phase: usize, now: Time) {
        self.mode = Mode::ProbeBw { phase };
        self.cycle_stamp = now;
    }

    /// `bbr_reset_probe_bw_mode`
    pub(super) fn enter_probe_bw(&mut self, now: Time) {
        let phase = CYCLE - self.random.below(CYCLE_STARTS) as usize;
        self.begin_phase(phase % CYCLE, now);
    }

    /// `bbr_check_full_bw_reached`
    fn check_full_bw_reached(&mut self, sample: &Sample) {
        if self.full_bw_reached || !self.round_start || sample.app_limited {
            return;
        }
        if self.max_bw() >= self.full_bw.mul_f64(GROWTH) {
            self.full_bw = self.max_bw();
            self.full_bw_count = 0;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_reached = self.full_bw_count >= FULL_ROUNDS;
    }

    /// `bbr_check_drain`
    fn check_drain(&mut self, sample: &Sample) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && sample.in_flight <= self.inflight(self.max_bw(), 1.0) {
            self.enter_probe_bw(sample.now);
        }
    }

    /// `bbr_update_min_rtt`
    fn update_min_rtt(&mut self, sample: &Sample) {
        let window = self.config.min_rtt_window;
        let expired = self
            .min_rtt
            .is_some_and(|(_, seen)| sample.now > seen + window);
        if let Some(rtt) = sample.rtt
            && (expired || self.min_rtt.is_none_or(|(min, _)| rtt < min))
        {
            self.min_rtt = Some((rtt, sample.now));
        }
        if self.config.probe_rtt && expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(sample);
        }
        if sample.rate.is_some() {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, sample: &Sample) {
        self.own_limit.mark(sample.delivered, sample.in_flight);
        if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(sample.now);
            }
        } else if sample.in_flight <= self.min_window() {
            self.probe_rtt_done = Some(sample.now + PROBE_RTT_TIME);
            self.probe_rtt_round_done = false;
            self.rounds.start(sample.delivered);
        }
    }

    /// `bbr_check_probe_rtt_done`
    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        if let Some((_, seen)) = &mut self.min_rtt {
            *seen = now;
        }
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_bw_reached {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// `gain` bandwidth-delay products, bytes `bbr_bdp`.
    pub(super) fn bdp(&self, bw: Rate, gain: f64) -> u64 {
        match self.min_rtt {
            Some((rtt, _)) => {
                let bytes: Bytes = bw.bytes_in(rtt);
                bytes.mul_f64(gain).get()
            }
            None => self.initial_window,
        }
    }

    /// `bbr_cwnd_min_target`
    pub(super) fn min_window(&self) -> u64 {
        self.mss.saturating_mul(MIN_WINDOW)
    }
}
