//! Recovery by SACK (RFC 2018, RFC 6675), with the flight reduced by RFC 6937.
//!
//! A segment is lost when three segments beyond it were SACKed. With full-size segments this equals
//! IsLost() of RFC 6675 section 4 ("more than (DupThresh - 1) * SMSS bytes"). A lost retransmission
//! is not detected before the timer expires (section 5.1); [`super::rack`] detects it.
//!
//! With [`Recovery::Fack`] a segment is lost when the highest SACKed one is more than three
//! segments above it, however many arrived in between.

use super::Sender;
use crate::network::Recovery;
use crate::outcome::Truth;
use whimbrel_cc::connection::RecoveryStage;
use whimbrel_units::Time;

/// State of SACK-based recovery.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SackJudge {
    /// All segments below this one were judged: SACKed, lost, or retransmitted.
    below: u32,
    /// `until` of the recovery whose rescue retransmission was sent (NextSeg rule 4).
    rescued_until: u64,
}

/// DupThresh of RFC 6675.
const THRESHOLD: u32 = 3;

impl Sender {
    pub(super) fn sack_on_ack(&mut self, now: Time, in_flight: u32) {
        // During StartedAgain all segments are marked already, and RFC 6675 section 5.1 lets no
        // recovery begin.
        if self.episodes.stage() == RecoveryStage::StartedAgain {
            return;
        }
        let ranges = self.board.ranges();
        let boundary = match self.mode {
            // The segment above the highest SACKed one, less three.
            Recovery::Fack => ranges.highest().map(|end| end.saturating_sub(THRESHOLD)),
            _ => ranges.nth_from_top(THRESHOLD),
        };
        let Some(boundary) = boundary else {
            return;
        };
        // Segments below were judged by earlier acknowledgments.
        let from = self.sack.below.max(self.board.una());
        let mut found: Option<(u32, Truth)> = None;
        for seg in from..boundary {
            let segment = *self.board.get(seg);
            let truth = match self.nacked(seg) {
                Some(_) if segment.sacked || self.excuses(seg) => continue,
                // It was retransmitted already.
                Some(truth) => truth,
                None if segment.retransmitted() || !self.mark_lost(now, seg) => continue,
                None => Truth::from(segment.dropped),
            };
            found = Some(found.map_or((seg, truth), |(first, t)| (first, t.max(truth))));
        }
        self.sack.below = from.max(boundary);
        if let Some((first, truth)) = found {
            self.begin_episode(now, first, truth, in_flight);
        }
    }

    /// NextSeg rules 3 and 4 of RFC 6675: when nothing is known to be lost and no new data may be
    /// sent, the lowest hole below the highest SACKed segment, or, once in a recovery, the last
    /// segment.
    pub(super) fn sack_extra_segment(&mut self) -> Option<u32> {
        if self.episodes.stage() != RecoveryStage::Recovery || self.may_send_new() {
            return None;
        }
        let until = self.episodes.until();
        let untried = |seg: &u32| {
            let segment = self.board.get(*seg);
            !segment.sacked && !segment.retransmitted()
        };
        let highest = self.board.ranges().highest()?;
        let hole = (self.sack.below.max(self.board.una())..highest).find(untried);
        if hole.is_some() {
            return hole;
        }
        let last = self.board.next() - 1;
        if self.sack.rescued_until == until || !self.board.holds(last) || !untried(&last) {
            return None;
        }
        self.sack.rescued_until = until;
        Some(last)
    }
}
