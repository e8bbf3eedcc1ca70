//! The receiving half of a TCP endpoint: reassembly, SACK blocks (RFC 2018, RFC 2883), delayed
//! acknowledgments (RFC 1122 section 4.2.3.2, RFC 5681 section 4.2), timestamp echo (RFC 7323
//! section 4.3), echo of congestion marks (RFC 3168 section 6.1.3). Its application reads at once, so the window it offers never closes.

use super::nack::Allowance;
use crate::engine::packet::{Block, Flags, Packet};
use crate::network::TcpSettings;
use crate::ranges::Ranges;
use std::ops::RangeInclusive;
use whimbrel_units::{Duration, Time};

/// The receiving half of a TCP endpoint.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// The next segment expected (RCV.NXT): all below it are with the application.
    next: u32,
    beyond: Ranges,
    /// Segments reported in recent SACK blocks, most recent first; each names the range it is now in.
    reported: [Option<u32>; 3],
    /// The last segment that came twice, until it is reported.
    duplicate: Option<u32>,
    /// TS.Recent and Last.ACK.sent of RFC 7323.
    ts_recent: Time,
    last_ack: u32,
    /// A mark arrived, and since then no word that the sender has answered for it.
    ece: bool,
    /// Segments that arrived marked.
    marked: u64,
    /// In-order segments not yet acknowledged.
    unacknowledged: u32,
    /// When they must be, at the latest.
    deadline: Option<Time>,
    ack_every: u32,
    ack_delay: Duration,
    sack: bool,
    /// If it asks for corrupted segments.
    asks: Option<Box<Asks>>,
}

/// What it remembers of the NACKs that it sends.
#[derive(Debug)]
struct Asks {
    allowance: Allowance,
    /// Segments beyond the next that it takes.
    window: u32,
    /// The last one that it asked for, with its time.
    last: Option<(u32, Time)>,
    sent: u64,
}

/// What an arriving segment asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    /// Segments newly delivered to the application, in order.
    pub in_order: u32,
    /// It must be acknowledged at once.
    pub ack_now: bool,
}

/// What an acknowledgment says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AckFields {
    pub ack: u32,
    pub echo: Time,
    pub sacks: [Block; 3],
    pub dsack: bool,
    pub ece: bool,
}

impl Receiver {
    pub fn new(settings: &TcpSettings, sack: bool, nack: bool) -> Self {
        Self {
            next: 0,
            beyond: Ranges::default(),
            reported: [None; 3],
            duplicate: None,
            ts_recent: Time::ZERO,
            last_ack: 0,
            ece: false,
            marked: 0,
            unacknowledged: 0,
            deadline: None,
            ack_every: settings.ack_every.max(1),
            ack_delay: settings.ack_delay,
            sack,
            asks: nack.then(|| {
                Box::new(Asks {
                    allowance: Allowance::new(),
                    window: settings.window(),
                    last: None,
                    sent: 0,
                })
            }),
        }
    }

    /// The next segment expected.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Segments that arrived marked.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// NACKs that were sent, if it sends any.
    pub fn nacks(&self) -> Option<u64> {
        self.asks.as_ref().map(|asks| asks.sent)
    }

    /// The last segment that was asked for by a NACK, and the time that this echoed.
    pub fn nacked(&self) -> Option<(u32, Time)> {
        self.asks.as_ref().and_then(|asks| asks.last)
    }

    /// From the last acknowledgment to the newest segment that arrived, or the next to come.
    pub fn seen(&self) -> RangeInclusive<u32> {
        let newest = self
            .beyond
            .highest()
            .map_or(self.next, |end| end.max(self.next));
        self.last_ack..=newest
    }

    /// A segment that was sent then arrived corrupted: whether a NACK asks for it.
    pub fn on_corrupted(&mut self, seg: u32, sent: Time) -> bool {
        let Some(asks) = &mut self.asks else {
            return false;
        };
        let missing = seg
            .checked_sub(self.next)
            .is_some_and(|ahead| ahead < asks.window && self.beyond.holding(seg).is_none());
        let allowed = missing && asks.allowance.take();
        if allowed {
            asks.last = Some((seg, sent));
            asks.sent += 1;
        }
        allowed
    }

    /// When a delayed acknowledgment is due.
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// The first packet of the connection arrived: its timestamp is the first to echo.
    pub fn on_syn(&mut self, sent: Time) {
        self.ts_recent = sent;
    }

    /// A segment arrived intact.
    #[inline(always)]
    pub fn on_data(&mut self, now: Time, packet: &Packet) -> Received {
        let seg = packet.seg;
        if let Some(asks) = &mut self.asks {
            asks.allowance.earn(1);
        }
        // A packet may end one echo and begin the next.
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
                // RFC 5681 section 4.2: what fills a hole is acknowledged at once.
                ack_now = true;
                if let Some(block) = self.beyond.holding(self.next) {
                    self.next = block.end;
                }
                self.beyond.forget_below(self.next);
            }
            self.unacknowledged += 1;
            if self.unacknowledged >= self.ack_every {
                ack_now = true;
            } else if self.deadline.is_none() {
                self.deadline = Some(now + self.ack_delay);
            }
            return Received {
                in_order: self.next - before,
                ack_now,
            };
        }
        if seg < self.next || self.beyond.holding(seg).is_some() {
            self.duplicate = Some(seg);
        } else {
            self.beyond.insert(
                Block {
                    start: seg,
                    end: seg + 1,
                },
                |_| {},
            );
            self.remember(seg);
        }
        Received {
            in_order: 0,
            ack_now: true,
        }
    }

    /// Keeps `seg` as the most recent of the reported; one entry a range is enough.
    #[inline(always)]
    fn remember(&mut self, seg: u32) {
        let range = self.beyond.holding(seg);
        let older = self
            .reported
            .into_iter()
            .flatten()
            .filter(|s| self.beyond.holding(*s) != range);
        let mut recent = [Some(seg), None, None];
        for (place, seg) in recent[1..].iter_mut().zip(older) {
            *place = Some(seg);
        }
        self.reported = recent;
    }

    /// The fields of an acknowledgment that leaves now, alone or on data; nothing is owed after it.
    #[inline]
    pub fn acknowledge(&mut self) -> AckFields {
        self.unacknowledged = 0;
        self.deadline = None;
        self.last_ack = self.next;
        let mut fields = AckFields {
            ack: self.next,
            echo: self.ts_recent,
            sacks: [Block::default(); 3],
            dsack: false,
            ece: self.ece,
        };
        if self.sack && (self.duplicate.is_some() || !self.beyond.is_empty()) {
            self.fill_sacks(&mut fields);
        }
        self.duplicate = None;
        fields
    }

    fn fill_sacks(&mut self, fields: &mut AckFields) {
        let mut used = 0;
        if let Some(seg) = self.duplicate {
            // RFC 2883 section 4: the duplicate first, whatever lies below ACK or inside another block.
            fields.sacks[0] = Block {
                start: seg,
                end: seg + 1,
            };
            fields.dsack = true;
            used = 1;
        }
        for block in self
            .reported
            .into_iter()
            .flatten()
            .filter_map(|seg| self.beyond.holding(seg))
        {
            if used < fields.sacks.len()
                && !fields.sacks[usize::from(fields.dsack)..used].contains(&block)
            {
                fields.sacks[used] = block;
                used += 1;
            }
        }
    }
}
