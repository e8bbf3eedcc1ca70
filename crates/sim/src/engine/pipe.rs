//! A link with the packets that are on it.

use super::packet::{Flags, Packet};
use super::polled_link::PolledSide;
use crate::network::NamedLink;
use std::collections::VecDeque;
use whimbrel_net::{DropCause, Fate, Link};
use whimbrel_units::Time;

/// A link with the packets that are on it, in the order in which they leave it.
#[derive(Debug)]
pub(crate) struct Pipe {
    /// Decides what happens to a packet.
    pub link: Link,
    /// If set, a polled link decides instead of `link` when packets leave.
    pub polled: Option<PolledSide>,
    packets: VecDeque<Packet>,
    /// Packets that have left the link.
    pub came_out: u64,
    /// Their size in bytes.
    pub came_out_bytes: u64,
    /// `came_out_bytes` at the last sample.
    pub sampled_bytes: u64,
}

/// What happens to a packet that is offered to a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offered {
    /// It leaves the link at this time.
    Leaves(Time),
    /// The link drops it.
    Dropped(DropCause),
}

impl Pipe {
    /// An empty link. `seed` is for its random losses and errors.
    pub fn new(link: &NamedLink, polled: Option<PolledSide>, seed: u64) -> Self {
        Self {
            link: Link::new(&link.spec, seed),
            polled,
            packets: VecDeque::new(),
            came_out: 0,
            came_out_bytes: 0,
            sampled_bytes: 0,
        }
    }

    /// Decides what happens to a packet. If it leaves the link, the caller must [`Self::hold`] it
    /// here, or count it out and put it on the next link.
    ///
    /// Every packet passes it on every link. Observed runs are a second caller, so the compiler
    /// would not inline it by itself.
    #[inline(always)]
    pub fn offer(&mut self, now: Time, packet: &mut Packet) -> Offered {
        let ect = packet.flags.has(Flags::ECT);
        match self.link.offer(now, u32::from(packet.size), ect) {
            Fate::Dropped(cause) => Offered::Dropped(cause),
            Fate::Delivered {
                at,
                corrupted,
                marked,
            } => {
                packet.pass(corrupted, marked);
                Offered::Leaves(at)
            }
        }
    }

    /// Keeps a packet until it leaves. Returns true if it is the next to leave.
    #[inline]
    pub fn hold(&mut self, packet: &Packet) -> bool {
        // A packet overtakes others only if the delay became smaller.
        let overtakes = self.packets.back().is_some_and(|last| last.at > packet.at);
        if overtakes {
            let behind = self
                .packets
                .iter()
                .rev()
                .take_while(|p| p.at > packet.at)
                .count();
            let place = self.packets.len() - behind;
            self.packets.insert(place, *packet);
            place == 0
        } else {
            self.packets.push_back(*packet);
            self.packets.len() == 1
        }
    }

    /// Counts a packet that leaves the link.
    #[inline]
    pub fn count_out(&mut self, packet: &Packet) {
        self.came_out += 1;
        self.came_out_bytes += u64::from(packet.size);
    }

    /// When the next packet leaves.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.packets.front().map(|p| p.at)
    }

    /// Removes the next packet.
    #[inline]
    pub fn leave(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.count_out(&packet);
        Some(packet)
    }

    /// Packets on the link.
    pub fn len(&self) -> usize {
        self.packets.len()
    }
}
