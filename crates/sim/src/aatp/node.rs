//! A destination node. It knows all flows that it receives, their priorities, and the bandwidth of
//! its link, and reports to each flow its share (section 5.3 of the paper).
//!
//! * BW of (20) and (25) is the maximum of what the trains of its present flows measured, because
//!   other traffic can only make a train look slower; or the bandwidth that the scenario sets.
//! * V of (21) is the rate at which data of a flow arrives, measured over each of its bursts.
//! * Vm (20), WF (22), A (25) and Delta (24) are computed by [`whimbrel_cc::fairness`].
//!
//! **Decided here, because the paper leaves it open:**
//! * A flow is on the list from when its bandwidth is known, which is before it sends. It has V = 0
//!   until its first burst has arrived. So the other flows begin to make room one round trip before
//!   it needs it.
//! * A flow leaves the list when it has all its data, when it closes, or when nothing has arrived
//!   from it for `SILENCE`, which is longer than any fade that it should survive.

use super::wire::{Granted, Shared};
use crate::flow::interface::SharedState;
use crate::network::{Destination, Network};
use crate::outcome::{DestinationOutcome, DestinationSample};
use whimbrel_cc::fairness::{Adapter, Flow, Priority, allocated, weighted_fairness};
use whimbrel_units::{Duration, Rate, Time};

/// A flow that is silent for this long has left.
const SILENCE: Duration = Duration::from_secs(10);

/// The destination nodes of a run.
#[derive(Debug)]
pub(crate) struct Nodes(Vec<Node>);

impl Nodes {
    /// All nodes of a network.
    pub fn new(network: &Network) -> Self {
        Self(network.destinations.iter().map(Node::new).collect())
    }

    /// The node of this index in [`Network::destinations`].
    pub(super) fn node(&mut self, index: usize) -> &mut Node {
        &mut self.0[index]
    }
}

impl SharedState for Nodes {
    fn sample(&mut self, now: Time) {
        for node in &mut self.0 {
            let (flows, fairness) = node.state();
            node.samples.push(DestinationSample {
                at: now,
                flows,
                fairness,
            });
        }
    }

    fn into_outcomes(self, end: Time) -> Vec<DestinationOutcome> {
        self.0.into_iter().map(|node| node.finish(end)).collect()
    }
}

/// A destination node.
#[derive(Debug)]
pub(super) struct Node {
    name: String,
    adapter: Adapter,
    known: Option<Rate>,
    members: Vec<Member>,
    fairness: f64,
    /// Integral of the fairness over time, and seconds with any flow, both up to `counted`.
    sum: f64,
    seconds: f64,
    counted: Time,
    /// Its samples.
    pub samples: Vec<DestinationSample>,
}

#[derive(Debug)]
struct Member {
    flow: u32,
    priority: Priority,
    estimate: Rate,
    delivered: Rate,
    heard: Time,
}

impl Node {
    /// A node without flows.
    pub fn new(destination: &Destination) -> Self {
        Self {
            name: destination.name.clone(),
            adapter: destination.adapter,
            known: destination.bandwidth,
            members: Vec::new(),
            fairness: 1.0,
            sum: 0.0,
            seconds: 0.0,
            counted: Time::ZERO,
            samples: Vec::new(),
        }
    }

    /// Its bandwidth, if the scenario sets it.
    pub fn known(&self) -> Option<Rate> {
        self.known
    }

    /// Puts a flow on the list, or updates its measured bandwidth. Returns what the flow may use.
    pub(super) fn join(
        &mut self,
        now: Time,
        flow: u32,
        priority: Priority,
        estimate: Rate,
    ) -> Granted {
        match self.members.iter_mut().find(|m| m.flow == flow) {
            Some(member) => {
                member.estimate = estimate;
                member.heard = now;
            }
            None => self.members.push(Member {
                flow,
                priority,
                estimate,
                delivered: Rate::ZERO,
                heard: now,
            }),
        }
        self.refresh(now);
        Granted {
            bandwidth: self.bandwidth().as_bits_per_sec(),
            allocated: self.allocated(priority).as_bits_per_sec(),
        }
    }

    /// Removes a flow from the list.
    pub fn leave(&mut self, now: Time, flow: u32) {
        self.members.retain(|m| m.flow != flow);
        self.refresh(now);
    }

    /// A burst of a flow arrived at this rate. Returns the share of the flow, unless it is not on
    /// the list.
    pub(super) fn on_burst(&mut self, now: Time, flow: u32, delivered: Rate) -> Option<Shared> {
        let member = self.members.iter_mut().find(|m| m.flow == flow)?;
        member.delivered = delivered;
        member.heard = now;
        let priority = member.priority;
        self.refresh(now);
        let bandwidth = self.bandwidth();
        let seen = Flow {
            delivered,
            allocated: self.allocated(priority),
        };
        let a = self
            .adapter
            .transcendence(self.members.len(), bandwidth, self.fairness);
        Some(Shared {
            allocated: seen.allocated.as_bits_per_sec(),
            delivered: delivered.as_bits_per_sec(),
            fairness: self.fairness,
            adapter: self.adapter.delta(a, seen),
        })
    }

    /// The number of flows, and their weighted fairness.
    pub fn state(&self) -> (u32, f64) {
        (self.members.len() as u32, self.fairness)
    }

    /// The outcome of a run that ended at `end`.
    pub fn finish(mut self, end: Time) -> DestinationOutcome {
        self.refresh(end);
        DestinationOutcome {
            name: self.name,
            mean_fairness: if self.seconds > 0.0 {
                self.sum / self.seconds
            } else {
                1.0
            },
            samples: self.samples,
        }
    }

    fn bandwidth(&self) -> Rate {
        let measured = self.members.iter().map(|m| m.estimate).max();
        self.known.or(measured).unwrap_or(Rate::ZERO)
    }

    fn allocated(&self, priority: Priority) -> Rate {
        let all = self.members.iter().map(|m| m.priority);
        allocated(self.bandwidth(), priority, all)
    }

    /// Accounts for the fairness until now, and computes it anew.
    fn refresh(&mut self, now: Time) {
        let passed = now.since(self.counted).as_secs_f64();
        self.counted = now;
        if !self.members.is_empty() {
            self.sum += self.fairness * passed;
            self.seconds += passed;
        }
        self.members.retain(|m| now.since(m.heard) < SILENCE);
        let flows = self.members.iter().map(|m| Flow {
            delivered: m.delivered,
            allocated: self.allocated(m.priority),
        });
        self.fairness = weighted_fairness(flows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> Node {
        Node::new(&Destination {
            name: "client".to_owned(),
            adapter: Adapter::default(),
            bandwidth: None,
        })
    }

    fn mbits(n: u64) -> Rate {
        Rate::from_bits_per_sec(n * 1_000_000)
    }

    fn at(s: u64) -> Time {
        Time::ZERO + Duration::from_secs(s)
    }

    fn priority(p: u8) -> Priority {
        Priority::new(p).expect("1 to 8")
    }

    #[test]
    fn flows_share_the_maximum_estimate_by_priority() {
        let mut node = node();
        let granted = node.join(at(0), 0, priority(2), mbits(120));
        assert_eq!(
            (granted.bandwidth, granted.allocated),
            (120_000_000, 120_000_000)
        );
        node.join(at(0), 1, priority(4), mbits(90));
        let granted = node.join(at(0), 2, priority(6), mbits(100));
        // 2-4-6 of 120 Mbit/s: 20, 40, 60.
        assert_eq!(granted.allocated, 60_000_000);
        let share = node.on_burst(at(0), 0, mbits(20)).expect("on the list");
        assert_eq!(share.allocated, 20_000_000);
        node.leave(at(1), 2);
        let share = node.on_burst(at(1), 0, mbits(20)).expect("on the list");
        assert_eq!(share.allocated, 40_000_000);
        assert_eq!(node.on_burst(at(1), 2, mbits(20)), None);
    }

    #[test]
    fn a_flow_above_its_share_is_told_to_slow_down() {
        let mut node = node();
        node.join(at(0), 0, priority(1), mbits(100));
        assert_eq!(
            node.on_burst(at(0), 0, mbits(100)).map(|s| s.adapter),
            Some(0.0)
        );
        node.join(at(1), 1, priority(1), mbits(100));
        // r = (2, 0): WF = 4 / (2 * 4).
        let first = node.on_burst(at(1), 0, mbits(100)).expect("on the list");
        assert_eq!(first.fairness, 0.5);
        // A = 5/2 * 100^1.05 * 0.25 = 78.7; log2(1/2) = -1.
        assert!((first.adapter + 78.68).abs() < 0.01, "{}", first.adapter);
        node.on_burst(at(2), 0, mbits(50));
        let second = node.on_burst(at(2), 1, mbits(50)).expect("on the list");
        assert_eq!((second.fairness, second.adapter), (1.0, 0.0));
        // One second alone (fair), one second at 1/2; the change at the end has no duration.
        let outcome = node.finish(at(2));
        assert_eq!(outcome.mean_fairness, 0.75);
    }

    #[test]
    fn a_flow_that_is_silent_for_long_leaves_the_list() {
        let mut node = node();
        node.join(at(0), 0, priority(1), mbits(100));
        node.join(at(0), 1, priority(1), mbits(100));
        node.on_burst(at(9), 0, mbits(50));
        assert_eq!(node.state().0, 2);
        node.on_burst(at(11), 0, mbits(50));
        assert_eq!(node.state().0, 1);
    }
}
