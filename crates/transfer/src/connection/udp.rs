//! A UDP socket with buffers large enough for a burst.
//!
//! At 1 Gbit/s the usual 208 KiB hold 1.7 ms of data, less than the delay of a busy scheduler. A
//! privileged process may exceed the system's limit (`net.core.rmem_max`); others get at most that
//! limit.

use crate::error::Error;
use noq_proto::EndpointConfig;
use rustix::net::sockopt;
use socket2::{Domain, Protocol, Socket, Type};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use whimbrel_quic::endpoint::{Endpoint, Server};

/// Buffer size requested for each direction, bytes.
const BUFFER: usize = 8 << 20;

/// An endpoint on a socket that was opened for `address`.
pub(crate) fn endpoint(
    config: EndpointConfig,
    server: Option<Server>,
    socket: UdpSocket,
    address: SocketAddr,
) -> Result<Endpoint, Error> {
    #[cfg(test)]
    if crate::simulated::network::is_simulated() {
        return Ok(crate::simulated::network::endpoint(config, server, address));
    }
    let opened = Endpoint::new(config, server, socket);
    opened.map_err(|cause| Error::Socket { address, cause })
}

/// Any address and port from which `remote` can be reached.
pub(crate) fn any(remote: SocketAddr) -> SocketAddr {
    match remote {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

/// Opens a socket bound to `address`. An IPv6 socket accepts IPv4 too where the system allows it.
pub(crate) fn open(address: SocketAddr) -> Result<UdpSocket, Error> {
    // The addresses of a simulated world are not this machine's.
    #[cfg(test)]
    if crate::simulated::network::is_simulated() {
        let any = crate::simulated::network::any_socket();
        return any.map_err(|cause| Error::Socket { address, cause });
    }
    let bound = || {
        let socket = Socket::new(
            Domain::for_address(address),
            Type::DGRAM,
            Some(Protocol::UDP),
        )?;
        if address.is_ipv6() {
            // Where this is not allowed, the socket serves IPv6 only.
            socket.set_only_v6(false).ok();
        }
        // Smaller buffers are slower but work.
        let forced = sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER);
        forced
            .or_else(|_| sockopt::set_socket_recv_buffer_size(&socket, BUFFER))
            .ok();
        let forced = sockopt::set_socket_send_buffer_size_force(&socket, BUFFER);
        forced
            .or_else(|_| sockopt::set_socket_send_buffer_size(&socket, BUFFER))
            .ok();
        socket.bind(&address.into())?;
        Ok(UdpSocket::from(socket))
    };
    bound().map_err(|cause| Error::Socket { address, cause })
}
