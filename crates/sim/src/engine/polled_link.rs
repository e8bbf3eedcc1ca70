//! Links that are polled for departures: when a packet leaves depends on what happens later. They
//! are Wi-Fi channels with their two stations, and links whose queue CoDel or FQ-CoDel manages.

use crate::network::{LinkId, NamedLink, Network, OnChannel};
use crate::packet::{Flags, Packet};
use crate::seed::Stream;
use std::collections::VecDeque;
use whimbrel_net::{
    Aqm, Backlog, CodelLink, Counters, Departure, Fate, FlowFate, FqCodelLink, LinkSpec, Side, Wifi,
};
use whimbrel_units::{Duration, Time};

/// A Wi-Fi channel or a link under CoDel, with the packets that wait for it.
#[derive(Debug)]
pub(crate) struct PolledLink {
    kind: Kind,
    /// The links that are its two directions.
    links: [Option<LinkId>; 2],
    /// Packets of each side, in the order in which they leave.
    waiting: [VecDeque<Packet>; 2],
}

/// One side of a polled link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PolledSide {
    /// Index of the polled link.
    pub index: usize,
    /// The side.
    pub side: Side,
}

#[derive(Debug)]
enum Kind {
    Wifi {
        wifi: Box<Wifi>,
        /// Buffer for simultaneous departures.
        departures: Vec<Departure>,
    },
    /// It has a forward side only.
    Codel {
        link: Box<CodelLink>,
        /// Buffer for simultaneous departures.
        fates: Vec<Fate>,
    },
    /// It has a forward side only. Queues overtake each other, so each has its own packets.
    FqCodel {
        link: Box<FqCodelLink>,
        /// Buffer for simultaneous departures.
        fates: Vec<FlowFate>,
        waiting: Vec<VecDeque<Packet>>,
    },
}

/// A packet that has left its queue.
pub(crate) struct Departed {
    /// The link that it was on.
    pub link: LinkId,
    /// What happens to it.
    pub fate: Fate,
    /// The packet.
    pub packet: Packet,
}

/// The links of a network whose queues CoDel or FQ-CoDel manages. As polled links they follow the
/// Wi-Fi channels.
fn managed(links: &[NamedLink]) -> impl Iterator<Item = (usize, &LinkSpec, Aqm)> {
    let wired = |link: &NamedLink| link.on_channel.is_none();
    let numbered = links.iter().enumerate();
    numbered.filter_map(move |(i, link)| match link.spec.aqm {
        Some(aqm @ (Aqm::CoDel(_) | Aqm::FqCodel(_))) if wired(link) => Some((i, &link.spec, aqm)),
        _ => None,
    })
}

impl PolledLink {
    /// All polled links of a network.
    pub fn all(network: &Network) -> Vec<Self> {
        let mut on = vec![[None; 2]; network.channels.len()];
        for (link, named) in network.links.iter().enumerate() {
            if let Some(OnChannel { channel, side }) = named.on_channel {
                on[channel][side as usize] = Some(LinkId(link as u32));
            }
        }
        // A station whose direction is no link sends nothing.
        let idle = LinkSpec::default();
        let wifi = |(i, (wifi, links)): (usize, (_, [Option<LinkId>; 2]))| {
            let specs =
                links.map(|link| link.map_or(&idle, |link| &network.links[link.index()].spec));
            let seed = Stream::WifiChannel.seed(network.seed, i);
            let kind = Kind::Wifi {
                wifi: Box::new(Wifi::new(wifi, specs, seed)),
                departures: Vec::new(),
            };
            Self::new(kind, links)
        };
        let codel = |(i, spec, aqm)| {
            let seed = Stream::Link.seed(network.seed, i);
            let kind = match aqm {
                Aqm::CoDel(codel) => Kind::Codel {
                    link: Box::new(CodelLink::new(spec, codel, seed)),
                    fates: Vec::new(),
                },
                Aqm::FqCodel(setting) => Kind::FqCodel {
                    link: Box::new(FqCodelLink::new(spec, setting, seed)),
                    fates: Vec::new(),
                    waiting: vec![VecDeque::new(); setting.queues.max(1) as usize],
                },
                Aqm::Red(_) | Aqm::Mark(_) | Aqm::Policer(_) => {
                    unreachable!("`managed` selects the two kinds above")
                }
            };
            Self::new(kind, [Some(LinkId(i as u32)), None])
        };
        let channels = network.channels.iter().zip(on).enumerate().map(wifi);
        channels.chain(managed(&network.links).map(codel)).collect()
    }

    /// For each link of a network, the polled link that decides when packets leave it, if any.
    pub fn of_links(network: &Network) -> Vec<Option<PolledSide>> {
        let wifi = |on: OnChannel| PolledSide {
            index: on.channel,
            side: on.side,
        };
        let links = network.links.iter();
        let mut polled: Vec<_> = links.map(|link| link.on_channel.map(wifi)).collect();
        for (n, (link, ..)) in managed(&network.links).enumerate() {
            polled[link] = Some(PolledSide {
                index: network.channels.len() + n,
                side: Side::Forward,
            });
        }
        polled
    }

    fn new(kind: Kind, links: [Option<LinkId>; 2]) -> Self {
        Self {
            kind,
            links,
            waiting: Default::default(),
        }
    }

    /// Puts a packet into the queue of a side. Returns false if the queue is full. Adds what leaves
    /// at once to `departed`.
    pub fn offer(
        &mut self,
        now: Time,
        side: Side,
        packet: &Packet,
        departed: &mut Vec<Departed>,
    ) -> bool {
        let size = u32::from(packet.size);
        let ect = packet.flags.has(Flags::ECT);
        if let Kind::FqCodel {
            link,
            fates,
            waiting,
        } = &mut self.kind
        {
            let queue = link.queue_of(hash(packet.path_id));
            // The packet may leave, or be dropped, at once.
            waiting[queue as usize].push_back(*packet);
            link.offer(now, queue, size, ect, fates);
            self.collect(departed);
            return true;
        }
        let accepted = match &mut self.kind {
            Kind::Wifi { wifi, .. } => wifi.offer(now, side, size),
            Kind::Codel { link, fates } => link.offer(now, size, ect, fates),
            Kind::FqCodel { .. } => false,
        };
        if accepted {
            self.waiting[side as usize].push_back(*packet);
        }
        self.collect(departed);
        accepted
    }

    /// When it must be polled next.
    pub fn next(&self) -> Option<Time> {
        match &self.kind {
            Kind::Wifi { wifi, .. } => wifi.next(),
            Kind::Codel { link, .. } => link.next(),
            Kind::FqCodel { link, .. } => link.next(),
        }
    }

    /// Packets of a side that wait or are on the air.
    pub fn waiting(&self, side: Side) -> usize {
        match &self.kind {
            Kind::FqCodel { link, .. } => link.backlog().packets as usize,
            Kind::Wifi { .. } | Kind::Codel { .. } => self.waiting[side as usize].len(),
        }
    }

    /// The queue of a side.
    pub fn backlog(&self, side: Side) -> Backlog {
        match &self.kind {
            Kind::Wifi { wifi, .. } => wifi.backlog(side),
            Kind::Codel { link, .. } => link.backlog(),
            Kind::FqCodel { link, .. } => link.backlog(),
        }
    }

    /// The counters of a side.
    pub fn counters(&self, side: Side) -> &Counters {
        match &self.kind {
            Kind::Wifi { wifi, .. } => wifi.counters(side),
            Kind::Codel { link, .. } => link.counters(),
            Kind::FqCodel { link, .. } => link.counters(),
        }
    }

    /// The part of the service already decided that lies after `now`. Wi-Fi decides nothing ahead.
    pub fn busy_beyond(&self, now: Time) -> Duration {
        match &self.kind {
            Kind::Wifi { .. } => Duration::ZERO,
            Kind::Codel { link, .. } => link.busy_beyond(now),
            Kind::FqCodel { link, .. } => link.busy_beyond(now),
        }
    }

    /// Polls it: plays what happens until `now`. Adds the packets that leave to `departed`.
    pub fn advance(&mut self, now: Time, departed: &mut Vec<Departed>) {
        match &mut self.kind {
            Kind::Wifi { wifi, departures } => wifi.advance(now, departures),
            Kind::Codel { link, fates } => link.advance(now, fates),
            Kind::FqCodel { link, fates, .. } => link.advance(now, fates),
        }
        self.collect(departed);
    }

    /// Matches departures with the packets that waited.
    fn collect(&mut self, departed: &mut Vec<Departed>) {
        let (links, waiting) = (&self.links, &mut self.waiting);
        let mut one = |side: Side, fate| {
            let packet = waiting[side as usize].pop_front();
            if let (Some(link), Some(packet)) = (links[side as usize], packet) {
                departed.push(Departed { link, fate, packet });
            }
        };
        match &mut self.kind {
            Kind::Wifi { departures, .. } => departures
                .drain(..)
                .for_each(|Departure { side, fate }| one(side, fate)),
            Kind::Codel { fates, .. } => {
                fates.drain(..).for_each(|fate| one(Side::Forward, fate));
            }
            Kind::FqCodel { fates, waiting, .. } => {
                for FlowFate { queue, fate } in fates.drain(..) {
                    let packet = waiting[queue as usize].pop_front();
                    if let (Some(link), Some(packet)) = (links[0], packet) {
                        departed.push(Departed { link, fate, packet });
                    }
                }
            }
        }
    }
}

/// A hash of a flow's path, so that paths do not fall into neighbouring queues: the multiplier of
/// Fibonacci hashing.
fn hash(path_id: u32) -> u64 {
    u64::from(path_id).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}
