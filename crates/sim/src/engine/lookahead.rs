//! Lookahead: what is computed before its time, because nothing can change it any more. It saves
//! events and changes no result.
//!
//! * **Links.** A link that is only ever entered from one other link, which keeps its packets in
//!   order, is entered as soon as a packet is on the link before it. The access link of a flow
//!   behind a shared bottleneck needs no event.
//! * **Ends.** An end that only answers packets receives a packet as soon as it is on its last
//!   link, if all packets reach the end over that link, in order, and if the end alone enters the
//!   link that its answers go on. An end that only counts packets needs no link of its own. The end
//!   is called with the time at which the packet arrives.
//!
//! Nothing is computed ahead across a [helper](super::helper), nor behind a link on which one puts
//! packets again: they would come after packets that leave the link later. Nothing is computed
//! ahead on links that are polled: the other station of a Wi-Fi channel may send first, and CoDel's
//! decision depends on later packets. Nothing is computed ahead in a run that is sampled: a sample
//! shows the queues and flows in between.
//!
//! A loss that is computed ahead is counted at once. Its sender learns the cause, for the record of
//! its decisions, when the time of the loss has come.

use super::pipe::Pipe;
use super::routes::{directions, flow_paths};
use crate::end::End;
use crate::flow::interface::EndBehavior;
use crate::network::{LinkId, Network};

/// Which links and ends are called ahead of time.
pub(super) struct Lookahead {
    /// The links that are entered as soon as a packet is on the link before them.
    pub links: Vec<bool>,
    /// The ends that receive a packet as soon as it is on its last link; two for each path: near,
    /// far.
    pub ends: Vec<bool>,
}

impl Lookahead {
    /// All that can be. `behavior` gives what an end of a flow does.
    pub fn new(
        network: &Network,
        pipes: &[Pipe],
        behavior: impl Fn(usize, End) -> EndBehavior,
    ) -> Self {
        Self {
            links: links(network, pipes),
            ends: ends(network, pipes, behavior),
        }
    }
}

/// Whether packets leave a link in the order in which they enter it, and no helper sees them or
/// puts some of them on it again.
fn in_order(pipes: &[Pipe], link: LinkId) -> bool {
    let pipe = &pipes[link.index()];
    pipe.link.keeps_order() && !pipe.watched && pipe.entry.is_none()
}

/// The links that are only ever entered from one other link that keeps its packets in order.
fn links(network: &Network, pipes: &[Pipe]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Entered {
        Never,
        From(LinkId),
        Otherwise,
    }
    let mut entered = vec![Entered::Never; network.links.len()];
    for direction in directions(network) {
        let mut before = None;
        for link in direction {
            let from = before.map_or(Entered::Otherwise, Entered::From);
            let known = &mut entered[link.index()];
            *known = if *known == Entered::Never || *known == from {
                from
            } else {
                Entered::Otherwise
            };
            before = Some(*link);
        }
    }
    entered
        .into_iter()
        .zip(pipes)
        .map(|(entered, pipe)| {
            let alone = pipe.polled.is_none() && pipe.entry.is_none();
            alone && matches!(entered, Entered::From(link) if in_order(pipes, link))
        })
        .collect()
}

/// The ends that may receive ahead of time: near and far of each path.
fn ends(
    network: &Network,
    pipes: &[Pipe],
    behavior: impl Fn(usize, End) -> EndBehavior,
) -> Vec<bool> {
    let mut entered = vec![0_u32; network.links.len()];
    for link in directions(network).flatten() {
        entered[link.index()] += 1;
    }
    let own = |link: &LinkId| {
        let link = link.index();
        entered[link] == 1 && pipes[link].polled.is_none() && pipes[link].entry.is_none()
    };
    let early = |flow: usize, end: End, receives: &[LinkId], sends: &[LinkId]| {
        let (Some(last), Some(first)) = (receives.last(), sends.first()) else {
            return false;
        };
        in_order(pipes, *last)
            && match behavior(flow, end) {
                EndBehavior::Acts => false,
                EndBehavior::Answers => own(first),
                EndBehavior::Counts => true,
            }
    };
    let both = |path: super::routes::FlowPath| {
        let route = path.route(network);
        let (there, back) = (&route.forward, &route.backward);
        [
            early(path.flow, End::Near, back, there),
            early(path.flow, End::Far, there, back),
        ]
    };
    flow_paths(network).flat_map(both).collect()
}
