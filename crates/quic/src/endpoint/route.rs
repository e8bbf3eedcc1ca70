//! Whether a route over a network interface leads to an address (rtnetlink(7)).
//!
//! A socket that is bound to an interface reaches any IPv4 address as far as connect(2) says: where no
//! route matches, Linux takes the address for a neighbour. So the routing tables are asked.

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};
use std::net::Ipv4Addr;
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
    fn loopback_leads_to_loopback_only() {
        let lo = if_nametoindex("lo").expect("there is one");
        assert!(leads_to(lo, Ipv4Addr::LOCALHOST));
        assert!(!leads_to(lo, Ipv4Addr::new(192, 0, 2, 1)), "a test network");
    }
}
