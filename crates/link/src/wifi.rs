//! A Wi-Fi channel that both directions of the path share.
//!
//! Each direction's thread offers its packets and plays what has happened since; packets that leave meanwhile may
//! be the other one's, which is then woken. What is played depends on when packets came, not on when a thread got
//! to it: times are read with the channel locked, and all that is due is played before a packet is offered.

use crate::clock::Clock;
use crate::held::Buffer;
use crate::waiting::Waiting;
use nix::errno::Errno;
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use whimbrel_net::{Counters, Departure, Fate, LinkSpec, Side, Wifi, WifiSpec};
use whimbrel_units::Time;

/// The channel.
pub(crate) struct Channel {
    state: Mutex<State>,
    /// Told when the other direction found packets that leave.
    wake: [EventFd; 2],
}

struct State {
    wifi: Wifi,
    /// Scratch for what leaves at once.
    left: Vec<Departure>,
    /// What became of each side's packets, for its thread to fetch.
    fates: [VecDeque<Fate>; 2],
}

impl Channel {
    pub fn new(spec: &WifiSpec, directions: [&LinkSpec; 2], seed: u64) -> Result<Self, Errno> {
        let event = || EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC);
        Ok(Self {
            state: Mutex::new(State {
                wifi: Wifi::new(spec, directions, seed),
                left: Vec::new(),
                fates: Default::default(),
            }),
            wake: [event()?, event()?],
        })
    }

    /// Locked. A thread that panicked has ended the emulation anyway.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One direction's use of the channel, and the packets that it has taken.
pub(crate) struct Station<'a> {
    channel: &'a Channel,
    side: Side,
    clock: Clock,
    waiting: Waiting,
}

impl<'a> Station<'a> {
    pub fn new(channel: &'a Channel, side: Side, clock: Clock) -> Self {
        Self {
            channel,
            side,
            clock,
            waiting: Waiting::default(),
        }
    }

    /// Offers a packet; gives its buffer back if the queue is full.
    pub fn offer(&mut self, buffer: Buffer, len: usize) -> Option<Buffer> {
        let mut state = self.channel.lock();
        let now = self.clock.now();
        self.play(&mut state, now);
        if state.wifi.offer(now, self.side, len as u32) {
            self.waiting.push(buffer, len);
            None
        } else {
            Some(buffer)
        }
    }

    /// Plays what has happened; afterwards [`next_left`](Self::next_left) gives what has left.
    pub fn play_until_now(&mut self) {
        // Nothing to read is no trouble: it did not wake us.
        let _ = self.channel.wake[self.side as usize].read();
        let mut state = self.channel.lock();
        let now = self.clock.now();
        self.play(&mut state, now);
        // Both are used again and again: nothing is allocated.
        self.waiting
            .known
            .append(&mut state.fates[self.side as usize]);
    }

    /// The next packet whose fate is known.
    pub fn next_left(&mut self) -> Option<(Fate, Buffer, usize)> {
        self.waiting.next_left()
    }

    /// Packets whose fate is open or not told yet.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// When something happens next.
    pub fn next(&self) -> Option<Time> {
        self.channel.lock().wifi.next()
    }

    /// Readable when the other direction has found packets of this one that leave.
    pub fn woken(&self) -> BorrowedFd<'_> {
        self.channel.wake[self.side as usize].as_fd()
    }

    /// What this direction did so far.
    pub fn counters(&self) -> Counters {
        *self.channel.lock().wifi.counters(self.side)
    }

    fn play(&self, state: &mut State, now: Time) {
        state.wifi.advance(now, &mut state.left);
        let mut for_other = false;
        for Departure { side, fate } in state.left.drain(..) {
            for_other |= side != self.side;
            state.fates[side as usize].push_back(fate);
        }
        if for_other {
            let other = 1 - self.side as usize;
            // It cannot overflow, and if it is set already nothing is missed.
            let _ = self.channel.wake[other].write(1);
        }
    }
}
