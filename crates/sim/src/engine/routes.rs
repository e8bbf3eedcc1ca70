//! Routes: the links that packets pass.
//!
//! A lane is one route of a flow. Lane `i` is the first route of flow `i`. The further routes of
//! flows with several have the numbers after those, flow by flow.

use super::packet::{Flags, Packet};
use crate::network::{LinkId, Network, Route};

/// One route of a flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lane {
    /// Index of the flow.
    pub flow: usize,
    /// Index of the route in the flow.
    pub path: usize,
}

/// All lanes, in order.
pub(super) fn lanes(network: &Network) -> impl Iterator<Item = Lane> {
    let first = (0..network.flows.len()).map(|flow| Lane { flow, path: 0 });
    let flows = network.flows.iter().enumerate();
    let further =
        flows.flat_map(|(flow, spec)| (1..spec.routes.len()).map(move |path| Lane { flow, path }));
    first.chain(further)
}

impl Lane {
    /// Its route.
    pub fn route(self, network: &Network) -> &Route {
        &network.flows[self.flow].routes[self.path]
    }
}

/// The links of each direction of each lane: forward, then backward.
pub(super) fn directions(network: &Network) -> impl Iterator<Item = &Vec<LinkId>> {
    lanes(network).flat_map(|lane| {
        let route = lane.route(network);
        [&route.forward, &route.backward]
    })
}

/// The links of all routes: a row of the same length for each direction of each lane.
pub(super) struct Routes {
    links: Vec<u32>,
    row: usize,
}

impl Routes {
    /// Ends a route that is shorter than its row.
    const END: u32 = u32::MAX;

    /// The routes of a network.
    pub fn new(network: &Network) -> Self {
        let row = directions(network).map(Vec::len).max().unwrap_or(0) + 1;
        let mut links = Vec::new();
        for route in directions(network) {
            links.extend(route.iter().map(|link| link.0));
            links.resize(links.len().next_multiple_of(row), Self::END);
        }
        Self { links, row }
    }

    /// The link at the packet's `hop`. `None`: the packet has reached its end.
    #[inline]
    pub fn link(&self, packet: &Packet) -> Option<usize> {
        let route = 2 * packet.lane as usize + usize::from(packet.flags.has(Flags::BACKWARD));
        let link = self.links[route * self.row + usize::from(packet.hop)];
        (link != Self::END).then_some(link as usize)
    }
}
