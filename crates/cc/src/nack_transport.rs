//! Negative acknowledgments (NACKs): the receiver reports which segment arrived corrupted. What a
//! transport with them needs, whatever carries it: the simulator's TCP and Linux TCP share it, and
//! `crates/linux/bpf/nack.h` has the same limit in C.
//!
//! G. Olmedo et al., "Performance Analysis of a Novel TCP Protocol Algorithm Adapted to Wireless
//! Networks", Future Internet 12(6), 101, 2020, sections 2.3.3 to 2.3.5; read in full.
//!
//! * A segment with a corrupted payload and intact headers is answered at once by a packet with a
//!   NACK flag, whose acknowledgment field holds the segment's sequence number. It acknowledges
//!   nothing. With timestamps it echoes the timestamp of the segment.
//! * The sender retransmits that segment at once and leaves cwnd and ssthresh unchanged.
//!
//! **The physics.** No queue dropped a corrupted packet, so it carries no information about
//! congestion. It has left the network, so another packet may enter in its place.
//!
//! **Where the paper is silent.** Both ends limit how many NACKs they send and accept
//! ([`Allowance`]). A checksum over headers and payload does not locate the error; this receiver
//! knows as much as one with a separate checksum over the headers (R. Balan et al., "TCP HACK",
//! INFOCOM 2001, of which the abstract was read).

/// Limit on the NACKs that are sent or accepted: some at once, then one for every two segments that
/// arrive intact.
///
/// An attacker that provokes or forges NACKs therefore adds at most half as many packets as get
/// through. On a path that corrupts more than a third of its packets, some segments get no NACK;
/// they are repaired as other losses are.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    /// Number of arrived segments that no NACK has used up yet.
    earned: u32,
}

impl Default for Allowance {
    fn default() -> Self {
        Self::new()
    }
}

impl Allowance {
    /// Number of segments that must arrive intact for one NACK.
    const PRICE: u32 = 2;
    /// Maximum number of NACKs in a row: the initial window of RFC 6928, which a sender may send
    /// without feedback.
    const MOST: u32 = 10;

    /// The whole allowance: ten NACKs.
    pub fn new() -> Self {
        Self {
            earned: Self::PRICE * Self::MOST,
        }
    }

    /// Invoked when `segments` segments arrive intact.
    #[inline]
    pub fn earn(&mut self, segments: u32) {
        self.earned = self
            .earned
            .saturating_add(segments)
            .min(Self::PRICE * Self::MOST);
    }

    /// Uses up the allowance of one NACK. Returns whether there was one.
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
    fn ten_nacks_are_free_then_each_needs_two_arrived_segments() {
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
