//! A connection that was measured on a real network: what [figures](crate::figures::measured()) and
//! [logs](crate::trace::measured()) show of it.

use std::net::SocketAddr;
use whimbrel_cc::Verdict;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// A measured connection. All times are since one origin, the same for all connections that are
/// shown together.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Its congestion controller, as chosen by the user: `cerl?A=0.6`.
    pub protocol: String,
    /// Its name in legends and titles.
    pub label: String,
    /// Its own address and port.
    pub local: SocketAddr,
    /// The peer's address and port.
    pub remote: SocketAddr,
    /// Its state over time, in order.
    pub points: Vec<Point>,
    /// The decisions of its loss classifier, in order.
    pub decisions: Vec<Decision>,
}

/// The state of a connection at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The time.
    pub at: Time,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow start threshold, if the algorithm has set one.
    pub ssthresh: Option<Bytes>,
    /// Pacing rate, if the algorithm sets one.
    pub pacing_rate: Option<Rate>,
    /// The algorithm's phase.
    pub phase: &'static str,
    /// Bytes in flight.
    pub in_flight: Bytes,
    /// Last RTT sample; zero before the first one.
    pub rtt: Duration,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Duration,
    /// Bytes acknowledged so far.
    pub acked: Bytes,
    /// Packets declared lost so far.
    pub lost: u64,
}

/// One decision of a loss classifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// The time of the decision.
    pub at: Time,
    /// Sequence number of the first lost segment, as on the wire.
    pub sequence: u32,
    /// The assumed cause.
    pub verdict: Verdict,
    /// The true cause, if the path reports it.
    pub truth: Option<Verdict>,
}
