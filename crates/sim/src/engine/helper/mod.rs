//! Helpers on links: agents that see each packet at one end of a link, in both directions.
//!
//! * **Snoop** sits where data enters the link and acknowledgments leave it: at the base station of
//!   a receiver that moves.
//! * **Loss notification** sits where data leaves the link and acknowledgments enter it: at the base
//!   station of a sender that moves.
//!
//! * **Freeze** sits where acknowledgments leave the link, and speaks for a receiver that moves.
//!
//! Nothing is computed ahead across them: what they do depends on the packets before. An observer does
//! not see what they retransmit, mark or suppress.

mod freeze;
mod loss_notification;
mod snoop;

use crate::network::{Helped, Helper, Network};
use crate::packet::{Flags, Packet};
use freeze::Freeze;
use loss_notification::LossNotification;
use snoop::Snoop;
use std::collections::HashMap;
use whimbrel_net::Side;
use whimbrel_units::Time;

/// What becomes of a packet that a helper sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passage {
    /// It goes on.
    Passes,
    /// The helper keeps it from going on.
    Suppressed,
}

/// A helper with the state of all flows that pass it.
#[derive(Debug)]
pub(super) struct Agent {
    kind: Helper,
    snoop: HashMap<u32, Snoop>,
    notes: HashMap<u32, LossNotification>,
    freeze: Freeze,
}

impl Agent {
    /// All helpers of a run, by their number.
    pub fn all(network: &Network) -> Vec<Self> {
        let mut agents = Vec::new();
        for link in &network.links {
            let Some(helped) = link.helped else { continue };
            if agents.len() <= helped.number {
                agents.resize_with(helped.number + 1, || Self::new(helped.helper));
            }
            let agent = &mut agents[helped.number];
            agent.kind = helped.helper;
            if let (Helper::Freeze { warning }, Side::Forward) = (helped.helper, helped.side) {
                agent.freeze = Freeze::new(&link.spec.loss.outages, warning);
            }
        }
        agents
    }

    fn new(kind: Helper) -> Self {
        Self {
            kind,
            snoop: HashMap::new(),
            notes: HashMap::new(),
            freeze: Freeze::default(),
        }
    }

    /// A packet enters one direction of the link.
    pub fn enters(&mut self, now: Time, side: Side, packet: &mut Packet) {
        match (self.kind, side) {
            (Helper::Snoop, Side::Forward) if packet.flags.has(Flags::DATA) => {
                self.snoop
                    .entry(packet.path_id)
                    .or_default()
                    .on_data(now, packet);
            }
            (Helper::LossNotification, Side::Reverse) if is_acknowledgment(packet) => {
                if let Some(notes) = self.notes.get_mut(&packet.path_id) {
                    notes.on_acknowledgment(packet);
                }
            }
            _ => {}
        }
    }

    /// A packet leaves one direction of the link. Returns what becomes of it, and a packet that the
    /// helper puts on the link.
    pub fn leaves(
        &mut self,
        now: Time,
        side: Side,
        packet: &mut Packet,
    ) -> (Passage, Option<Packet>) {
        match (self.kind, side) {
            (Helper::Snoop, Side::Reverse) if is_acknowledgment(packet) => {
                match self.snoop.get_mut(&packet.path_id) {
                    Some(snoop) => snoop.on_acknowledgment(now, packet.ack),
                    None => (Passage::Passes, None),
                }
            }
            (Helper::Freeze { .. }, Side::Reverse) if is_acknowledgment(packet) => {
                self.freeze.on_acknowledgment(packet);
                (Passage::Passes, None)
            }
            (Helper::LossNotification, Side::Forward)
                if packet.flags.has(Flags::DATA) && !packet.flags.has(Flags::CORRUPTED) =>
            {
                self.notes
                    .entry(packet.path_id)
                    .or_default()
                    .on_data(packet.seg);
                (Passage::Passes, None)
            }
            _ => (Passage::Passes, None),
        }
    }

    /// When its next timer expires.
    pub fn deadline(&self) -> Option<Time> {
        let snoop = self.snoop.values().filter_map(Snoop::deadline);
        snoop.chain(self.freeze.deadline()).min()
    }

    /// The packets that its timers send now, in the order of the flows: data enters the link,
    /// acknowledgments go on from its end.
    pub fn on_timer(&mut self, now: Time) -> Vec<Packet> {
        let mut again: Vec<Packet> = self
            .snoop
            .values_mut()
            .filter_map(|snoop| snoop.on_timer(now))
            .collect();
        again.sort_by_key(|packet| packet.path_id);
        again.extend(self.freeze.on_timer(now));
        again
    }
}

/// Whether a packet is a pure acknowledgment that a helper may look into.
fn is_acknowledgment(packet: &Packet) -> bool {
    let flags = packet.flags;
    let other = flags.has(Flags::DATA) || flags.has(Flags::CORRUPTED) || flags.is_nack();
    !other && !flags.opens()
}

/// The helper of a direction, for the engine.
pub(super) fn of(helped: Option<Helped>) -> (Option<Helped>, Option<Helped>) {
    let at = |enters: bool| {
        helped.filter(|helped| match helped.helper {
            Helper::Snoop => (helped.side == Side::Forward) == enters,
            Helper::LossNotification => (helped.side == Side::Reverse) == enters,
            Helper::Freeze { .. } => helped.side == Side::Reverse && !enters,
        })
    };
    (at(true), at(false))
}
