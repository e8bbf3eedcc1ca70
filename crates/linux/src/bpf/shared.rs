//! Arrays that kernel and process both read and write, as words.
//!
//! The process writes a [`Command`] word by word and the window last, with release ordering: a
//! kernel that reads a new window reads the other words of that command, or of a later one.

use super::memory::{Memory, page_size};
use super::object::Map;
use super::sync::{AtomicU64, fence};
use crate::error::LinuxError;
use crate::wire::{Command, Control};
use std::mem::offset_of;
use std::sync::atomic::Ordering;

/// Maps an array map with the flag BPF_F_MMAPABLE. Returns its memory and the words in it.
fn mapped(map: &Map) -> Result<(Memory, usize), LinuxError> {
    let bytes = map.value_size().next_multiple_of(8) * map.max_entries();
    let mapped = bytes.next_multiple_of(page_size());
    let memory = Memory::new(map.fd(), 0, mapped, true)
        .map_err(LinuxError::os("mapping a BPF map into memory"))?;
    Ok((memory, bytes / 8))
}

/// Memory as 64-bit words.
#[derive(Debug)]
struct Words {
    memory: Memory,
    length: usize,
}

impl Words {
    /// The word with an index; `None` if there is none.
    fn get(&self, index: usize) -> Option<&AtomicU64> {
        if index >= self.length {
            return None;
        }
        self.memory.word(index * 8)
    }
}

/// The commands of all slots.
#[derive(Debug)]
pub(crate) struct Commands {
    words: Words,
}

/// Words of one command.
const COMMAND: usize = size_of::<Command>() / 8;

impl Commands {
    pub(crate) fn new(map: &Map) -> Result<Self, LinuxError> {
        if map.value_size() != size_of::<Command>() {
            return Err(wrong_size("commands", map, size_of::<Command>()));
        }
        let (memory, length) = mapped(map)?;
        Ok(Self::of(memory, length))
    }

    /// The commands in this memory, which has so many words.
    pub(super) fn of(memory: Memory, length: usize) -> Self {
        Self {
            words: Words { memory, length },
        }
    }

    /// Writes a command. A slot that does not exist is ignored.
    pub(crate) fn write(&self, slot: u32, command: &Command) {
        let first = slot as usize * COMMAND;
        // The kernel's half reads `ahead` before and after the others: equal values belong to them.
        let ahead = self.words.get(first + offset_of!(Command, ahead) / 8);
        if let Some(word) = ahead {
            word.store(0, Ordering::Relaxed);
        }
        fence(Ordering::Release);
        let fields = [
            (offset_of!(Command, pacing), command.pacing),
            (offset_of!(Command, ssthresh), command.ssthresh),
            (offset_of!(Command, reduction), command.reduction),
            (offset_of!(Command, answers), command.answers),
            (offset_of!(Command, ahead_pacing), command.ahead_pacing[0]),
            (
                offset_of!(Command, ahead_pacing) + 8,
                command.ahead_pacing[1],
            ),
        ];
        for (offset, value) in fields {
            if let Some(word) = self.words.get(first + offset / 8) {
                word.store(value, Ordering::Relaxed);
            }
        }
        if let Some(word) = self.words.get(first + offset_of!(Command, window) / 8) {
            word.store(command.window, Ordering::Release);
        }
        if let Some(word) = ahead {
            word.store(command.ahead, Ordering::Release);
        }
    }
}

/// The state that an instance shares with the kernel.
#[derive(Debug)]
pub(crate) struct SharedControl {
    words: Words,
}

impl SharedControl {
    pub(crate) fn new(map: &Map) -> Result<Self, LinuxError> {
        if map.value_size() != size_of::<Control>() {
            return Err(wrong_size("control", map, size_of::<Control>()));
        }
        let (memory, length) = mapped(map)?;
        Ok(Self::of(memory, length))
    }

    /// The state in this memory, which has so many words.
    pub(super) fn of(memory: Memory, length: usize) -> Self {
        Self {
            words: Words { memory, length },
        }
    }

    /// Says that this process is alive at `now`, `CLOCK_MONOTONIC` nanoseconds.
    pub(crate) fn beat(&self, now: u64) {
        self.store(offset_of!(Control, heartbeat), now);
    }

    /// Sets the silence after which connections go to the fallback algorithm, nanoseconds.
    pub(crate) fn set_silence(&self, silence: u64) {
        self.store(offset_of!(Control, silence), silence);
    }

    /// Says whether this process sleeps until the next event. Whoever says so must look at the ring
    /// once more before it sleeps.
    pub(crate) fn set_sleeping(&self, sleeping: bool) {
        self.store(offset_of!(Control, sleeping), u64::from(sleeping));
        // The ring is looked at after the kernel can see this.
        fence(Ordering::SeqCst);
    }

    /// Everything, each word as it is now.
    pub(crate) fn read(&self) -> Control {
        Control {
            heartbeat: self.load(offset_of!(Control, heartbeat)),
            silence: self.load(offset_of!(Control, silence)),
            events: self.load(offset_of!(Control, events)),
            dropped: self.load(offset_of!(Control, dropped)),
            fallbacks: self.load(offset_of!(Control, fallbacks)),
            refused: self.load(offset_of!(Control, refused)),
            clamped: self.load(offset_of!(Control, clamped)),
            sleeping: self.load(offset_of!(Control, sleeping)),
            chosen: self.load(offset_of!(Control, chosen)),
            not_chosen: self.load(offset_of!(Control, not_chosen)),
        }
    }

    fn load(&self, offset: usize) -> u64 {
        let word = self.words.get(offset / 8);
        word.map_or(0, |word| word.load(Ordering::Acquire))
    }

    fn store(&self, offset: usize, value: u64) {
        if let Some(word) = self.words.get(offset / 8) {
            word.store(value, Ordering::Release);
        }
    }
}

fn wrong_size(name: &str, map: &Map, expected: usize) -> LinuxError {
    LinuxError::Object(format!(
        "an element of its map `{name}` has {} bytes instead of {expected}; \
         build the objects again (`make bpf`)",
        map.value_size(),
    ))
}
