//! Which way packets to an address leave: from which local address, over which network interface.
//!
//! A socket that is bound to an interface reaches any IPv4 address as far as connect(2) says: where
//! no route matches, Linux takes the address for a neighbour. So the routing tables are asked
//! (rtnetlink(7)).

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};
use nix::sys::socket::{setsockopt, sockopt};
use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

// From `linux/netlink.h` and `linux/rtnetlink.h`.
const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
const NLM_F_REQUEST: u16 = 1;
const RTM_F_FIB_MATCH: u32 = 0x2000;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
/// Bytes of the headers of a message and of a route, and of the two attributes.
const LENGTH: u32 = 16 + 12 + 8 + 8;

/// Binds a socket to a network interface: packets leave and arrive over it only (SO_BINDTODEVICE,
/// socket(7)).
///
/// # Errors
/// If there is no such interface, or the user may not (before Linux 5.7 only root).
pub fn bind_to_device(socket: &UdpSocket, device: &str) -> io::Result<()> {
    setsockopt(socket, sockopt::BindToDevice, &OsString::from(device))?;
    Ok(())
}

/// The local address from which the system would now send to `remote`; `None` without a route.
/// `bound` and `device`: the address and the interface to which the socket is bound, if it is.
pub(super) fn source_towards(
    remote: SocketAddr,
    bound: Option<IpAddr>,
    device: Option<&str>,
) -> Option<IpAddr> {
    let remote = SocketAddr::new(remote.ip().to_canonical(), remote.port());
    let local = match (bound, remote) {
        (Some(bound), _) => bound.to_canonical(),
        (None, SocketAddr::V4(_)) => Ipv4Addr::UNSPECIFIED.into(),
        (None, SocketAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((local, 0)).ok()?;
    if let Some(device) = device {
        bind_to_device(&socket, device).ok()?;
    }
    // `connect` only looks up the route; nothing is sent.
    socket.connect(remote).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// Whether a route over the interface with this number leads to the address. Where netlink is not
/// allowed: yes.
pub(super) fn leads_to(interface: u32, address: Ipv4Addr) -> bool {
    answer(&request(interface, address)).is_none_or(|kind| kind == RTM_NEWROUTE)
}

/// A query for the route of a routing table that matches.
fn request(interface: u32, address: Ipv4Addr) -> Vec<u8> {
    let mut message = Vec::with_capacity(LENGTH as usize);
    message.extend(LENGTH.to_ne_bytes());
    message.extend(RTM_GETROUTE.to_ne_bytes());
    message.extend(NLM_F_REQUEST.to_ne_bytes());
    // Sequence number and port.
    message.extend([0; 8]);
    // Family, bits of the destination and the source, TOS; table, protocol, scope, type.
    message.extend([AddressFamily::Inet as u8, 32, 0, 0, 0, 0, 0, 0]);
    message.extend(RTM_F_FIB_MATCH.to_ne_bytes());
    for (kind, value) in [
        (RTA_DST, address.octets()),
        (RTA_OIF, interface.to_ne_bytes()),
    ] {
        message.extend(8u16.to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(value);
    }
    message
}

/// The type of the kernel's answer; `None` without one.
fn answer(request: &[u8]) -> Option<u16> {
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    );
    let socket = socket.ok()?;
    send(socket.as_raw_fd(), request, MsgFlags::empty()).ok()?;
    let mut space = [0; 1024];
    // The kernel answers within the call above.
    let length = recv(socket.as_raw_fd(), &mut space, MsgFlags::MSG_DONTWAIT).ok()?;
    let kind = space.get(..length)?.get(4..6)?;
    Some(u16::from_ne_bytes(kind.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::net::if_::if_nametoindex;

    #[test]
    fn the_source_towards_loopback_is_loopback() {
        let loopback = IpAddr::from([127, 0, 0, 1]);
        let remote = SocketAddr::from((loopback, 9));
        assert_eq!(source_towards(remote, None, None), Some(loopback));
        let mapped = SocketAddr::from((Ipv4Addr::LOCALHOST.to_ipv6_mapped(), 9));
        assert_eq!(source_towards(mapped, None, None), Some(loopback));
        // 192.0.2.0/24 is for documentation: no host has it.
        let foreign = IpAddr::from([192, 0, 2, 77]);
        assert_eq!(source_towards(remote, Some(foreign), None), None);
    }

    #[test]
    fn loopback_leads_to_loopback_only() {
        let lo = if_nametoindex("lo").expect("there is one");
        assert!(leads_to(lo, Ipv4Addr::LOCALHOST));
        assert!(!leads_to(lo, Ipv4Addr::new(192, 0, 2, 1)), "a test network");
    }
}
