//! Explicit loss notification (ELN): says in acknowledgments which losses the link caused.
//!
//! H. Balakrishnan, R. Katz, "Explicit Loss Notification and Wireless Web Performance", IEEE
//! Globecom Internet Mini-Conference 1998, and before S. Samaraweera's use of the name; the thesis of
//! T. Saedi (section 1) and the papers on TCP-NACK describe it. For a sender that moves: the base
//! station sees what has come over the wireless link.
//!
//! * a hole in the data that leaves the link: these segments were lost on it
//! * an acknowledgment that expects such a segment is marked
//! * a sender that finds the segment lost knows that it was not congestion: `newreno+eln`
//!
//! **Limits.** Data that was lost before the link, and retransmitted, looks like a hole that closes.
//! The mark is for the first hole alone: recovery that finds several losses at once (SACK, RACK)
//! takes the others for congestion. A packet that is corrupted but arrives counts as lost.
//!
//! **Choices where the source is silent.** At most 4096 holes are remembered; the oldest go first.

use crate::packet::Packet;
use std::collections::BTreeSet;

/// Maximum number of segments remembered as lost.
const MAX_HOLES: usize = 4096;

/// The state of one flow.
#[derive(Debug, Default)]
pub(super) struct LossNotification {
    /// The segment after the highest that came out.
    next: u32,
    /// Segments below it that did not.
    holes: BTreeSet<u32>,
}

impl LossNotification {
    /// A segment came out of the link.
    pub fn on_data(&mut self, seg: u32) {
        if seg < self.next {
            self.holes.remove(&seg);
            return;
        }
        let first = seg.saturating_sub(MAX_HOLES as u32).max(self.next);
        self.holes.extend(first..seg);
        while self.holes.len() > MAX_HOLES {
            self.holes.pop_first();
        }
        self.next = seg + 1;
    }

    /// An acknowledgment goes back over the link.
    pub fn on_acknowledgment(&mut self, packet: &mut Packet) {
        self.holes = self.holes.split_off(&packet.ack);
        if self.holes.contains(&packet.ack) {
            packet.set_loss_notified();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;
    use whimbrel_units::Time;

    #[test]
    fn acknowledgments_for_what_the_link_lost_are_marked() {
        let mut notes = LossNotification::default();
        for seg in [0, 1, 3, 4, 6] {
            notes.on_data(seg);
        }
        let marked = |notes: &mut LossNotification, ack| {
            let mut packet = Packet {
                ack,
                ..Packet::new(Time::ZERO, 0, 52, Flags::BACKWARD)
            };
            notes.on_acknowledgment(&mut packet);
            packet.is_loss_notified()
        };
        assert!(!marked(&mut notes, 1));
        assert!(marked(&mut notes, 2));
        notes.on_data(2);
        assert!(!marked(&mut notes, 2), "the retransmission came through");
        assert!(marked(&mut notes, 5));
        assert!(!marked(&mut notes, 7), "lost behind the link, if at all");
    }
}
