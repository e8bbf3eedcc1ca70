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
//! Nothing is computed ahead on links that are polled: the other station of a Wi-Fi channel may
//! send first, and CoDel's decision depends on later packets. Nothing is computed ahead in a run
//! that is sampled: a sample shows the queues and flows in between.
//!
//! A loss that is computed ahead is counted at once. Its sender learns the cause, for the record of
//! its decisions, when the time of the loss has come ([`PendingLosses`]).

use super::packet::Packet;
use super::pipe::Pipe;
use super::routes::{directions, lanes};
use crate::flow::interface::EndBehavior;
use crate::network::{LinkId, Network};
use crate::observe::End;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use whimbrel_net::DropCause;
use whimbrel_units::Time;

/// Which links and ends are called ahead of time.
pub(super) struct Lookahead {
    /// The links that are entered as soon as a packet is on the link before them.
    pub links: Vec<bool>,
    /// The ends that receive a packet as soon as it is on its last link; two for each lane: near,
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

/// The links that are only ever entered from one other link that keeps its packets in order.
fn links(network: &Network, pipes: &[Pipe]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Entered {
        Never,
        From(u32),
        Otherwise,
    }
    let mut entered = vec![Entered::Never; network.links.len()];
    for direction in directions(network) {
        let mut before = None;
        for link in direction {
            let from = before.map_or(Entered::Otherwise, Entered::From);
            let known = &mut entered[link.0 as usize];
            *known = if *known == Entered::Never || *known == from {
                from
            } else {
                Entered::Otherwise
            };
            before = Some(link.0);
        }
    }
    let in_order = |link: u32| pipes[link as usize].link.keeps_order();
    entered
        .into_iter()
        .zip(pipes)
        .map(|(entered, pipe)| {
            pipe.polled.is_none() && matches!(entered, Entered::From(link) if in_order(link))
        })
        .collect()
}

/// The ends that may receive ahead of time: near and far of each lane.
fn ends(
    network: &Network,
    pipes: &[Pipe],
    behavior: impl Fn(usize, End) -> EndBehavior,
) -> Vec<bool> {
    let mut entered = vec![0_u32; network.links.len()];
    for link in directions(network).flatten() {
        entered[link.0 as usize] += 1;
    }
    let own = |link: &LinkId| {
        let link = link.0 as usize;
        entered[link] == 1 && pipes[link].polled.is_none()
    };
    let in_order = |link: &LinkId| pipes[link.0 as usize].link.keeps_order();
    let early = |flow: usize, end: End, receives: &[LinkId], sends: &[LinkId]| {
        let (Some(last), Some(first)) = (receives.last(), sends.first()) else {
            return false;
        };
        in_order(last)
            && match behavior(flow, end) {
                EndBehavior::Acts => false,
                EndBehavior::Answers => own(first),
                EndBehavior::Counts => true,
            }
    };
    let both = |lane: super::routes::Lane| {
        let route = lane.route(network);
        let (there, back) = (&route.forward, &route.backward);
        [
            early(lane.flow, End::Near, back, there),
            early(lane.flow, End::Far, there, back),
        ]
    };
    lanes(network).flat_map(both).collect()
}

/// Losses whose time has not come.
#[derive(Default)]
pub(super) struct PendingLosses {
    heap: BinaryHeap<Reverse<PendingLoss>>,
    added: u64,
}

/// A loss whose time has not come.
pub(super) struct PendingLoss {
    at: Time,
    order: u64,
    /// The packet that is lost.
    pub packet: Packet,
    /// Why.
    pub cause: DropCause,
}

impl PendingLosses {
    /// Adds a packet that is lost at `at`.
    #[cold]
    pub fn add(&mut self, at: Time, packet: &Packet, cause: DropCause) {
        let order = self.added;
        self.added += 1;
        self.heap.push(Reverse(PendingLoss {
            at,
            order,
            packet: *packet,
            cause,
        }));
    }

    /// Whether the time of a loss has come by `now`.
    #[inline]
    pub fn are_due(&self, now: Time) -> bool {
        self.heap.peek().is_some_and(|first| first.0.at <= now)
    }

    /// Takes the first loss whose time has come by `now`.
    pub fn take(&mut self, now: Time) -> Option<PendingLoss> {
        if !self.are_due(now) {
            return None;
        }
        self.heap.pop().map(|Reverse(loss)| loss)
    }
}

impl Ord for PendingLoss {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl PartialOrd for PendingLoss {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PendingLoss {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == std::cmp::Ordering::Equal
    }
}

impl Eq for PendingLoss {}
