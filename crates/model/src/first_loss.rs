//! The first lost packet of a cycle. TCP-NACK paper, section 2.1, equation (14).

use crate::cycle::Cycle;
use whimbrel_units::Probability;

/// Smaller probabilities are treated as zero.
pub(crate) const NEGLIGIBLE: f64 = 1e-16;

/// (14) for one W_0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LossOf {
    /// ln(1-P).
    survives: f64,
    /// n_of.
    overflows: u64,
}

impl LossOf {
    /// Packets are lost with probability `p`, and when the buffer overflows.
    pub fn new(cycle: &Cycle<'_>, p: Probability) -> Self {
        Self {
            survives: (-p.get()).ln_1p(),
            overflows: cycle.overflows(),
        }
    }

    /// `(1-P)^(n-1)`: the probability that no packet before n is lost.
    pub fn reaches(&self, n: u64) -> f64 {
        // For P = 1 the logarithm is infinite; the first packet is reached nevertheless.
        match n {
            0 | 1 => 1.0,
            n => ((n - 1) as f64 * self.survives).exp(),
        }
    }

    /// 1 - P.
    pub fn arrives(&self) -> f64 {
        self.survives.exp()
    }

    /// The sum of (14) over `packets` packets from `first` (1 or more) on, up to n_of.
    pub fn within(&self, first: u64, packets: u64) -> f64 {
        let reaches = self.reaches(first);
        if first + packets > self.overflows {
            return reaches;
        }
        reaches * -(packets as f64 * self.survives).exp_m1()
    }

    /// Whether the probability of reaching packet n is negligible.
    pub fn is_over(&self, n: u64) -> bool {
        self.reaches(n) < NEGLIGIBLE
    }
}
