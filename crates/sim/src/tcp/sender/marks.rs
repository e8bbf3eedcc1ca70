//! What congestion marks mean to a sender (RFC 3168 section 6.1.2).
//!
//! An acknowledgment that echoes marks asks for the same reduction as a loss, without anything to repair. It is asked for at
//! most once for a window of data, whatever the reason of the last one was. The first new segment after it carries CWR, upon
//! which the receiver stops echoing; so the next mark counts when that segment is acknowledged, not sooner: what
//! arrived before it still echoes the old ones (as in Linux, whose CWR state ends when more than `high_seq` is acknowledged).
//!
//! The flight shrinks to the window by proportional rate reduction where losses would be repaired so; without SACK the sender
//! waits until it has. A loss found meanwhile was sent before the reduction: it is repaired, and the window, which has been
//! reduced for it already, stands.
//!
//! A law that keeps its window for a mark has answered too: CWR is sent for it, or every later acknowledgment would
//! carry old news, and it is asked again after a window of data. (DCTCP-like laws live on what each acknowledgment says.)

use super::prr::Prr;
use super::{Phase, Sender};
use whimbrel_cc::{Loss, Signal};
use whimbrel_units::{Bytes, Time};

/// What a sender knows of marks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks {
    /// Data may be marked.
    pub on: bool,
    /// The acknowledgment at hand echoes marks.
    pub echoed: bool,
    /// The next new segment tells that the window was answered for.
    cwr_due: bool,
    /// No answer before more than this is acknowledged.
    answered_until: u32,
    /// The law kept its window for the last mark, and that window of data is not over.
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

    /// The window was answered for, by a reduction or not, when `next` was the next new segment.
    pub fn answered(&mut self, next: u32) {
        self.cwr_due = self.on;
        self.answered_until = next;
        self.kept = false;
    }

    /// An episode of loss began: its end is the next to be told of.
    pub fn forget_kept(&mut self) {
        self.kept = false;
    }

    /// Whether the new segment that leaves carries CWR.
    pub fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.cwr_due)
    }

    /// Data below `una` is acknowledged: whether it ends the window of data of a mark that was kept for.
    pub fn end_kept(&mut self, una: u32) -> bool {
        let over = self.kept && una > self.answered_until;
        self.kept &= !over;
        over
    }
}

impl Sender {
    /// The acknowledgment at hand echoes marks: asks the controller, unless this window of data was answered for.
    /// `sent` is when the newest segment that it acknowledges left, `flight` what was in flight before it.
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
