//! The network interfaces over which a client reaches its server.

use crate::connection::udp;
use crate::error::Error;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::str::FromStr;
use whimbrel_quic::endpoint::{LinkSocket, bind_to_device, source_over};

/// Links of one connection, at most: as many paths as both ends agree to.
pub(crate) const MAX_LINKS: usize = 8;
/// A longer name is no interface's (IFNAMSIZ of `linux/if.h`, less the zero behind it).
const MAX_NAME: usize = 15;

/// One network interface, or all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Via {
    /// All that have a route to the server when the transfer begins.
    All,
    /// This one.
    Interface(String),
}

impl FromStr for Via {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let is_name = |name: &str| {
            let legal = name.chars().all(|c| c.is_ascii_graphic() && c != '/');
            (1..=MAX_NAME).contains(&name.len()) && legal && name != "." && name != ".."
        };
        match is_name(text) {
            true => Ok(Self::Interface(text.to_owned())),
            false => Err(format!("`{text}` is no name of a network interface")),
        }
    }
}

/// The interfaces over which `server` is to be reached, each once.
///
/// # Errors
/// If one does not exist, there are too many, or none has a route.
pub(super) fn interfaces(via: &[Via], server: SocketAddr) -> Result<Vec<String>, String> {
    let mut chosen: Vec<String> = Vec::new();
    let existing = existing();
    for via in via {
        let more = match via {
            Via::Interface(name) if !existing.contains(name) => {
                let known: Vec<_> = existing.iter().map(String::as_str).collect();
                return Err(format!(
                    "there is no network interface `{name}`; there are {}",
                    known.join(", ")
                ));
            }
            Via::Interface(name) => vec![name.clone()],
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
            "--via: at most {MAX_LINKS} interfaces, not {}",
            chosen.len()
        );
        return Err(text);
    }
    // What has a route now is tried first.
    chosen.sort_by_key(|name| source_over(name, server).is_none());
    match chosen.first() {
        Some(first) if source_over(first, server).is_some() => Ok(chosen),
        _ => Err(format!(
            "no interface of --via has a route to {}; each needs one, for example a default route",
            server.ip().to_canonical()
        )),
    }
}

fn existing() -> BTreeSet<String> {
    let entries = fs::read_dir("/sys/class/net").into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.collect()
}

/// A socket towards `server` over an interface.
pub(super) fn socket(device: &str, server: SocketAddr) -> Result<UdpSocket, Error> {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let address = SocketAddr::new(any, 0);
    let socket = udp::open(address)?;
    let refused = |cause: io::Error| Error::Socket { address, cause };
    bind_to_device(&socket, device).map_err(refused)?;
    Ok(socket)
}

/// Sockets towards `server` over these interfaces.
pub(super) fn sockets(devices: &[String], server: SocketAddr) -> Result<Vec<LinkSocket>, Error> {
    let open = |device: &String| {
        Ok(LinkSocket {
            device: device.clone(),
            socket: socket(device, server)?,
        })
    };
    devices.iter().map(open).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_named() {
        assert_eq!("all".parse(), Ok(Via::All));
        assert_eq!("wwan0".parse(), Ok(Via::Interface("wwan0".to_owned())));
        for wrong in ["", "a/b", "a b", "..", "a-name-of-sixteen"] {
            assert!(wrong.parse::<Via>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_interface_must_exist_and_have_a_route() {
        let server = SocketAddr::from(([127, 0, 0, 1], 9));
        let lo = Via::Interface("lo".to_owned());
        assert_eq!(
            interfaces(&[lo.clone(), lo], server),
            Ok(vec!["lo".to_owned()])
        );
        let wrong = interfaces(&[Via::Interface("none-such".to_owned())], server);
        assert!(
            wrong
                .expect_err("there is none")
                .contains("no network interface `none-such`")
        );
    }
}
