//! BBR's window: towards the target by what is acknowledged, and careful while losses are repaired `bbr_set_cwnd`.

use super::{Bbr, Mode, Repair, Sample};
use whimbrel_units::Rate;

/// Rate below which a burst is one segment `bbr_min_tso_rate`; from it on, two.
const SLOW: Rate = Rate::from_bits_per_sec(1_200_000);
/// A burst is what leaves in 1/1024 s `sk_pacing_shift = 10` ...
const BURSTS_A_SECOND: u64 = 1024;
/// ... and no more than this, bytes (64 KiB less the greatest TCP header of Linux) ...
const MOST_BYTES: u64 = 65_536 - 1 - 320;
/// ... nor than so many segments.
const MOST_SEGMENTS: u64 = 127;
/// Bursts the window has room for: one waiting below the sender, one being cut up, one being put together again.
const BURSTS: u64 = 3;

impl Bbr {
    /// What Linux would hand down at once, bytes `bbr_tso_segs_goal`.
    pub(super) fn burst(&self) -> u64 {
        let bytes = self.pacing_rate.as_bytes_per_sec() / BURSTS_A_SECOND;
        let least = if self.pacing_rate < SLOW { 1 } else { 2 };
        let segments = bytes.min(MOST_BYTES) / self.mss;
        self.mss
            .saturating_mul(segments.max(least).min(MOST_SEGMENTS))
    }

    /// Makes room for whole bursts, and for the probe to raise even a small flight `bbr_quantization_budget`.
    fn with_budget(&self, window: u64) -> u64 {
        let room = window.saturating_add(self.burst().saturating_mul(BURSTS));
        // An even number of segments: acknowledgments come for two.
        let even = room.checked_next_multiple_of(self.mss.saturating_mul(2));
        let probe = match self.mode {
            Mode::ProbeBw { phase: 0 } => self.mss.saturating_mul(2),
            _ => 0,
        };
        even.unwrap_or(u64::MAX).saturating_add(probe)
    }

    /// Bytes in flight that make `gain` bandwidth-delay products `bbr_inflight`.
    pub(super) fn inflight(&self, bw: Rate, gain: f64) -> u64 {
        self.with_budget(self.bdp(bw, gain))
    }

    /// `bbr_save_cwnd`
    pub(super) fn save_cwnd(&mut self) {
        let good = self.prior_repair == Repair::None && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good {
            self.cwnd
        } else {
            self.prior_cwnd.max(self.cwnd)
        };
    }

    pub(super) fn set_cwnd(&mut self, sample: &Sample) {
        if sample.acked > 0 {
            self.recover_or_restore(sample);
            if self.packet_conservation {
                let conserved = sample.in_flight.saturating_add(sample.acked);
                self.cwnd = self.cwnd.max(conserved);
            } else {
                self.approach_target(sample);
            }
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(self.least_window());
        }
        self.cwnd = self.cwnd.max(self.mss);
    }

    /// `bbr_set_cwnd_to_recover_or_restore`
    fn recover_or_restore(&mut self, sample: &Sample) {
        // What was lost is not replaced at once: an acknowledgment of P segments releases at most 2P.
        self.cwnd = self.cwnd.saturating_sub(sample.losses).max(self.mss);
        if self.repair == Repair::Recovery && self.prior_repair != Repair::Recovery {
            self.packet_conservation = true;
            self.rounds.start(sample.delivered);
            self.cwnd = sample.in_flight.saturating_add(sample.acked);
        } else if self.repair == Repair::None && self.prior_repair != Repair::None {
            self.packet_conservation = false;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
        self.prior_repair = self.repair;
    }

    fn approach_target(&mut self, sample: &Sample) {
        let bdp = self.bdp(self.bw(), self.cwnd_gain());
        let target = self.with_budget(bdp.saturating_add(self.aggregation_budget()));
        let grown = self.cwnd.saturating_add(sample.acked);
        if self.full_bw_reached {
            self.cwnd = grown.min(target);
        } else if self.cwnd < target || sample.delivered < self.initial_window {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(self.least_window());
    }
}
