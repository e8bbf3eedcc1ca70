//! quinn-proto: the protocol state machine of quinn. Its congestion controllers are New Reno, CUBIC
//! and BBR (version 1, which it calls experimental). As `whimbrel-quinn` it has those of this
//! project that set no pacing rate, through their adapter.

use super::quinn_family::{adapted, controllers, endpoint};
use bytes::BytesMut;
use quinn_proto::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use std::net::SocketAddr;

endpoint!(quinn_proto);

controllers!("newreno": NewRenoConfig, "cubic": CubicConfig, "bbr": BbrConfig);

adapted!(whimbrel_quinn::Factory);

fn new_endpoint(
    config: Arc<EndpointConfig>,
    server: Option<Arc<ServerConfig>>,
) -> quinn_proto::Endpoint {
    quinn_proto::Endpoint::new(config, server, true, None)
}

fn handle(
    endpoint: &mut quinn_proto::Endpoint,
    now: Instant,
    remote: SocketAddr,
    ecn: Option<EcnCodepoint>,
    datagram: &[u8],
    response: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, remote, None, ecn, BytesMut::from(datagram), response)
}

fn poll_transmit(
    connection: &mut Connection,
    now: Instant,
    datagram: &mut Vec<u8>,
) -> Option<quinn_proto::Transmit> {
    connection.poll_transmit(now, 1, datagram)
}

fn figures(connection: &mut Connection) -> EndpointReport {
    let path = connection.stats().path;
    let metrics = connection.congestion_state().metrics();
    EndpointReport {
        cwnd: Some(path.cwnd),
        ssthresh: metrics.ssthresh.filter(|ssthresh| *ssthresh < u64::MAX),
        srtt: Some(path.rtt),
        pacing_rate: metrics.pacing_rate,
        lost: Some(path.lost_packets),
        episodes: Some(path.congestion_events),
        ..EndpointReport::default()
    }
}
