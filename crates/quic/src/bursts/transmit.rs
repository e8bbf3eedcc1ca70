//! What leaves, and when.
//!
//! noq builds packets; this decides when it may. While bursts are sent, the window is what is in
//! flight plus what is granted, and one packet is granted when it is due. noq's own pacing is
//! switched off by a rate without meaning.

use super::ledger::Burst;
use super::{BurstFlow, OutgoingTrain, Queued};
use crate::feedback::message::{MAX_PACKETS, Message};
use crate::feedback::{Next, Permission};
use crate::path_traffic::SMALL;
use std::time::Instant;
use whimbrel_cc::burst_transport::Control;
use whimbrel_units::{Duration, Time};

/// Minimum interval between bursts (5): the resolution of the system's timers.
const TIMER: Duration = Duration::from_millis(1);
/// Wait before the next try if noq could not send at all.
const BLOCKED: Duration = Duration::from_millis(1);

impl BurstFlow {
    /// What the next packet carries and how it may leave.
    pub fn before_transmit(&mut self, now: Instant) -> Next {
        let now = self.time(now);
        if self.moved {
            self.restart(now);
        }
        if self.queued != Queued::Nothing {
            // It has not left yet; what is granted still holds.
            return Next::permission(Permission::SINGLE);
        }
        if let Some(message) = self.control.take() {
            self.queued = Queued::Control;
            self.grant = self.mtu;
            return Next::message(message, Permission::SINGLE);
        }
        if let Some(OutgoingTrain {
            number,
            next,
            count,
        }) = self.train
        {
            self.queued = Queued::Train;
            self.grant = self.mtu;
            let index = next;
            let train = Message::Train {
                number,
                index,
                count,
            };
            return Next::padded(train, Permission::SINGLE);
        }
        if !self.sender.is_sending() {
            return Next::permission(Permission::SINGLE);
        }
        if self.idle {
            self.grant = self.mtu;
            return Next::permission(Permission::SINGLE);
        }
        if self.next_at > now || !self.has_burst(now) {
            self.grant = 0;
            return Next::permission(Permission::SINGLE);
        }
        let Some(burst) = self.ledger.newest() else {
            return Next::permission(Permission::SINGLE);
        };
        let mark = Message::InBurst {
            burst: burst.number,
            index: burst.sent(),
            count: burst.count(),
            interval: (burst.interval().as_nanos() / 1000).min(u64::from(u32::MAX)) as u32,
        };
        self.queued = Queued::InBurst;
        self.grant = self.mtu;
        Next::message(mark, Permission::EXACT)
    }

    /// noq built a packet of `size` bytes, or nothing; `left`: what was queued is in it.
    pub fn after_transmit(&mut self, now: Instant, size: Option<usize>, left: bool) {
        let now = self.time(now);
        let queued = self.queued;
        self.last_burst = None;
        if !left {
            if size.is_none() && queued == Queued::InBurst {
                self.next_at = now + BLOCKED;
            }
            return;
        }
        self.queued = Queued::Nothing;
        match (queued, size) {
            (Queued::Train, Some(_)) => {
                self.train = self.train.and_then(|train| {
                    let next = train.next + 1;
                    (next < train.count).then_some(OutgoingTrain { next, ..train })
                });
            }
            (Queued::InBurst, Some(size)) => self.sent_in_burst(now, size),
            (Queued::Nothing, Some(size)) if self.idle && size >= SMALL => {
                self.idle = false;
                self.next_at = now + self.spacing();
            }
            _ => {}
        }
    }

    fn sent_in_burst(&mut self, now: Time, size: usize) {
        let Some((number, at)) = self.last else {
            return;
        };
        self.last_burst = self.ledger.newest().map(|burst| burst.number);
        if let Some(next) = self.ledger.sent(number, at, size) {
            self.next_at = next;
        }
        if size < SMALL {
            self.ledger.end();
            self.idle = true;
        } else if let Some(Control::Train { number, count }) = self.sender.renew(now) {
            self.start_train(number, count);
        }
    }

    /// Whether the newest burst has a packet to send; begins one if it has none.
    fn has_burst(&mut self, now: Time) -> bool {
        if self.ledger.newest().is_some_and(|burst| !burst.is_sent()) {
            return true;
        }
        let interval = TIMER.max(self.srtt());
        // A sender that was held up for less than a burst makes up for it.
        let late = now.since(self.next_at) > interval;
        let begin = if late { now } else { self.next_at };
        let packet = self.wire_size();
        let plan = self.sender.plan(begin, packet, interval, MAX_PACKETS);
        let Some((number, departures, increase)) = plan else {
            return false;
        };
        self.ledger.begin(Burst::new(number, departures, increase));
        true
    }

    fn spacing(&self) -> Duration {
        let plan = self.sender.controller.plan();
        plan.map_or(TIMER, |plan| plan.rate.time_for(self.wire_size()))
    }
}
