//! What happens to each message. The ledger sees both ends, and decides nothing.

use crate::measure::Delays;
use crate::outcome::{Distribution, MessageOutcome};
use std::collections::VecDeque;
use whimbrel_units::{Duration, Time};

/// A message that is not delivered.
#[derive(Debug, Clone, Copy)]
struct Open {
    /// When it arrived at the sender.
    arrived: Time,
    /// Its segments that have not arrived at the receiver.
    missing: u32,
    /// When the last of them arrived.
    complete_at: Time,
    delivered: bool,
}

/// All messages of a connection.
#[derive(Debug)]
pub(super) struct Ledger {
    /// Messages from number `first` on. Some may have been delivered.
    open: VecDeque<Open>,
    first: u32,
    delivered: u64,
    held: u64,
    latency: Delays,
    blocked: Delays,
    /// For each stream: messages delivered, and the sum of their latencies.
    streams: Vec<(u64, Duration)>,
}

impl Ledger {
    /// No messages.
    pub fn new(streams: u32) -> Self {
        Self {
            open: VecDeque::new(),
            first: 0,
            delivered: 0,
            held: 0,
            latency: Delays::new(),
            blocked: Delays::new(),
            streams: vec![(0, Duration::ZERO); streams as usize],
        }
    }

    /// A message of this many segments arrived at the sender.
    pub fn on_arrival(&mut self, at: Time, segments: u32) {
        self.open.push_back(Open {
            arrived: at,
            missing: segments,
            complete_at: at,
            delivered: false,
        });
    }

    /// A segment of a message arrived at the receiver.
    pub fn on_data(&mut self, now: Time, message: u32) {
        if let Some(open) = self.get(message) {
            open.missing = open.missing.saturating_sub(1);
            open.complete_at = now;
        }
    }

    /// A message was delivered, after all messages before it in its stream.
    pub fn on_delivery(&mut self, now: Time, message: u32, stream: u32) {
        let Some(open) = self.get(message) else {
            return;
        };
        debug_assert_eq!(open.missing, 0, "message {message} is not complete");
        open.delivered = true;
        let latency = now.since(open.arrived);
        let blocked = now.since(open.complete_at);
        self.latency.add(latency);
        self.blocked.add(blocked);
        self.delivered += 1;
        self.held += u64::from(!blocked.is_zero());
        let (messages, sum) = &mut self.streams[stream as usize];
        *messages += 1;
        *sum = sum.saturating_add(latency);
        while self.open.front().is_some_and(|open| open.delivered) {
            self.open.pop_front();
            self.first += 1;
        }
    }

    /// Messages delivered on a stream, and their mean latency.
    pub fn of_stream(&self, stream: usize) -> (u64, Duration) {
        let (messages, sum) = self.streams[stream];
        (messages, sum / messages.max(1))
    }

    /// The distribution of the latency of the messages.
    pub fn latencies(&mut self) -> Distribution {
        self.latency.distribution()
    }

    /// The outcome.
    pub fn outcome(&mut self) -> MessageOutcome {
        MessageOutcome {
            arrived: u64::from(self.first) + self.open.len() as u64,
            delivered: self.delivered,
            held: self.held,
            latency: self.latency.summary(),
            blocked: self.blocked.summary(),
        }
    }

    fn get(&mut self, message: u32) -> Option<&mut Open> {
        let at = message.checked_sub(self.first)?;
        self.open.get_mut(at as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_complete_message_is_blocked_until_it_is_delivered() {
        let ms = Duration::from_millis;
        let mut ledger = Ledger::new(1);
        ledger.on_arrival(at(0), 2);
        ledger.on_arrival(at(10), 1);
        ledger.on_arrival(at(20), 1);
        // The second message is complete at 60 ms and the first at 160 ms, when both are delivered.
        // The third never arrives.
        for (when, message) in [(50, 0), (60, 1), (160, 0)] {
            ledger.on_data(at(when), message);
        }
        ledger.on_delivery(at(160), 0, 0);
        ledger.on_delivery(at(160), 1, 0);
        assert_eq!(ledger.of_stream(0), (2, ms(155)));
        let outcome = ledger.outcome();
        assert_eq!(
            (outcome.arrived, outcome.delivered, outcome.held),
            (3, 2, 1)
        );
        assert_eq!(
            (outcome.latency.min, outcome.latency.max),
            (ms(150), ms(160))
        );
        assert_eq!((outcome.blocked.min, outcome.blocked.max), (ms(0), ms(100)));
        assert_eq!(outcome.blocked.mean, ms(50));
    }

    #[test]
    fn messages_of_different_streams_are_delivered_in_any_order() {
        let mut ledger = Ledger::new(2);
        (0..4).for_each(|_| ledger.on_arrival(at(0), 1));
        for message in [3, 1, 2, 0] {
            ledger.on_data(at(5), message);
            ledger.on_delivery(at(5), message, message % 2);
        }
        assert_eq!((ledger.open.len(), ledger.first), (0, 4));
        assert_eq!(ledger.outcome().delivered, 4);
        assert_eq!(ledger.of_stream(1), (2, Duration::from_millis(5)));
    }
}
