//! Why packets to a peer do not get there, as far as the system or a router says so.
//!
//! A router or the peer's host answers a packet that it cannot deliver with an ICMP message (RFC
//! 792, RFC 4443); the kernel keeps it in the error queue of the socket (ip(7), `IP_RECVERR`).
//! Anybody may forge such a message, so it ends an attempt to connect, as it does for TCP, but
//! never a connection (RFC 9000 section 14.2.1).

use nix::libc;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt,
};
use std::fmt;
use std::io::IoSliceMut;
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::AsRawFd;

/// The smallest UDP payload that a path must carry for QUIC, bytes (RFC 9000 section 14).
const MIN_PAYLOAD: u32 = 1200;
/// Headers of IPv4 and UDP, and of IPv6 and UDP, bytes.
const HEADERS: [u32; 2] = [28, 48];
/// Maximum number of errors read in one go: the kernel queues no more than fit a socket's buffer.
const MAX_ERRORS: usize = 256;

/// Why packets to an address do not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Obstacle {
    /// The host answers that nothing listens on the port.
    PortClosed,
    /// This host or a router has no route to the address, or the host does not answer in its
    /// network.
    NoRoute,
    /// A firewall forbids it.
    Forbidden,
    /// A link of the path carries packets of at most this size, bytes with the headers of IP; less
    /// than QUIC needs. 0: unknown.
    PathMtu(u32),
}

impl Obstacle {
    /// The obstacle that an error of the system says, if it says one. `size`: bytes of the largest
    /// datagram that was sent, without headers.
    pub(super) fn of_send_error(errno: i32, size: usize) -> Option<Self> {
        match errno {
            // Larger datagrams probe the path; only those that every path must carry count.
            libc::EMSGSIZE if size as u64 <= u64::from(MIN_PAYLOAD) => Some(Self::PathMtu(0)),
            libc::EMSGSIZE => None,
            _ => Self::of_errno(errno),
        }
    }

    fn of_errno(errno: i32) -> Option<Self> {
        match errno {
            libc::ECONNREFUSED => Some(Self::PortClosed),
            libc::ENETUNREACH | libc::EHOSTUNREACH | libc::EHOSTDOWN | libc::ENETDOWN => {
                Some(Self::NoRoute)
            }
            libc::EACCES | libc::EPERM => Some(Self::Forbidden),
            _ => None,
        }
    }

    /// The obstacle that an ICMP message says, if it says one.
    fn of_icmp(error: &libc::sock_extended_err, ipv6: bool) -> Option<Self> {
        let errno = i32::try_from(error.ee_errno).ok()?;
        // RFC 1812 section 5.2.7.1: the network, the host, or communication is administratively
        // prohibited. Linux reports them as unreachable.
        if !ipv6 && error.ee_type == 3 && matches!(error.ee_code, 9 | 10 | 13) {
            return Some(Self::Forbidden);
        }
        if errno == libc::EMSGSIZE {
            let needed = MIN_PAYLOAD + HEADERS[usize::from(ipv6)];
            return (error.ee_info < needed).then_some(Self::PathMtu(error.ee_info));
        }
        Self::of_errno(errno)
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PortClosed => f.write_str("nothing listens on the port"),
            Self::NoRoute => f.write_str("no route"),
            Self::Forbidden => f.write_str("a firewall forbids it"),
            Self::PathMtu(0) => f.write_str("the path's MTU is too small"),
            Self::PathMtu(mtu) => write!(f, "the path's MTU of {mtu} bytes is too small"),
        }
    }
}

/// Lets the kernel keep ICMP errors for [`take`]. Where it refuses, errors stay unknown.
pub(super) fn keep(socket: &UdpSocket) {
    setsockopt(socket, sockopt::Ipv4RecvErr, &true).ok();
    if socket.local_addr().is_ok_and(|address| address.is_ipv6()) {
        setsockopt(socket, sockopt::Ipv6RecvErr, &true).ok();
    }
}

/// Takes all errors that the kernel has kept, and calls `each` with the address to which the
/// datagram was sent. Returns whether there was any error.
pub(super) fn take(socket: &UdpSocket, mut each: impl FnMut(SocketAddr, Obstacle)) -> bool {
    let mut any = false;
    for _ in 0..MAX_ERRORS {
        // The datagram that caused the error comes with it; only its address matters.
        let mut data = [0; 64];
        let mut data = [IoSliceMut::new(&mut data)];
        let mut control = vec![0; 512];
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let Ok(message) =
            recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut data, Some(&mut control), flags)
        else {
            break;
        };
        any = true;
        let Some(remote) = message.address.as_ref().and_then(address) else {
            continue;
        };
        let Ok(messages) = message.cmsgs() else {
            continue;
        };
        let obstacle = messages.filter_map(|message| match message {
            ControlMessageOwned::Ipv4RecvErr(error, _) => Obstacle::of_icmp(&error, false),
            ControlMessageOwned::Ipv6RecvErr(error, _) => Obstacle::of_icmp(&error, true),
            _ => None,
        });
        if let Some(obstacle) = obstacle.last() {
            each(remote, obstacle);
        }
    }
    any
}

/// An address of IPv4 or IPv6.
pub(super) fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(v4) = storage.as_sockaddr_in() {
        return Some(SocketAddrV4::from(*v4).into());
    }
    let v6 = storage.as_sockaddr_in6()?;
    Some(SocketAddrV6::from(*v6).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn icmp(errno: i32, kind: u8, code: u8, info: u32) -> libc::sock_extended_err {
        libc::sock_extended_err {
            ee_errno: errno as u32,
            ee_origin: libc::SO_EE_ORIGIN_ICMP,
            ee_type: kind,
            ee_code: code,
            ee_pad: 0,
            ee_info: info,
            ee_data: 0,
        }
    }

    #[test]
    fn icmp_messages_say_what_is_in_the_way() {
        let of = |error, ipv6| Obstacle::of_icmp(&error, ipv6);
        let closed = icmp(libc::ECONNREFUSED, 3, 3, 0);
        assert_eq!(of(closed, false), Some(Obstacle::PortClosed));
        let unreachable = icmp(libc::EHOSTUNREACH, 3, 1, 0);
        assert_eq!(of(unreachable, false), Some(Obstacle::NoRoute));
        let prohibited = icmp(libc::EHOSTUNREACH, 3, 13, 0);
        assert_eq!(of(prohibited, false), Some(Obstacle::Forbidden));
        assert_eq!(
            of(icmp(libc::EACCES, 1, 1, 0), true),
            Some(Obstacle::Forbidden)
        );
        // 1200 bytes of QUIC, 8 of UDP and 20 of IPv4 or 40 of IPv6.
        let big = |mtu| icmp(libc::EMSGSIZE, 3, 4, mtu);
        assert_eq!(of(big(1227), false), Some(Obstacle::PathMtu(1227)));
        assert_eq!(of(big(1228), false), None);
        assert_eq!(of(big(1247), true), Some(Obstacle::PathMtu(1247)));
        assert_eq!(of(big(1248), true), None);
        assert_eq!(of(icmp(libc::EPROTO, 12, 0, 0), false), None);
    }

    #[test]
    fn a_probe_that_is_too_large_for_the_device_is_no_obstacle() {
        let of = Obstacle::of_send_error;
        assert_eq!(of(libc::EMSGSIZE, 1452), None);
        assert_eq!(of(libc::EMSGSIZE, 1200), Some(Obstacle::PathMtu(0)));
        assert_eq!(of(libc::ENETUNREACH, 1452), Some(Obstacle::NoRoute));
        assert_eq!(of(libc::EPERM, 1200), Some(Obstacle::Forbidden));
        assert_eq!(of(libc::EINVAL, 1200), None);
    }

    #[test]
    fn a_closed_port_is_in_the_error_queue() {
        for any in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(closed) = UdpSocket::bind(any) else {
                println!("skipped: no {any}");
                continue;
            };
            let remote = closed.local_addr().expect("bound");
            drop(closed);
            let socket = UdpSocket::bind(any).expect("a socket");
            keep(&socket);
            socket.send_to(b"anybody?", remote).expect("sent");
            let mut found = Vec::new();
            // Loopback answers within the call that sends.
            assert!(take(&socket, |to, obstacle| found.push((to, obstacle))));
            assert_eq!(found, [(remote, Obstacle::PortClosed)]);
            assert!(!take(&socket, |_, _| panic!("taken already")));
        }
    }
}
