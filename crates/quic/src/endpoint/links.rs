//! The sockets of an endpoint with several links: one for each network interface.
//!
//! Each socket is bound to its interface (SO_BINDTODEVICE, socket(7)), so the kernel uses the
//! routes of this interface only: a default route of each is enough, whatever their metrics. Which
//! links have a route to the server is asked again whenever the system reports a change.

use super::paths::Link;
use super::route;
use super::socket::Socket;
use nix::net::if_::if_nametoindex;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;

/// Maximum number of links of a client.
pub const MAX_LINKS: usize = 8;

/// Opens a socket towards the server that is bound to an interface
/// ([`bind_to_device`](super::bind_to_device)).
pub type OpenLink = dyn Fn(&str) -> io::Result<UdpSocket> + Send + Sync;

/// The links of a client, as it wants them.
pub struct LinkOptions {
    /// The server, to which the routes lead.
    pub server: SocketAddr,
    /// Network interfaces; the endpoint's own socket is bound to the first. At most [`MAX_LINKS`].
    pub devices: Vec<String>,
    /// Interfaces that get a route to the server later are used, too.
    pub all: bool,
    /// Opens their sockets, and again when an interface has vanished and come back.
    pub open: Arc<OpenLink>,
}

impl fmt::Debug for LinkOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinkOptions")
            .field("server", &self.server)
            .field("devices", &self.devices)
            .field("all", &self.all)
            .finish_non_exhaustive()
    }
}

/// The links of an endpoint.
#[derive(Debug)]
pub(super) struct Links {
    options: LinkOptions,
    /// By link: the number of the interface to which its socket is bound.
    bound: Vec<Option<u32>>,
    /// Those after the first, whose socket is the endpoint's.
    sockets: Vec<Socket>,
}

/// The local address from which packets to `server` leave over an interface; `None`: no route over
/// it leads there.
pub fn source_over(device: &str, server: SocketAddr) -> Option<IpAddr> {
    if let IpAddr::V4(address) = server.ip().to_canonical()
        && !route::leads_to(number_of(device)?, address)
    {
        return None;
    }
    let local = route::source_towards(server, None, Some(device))?;
    // An interface without an address would send from that of another one.
    has_address(device, local).then_some(local)
}

/// The interface that has an address; `None` without one.
pub fn device_of(address: IpAddr) -> Option<String> {
    devices_with(address).next()
}

fn has_address(device: &str, address: IpAddr) -> bool {
    devices_with(address).any(|other| other == device)
}

/// The interfaces that have an address.
fn devices_with(address: IpAddr) -> impl Iterator<Item = String> {
    let interfaces = nix::ifaddrs::getifaddrs().into_iter().flatten();
    let with_address = interfaces.filter(move |interface| {
        let own = interface.address.as_ref().and_then(|own| {
            let v4 = own.as_sockaddr_in().map(|own| IpAddr::V4(own.ip()));
            v4.or_else(|| own.as_sockaddr_in6().map(|own| IpAddr::V6(own.ip())))
        });
        own == Some(address)
    });
    with_address.map(|interface| interface.interface_name)
}

/// The names of all network interfaces.
pub fn devices() -> Vec<String> {
    let all = nix::net::if_::if_nameindex();
    let names = all.iter().flat_map(|all| all.iter());
    let names = names.map(|interface| interface.name().to_string_lossy().into_owned());
    names.collect()
}

/// The number of an interface: another one when it has vanished and come back.
fn number_of(device: &str) -> Option<u32> {
    if_nametoindex(device).ok()
}

impl Links {
    /// # Errors
    /// If a socket cannot be opened.
    pub fn new(options: LinkOptions) -> io::Result<Self> {
        let bound = options.devices.iter().map(|device| number_of(device));
        let others = options.devices.iter().skip(1);
        let sockets = others.map(|device| Socket::new((options.open)(device)?));
        Ok(Self {
            bound: bound.collect(),
            sockets: sockets.collect::<io::Result<_>>()?,
            options,
        })
    }

    /// Which links have a route to the server now, and the socket that replaces the endpoint's, if
    /// its interface is another one.
    pub fn look(&mut self) -> (Vec<Link>, Option<Socket>) {
        self.sockets.iter_mut().for_each(Socket::renew);
        let first = self.renew_sockets();
        if self.options.all {
            self.find_more();
        }
        let link = |device: &String| Link {
            local: source_over(device, self.options.server),
        };
        (self.options.devices.iter().map(link).collect(), first)
    }

    /// Opens the sockets of interfaces again that have vanished and come back. Returns the first
    /// link's.
    fn renew_sockets(&mut self) -> Option<Socket> {
        let mut first = None;
        for (link, device) in self.options.devices.iter().enumerate() {
            let number = number_of(device);
            if number.is_none() || number == self.bound[link] {
                continue;
            }
            // If it fails, the next change of the network is another chance.
            let Ok(socket) = (self.options.open)(device).and_then(Socket::new) else {
                continue;
            };
            self.bound[link] = number;
            match link.checked_sub(1) {
                Some(index) => self.sockets[index] = socket,
                None => first = Some(socket),
            }
        }
        first
    }

    fn find_more(&mut self) {
        for device in devices() {
            let is_new = !self.options.devices.contains(&device);
            if self.options.devices.len() < MAX_LINKS
                && is_new
                && source_over(&device, self.options.server).is_some()
                && let Ok(socket) = (self.options.open)(&device).and_then(Socket::new)
            {
                self.bound.push(number_of(&device));
                self.sockets.push(socket);
                self.options.devices.push(device);
            }
        }
    }

    /// The interfaces, by link.
    pub fn devices(&self) -> &[String] {
        &self.options.devices
    }

    /// The sockets of all links but the first.
    pub fn sockets(&self) -> &[Socket] {
        &self.sockets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_its_address_and_a_route_to_itself() {
        let own = IpAddr::from([127, 0, 0, 1]);
        assert_eq!(device_of(own).as_deref(), Some("lo"));
        assert!(devices().contains(&"lo".to_owned()));
        assert_eq!(source_over("lo", (own, 9).into()), Some(own));
        assert_eq!(source_over("no-such-device", (own, 9).into()), None);
        assert_eq!(source_over("lo", ([192, 0, 2, 1], 9).into()), None);
        assert_eq!(device_of([192, 0, 2, 1].into()), None);
    }
}
