//! The interface of algorithms for a transport that sends in bursts: its events, and the plans that
//! it receives. Plain values: any transport that can report the arrival of a burst's first and last
//! packets can fill them in.

use crate::interface::verdict::LossResponse;
use std::fmt::Debug;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// The congestion control of a flow that sends in bursts: the transport reports the bandwidth of
/// the path and the fate of each burst, the controller plans the next one.
///
/// The transport calls [`on_bandwidth`](Self::on_bandwidth) once it has measured the path, then
/// [`on_burst`](Self::on_burst) for each report, and asks for a [`plan`](Self::plan) before each
/// burst.
pub trait BurstController: Send + Sync + Debug {
    /// Invoked when the transport has measured the bandwidth of the path.
    fn on_bandwidth(&mut self, bandwidth: &Bandwidth);

    /// Invoked when the receiver has reported a burst. Returns the response to its losses, if it
    /// had any.
    fn on_burst(&mut self, burst: &BurstReport) -> Option<LossResponse>;

    /// Invoked when the maximum payload of one packet changes.
    fn on_mss(&mut self, mss: Bytes);

    /// How the next burst is sent; `None` before the first [`on_bandwidth`](Self::on_bandwidth).
    fn plan(&self) -> Option<BurstPlan>;

    /// The number of bytes that are in flight at the present rate, at least one packet; the initial
    /// window before the first report. For displays: a transport follows the [`plan`](Self::plan).
    fn flight(&self) -> Bytes;

    /// Whether the algorithm distinguishes random loss from congestion: its responses to losses
    /// then carry a verdict.
    fn classifies_losses(&self) -> bool;

    /// Its present state in a word, for traces.
    fn phase(&self) -> &'static str;
}

/// The transport measured the bandwidth of the path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bandwidth {
    /// The time of the result.
    pub now: Time,
    /// The bandwidth, including headers.
    pub rate: Rate,
    /// Size of a full packet on the wire, including headers: the unit of `rate` and of all bursts.
    pub packet: Bytes,
    /// The bandwidth that the receiving node allocates to this flow; `None` if it allocates none.
    pub allocated: Option<Rate>,
    /// Sending begins, or resumes after a halt: the algorithm sets its sending rate from this
    /// estimate. Otherwise the estimate was renewed while data flows.
    pub restart: bool,
    /// The measurement has no error of its own: a simulator's clocks. Otherwise `rate` may be a few
    /// percent too high, and then a queue may stand full without any jitter.
    pub exact: bool,
}

/// How the next burst is sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BurstPlan {
    /// Its packets are spaced evenly at this rate, including headers.
    pub rate: Rate,
    /// The number of packets by which it exceeds the burst before it, by the algorithm's own
    /// increase; a fraction, not negative.
    pub increase: f64,
}

/// The receiver's report on one burst.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BurstReport {
    /// The arrival time of the report.
    pub now: Time,
    /// Packets sent in the burst; at least 1.
    pub packets: u32,
    /// Packets that arrived.
    pub received: u32,
    /// Packets of earlier bursts that this report declares lost (after an outage, entire bursts).
    pub lost_before: u32,
    /// The duration of sending it (T_burst).
    pub interval: Duration,
    /// [`BurstPlan::increase`] when it was sent.
    pub increase: f64,
    /// Intervals between the first and the last packet that arrived; `None` if fewer than two did.
    pub spans: Option<Spans>,
    /// From the sending of its last packet to the arrival of the report, unless the report was
    /// retransmitted.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 6298 section 2).
    pub srtt: Duration,
    /// Minimum round-trip time of the connection so far.
    pub min_rtt: Duration,
    /// The noise of a Jitter Ratio on this path, as the transport measured it: a smaller stretch
    /// means nothing. 0 if it measures none; 1 or more if the times of arrival are so coarse that
    /// spans say nothing at all.
    pub noise: f64,
    /// The receiving node's view of the flow, if the node divides its bandwidth among several
    /// flows.
    pub share: Option<Share>,
}

impl BurstReport {
    /// Whether a packet is missing.
    pub fn has_loss(&self) -> bool {
        self.received < self.packets || self.lost_before > 0
    }
}

/// The intervals between the first and the last packet of a burst that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spans {
    /// Between their departures, by the sender's clock.
    pub sent: Duration,
    /// Between their arrivals, by the receiver's clock.
    pub received: Duration,
}

impl Spans {
    /// Jr: the fraction of its length at arrival by which a burst was stretched, at most 1,
    /// negative if it was compressed; `None` if it arrived in no time. Briones et al., Electronics
    /// 2021, 10, 987, equation (10).
    pub fn jitter_ratio(&self) -> Option<f64> {
        let sent = self.sent.as_nanos() as f64;
        let received = self.received.as_nanos() as f64;
        (received > 0.0).then(|| (received - sent) / received)
    }
}

/// A flow as seen by the node that receives it among others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// The rate that its priority entitles it to, including headers (Vm).
    pub allocated: Rate,
    /// The rate at which it arrives, including headers (V).
    pub delivered: Rate,
    /// Weighted fairness of all flows of the node (WF), 0 to 1.
    pub fairness: f64,
    /// Packets per burst by which it should change to make the node fair (Delta); negative: fewer.
    pub adapter: f64,
}
