//! A Wi-Fi channel with the packets that wait at its two stations.

use super::packet::Packet;
use crate::network::{Network, OnChannel};
use std::collections::VecDeque;
use whimbrel_net::{Departure, Fate, LinkSpec, Side, Wifi};
use whimbrel_units::Time;

/// A Wi-Fi channel with the packets that wait at its two stations.
#[derive(Debug)]
pub(crate) struct Channel {
    pub wifi: Wifi,
    /// The links that are its two directions.
    links: [usize; 2],
    /// Packets of each side, in the order in which they leave.
    waiting: [VecDeque<Packet>; 2],
    departures: Vec<Departure>,
}

/// A packet that has left its station's queue: the link it was on, what becomes of it, and itself.
pub(crate) type Left = (usize, Fate, Packet);

impl Channel {
    /// All channels of a network; `seed` gives the seed of each. A channel whose direction no link is has nothing to
    /// do there.
    pub fn all(network: &Network, seed: impl Fn(usize) -> u64) -> Vec<Self> {
        let channel = |(i, spec)| {
            let link = |side| {
                let on = OnChannel { channel: i, side };
                let found = network.links.iter().position(|l| l.on_channel == Some(on));
                found.unwrap_or(usize::MAX)
            };
            let links = [link(Side::Forward), link(Side::Reverse)];
            let specs: [&LinkSpec; 2] = links.map(|link| {
                let other = links.into_iter().find(|l| *l != usize::MAX);
                &network.links[if link == usize::MAX {
                    other.unwrap_or(0)
                } else {
                    link
                }]
                .spec
            });
            Self {
                wifi: Wifi::new(spec, specs, seed(i)),
                links,
                waiting: Default::default(),
                departures: Vec::new(),
            }
        };
        network.channels.iter().enumerate().map(channel).collect()
    }

    /// Puts a packet into a station's queue; false if that is full.
    pub fn offer(&mut self, now: Time, side: Side, packet: &Packet) -> bool {
        let accepted = self.wifi.offer(now, side, u32::from(packet.size));
        if accepted {
            self.waiting[side as usize].push_back(*packet);
        }
        accepted
    }

    /// When something happens on it next.
    pub fn next(&self) -> Option<Time> {
        self.wifi.next()
    }

    /// Packets that wait at a station or are on the air.
    pub fn waiting(&self, side: Side) -> usize {
        self.waiting[side as usize].len()
    }

    /// Plays what happens up to `now`; adds what left to `left`.
    pub fn advance(&mut self, now: Time, left: &mut Vec<Left>) {
        self.wifi.advance(now, &mut self.departures);
        for Departure { side, fate } in self.departures.drain(..) {
            if let Some(packet) = self.waiting[side as usize].pop_front() {
                left.push((self.links[side as usize], fate, packet));
            }
        }
    }
}
