//! A TCP connection: two endpoints, each with the halves it needs.
//!
//! Sequence numbers count segments; a connection begins with a handshake (SYN, SYN/ACK) whose round trip is
//! the first RTT sample. There is no tear-down: a flow is over when its data is acknowledged.

mod endpoint;
mod forger;
mod nack;
mod receiver;
mod sender;

pub(crate) use endpoint::Endpoint;
pub(crate) use sender::{Mapping, Sender};
