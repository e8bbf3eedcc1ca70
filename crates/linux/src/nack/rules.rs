//! Which NACKs the sender of one connection accepts, and which losses they excuse.
//!
//! The rules are those of the simulator (`crates/sim/src/tcp/sender/nacks.rs`). A NACK is accepted
//! only if all of these hold:
//!
//! * **In flight**: the named segment is sent and not acknowledged.
//! * **Not too soon**: at least half of the minimum RTT has passed since it was last sent.
//! * **Not too late**: nothing that was sent later has arrived before the NACK.
//! * **Its last transmission**: the echoed timestamp (RFC 7323) is the time of a transmission of
//!   this segment: of the first one unless it was retransmitted, of a later one if it was. Without
//!   timestamps the segment must not have been retransmitted for any reason but a NACK.
//! * **The allowance**: ten, and one more for every two segments that arrive intact.
//!
//! An accepted NACK **excuses one loss**: the kernel's loss detection will mark the segment lost,
//! and that marking is no sign of congestion. The kernel also retransmits it; nothing can request
//! that from outside, so unlike in the simulator it waits for the kernel's detection.
//!
//! **Several losses in one event.** An event tells how many segments were newly marked lost but
//! names only the first one that awaits retransmission. The event is excused if the named segment
//! was NACKed and there are as many unused NACKs as new losses, counting only NACKs of segments
//! that were sent no later than something that has arrived, because the kernel marks those and no
//! others. Each NACK is used once. So never more losses are excused than NACKs were accepted; if a
//! loss borrows the excuse of another segment, that segment's own loss is not excused.
//!
//! **False NACKs.** If a NACKed segment is acknowledged before the kernel has marked it lost, or
//! sooner than half of the minimum RTT after that, its original has arrived and the NACK was false.
//! After the first false NACK none is accepted and nothing is excused. A segment at the end of the
//! data is exempt while the kernel may have retransmitted it as a probe (RFC 8985).
//!
//! **Where the simulator knows more.** It sees each segment's transmissions and the timestamp that
//! acknowledges it. Here both are bounds from the events.
//!
//! **Corrupted numbers.** The receiver cannot locate an error, so a NACK may have a wrong number:
//! that of another time, which the timestamp reveals, or one where no segment begins. Segments
//! begin at a multiple of the MSS from what is known to be a beginning, unless the application has
//! written less. A NACK at another place is accepted only with timestamps. It excuses a loss only
//! if the kernel names that very place, and as it may be an honest error it does not count as
//! false.

use super::before;
use super::sent::SendLog;
use crate::wire::{Event, Nack, Start, flag, kind};
use std::collections::VecDeque;
use whimbrel_cc::nack_transport::Allowance;

/// What became of a connection's NACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NackCounts {
    /// NACKs that were accepted.
    pub accepted: u64,
    /// NACKs that were refused.
    pub refused: u64,
    /// Segments marked lost without a congestion signal.
    pub excused: u64,
    /// NACKs that proved to be false: 0 or 1.
    pub mistaken: u64,
}

/// The state of an accepted NACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The kernel has not marked the segment lost.
    Waiting {
        /// It may be among losses of which only the number is known.
        unsure: bool,
    },
    /// It has excused a loss at this time, microseconds.
    Used(u64),
}

/// An accepted NACK.
#[derive(Debug, Clone, Copy)]
struct Accepted {
    seq: u32,
    /// The corrupted transmission was sent at this time or a little later, microseconds.
    sent: u64,
    /// It names what is probably the beginning of a segment.
    aligned: bool,
    state: State,
    /// The kernel's count of retransmissions at that time.
    retransmitted: u32,
    /// It was the last segment: a tail loss probe may retransmit it.
    last: bool,
}

/// The clock of the own timestamps.
#[derive(Debug, Clone, Copy)]
struct Clock {
    /// Microseconds.
    tick: u64,
    offset: u32,
}

impl Clock {
    /// The time at which a timestamp was written, between the result and a tick later; `None` if
    /// that is in the future or long past.
    fn time(&self, stamp: u32, now_us: u64) -> Option<u64> {
        let now = ((now_us / self.tick) as u32).wrapping_add(self.offset);
        let age = now.wrapping_sub(stamp);
        let beginning = now_us / self.tick * self.tick;
        (age < u32::MAX / 2).then(|| beginning.checked_sub(u64::from(age) * self.tick))?
    }
}

/// The rules' state for one connection.
///
/// Every event of the connection is passed to [`observe`](Self::observe), in order. NACKs that are
/// known are passed to [`received`](Self::received) first.
#[derive(Debug)]
pub struct Nacks {
    clock: Option<Clock>,
    sent: SendLog,
    /// Received and not judged: an event shows the state at their time.
    pending: VecDeque<Nack>,
    accepted: Vec<Accepted>,
    allowance: Allowance,
    counts: NackCounts,
    min_rtt: Option<u64>,
    /// Times of the last events, and when the newest arrived packet was sent, microseconds.
    newest: VecDeque<(u64, u64)>,
    una: u32,
    next: u32,
    mss: u32,
    delivered: u32,
    lost: u32,
    retransmitted: u32,
    /// Retransmissions beyond the segments marked lost: probes.
    probes: u32,
    /// Segments below this may have been retransmitted for another reason than a NACK.
    suspect: u32,
}

impl Nacks {
    /// Maximum number of accepted NACKs that are remembered; further ones are refused.
    pub const MAX_REMEMBERED: usize = 256;
    /// Maximum number of NACKs that wait for an event; further ones are refused.
    pub const MAX_PENDING: usize = 64;
    /// Number of events whose newest arrival is remembered.
    const MAX_EVENTS: usize = 64;
    /// The kernel's stamp of a packet differs from the time of its transmission by the time it
    /// waits in a queue that paces: microseconds.
    const STAMP_TOLERANCE: u64 = 5_000;

    /// The state at the beginning of a connection.
    pub fn new(start: &Start) -> Self {
        let event = &start.event;
        let clock = (start.timestamps != 0).then_some(Clock {
            tick: if start.timestamps_us != 0 { 1 } else { 1000 },
            offset: start.timestamp_offset,
        });
        Self {
            clock,
            sent: SendLog::new(event.snd_nxt, event.time / 1000),
            pending: VecDeque::new(),
            accepted: Vec::new(),
            allowance: Allowance::new(),
            counts: NackCounts::default(),
            min_rtt: None,
            newest: VecDeque::new(),
            una: event.snd_una,
            next: event.snd_nxt,
            mss: event.mss,
            delivered: event.delivered,
            lost: event.lost,
            retransmitted: event.retransmitted,
            probes: event.retransmitted.saturating_sub(event.lost),
            suspect: event.snd_nxt,
        }
    }

    /// What became of the NACKs so far.
    pub fn counts(&self) -> NackCounts {
        self.counts
    }

    /// A NACK has arrived. It is judged by the state at its time, at the next event.
    pub fn received(&mut self, nack: &Nack) {
        if self.pending.len() < Self::MAX_PENDING {
            self.pending.push_back(*nack);
        } else {
            self.counts.refused += 1;
        }
    }

    /// An event of the connection. Returns whether it marks segments lost and all of them are
    /// excused: then the losses are no sign of congestion.
    pub fn observe(&mut self, event: &Event) -> bool {
        let now = event.time / 1000;
        self.mss = event.mss.max(1);
        let spacing = self.min_rtt.unwrap_or(0) / 128;
        self.sent.record(event.snd_nxt, now, spacing);
        if before(self.next, event.snd_nxt) {
            self.next = event.snd_nxt;
        }
        while let Some(&nack) = self.pending.front()
            && nack.time <= event.time
        {
            self.pending.pop_front();
            match self.judge(&nack) {
                Some(accepted) => self.accept(accepted),
                None => self.counts.refused += 1,
            }
        }
        self.arrived(event, now);
        let excused = self.marked_lost(event, now);
        let probes = event.retransmitted.saturating_sub(event.lost);
        if probes > self.probes {
            self.probes = probes;
            self.suspect = self.next;
        }
        self.retransmitted = event.retransmitted;
        excused
    }

    /// Whether the receiver has named the segment at `seq` as corrupted: then the duplicate
    /// acknowledgments for this hole indicate nothing else.
    pub fn excuses(&self, seq: u32) -> bool {
        self.counts.mistaken == 0 && self.accepted.iter().any(|nack| nack.seq == seq)
    }

    fn accept(&mut self, accepted: Accepted) {
        self.counts.accepted += 1;
        self.accepted.retain(|known| known.seq != accepted.seq);
        self.accepted.push(accepted);
    }

    /// Half of the minimum RTT, microseconds: no answer to a transmission is faster.
    fn soonest(&self) -> u64 {
        self.min_rtt.unwrap_or(0) / 2
    }

    /// When the newest packet was sent that had arrived by this time.
    fn newest_at(&self, time: u64) -> Option<u64> {
        let known = self.newest.iter().rev().find(|known| known.0 <= time);
        known.map(|known| known.1)
    }

    /// Whether to accept a NACK: see the head of this file.
    fn judge(&mut self, nack: &Nack) -> Option<Accepted> {
        let (seq, now) = (nack.seq, nack.time / 1000);
        let deceived = self.counts.mistaken > 0;
        let in_flight = !before(seq, self.una) && before(seq, self.next);
        if deceived || !in_flight {
            return None;
        }
        let first = self.sent.first_sent(seq)?;
        let aligned = seq.wrapping_sub(first.boundary) % self.mss == 0;
        if !aligned && self.clock.is_none() {
            return None;
        }
        let known = self.accepted.iter().find(|known| known.seq == seq);
        let marked = match known.map(|known| known.state) {
            // Its NACK is known and it was not retransmitted: the same one again.
            Some(State::Waiting { .. }) => return None,
            Some(State::Used(time)) => Some(time),
            None => None,
        };
        let earliest = marked.unwrap_or(first.earliest);
        let sent = match self.clock {
            Some(_) if nack.timestamps == 0 => return None,
            Some(clock) => {
                let sent = clock.time(nack.echo, now)?;
                let slack = Self::STAMP_TOLERANCE + 2 * clock.tick;
                let once = marked.is_none() && !before(seq, self.suspect);
                let latest = first.latest.filter(|_| once).unwrap_or(now);
                if sent + slack < earliest || sent > latest + slack {
                    return None;
                }
                sent
            }
            None if marked.is_none() && before(seq, self.suspect) => return None,
            None => earliest,
        };
        let tick = self.clock.map_or(0, |clock| clock.tick);
        let latest = match (self.clock, marked) {
            (Some(_), _) => sent + tick,
            (None, None) => first.latest.unwrap_or(now),
            // A retransmission may have waited for the window.
            (None, Some(marked)) => marked + self.soonest(),
        };
        let too_soon = now.saturating_sub(sent) < self.soonest();
        let too_late = self
            .newest_at(nack.time)
            .is_some_and(|newest| newest > latest);
        let full = known.is_none() && self.accepted.len() >= Self::MAX_REMEMBERED;
        if too_soon || too_late || full || !self.allowance.take() {
            return None;
        }
        Some(Accepted {
            seq,
            sent,
            aligned,
            state: State::Waiting { unsure: false },
            retransmitted: self.retransmitted,
            last: !before(seq.wrapping_add(self.mss), self.next),
        })
    }

    /// Takes in what the event acknowledges.
    fn arrived(&mut self, event: &Event, now: u64) {
        self.allowance
            .earn(event.delivered.wrapping_sub(self.delivered));
        self.delivered = event.delivered;
        if event.rtt_us != crate::wire::NO_RTT {
            let rtt = u64::from(event.rtt_us);
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        if self.newest.len() >= Self::MAX_EVENTS {
            self.newest.pop_front();
        }
        self.newest.push_back((event.time, event.newest_sent_us));
        if !before(self.una, event.snd_una) {
            return;
        }
        self.una = event.snd_una;
        self.sent.acknowledge(self.una);
        let (una, soonest) = (self.una, self.soonest());
        let is_false = |nack: &Accepted| match nack.state {
            _ if !nack.aligned => false,
            State::Waiting { unsure: true } => false,
            State::Waiting { unsure: false } => {
                !nack.last || event.retransmitted == nack.retransmitted
            }
            State::Used(marked) => now.saturating_sub(marked) < soonest,
        };
        let arrived = |nack: &Accepted| before(nack.seq, una);
        if self
            .accepted
            .iter()
            .any(|nack| arrived(nack) && is_false(nack))
        {
            self.counts.mistaken = 1;
        }
        self.accepted.retain(|nack| !arrived(nack));
    }

    /// Takes in what the event marks lost. Returns whether all of it is excused.
    fn marked_lost(&mut self, event: &Event, now: u64) -> bool {
        let new = event.lost.wrapping_sub(self.lost);
        self.lost = event.lost;
        if event.kind == kind::TIMEOUT {
            self.accepted.clear();
            self.suspect = self.next;
            return false;
        }
        if new == 0 {
            return false;
        }
        let named = (event.flags & flag::LOST_KNOWN != 0).then_some(event.lost_seq);
        let is_named = |nack: &Accepted| named == Some(nack.seq);
        // The named segment first, then in order.
        self.accepted
            .sort_by_key(|nack| (!is_named(nack), nack.seq.wrapping_sub(event.snd_una)));
        let may_be_marked = |nack: &Accepted| {
            let sent_before = nack.aligned && nack.sent <= event.newest_sent_us;
            matches!(nack.state, State::Waiting { .. }) && (is_named(nack) || sent_before)
        };
        let unused = self.accepted.iter().filter(|nack| may_be_marked(nack));
        let enough = unused.count() >= new as usize;
        let excused = enough && self.counts.mistaken == 0 && self.accepted.iter().any(is_named);
        // If the named segment was not NACKed, one of the new losses is its own.
        let own = usize::from(!self.accepted.iter().any(is_named));
        let mut uses = (new as usize).saturating_sub(own);
        for nack in self.accepted.iter_mut().filter(|nack| may_be_marked(nack)) {
            if uses > 0 {
                nack.state = State::Used(now);
                uses -= 1;
            } else if !excused {
                nack.state = State::Waiting { unsure: true };
            }
        }
        if excused {
            self.counts.excused += u64::from(new);
        } else {
            self.suspect = self.next;
        }
        excused
    }
}

#[cfg(test)]
mod tests;
