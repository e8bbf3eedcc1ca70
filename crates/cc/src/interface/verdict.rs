//! What an algorithm decides about a loss.

/// The cause that an algorithm assumes for a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A queue overflowed, or set a congestion mark: slow down.
    Congestion,
    /// The channel lost the packet: slowing down would not help.
    Random,
}

impl Verdict {
    /// The probability of congestion that an algorithm states with this verdict: its confidence, or
    /// 1 or 0 if it grades none.
    pub fn probability(self, confidence: Option<f64>) -> f64 {
        confidence.unwrap_or(match self {
            Self::Congestion => 1.0,
            Self::Random => 0.0,
        })
    }
}

/// How an algorithm responded to an episode of loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossResponse {
    /// The algorithm reduced the window, so the transport lets the flight shrink to it (RFC 6937,
    /// RFC 9937). If false, the window is unchanged and the transport keeps filling it.
    pub reduced: bool,
    /// The assumed cause of the loss, if the algorithm classifies losses.
    pub verdict: Option<Verdict>,
    /// How sure the algorithm is that the loss is congestion, from 0 to 1, if it grades its
    /// verdicts. `None`: it has only the verdict, or none.
    pub confidence: Option<f64>,
}

impl LossResponse {
    /// Reduced without a verdict: the response of every algorithm without a loss classifier.
    pub const REDUCED: Self = Self {
        reduced: true,
        verdict: None,
        confidence: None,
    };
    /// The window is unchanged, and there is no verdict.
    pub const KEPT: Self = Self {
        reduced: false,
        verdict: None,
        confidence: None,
    };
}
