//! The response of a sender to congestion marks (RFC 3168 section 6.1.2).
//!
//! An acknowledgment that echoes marks requires the same reduction as a loss, but no repair. The
//! window is reduced at most once per window of data, for marks or for losses. The first new
//! segment after a reduction carries CWR, and the receiver then stops echoing. The next mark counts
//! only when that segment is acknowledged: earlier acknowledgments still echo old marks. (In Linux
//! the CWR state ends when more than `high_seq` is acknowledged.)
//!
//! The flight shrinks to the window by proportional rate reduction in the modes that use it for
//! losses; without SACK the sender pauses until the flight fits. A loss that is found during that
//! time was sent before the reduction: it is repaired, and the window is not reduced again.
//!
//! If the controller does not reduce the window for a mark, this is a response too: CWR is sent,
//! since otherwise all later acknowledgments would echo the old mark, and the controller is queried
//! again after one window of data. (Algorithms like DCTCP use the mark of each acknowledgment.)

use super::prr::Prr;
use super::{Phase, Sender};
use whimbrel_cc::{Loss, Signal};
use whimbrel_units::{Bytes, Time};

/// State of a sender about marks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks {
    /// Data packets may be marked.
    pub on: bool,
    /// The current acknowledgment echoes marks.
    pub echoed: bool,
    /// The next new segment carries CWR.
    cwr_due: bool,
    /// No further response before this segment is acknowledged.
    answered_until: u32,
    /// The controller kept its window for the last mark, and that window of data is not over.
    kept: bool,
}

impl Marks {
    pub fn new(on: bool) -> Self {
        Self {
            on,
            echoed: false,
            cwr_due: false,
            answered_until: 0,
            kept: false,
        }
    }

    /// Records a response, with or without a reduction, when `next` was the next new segment.
    pub fn answered(&mut self, next: u32) {
        self.cwr_due = self.on;
        self.answered_until = next;
        self.kept = false;
    }

    /// Invoked when a loss episode begins: the controller is notified of the end of that episode
    /// instead.
    pub fn forget_kept(&mut self) {
        self.kept = false;
    }

    /// Whether the new segment that is sent carries CWR.
    pub fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.cwr_due)
    }

    /// Whether the acknowledgment of all data below `una` ends the window of data of a mark for
    /// which the window was kept.
    pub fn end_kept(&mut self, una: u32) -> bool {
        let over = self.kept && una > self.answered_until;
        self.kept &= !over;
        over
    }
}

impl Sender {
    /// Invoked when the current acknowledgment echoes marks: queries the controller, unless there
    /// was a response for this window of data. `sent` is when the newest acknowledged segment was
    /// sent, `flight` the flight before the acknowledgment.
    pub(super) fn answer_for_marks(&mut self, now: Time, sent: Time, flight: u32) {
        let answered = !matches!(self.phase, Phase::Open | Phase::Repair { .. });
        let una = self.board.una();
        if answered || una <= self.marks.answered_until {
            return;
        }
        let until = self.board.next();
        let response = self.controller.on_loss(&Loss {
            now,
            signal: Signal::Ecn,
            in_flight: self.bytes(flight),
            lost: Bytes::ZERO,
            lost_order: u64::from(una),
            next_order: u64::from(until),
            sent,
            ece: true,
            truth: None,
        });
        self.counters.mark_episodes += 1;
        self.marks.answered(until);
        if !response.reduced {
            self.marks.kept = matches!(self.phase, Phase::Open);
            return;
        }
        let prr = Prr::begin(self.cwnd(), flight);
        self.phase = match self.phase {
            Phase::Repair { .. } => Phase::Recovery { until, prr },
            _ => Phase::Marked { until, prr },
        };
    }
}
