//! What a NACK means to a sender: one segment arrived corrupted.
//!
//! * It is believed of a segment that is in flight, and not sooner than the least round trip after that was last sent: no
//!   answer is faster. So a NACK that comes again, or is replayed, finds its segment sent again too lately.
//! * The segment is sent again at once, whatever the window says: it has left the network. Proportional rate reduction does not
//!   count it either. A paced sender sends it as the next packet.
//! * cwnd and ssthresh stay, no law hears of it.
//! * The segment is remembered as NACKed until it is acknowledged or its timer fires. The hole that it leaves makes duplicate
//!   acknowledgments for a round trip, which would begin a recovery and make all that was gained undone: the hole is excused.
//!   Duplicate acknowledgments for it say no more than that packets have left the network. Without SACK each then lets
//!   another leave, as in a recovery; with SACK the window grows by what they deliver.
//! * Other holes are not excused: a segment that did not arrive at all is congestion, whatever lies beside it.
//!
//! When the segment is lost again: corrupted again, a second NACK tells. Otherwise its hole stays excused until the timer
//! fires. RACK is better off: it judges the segment that was sent again by its own time, needs nothing to be excused, and
//! finds the second loss when something that left later has arrived. That one was no corruption, so it is a loss as any.
//!
//! With [`Nack::Unsuppressed`] nothing is excused: the segment is sent again at once, and then the duplicate acknowledgments
//! begin a recovery, as they do in a kernel that was taught the first and nothing of the second. The hole is not sent a
//! second time.

use super::Sender;
use super::scoreboard::Scoreboard;
use crate::network::Nack;
use crate::outcome::Truth;
use crate::tcp::nack::Allowance;
use std::collections::VecDeque;
use whimbrel_units::Time;

/// What a sender remembers of NACKs.
#[derive(Debug)]
pub(super) struct Nacks {
    allowance: Allowance,
    /// Holes that were NACKed begin no recovery.
    pub excuses: bool,
    /// Segments to be sent again at once, in the order of their NACKs; entries go stale and are checked when taken.
    owed: VecDeque<u32>,
}

impl Nacks {
    /// Nothing, if NACKs are off.
    pub fn new(nack: Nack) -> Option<Box<Self>> {
        (nack != Nack::Off).then(|| {
            Box::new(Self {
                allowance: Allowance::new(),
                excuses: nack == Nack::On,
                owed: VecDeque::new(),
            })
        })
    }

    /// So many segments arrived intact.
    #[inline]
    pub fn earn(&mut self, segments: u32) {
        self.allowance.earn(segments);
    }

    /// Whether a segment waits to be sent again.
    pub fn owes(&self) -> bool {
        !self.owed.is_empty()
    }

    /// The next segment to be sent again at once.
    #[inline]
    pub fn take(&mut self, board: &Scoreboard) -> Option<u32> {
        while let Some(seg) = self.owed.pop_front() {
            if board.holds(seg) && board.get(seg).lost {
                return Some(seg);
            }
        }
        None
    }
}

impl Sender {
    /// A NACK for a segment arrived.
    pub fn on_nack(&mut self, now: Time, seg: u32) {
        let believed = self.believes(now, seg);
        let counts = self.counters.nacks.get_or_insert_default();
        if !believed {
            counts.refused += 1;
            return;
        }
        counts.accepted += 1;
        self.board.mark_nacked(seg);
        if let Some(nacks) = &mut self.nacks {
            nacks.owed.push_back(seg);
        }
    }

    fn believes(&mut self, now: Time, seg: u32) -> bool {
        let Some(nacks) = self.nacks.as_mut().filter(|_| self.board.holds(seg)) else {
            return false;
        };
        let segment = self.board.get(seg);
        let in_flight = !segment.sacked && !segment.lost;
        let in_time = now.since(segment.sent) >= self.rtt.min_rtt();
        in_flight && in_time && nacks.allowance.take()
    }

    /// What became of the transmission that was NACKed, if a segment in flight was NACKed.
    pub(super) fn nacked(&self, seg: u32) -> Option<Truth> {
        let known = self.nacks.is_some() && self.board.holds(seg);
        known.then(|| self.board.get(seg).nacked).flatten()
    }

    /// Whether the hole that a segment leaves begins no recovery, because the segment was NACKed.
    pub(super) fn excuses(&self, seg: u32) -> bool {
        let excuses = self.nacks.as_ref().is_some_and(|nacks| nacks.excuses);
        excuses && self.nacked(seg).is_some()
    }
}
