//! The congestion window of RFC 5681, with growth by byte counting (RFC 3465).

use crate::interface::Ack;
use crate::registry::entry::{Growth, Setup};
use whimbrel_units::Bytes;

/// L of RFC 3465 (section 2.3), segments: the maximum growth per ACK in slow start, unless an
/// algorithm has its own.
pub const SLOW_START_LIMIT: u64 = 2;

/// A window in bytes with its slow start threshold (RFC 5681 section 3.1).
///
/// Invariants: `cwnd >= mss >= 1` and `ssthresh >= 2*mss`. Sums saturate.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow start threshold, bytes; `u64::MAX` until it is first set.
    pub ssthresh: u64,
    /// Maximum payload of one packet, bytes.
    pub mss: u64,
    /// The transport paces: L limits nothing.
    paced: bool,
    /// What the window grows for.
    growth: Growth,
    /// The current slow start follows a timeout: L of RFC 3465 is then 1 (section 2.3).
    after_timeout: bool,
    /// The fraction of a byte that [`Self::grow`] has not yet added.
    owed: f64,
    /// Bytes that [`Self::grow_by_counting`] has counted since its last growth, fewer than cwnd.
    counted: u64,
}

impl Window {
    /// The window of a new connection.
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
            growth: setup.growth,
            after_timeout: false,
            owed: 0.0,
            counted: 0,
        }
    }

    /// Whether it is below the threshold, or there is none yet.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// ssthresh is not set yet: the slow start that searches for the capacity of the path.
    pub fn in_initial_slow_start(&self) -> bool {
        self.ssthresh == u64::MAX
    }

    /// The window in segments, for algorithms with formulas in segments.
    pub fn segments(&self) -> f64 {
        self.cwnd as f64 / self.mss as f64
    }

    /// Whether this acknowledgment may increase the window at all.
    pub fn may_grow(ack: &Ack) -> bool {
        !ack.in_recovery && ack.cwnd_limited
    }

    /// The bytes from which a reduction is computed: FlightSize, at most the window. Data beyond
    /// the window that limited transmit (RFC 3042) sent "MUST NOT be included" (RFC 5681 section
    /// 3.2 step 2).
    pub fn flight(&self, in_flight: Bytes) -> u64 {
        in_flight.get().min(self.cwnd)
    }

    /// The bytes for which an acknowledgment of `acked` bytes lets the window grow.
    pub fn eligible(&self, acked: u64) -> u64 {
        match self.growth {
            Growth::Segments => acked,
            Growth::Acknowledgments | Growth::Fractions => acked.min(self.mss),
        }
    }

    /// The part of the bytes acknowledged at once that counts in slow start: L segments; one after
    /// a timeout (RFC 3465 section 2.3); all of them if the sender paces (RFC 9406 section 4.3 then
    /// takes L as infinite), because L exists to limit bursts.
    pub fn limited(&self, acked: u64, limit: u64) -> u64 {
        let acked = self.eligible(acked);
        let segments = match (self.after_timeout, self.paced) {
            (true, _) => 1,
            (false, true) => return acked,
            (false, false) => limit,
        };
        acked.min(segments.saturating_mul(self.mss))
    }

    /// Slow start with appropriate byte counting (RFC 3465 section 2.2): grows by the acknowledged
    /// bytes, at most `limit` segments per ACK, never past ssthresh. Returns the bytes left for
    /// congestion avoidance.
    pub fn slow_start(&mut self, acked: u64, limit: u64) -> u64 {
        let acked = self.eligible(acked);
        let room = self.ssthresh.saturating_sub(self.cwnd);
        let grow = self.limited(acked, limit).min(room);
        self.cwnd = self.cwnd.saturating_add(grow);
        if self.in_slow_start() {
            0
        } else {
            acked - grow
        }
    }

    /// Congestion avoidance: grows by `segments` for each window of acknowledged data, here by the
    /// part of it that `acked` bytes are, at most one window. Fractions of a byte carry over. A
    /// negative number or NaN adds nothing.
    pub fn grow(&mut self, acked: u64, segments: f64) {
        let share = self.eligible(acked).min(self.cwnd) as f64 / self.cwnd as f64;
        let bytes = self.owed + (segments * self.mss as f64 * share).max(0.0);
        // A float that is too large for the integer saturates, and NaN becomes 0.
        let whole = bytes as u64;
        self.owed = (bytes - whole as f64).clamp(0.0, 1.0);
        self.cwnd = self.cwnd.saturating_add(whole);
    }

    /// Congestion avoidance as in RFC 3465 section 2.1: grows by one segment after each
    /// acknowledged window of bytes. One ACK counts for at most one window, so that a stretch ACK
    /// cannot make each of the next ACKs add a segment. With [`Growth::Fractions`] each ACK adds
    /// its part of the segment.
    pub fn grow_by_counting(&mut self, acked: u64) {
        if self.growth == Growth::Fractions {
            self.grow(acked, 1.0);
            return;
        }
        let acked = self.eligible(acked).min(self.cwnd);
        self.counted = self.counted.saturating_add(acked);
        if self.counted >= self.cwnd {
            self.counted -= self.cwnd;
            self.cwnd = self.cwnd.saturating_add(self.mss);
        }
    }

    /// Ends slow start at the present window (RFC 9406 section 4.2).
    pub fn end_slow_start(&mut self) {
        self.ssthresh = self.cwnd.max(self.mss.saturating_mul(2));
    }

    /// Reduces the window after a loss to `ssthresh`, which is at least two segments (RFC 5681
    /// equation 4). Never increases it, not even to two segments.
    pub fn reduce_to(&mut self, ssthresh: u64) {
        self.set_ssthresh(ssthresh);
        self.cwnd = self.cwnd.min(self.ssthresh);
        self.after_timeout = false;
        self.counted = 0;
    }

    /// Reduces the window after congestion marks: as [`reduce_to`](Self::reduce_to), but the window
    /// itself may become one segment (RFC 9438 section 4.6).
    pub fn reduce_for_marks_to(&mut self, ssthresh: u64) {
        self.set_ssthresh(ssthresh);
        self.cwnd = self.cwnd.min(ssthresh.max(self.mss));
        self.after_timeout = false;
        self.counted = 0;
    }

    /// Sets the loss window of one segment after a retransmission timeout (RFC 5681 section 3.1).
    /// `None` leaves ssthresh unchanged.
    pub fn collapse(&mut self, ssthresh: Option<u64>) {
        if let Some(ssthresh) = ssthresh {
            self.set_ssthresh(ssthresh);
        }
        self.cwnd = self.mss;
        self.after_timeout = true;
        self.counted = 0;
    }

    /// Undoes the spurious reduction from `before`, unless the window has since grown past it
    /// (RFC 9438 section 4.9.2), and returns whether it did. The segment size and the bytes counted
    /// since are kept.
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

    /// Sets the segment size. The window, in bytes, changes only if a lower limit rises.
    pub fn set_mss(&mut self, mss: u64) {
        self.mss = mss.max(1);
        self.cwnd = self.cwnd.max(self.mss);
        self.set_ssthresh(self.ssthresh);
    }

    /// Sets ssthresh to at least two segments.
    pub fn set_ssthresh(&mut self, ssthresh: u64) {
        self.ssthresh = ssthresh.max(self.mss.saturating_mul(2));
    }

    /// The value of [`Controller::ssthresh`](crate::Controller::ssthresh).
    pub fn ssthresh(&self) -> Option<Bytes> {
        (!self.in_initial_slow_start()).then(|| Bytes::new(self.ssthresh))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, setup};

    #[test]
    fn slow_start_leaves_the_excess_for_congestion_avoidance() {
        let mut window = Window::new(&setup(10));
        window.ssthresh = 11 * MSS;
        // RFC 3465 section 2.2: never past ssthresh. One of three segments fits.
        assert_eq!(window.slow_start(3 * MSS, 2), 2 * MSS);
        assert_eq!(window.cwnd, 11 * MSS);
        assert!(!window.in_slow_start());
    }

    #[test]
    fn a_stretch_ack_counts_in_full_only_if_the_sender_paces() {
        for (paced, counted) in [(false, 2), (true, 30)] {
            let mut window = Window::new(&Setup { paced, ..setup(10) });
            window.slow_start(30 * MSS, 2);
            assert_eq!(window.cwnd, (10 + counted) * MSS);
            // After a timeout the capacity of the path is unknown.
            window.collapse(None);
            window.slow_start(30 * MSS, 2);
            assert_eq!(window.cwnd, 2 * MSS);
        }
    }

    #[test]
    fn fractions_of_a_byte_carry_over() {
        // 1/3 of a segment of 1000 bytes for each of ten ACKs of a window of ten: 333.3 bytes.
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
    fn a_known_path_capacity_ends_slow_start_there() {
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
    fn marks_allow_one_segment_and_losses_two() {
        let mut marked = Window::new(&setup(2));
        marked.reduce_for_marks_to(MSS);
        assert_eq!((marked.cwnd, marked.ssthresh), (MSS, 2 * MSS));
        let mut lost = Window::new(&setup(2));
        lost.reduce_to(MSS);
        assert_eq!((lost.cwnd, lost.ssthresh), (2 * MSS, 2 * MSS));
    }

    #[test]
    fn growth_for_acknowledgments_counts_a_stretch_ack_as_one_segment() {
        let mut window = Window::new(&Setup {
            growth: Growth::Acknowledgments,
            ..setup(10)
        });
        // Slow start: 10 segments and one for each of five ACKs of two segments.
        for _ in 0..5 {
            assert_eq!(window.slow_start(2 * MSS, 2), 0);
        }
        assert_eq!(window.cwnd, 15 * MSS);
        // Congestion avoidance: fifteen ACKs, of whatever size, make one window.
        for _ in 0..14 {
            window.grow_by_counting(2 * MSS);
            assert_eq!(window.cwnd, 15 * MSS);
        }
        window.grow_by_counting(2 * MSS);
        assert_eq!(window.cwnd, 16 * MSS);
        // By a rule of its own: sixteen segments for each window are one for each ACK.
        window.grow(2 * MSS, 16.0);
        assert_eq!(window.cwnd, 17 * MSS);
    }

    #[test]
    fn growth_by_fractions_keeps_at_a_loss_what_was_counted() {
        for (growth, left) in [
            // Five ACKs of ten add nothing yet, or 1000/10 + 1000/10.1 + ... = 490 bytes.
            (Growth::Acknowledgments, 5 * MSS),
            (Growth::Fractions, (10 * MSS + 490) / 2),
        ] {
            let mut window = Window::new(&Setup {
                growth,
                ..setup(10)
            });
            for _ in 0..5 {
                window.grow_by_counting(2 * MSS);
            }
            window.reduce_to(window.cwnd / 2);
            assert_eq!(window.cwnd, left, "{growth:?}");
        }
    }
}
