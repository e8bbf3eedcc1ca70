//! The sockets of an endpoint with several links: one for each network interface.
//!
//! Each socket is bound to its interface (SO_BINDTODEVICE, socket(7)), so the kernel uses the routes
//! of this interface only: a default route of each is enough, whatever their metrics. Which links
//! have a route to the server is asked again whenever the system reports a change.

use super::paths::Link;
use super::socket::Socket;
use nix::sys::socket::{setsockopt, sockopt};
use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// One link of a client: a network interface, and a socket that is bound to it.
#[derive(Debug)]
pub struct LinkSocket {
    /// The interface's name.
    pub device: String,
    /// The socket, from [`bind_to_device`].
    pub socket: UdpSocket,
}

/// The links of an endpoint.
#[derive(Debug)]
pub(super) struct Links {
    /// The server, to which the routes lead.
    server: SocketAddr,
    /// By link.
    devices: Vec<String>,
    /// Those after the first, whose socket is the endpoint's.
    sockets: Vec<Socket>,
}

/// Binds a socket to a network interface: packets leave and arrive over it only.
///
/// # Errors
/// If there is no such interface, or the user may not (before Linux 5.7 only root).
pub fn bind_to_device(socket: &UdpSocket, device: &str) -> io::Result<()> {
    setsockopt(socket, sockopt::BindToDevice, &OsString::from(device))?;
    Ok(())
}

/// The local address from which packets to `server` leave over an interface; `None`: no route over
/// it leads there.
pub fn source_over(device: &str, server: SocketAddr) -> Option<IpAddr> {
    let server = SocketAddr::new(server.ip().to_canonical(), server.port());
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    bind_to_device(&socket, device).ok()?;
    // `connect` only looks up the route; nothing is sent.
    socket.connect(server).ok()?;
    let local = socket.local_addr().ok()?.ip();
    (!local.is_unspecified()).then_some(local)
}

impl Links {
    /// Links to `server`: the endpoint's own socket over the interface `first`, and `others`.
    ///
    /// # Errors
    /// If the system refuses an option of a socket.
    pub fn new(server: SocketAddr, first: String, others: Vec<LinkSocket>) -> io::Result<Self> {
        let mut devices = vec![first];
        let mut sockets = Vec::new();
        for LinkSocket { device, socket } in others {
            devices.push(device);
            sockets.push(Socket::new(socket)?);
        }
        Ok(Self {
            server,
            devices,
            sockets,
        })
    }

    /// Which links have a route to the server now.
    pub fn look(&self) -> Vec<Link> {
        let link = |device: &String| Link {
            local: source_over(device, self.server),
        };
        self.devices.iter().map(link).collect()
    }

    /// The sockets of all links but the first.
    pub fn sockets(&self) -> &[Socket] {
        &self.sockets
    }

    /// Finds out again what the kernel and the devices can do.
    pub fn renew(&mut self) {
        self.sockets.iter_mut().for_each(Socket::renew);
    }
}
