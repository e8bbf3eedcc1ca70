//! noq-proto: the protocol state machine of noq, with its own congestion controllers (New Reno,
//! CUBIC, BBRv3), and as `whimbrel-quic` with those of this project through its adapter.

use super::quinn_family::endpoint;
use bytes::BytesMut;
use noq_proto::congestion::{Bbr3Config, CubicConfig, NewRenoConfig};
use noq_proto::{FourTuple, PathId};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use whimbrel_cc::Spec;
use whimbrel_quic::Factory;

endpoint!(noq_proto);

/// Both ends of a connection with this controller of noq's; `None` if noq has no such controller.
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
        "bbr3" => open(
            |transport| {
                transport.congestion_controller_factory(Arc::new(Bbr3Config::default()));
            },
            seed,
        ),
        _ => return None,
    })
}

/// Both ends of a connection with this project's controller; `None` if it is unknown or needs
/// reports on bursts.
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
) -> noq_proto::Endpoint {
    noq_proto::Endpoint::new(config, server, true)
}

fn handle(
    endpoint: &mut noq_proto::Endpoint,
    now: Instant,
    remote: SocketAddr,
    ecn: Option<EcnCodepoint>,
    datagram: &[u8],
    response: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    let path = FourTuple::new(remote, None);
    endpoint.handle(now, path, ecn, BytesMut::from(datagram), response)
}

fn poll_transmit(
    connection: &mut Connection,
    now: Instant,
    datagram: &mut Vec<u8>,
) -> Option<noq_proto::Transmit> {
    connection.poll_transmit(now, NonZeroUsize::MIN, datagram)
}

fn figures(connection: &mut Connection) -> Report {
    let path = connection.path_stats(PathId::ZERO).unwrap_or_default();
    let metrics = connection.congestion_state(PathId::ZERO);
    let metrics = metrics.map(noq_proto::congestion::Controller::metrics);
    Report {
        cwnd: Some(path.cwnd),
        ssthresh: metrics
            .as_ref()
            .and_then(|metrics| metrics.ssthresh)
            .filter(|ssthresh| *ssthresh < u64::MAX),
        srtt: Some(path.rtt),
        pacing_rate: metrics
            .and_then(|metrics| metrics.pacing_rate)
            .map(|rate| rate.saturating_mul(8)),
        lost: Some(path.lost_packets),
        episodes: Some(path.congestion_events),
        ..Report::default()
    }
}
