//! The model without losses: max_bw, its product with min_rtt, aggregation (sections 5.5.1 to
//! 5.5.9).

use super::{Bbr3, Sample};
use whimbrel_units::{Bytes, Rate};

/// Window of the filter for the excess of acknowledgments, round trips `BBR.ExtraAckedFilterLen`.
const EXTRA_ACKED_ROUNDS: u64 = 10;

impl Bbr3 {
    /// `UpdateMaxBw`, with `UpdateRound`
    pub(super) fn update_max_bw(&mut self, sample: &Sample) {
        self.round_start = sample
            .prior_delivered
            .is_some_and(|prior| self.rounds.on_ack(prior, self.delivered));
        if self.round_start {
            self.round_count += 1;
            self.rounds_since_probe_up = self.rounds_since_probe_up.saturating_add(1);
            self.window_full = (false, self.window_full.0);
        }
        if let Some(rate) = sample.rate
            && (rate >= self.max_bw() || !sample.app_limited)
        {
            self.max_bw[1] = self.max_bw[1].max(rate);
        }
    }

    /// `AdvanceMaxBwFilter`: a cycle without a sample keeps the maximum of the last one.
    pub(super) fn advance_max_bw_filter(&mut self) {
        if self.max_bw[1] > Rate::ZERO {
            self.max_bw = [self.max_bw[1], Rate::ZERO];
        }
    }

    /// The maximum bandwidth of this cycle and the last `BBR.max_bw`.
    pub(super) fn max_bw(&self) -> Rate {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// `BBR.bw`, by `BoundBWForModel`
    pub(super) fn bw(&self) -> Rate {
        self.max_bw().min(self.bw_shortterm)
    }

    /// `gain` bandwidth-delay products at `bw` `BDPMultiple`.
    pub(super) fn bdp_multiple(&self, bw: Rate, gain: f64) -> u64 {
        match self.min_rtt {
            Some((rtt, _)) => {
                let bytes: Bytes = bw.bytes_in(rtt);
                bytes.mul_f64(gain).get()
            }
            None => self.initial_window,
        }
    }

    /// `BBR.bdp`
    pub(super) fn bdp(&self) -> u64 {
        self.bdp_multiple(self.bw(), 1.0)
    }

    /// `TargetInflight`
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp().min(self.cwnd)
    }

    /// `UpdateACKAggregation`
    pub(super) fn update_ack_aggregation(&mut self, sample: &Sample) {
        let extra = self.epoch.excess(sample.now, sample.acked, self.bw());
        let rounds = if self.full_bw_reached {
            EXTRA_ACKED_ROUNDS
        } else {
            1
        };
        let (round, extra) = (self.round_count, extra.min(self.cwnd));
        self.extra_acked.update(rounds, round, extra);
    }

    /// Whether the window was full in this round or the last one `C.is_cwnd_limited`.
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.window_full.0 || self.window_full.1
    }
}
