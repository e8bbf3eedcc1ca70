//! The network interfaces over which a client reaches its server.

use crate::connection::udp;
use crate::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::str::FromStr;
use std::sync::Arc;
use whimbrel_quic::endpoint::{
    LinkOptions, MAX_LINKS, bind_to_device, device_of, devices, source_over,
};

/// A longer name is no interface's (IFNAMSIZ of `linux/if.h`, less the zero behind it).
const MAX_NAME: usize = 15;

/// One network interface, or all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Via {
    /// All that have a route to the server.
    All,
    /// This one.
    Interface(String),
    /// The one that has this address.
    Address(IpAddr),
}

impl FromStr for Via {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(address));
        }
        let is_name = |name: &str| {
            let legal = name.chars().all(|c| c.is_ascii_graphic() && c != '/');
            (1..=MAX_NAME).contains(&name.len()) && legal && name != "." && name != ".."
        };
        match is_name(text) {
            true => Ok(Self::Interface(text.to_owned())),
            false => Err(format!(
                "`{text}` is neither the name of a network interface nor an address"
            )),
        }
    }
}

/// The interfaces over which `server` is to be reached, each once.
///
/// # Errors
/// If one does not exist, there are too many, or none has a route.
pub(super) fn interfaces(via: &[Via], server: SocketAddr) -> Result<Vec<String>, String> {
    let mut chosen: Vec<String> = Vec::new();
    let existing = devices();
    for via in via {
        let more = match via {
            Via::Interface(name) if !existing.contains(name) => {
                return Err(format!(
                    "there is no network interface `{name}`; there are {}",
                    existing.join(", ")
                ));
            }
            Via::Interface(name) => vec![name.clone()],
            Via::Address(address) => match device_of(*address) {
                Some(name) => vec![name],
                None => return Err(format!("no network interface has the address {address}")),
            },
            Via::All => {
                let has_route = |name: &&String| source_over(name, server).is_some();
                existing.iter().filter(has_route).cloned().collect()
            }
        };
        for name in more {
            if !chosen.contains(&name) {
                chosen.push(name);
            }
        }
    }
    if chosen.len() > MAX_LINKS {
        let text = format!(
            "at most {MAX_LINKS} interfaces can be used at once, not {}",
            chosen.len()
        );
        return Err(text);
    }
    // What has a route now is tried first.
    chosen.sort_by_key(|name| source_over(name, server).is_none());
    match chosen.first() {
        Some(first) if source_over(first, server).is_some() => Ok(chosen),
        _ => Err(format!(
            "none of these interfaces has a route to {}; each needs one, for example a default \
             route",
            server.ip().to_canonical()
        )),
    }
}

/// A socket towards `server` over an interface.
pub(super) fn socket(device: &str, server: SocketAddr) -> Result<UdpSocket, Error> {
    let address = udp::any(server);
    let socket = udp::open(address)?;
    let refused = |cause: io::Error| Error::Socket { address, cause };
    bind_to_device(&socket, device).map_err(refused)?;
    Ok(socket)
}

/// The links to `server` over these interfaces.
pub(super) fn links(via: &[Via], devices: Vec<String>, server: SocketAddr) -> LinkOptions {
    LinkOptions {
        server,
        devices,
        all: via.contains(&Via::All),
        open: Arc::new(move |device| match socket(device, server) {
            Ok(socket) => Ok(socket),
            Err(Error::Socket { cause, .. }) => Err(cause),
            Err(error) => Err(io::Error::other(error)),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv6Addr;

    #[test]
    fn interfaces_are_named() {
        assert_eq!("all".parse(), Ok(Via::All));
        assert_eq!("wwan0".parse(), Ok(Via::Interface("wwan0".to_owned())));
        assert_eq!("::1".parse(), Ok(Via::Address(Ipv6Addr::LOCALHOST.into())));
        for wrong in ["", "a/b", "a b", "..", "a-name-of-sixteen"] {
            assert!(wrong.parse::<Via>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_interface_must_exist_and_have_a_route() {
        let server = SocketAddr::from(([127, 0, 0, 1], 9));
        let lo = Via::Interface("lo".to_owned());
        assert_eq!(
            interfaces(&[lo, Via::Address(server.ip())], server),
            Ok(vec!["lo".to_owned()])
        );
        let error = |via| interfaces(&[via], server).expect_err("there is none");
        let wrong = error(Via::Interface("none-such".to_owned()));
        assert!(
            wrong.contains("no network interface `none-such`"),
            "{wrong}"
        );
        let wrong = error(Via::Address([192, 0, 2, 1].into()));
        assert!(wrong.contains("has the address 192.0.2.1"), "{wrong}");
    }
}
