//! Which way packets go, and where nobody can come between.
//!
//! A lane is one route of a flow. Lane `i` is the first route of flow `i`, so that nobody with one route need ask which flow
//! a lane is of; the further routes of multipath connections have the numbers behind.

use super::packet::{Flags, Packet};
use super::pipe::Pipe;
use crate::network::{FlowSpec, Network, Recovery, Route, Traffic};

/// A lane behind the flows' first ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct FurtherLane {
    pub flow: usize,
    /// Which of the flow's routes it is, from 1.
    pub path: usize,
}

/// The lanes behind the flows' first ones, in order.
pub(super) fn further_lanes(network: &Network) -> Vec<FurtherLane> {
    let of = |(flow, spec): (usize, &FlowSpec)| {
        (1..spec.routes.len()).map(move |path| FurtherLane { flow, path })
    };
    network.flows.iter().enumerate().flat_map(of).collect()
}

/// The route of each lane, and whose it is.
fn lanes(network: &Network) -> impl Iterator<Item = (&Route, &FlowSpec)> {
    let flows = || network.flows.iter();
    let first = flows().map(|flow| (&flow.routes[0], flow));
    first.chain(flows().flat_map(|flow| flow.routes[1..].iter().map(move |route| (route, flow))))
}

/// The links of each lane there, then back.
fn ways(network: &Network) -> impl Iterator<Item = &Vec<crate::LinkId>> {
    lanes(network).flat_map(|(route, _)| [&route.forward, &route.backward])
}

/// The links that packets pass: for each lane and direction one row of the same length.
pub(super) struct Routes {
    links: Vec<u32>,
    row: usize,
}

impl Routes {
    /// Ends a route that is shorter than its row.
    const END: u32 = u32::MAX;

    pub fn new(network: &Network) -> Self {
        let row = ways(network).map(Vec::len).max().unwrap_or(0) + 1;
        let mut links = Vec::new();
        for route in ways(network) {
            links.extend(route.iter().map(|link| link.0));
            links.resize(links.len().next_multiple_of(row), Self::END);
        }
        Self { links, row }
    }

    /// The link that a packet is on, or goes on next, by its `hop`.
    #[inline]
    pub fn link(&self, packet: &Packet) -> Option<usize> {
        let route = 2 * packet.lane as usize + usize::from(packet.flags.has(Flags::BACKWARD));
        let link = self.links[route * self.row + usize::from(packet.hop)];
        (link != Self::END).then_some(link as usize)
    }
}

/// Which links are only ever entered from one other link that keeps its packets in order. What such a link does
/// to a packet is settled as soon as that packet is on the link before it: nobody can come between. So it
/// is computed then, and the packet needs one event less: a flow's own access link behind a shared
/// bottleneck costs none. What a Wi-Fi channel does is never settled: the other side may take it first; nor what CoDel does:
/// what comes later counts.
pub(super) fn sole_feeders(network: &Network, pipes: &[Pipe]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Fed {
        Never,
        By(u32),
        Otherwise,
    }
    let mut fed = vec![Fed::Never; network.links.len()];
    for route in ways(network) {
        let mut before = None;
        for link in route {
            let by = before.map_or(Fed::Otherwise, Fed::By);
            let known = &mut fed[link.0 as usize];
            *known = if *known == Fed::Never || *known == by {
                by
            } else {
                Fed::Otherwise
            };
            before = Some(link.0);
        }
    }
    let in_order = |link: u32| pipes[link as usize].link.keeps_order();
    fed.into_iter()
        .zip(pipes)
        .map(|(fed, pipe)| {
            pipe.on_channel.is_none() && matches!(fed, Fed::By(link) if in_order(link))
        })
        .collect()
}

/// When an end of a lane may receive a packet: see [`settled_ends`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ahead {
    /// When the packet is there.
    Never,
    /// As soon as it is on its last link.
    Always,
    /// As soon as it is on its last link, if the end does nothing of its own before the packet is there and none waits before
    /// it; see [`Endpoint::foresees`](crate::tcp::Endpoint::foresees).
    IfQuiet,
}

/// Which ends (two a lane: near, far) are settled as soon as a packet is on its last link: all that it hears comes
/// from that link, in order, and all that it says goes on a link that nobody else enters. So it receives then, at
/// the time at which the packet will be there, and the packet needs no event of its own.
///
/// An end that sends data has timers of its own in between, and asks for the truth about its losses, which must be known
/// by then: it is settled while neither is at hand. What it says must wait for an event somewhere, or two such ends would
/// play the whole run in one. When a flow stops or is done is told from outside, so only endless ones are settled so. An
/// end of a connection that decides what is sent shares its data with the other end, and hears what comes on its other
/// paths: it is left alone.
pub(super) fn settled_ends(network: &Network, pipes: &[Pipe], runs_on: &[bool]) -> Vec<Ahead> {
    let mut entered = vec![0_u32; network.links.len()];
    for link in ways(network).flatten() {
        entered[link.0 as usize] += 1;
    }
    let alone = |link: &crate::LinkId| {
        let link = link.0 as usize;
        entered[link] == 1 && pipes[link].on_channel.is_none()
    };
    let in_order = |link: &crate::LinkId| pipes[link.0 as usize].link.keeps_order();
    let waits = |link: &crate::LinkId| !runs_on[link.0 as usize];
    let settled = |(route, flow): (&Route, &FlowSpec)| {
        let end = |hears: &[crate::LinkId], says: &[crate::LinkId], sends: bool| {
            let (Some(last), Some((first, beyond))) = (hears.last(), says.split_first()) else {
                return Ahead::Never;
            };
            match &flow.traffic {
                _ if flow.is_governed() || !in_order(last) => Ahead::Never,
                Traffic::Udp(_) if !sends => Ahead::Always,
                // Who forges NACKs beside an end acts at times of its own.
                Traffic::Tcp(tcp) if tcp.settings.forged_nacks.is_some() => Ahead::Never,
                Traffic::Tcp(_) if !sends && alone(first) => Ahead::Always,
                Traffic::Tcp(tcp)
                    if alone(first)
                        && alone(last)
                        && beyond.iter().any(waits)
                        && tcp.settings.recovery == Recovery::NewReno
                        && tcp.size.is_none()
                        && flow.stop.is_none() =>
                {
                    Ahead::IfQuiet
                }
                _ => Ahead::Never,
            }
        };
        let far_sends = matches!(&flow.traffic, Traffic::Tcp(tcp) if tcp.two_way);
        [
            end(&route.backward, &route.forward, true),
            end(&route.forward, &route.backward, far_sends),
        ]
    };
    lanes(network).flat_map(settled).collect()
}
