//! QUIC's settings for long, fat and lossy paths.
//!
//! The yardstick is 1 Gbit/s x 200 ms: 25 MB in flight, and as much again waiting for what was lost
//! (one more round trip). Everything that holds data is bounded at about that, per connection.

use crate::chunks::CHUNK;
use crate::wire::CHUNK_HEADER;
use noq::{MtuDiscoveryConfig, TransportConfig, VarInt};
use std::time::Duration;
use whimbrel_units::Duration as Span;

/// Chunks under way at once. A stream counts until its receiver has read all of it.
pub(crate) const STREAMS: u32 = 128;
/// Data a receiver holds for streams that have gaps, and a sender for what is not yet acknowledged.
const WINDOW: u32 = 64 << 20;
/// The same before a client has shown its token.
const STRANGER_WINDOW: u32 = 64 << 10;
/// Requests at once.
const REQUESTS: u32 = 8;

/// What both sides have in common. `idle`: a peer silent for so long is gone.
fn common(idle: Span) -> TransportConfig {
    let mut config = TransportConfig::default();
    let mut mtu = MtuDiscoveryConfig::default();
    // Ethernet's 1500 less IPv6 and UDP. Jumbo datagrams are not worth what they cost when a path
    // changes. A loss burst can look like a black hole: look again soon.
    mtu.upper_bound(1452)
        .black_hole_cooldown(Duration::from_secs(10));
    config
        .mtu_discovery_config(Some(mtu))
        .max_idle_timeout(Some(VarInt::from_u32(milliseconds(idle)).into()))
        // A chunk fits its stream's window: no stream ever waits for credit of its own.
        .stream_receive_window(VarInt::from_u32((CHUNK as usize + CHUNK_HEADER) as u32))
        .send_window(WINDOW.into())
        // Streams in the order written, so that the oldest chunk is finished first.
        .send_fairness(false)
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(None);
    config
}

/// The sender's, but for its congestion controller.
pub(crate) fn client(idle: Span) -> TransportConfig {
    let mut config = common(idle);
    // While the server flushes a large file to disk nothing else would be said.
    config.keep_alive_interval(Some(Duration::from(idle) / 4));
    config
}

/// The receiver's, for a client that has not shown its token.
pub(crate) fn server(idle: Span) -> TransportConfig {
    let mut config = common(idle);
    config
        .receive_window(VarInt::from_u32(STRANGER_WINDOW))
        .max_concurrent_bidi_streams(VarInt::from_u32(REQUESTS));
    config
}

/// What a client may do once it has shown its token.
pub(crate) fn admit(connection: &noq::Connection) {
    connection.set_receive_window(VarInt::from_u32(WINDOW));
    connection.set_max_concurrent_uni_streams(VarInt::from_u32(STREAMS));
}

fn milliseconds(span: Span) -> u32 {
    u32::try_from(span.as_nanos() / 1_000_000).unwrap_or(u32::MAX)
}
