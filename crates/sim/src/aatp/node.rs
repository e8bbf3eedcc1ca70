//! The destination nodes of a run: [`whimbrel_cc::burst_transport::Node`], with what the outcome
//! records of each.

use crate::network::{Destination, Network};
use crate::outcome::{DestinationOutcome, DestinationSample};
use whimbrel_cc::Share;
use whimbrel_cc::burst_transport::{self, Granted};
use whimbrel_cc::fairness::Priority;
use whimbrel_units::{Rate, Time};

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

    /// Records a sample.
    pub fn sample(&mut self, now: Time) {
        for node in &mut self.0 {
            let (flows, fairness) = node.node.state();
            node.samples.push(DestinationSample {
                at: now,
                flows,
                fairness,
            });
        }
    }

    /// The outcomes of the nodes of a run that ended at `end`.
    pub fn into_outcomes(self, end: Time) -> Vec<DestinationOutcome> {
        self.0.into_iter().map(|node| node.finish(end)).collect()
    }
}

/// A destination node and the account of its fairness.
#[derive(Debug)]
pub(super) struct Node {
    name: String,
    is_copy: bool,
    node: burst_transport::Node<u32>,
    /// Integral of the fairness over time, and seconds with any flow, both up to `counted`.
    sum: f64,
    seconds: f64,
    counted: Time,
    samples: Vec<DestinationSample>,
}

impl Node {
    /// A node without flows.
    pub fn new(destination: &Destination) -> Self {
        Self {
            name: destination.name.clone(),
            is_copy: destination.is_copy,
            node: burst_transport::Node::new(destination.adapter, destination.bandwidth),
            sum: 0.0,
            seconds: 0.0,
            counted: Time::ZERO,
            samples: Vec::new(),
        }
    }

    /// Its bandwidth, if the scenario sets it.
    pub fn known(&self) -> Option<Rate> {
        self.node.known()
    }

    /// Puts a flow on the list, or updates its measured bandwidth. Returns what the flow may use.
    pub fn join(&mut self, now: Time, flow: u32, priority: Priority, estimate: Rate) -> Granted {
        self.account(now, true);
        self.node.join(now, flow, priority, estimate)
    }

    /// Removes a flow from the list.
    pub fn leave(&mut self, now: Time, flow: u32) {
        let others = self.node.members().any(|member| member.key != flow);
        self.account(now, others);
        self.node.leave(now, flow);
    }

    /// A burst of a flow arrived at this rate. Returns the share of the flow, unless it is not on
    /// the list.
    pub fn on_burst(&mut self, now: Time, flow: u32, delivered: Rate) -> Option<Share> {
        if self.node.members().any(|member| member.key == flow) {
            self.account(now, true);
        }
        self.node.on_burst(now, flow, delivered)
    }

    /// The outcome of a run that ended at `end`.
    fn finish(mut self, end: Time) -> DestinationOutcome {
        self.account(end, self.node.state().0 > 0);
        DestinationOutcome {
            name: self.name,
            is_copy: self.is_copy,
            mean_fairness: if self.seconds > 0.0 {
                self.sum / self.seconds
            } else {
                1.0
            },
            samples: self.samples,
        }
    }

    /// Accounts for the fairness until now, if there was a flow.
    fn account(&mut self, now: Time, any: bool) {
        let passed = now.since(self.counted).as_secs_f64();
        self.counted = now;
        if any {
            self.sum += self.node.state().1 * passed;
            self.seconds += passed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_cc::fairness::Adapter;
    use whimbrel_units::Duration;

    #[test]
    fn the_mean_fairness_is_over_time() {
        let mut node = Node::new(&Destination {
            name: "client".to_owned(),
            is_copy: false,
            adapter: Adapter::default(),
            bandwidth: None,
        });
        let at = |s| Time::ZERO + Duration::from_secs(s);
        let mbits = |n: u64| Rate::from_bits_per_sec(n * 1_000_000);
        node.join(at(0), 0, Priority::LOWEST, mbits(100));
        node.on_burst(at(0), 0, mbits(100));
        node.join(at(1), 1, Priority::LOWEST, mbits(100));
        let share = node.on_burst(at(1), 0, mbits(100)).expect("on the list");
        assert_eq!(share.fairness, 0.5);
        node.on_burst(at(2), 0, mbits(50));
        node.on_burst(at(2), 1, mbits(50));
        // One second alone (fair), one second at 1/2; the change at the end has no duration.
        assert_eq!(node.finish(at(2)).mean_fairness, 0.75);
    }
}
