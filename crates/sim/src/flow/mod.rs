//! The interface between the engine and the transports.
//!
//! The engine drives every flow through the trait in [`interface`]. TCP, multipath connections,
//! AATP and UDP implement it, each in its own folder; [`crate::any_flow`] lists them.

pub(crate) mod interface;
pub(crate) mod report;
