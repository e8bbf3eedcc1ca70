//! AATP flows and the nodes that receive them.

use whimbrel_cc::Spec;
use whimbrel_cc::fairness::{Adapter, Priority};
use whimbrel_units::{Bytes, Duration, Rate};

/// A node that receives AATP flows and shares its bandwidth among them by their priorities.
#[derive(Debug, Clone, PartialEq)]
pub struct Destination {
    /// As in the scenario.
    pub name: String,
    /// It lies at the end of a flow's own copy of a link, so no other flow shares it.
    pub is_copy: bool,
    /// How strongly it corrects unfairness.
    pub adapter: Adapter,
    /// The rate that it can receive; `None`: it is estimated.
    pub bandwidth: Option<Rate>,
}

/// An AATP connection.
#[derive(Debug, Clone)]
pub struct AatpFlow {
    /// Its congestion control algorithm; one that uses reports about bursts.
    pub controller: Spec,
    /// How much to send; endless when `None`.
    pub size: Option<Bytes>,
    /// Its priority at the destination.
    pub priority: Priority,
    /// Index in [`Network::destinations`](super::Network::destinations) of the node that receives
    /// it.
    pub destination: usize,
    /// The protocol's settings.
    pub settings: AatpSettings,
}

/// Settings of an AATP connection. The defaults are the paper's configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AatpSettings {
    /// Size of a full packet on the wire, headers included.
    pub packet: Bytes,
    /// Resolution of the system's timers: the minimum interval between bursts (5).
    pub timer: Duration,
    /// A sender that receives nothing for this long (at most for 10 RTT + 1 s) stops and only
    /// probes now and then whether the path is back (RFC 8084). `None`: it never stops, as in the
    /// paper.
    pub circuit_breaker: Option<Duration>,
    /// Measures the path again with a packet train at this interval, while data flows. `None`:
    /// never, as in the paper.
    pub reestimate: Option<Duration>,
}

impl Default for AatpSettings {
    fn default() -> Self {
        Self {
            packet: Bytes::new(1500),
            timer: Duration::from_millis(1),
            circuit_breaker: None,
            reestimate: None,
        }
    }
}
