//! A message put into a packet.

use super::wire::{IP_AND_UDP, Message};
use crate::engine::mail::Outbox;
use crate::engine::packet::{Block, Flags, Packet};
use whimbrel_units::Time;

/// One end's side of a connection: what all its packets have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writer {
    pub flow: u32,
    pub direction: Flags,
}

impl Writer {
    /// Sends a message in a packet as large as the message.
    pub fn send(self, now: Time, message: &Message, out: &mut Outbox<'_>) {
        self.post(now, message, None, Flags::default(), out);
    }

    /// Sends a message in a packet of `size` bytes on the wire, headers included: the rest is padding or payload.
    pub fn send_padded(self, now: Time, message: &Message, size: u32, out: &mut Outbox<'_>) {
        let what = match message {
            Message::Data(_) => Flags::DATA,
            _ => Flags::default(),
        };
        self.post(now, message, Some(size), what, out);
    }

    fn post(
        self,
        now: Time,
        message: &Message,
        size: Option<u32>,
        what: Flags,
        out: &mut Outbox<'_>,
    ) {
        let mut length = 0;
        let number = out.mail.post(|bytes| {
            message.encode(self.flow, bytes);
            length = bytes.len() as u32 + IP_AND_UDP;
        });
        out.packets.push(Packet {
            at: now,
            sent: now,
            echo: Time::ZERO,
            lane: self.flow,
            seg: number,
            ack: 0,
            size: size.unwrap_or(length) as u16,
            hop: 0,
            flags: self.direction.with(what),
            sacks: [Block::default(); 3],
        });
    }
}
