//! Clients for tests of what carries datagrams.

use super::{adapt, endpoint};
use crate::credentials::identity::SERVER_NAME;
use crate::credentials::tls;
use noq_proto::{ClientConfig, EndpointConfig, TransportConfig};
use std::net::SocketAddr;
use std::sync::Arc;
use whimbrel_cc::fairness::Priority;
use whimbrel_quic::Factory;
use whimbrel_quic::endpoint::{Connecting, Endpoint};
use whimbrel_quic::key_exchange::AcceptedGroups;

/// An endpoint, and an attempt to connect over it.
pub(crate) fn attempt(peer: SocketAddr) -> (Endpoint, Connecting) {
    let endpoint = Endpoint::carried(endpoint(EndpointConfig::default()), None, peer);
    let (crypto, _pin) = tls::client_config(None, AcceptedGroups::default()).expect("TLS");
    let mut transport = TransportConfig::default();
    adapt(&mut transport);
    let config = ClientConfig::new(Arc::new(crypto));
    let config = Factory::uncontrolled().client(config, transport, Priority::HIGHEST);
    let connecting = endpoint.connect(config, peer, SERVER_NAME);
    (endpoint, connecting.expect("a configuration"))
}
