//! TCP: two endpoints, each with a sending half, a receiving half, or both.
//!
//! Sequence numbers count segments. A connection begins with a handshake (SYN, SYN/ACK) whose round
//! trip gives the first RTT sample. There is no teardown: a flow is complete when its data has
//! arrived.

mod endpoint;
mod flow;
mod forger;
mod receiver;
mod sender;
mod trace;

pub(crate) use endpoint::Endpoint;
pub(crate) use flow::Connection;
pub(crate) use sender::{Mapping, Note, Sender, if_finite};
pub(crate) use trace::Trace;

use whimbrel_units::Bytes;

/// Number of segments for `size` bytes (`u32::MAX`: endless), and the payload of the last one.
pub(crate) fn segments(size: Option<Bytes>, mss: Bytes) -> (u32, u32) {
    let Some(size) = size else {
        return (u32::MAX, mss.get() as u32);
    };
    let segments = size.get().div_ceil(mss.get());
    let last = size.get() - segments.saturating_sub(1) * mss.get();
    let segments = u32::try_from(segments).unwrap_or(u32::MAX);
    (segments.min(u32::MAX - 1), last as u32)
}
