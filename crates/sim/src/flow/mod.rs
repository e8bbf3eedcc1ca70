//! Flows: the interface between the engine and the transports, and the kinds of flows there are.
//!
//! The engine drives every flow through the trait in [`interface`]. TCP, multipath connections,
//! AATP and UDP implement it, each in its own folder. [`dispatch`] is the only file that lists the
//! kinds.

pub(crate) mod dispatch;
pub(crate) mod interface;
pub(crate) mod report;
