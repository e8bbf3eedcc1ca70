//! What an acknowledgment delivered.

use super::scoreboard::Segment;
use whimbrel_units::Time;

/// What one acknowledgment delivered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Delivery {
    /// Segments newly known to have arrived.
    pub segments: u32,
    /// The most recently sent of them.
    pub newest: Option<Segment>,
    /// The most recently sent of them that was sent once only: its RTT is beyond doubt (Karn).
    pub newest_sent_once: Option<Segment>,
    /// One of them was sent more than once.
    pub any_sent_again: bool,
    /// The one of them that was sent again last for a NACK, and when that was.
    pub nacked: Option<(u32, Time)>,
    /// A segment sent once arrived after one that was sent later and lies beyond it: reordering.
    pub lowest_sent_once: Option<u32>,
}

impl Delivery {
    #[inline]
    pub fn add(&mut self, seg: u32, segment: &Segment) {
        self.segments += 1;
        let newer =
            |than: &Segment| segment.transmission.wrapping_sub(than.transmission) as i32 > 0;
        if self.newest.as_ref().is_none_or(newer) {
            self.newest = Some(*segment);
        }
        self.any_sent_again |= segment.retransmitted();
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
