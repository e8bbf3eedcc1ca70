//! Negative acknowledgments (NACK): the receiver says which segment came corrupted.
//!
//! G. Olmedo et al., "Performance Analysis of a Novel TCP Protocol Algorithm Adapted to Wireless Networks", Future Internet 12(6),
//! 101, 2020, sections 2.3.3 to 2.3.5; read in full.
//!
//! * A segment whose payload is corrupted and whose headers are not is answered at once by a packet with a NACK flag, whose
//!   acknowledgment field holds the segment's sequence number. It acknowledges nothing. Where there are timestamps it echoes
//!   the segment's.
//! * The sender resends that segment at once, and leaves cwnd and ssthresh alone: [`sender/nacks.rs`](super::sender).
//!
//! **The physics.** A corrupted packet was not dropped by a queue, so it says nothing about congestion; and it has left the
//! network, so that another may enter in its place.
//!
//! **Where the paper is silent.** Both ends bound how many NACKs they send and believe ([`Allowance`]). A checksum over headers
//! and payload does not say where the error is; here the receiver is as clever as one with a checksum over the headers alone
//! (R. Balan et al., "TCP HACK", INFOCOM 2001, of which the abstract was read).

/// How many NACKs may be sent or believed: some at once, and then one for every two segments that arrive intact.
///
/// So whoever makes one end send NACKs or the other believe them adds at most half of the packets that get through. A path
/// that corrupts more than a third of its packets earns too few, and what they leave out is repaired as any loss is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    /// Segments that arrived and were not yet spent.
    earned: u32,
}

impl Allowance {
    /// So many segments must arrive intact for one NACK.
    const PRICE: u32 = 2;
    /// At most so many NACKs in a row: the initial window of RFC 6928, what a sender may send unasked.
    const MOST: u32 = 10;

    pub fn new() -> Self {
        Self {
            earned: Self::PRICE * Self::MOST,
        }
    }

    /// So many segments arrived intact.
    #[inline]
    pub fn earn(&mut self, segments: u32) {
        self.earned = self
            .earned
            .saturating_add(segments)
            .min(Self::PRICE * Self::MOST);
    }

    /// Whether one more is allowed; it is spent.
    pub fn take(&mut self) -> bool {
        let left = self.earned.checked_sub(Self::PRICE);
        self.earned = left.unwrap_or(self.earned);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_nacks_are_free_and_then_two_segments_must_arrive_for_each() {
        let mut allowance = Allowance::new();
        assert_eq!((0..20).filter(|_| allowance.take()).count(), 10);
        allowance.earn(1);
        assert!(!allowance.take());
        allowance.earn(1);
        assert!(allowance.take() && !allowance.take());
        allowance.earn(u32::MAX);
        assert_eq!((0..20).filter(|_| allowance.take()).count(), 10);
    }
}
