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

use super::Sender;
use super::prr::Prr;
use whimbrel_cc::connection::RecoveryStage;
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
}

impl Marks {
    pub fn new(on: bool) -> Self {
        Self {
            on,
            echoed: false,
            cwr_due: false,
            answered_until: 0,
        }
    }

    /// Records a response, with or without a reduction, when `next` was the next new segment.
    pub fn answered(&mut self, next: u32) {
        self.cwr_due = self.on;
        self.answered_until = next;
    }

    /// Whether the new segment that is sent carries CWR.
    pub fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.cwr_due)
    }
}

impl Sender {
    /// Invoked when the current acknowledgment echoes marks: queries the controller, unless there
    /// was a response for this window of data. `sent` is when the newest acknowledged segment was
    /// sent, `flight` the flight before the acknowledgment.
    pub(super) fn answer_for_marks(&mut self, now: Time, sent: Time, flight: u32) {
        let repairing = match self.episodes.stage() {
            RecoveryStage::Open => false,
            RecoveryStage::Repair => true,
            RecoveryStage::Recovery | RecoveryStage::Marked | RecoveryStage::StartedAgain => return,
        };
        let (una, next) = (self.board.una(), self.board.next());
        if una <= self.marks.answered_until {
            return;
        }
        let loss = Loss {
            now,
            signal: Signal::Ecn,
            in_flight: self.bytes(flight),
            lost: Bytes::ZERO,
            lost_order: u64::from(una),
            next_order: u64::from(next),
            sent,
            ece: true,
            truth: None,
        };
        let repaired = self.episodes.until();
        // Without a repair, the segment that carries CWR must be acknowledged.
        let until = u64::from(next) + u64::from(!repairing);
        let controller = &mut *self.controller;
        let response = self.episodes.on_loss(controller, &loss, until);
        self.counters.episodes.count(Signal::Ecn, &response);
        self.marks.answered(next);
        if response.reduced {
            self.prr = Prr::begin(self.cwnd(), flight);
        } else if repairing {
            self.episodes.end_at(repaired);
        }
    }
}
