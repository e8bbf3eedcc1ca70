//! How a receiver behind a NAT is reached.
//!
//! A NAT passes a packet from outside on if one went out to its address and port before, from the
//! same socket. The meeting server tells each end where the other one's packets come from, so both
//! send there: the sender connects, from the socket of its meeting, and the receiver opens the way
//! to the socket of its server (RFC 5128, section 3.3). Where a NAT gives each destination another
//! port (address-dependent mapping, RFC 4787), neither reaches the other, and the meeting server
//! carries what they send.

use crate::credentials::identity::SERVER_NAME;
use crate::credentials::tls;
use noq_proto::ClientConfig;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use whimbrel_quic::endpoint::Endpoint;
use whimbrel_quic::key_exchange::AcceptedGroups;

/// So long the receiver sends; the sender has given up before.
const OPENING: Duration = Duration::from_secs(5);

/// Opens the way for packets from `other` through the NATs in front of `endpoint`: starts a
/// handshake that nobody answers, whose packets leave at once, after one second and after three. If
/// this fails, the meeting server carries the data.
pub(super) async fn open_way(endpoint: &Endpoint, other: SocketAddr) {
    let Ok((crypto, _)) = tls::client_config(None, AcceptedGroups::default()) else {
        return;
    };
    let config = ClientConfig::new(Arc::new(crypto));
    if let Ok(attempt) = endpoint.connect(config, other, SERVER_NAME) {
        timeout(OPENING, attempt).await.ok();
    }
}
