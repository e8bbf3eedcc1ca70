//! What all versions of noq-proto have in common beyond what they share with quinn-proto: the calls
//! that `quinn_family` leaves to its user.

/// The calls for `$noq`.
macro_rules! calls {
    ($noq:ident) => {
        use bytes::BytesMut;
        use std::net::SocketAddr;
        use std::num::NonZeroUsize;
        use $noq::{FourTuple, PathId};

        fn new_endpoint(
            config: Arc<EndpointConfig>,
            server: Option<Arc<ServerConfig>>,
        ) -> $noq::Endpoint {
            $noq::Endpoint::new(config, server, true)
        }

        fn handle(
            endpoint: &mut $noq::Endpoint,
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
        ) -> Option<$noq::Transmit> {
            connection.poll_transmit(now, NonZeroUsize::MIN, datagram)
        }

        fn figures(connection: &mut Connection) -> EndpointReport {
            let path = connection.path_stats(PathId::ZERO).unwrap_or_default();
            let metrics = connection.congestion_state(PathId::ZERO);
            let metrics = metrics.map($noq::congestion::Controller::metrics);
            EndpointReport {
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
                ..EndpointReport::default()
            }
        }
    };
}
pub(super) use calls;
