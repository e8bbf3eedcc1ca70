//! Snoop: repairs losses on its link, so that the sender does not learn of them.
//!
//! H. Balakrishnan, S. Seshan, E. Amir, R. Katz, "Improving TCP/IP Performance over Wireless
//! Networks", ACM MobiCom 1995; the rules as lecture slides of T. Kunz (Carleton) and the report of
//! I. Biswas on Snoop in Linux repeat them.
//!
//! * data in sequence: kept, and passed on
//! * data that the sender retransmits: kept, and marked: its loss is the sender's affair
//! * an acknowledgment that advances: what it acknowledges is forgotten, the round trip of the link
//!   is measured (not of retransmitted packets)
//! * the first duplicate for a kept packet: that packet is retransmitted at once, and as many
//!   duplicates are expected as packets were sent after it
//! * these duplicates are suppressed, so that the sender does not retransmit
//! * duplicates for a packet that is not kept, or marked, pass: the sender repairs that loss
//! * a timer of the link retransmits the oldest packet if nothing comes back
//!
//! **Physics.** The link's own round trip is shorter than the path's, so a loss is repaired before
//! the sender needs to know. It costs no window. What the sender sees is a longer RTT.
//!
//! **Limits.** Losses before the link are congestion and pass. A link whose round trip is most of
//! the path's gains little. Encrypted acknowledgments (QUIC) say nothing to it.
//!
//! **Choices where the source is silent.** A retransmission joins the end of the link's queue; the
//! source sends it first. The timer is that of RFC 6298 over the link's round trip, at least 20 ms,
//! doubled each time, at most 8 times for a packet (the Linux module's number). 4096 packets are
//! kept; more pass unkept.

use super::Passage;
use crate::packet::Packet;
use std::collections::VecDeque;
use whimbrel_units::{Duration, Time};

/// Maximum number of packets kept for one flow.
const MAX_KEPT: usize = 4096;
/// Maximum number of local retransmissions of a packet.
const MAX_TRIES: u32 = 8;
/// Minimum of the link's retransmission timeout, and its value before a measurement.
const TIMEOUTS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(200));

/// The state of one flow.
#[derive(Debug, Default)]
pub(super) struct Snoop {
    /// Packets that were not acknowledged, by segment.
    kept: VecDeque<Kept>,
    /// The highest acknowledgment.
    acknowledged: u32,
    /// Duplicates that are still to be suppressed.
    expected: u32,
    /// Smoothed round trip of the link and its variation (RFC 6298).
    rtt: Option<(Duration, Duration)>,
    timer: Option<Time>,
}

#[derive(Debug)]
struct Kept {
    packet: Packet,
    /// When it last entered the link.
    sent: Time,
    /// Local retransmissions.
    tries: u32,
    /// The sender itself retransmitted it.
    repeated: bool,
}

impl Snoop {
    pub fn on_data(&mut self, now: Time, packet: &Packet) {
        if packet.seg < self.acknowledged {
            return;
        }
        let entry = |repeated| Kept {
            packet: *packet,
            sent: now,
            tries: 0,
            repeated,
        };
        let place = self
            .kept
            .partition_point(|kept| kept.packet.seg < packet.seg);
        let full = self.kept.len() >= MAX_KEPT;
        match self.kept.get_mut(place) {
            Some(kept) if kept.packet.seg == packet.seg => *kept = entry(true),
            _ if full => {}
            // Below one that passed before: it was lost before the link, or overtaken.
            Some(_) => self.kept.insert(place, entry(true)),
            None => self.kept.push_back(entry(false)),
        }
        if self.timer.is_none() {
            self.timer = Some(now + self.timeout());
        }
    }

    /// An acknowledgment of everything below `ack`. Returns what becomes of it, and the packet that
    /// is retransmitted.
    pub fn on_acknowledgment(&mut self, now: Time, ack: u32) -> (Passage, Option<Packet>) {
        if ack > self.acknowledged {
            self.advance(now, ack);
            return (Passage::Passes, None);
        }
        if ack < self.acknowledged {
            return (Passage::Suppressed, None);
        }
        let behind = self.kept.len().saturating_sub(1) as u32;
        let Some(first) = self.kept.front_mut().filter(|kept| kept.packet.seg == ack) else {
            return (Passage::Passes, None);
        };
        if first.repeated || first.tries >= MAX_TRIES {
            return (Passage::Passes, None);
        }
        if first.tries == 0 {
            self.expected = behind;
            return (Passage::Suppressed, self.retransmit(now));
        }
        if self.expected > 0 {
            self.expected -= 1;
            return (Passage::Suppressed, None);
        }
        (Passage::Passes, None)
    }

    fn advance(&mut self, now: Time, ack: u32) {
        self.acknowledged = ack;
        self.expected = 0;
        let mut newest = None;
        while let Some(kept) = self.kept.front() {
            if kept.packet.seg >= ack {
                break;
            }
            newest = (kept.tries == 0 && !kept.repeated).then_some(kept.sent);
            self.kept.pop_front();
        }
        if let Some(sent) = newest {
            self.measure(now.since(sent));
        }
        let waits = !self.kept.is_empty();
        self.timer = waits.then(|| now + self.timeout());
    }

    fn measure(&mut self, sample: Duration) {
        self.rtt = Some(match self.rtt {
            None => (sample, sample / 2),
            Some((smoothed, variation)) => {
                let off = smoothed.max(sample) - smoothed.min(sample);
                (
                    smoothed - smoothed / 8 + sample / 8,
                    variation - variation / 4 + off / 4,
                )
            }
        });
    }

    fn timeout(&self) -> Duration {
        let measured = self
            .rtt
            .map(|(smoothed, variation)| smoothed + variation * 4);
        measured.map_or(TIMEOUTS.1, |timeout| timeout.max(TIMEOUTS.0))
    }

    /// The oldest packet again.
    fn retransmit(&mut self, now: Time) -> Option<Packet> {
        let timeout = self.timeout();
        let first = self.kept.front_mut()?;
        first.tries += 1;
        first.sent = now;
        self.timer = Some(now + timeout * (1 << first.tries.min(MAX_TRIES)));
        Some(first.packet)
    }

    pub fn deadline(&self) -> Option<Time> {
        self.timer
    }

    pub fn on_timer(&mut self, now: Time) -> Option<Packet> {
        if self.timer.is_none_or(|timer| timer > now) {
            return None;
        }
        self.timer = None;
        let first = self.kept.front()?;
        let ours = !first.repeated && first.tries < MAX_TRIES;
        if ours { self.retransmit(now) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    fn data(seg: u32) -> Packet {
        Packet {
            seg,
            ..Packet::new(at(0), 0, 1500, Flags::DATA)
        }
    }

    fn answer(snoop: &mut Snoop, now: Time, ack: u32) -> (Passage, Option<u32>) {
        let (passage, again) = snoop.on_acknowledgment(now, ack);
        (passage, again.map(|packet| packet.seg))
    }

    /// Segments 0 to 9, of which 0 to 2 were acknowledged after 10 ms.
    fn passed() -> Snoop {
        let mut snoop = Snoop::default();
        for seg in 0..10 {
            snoop.on_data(at(0), &data(seg));
        }
        assert_eq!(answer(&mut snoop, at(10), 3), (Passage::Passes, None));
        snoop
    }

    #[test]
    fn the_first_duplicate_is_answered_and_the_expected_ones_are_suppressed() {
        let mut snoop = passed();
        assert_eq!(
            answer(&mut snoop, at(12), 3),
            (Passage::Suppressed, Some(3))
        );
        // Segments 4 to 9 arrived: six duplicates.
        for _ in 0..6 {
            assert_eq!(answer(&mut snoop, at(13), 3), (Passage::Suppressed, None));
        }
        assert_eq!(answer(&mut snoop, at(13), 3), (Passage::Passes, None));
        assert_eq!(answer(&mut snoop, at(22), 10), (Passage::Passes, None));
        assert_eq!(snoop.deadline(), None);
    }

    #[test]
    fn a_loss_before_the_link_is_left_to_the_sender() {
        let mut snoop = Snoop::default();
        for seg in [0, 1, 2, 4, 5, 6] {
            snoop.on_data(at(0), &data(seg));
        }
        answer(&mut snoop, at(10), 3);
        assert_eq!(answer(&mut snoop, at(11), 3), (Passage::Passes, None));
        // The sender's retransmission is lost on the link: still the sender's affair.
        snoop.on_data(at(50), &data(3));
        assert_eq!(answer(&mut snoop, at(60), 3), (Passage::Passes, None));
    }

    #[test]
    fn what_was_retransmitted_measures_no_round_trip() {
        let mut snoop = passed();
        answer(&mut snoop, at(12), 3);
        answer(&mut snoop, at(13), 4);
        // RTT 10 ms and variation 5, from the first acknowledgment.
        assert_eq!(snoop.deadline(), Some(at(43)));
        answer(&mut snoop, at(14), 5);
        // 14 ms: the mean is 10.5, and the variation (3*5 + 4)/4.
        assert_eq!(
            snoop.deadline(),
            Some(at(14) + Duration::from_micros(29_500))
        );
    }

    #[test]
    fn duplicates_that_one_hole_leaves_over_suppress_none_of_the_next() {
        let mut snoop = passed();
        answer(&mut snoop, at(12), 3);
        answer(&mut snoop, at(13), 5);
        // The timer retransmits segment 5. Its duplicates are not those of segment 3.
        let due = snoop.deadline().expect("segments are kept");
        assert_eq!(snoop.on_timer(due).map(|packet| packet.seg), Some(5));
        assert_eq!(answer(&mut snoop, due, 5), (Passage::Passes, None));
    }

    #[test]
    fn the_timer_retransmits_what_nothing_answers() {
        let mut snoop = passed();
        // RTT 10 ms, variation 5: 30 ms after the last acknowledgment.
        assert_eq!(snoop.deadline(), Some(at(40)));
        assert_eq!(snoop.on_timer(at(39)).map(|packet| packet.seg), None);
        assert_eq!(snoop.on_timer(at(40)).map(|packet| packet.seg), Some(3));
        assert_eq!(snoop.deadline(), Some(at(100)), "doubled");
        let tries = (0..20).filter(|_| {
            let due = snoop.deadline();
            due.is_some_and(|due| snoop.on_timer(due).is_some())
        });
        assert_eq!(tries.count(), 7, "eight in all");
    }
}
