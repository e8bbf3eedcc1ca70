//! The bytes of packets that carry encoded messages. A [`Packet`] has no room for them, so it
//! carries a handle. Buffers are reused: nothing is allocated in steady state.

use super::packet::Packet;

/// The bytes of packets in flight, by handle.
#[derive(Debug, Default)]
pub(crate) struct PayloadPool {
    buffers: Vec<Vec<u8>>,
    free: Vec<u32>,
}

impl PayloadPool {
    /// Stores what `write` appends to an empty buffer. Returns its handle.
    pub fn store(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> u32 {
        let handle = self.free.pop().unwrap_or_else(|| {
            self.buffers.push(Vec::new());
            self.buffers.len() as u32 - 1
        });
        write(&mut self.buffers[handle as usize]);
        handle
    }

    /// The stored bytes.
    pub fn read(&self, handle: u32) -> &[u8] {
        &self.buffers[handle as usize]
    }

    /// Takes the bytes out, so that others can be stored while they are read. Pass them to
    /// [`Self::release`] afterwards.
    pub fn take(&mut self, handle: u32) -> Vec<u8> {
        std::mem::take(&mut self.buffers[handle as usize])
    }

    /// Frees a handle. `taken` is its buffer, if [`Self::take`] took it out.
    pub fn release(&mut self, handle: u32, taken: Option<Vec<u8>>) {
        let buffer = &mut self.buffers[handle as usize];
        if let Some(taken) = taken {
            *buffer = taken;
        }
        buffer.clear();
        self.free.push(handle);
    }
}

/// Collects what an endpoint sends: packets, and the bytes of those that carry messages.
pub(crate) struct Outbox<'a> {
    /// Packets in the order in which they leave.
    pub packets: &'a mut Vec<Packet>,
    /// Their encoded messages.
    pub payloads: &'a mut PayloadPool,
}
