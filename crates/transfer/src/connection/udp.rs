//! A UDP socket with buffers large enough for a burst.
//!
//! At 1 Gbit/s the usual 208 KiB hold 1.7 ms of data, less than the delay of a busy scheduler. A
//! privileged process may exceed the system's limit (`net.core.rmem_max`); others get at most that
//! limit.

use crate::error::Error;
use rustix::net::sockopt;
use socket2::{Domain, Protocol, Socket, Type};
use std::net::{SocketAddr, UdpSocket};

/// Buffer size requested for each direction, bytes.
const BUFFER: usize = 8 << 20;

/// Opens a socket bound to `address`. An IPv6 socket accepts IPv4 too where the system allows it.
pub(crate) fn open(address: SocketAddr) -> Result<UdpSocket, Error> {
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
