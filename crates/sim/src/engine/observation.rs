//! The events of an observed run, in order of time.
//!
//! The engine reports each packet that leaves, arrives or is lost, and each call of a flow, to its
//! [`Observe`]. [`Unobserved`] does nothing, and the compiler removes the calls: ordinary runs cost
//! nothing.
//!
//! With lookahead the engine does things before their time. Their events wait in a heap until the
//! clock has reached them. No later event can precede them: the engine never acts in its past.
//!
//! A packet has no room for a number. It is recognized by what does not change on the way. Packets
//! that are equal in all of that left at the same time, and are interchangeable.

use super::routes::{FlowPath, flow_paths};
use super::time_queue::TimeQueue;
use crate::any_flow::AnyFlow;
use crate::flow::interface::Flow;
use crate::network::Network;
use crate::observe::{self, Ecn, Event, Fate, Observer, What};
use crate::packet::{Flags, Packet};
use std::collections::HashMap;
use whimbrel_units::{Bytes, Time};

/// What the engine reports. The default ignores it.
pub(crate) trait Observe {
    /// The clock has reached `now`.
    #[inline(always)]
    fn release(&mut self, _now: Time) {}

    /// A packet reached its end intact.
    #[inline(always)]
    fn arrived(&mut self, _at: Time, _packet: &Packet) {}

    /// A packet was lost.
    #[inline(always)]
    fn lost(&mut self, _at: Time, _packet: &Packet, _fate: Fate) {}

    /// Flow `index` was called, and the packets in `out` leave.
    #[inline(always)]
    fn called(&mut self, _at: Time, _index: usize, _flow: &mut AnyFlow<'_>, _out: &[Packet]) {}
}

/// No observer.
pub(crate) struct Unobserved;

impl Observe for Unobserved {}

/// An observer, and the events that it has not received yet.
pub(crate) struct Observed<'o> {
    observer: &'o mut dyn Observer,
    /// Events that the clock has not reached.
    waiting: TimeQueue<Event>,
    packets: u64,
    paths: Vec<FlowPath>,
    in_flight: HashMap<Key, Vec<(Packet, observe::Packet)>>,
}

/// What most packets differ in: path, direction, time of departure.
type Key = (u32, bool, Time);

impl<'o> Observed<'o> {
    /// Observes all flows of a network.
    pub fn new(network: &Network, observer: &'o mut dyn Observer) -> Self {
        Self {
            observer,
            waiting: TimeQueue::default(),
            packets: 0,
            paths: flow_paths(network).collect(),
            in_flight: HashMap::new(),
        }
    }

    fn add(&mut self, at: Time, flow: usize, path: usize, what: What) {
        let event = Event {
            at,
            flow,
            path,
            what,
        };
        self.waiting.add(at, event);
    }

    fn add_packet(&mut self, at: Time, packet: &Packet, what: What) {
        let FlowPath { flow, path } = self.paths[packet.path_id as usize];
        self.add(at, flow, path, what);
    }

    fn sent(&mut self, packet: &Packet, flow: &mut AnyFlow<'_>) {
        let id = self.packets;
        self.packets += 1;
        let shown = observe::Packet {
            id,
            from: packet.sender(),
            sent: packet.sent,
            size: Bytes::new(u64::from(packet.size)),
            ecn: match packet.flags.has(Flags::ECT) {
                true => Ecn::Ect,
                false => Ecn::NotEct,
            },
            content: flow.describe(packet, id),
        };
        self.add_packet(packet.sent, packet, What::Sent(shown.clone()));
        let alike = self.in_flight.entry(key(packet)).or_default();
        alike.push((*packet, shown));
    }

    /// Removes a packet from those in flight.
    fn take(&mut self, packet: &Packet) -> Option<observe::Packet> {
        let key = key(packet);
        let alike = self.in_flight.get_mut(&key)?;
        let place = alike.iter().position(|(sent, _)| is_same(sent, packet))?;
        let (_, mut shown) = alike.remove(place);
        if alike.is_empty() {
            self.in_flight.remove(&key);
        }
        if packet.flags.has(Flags::DATA) && packet.flags.has(Flags::CE) {
            shown.ecn = Ecn::Ce;
        }
        Some(shown)
    }
}

impl Observe for Observed<'_> {
    fn release(&mut self, now: Time) {
        while let Some(event) = self.waiting.take(now) {
            self.observer.on_event(&event);
        }
    }

    fn arrived(&mut self, at: Time, packet: &Packet) {
        if let Some(shown) = self.take(packet) {
            self.add_packet(at, packet, What::Arrived(shown));
        }
    }

    fn lost(&mut self, at: Time, packet: &Packet, fate: Fate) {
        if let Some(shown) = self.take(packet) {
            self.add_packet(at, packet, What::Dropped(shown, fate));
        }
    }

    fn called(&mut self, at: Time, index: usize, flow: &mut AnyFlow<'_>, out: &[Packet]) {
        flow.report_findings(&mut |path, what| self.add(at, index, path, what));
        for packet in out {
            self.sent(packet, flow);
        }
        flow.report_states(&mut |path, what| self.add(at, index, path, what));
    }
}

fn key(packet: &Packet) -> Key {
    (
        packet.path_id,
        packet.flags.has(Flags::BACKWARD),
        packet.sent,
    )
}

/// Whether a packet is the one that was sent. Links may mark it, and may corrupt it, which replaces
/// what it acknowledges.
fn is_same(sent: &Packet, packet: &Packet) -> bool {
    let lasting = |packet: &Packet| {
        let flags = packet.flags.without(Flags::CORRUPTED);
        match flags.has(Flags::DATA) {
            true => flags.without(Flags::CE),
            false => flags,
        }
    };
    let corrupted = packet.flags.has(Flags::CORRUPTED);
    sent.seg == packet.seg
        && sent.size == packet.size
        && sent.sacks == packet.sacks
        && lasting(sent) == lasting(packet)
        && (corrupted || sent.ack == packet.ack)
}
