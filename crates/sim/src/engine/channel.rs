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
    links: [Option<usize>; 2],
    /// Packets of each side, in the order in which they leave.
    waiting: [VecDeque<Packet>; 2],
    departures: Vec<Departure>,
}

/// A packet that has left its station's queue: the link it was on, what becomes of it, and itself.
pub(crate) type Left = (usize, Fate, Packet);

impl Channel {
    /// All channels of a network; `seed` gives the seed of each.
    pub fn all(network: &Network, seed: impl Fn(usize) -> u64) -> Vec<Self> {
        let mut on = vec![[None; 2]; network.channels.len()];
        for (link, named) in network.links.iter().enumerate() {
            if let Some(OnChannel { channel, side }) = named.on_channel {
                on[channel][side as usize] = Some(link);
            }
        }
        // The station of a direction that is no link sends nothing, whatever it could.
        let idle = LinkSpec::default();
        let channel = |(i, (wifi, links)): (usize, (_, [Option<usize>; 2]))| {
            let specs = links.map(|link| link.map_or(&idle, |link| &network.links[link].spec));
            Self {
                wifi: Wifi::new(wifi, specs, seed(i)),
                links,
                waiting: Default::default(),
                departures: Vec::new(),
            }
        };
        let channels = network.channels.iter().zip(on);
        channels.enumerate().map(channel).collect()
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
            let packet = self.waiting[side as usize].pop_front();
            if let (Some(link), Some(packet)) = (self.links[side as usize], packet) {
                left.push((link, fate, packet));
            }
        }
    }
}
