//! QUIC transport parameters for long, fast and lossy paths.
//!
//! The reference path has 1 Gbit/s and 200 ms: 25 MB in flight, and as much again that waits one
//! more round trip for lost data. Every buffer of a connection is limited to about that.

use crate::blocks::CHUNK;
use crate::wire::CHUNK_HEADER;
use noq_proto::{PathId, TransportConfig, VarInt};
use std::time::Duration;
use whimbrel_quic::endpoint::{Connection, MAX_LINKS};
use whimbrel_units::{Duration as Span, Rate};

/// Chunks in transit at once. A stream counts until its receiver has read all of it.
pub(crate) const STREAMS: u32 = 128;
/// Maximum data that a sender holds unacknowledged, bytes, and that a receiver holds while chunks
/// are read in order. What is behind gaps is taken from noq at once, so a receiver whose disk is
/// slow holds up to [`STREAMS`] chunks.
const WINDOW: u32 = 64 << 20;
/// The receiver's maximum before the client has shown its token, bytes.
const UNAUTHENTICATED_WINDOW: u32 = 64 << 10;
/// Maximum number of concurrent requests before the client is authenticated, and after that.
const REQUESTS: u32 = 8;
const AUTHENTICATED_REQUESTS: u32 = 128;

/// The least data under way at a limited rate, bytes.
const LIMITED_WINDOW: u32 = 32 << 10;
/// Paths that a client may have at once: one over each of its links.
const PATHS: u32 = MAX_LINKS as u32;

/// Time between packets that keep an idle pipe open: NATs forget UDP after 30 s and more.
const PIPE_KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Parameters of both sides. The connection is closed when the peer is silent for `idle`.
fn common(idle: Span) -> TransportConfig {
    let mut config = TransportConfig::default();
    config
        .max_idle_timeout(Some(VarInt::from_u32(milliseconds(idle)).into()))
        // A chunk fits the stream's window, so no stream waits for credit of its own.
        .stream_receive_window(VarInt::from_u32((CHUNK as usize + CHUNK_HEADER) as u32))
        .send_window(WINDOW.into())
        // Send streams in the order written, so that the oldest chunk is complete first.
        .send_fairness(false)
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .max_concurrent_bidi_streams(VarInt::from_u32(0));
    whimbrel_quic::tolerate_reordering(&mut config);
    whimbrel_quic::request_prompt_acks(&mut config);
    config
}

/// The sender's parameters without the congestion controller.
pub(crate) fn client(idle: Span) -> TransportConfig {
    let mut config = common(idle);
    // Keeps the connection alive while the server flushes a large file to disk.
    config.keep_alive_interval(Some(Duration::from(idle) / 4));
    config
}

/// The parameters of a client with pipes, which carry as much in either direction.
pub(crate) fn piping_client(idle: Span) -> TransportConfig {
    let mut config = client(idle);
    config
        .receive_window(VarInt::from_u32(WINDOW))
        .max_concurrent_uni_streams(VarInt::from_u32(STREAMS))
        // A peer that is gone is noticed, and NATs keep the way open.
        .keep_alive_interval(Some(PIPE_KEEP_ALIVE));
    config
}

/// The receiver's parameters for a client that has not shown its token.
pub(crate) fn server(idle: Span) -> TransportConfig {
    let mut config = common(idle);
    agree_to_paths(&mut config);
    config
        .receive_window(VarInt::from_u32(UNAUTHENTICATED_WINDOW))
        .max_concurrent_bidi_streams(VarInt::from_u32(REQUESTS));
    config
}

/// Lets an authenticated client make more requests at once.
pub(crate) fn admit_requests(connection: &Connection) {
    connection.set_max_concurrent_bi_streams(VarInt::from_u32(AUTHENTICATED_REQUESTS));
}

/// Lets the connection have several paths, if the peer agrees. A server always does.
pub(crate) fn agree_to_paths(config: &mut TransportConfig) {
    config.max_concurrent_multipath_paths(PATHS);
}

/// Raises the limits for a client that has shown its token.
pub(crate) fn admit(connection: &Connection) {
    connection.set_receive_window(VarInt::from_u32(WINDOW));
    connection.set_max_concurrent_uni_streams(VarInt::from_u32(STREAMS));
}

/// Lets the peer have no more data under way than `rate` needs on this path: what the receiver does
/// not take yet waits at the sender.
pub(crate) fn limit_rate(connection: &Connection, rate: Rate) {
    let rtt = connection
        .path_stats(PathId::ZERO)
        .map_or(Duration::ZERO, |path| path.rtt);
    let time = (2 * rtt).max(Duration::from_millis(100));
    let window = rate.as_bits_per_sec() as f64 / 8.0 * time.as_secs_f64();
    let window = (window as u32).clamp(LIMITED_WINDOW, WINDOW);
    connection.set_receive_window(VarInt::from_u32(window));
}

fn milliseconds(span: Span) -> u32 {
    u32::try_from(span.as_nanos() / 1_000_000).unwrap_or(u32::MAX)
}
