//! The destination node of sections 4 and 5 of the Enhanced-AATP paper, shared by all connections
//! of an endpoint.

use super::message::{Grant, Share};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use whimbrel_cc::burst_transport::{Granted, Node};
use whimbrel_cc::fairness::{Adapter, Priority};
use whimbrel_units::{Duration, Rate, Time};

/// A node that receives the flows of several connections, and divides its bandwidth among them by
/// their priorities. Clones share it.
#[derive(Debug, Clone)]
pub struct SharedNode(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    origin: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    node: Node<u64>,
    next_key: u64,
}

/// A flow that a node receives, for a display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Which flow it is: [`Connection::flow`](crate::endpoint::Connection::flow).
    pub key: u64,
    /// Its priority.
    pub priority: Priority,
    /// The rate at which it arrives, headers included (V); zero before its first burst.
    pub delivered: Rate,
    /// The rate that its priority entitles it to (Vm).
    pub allocated: Rate,
}

impl SharedNode {
    /// A node without flows. `bandwidth`: that of its link, headers included, if it is known; else
    /// it is the maximum that the trains of its flows measure.
    pub fn new(adapter: Adapter, bandwidth: Option<Rate>) -> Self {
        Self(Arc::new(Inner {
            origin: Instant::now(),
            state: Mutex::new(State {
                node: Node::new(adapter, bandwidth),
                next_key: 0,
            }),
        }))
    }

    /// The flows that it receives now, and their weighted fairness (WF), 0 to 1.
    pub fn members(&self, now: Instant) -> (Vec<Member>, f64) {
        let now = self.time(now);
        let mut state = self.lock();
        state.node.refresh(now);
        let members = state.node.members().map(|m| Member {
            key: m.key,
            priority: m.priority,
            delivered: m.delivered,
            allocated: m.allocated,
        });
        (members.collect(), state.node.state().1)
    }

    /// A key that no other flow has.
    pub(crate) fn key(&self) -> u64 {
        let mut state = self.lock();
        state.next_key += 1;
        state.next_key
    }

    fn time(&self, now: Instant) -> Time {
        Time::ZERO + Duration::from(now.saturating_duration_since(self.0.origin))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for SharedNode {
    fn default() -> Self {
        Self::new(Adapter::default(), None)
    }
}

/// A connection's place in a node. It leaves the node when it is dropped.
#[derive(Debug)]
pub(crate) struct Membership {
    node: SharedNode,
    key: u64,
    priority: Priority,
}

impl Membership {
    /// A place for a flow of this priority. It is not on the list before its bandwidth is known.
    pub fn new(node: SharedNode, key: u64, priority: Priority) -> Self {
        Self {
            node,
            key,
            priority,
        }
    }

    /// The key of the flow.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// Its priority.
    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// What it may use if the bandwidth of the node is known without measuring; it is then on the
    /// list.
    pub fn known(&self, now: Instant) -> Option<Grant> {
        let known = self.node.lock().node.known()?;
        Some(self.join(now, known))
    }

    /// Its trains measured this bandwidth: puts it on the list.
    pub fn join(&self, now: Instant, measured: Rate) -> Grant {
        let now = self.node.time(now);
        let Granted {
            bandwidth,
            allocated,
        } = self
            .node
            .lock()
            .node
            .join(now, self.key, self.priority, measured);
        Grant {
            bandwidth: bandwidth.as_bits_per_sec(),
            allocated: allocated.as_bits_per_sec(),
        }
    }

    /// A burst arrived at this rate.
    pub fn on_burst(&self, now: Instant, delivered: Rate) -> Option<Share> {
        let now = self.node.time(now);
        let share = self.node.lock().node.on_burst(now, self.key, delivered)?;
        Some(Share {
            allocated: share.allocated.as_bits_per_sec(),
            delivered: share.delivered.as_bits_per_sec(),
            fairness: share.fairness,
            adapter: share.adapter,
        })
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        // The time of the last event: the node drops silent flows by later ones.
        let mut state = self.node.lock();
        let now = self.node.time(Instant::now());
        state.node.leave(now, self.key);
    }
}
