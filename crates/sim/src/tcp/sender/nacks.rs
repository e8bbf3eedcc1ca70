//! The response of a sender to a NACK, which reports that one segment arrived corrupted.
//!
//! A NACK is accepted only if all of these hold:
//!
//! * The segment is in flight.
//! * At least half of the minimum RTT has passed since the segment was last sent. No answer is
//!   faster, and a replayed NACK finds that its segment was retransmitted too recently.
//! * No segment that was sent later has arrived: the receiver saw the corrupted segment before that
//!   one. An attacker that learns of a loss from the gap is too late.
//! * It belongs to the last transmission. It echoes the time of the corrupted segment (RFC 7323),
//!   which identifies a NACK for an earlier transmission that arrives when the next one is already
//!   in flight. Without timestamps no NACK is accepted for a segment that was retransmitted for
//!   another reason than a NACK: as long as each transmission was NACKed before the next, the last
//!   one is meant.
//!
//! Then:
//!
//! * The segment is retransmitted at once, regardless of the window: it has left the network.
//!   Proportional rate reduction does not count it. A paced sender sends it as the next packet.
//! * cwnd and ssthresh do not change, and the controller is not notified.
//! * The segment stays marked as NACKed until it is acknowledged or the timer expires. Its hole
//!   causes duplicate acknowledgments for one round trip, which would begin a recovery and lose the
//!   gain. The hole is therefore excused: duplicate acknowledgments for it only show that packets
//!   have left the network. Without SACK each allows one more packet, as in a recovery; with SACK
//!   the window grows by the data that they deliver.
//! * Other holes are not excused: a segment that did not arrive at all indicates congestion, even
//!   next to a corrupted one.
//!
//! **Forged NACKs.** An attacker that forges a NACK in time cannot know which segment will be lost,
//! so it mostly names one that arrives intact. The sender detects this: the acknowledgment of that
//! segment comes too soon for the retransmission, or echoes an earlier time. It then accepts no
//! more NACKs, and the connection behaves as without them. A receiver that lies about its own
//! losses and hides the evidence is not detected; such a receiver can take more than its share
//! without NACKs too (S. Savage et al., "TCP Congestion Control with a Misbehaving Receiver", 1999,
//! known and not read again).
//!
//! **A second loss.** If the retransmission is corrupted too, a second NACK reports it. If it is
//! dropped, its hole stays excused until the timer expires. RACK does better: it judges the
//! retransmission by its own time, needs no excuse, and detects the second loss when a segment that
//! was sent later has arrived. That loss was not reported as corruption, so it is treated as any
//! loss.
//!
//! With [`Nack::Unsuppressed`] no hole is excused: the segment is retransmitted at once, and then
//! the duplicate acknowledgments begin a recovery, as in a kernel that implements only the
//! retransmission. The segment is not retransmitted a second time.

use super::Sender;
use super::delivery::Delivery;
use super::scoreboard::Scoreboard;
use super::segment::Again;
use crate::network::Nack;
use crate::outcome::{NackCounts, Truth};
use crate::packet::Packet;
use std::collections::VecDeque;
use whimbrel_cc::nack_transport::Allowance;
use whimbrel_units::{Duration, Time};

/// State of a sender about NACKs.
#[derive(Debug)]
pub(super) struct Nacks {
    allowance: Allowance,
    /// Holes of NACKed segments begin no recovery.
    pub excuses: bool,
    /// A NACK turned out to be false: no more are accepted.
    deceived: bool,
    /// The most recently sent transmission that is known to have arrived.
    newest: Option<u32>,
    /// Segments to retransmit at once, in the order of their NACKs. Entries may be stale and are
    /// checked when taken.
    pending: VecDeque<u32>,
    pub counts: NackCounts,
}

impl Nacks {
    /// The initial state; `None` if NACKs are off.
    pub fn new(nack: Nack) -> Option<Box<Self>> {
        (nack != Nack::Off).then(|| {
            Box::new(Self {
                allowance: Allowance::new(),
                excuses: nack == Nack::On,
                deceived: false,
                newest: None,
                pending: VecDeque::new(),
                counts: NackCounts::default(),
            })
        })
    }

    /// Whether a retransmission of this segment is pending.
    pub fn waits(&self, seg: u32) -> bool {
        self.pending.contains(&seg)
    }

    /// Whether any retransmission is pending.
    pub fn has_retransmission(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Takes the next segment to retransmit.
    #[inline]
    pub fn take(&mut self, board: &Scoreboard) -> Option<u32> {
        while let Some(seg) = self.pending.pop_front() {
            if board.holds(seg) && board.get(seg).lost {
                return Some(seg);
            }
        }
        None
    }
}

impl Sender {
    /// Invoked when a NACK arrives.
    pub fn on_nack(&mut self, now: Time, packet: &Packet) {
        let seg = packet.nacked_segment();
        let accepted = self.accepts(now, seg, packet.echo);
        let Some(nacks) = &mut self.nacks else {
            return;
        };
        if accepted {
            nacks.counts.accepted += 1;
            nacks.pending.push_back(seg);
            self.board.mark_nacked(seg);
        } else {
            nacks.counts.refused += 1;
        }
    }

    /// Counts of NACKs; `None` if they are off.
    pub fn nacks(&self) -> Option<NackCounts> {
        self.nacks.as_ref().map(|nacks| nacks.counts)
    }

    /// Whether to accept a NACK: see the head of this file.
    fn accepts(&mut self, now: Time, seg: u32, echo: Time) -> bool {
        let soonest = self.soonest();
        let Some(nacks) = self.nacks.as_mut().filter(|_| self.board.holds(seg)) else {
            return false;
        };
        let segment = self.board.get(seg);
        let in_flight = !segment.sacked && !segment.lost;
        let later = |newest: u32| newest.wrapping_sub(segment.transmission) as i32 > 0;
        // Without SACK: more segments have arrived beyond the first hole than lie between it and
        // this segment.
        let arrived = self.duplicates.arrived(self.episodes.stage().is_calm());
        let passed =
            !segment.retransmitted() && arrived > (seg - self.board.una()).saturating_sub(1);
        let of_earlier = match self.timestamps {
            true => echo < segment.sent,
            false => segment.again == Again::Retransmitted,
        };
        let too_soon = now.since(segment.sent) < soonest;
        let too_late = nacks.newest.is_some_and(later) || passed;
        let plausible = in_flight && !of_earlier && !too_soon && !too_late;
        plausible && !nacks.deceived && nacks.allowance.take()
    }

    /// The minimum time from a transmission to a valid answer. The minimum measured RTT may contain
    /// a delayed acknowledgment and a standing queue, so half of it is used; this assumes that they
    /// are at most half of it.
    fn soonest(&self) -> Duration {
        self.rtt.min_rtt() / 2
    }

    /// Invoked when an acknowledgment delivers data. `una` is the first unacknowledged segment
    /// before it.
    pub(super) fn nacks_on_delivery(
        &mut self,
        now: Time,
        packet: &Packet,
        una: u32,
        delivery: &Delivery,
    ) {
        let soonest = self.soonest();
        let Some(nacks) = &mut self.nacks else {
            return;
        };
        nacks.allowance.earn(delivery.segments);
        if let Some(newest) = delivery.newest.map(|segment| segment.transmission)
            && nacks
                .newest
                .is_none_or(|known| newest.wrapping_sub(known) as i32 > 0)
        {
            nacks.newest = Some(newest);
        }
        if let Some((seg, sent)) = delivery.nacked {
            let too_soon = now.since(sent) < soonest;
            // The segment that fills the first hole has its timestamp echoed (RFC 7323 section
            // 4.3).
            let of_original = self.timestamps && seg == una && packet.echo < sent;
            if too_soon || of_original {
                nacks.deceived = true;
                nacks.excuses = false;
                nacks.counts.mistaken += 1;
            }
        }
    }

    /// The true cause for the NACKed transmission of a segment; `None`: it was not NACKed.
    #[inline]
    pub(super) fn nacked(&self, seg: u32) -> Option<Truth> {
        let known = self.nacks.is_some() && self.board.holds(seg);
        known.then(|| self.board.get(seg).nacked()).flatten()
    }

    /// Whether the hole of a segment begins no recovery because the segment was NACKed.
    #[inline]
    pub(super) fn excuses(&self, seg: u32) -> bool {
        let excuses = self.nacks.as_ref().is_some_and(|nacks| nacks.excuses);
        excuses && self.nacked(seg).is_some()
    }
}

#[cfg(test)]
mod tests;
