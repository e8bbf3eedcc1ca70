//! The messages of a connection that packets in flight carry, and how an end sends one.

use super::wire::{IP_AND_UDP, Message};
use crate::engine::packet::{Flags, Packet};
use whimbrel_units::Time;

/// The messages of packets in flight. A [`Packet`] has no room for one, so it carries its place
/// here.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    messages: Vec<Message>,
    free: Vec<u32>,
}

impl InFlight {
    fn put(&mut self, message: Message) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.messages[place as usize] = message;
                place
            }
            None => {
                self.messages.push(message);
                self.messages.len() as u32 - 1
            }
        }
    }

    /// The message that a packet carries.
    pub fn get(&self, packet: &Packet) -> &Message {
        &self.messages[packet.message() as usize]
    }

    /// Removes the message that a packet carried.
    pub fn take(&mut self, packet: &Packet) -> Message {
        self.free.push(packet.message());
        std::mem::replace(
            &mut self.messages[packet.message() as usize],
            Message::Probe,
        )
    }
}

/// Collects what an end sends: packets, and the messages that they carry.
pub(super) struct Outbox<'a> {
    /// Packets in the order in which they leave.
    pub packets: &'a mut Vec<Packet>,
    /// Their messages.
    pub messages: &'a mut InFlight,
}

/// What all packets of one end of a connection have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writer {
    /// The lane of the flow, which is also the number of the connection.
    pub lane: u32,
    /// [`Flags::BACKWARD`] at the far end.
    pub direction: Flags,
}

impl Writer {
    /// Sends a message in a packet as large as the message.
    pub fn send(self, now: Time, message: Message, out: &mut Outbox<'_>) {
        let size = message.length() + IP_AND_UDP;
        self.send_padded(now, message, size, out);
    }

    /// Sends a message in a packet of `size` bytes on the wire, headers included. The rest of the
    /// packet is padding or payload.
    pub fn send_padded(self, now: Time, message: Message, size: u32, out: &mut Outbox<'_>) {
        let what = match message {
            Message::Data(_) => Flags::DATA,
            _ => Flags::default(),
        };
        let mut packet = Packet::new(now, self.lane, size as u16, self.direction.with(what));
        packet.set_message(out.messages.put(message));
        out.packets.push(packet);
    }
}
