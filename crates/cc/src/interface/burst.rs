//! What a transport that sends in bursts tells an algorithm, and is told by it. Plain values: any transport that
//! can report when a burst's first and last packets arrived can fill them in.

use whimbrel_units::{Bytes, Duration, Rate, Time};

/// What the path passes was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bandwidth {
    /// When it became known.
    pub now: Time,
    /// What the path passes, headers included.
    pub rate: Rate,
    /// Size of a full packet on the wire, headers included: what `rate` and all bursts are counted in.
    pub packet: Bytes,
    /// What the receiving node allots to this flow of it; `None` if it allots nothing.
    pub allocated: Option<Rate>,
    /// Sending starts, or starts anew after it was halted: the sending rate is set from this. Otherwise the estimate was
    /// renewed while data flows.
    pub restart: bool,
}

/// How the next burst leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BurstPlan {
    /// Its packets leave evenly spaced at this rate, headers included.
    pub rate: Rate,
    /// Packets that it has more than the one before it, by the law's own increase; a fraction, not negative.
    pub increase: f64,
}

/// What became of one burst.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BurstReport {
    /// When the report arrived.
    pub now: Time,
    /// Packets that were sent in it; at least 1.
    pub packets: u32,
    /// How many of them arrived.
    pub received: u32,
    /// Packets of earlier bursts that are reported lost together with this one (after an outage whole bursts are missing).
    pub lost_before: u32,
    /// The span over which it was sent (T_burst).
    pub interval: Duration,
    /// [`BurstPlan::increase`] when it left.
    pub increase: f64,
    /// How far apart its first and last packet left and arrived; `None` if fewer than two arrived.
    pub spans: Option<Spans>,
    /// From the sending of its last packet to the arrival of the report, if the report was not sent again.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 6298 section 2).
    pub srtt: Duration,
    /// Least round-trip time of the connection so far.
    pub min_rtt: Duration,
    /// The receiving node's view of the flow, if it shares its bandwidth among several.
    pub share: Option<Share>,
}

impl BurstReport {
    /// Whether anything is missing.
    pub fn has_loss(&self) -> bool {
        self.received < self.packets || self.lost_before > 0
    }
}

/// How far apart the first and the last packet of a burst that arrived were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spans {
    /// Between their departures, by the sender's clock.
    pub sent: Duration,
    /// Between their arrivals, by the receiver's clock.
    pub received: Duration,
}

/// A flow as the node sees it that receives it among others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// What it is allotted by its priority, headers included (Vm).
    pub allocated: Rate,
    /// What arrives of it, headers included (V).
    pub delivered: Rate,
    /// Weighted fairness of all flows of the node (WF), 0 to 1.
    pub fairness: f64,
    /// Packets per burst by which it should change to make the node fair (Delta); negative: less.
    pub adapter: f64,
}
