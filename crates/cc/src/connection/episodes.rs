//! Episodes of loss and of congestion marks: when one begins, what the controller's response makes
//! of it, and when it ends.
//!
//! Positions are numbers that grow with what is sent: sequence numbers in TCP, the order of
//! transmission in QUIC.

use crate::interface::{Controller, FastRecovery, Loss, LossResponse, Signal, Timeout};
use whimbrel_units::Time;

/// What a connection does about losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RecoveryStage {
    /// It repairs no loss.
    #[default]
    Open,
    /// It repairs losses for which the window was not reduced.
    Repair,
    /// It repairs losses for which the window was reduced: fast recovery.
    Recovery,
    /// The window was reduced for marks, and nothing is missing.
    Marked,
    /// It retransmits everything outstanding in slow start: after a timeout, or because the
    /// algorithm has no fast recovery.
    StartedAgain,
}

impl RecoveryStage {
    /// Whether nothing is known to be missing.
    #[inline]
    pub fn is_calm(self) -> bool {
        matches!(self, Self::Open | Self::Marked)
    }

    /// Whether the flight is shrinking to a reduced window.
    #[inline]
    pub fn is_reducing(self) -> bool {
        matches!(self, Self::Recovery | Self::Marked)
    }
}

/// No position is as large.
const NEVER: u64 = u64::MAX;

/// The episodes of a connection. The last one is kept until another replaces it. The fields are in
/// this order in memory: what each acknowledgment needs comes first.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct LossEpisodes {
    /// The last episode ends when this position is reached; [`NEVER`]: it has ended.
    until: u64,
    /// A loss at an earlier position belongs to the last reduction.
    covered: u64,
    stage: RecoveryStage,
    /// The last episode may still prove to be spurious.
    undoable: bool,
    starts_again: bool,
    /// The oldest unacknowledged position at the last timeout.
    timed_out_at: u64,
}

impl LossEpisodes {
    /// No episode yet. `starts_again`: the transport obeys [`FastRecovery::Never`].
    pub fn new(starts_again: bool) -> Self {
        Self {
            until: NEVER,
            covered: 0,
            stage: RecoveryStage::Open,
            undoable: false,
            starts_again,
            timed_out_at: NEVER,
        }
    }

    /// What the connection does about losses now.
    #[inline]
    pub fn stage(&self) -> RecoveryStage {
        self.stage
    }

    /// Whether an episode has not ended. A mark for which the window was kept is an episode in
    /// which the stage is [`RecoveryStage::Open`].
    pub fn is_open(&self) -> bool {
        self.until != NEVER
    }

    /// The position at which the open episode ends.
    pub fn until(&self) -> u64 {
        self.until
    }

    /// The position from which on a loss begins an episode: see [`Self::begins_with`].
    pub fn covered(&self) -> u64 {
        self.covered
    }

    /// Whether a loss at this position begins an episode. If not, it belongs to the last reduction.
    /// QUIC passes the position of the lost packet (RFC 9002 section 7.3.2). TCP passes the oldest
    /// unacknowledged position, so nothing begins an episode before everything is acknowledged
    /// that was in flight at the reduction (RFC 6675 section 5).
    #[inline]
    pub fn begins_with(&self, position: u64) -> bool {
        position >= self.covered
    }

    /// An episode of loss or of marks begins, which ends at `until`. It replaces the last one.
    /// Returns the controller's response.
    pub fn on_loss(
        &mut self,
        controller: &mut dyn Controller,
        loss: &Loss,
        until: u64,
    ) -> LossResponse {
        let response = controller.on_loss(loss);
        let repairing = self.stage == RecoveryStage::Repair;
        let starts_again =
            || self.starts_again && controller.fast_recovery() == FastRecovery::Never;
        self.stage = match (loss.signal, response.reduced) {
            (Signal::Loss, true) if starts_again() => RecoveryStage::StartedAgain,
            (Signal::Loss, true) => RecoveryStage::Recovery,
            (Signal::Loss, false) => RecoveryStage::Repair,
            (Signal::Ecn, true) if repairing => RecoveryStage::Recovery,
            (Signal::Ecn, true) => RecoveryStage::Marked,
            (Signal::Ecn, false) if repairing => RecoveryStage::Repair,
            (Signal::Ecn, false) => RecoveryStage::Open,
        };
        if response.reduced {
            self.covered = until;
        }
        self.until = until;
        self.undoable = loss.signal == Signal::Loss;
        response
    }

    /// A loss was repaired before it was detected: an episode begins and ends. `position` is the
    /// oldest unacknowledged position.
    pub fn on_repaired_loss(
        &mut self,
        controller: &mut dyn Controller,
        loss: &Loss,
        position: u64,
    ) -> LossResponse {
        let response = self.on_loss(controller, loss, position);
        self.on_progress(controller, loss.now, position);
        response
    }

    /// A loss of a packet that was sent before a reduction for marks was found: from now on it is
    /// repaired, until `until`, and the window is not reduced again (RFC 3168 section 6.1.2).
    pub fn repair_marked(&mut self, until: u64) {
        self.stage = RecoveryStage::Recovery;
        self.covered = until;
        self.until = until;
    }

    /// The open episode ends at `until` instead.
    pub fn end_at(&mut self, until: u64) {
        self.covered = self.covered.min(until);
        self.until = until;
    }

    /// Whether the timer fires again for the same data. `position` is the oldest unacknowledged
    /// position.
    pub fn times_out_again(&mut self, position: u64) -> bool {
        std::mem::replace(&mut self.timed_out_at, position) == position
    }

    /// The timer fired, or persistent congestion was established: an episode begins, which replaces
    /// the last one. It ends when everything sent before is acknowledged.
    pub fn on_timeout(&mut self, controller: &mut dyn Controller, timeout: &Timeout) {
        controller.on_timeout(timeout);
        self.stage = RecoveryStage::StartedAgain;
        self.covered = timeout.next_order;
        self.until = timeout.next_order;
        self.undoable = true;
    }

    /// Everything below `position` is acknowledged (TCP), or a packet at `position` is (QUIC).
    /// Ends the open episode if it reaches that far. Returns whether it did.
    #[inline(always)]
    pub fn on_progress(
        &mut self,
        controller: &mut dyn Controller,
        now: Time,
        position: u64,
    ) -> bool {
        let ends = position >= self.until;
        if ends {
            self.close();
            controller.on_recovery_end(now);
        }
        ends
    }

    /// The last episode was spurious. Ends it and notifies the controller, unless it was a mark or
    /// was undone before. Returns whether the controller was notified. A loss at `covered` or later
    /// begins an episode again.
    pub fn on_spurious(
        &mut self,
        controller: &mut dyn Controller,
        now: Time,
        covered: u64,
    ) -> bool {
        let undone = std::mem::take(&mut self.undoable);
        if undone {
            self.close();
            self.covered = covered;
            self.timed_out_at = NEVER;
            controller.on_spurious(now);
        }
        undone
    }

    /// The connection moved to another path, with a new controller. `next` is the position of the
    /// next packet.
    pub fn move_path(&mut self, next: u64) {
        self.close();
        self.covered = next;
        self.undoable = false;
    }

    fn close(&mut self) {
        self.until = NEVER;
        self.stage = RecoveryStage::Open;
    }
}
