//! A connection that was measured on a real network: what [figures](crate::figures::measured()) and
//! [logs](crate::trace::measured()) show of it.

use std::net::SocketAddr;
use whimbrel_cc::connection::{ConnectionState, Decision};

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
    pub points: Vec<ConnectionState>,
    /// The decisions of its loss classifier, in order.
    pub decisions: Vec<Decision>,
}
