//! How an end sends a message.

use super::wire::{IP_AND_UDP, Message};
use crate::in_flight::InFlight;
use crate::packet::{Flags, Packet};
use whimbrel_units::Time;

/// Collects what an end sends: packets, and the messages that they carry.
pub(super) struct Outbox<'a> {
    /// Packets in the order in which they leave.
    pub packets: &'a mut Vec<Packet>,
    /// Their messages.
    pub messages: &'a mut InFlight<Message>,
}

/// What all packets of one end of a connection have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writer {
    /// The number of the flow's path, which is also the number of the connection.
    pub path_id: u32,
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
        let mut packet = Packet::new(now, self.path_id, size as u16, self.direction.with(what));
        packet.set_message(out.messages.put(message));
        out.packets.push(packet);
    }
}
