//! The size of datagrams: as large as the path takes, up to jumbo frames.
//!
//! What a packet costs both ends hardly depends on its size, so that larger ones make fast paths
//! cheaper: loopback, and links of 9,000 bytes. A QUIC endpoint finds the largest size by probes
//! (RFC 8899), which are lost if they are too large. The kernel knows the size that the first link
//! takes, or the whole path if a router has reported it, so a host whose link has 1,500 bytes sends
//! no probe in vain.

use super::udp;
use noq_proto::{EndpointConfig, MtuDiscoveryConfig, TransportConfig};
use rustix::net::sockopt;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// What is tried on every path, bytes: 1,500 bytes of Ethernet minus the headers of IPv6 and UDP.
const USUAL: u16 = 1452;
/// The maximum that is tried, and accepted from a peer, bytes: jumbo frames of 9,000 bytes minus
/// the headers of IPv6 and UDP. Loopback takes more, but a batch of packets is limited to 64 KiB,
/// and the last one of a batch should not leave most of it empty.
const JUMBO: u16 = 8952;

/// Lets a connection to `remote` find the largest datagrams that its path takes.
pub(crate) fn seek_largest(transport: &mut TransportConfig, remote: SocketAddr) {
    let mut discovery = MtuDiscoveryConfig::default();
    // A loss burst can look like a black hole, so retry soon.
    discovery
        .upper_bound(largest(packet_size(remote)))
        .black_hole_cooldown(Duration::from_secs(10));
    transport.mtu_discovery_config(Some(discovery));
}

/// Lets the peers of an endpoint send datagrams as large as [`seek_largest`] finds.
pub(crate) fn accept(mut config: EndpointConfig) -> EndpointConfig {
    // The size is within the bounds that noq checks.
    config.max_udp_payload_size(JUMBO).ok();
    config
}

/// The largest datagram to try where the kernel says that an IP packet may have `packet` bytes.
fn largest(packet: Option<u32>) -> u16 {
    // The headers of IPv6 and UDP take 48 bytes, those of IPv4 and UDP fewer.
    let datagram = packet.unwrap_or(0).saturating_sub(48);
    let datagram = u16::try_from(datagram).unwrap_or(u16::MAX);
    datagram.clamp(USUAL, JUMBO)
}

/// The largest IP packet to `remote`, as far as the kernel knows, bytes. `None` without a route.
fn packet_size(remote: SocketAddr) -> Option<u32> {
    // The kernel has no routes of a simulated world, where lives are the same on all machines.
    #[cfg(test)]
    if crate::simulated::network::is_simulated() {
        return None;
    }
    let remote = SocketAddr::new(remote.ip().to_canonical(), remote.port());
    let socket = UdpSocket::bind(udp::any(remote)).ok()?;
    // `connect` only looks up the route; nothing is sent.
    socket.connect(remote).ok()?;
    match remote {
        SocketAddr::V4(_) => sockopt::ip_mtu(&socket).ok(),
        SocketAddr::V6(_) => sockopt::ipv6_mtu(&socket).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn no_probe_is_larger_than_the_first_link_takes() {
        let sizes = [
            None,
            Some(1280),
            Some(1500),
            Some(4000),
            Some(9000),
            Some(65_536),
        ];
        let expected = [USUAL, USUAL, USUAL, 3952, JUMBO, JUMBO];
        assert_eq!(sizes.map(largest), expected);
    }

    #[test]
    fn the_kernel_knows_the_size_that_loopback_takes() {
        for address in [
            Ipv4Addr::LOCALHOST.into(),
            Ipv4Addr::LOCALHOST.to_ipv6_mapped().into(),
        ] {
            let address: std::net::IpAddr = address;
            let size = packet_size((address, 9).into());
            assert!(size.is_some_and(|size| size >= 1500), "{size:?}");
        }
    }
}
