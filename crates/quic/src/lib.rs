//! Whimbrel's congestion control algorithms on the noq QUIC transport.
//!
//! Any application on noq 1.4 can use one:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use whimbrel_quic::Factory;
//!
//! let factory = Factory::new("newreno".parse()?)?;
//! let monitor = factory.monitor(); // the state of the algorithm, readable at any time
//! let mut transport = noq_proto::TransportConfig::default();
//! transport.congestion_controller_factory(Arc::new(factory));
//! assert_eq!(monitor.snapshot().episodes.episodes, 0);
//! # Ok(())
//! # }
//! ```
//!
//! * [`Factory`] builds an [`Adapter`] for every path of every connection.
//! * [`Adapter`] turns noq's calls (one per packet) into calls of [`whimbrel_cc::Controller`] (one
//!   per ACK frame, one per loss episode), by the rules of RFC 9002.
//! * [`Monitor`] lets the application read the controller's state, because noq does not expose it.
//!
//! noq applies the congestion window and, where the algorithm sets one, the pacing rate. Otherwise
//! noq paces at 5/4 of a window per round trip (RFC 9002 section 7.7).

mod adapter;
#[cfg(test)]
mod algorithms_tests;
mod bursts;
mod control;
pub mod decoders;
pub mod endpoint;
mod factory;
mod feedback;
pub mod key_exchange;
mod monitor;
mod packet_log;
mod path_traffic;
mod prompt_acks;
mod reordering;
mod siblings;
#[cfg(test)]
mod tests;
mod uncontrolled;
#[cfg(test)]
mod whimbrel_tests;

pub use adapter::Adapter;
pub use factory::{Factory, UnsupportedController};
pub use feedback::{Member, SharedNode};
pub use monitor::{Burst, Bursts, Monitor, Snapshot};
pub use packet_log::PacketLog;
pub use prompt_acks::request_prompt_acks;
pub use reordering::tolerate_reordering;
pub use uncontrolled::Uncontrolled;
