//! Connections for tests of this crate and of those that show connections.

use crate::{Addresses, Connection, End, Sample, TcpState};
use whimbrel_cc::connection::{ConnectionState, EpisodeCounts, Verdicts};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// A connection that sent so many bytes in ten seconds.
pub fn connection(remote: &str, acked: u64) -> Connection {
    let remote: std::net::SocketAddr = remote.parse().expect("an address");
    let local = match remote {
        std::net::SocketAddr::V4(_) => "192.0.2.77:40000",
        std::net::SocketAddr::V6(_) => "[2001:db8::77]:40000",
    };
    let active = Duration::from_secs(10);
    let acked = Bytes::new(acked);
    let sample = |tenth: u64| Sample {
        state: ConnectionState {
            time: Time::ZERO + Duration::from_secs(tenth),
            cwnd: Bytes::new(100_000 + 10_000 * tenth),
            ssthresh: Some(Bytes::new(60_000)),
            phase: "slow start",
            in_flight: Bytes::new(90_000),
            rtt: Duration::from_millis(50),
            srtt: Duration::from_millis(52),
            delivered: Bytes::new(acked.get() / 10 * tenth),
            lost: Bytes::new(tenth / 3 * 1448),
            ..ConnectionState::default()
        },
        lost_packets: tenth / 3,
        retransmits: tenth / 3,
    };
    Connection {
        addresses: Addresses {
            local: local.parse().expect("an address"),
            remote,
        },
        began: Time::ZERO + Duration::from_millis(500),
        last: TcpState {
            state: ConnectionState {
                time: Time::ZERO + active,
                cwnd: Bytes::new(200_000),
                ssthresh: Some(Bytes::new(60_000)),
                phase: "slow start",
                rtt: Duration::from_millis(50),
                srtt: Duration::from_millis(52),
                min_rtt: Duration::from_millis(49),
                delivered: acked,
                lost: Bytes::new(3 * 1448),
                ..ConnectionState::default()
            },
            episodes: EpisodeCounts {
                episodes: 3,
                reductions: 1,
                verdicts: Some(Verdicts {
                    congestion: 1,
                    random: 2,
                    ..Verdicts::default()
                }),
                ..EpisodeCounts::default()
            },
            segments: acked.get() / 1448,
            retransmits: 3,
            lost_packets: 3,
            ..TcpState::default()
        },
        active,
        goodput: Rate::over(acked, active),
        end: End::Closed,
        dropped_events: 0,
        decisions: Vec::new(),
        samples: (0..=10).map(sample).collect(),
    }
}
