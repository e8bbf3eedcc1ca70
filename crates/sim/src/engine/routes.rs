//! Which way packets go, and where nobody can come between.

use super::packet::{Flags, Packet};
use super::pipe::Pipe;
use crate::network::{FlowSpec, Network, Traffic};

/// The links that packets pass: for each flow and direction one row of the same length.
pub(super) struct Routes {
    links: Vec<u32>,
    row: usize,
}

impl Routes {
    /// Ends a route that is shorter than its row.
    const END: u32 = u32::MAX;

    pub fn new(network: &Network) -> Self {
        let routes = || network.flows.iter().flat_map(|f| [&f.forward, &f.backward]);
        let row = routes().map(Vec::len).max().unwrap_or(0) + 1;
        let mut links = Vec::with_capacity(2 * network.flows.len() * row);
        for route in routes() {
            links.extend(route.iter().map(|link| link.0));
            links.resize(links.len().next_multiple_of(row), Self::END);
        }
        Self { links, row }
    }

    /// The link that a packet is on, or goes on next, by its `hop`.
    #[inline]
    pub fn link(&self, packet: &Packet) -> Option<usize> {
        let route = 2 * packet.flow as usize + usize::from(packet.flags.has(Flags::BACKWARD));
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
    for flow in &network.flows {
        for route in [&flow.forward, &flow.backward] {
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
    }
    let in_order = |link: u32| pipes[link as usize].link.keeps_order();
    fed.into_iter()
        .zip(pipes)
        .map(|(fed, pipe)| {
            pipe.on_channel.is_none() && matches!(fed, Fed::By(link) if in_order(link))
        })
        .collect()
}

/// Flows whose receiver is settled as soon as a packet is on its last link: all that it hears comes from that
/// link, in order, and all that it says goes on a link that nobody else enters. So it receives then, at
/// the time at which the packet will be there, and the packet needs no event of its own.
///
/// A receiver that also sends has acknowledgments and timers of its own in between, and is left alone.
pub(super) fn settled_receivers(network: &Network, pipes: &[Pipe]) -> Vec<bool> {
    let mut entered = vec![0_u32; network.links.len()];
    let routes = network.flows.iter().flat_map(|f| [&f.forward, &f.backward]);
    for link in routes.flatten() {
        entered[link.0 as usize] += 1;
    }
    let settled = |flow: &FlowSpec| {
        let last_in_order = flow
            .forward
            .last()
            .is_some_and(|link| pipes[link.0 as usize].link.keeps_order());
        let answers_alone = match &flow.traffic {
            Traffic::Tcp(tcp) => {
                let own = flow
                    .backward
                    .first()
                    .map(|link| link.0 as usize)
                    .is_some_and(|link| entered[link] == 1 && pipes[link].on_channel.is_none());
                !tcp.two_way && own
            }
            Traffic::Udp(_) => true,
            Traffic::Aatp(_) => false,
        };
        last_in_order && answers_alone
    };
    network.flows.iter().map(settled).collect()
}
