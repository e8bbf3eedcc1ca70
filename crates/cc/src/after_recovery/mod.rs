//! Congestion control after fast recovery (CCaFR): growth with every acknowledgment from the end of
//! a fast recovery until the link is full again.
//!
//! S. Ahmad, M. J. Arshad, "Enhanced Multistream Fast TCP: Rapid Bandwidth Utilization after
//! Fast-Recovery Phase", Appl. Sci. 9(21), 4698, 2019: Algorithm 1. `algorithms/delay/fast/emfast.rs`
//! has it with FAST, as in the paper; [`layer`] puts it on any algorithm with a window, as the
//! paper's conclusion proposes.
//!
//! The end of fast recovery sets isAFRmode. While it is set, on every ACK, in this order:
//! * lines 2 to 5: if the inter-packet delay (IPD, the time since the last ACK) equals its average
//!   and the RTT equals its average, the link is full again: leave the mode
//! * lines 6 to 10: with gapflag `w <- (1)`, otherwise `w <- w + 1/w`
//! * lines 11 to 13: set gapflag
//!
//! **Decisions.** Those of `emfast.rs`.

pub(crate) mod layer;

use crate::estimators::average::Average;
use crate::interface::{Ack, Signal};
use crate::registry::entry::{Domain, Parameter, Values};
use whimbrel_units::{Duration, Time};

/// Minimum difference of RTTs that counts, seconds.
const RTT_GRAIN: f64 = 0.001;

/// Windows of ACKs over which the averages go.
pub(crate) const WINDOWS: Parameter = Parameter {
    name: "afr_windows",
    domain: Domain::Number {
        default: 5.0,
        range: (0.0, 1000.0),
    },
    meaning: "windows of ACKs over which Algorithm 1 averages spacings and RTTs",
};

/// When spacings are equal.
pub(crate) const IPD_TOLERANCE: Parameter = Parameter {
    name: "ipd_tolerance",
    domain: Domain::Number {
        default: 0.5,
        range: (0.0, 10.0),
    },
    meaning: "tolerance for an ACK spacing to equal the average, fraction of the average",
};

/// When RTTs are equal.
pub(crate) const RTT_TOLERANCE: Parameter = Parameter {
    name: "rtt_tolerance",
    domain: Domain::Number {
        default: 0.02,
        range: (0.0, 10.0),
    },
    meaning: "tolerance for an RTT to equal the average, fraction of the average; at least 1 ms",
};

/// When gapflag is set.
pub(crate) const GAP_AT_EQUALITY: Parameter = Parameter {
    name: "gap_at_equality",
    domain: Domain::Switch(true),
    meaning: "set the gap flag when spacings are equal (line 11) instead of above the average \
              (text of (2))",
};

/// The mode after a recovery, and what it measures.
#[derive(Debug, Clone)]
pub(crate) struct AfterRecovery {
    ipd_tolerance: f64,
    rtt_tolerance: f64,
    gap_at_equality: bool,
    /// Number of windows of ACKs that the averages cover.
    windows: f64,
    /// avgRTT.
    rtt: Average,
    /// avgIPD.
    spacing: Average,
    last_ack: Option<Time>,
    /// The next event is the end of a fast recovery, not of a timeout.
    recovering: bool,
    /// isAFRmode; `None` outside the mode.
    after: Option<After>,
}

/// The state of the mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// gapflag is false.
    FirstTrain,
    /// gapflag is true.
    Refilling,
}

/// How the window grows with an acknowledgment (lines 6 to 10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Growth {
    /// `w <- w + 1/w`.
    OneOverWindow,
    /// `w <- (1)`: a step of the algorithm.
    Step,
}

impl AfterRecovery {
    /// With the parameters above, which the entry declares.
    pub fn new(values: &Values) -> Self {
        Self {
            ipd_tolerance: values.number(IPD_TOLERANCE.name),
            rtt_tolerance: values.number(RTT_TOLERANCE.name),
            gap_at_equality: values.switch(GAP_AT_EQUALITY.name),
            windows: values.number(WINDOWS.name),
            rtt: Average::default(),
            spacing: Average::default(),
            last_ack: None,
            recovering: false,
            after: None,
        }
    }

    /// Records the measurements of an ACK of a window of `segments`. Returns its spacing relative to
    /// the average.
    pub fn measure(&mut self, segments: f64, ack: &Ack) -> Option<Spacing> {
        let span = self.windows * segments;
        if let (Some(rtt), false) = (ack.rtt, ack.in_recovery) {
            self.rtt.add(rtt, span);
        }
        let last = self.last_ack.replace(ack.now)?;
        let spacing = ack.now.since(last);
        if !ack.in_recovery {
            self.spacing.add(spacing, span);
        }
        let mean = self.spacing.get()?;
        Some(Spacing::of(spacing, mean, self.ipd_tolerance))
    }

    /// avgRTT = rtt.
    fn rtt_is_average(&self, rtt: Duration) -> bool {
        self.rtt.get().is_some_and(|mean| {
            (rtt.as_secs_f64() - mean).abs() <= RTT_GRAIN.max(self.rtt_tolerance * mean)
        })
    }

    /// Algorithm 1, lines 2 to 13, for an ACK that may let the window grow; `None` outside the mode.
    pub fn on_ack(&mut self, ack: &Ack, spacing: Option<Spacing>) -> Option<Growth> {
        let equal = spacing == Some(Spacing::Average);
        let full = equal && ack.rtt.is_some_and(|rtt| self.rtt_is_average(rtt));
        let gap = self.after? == After::Refilling && !full;
        let growth = if gap {
            Growth::Step
        } else {
            Growth::OneOverWindow
        };
        let gap = gap
            || match self.gap_at_equality {
                true => equal,
                false => spacing == Some(Spacing::Gap),
            };
        self.after = match (full, gap) {
            (true, _) => None,
            (false, true) => Some(After::Refilling),
            (false, false) => Some(After::FirstTrain),
        };
        Some(growth)
    }

    /// An episode begins.
    pub fn on_loss(&mut self, signal: Signal) {
        self.after = None;
        self.recovering = signal == Signal::Loss;
    }

    /// An episode ends.
    pub fn on_recovery_end(&mut self) {
        if std::mem::take(&mut self.recovering) {
            self.after = Some(After::FirstTrain);
        }
    }

    /// A timeout, or the end of an episode that was spurious.
    pub fn stop(&mut self) {
        self.after = None;
        self.recovering = false;
    }

    /// The name of its state; `None` outside the mode.
    pub fn phase(&self) -> Option<&'static str> {
        Some(match self.after? {
            After::FirstTrain => "after recovery: first train",
            After::Refilling => "after recovery: refilling",
        })
    }
}

/// The spacing of an ACK from the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spacing {
    /// Shorter than the average.
    Shorter,
    /// Equal to it.
    Average,
    /// Longer.
    Gap,
}

impl Spacing {
    fn of(spacing: Duration, mean: f64, tolerance: f64) -> Self {
        let more = spacing.as_secs_f64() - mean;
        if more.abs() <= tolerance * mean {
            Self::Average
        } else if more > 0.0 {
            Self::Gap
        } else {
            Self::Shorter
        }
    }
}
