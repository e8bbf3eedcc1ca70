//! The scoreboard of RFC 6675: what a sender knows of each segment that is sent and not yet
//! acknowledged.
//!
//! Segments are in a ring, so that a lookup costs the same for any window. Counts are updated with
//! each event, so that no acknowledgment walks the window.

use super::delivery::Delivery;
use super::segment::{Again, Segment};
use crate::outcome::Truth;
use crate::packet::Block;
use crate::ranges::Ranges;
use whimbrel_net::DropCause;
use whimbrel_units::Time;

/// All segments from the first unacknowledged to the last sent.
#[derive(Debug)]
pub(crate) struct Scoreboard {
    ring: Vec<Segment>,
    una: u32,
    next: u32,
    sacked: u32,
    lost: u32,
    /// What is neither: `next - una - sacked - lost`.
    in_flight: u32,
    ranges: Ranges,
    /// The ranges that the last acknowledgment with any reported.
    reported: [Block; 3],
}

impl Scoreboard {
    pub fn new() -> Self {
        Self {
            // Room for a small window. A sender passes through all of the ring, so unused room
            // costs cache.
            ring: vec![Segment::default(); 16],
            una: 0,
            next: 0,
            sacked: 0,
            lost: 0,
            in_flight: 0,
            ranges: Ranges::default(),
            reported: [Block::default(); 3],
        }
    }

    /// The first segment that is not acknowledged (SND.UNA).
    #[inline]
    pub fn una(&self) -> u32 {
        self.una
    }

    /// The first segment that was never sent (SND.NXT).
    #[inline]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Number of segments sent and not cumulatively acknowledged.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.next - self.una
    }

    /// Number of segments that the receiver holds out of order.
    #[inline]
    pub fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Number of segments marked lost and not retransmitted.
    #[inline]
    pub fn lost(&self) -> u32 {
        self.lost
    }

    /// Estimated number of segments in the network: RFC 6675's pipe.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// The segments that the receiver holds beyond the first hole.
    pub fn ranges(&self) -> &Ranges {
        &self.ranges
    }

    #[inline]
    fn slot(&self, seg: u32) -> usize {
        seg as usize & (self.ring.len() - 1)
    }

    /// A segment from `una` to before `next`.
    #[inline]
    pub fn get(&self, seg: u32) -> &Segment {
        debug_assert!(self.holds(seg));
        &self.ring[self.slot(seg)]
    }

    #[inline]
    fn get_mut(&mut self, seg: u32) -> &mut Segment {
        debug_assert!(self.holds(seg));
        let slot = self.slot(seg);
        &mut self.ring[slot]
    }

    /// Whether the segment was sent and is not cumulatively acknowledged.
    #[inline]
    pub fn holds(&self, seg: u32) -> bool {
        (self.una..self.next).contains(&seg)
    }

    /// Records that the next new segment was sent.
    #[inline]
    pub fn send_new(&mut self, segment: Segment) -> u32 {
        if self.outstanding() as usize == self.ring.len() {
            self.grow();
        }
        let seg = self.next;
        let slot = self.slot(seg);
        self.ring[slot] = segment;
        self.next += 1;
        self.in_flight += 1;
        seg
    }

    /// Records a retransmission. A lost segment is in flight again.
    pub fn send_again(&mut self, seg: u32, segment: Segment) {
        let before = *self.get(seg);
        debug_assert!(!before.sacked, "the receiver has segment {seg}");
        self.lost -= u32::from(before.lost);
        self.in_flight += u32::from(before.lost);
        *self.get_mut(seg) = segment;
    }

    /// Doubles the ring and moves every segment to its new slot.
    #[cold]
    fn grow(&mut self) {
        let mut ring = vec![Segment::default(); self.ring.len() * 2];
        for seg in self.una..self.next {
            ring[seg as usize & (self.ring.len() * 2 - 1)] = *self.get(seg);
        }
        self.ring = ring;
    }

    /// Acknowledges all segments below `ack`, and adds those that are newly delivered.
    #[inline(always)]
    pub fn acknowledge(&mut self, ack: u32, delivery: &mut Delivery) {
        let ack = ack.min(self.next);
        let mask = self.ring.len() - 1;
        let mut seg = self.una;
        while seg < ack {
            // Nearly always all of them were sent once, and nothing else happened to them.
            let first = seg;
            while seg < ack && self.ring[seg as usize & mask].is_untouched() {
                seg += 1;
            }
            if seg > first {
                let last = &self.ring[(seg - 1) as usize & mask];
                delivery.add_run(first, seg - first, last);
                self.in_flight -= seg - first;
                continue;
            }
            let segment = &self.ring[seg as usize & mask];
            if segment.sacked {
                self.sacked -= 1;
            } else {
                self.lost -= u32::from(segment.lost);
                self.in_flight -= u32::from(!segment.lost);
                delivery.add(seg, segment);
            }
            seg += 1;
        }
        self.una = self.una.max(ack);
        if !self.ranges.is_empty() {
            self.ranges.forget_below(ack);
        }
    }

    /// Records that the receiver holds these ranges. Empty ones are last. Calls `delivered` for
    /// each newly delivered segment.
    #[inline(always)]
    pub fn sack(&mut self, blocks: [Block; 3], mut delivered: impl FnMut(u32, &Segment)) {
        if blocks[0].is_empty() {
            return;
        }
        // Each range is reported several times in a row.
        let before = std::mem::replace(&mut self.reported, blocks);
        for block in blocks {
            if !block.is_empty() && !before.contains(&block) {
                self.sack_range(block, &mut delivered);
            }
        }
    }

    /// Records that the receiver holds this range.
    #[inline(always)]
    fn sack_range(&mut self, block: Block, mut delivered: impl FnMut(u32, &Segment)) {
        let block = Block {
            start: block.start.max(self.una),
            end: block.end.min(self.next),
        };
        let mask = self.ring.len() - 1;
        let ring = &mut self.ring;
        let (sacked, lost) = (&mut self.sacked, &mut self.lost);
        let in_flight = &mut self.in_flight;
        self.ranges.insert(block, |new| {
            for seg in new.start..new.end {
                let segment = &mut ring[seg as usize & mask];
                *sacked += 1;
                *lost -= u32::from(segment.lost);
                *in_flight -= u32::from(!segment.lost);
                segment.lost = false;
                segment.sacked = true;
                delivered(seg, segment);
            }
        });
    }

    /// Marks a segment lost. Returns false if it already is, or if the receiver has it.
    pub fn mark_lost(&mut self, seg: u32) -> bool {
        let segment = self.get_mut(seg);
        if segment.sacked || segment.lost {
            return false;
        }
        segment.lost = true;
        self.lost += 1;
        self.in_flight -= 1;
        true
    }

    /// Marks a segment in flight as corrupted: it has left the network.
    pub fn mark_nacked(&mut self, seg: u32) {
        if self.mark_lost(seg) {
            let segment = self.get_mut(seg);
            segment.again = Again::Nacked(Truth::from(segment.dropped));
        }
    }

    /// Undoes that a segment was marked lost.
    pub fn unmark_lost(&mut self, seg: u32) {
        let segment = self.get_mut(seg);
        let was = segment.lost;
        segment.lost = false;
        self.lost -= u32::from(was);
        self.in_flight += u32::from(was);
    }

    /// Records the true cause of the drop of a segment's last transmission.
    pub fn note_drop(&mut self, seg: u32, sent: Time, cause: DropCause) {
        if self.holds(seg) && self.get(seg).sent == sent {
            self.get_mut(seg).dropped = Some(cause);
        }
    }

    /// Recomputes all counts and compares. Tests call it at every acknowledgment.
    #[cfg(test)]
    pub fn check(&self) {
        let all = || (self.una..self.next).map(|seg| (seg, self.get(seg)));
        assert_eq!(
            self.sacked,
            all().filter(|(_, s)| s.sacked).count() as u32,
            "sacked"
        );
        assert_eq!(
            self.lost,
            all().filter(|(_, s)| s.lost).count() as u32,
            "lost"
        );
        assert_eq!(
            self.in_flight,
            self.outstanding() - self.sacked - self.lost,
            "in flight"
        );
        assert!(
            all().all(|(_, s)| !(s.sacked && s.lost)),
            "what the receiver has is not lost"
        );
        assert!(
            all().all(|(seg, s)| s.sacked == self.ranges.holding(seg).is_some()),
            "the ranges are the SACKed segments"
        );
    }
}
