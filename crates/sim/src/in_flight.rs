//! The messages of a flow that packets in flight carry.

use crate::packet::Packet;

/// The messages of packets in flight. A [`Packet`] has no room for one, so it carries its place
/// here.
#[derive(Debug)]
pub(crate) struct InFlight<M> {
    messages: Vec<M>,
    free: Vec<u32>,
}

impl<M> Default for InFlight<M> {
    fn default() -> Self {
        Self {
            messages: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<M: Default> InFlight<M> {
    /// Keeps a message; returns its place, for [`Packet::set_message`].
    pub fn put(&mut self, message: M) -> u32 {
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
    pub fn get(&self, packet: &Packet) -> &M {
        &self.messages[packet.message() as usize]
    }

    /// Removes the message that a packet carried.
    pub fn take(&mut self, packet: &Packet) -> M {
        self.free.push(packet.message());
        std::mem::take(&mut self.messages[packet.message() as usize])
    }
}
