//! BBR's window: grows towards the target with acknowledgments, and is reduced during recovery
//! `bbr_set_cwnd`.

use super::{Bbr, Mode, Repair, Sample};
use whimbrel_units::Rate;

/// Rate below which a burst is one segment `bbr_min_tso_rate`; from it on, two.
const SLOW: Rate = Rate::from_bits_per_sec(1_200_000);
/// A burst is the data of 1/1024 s `sk_pacing_shift = 10` ...
const BURSTS_A_SECOND: u64 = 1024;
/// ... at most this many bytes (64 KiB minus Linux's maximum TCP header) ...
const MAX_BYTES: u64 = 65_536 - 1 - 320;
/// ... and at most this many segments.
const MAX_SEGMENTS: u64 = 127;
/// Number of bursts that the window allows for: one waiting below the sender, one being segmented,
/// one being reassembled.
const BURSTS: u64 = 3;

impl Bbr {
    /// The burst that Linux would hand down at once, bytes `bbr_tso_segs_goal`.
    pub(super) fn burst(&self) -> u64 {
        let bytes = self.pacing_rate.as_bytes_per_sec() / BURSTS_A_SECOND;
        let min = if self.pacing_rate < SLOW { 1 } else { 2 };
        let segments = bytes.min(MAX_BYTES) / self.mss;
        self.mss.saturating_mul(segments.max(min).min(MAX_SEGMENTS))
    }

    /// Adds space for whole bursts, and for a probe to raise even a small flight
    /// `bbr_quantization_budget`.
    fn with_budget(&self, window: u64) -> u64 {
        let room = window.saturating_add(self.burst().saturating_mul(BURSTS));
        // An even number of segments, because acknowledgments come for two.
        let even = room.checked_next_multiple_of(self.mss.saturating_mul(2));
        let probe = match self.mode {
            Mode::ProbeBw { phase: 0 } => self.mss.saturating_mul(2),
            _ => 0,
        };
        even.unwrap_or(u64::MAX).saturating_add(probe)
    }

    /// Flight of `gain` bandwidth-delay products, bytes `bbr_inflight`.
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
            self.cwnd = self.cwnd.min(self.min_window());
        }
        self.cwnd = self.cwnd.max(self.mss);
    }

    /// `bbr_set_cwnd_to_recover_or_restore`
    fn recover_or_restore(&mut self, sample: &Sample) {
        // Lost data is not replaced at once: an acknowledgment of P segments releases at most 2P.
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
        self.cwnd = self.cwnd.max(self.min_window());
    }
}
