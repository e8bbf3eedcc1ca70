//! A Wi-Fi channel that both directions of the path share.
//!
//! Each direction's thread offers its packets and advances the channel to the present. Packets that
//! leave then may belong to the other direction, whose thread is woken. The outcome depends on when
//! packets arrive, not on when a thread runs: times are read while the channel is locked, and the
//! channel is advanced before a packet is offered.

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
    /// Signalled when the other direction has found packets that have left.
    wake: [EventFd; 2],
}

struct State {
    wifi: Wifi,
    /// Buffer for the departures that one call returns.
    departed: Vec<Departure>,
    /// The fates of each side's packets, for its thread to fetch.
    fates: [VecDeque<Fate>; 2],
}

impl Channel {
    pub fn new(spec: &WifiSpec, directions: [&LinkSpec; 2], seed: u64) -> Result<Self, Errno> {
        let event = || EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC);
        Ok(Self {
            state: Mutex::new(State {
                wifi: Wifi::new(spec, directions, seed),
                departed: Vec::new(),
                fates: Default::default(),
            }),
            wake: [event()?, event()?],
        })
    }

    /// Locks the state. A poisoned lock does not matter: a panic ends the emulation anyway.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One direction's station on the channel, with the packets that it has accepted.
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

    /// Offers a packet. Returns its buffer if the queue is full.
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

    /// Advances the channel to the present; afterwards [`next_departed`](Self::next_departed)
    /// returns the packets that have left.
    pub fn advance_to_now(&mut self) {
        // An error means that the other direction did not signal.
        let _ = self.channel.wake[self.side as usize].read();
        let mut state = self.channel.lock();
        let now = self.clock.now();
        self.play(&mut state, now);
        // Both buffers are reused, so nothing is allocated.
        self.waiting
            .known
            .append(&mut state.fates[self.side as usize]);
    }

    /// The next packet whose fate is known.
    pub fn next_departed(&mut self) -> Option<(Fate, Buffer, usize)> {
        self.waiting.next_departed()
    }

    /// Number of packets not yet returned by [`next_departed`](Self::next_departed).
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// When the channel must be advanced next.
    pub fn next(&self) -> Option<Time> {
        self.channel.lock().wifi.next()
    }

    /// Readable when the other direction has found packets of this one that have left.
    pub fn woken(&self) -> BorrowedFd<'_> {
        self.channel.wake[self.side as usize].as_fd()
    }

    /// This direction's counters so far.
    pub fn counters(&self) -> Counters {
        *self.channel.lock().wifi.counters(self.side)
    }

    fn play(&self, state: &mut State, now: Time) {
        state.wifi.advance(now, &mut state.departed);
        let mut for_other = false;
        for Departure { side, fate } in state.departed.drain(..) {
            for_other |= side != self.side;
            state.fates[side as usize].push_back(fate);
        }
        if for_other {
            let other = 1 - self.side as usize;
            // It cannot overflow, and setting it twice has the same effect.
            let _ = self.channel.wake[other].write(1);
        }
    }
}
