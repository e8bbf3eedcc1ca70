//! quinn-proto: the protocol state machine of quinn. Its congestion controllers are New Reno, CUBIC
//! and BBR (version 1, which it calls experimental). As `whimbrel-quinn` it has those of this
//! project that set no pacing rate, through their adapter.

use super::quinn_family::endpoint;
use bytes::BytesMut;
use quinn_proto::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use std::net::SocketAddr;
use whimbrel_cc::Spec;
use whimbrel_quinn::Factory;

endpoint!(quinn_proto);

/// Both ends of a connection with this controller; `None` if quinn has no such controller.
pub(crate) fn connect(controller: &str, seed: u64) -> Option<[Box<dyn Endpoint>; 2]> {
    Some(match controller {
        "newreno" => open(
            |transport| {
                let factory = Arc::new(NewRenoConfig::default());
                transport.congestion_controller_factory(factory);
            },
            seed,
        ),
        "cubic" => open(
            |transport| {
                transport.congestion_controller_factory(Arc::new(CubicConfig::default()));
            },
            seed,
        ),
        "bbr" => open(
            |transport| {
                transport.congestion_controller_factory(Arc::new(BbrConfig::default()));
            },
            seed,
        ),
        _ => return None,
    })
}

/// Both ends of a connection with this project's controller; `None` if it is unknown or quinn cannot
/// run it.
pub(crate) fn connect_whimbrel(controller: &str, seed: u64) -> Option<[Box<dyn Endpoint>; 2]> {
    let spec: Spec = controller.parse().ok()?;
    let factory = Factory::new(spec).ok()?.seed(seed);
    let set = |transport: &mut TransportConfig| {
        transport.congestion_controller_factory(Arc::new(factory));
    };
    Some(open(set, seed))
}

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

fn figures(connection: &mut Connection) -> Report {
    let path = connection.stats().path;
    let metrics = connection.congestion_state().metrics();
    Report {
        cwnd: Some(path.cwnd),
        ssthresh: metrics.ssthresh.filter(|ssthresh| *ssthresh < u64::MAX),
        srtt: Some(path.rtt),
        pacing_rate: metrics.pacing_rate,
        lost: Some(path.lost_packets),
        episodes: Some(path.congestion_events),
        ..Report::default()
    }
}
