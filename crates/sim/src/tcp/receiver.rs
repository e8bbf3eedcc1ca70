//! The receiving half of a TCP endpoint: reassembly, SACK blocks (RFC 2018, RFC 2883), delayed
//! acknowledgments (RFC 1122 section 4.2.3.2, RFC 5681 section 4.2), timestamp echo (RFC 7323
//! section 4.3), echo of congestion marks (RFC 3168 section 6.1.3).
//!
//! Its application reads at once, so the advertised window never closes.

use crate::network::TcpSettings;
use crate::packet::{Block, Flags, Packet};
use crate::ranges::Ranges;
use std::ops::RangeInclusive;
use whimbrel_cc::nack_transport::Allowance;
use whimbrel_units::{Duration, Time};

/// The receiving half of a TCP endpoint. The fields are in this order in memory: what a packet in
/// order needs comes first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    /// The next expected segment (RCV.NXT): the application has all below it.
    next: u32,
    /// Last.ACK.sent of RFC 7323.
    last_ack: u32,
    /// TS.Recent of RFC 7323.
    ts_recent: Time,
    /// When the segments that are not yet acknowledged must be at the latest; [`Time::MAX`]: there
    /// are none.
    deadline: Time,
    /// Number of in-order segments not yet acknowledged.
    unacknowledged: u32,
    ack_every: u32,
    ack_delay: Duration,
    /// Segments left of a burst of quick acknowledgments.
    quick_left: u32,
    /// The last segment that arrived twice, until it is reported.
    duplicate: Option<u32>,
    sack: bool,
    /// A mark arrived, and no CWR since then.
    ece: bool,
    /// State of the NACKs that it sends; `None`: it sends none.
    nacks: Option<Box<SentNacks>>,
    beyond: Ranges,
    /// The ranges that changed most recently, the last one first. Those that the application has
    /// got since, or that are empty, are not reported.
    recent: [Block; 3],
    /// Number of segments that a burst of quick acknowledgments covers.
    quick_acks: u32,
    /// Number of segments that arrived marked.
    marked: u64,
}

/// State of the NACKs that a receiver sends.
#[derive(Debug)]
struct SentNacks {
    allowance: Allowance,
    /// The receive window in segments.
    window: u32,
    /// The last segment that it requested, and when that segment was sent.
    last: Option<(u32, Time)>,
    sent: u64,
}

/// The effect of an arriving segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    /// Number of segments newly delivered to the application.
    pub in_order: u32,
    /// It must be acknowledged at once.
    pub ack_now: bool,
}

impl Receiver {
    pub fn new(settings: &TcpSettings, sack: bool, nack: bool) -> Self {
        Self {
            next: 0,
            beyond: Ranges::default(),
            recent: [Block::default(); 3],
            duplicate: None,
            ts_recent: Time::ZERO,
            last_ack: 0,
            ece: false,
            marked: 0,
            unacknowledged: 0,
            deadline: Time::MAX,
            ack_every: settings.ack_every.max(1),
            ack_delay: settings.ack_delay,
            quick_acks: settings.quick_acks,
            quick_left: settings.quick_acks,
            sack,
            nacks: nack.then(|| {
                Box::new(SentNacks {
                    allowance: Allowance::new(),
                    window: settings.window(),
                    last: None,
                    sent: 0,
                })
            }),
        }
    }

    /// The next expected segment.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Number of segments that arrived marked.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// Number of NACKs that it sent; `None`: it sends none.
    pub fn nacks(&self) -> Option<u64> {
        self.nacks.as_ref().map(|nacks| nacks.sent)
    }

    /// The segment of its last NACK, and the time that the NACK echoed.
    pub fn nacked(&self) -> Option<(u32, Time)> {
        self.nacks.as_ref().and_then(|nacks| nacks.last)
    }

    /// From the last acknowledgment to the newest segment that arrived, or the next expected one.
    pub fn seen(&self) -> RangeInclusive<u32> {
        let newest = self
            .beyond
            .highest()
            .map_or(self.next, |end| end.max(self.next));
        self.last_ack..=newest
    }

    /// Invoked when a segment that was sent at `sent` arrives corrupted. Returns whether a NACK
    /// requests it.
    pub fn on_corrupted(&mut self, seg: u32, sent: Time) -> bool {
        let Some(nacks) = &mut self.nacks else {
            return false;
        };
        let missing = seg
            .checked_sub(self.next)
            .is_some_and(|ahead| ahead < nacks.window && self.beyond.holding(seg).is_none());
        let allowed = missing && nacks.allowance.take();
        if allowed {
            nacks.last = Some((seg, sent));
            nacks.sent += 1;
        }
        allowed
    }

    /// When the delayed acknowledgment is due; [`Time::MAX`]: none is.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Invoked when the SYN arrives: its timestamp is the first to echo.
    pub fn on_syn(&mut self, sent: Time) {
        self.ts_recent = sent;
    }

    /// Invoked when a segment arrives intact.
    #[inline(always)]
    pub fn on_data(&mut self, now: Time, packet: &Packet) -> Received {
        let seg = packet.seg;
        if let Some(nacks) = &mut self.nacks {
            nacks.allowance.earn(1);
        }
        // A packet with CE and CWR ends one echo and begins the next.
        if packet.flags.has(Flags::CE) {
            self.ece = true;
            self.marked += 1;
        } else if packet.flags.has(Flags::CWR) {
            self.ece = false;
        }
        if seg <= self.last_ack {
            self.ts_recent = self.ts_recent.max(packet.sent);
        }
        if seg == self.next {
            let before = self.next;
            let mut ack_now = false;
            self.next += 1;
            if !self.beyond.is_empty() {
                // RFC 5681 section 4.2: a segment that fills a hole is acknowledged at once.
                ack_now = true;
                if let Some(block) = self.beyond.holding(self.next) {
                    self.next = block.end;
                }
                self.beyond.forget_below(self.next);
            }
            self.unacknowledged += 1;
            if self.quick_left > 0 {
                self.quick_left -= 1;
                ack_now = true;
            } else if self.unacknowledged >= self.ack_every {
                ack_now = true;
            } else if self.deadline == Time::MAX {
                self.deadline = now + self.ack_delay;
            }
            return Received {
                in_order: self.next - before,
                ack_now,
            };
        }
        let mut new = false;
        if seg > self.next {
            let single = Block {
                start: seg,
                end: seg + 1,
            };
            let range = self.beyond.insert(single, |_| new = true);
            if new {
                self.remember(range);
            }
        }
        if !new {
            self.duplicate = Some(seg);
            self.quick_left = self.quick_acks;
        }
        Received {
            in_order: 0,
            ack_now: true,
        }
    }

    /// Keeps a range as the most recent one, instead of those that it has absorbed.
    #[inline]
    fn remember(&mut self, range: Block) {
        let mut recent = [range, Block::default(), Block::default()];
        let mut used = 1;
        for other in self.recent {
            let apart = other.start < range.start || range.end < other.end;
            if apart && !other.is_empty() && used < recent.len() {
                recent[used] = other;
                used += 1;
            }
        }
        self.recent = recent;
    }

    /// Puts the acknowledgment on a packet that leaves now, with or without data. Afterwards none
    /// is pending.
    #[inline]
    pub fn acknowledge(&mut self, packet: &mut Packet) {
        self.unacknowledged = 0;
        self.deadline = Time::MAX;
        self.last_ack = self.next;
        packet.ack = self.next;
        packet.echo = self.ts_recent;
        packet.flags = packet.flags.with_if(self.ece, Flags::ECE);
        if self.sack && (self.duplicate.is_some() || !self.beyond.is_empty()) {
            self.fill_sacks(packet);
        }
        self.duplicate = None;
    }

    /// Adds the SACK blocks.
    fn fill_sacks(&self, packet: &mut Packet) {
        let sacks = &mut packet.sacks;
        let mut used = 0;
        if let Some(seg) = self.duplicate {
            // RFC 2883 section 4: the duplicate comes first, even below the ACK or inside another
            // block.
            sacks[0] = Block {
                start: seg,
                end: seg + 1,
            };
            packet.flags = packet.flags.with(Flags::DSACK);
            used = 1;
        }
        for block in self.recent {
            if block.start > self.next && used < sacks.len() {
                sacks[used] = block;
                used += 1;
            }
        }
        packet.size += packet.sack_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver() -> Receiver {
        Receiver::new(&TcpSettings::default(), true, false)
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// A segment that was sent at `sent` arrives 50 ms later.
    fn arrives(receiver: &mut Receiver, seg: u32, sent: u64) -> Received {
        let mut packet = Packet::new(at(sent), 0, 1500, Flags::DATA);
        packet.seg = seg;
        receiver.on_data(at(sent + 50), &packet)
    }

    /// The acknowledgment that leaves now.
    fn acknowledgment(receiver: &mut Receiver, now: u64) -> Packet {
        let mut packet = Packet::new(at(now), 0, 52, Flags::BACKWARD);
        receiver.acknowledge(&mut packet);
        packet
    }

    #[test]
    fn what_arrives_beside_a_hole_or_fills_one_is_acknowledged_at_once() {
        let mut receiver = receiver();
        let seen = [0, 3, 2, 1, 4, 5].map(|seg| {
            let received = arrives(&mut receiver, seg, 0);
            if received.ack_now {
                acknowledgment(&mut receiver, 50);
            }
            (received.in_order, received.ack_now)
        });
        // Only of those in order the first of two waits (RFC 5681 section 4.2).
        let expected = [
            (1, false),
            (0, true),
            (0, true),
            (3, true),
            (1, false),
            (1, true),
        ];
        assert_eq!(seen, expected);
        assert_eq!(receiver.deadline(), Time::MAX);
    }

    /// RFC 7323 section 4.3: the time of the segment that an acknowledgment waited for, and of none
    /// beyond a hole.
    #[test]
    fn the_time_that_is_echoed_is_of_the_last_segment_in_order() {
        let mut receiver = receiver();
        receiver.on_syn(at(1));
        arrives(&mut receiver, 0, 10);
        arrives(&mut receiver, 1, 11);
        assert_eq!(
            acknowledgment(&mut receiver, 61).echo,
            at(10),
            "the delayed one"
        );
        arrives(&mut receiver, 3, 13);
        assert_eq!(
            acknowledgment(&mut receiver, 63).echo,
            at(10),
            "beyond a hole"
        );
        arrives(&mut receiver, 2, 200);
        assert_eq!(
            acknowledgment(&mut receiver, 250).echo,
            at(200),
            "it fills the hole"
        );
    }
}
