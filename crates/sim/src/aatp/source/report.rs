//! Reports: what is retransmitted, what the controller is notified of, and how its decision is
//! judged.

use super::Source;
use crate::aatp::ledger::Burst;
use crate::aatp::outbox::Outbox;
use crate::aatp::wire::{AckOf, Message, Sack};
use crate::outcome::Truth;
use crate::packet::Block;
use whimbrel_cc::burst_transport::bounded_rate;
use whimbrel_cc::{BurstReport, Share};
use whimbrel_units::{Duration, Time};

/// A burst that is still unreported this long after newer bursts were reported: the receiver has
/// dropped its report.
const GIVEN_UP: Duration = Duration::from_secs(5);

/// Maximum number of SACKs that wait to be acknowledged. The receiver retransmits the others.
const MAX_ACKS: usize = 1024;

impl Source {
    pub(super) fn on_sack(&mut self, now: Time, sack: &Sack, out: &mut Outbox<'_>) {
        let next = self.sender.on_alive(now, &self.path());
        self.follow(now, next, out);
        if self.acks.len() < MAX_ACKS {
            self.acks.push_back(AckOf {
                burst: sack.burst,
                part: sack.part,
            });
        }
        if let Some(burst) = self.ledger.take(sack) {
            self.on_report(now, sack, burst);
        }
        // A sender that had nothing to send may have something now.
        if self.sender.is_sending() {
            self.next_at = self.next_at.max(self.earliest_next());
            self.on_send_timer(now, out);
        }
        if !(self.sender.is_sending() && self.has_more()) {
            while let Some(ack) = self.acks.pop_front() {
                self.writer.send(now, Message::Ack(ack), out);
            }
        }
    }

    /// The report on a burst is complete.
    pub(super) fn on_report(&mut self, now: Time, sack: &Sack, burst: Burst) {
        let rtt = self.rtt_sample(now, sack, &burst);
        if let Some(rtt) = rtt {
            self.add_rtt(rtt);
        }
        // Bursts before it of which nothing arrived.
        let mut truth = burst.truth();
        let mut lost_before = 0;
        let from = sack.burst.saturating_sub(sack.lost_bursts);
        while let Some(lost) = self.ledger.take_between(from, sack.burst) {
            lost_before += lost.sequences.len() as u32;
            truth = truth.max(lost.truth());
            self.give_up(lost);
        }
        while let Some(stale) = self.ledger.take_before(before(burst.last_sent(), GIVEN_UP)) {
            self.give_up(stale);
        }
        self.settle(&burst);
        if burst.number >= self.next_notified {
            self.next_notified = burst.number + 1;
            self.notify(now, sack, &burst, rtt, lost_before, truth);
        }
        self.ledger.recycle(burst);
    }

    /// Notifies the controller of a report, and counts its decision.
    pub(super) fn notify(
        &mut self,
        now: Time,
        sack: &Sack,
        burst: &Burst,
        rtt: Option<Duration>,
        lost_before: u32,
        truth: Truth,
    ) {
        let report = BurstReport {
            now,
            // A receiver that saw a pause may report before the whole burst is sent.
            packets: burst.sequences.len() as u32,
            received: sack.received.min(burst.sequences.len() as u32),
            lost_before,
            interval: burst.interval,
            increase: burst.increase,
            spans: sack.spans,
            rtt,
            srtt: self.estimator.srtt(),
            min_rtt: self.estimator.min_rtt(),
            // The simulator's clocks are exact.
            noise: 0.0,
            share: sack.share.map(|share| Share {
                allocated: bounded_rate(share.allocated.as_bits_per_sec()),
                ..share
            }),
        };
        let response = self.sender.controller.on_burst(&report);
        self.account.bursts += 1;
        let state = self.sender.controller.phase();
        match self.account.states.iter_mut().find(|(s, _)| *s == state) {
            Some((_, count)) => *count += 1,
            None => self.account.states.push((state, 1)),
        }
        if let Some(response) = response {
            self.counters.count_episode(&response, truth);
        }
    }

    /// (12): from the departure of the last packet that arrived until now, minus the time for which
    /// the receiver held the report.
    pub(super) fn rtt_sample(&self, now: Time, sack: &Sack, burst: &Burst) -> Option<Duration> {
        if sack.again {
            return None;
        }
        let left = burst.departure(burst.last_received()?);
        let elapsed = now.since(left).as_nanos();
        let way = elapsed.checked_sub(sack.held.as_nanos());
        way.map(Duration::from_nanos)
    }

    pub(super) fn add_rtt(&mut self, rtt: Duration) {
        self.estimator.add(rtt, true);
        self.rtt.add(rtt);
    }

    /// No report on a burst is expected any more: retransmits its packets.
    pub(super) fn give_up(&mut self, burst: Burst) {
        self.resend.extend(&burst.sequences);
        self.ledger.recycle(burst);
    }

    pub(super) fn give_up_all(&mut self) {
        while let Some(burst) = self.ledger.take_between(0, u32::MAX) {
            self.give_up(burst);
        }
    }

    /// Queues the missing packets of a burst for retransmission, and marks the others as arrived.
    pub(super) fn settle(&mut self, burst: &Burst) {
        let mut missing = burst.missing().iter().copied().peekable();
        for (index, sequence) in burst.sequences.iter().enumerate() {
            let index = index as u32;
            while missing
                .next_if(|(start, length)| start + length <= index)
                .is_some()
            {}
            if missing.peek().is_some_and(|(start, _)| *start <= index) {
                self.resend.push_back(*sequence);
            } else {
                let packet = Block {
                    start: *sequence,
                    end: *sequence + 1,
                };
                self.acked.insert(packet, |_| {});
            }
        }
    }
}

fn before(time: Time, span: Duration) -> Time {
    Time::from_nanos(time.as_nanos().saturating_sub(span.as_nanos()))
}
