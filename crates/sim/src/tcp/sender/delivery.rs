//! The segments that an acknowledgment delivered.

use super::segment::Segment;
use whimbrel_units::Time;

/// The segments that one acknowledgment newly delivered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Delivery {
    /// Their number.
    pub segments: u32,
    /// The most recently sent segment.
    pub newest: Option<Segment>,
    /// The most recently sent segment of those that were sent once: its RTT is unambiguous (Karn).
    pub newest_sent_once: Option<SentOnce>,
    /// One of them was retransmitted.
    pub any_retransmitted: bool,
    /// The segment that was last retransmitted for a NACK, and when.
    pub nacked: Option<(u32, Time)>,
    /// The lowest segment of those that were sent once: reordering if it is below a delivered one.
    pub lowest_sent_once: Option<u32>,
}

/// A segment that was sent once.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentOnce {
    /// When it was sent.
    pub sent: Time,
    /// Sequence number of its transmission.
    pub transmission: u32,
}

impl Delivery {
    /// Adds consecutive segments that were sent once, each after the one before it: the first of
    /// them, their number, and the last.
    #[inline(always)]
    pub fn add_run(&mut self, first: u32, count: u32, last: &Segment) {
        self.segments += count - 1;
        self.lowest_sent_once = Some(self.lowest_sent_once.map_or(first, |low| low.min(first)));
        self.add(first + count - 1, last);
    }

    /// Adds a segment.
    #[inline]
    pub fn add(&mut self, seg: u32, segment: &Segment) {
        self.segments += 1;
        let newer = |than: u32| segment.transmission.wrapping_sub(than) as i32 > 0;
        if self.newest.as_ref().is_none_or(|s| newer(s.transmission)) {
            self.newest = Some(*segment);
        }
        self.any_retransmitted |= segment.retransmitted();
        if !segment.retransmitted() {
            if self.newest_sent_once.is_none_or(|s| newer(s.transmission)) {
                self.newest_sent_once = Some(SentOnce {
                    sent: segment.sent,
                    transmission: segment.transmission,
                });
            }
            self.lowest_sent_once = Some(self.lowest_sent_once.map_or(seg, |low| low.min(seg)));
        } else if segment.nacked().is_some()
            && self.nacked.is_none_or(|(_, sent)| sent < segment.sent)
        {
            self.nacked = Some((seg, segment.sent));
        }
    }
}
