//! Bursts: their size, what they carry, and when each packet leaves.

use super::Source;
use crate::aatp::ledger::Burst;
use crate::aatp::outbox::Outbox;
use crate::aatp::wire::{DATA_HEADER, Data, ENDLESS, Message};
use whimbrel_cc::burst_transport::BurstPacket;
use whimbrel_units::Time;

/// Maximum of unacknowledged data in bytes, as TCP's largest window (RFC 7323 section 2.3).
const WINDOW: u64 = 1 << 30;

impl Source {
    /// Whether there is a packet to send, in the current burst or for the next one.
    pub(super) fn has_more(&self) -> bool {
        self.ledger.newest().is_some_and(|burst| !burst.is_sent()) || self.available() > 0
    }

    /// The number of packets available for a new burst.
    pub(super) fn available(&self) -> u32 {
        let window = (WINDOW / self.settings.packet.get()).min(u64::from(u32::MAX)) as u32;
        let outstanding = self.ledger.packets() as u32;
        let fresh = (self.total - self.next_sequence).min(window.saturating_sub(outstanding));
        (self.resend.len() as u32).saturating_add(fresh)
    }

    pub(super) fn on_send_timer(&mut self, now: Time, out: &mut Outbox<'_>) {
        while self.next_at <= now && self.has_more() {
            let under_way = self.ledger.newest().is_some_and(|burst| !burst.is_sent());
            if !under_way && !self.begin_burst(now) {
                return;
            }
            self.send_packet(now, out);
        }
        if self.has_more() {
            self.idle_since = None;
            return;
        }
        if self.ledger.is_empty() {
            self.idle_since = None;
            if self.total != ENDLESS && self.acked_all() {
                let close = self.sender.close(now, &self.path());
                self.follow(now, close, out);
            }
            return;
        }
        let idle_since = *self.idle_since.get_or_insert(now);
        if idle_since + self.estimator.rto() <= now {
            self.counters.episodes.timeouts += 1;
            self.estimator.back_off();
            self.idle_since = None;
            self.give_up_all();
            self.next_at = now;
            self.on_send_timer(now, out);
        }
    }

    /// Plans the next burst. Returns false if the controller has no plan.
    pub(super) fn begin_burst(&mut self, now: Time) -> bool {
        let interval = self.settings.timer.max(self.srtt());
        let (begin, available) = (self.next_at.max(now), self.available());
        let plan = self
            .sender
            .plan(begin, self.settings.packet, interval, available);
        let Some((number, departures, increase)) = plan else {
            return false;
        };
        let room = self.ledger.room();
        self.ledger
            .begin(Burst::new(number, departures, increase, room));
        true
    }

    /// Sends the next packet of the current burst.
    pub(super) fn send_packet(&mut self, now: Time, out: &mut Outbox<'_>) {
        let ack = self.acks.pop_front();
        let sequence = self.next_packet();
        let index = self.ledger.sent(sequence);
        let Some(burst) = self.ledger.newest() else {
            return;
        };
        let data = Data {
            sequence,
            place: BurstPacket {
                burst: burst.number,
                index,
                count: burst.count,
                interval: burst.interval,
                sent: now.as_nanos(),
            },
            ack,
        };
        self.next_at = burst.departure(index + 1);
        let payload = if sequence + 1 == self.total {
            self.last_payload
        } else {
            self.payload
        };
        let size = DATA_HEADER + payload;
        self.counters.packets += 1;
        self.counters.wire_bytes += u64::from(size);
        self.writer.send_padded(now, Message::Data(data), size, out);
        if let Some(train) = self.sender.renew(now) {
            self.send_control(now, train, out);
        }
    }

    /// The data packet to send next: lost packets come first.
    pub(super) fn next_packet(&mut self) -> u32 {
        while let Some(sequence) = self.resend.pop_front() {
            if self.acked.holding(sequence).is_none() {
                self.counters.retransmits += 1;
                return sequence;
            }
        }
        // A burst is no larger than the data that was available, and that can only have grown. The
        // exception: all packets to be retransmitted have arrived after all. Then the last packet
        // is sent again.
        let sequence = self.next_sequence.min(self.total - 1);
        self.counters.retransmits += u64::from(sequence < self.next_sequence);
        self.next_sequence = self.next_sequence.max(sequence + 1);
        sequence
    }

    /// When the current or the last burst allows the next packet to leave.
    pub(super) fn earliest_next(&self) -> Time {
        self.ledger.newest().map_or(Time::ZERO, |burst| {
            burst.departure(burst.sequences.len() as u32)
        })
    }

    pub(super) fn acked_all(&self) -> bool {
        self.total == 0
            || self
                .acked
                .holding(0)
                .is_some_and(|block| block.end >= self.total)
    }
}
