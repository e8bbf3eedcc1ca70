//! How an end puts a message into a packet.

use super::wire::{IP_AND_UDP, Message};
use crate::engine::packet::{Flags, Packet};
use crate::engine::payload_pool::Outbox;
use whimbrel_units::Time;

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
    pub fn send(self, now: Time, message: &Message, out: &mut Outbox<'_>) {
        self.put(now, message, None, Flags::default(), out);
    }

    /// Sends a message in a packet of `size` bytes on the wire, headers included. The rest of the
    /// packet is padding or payload.
    pub fn send_padded(self, now: Time, message: &Message, size: u32, out: &mut Outbox<'_>) {
        let what = match message {
            Message::Data(_) => Flags::DATA,
            _ => Flags::default(),
        };
        self.put(now, message, Some(size), what, out);
    }

    fn put(
        self,
        now: Time,
        message: &Message,
        size: Option<u32>,
        what: Flags,
        out: &mut Outbox<'_>,
    ) {
        let mut length = 0;
        let handle = out.payloads.store(|bytes| {
            message.encode(self.lane, bytes);
            length = bytes.len() as u32 + IP_AND_UDP;
        });
        let size = size.unwrap_or(length) as u16;
        let mut packet = Packet::new(now, self.lane, size, self.direction.with(what));
        packet.set_payload_handle(handle);
        out.packets.push(packet);
    }
}
