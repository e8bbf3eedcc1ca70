//! The segments that an acknowledgment delivered.

use super::scoreboard::Segment;
use whimbrel_units::Time;

/// The segments that one acknowledgment newly delivered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Delivery {
    /// Their number.
    pub segments: u32,
    /// The most recently sent segment.
    pub newest: Option<Segment>,
    /// The most recently sent segment of those that were sent once: its RTT is unambiguous (Karn).
    pub newest_sent_once: Option<Segment>,
    /// One of them was retransmitted.
    pub any_retransmitted: bool,
    /// The segment that was last retransmitted for a NACK, and when.
    pub nacked: Option<(u32, Time)>,
    /// The lowest segment of those that were sent once: reordering if it is below a delivered one.
    pub lowest_sent_once: Option<u32>,
}

impl Delivery {
    /// Adds a segment.
    #[inline]
    pub fn add(&mut self, seg: u32, segment: &Segment) {
        self.segments += 1;
        let newer =
            |than: &Segment| segment.transmission.wrapping_sub(than.transmission) as i32 > 0;
        if self.newest.as_ref().is_none_or(newer) {
            self.newest = Some(*segment);
        }
        self.any_retransmitted |= segment.retransmitted();
        if !segment.retransmitted() {
            if self.newest_sent_once.as_ref().is_none_or(newer) {
                self.newest_sent_once = Some(*segment);
            }
            self.lowest_sent_once = Some(self.lowest_sent_once.map_or(seg, |low| low.min(seg)));
        } else if segment.nacked().is_some()
            && self.nacked.is_none_or(|(_, sent)| sent < segment.sent)
        {
            self.nacked = Some((seg, segment.sent));
        }
    }
}
