//! What the loss-based laws share: the window of RFC 5681, grown by counting bytes (RFC 3465).

use crate::interface::Ack;
use crate::registry::entry::Setup;
use whimbrel_units::Bytes;

/// L of RFC 3465, segments: most that slow start grows by per ACK (section 2.3), where a law has no other.
pub(crate) const SLOW_START_LIMIT: u64 = 2;

/// A window in bytes with its slow start threshold (RFC 5681 section 3.1).
///
/// Always holds: `cwnd >= mss >= 1` and `ssthresh >= 2*mss`. Sums saturate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow start threshold, bytes; `u64::MAX` until it is first set.
    pub ssthresh: u64,
    /// Greatest payload of one packet, bytes.
    pub mss: u64,
    /// The transport paces: L bounds nothing.
    paced: bool,
    /// The current slow start follows a timeout: L of RFC 3465 is then 1 (section 2.3).
    after_timeout: bool,
    /// What [`Self::grow`] owes, less than a byte.
    owed: f64,
    /// Bytes that [`Self::grow_by_counting`] has counted since it last grew, fewer than cwnd.
    counted: u64,
}

impl Window {
    pub fn new(setup: &Setup) -> Self {
        let mss = setup.mss.get().max(1);
        let known = setup
            .ssthresh
            .map(|bytes| bytes.get().max(mss.saturating_mul(2)));
        Self {
            cwnd: setup.initial_window.get().max(mss),
            ssthresh: known.unwrap_or(u64::MAX),
            mss,
            paced: setup.paced,
            after_timeout: false,
            owed: 0.0,
            counted: 0,
        }
    }

    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Nothing has set ssthresh yet: the slow start that looks for the path's capacity.
    pub fn in_initial_slow_start(&self) -> bool {
        self.ssthresh == u64::MAX
    }

    /// The window in segments, for laws whose formulas are in them.
    pub fn segments(&self) -> f64 {
        self.cwnd as f64 / self.mss as f64
    }

    /// Whether this acknowledgment may let the window grow at all.
    pub fn may_grow(ack: &Ack) -> bool {
        !ack.in_recovery && ack.cwnd_limited
    }

    /// The bytes an episode of loss is reckoned from: FlightSize, and of it no more than the window
    /// allowed. What limited transmit (RFC 3042) sent beyond the window "MUST NOT be included"
    /// (RFC 5681 section 3.2 step 2).
    pub fn flight(&self, in_flight: Bytes) -> u64 {
        in_flight.get().min(self.cwnd)
    }

    /// Of the bytes acknowledged at once, those that may count in slow start: L segments, one after a timeout
    /// (RFC 3465 section 2.3), and all for a sender that paces (RFC 9406 section 4.3 takes L as infinite
    /// then): L is there to bound bursts.
    pub fn limited(&self, acked: u64, limit: u64) -> u64 {
        let segments = match (self.after_timeout, self.paced) {
            (true, _) => 1,
            (false, true) => return acked,
            (false, false) => limit,
        };
        acked.min(segments.saturating_mul(self.mss))
    }

    /// Slow start with appropriate byte counting (RFC 3465 section 2.2): grows by what was
    /// acknowledged, at most `limit` segments per ACK, never past ssthresh. Returns the bytes left over
    /// for congestion avoidance.
    pub fn slow_start(&mut self, acked: u64, limit: u64) -> u64 {
        let room = self.ssthresh.saturating_sub(self.cwnd);
        let grow = self.limited(acked, limit).min(room);
        self.cwnd = self.cwnd.saturating_add(grow);
        if self.in_slow_start() {
            0
        } else {
            acked - grow
        }
    }

    /// Congestion avoidance by so many segments for each window of data acknowledged: the share that `acked` bytes
    /// bring, of one window at most. Parts of a byte are owed to the next. Negative or not a number: nothing.
    pub fn grow(&mut self, acked: u64, segments: f64) {
        let share = acked.min(self.cwnd) as f64 / self.cwnd as f64;
        let bytes = self.owed + (segments * self.mss as f64 * share).max(0.0);
        // A float too large for the integer saturates, and what is not a number is 0.
        let whole = bytes as u64;
        self.owed = (bytes - whole as f64).clamp(0.0, 1.0);
        self.cwnd = self.cwnd.saturating_add(whole);
    }

    /// Congestion avoidance as RFC 3465 section 2.1 has it: a segment once a whole window of bytes was acknowledged. One
    /// ACK counts for at most one window, so that a stretch ACK cannot make the next ones grow it by a segment each.
    pub fn grow_by_counting(&mut self, acked: u64) {
        self.counted = self.counted.saturating_add(acked.min(self.cwnd));
        if self.counted >= self.cwnd {
            self.counted -= self.cwnd;
            self.cwnd = self.cwnd.saturating_add(self.mss);
        }
    }

    /// Ends slow start where it stands (RFC 9406 section 4.2).
    pub fn end_slow_start(&mut self) {
        self.ssthresh = self.cwnd.max(self.mss.saturating_mul(2));
    }

    /// An episode of loss: the window comes down to `ssthresh`, which is at least two segments (RFC
    /// 5681 equation 4). It never goes up, not even to those two.
    pub fn reduce_to(&mut self, ssthresh: u64) {
        self.set_ssthresh(ssthresh);
        self.cwnd = self.cwnd.min(self.ssthresh);
        self.after_timeout = false;
        self.counted = 0;
    }

    /// Congestion marks: as [`reduce_to`](Self::reduce_to), but the window itself may come down to one
    /// segment (RFC 9438 section 4.6).
    pub fn reduce_for_marks_to(&mut self, ssthresh: u64) {
        self.set_ssthresh(ssthresh);
        self.cwnd = self.cwnd.min(ssthresh.max(self.mss));
        self.after_timeout = false;
        self.counted = 0;
    }

    /// The retransmission timer fired: the loss window is one segment (RFC 5681 section 3.1). `None`
    /// leaves ssthresh alone.
    pub fn collapse(&mut self, ssthresh: Option<u64>) {
        if let Some(ssthresh) = ssthresh {
            self.set_ssthresh(ssthresh);
        }
        self.cwnd = self.mss;
        self.after_timeout = true;
        self.counted = 0;
    }

    /// The reduction from `before` was a mistake: takes it back, unless the window has outgrown it since
    /// (RFC 9438 section 4.9.2), and says whether it did. The segment size is not part of the mistake, nor is what was
    /// counted since.
    pub fn restore(&mut self, before: &Self) -> bool {
        let lower = self.cwnd < before.cwnd;
        if lower {
            let mss = self.mss;
            *self = Self {
                counted: self.counted,
                ..*before
            };
            self.set_mss(mss);
        }
        lower
    }

    /// The segment size changed. The window is in bytes and stays what it is, but for the floors.
    pub fn set_mss(&mut self, mss: u64) {
        self.mss = mss.max(1);
        self.cwnd = self.cwnd.max(self.mss);
        self.set_ssthresh(self.ssthresh);
    }

    /// At least two segments.
    pub fn set_ssthresh(&mut self, ssthresh: u64) {
        self.ssthresh = ssthresh.max(self.mss.saturating_mul(2));
    }

    /// For [`Controller::ssthresh`](crate::Controller::ssthresh).
    pub fn ssthresh(&self) -> Option<Bytes> {
        (!self.in_initial_slow_start()).then(|| Bytes::new(self.ssthresh))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, setup};

    #[test]
    fn what_slow_start_cannot_use_is_left_for_congestion_avoidance() {
        let mut window = Window::new(&setup(10));
        window.ssthresh = 11 * MSS;
        // RFC 3465 section 2.2: never past ssthresh. Of three segments one fits.
        assert_eq!(window.slow_start(3 * MSS, 2), 2 * MSS);
        assert_eq!(window.cwnd, 11 * MSS);
        assert!(!window.in_slow_start());
    }

    #[test]
    fn an_acknowledgment_of_many_segments_counts_whole_if_the_sender_paces() {
        for (paced, counted) in [(false, 2), (true, 30)] {
            let mut window = Window::new(&Setup { paced, ..setup(10) });
            window.slow_start(30 * MSS, 2);
            assert_eq!(window.cwnd, (10 + counted) * MSS);
            // After a timeout nobody knows what the path still takes.
            window.collapse(None);
            window.slow_start(30 * MSS, 2);
            assert_eq!(window.cwnd, 2 * MSS);
        }
    }

    #[test]
    fn growth_of_parts_of_a_byte_is_not_lost() {
        // 1/3 of a segment of 1000 bytes for each of ten ACKs that make a window of ten: 333.3 bytes.
        let mut window = Window::new(&setup(10));
        for _ in 0..10 {
            window.grow(MSS, 1.0 / 3.0);
        }
        assert!(
            (10 * MSS + 325..=10 * MSS + 333).contains(&window.cwnd),
            "{}",
            window.cwnd
        );
        let before = window.cwnd;
        for nothing in [0.0, -5.0, f64::NAN] {
            window.grow(MSS, nothing);
        }
        assert_eq!(window.cwnd, before);
        window.grow(u64::MAX, f64::INFINITY);
        assert_eq!(window.cwnd, u64::MAX);
    }

    #[test]
    fn a_connection_that_knows_its_path_begins_where_slow_start_would_have_ended() {
        let known = |bytes| {
            Window::new(&Setup {
                ssthresh: Some(Bytes::new(bytes)),
                ..setup(10)
            })
        };
        assert!(!known(10 * MSS).in_slow_start());
        assert!(known(11 * MSS).in_slow_start() && !known(11 * MSS).in_initial_slow_start());
        assert_eq!(known(0).ssthresh, 2 * MSS, "the floor of any threshold");
    }

    #[test]
    fn a_larger_segment_raises_the_floors_and_a_smaller_one_changes_nothing() {
        let mut window = Window::new(&setup(2));
        window.reduce_to(0);
        assert_eq!((window.cwnd, window.ssthresh), (2 * MSS, 2 * MSS));
        window.set_mss(9000);
        assert_eq!((window.cwnd, window.ssthresh), (9000, 18000));
        window.set_mss(1200);
        assert_eq!((window.cwnd, window.ssthresh), (9000, 18000));
    }

    #[test]
    fn a_reduction_never_raises_the_window() {
        let mut window = Window::new(&setup(10));
        window.collapse(Some(5 * MSS));
        window.reduce_to(50 * MSS);
        assert_eq!((window.cwnd, window.ssthresh), (MSS, 50 * MSS));
    }

    #[test]
    fn marks_may_bring_the_window_to_one_segment_and_losses_to_two() {
        let mut marked = Window::new(&setup(2));
        marked.reduce_for_marks_to(MSS);
        assert_eq!((marked.cwnd, marked.ssthresh), (MSS, 2 * MSS));
        let mut lost = Window::new(&setup(2));
        lost.reduce_to(MSS);
        assert_eq!((lost.cwnd, lost.ssthresh), (2 * MSS, 2 * MSS));
    }
}
