//! A Wi-Fi link: two directions that share one channel.

use crate::link::{Backlog, Counters, Fate};
use crate::spec::LinkSpec;
use whimbrel_units::{Rate, Time};

/// A Wi-Fi channel.
#[derive(Debug, Clone, PartialEq)]
pub struct WifiSpec {
    /// Rate of the payload of a frame on the air.
    pub rate: Rate,
}

/// Which of the two stations sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one that sends in the written direction.
    Forward,
    /// The other one.
    Reverse,
}

/// A packet that has left a station's queue, for good or ill. Packets of one side leave in the order in which they
/// were accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// Who sent it.
    pub side: Side,
    /// What became of it: when it comes out at the far end, or why it does not.
    pub fate: Fate,
}

/// A Wi-Fi link at work: both directions and the channel they share. Unlike on a [`Link`](crate::Link), when a
/// packet leaves depends on what the other side does later, so it is told afterwards: call
/// [`advance`](Self::advance) at [`next`](Self::next).
#[derive(Debug)]
pub struct Wifi {
    counters: [Counters; 2],
}

impl Wifi {
    /// A channel at rest. Of the directions' specifications queue, loss and delay hold; their service is this channel.
    pub fn new(spec: &WifiSpec, directions: [&LinkSpec; 2], seed: u64) -> Self {
        let _ = (spec, directions, seed);
        Self {
            counters: Default::default(),
        }
    }

    /// Offers a packet of `size` bytes to a station's queue at `now`, which never goes back and is not after
    /// [`next`](Self::next). False if the queue is full: it is dropped.
    pub fn offer(&mut self, now: Time, side: Side, size: u32) -> bool {
        let _ = (now, side, size);
        false
    }

    /// When something happens next if nothing is offered before.
    pub fn next(&self) -> Option<Time> {
        None
    }

    /// Plays all that happens up to `now`; adds the packets that leave to `left`, in order of time.
    pub fn advance(&mut self, now: Time, left: &mut Vec<Departure>) {
        let _ = (now, left);
    }

    /// What waits at a station, the frame on the air not counted.
    pub fn backlog(&self, side: Side) -> Backlog {
        let _ = side;
        Backlog::default()
    }

    /// What a direction did so far.
    pub fn counters(&self, side: Side) -> &Counters {
        &self.counters[side as usize]
    }
}
