//! Routes: the links that packets pass.
//!
//! The engine numbers the paths of all flows, each of which is one route of a flow: path `i` is the
//! first route of flow `i`. The other routes of flows with several have the numbers after those,
//! flow by flow.

use crate::network::{LinkId, Network, Route};
use crate::packet::{Flags, Packet};

/// The number of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PathId(u32);

impl PathId {
    /// Of an index among all paths.
    #[inline]
    pub fn new(index: usize) -> Self {
        Self(index as u32)
    }

    /// The path of a packet.
    #[inline]
    pub fn of(packet: &Packet) -> Self {
        Self(packet.path_id)
    }

    /// Its index among all paths.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One route of a flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlowPath {
    /// Index of the flow.
    pub flow: usize,
    /// Index of the route in the flow.
    pub path: usize,
}

/// All paths, in order.
pub(super) fn flow_paths(network: &Network) -> impl Iterator<Item = FlowPath> {
    let first = (0..network.flows.len()).map(|flow| FlowPath { flow, path: 0 });
    let flows = network.flows.iter().enumerate();
    let further = flows
        .flat_map(|(flow, spec)| (1..spec.routes.len()).map(move |path| FlowPath { flow, path }));
    first.chain(further)
}

impl FlowPath {
    /// Its route.
    pub fn route(self, network: &Network) -> &Route {
        &network.flows[self.flow].routes[self.path]
    }
}

/// The links of each direction of each path: forward, then backward.
pub(super) fn directions(network: &Network) -> impl Iterator<Item = &Vec<LinkId>> {
    flow_paths(network).flat_map(|path| {
        let route = path.route(network);
        [&route.forward, &route.backward]
    })
}

/// What can be computed before its time when a packet is on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ahead {
    /// It enters this link.
    Link(LinkId),
    /// It arrives at the end of its route.
    End,
    /// Nothing.
    Nothing,
}

/// A row of [`Routes`]: the number of its first step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row(usize);

/// The links of all routes: a row of the same length for each direction of each path.
pub(super) struct Routes {
    /// Links, or [`Self::END`], with [`Self::AHEAD`] where a packet may go on before its time.
    steps: Vec<u32>,
    row: usize,
}

impl Routes {
    /// Ends a route that is shorter than its row.
    const END: u32 = u32::MAX >> 1;
    /// A packet goes on to this step as soon as it is on the link before it.
    const AHEAD: u32 = 1 << 31;

    /// The routes of a network, without lookahead.
    pub fn new(network: &Network) -> Self {
        let row = directions(network).map(Vec::len).max().unwrap_or(0) + 1;
        let mut steps = Vec::new();
        for route in directions(network) {
            steps.extend(route.iter().map(|link| link.0));
            steps.resize(steps.len().next_multiple_of(row), Self::END);
        }
        Self { steps, row }
    }

    /// Marks what may be computed ahead: the `links` that are entered early, and the `ends` that
    /// receive early, two for each path (near, far).
    pub fn look_ahead(&mut self, links: &[bool], ends: &[bool]) {
        for (direction, row) in self.steps.chunks_mut(self.row).enumerate() {
            // The directions of a path are forward, which the far end receives, and backward.
            let end = ends[direction ^ 1];
            for step in row {
                let ahead = match *step {
                    Self::END => end,
                    link => links[link as usize],
                };
                *step |= if ahead { Self::AHEAD } else { 0 };
            }
        }
    }

    /// The row of a packet's route.
    #[inline]
    pub fn row(&self, packet: &Packet) -> Row {
        let route = 2 * packet.path_id as usize + usize::from(packet.flags.has(Flags::BACKWARD));
        Row(route * self.row)
    }

    /// The link at `hop` of the route of this row. `None`: the route is at its end.
    #[inline]
    pub fn link(&self, row: Row, hop: u8) -> Option<LinkId> {
        let link = self.steps[row.0 + usize::from(hop)] & !Self::AHEAD;
        (link != Self::END).then_some(LinkId(link))
    }

    /// What can be computed ahead when a packet is on the link at `hop` of the route of this row.
    #[inline]
    pub fn ahead(&self, row: Row, hop: u8) -> Ahead {
        const END_AHEAD: u32 = Routes::END | Routes::AHEAD;
        match self.steps[row.0 + usize::from(hop) + 1] {
            END_AHEAD => Ahead::End,
            step if step & Self::AHEAD != 0 => Ahead::Link(LinkId(step & !Self::AHEAD)),
            _ => Ahead::Nothing,
        }
    }
}
