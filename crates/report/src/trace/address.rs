//! Addresses and ports of the simulated hosts.
//!
//! Flow n, counted from 1 in the order of the scenario, sends on its path p, counted from 0, from
//! 10.p.x.y to 10.(128 + p).x.y, where n = 256 x + y. Its port is 49152 + n - 1 (the first of the
//! ephemeral ports of RFC 6335), which repeats after 16384 flows; the port of the other end is
//! 5201, that of iperf3.

use whimbrel_sim::Network;
use whimbrel_sim::observe::End;

/// The first ephemeral port (RFC 6335 section 6).
const FIRST_PORT: usize = 49_152;
const PORTS: usize = 16_384;
/// The port of iperf3.
const SERVER_PORT: u16 = 5201;
/// Maximum number of flows with addresses.
pub(super) const MOST_FLOWS: usize = 65_535;
/// Maximum number of paths of a flow.
pub(super) const MOST_PATHS: usize = 128;

/// An end of a path of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Address {
    pub ip: [u8; 4],
    pub port: u16,
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b, c, d] = self.ip;
        write!(f, "{a}.{b}.{c}.{d}:{}", self.port)
    }
}

/// The address of an end of a flow on one of its paths, both counted from 0.
pub(super) fn address(flow: usize, path: usize, end: End) -> Address {
    let [.., high, low] = ((flow + 1) as u32).to_be_bytes();
    let path = (path % MOST_PATHS) as u8;
    match end {
        End::Near => Address {
            ip: [10, path, high, low],
            port: (FIRST_PORT + flow % PORTS) as u16,
        },
        End::Far => Address {
            ip: [10, 128 + path, high, low],
            port: SERVER_PORT,
        },
    }
}

/// Whether all flows of a network have addresses.
pub(super) fn has_room(network: &Network) -> bool {
    network.flows.len() <= MOST_FLOWS
        && network
            .flows
            .iter()
            .all(|flow| flow.routes.len() <= MOST_PATHS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_counted_from_one_and_each_path_has_its_own_network() {
        let shown = |flow, path, end| address(flow, path, end).to_string();
        assert_eq!(shown(0, 0, End::Near), "10.0.0.1:49152");
        assert_eq!(shown(0, 0, End::Far), "10.128.0.1:5201");
        assert_eq!(shown(2, 1, End::Near), "10.1.0.3:49154");
        assert_eq!(shown(299, 1, End::Far), "10.129.1.44:5201");
        assert_eq!(shown(65_534, 127, End::Far), "10.255.255.255:5201");
        assert_eq!(shown(16_384, 0, End::Near), "10.0.64.1:49152");
    }
}
