//! The bytes of packets that carry encoded messages, while they are on their way. A [`Packet`](super::packet::Packet) has
//! no room for them: it carries their number here. Buffers are used again, so that nothing is allocated in steady state.

use super::packet::Packet;

/// The bytes of packets on their way.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    letters: Vec<Vec<u8>>,
    free: Vec<u32>,
}

impl Mail {
    /// Keeps what `write` writes; gives its number.
    pub fn post(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.letters.push(Vec::new());
            self.letters.len() as u32 - 1
        });
        write(&mut self.letters[number as usize]);
        number
    }

    /// What was written.
    pub fn read(&self, number: u32) -> &[u8] {
        &self.letters[number as usize]
    }

    /// Takes it out to be read while others are written; it must be given to [`Self::burn`] afterwards.
    pub fn take(&mut self, number: u32) -> Vec<u8> {
        std::mem::take(&mut self.letters[number as usize])
    }

    /// Nobody will read it again: its buffer (that of `taken`, if it was taken out) is free.
    pub fn burn(&mut self, number: u32, taken: Option<Vec<u8>>) {
        let letter = &mut self.letters[number as usize];
        if let Some(taken) = taken {
            *letter = taken;
        }
        letter.clear();
        self.free.push(number);
    }
}

/// What an endpoint sends: packets, and where their bytes are kept.
pub(crate) struct Outbox<'a> {
    /// In the order in which they leave.
    pub packets: &'a mut Vec<Packet>,
    /// Their bytes.
    pub mail: &'a mut Mail,
}
