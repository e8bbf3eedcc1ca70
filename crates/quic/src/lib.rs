//! Whimbrel's congestion control algorithms on the noq QUIC transport.
//!
//! Any user of noq 1.4 can take one:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use whimbrel_quic::Factory;
//!
//! let factory = Factory::new("newreno".parse()?)?;
//! let monitor = factory.monitor(); // what the algorithm is doing, readable at any time
//! let mut transport = noq_proto::TransportConfig::default();
//! transport.congestion_controller_factory(Arc::new(factory));
//! assert_eq!(monitor.snapshot().episodes, 0);
//! # Ok(())
//! # }
//! ```
//!
//! * [`Factory`] builds an [`Adapter`] for every path of every connection that uses it.
//! * [`Adapter`] turns noq's calls, one per packet, into what [`whimbrel_cc::Controller`] is told,
//!   one per acknowledgment and one per episode of loss, by RFC 9002's rules.
//! * [`Monitor`] is how the application watches, since noq keeps the controller to itself.
//!
//! noq obeys both answers: the window, and the pacing rate where the algorithm has one. Where it has
//! none, noq paces at 5/4 of a window per round trip (RFC 9002 section 7.7).

mod adapter;
mod factory;
mod flight;
mod monitor;
mod rounds;
mod rtt;
#[cfg(test)]
mod tests;

pub use adapter::Adapter;
pub use factory::{Factory, NotCarried};
pub use monitor::{Monitor, Sample, Snapshot, Verdicts};
