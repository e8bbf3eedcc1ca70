//! A link with the packets that are on it.

use super::packet::{Flags, Packet};
use crate::network::{NamedLink, OnChannel};
use std::collections::VecDeque;
use whimbrel_net::{DropCause, Fate, Link};
use whimbrel_units::Time;

/// A link with the packets that are on it, in the order in which they come out.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub link: Link,
    /// The Wi-Fi channel, or the managed queue, that decides instead of `link` when packets leave.
    pub on_channel: Option<OnChannel>,
    on_it: VecDeque<Packet>,
    /// Packets that came out so far, and their size.
    pub came_out: u64,
    pub came_out_bytes: u64,
    /// `came_out_bytes` when the link was last sampled.
    pub sampled_bytes: u64,
}

/// What becomes of a packet that was offered to a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offered {
    /// It comes out then.
    ComesOut(Time),
    /// It will not come out.
    Dropped(DropCause),
}

impl Pipe {
    pub fn new(link: &NamedLink, on_channel: Option<OnChannel>, seed: u64) -> Self {
        Self {
            link: Link::new(&link.spec, seed),
            on_channel,
            on_it: VecDeque::new(),
            came_out: 0,
            came_out_bytes: 0,
            sampled_bytes: 0,
        }
    }

    /// Decides what becomes of a packet. If it comes out, it must be held here, or counted out and put on the next link.
    /// Every packet passes it on every link, and runs that are watched are a second place that calls it: always inlined.
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
                Offered::ComesOut(at)
            }
        }
    }

    /// Keeps a packet until it comes out; true if it is the next to do so.
    #[inline]
    pub fn hold(&mut self, packet: &Packet) -> bool {
        // Only a delay that stepped down lets a packet overtake others.
        let overtakes = self.on_it.back().is_some_and(|last| last.at > packet.at);
        if overtakes {
            let behind = self
                .on_it
                .iter()
                .rev()
                .take_while(|p| p.at > packet.at)
                .count();
            let place = self.on_it.len() - behind;
            self.on_it.insert(place, *packet);
            place == 0
        } else {
            self.on_it.push_back(*packet);
            self.on_it.len() == 1
        }
    }

    /// Counts a packet that comes out, or goes on to the next link at once.
    #[inline]
    pub fn count_out(&mut self, packet: &Packet) {
        self.came_out += 1;
        self.came_out_bytes += u64::from(packet.size);
    }

    /// When the next packet comes out.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.first().map(|p| p.at)
    }

    /// The next packet to come out.
    #[inline]
    pub fn first(&self) -> Option<&Packet> {
        self.on_it.front()
    }

    /// Whether no packet is on it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.on_it.is_empty()
    }

    /// Takes the next packet out.
    #[inline]
    pub fn leave(&mut self) -> Option<Packet> {
        let packet = self.on_it.pop_front()?;
        self.count_out(&packet);
        Some(packet)
    }

    /// Packets on it.
    pub fn len(&self) -> usize {
        self.on_it.len()
    }
}
