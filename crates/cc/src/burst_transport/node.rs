//! A destination node. It knows all flows that it receives, their priorities, and the bandwidth of
//! its link, and reports to each flow its share (section 5.3 of the paper).
//!
//! * BW of (20) and (25) is the maximum of what the trains of its present flows measured, because
//!   other traffic can only make a train look slower; or the bandwidth that its owner sets.
//! * V of (21) is the rate at which data of a flow arrives, measured over each of its bursts.
//! * Vm (20), WF (22), A (25) and Delta (24) are computed by [`fairness`](crate::fairness).
//!
//! **Decided here, because the paper leaves it open:**
//! * A flow is on the list from when its bandwidth is known, which is before it sends. It has V = 0
//!   until its first burst has arrived. So the other flows begin to make room one round trip before
//!   it needs it.
//! * A flow leaves the list when its transport removes it (it has all its data, or it closes), or
//!   when nothing has arrived from it for [`SILENCE`], which is longer than any fade that it should
//!   survive.
//! * The list has at most [`MAX_MEMBERS`] flows. One more gets the share that it would have on the
//!   list, but is not listed: the other flows do not make room for it, and its bursts get no share.
//!   The work for a burst is proportional to the length of the list.
//!
//! **What a dishonest flow can do.** A sender that compresses its trains raises BW up to the
//! maximum of [`bounded_rate`], and with it the shares of all flows, until it leaves; congestion
//! then limits them. Set the bandwidth where flows are not trusted. A flow that claims the highest
//! priority gets it: the transport decides whether to believe it. A flow that ignores its share
//! lowers WF, and the node allocates more to all others.

use super::bounded_rate;
use crate::fairness::{Adapter, Flow, Priority, allocated_of, weighted_fairness};
use crate::interface::Share;
use whimbrel_units::{Duration, Rate, Time};

/// A flow that is silent for this long has left.
pub const SILENCE: Duration = Duration::from_secs(10);

/// Maximum number of flows on the list of a node.
pub const MAX_MEMBERS: usize = 4096;

/// A destination node. `K` names a flow; each flow has one that no other flow has.
#[derive(Debug, Clone)]
pub struct Node<K> {
    adapter: Adapter,
    known: Option<Rate>,
    listed: Vec<Listed<K>>,
    fairness: f64,
}

#[derive(Debug, Clone, Copy)]
struct Listed<K> {
    key: K,
    priority: Priority,
    estimate: Rate,
    delivered: Rate,
    heard: Time,
}

/// What a node grants to a flow that joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Granted {
    /// BW of the node, including headers.
    pub bandwidth: Rate,
    /// Vm: the share of the flow.
    pub allocated: Rate,
}

/// A flow on the list of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<K> {
    /// Its name.
    pub key: K,
    /// Its priority.
    pub priority: Priority,
    /// V: the rate at which its last burst arrived; zero before the first.
    pub delivered: Rate,
    /// Vm: its share.
    pub allocated: Rate,
}

impl<K: Copy + PartialEq> Node<K> {
    /// A node without flows. `known` is the bandwidth of its link, including headers; `None`: the
    /// maximum estimate of its flows.
    pub fn new(adapter: Adapter, known: Option<Rate>) -> Self {
        Self {
            adapter,
            known,
            listed: Vec::new(),
            fairness: 1.0,
        }
    }

    /// Its bandwidth, if its owner set it.
    pub fn known(&self) -> Option<Rate> {
        self.known
    }

    /// Puts a flow on the list, or updates its priority and its measured bandwidth. Returns what
    /// the flow may use.
    pub fn join(&mut self, now: Time, key: K, priority: Priority, estimate: Rate) -> Granted {
        self.drop_silent(now);
        let estimate = bounded_rate(estimate.as_bits_per_sec());
        let found = self.listed.iter().position(|l| l.key == key);
        if found.is_none() && self.listed.len() >= MAX_MEMBERS {
            let weights = self.weights() + u32::from(priority.get());
            return self.granted(priority, weights);
        }
        match found.and_then(|at| self.listed.get_mut(at)) {
            Some(listed) => {
                listed.priority = priority;
                listed.estimate = estimate;
                listed.heard = now;
            }
            None => self.listed.push(Listed {
                key,
                priority,
                estimate,
                delivered: Rate::ZERO,
                heard: now,
            }),
        }
        self.refresh(now);
        self.granted(priority, self.weights())
    }

    /// Removes a flow from the list.
    pub fn leave(&mut self, now: Time, key: K) {
        self.listed.retain(|l| l.key != key);
        self.refresh(now);
    }

    /// A burst of a flow arrived at this rate ([`Arrival::delivered_rate`]). Returns the share of
    /// the flow, unless it is not on the list.
    ///
    /// [`Arrival::delivered_rate`]: super::Arrival::delivered_rate
    pub fn on_burst(&mut self, now: Time, key: K, delivered: Rate) -> Option<Share> {
        let listed = self.listed.iter_mut().find(|l| l.key == key)?;
        listed.delivered = delivered;
        listed.heard = now;
        let priority = listed.priority;
        self.refresh(now);
        let bandwidth = self.bandwidth();
        let seen = Flow {
            delivered,
            allocated: allocated_of(bandwidth, priority, self.weights()),
        };
        let a = self
            .adapter
            .transcendence(self.listed.len(), bandwidth, self.fairness);
        Some(Share {
            allocated: seen.allocated,
            delivered,
            fairness: self.fairness,
            adapter: self.adapter.delta(a, seen),
        })
    }

    /// Removes the flows that have been silent for [`SILENCE`], and computes WF anew. Every event
    /// of a flow does so; call it before a display or at the end of an account.
    pub fn refresh(&mut self, now: Time) {
        self.drop_silent(now);
        let (bandwidth, weights) = (self.bandwidth(), self.weights());
        let flows = self.listed.iter().map(|l| Flow {
            delivered: l.delivered,
            allocated: allocated_of(bandwidth, l.priority, weights),
        });
        self.fairness = weighted_fairness(flows);
    }

    /// The number of flows on the list, and WF (22), their weighted fairness: from 0 to 1, and 1
    /// without flows.
    pub fn state(&self) -> (u32, f64) {
        (self.listed.len() as u32, self.fairness)
    }

    /// The flows on the list, in the order in which they joined.
    pub fn members(&self) -> impl Iterator<Item = Member<K>> + '_ {
        let (bandwidth, weights) = (self.bandwidth(), self.weights());
        self.listed.iter().map(move |l| Member {
            key: l.key,
            priority: l.priority,
            delivered: l.delivered,
            allocated: allocated_of(bandwidth, l.priority, weights),
        })
    }

    /// BW: what its owner set, or the maximum estimate of the flows on the list; zero without any.
    pub fn bandwidth(&self) -> Rate {
        let measured = self.listed.iter().map(|l| l.estimate).max();
        self.known.or(measured).unwrap_or(Rate::ZERO)
    }

    fn granted(&self, priority: Priority, weights: u32) -> Granted {
        let bandwidth = self.bandwidth();
        Granted {
            bandwidth,
            allocated: allocated_of(bandwidth, priority, weights),
        }
    }

    /// The sum of all priorities.
    fn weights(&self) -> u32 {
        let each = |l: &Listed<K>| u32::from(l.priority.get());
        self.listed.iter().map(each).sum()
    }

    fn drop_silent(&mut self, now: Time) {
        self.listed.retain(|l| now.since(l.heard) < SILENCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn node() -> Node<u32> {
        Node::new(Adapter::default(), None)
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
        let all = Granted {
            bandwidth: mbits(120),
            allocated: mbits(120),
        };
        assert_eq!(granted, all);
        node.join(at(0), 1, priority(4), mbits(90));
        let granted = node.join(at(0), 2, priority(6), mbits(100));
        // 2-4-6 of 120 Mbit/s: 20, 40, 60.
        assert_eq!(granted.allocated, mbits(60));
        let share = node.on_burst(at(0), 0, mbits(20)).expect("on the list");
        assert_eq!(share.allocated, mbits(20));
        let members: Vec<_> = node
            .members()
            .map(|m| (m.key, m.priority.get(), m.delivered, m.allocated))
            .collect();
        let expected = [
            (0, 2, mbits(20), mbits(20)),
            (1, 4, Rate::ZERO, mbits(40)),
            (2, 6, Rate::ZERO, mbits(60)),
        ];
        assert_eq!(members, expected);
        node.leave(at(1), 2);
        let share = node.on_burst(at(1), 0, mbits(20)).expect("on the list");
        assert_eq!(share.allocated, mbits(40));
        assert_eq!(node.on_burst(at(1), 2, mbits(20)), None);
    }

    #[test]
    fn a_flow_above_its_share_is_told_to_slow_down() {
        let mut node = node();
        node.join(at(0), 0, priority(1), mbits(100));
        let alone = node.on_burst(at(0), 0, mbits(100));
        assert_eq!(alone.map(|s| s.adapter), Some(0.0));
        node.join(at(1), 1, priority(1), mbits(100));
        // r = (2, 0): WF = 4 / (2 * 4).
        let first = node.on_burst(at(1), 0, mbits(100)).expect("on the list");
        assert_eq!(first.fairness, 0.5);
        // A = 5/2 * 100^1.05 * 0.25 = 78.7; log2(1/2) = -1.
        assert!((first.adapter + 78.68).abs() < 0.01, "{}", first.adapter);
        node.on_burst(at(2), 0, mbits(50));
        let second = node.on_burst(at(2), 1, mbits(50)).expect("on the list");
        assert_eq!((second.fairness, second.adapter), (1.0, 0.0));
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
        node.refresh(at(21));
        assert_eq!((node.state(), node.bandwidth()), ((0, 1.0), Rate::ZERO));
    }

    #[test]
    fn a_bandwidth_that_the_owner_set_overrides_the_estimates() {
        let mut node = Node::new(Adapter::default(), Some(mbits(80)));
        let granted = node.join(at(0), 'a', priority(1), mbits(5000));
        assert_eq!(granted.allocated, mbits(80));
        // A later opening with another priority.
        node.join(at(0), 'b', priority(1), mbits(80));
        let granted = node.join(at(0), 'b', priority(3), mbits(80));
        assert_eq!(granted.allocated, mbits(60));
    }

    #[test]
    fn a_full_list_grants_a_share_without_listing_the_flow() {
        let mut node = node();
        let most = MAX_MEMBERS as u32;
        for key in 0..most {
            node.listed.push(Listed {
                key,
                priority: priority(1),
                estimate: mbits(4097),
                delivered: Rate::ZERO,
                heard: at(0),
            });
        }
        let granted = node.join(at(1), most, priority(1), Rate::from_bits_per_sec(u64::MAX));
        assert_eq!(
            (granted.bandwidth, granted.allocated),
            (mbits(4097), mbits(1))
        );
        assert_eq!(node.state().0, most);
        assert_eq!(node.on_burst(at(1), most, mbits(1)), None);
        // One that is listed is updated; once the silent ones have left, there is room.
        node.join(at(9), 5, priority(1), mbits(100));
        assert_eq!(node.state().0, most);
        node.join(at(11), most, priority(1), mbits(100));
        assert_eq!(node.state().0, 2);
    }

    proptest! {
        #[test]
        fn any_flows_give_shares_within_the_bandwidth(
            steps in prop::collection::vec(
                (0u8..4, 0u32..20, 1u8..=8, any::<u64>(), 0u64..4),
                1..200,
            ),
        ) {
            let (mut node, mut now) = (node(), Time::ZERO);
            for (kind, key, p, rate, later) in steps {
                now += Duration::from_secs(later);
                let rate = Rate::from_bits_per_sec(rate);
                match kind {
                    0 => node.leave(now, key),
                    1 => {
                        let granted = node.join(now, key, priority(p), rate);
                        prop_assert!(granted.allocated <= granted.bandwidth);
                        prop_assert!(granted.bandwidth <= bounded_rate(u64::MAX));
                    }
                    _ => if let Some(share) = node.on_burst(now, key, rate) {
                        prop_assert!((0.0..=1.0 + 1e-9).contains(&share.fairness));
                        prop_assert!(share.adapter.is_finite());
                        prop_assert!(share.allocated <= node.bandwidth());
                    },
                }
                let bits: u64 = node.members().map(|m| m.allocated.as_bits_per_sec()).sum();
                // Each share is rounded to the nearest bit/s.
                prop_assert!(bits <= node.bandwidth().as_bits_per_sec() + 20);
            }
        }
    }
}
