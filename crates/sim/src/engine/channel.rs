//! What tells only afterwards what becomes of packets, with the packets that wait there: a Wi-Fi channel with its two
//! stations, or a link whose queue CoDel manages.

use super::packet::{Flags, Packet};
use crate::network::{NamedLink, Network, OnChannel};
use std::collections::VecDeque;
use whimbrel_net::{
    Aqm, Backlog, CoDel, CodelLink, Counters, Departure, Fate, LinkSpec, Side, Wifi,
};
use whimbrel_units::{Duration, Time};

/// A Wi-Fi channel or a managed link, with the packets that wait there.
#[derive(Debug)]
pub(crate) struct Channel {
    kind: Kind,
    /// The links that are its two directions.
    links: [Option<usize>; 2],
    /// Packets of each side, in the order in which they leave.
    waiting: [VecDeque<Packet>; 2],
}

#[derive(Debug)]
enum Kind {
    Wifi {
        wifi: Box<Wifi>,
        /// Scratch for what leaves at once.
        departures: Vec<Departure>,
    },
    /// All of it is the forward side.
    Codel {
        link: Box<CodelLink>,
        /// The same.
        fates: Vec<Fate>,
    },
}

/// A packet that has left its queue: the link it was on, what becomes of it, and itself.
pub(crate) type Left = (usize, Fate, Packet);

/// The links of a network whose queues CoDel manages: each is a channel of its own, behind the Wi-Fi channels.
fn managed(links: &[NamedLink]) -> impl Iterator<Item = (usize, &LinkSpec, CoDel)> {
    let alone = |link: &NamedLink| link.on_channel.is_none();
    let numbered = links.iter().enumerate();
    numbered.filter_map(move |(i, link)| match link.spec.aqm {
        Some(Aqm::CoDel(codel)) if alone(link) => Some((i, &link.spec, codel)),
        _ => None,
    })
}

impl Channel {
    /// All channels of a network; `seed` and `link_seed` give the seed of each Wi-Fi channel and of each link.
    pub fn all(
        network: &Network,
        seed: impl Fn(usize) -> u64,
        link_seed: impl Fn(usize) -> u64,
    ) -> Vec<Self> {
        let mut on = vec![[None; 2]; network.channels.len()];
        for (link, named) in network.links.iter().enumerate() {
            if let Some(OnChannel { channel, side }) = named.on_channel {
                on[channel][side as usize] = Some(link);
            }
        }
        // The station of a direction that is no link sends nothing, whatever it could.
        let idle = LinkSpec::default();
        let wifi = |(i, (wifi, links)): (usize, (_, [Option<usize>; 2]))| {
            let specs = links.map(|link| link.map_or(&idle, |link| &network.links[link].spec));
            let kind = Kind::Wifi {
                wifi: Box::new(Wifi::new(wifi, specs, seed(i))),
                departures: Vec::new(),
            };
            Self::new(kind, links)
        };
        let codel = |(i, spec, codel)| {
            let kind = Kind::Codel {
                link: Box::new(CodelLink::new(spec, codel, link_seed(i))),
                fates: Vec::new(),
            };
            Self::new(kind, [Some(i), None])
        };
        let channels = network.channels.iter().zip(on).enumerate().map(wifi);
        channels.chain(managed(&network.links).map(codel)).collect()
    }

    /// The channel of each link, if it is on one.
    pub fn of_links(network: &Network) -> Vec<Option<OnChannel>> {
        let mut on: Vec<_> = network.links.iter().map(|link| link.on_channel).collect();
        for (n, (link, ..)) in managed(&network.links).enumerate() {
            on[link] = Some(OnChannel {
                channel: network.channels.len() + n,
                side: Side::Forward,
            });
        }
        on
    }

    fn new(kind: Kind, links: [Option<usize>; 2]) -> Self {
        Self {
            kind,
            links,
            waiting: Default::default(),
        }
    }

    /// Puts a packet into a side's queue; false if that is full. Adds what left at once to `left`.
    pub fn offer(&mut self, now: Time, side: Side, packet: &Packet, left: &mut Vec<Left>) -> bool {
        let size = u32::from(packet.size);
        let accepted = match &mut self.kind {
            Kind::Wifi { wifi, .. } => wifi.offer(now, side, size),
            Kind::Codel { link, fates } => {
                link.offer(now, size, packet.flags.has(Flags::ECT), fates)
            }
        };
        if accepted {
            self.waiting[side as usize].push_back(*packet);
        }
        self.let_out(left);
        accepted
    }

    /// When something happens on it next.
    pub fn next(&self) -> Option<Time> {
        match &self.kind {
            Kind::Wifi { wifi, .. } => wifi.next(),
            Kind::Codel { link, .. } => link.next(),
        }
    }

    /// Packets that wait on a side or are on the air.
    pub fn waiting(&self, side: Side) -> usize {
        self.waiting[side as usize].len()
    }

    /// What waits in a side's queue.
    pub fn backlog(&self, side: Side) -> Backlog {
        match &self.kind {
            Kind::Wifi { wifi, .. } => wifi.backlog(side),
            Kind::Codel { link, .. } => link.backlog(),
        }
    }

    /// What a side did so far.
    pub fn counters(&self, side: Side) -> &Counters {
        match &self.kind {
            Kind::Wifi { wifi, .. } => wifi.counters(side),
            Kind::Codel { link, .. } => link.counters(),
        }
    }

    /// How much of the service that is already decided lies after `now`. Wi-Fi decides nothing ahead.
    pub fn busy_beyond(&self, now: Time) -> Duration {
        match &self.kind {
            Kind::Wifi { .. } => Duration::ZERO,
            Kind::Codel { link, .. } => link.busy_beyond(now),
        }
    }

    /// Plays what happens up to `now`; adds what left to `left`.
    pub fn advance(&mut self, now: Time, left: &mut Vec<Left>) {
        match &mut self.kind {
            Kind::Wifi { wifi, departures } => wifi.advance(now, departures),
            Kind::Codel { link, fates } => link.advance(now, fates),
        }
        self.let_out(left);
    }

    fn let_out(&mut self, left: &mut Vec<Left>) {
        let (links, waiting) = (&self.links, &mut self.waiting);
        let mut one = |side: Side, fate| {
            let packet = waiting[side as usize].pop_front();
            if let (Some(link), Some(packet)) = (links[side as usize], packet) {
                left.push((link, fate, packet));
            }
        };
        match &mut self.kind {
            Kind::Wifi { departures, .. } => departures
                .drain(..)
                .for_each(|Departure { side, fate }| one(side, fate)),
            Kind::Codel { fates, .. } => {
                fates.drain(..).for_each(|fate| one(Side::Forward, fate));
            }
        }
    }
}
