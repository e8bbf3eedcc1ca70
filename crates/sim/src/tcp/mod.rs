//! A TCP connection: two endpoints, each with the halves it needs.
//!
//! Sequence numbers count segments; a connection begins with a handshake (SYN, SYN/ACK) whose round trip is
//! the first RTT sample. There is no tear-down: a flow is over when its data is acknowledged.

mod endpoint;
mod flow;
mod forger;
mod nack;
mod receiver;
mod sender;
mod trace;

pub(crate) use endpoint::Endpoint;
pub(crate) use flow::Connection;
pub(crate) use sender::{Mapping, Note, Sender, earliest};
pub(crate) use trace::Trace;

use whimbrel_units::Bytes;

/// How many segments carry so many bytes (`u32::MAX` if they never end), and the bytes of the last of them.
pub(crate) fn segments(size: Option<Bytes>, mss: Bytes) -> (u32, u32) {
    let Some(size) = size else {
        return (u32::MAX, mss.get() as u32);
    };
    let segments = size.get().div_ceil(mss.get());
    let last = size.get() - segments.saturating_sub(1) * mss.get();
    let segments = u32::try_from(segments).unwrap_or(u32::MAX);
    (segments.min(u32::MAX - 1), last as u32)
}
