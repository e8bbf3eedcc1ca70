//! Freeze-TCP: the receiver stops the sender before a disconnection, and wakes it after.
//!
//! T. Goff, J. Moronski, D. Phatak, V. Gupta, "Freeze-TCP: A True End-to-End TCP Enhancement Mechanism
//! for Mobile Environments", IEEE INFOCOM 2000. The paper was not available; the rules are those of
//! accounts of it and of O. Mehani's implementation for Linux (`tcp_freeze.c`).
//!
//! * a warning period before the disconnection the receiver advertises a window of zero: the sender
//!   stops, and keeps window and timers as they are
//! * after it the receiver sends three copies of its last acknowledgment with an open window: the
//!   sender goes on where it was
//!
//! **Physics.** During an outage the timer fires again and again and its timeout doubles; when the
//! link is back, the sender waits for the next one, with a window of one segment. Frozen, it has lost
//! nothing and waits for nothing.
//!
//! **When it works.** Disconnections that are foreseen by at least a round trip: then nothing is in
//! flight when the link goes.
//!
//! **Limits.** With a shorter warning the packets in flight are lost, and the first
//! acknowledgments after the outage begin a recovery. What it does not foresee it does not help.
//!
//! **Where this departs.** The link's near end speaks for the receiver: in the simulator the link
//! knows its outages. A frozen sender that hears nothing for its maximum timeout goes on (the
//! persist timer of RFC 9293 section 3.8.6.1).

use crate::packet::Packet;
use std::collections::{BTreeMap, VecDeque};
use whimbrel_net::Outage;
use whimbrel_units::{Duration, Time};

/// Copies of the last acknowledgment after an outage.
const COPIES: usize = 3;

/// The state of all flows on a link.
#[derive(Debug, Default)]
pub(super) struct Freeze {
    /// What is still to be said, in order of time: freeze, or go on.
    orders: VecDeque<(Time, bool)>,
    /// The last acknowledgment of each flow.
    last: BTreeMap<u32, Packet>,
    /// The senders are stopped: acknowledgments say so.
    frozen: bool,
}

impl Freeze {
    pub fn new(outages: &[Outage], warning: Duration) -> Self {
        let frozen = |outage: &Outage| {
            let begins = outage.from.as_nanos().saturating_sub(warning.as_nanos());
            (Time::from_nanos(begins), outage.to)
        };
        let mut spans: Vec<(Time, Time)> = outages.iter().map(frozen).collect();
        spans.sort_unstable();
        let mut orders: VecDeque<(Time, bool)> = VecDeque::new();
        for (begins, ends) in spans {
            match orders.back_mut() {
                // The next outage is near when this one ends: the senders stay frozen.
                Some((until, _)) if begins <= *until => *until = ends.max(*until),
                _ => orders.extend([(begins, true), (ends, false)]),
            }
        }
        Self {
            orders,
            last: BTreeMap::new(),
            frozen: false,
        }
    }

    pub fn on_acknowledgment(&mut self, packet: &mut Packet) {
        self.last.insert(packet.path_id, *packet);
        if self.frozen {
            packet.set_frozen();
        }
    }

    pub fn deadline(&self) -> Option<Time> {
        self.orders.front().map(|(at, _)| *at)
    }

    /// The acknowledgments that leave the link now.
    pub fn on_timer(&mut self, now: Time) -> Vec<Packet> {
        let mut out = Vec::new();
        while let Some((at, freezes)) = self.orders.front().copied() {
            if at > now {
                break;
            }
            self.orders.pop_front();
            self.frozen = freezes;
            for packet in self.last.values() {
                let mut packet = *packet;
                packet.at = now;
                if freezes {
                    packet.set_frozen();
                    out.push(packet);
                } else {
                    out.extend([packet; COPIES]);
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;

    #[test]
    fn each_flow_is_frozen_before_an_outage_and_woken_after_it() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let outage = Outage {
            from: at(1000),
            to: at(1500),
        };
        let mut freeze = Freeze::new(&[outage], Duration::from_millis(200));
        for path_id in [0, 1] {
            let mut packet = Packet::new(at(10), path_id, 52, Flags::BACKWARD);
            packet.ack = 7 + path_id;
            freeze.on_acknowledgment(&mut packet);
            assert!(!packet.is_frozen());
        }
        assert_eq!(freeze.deadline(), Some(at(800)));
        let stop = freeze.on_timer(at(800));
        assert_eq!(stop.len(), 2);
        assert!(stop.iter().all(Packet::is_frozen));
        let mut later = Packet::new(at(900), 0, 52, Flags::BACKWARD);
        later.ack = 7;
        freeze.on_acknowledgment(&mut later);
        assert!(later.is_frozen());
        assert_eq!(freeze.deadline(), Some(at(1500)));
        let go = freeze.on_timer(at(1500));
        assert_eq!(go.len(), 6);
        assert!(!go.iter().any(Packet::is_frozen));
        assert_eq!((go[0].ack, go[3].ack), (7, 8));
        assert_eq!(freeze.deadline(), None);
    }

    #[test]
    fn a_sender_stays_frozen_between_outages_that_are_closer_than_the_warning() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let outage = |from, to| Outage {
            from: at(from),
            to: at(to),
        };
        let outages = [outage(3000, 3500), outage(1000, 1500), outage(1600, 2000)];
        let mut freeze = Freeze::new(&outages, Duration::from_millis(200));
        freeze.on_acknowledgment(&mut Packet::new(at(10), 0, 52, Flags::BACKWARD));
        let mut said = Vec::new();
        while let Some(at) = freeze.deadline() {
            let packets = freeze.on_timer(at);
            said.push((at, packets[0].is_frozen()));
        }
        // Not at 1500 ms: until 1600 ms a packet would hardly come through.
        let expected = [(800, true), (2000, false), (2800, true), (3500, false)];
        assert_eq!(said, expected.map(|(ms, frozen)| (at(ms), frozen)));
    }
}
