//! How the ends find each other on one network: the receiver announces its port by multicast DNS
//! (RFC 6762, RFC 6763) under the public word of the code, and the sender looks for it.

use crate::random;
use crate::words::Code;
use mdns_sd::{ResolvedService, ServiceDaemon, ServiceEvent, ServiceInfo};
use std::net::{IpAddr, SocketAddr};
use tokio::sync::mpsc;

/// The type of the service.
const SERVICE: &str = "_whimbrel._udp.local.";
/// Receivers that are tried, at most: anybody on the network can announce some.
const MOST: usize = 16;

/// An announcement, until it is dropped.
pub(super) struct Announced(Option<ServiceDaemon>);

impl Drop for Announced {
    fn drop(&mut self) {
        if let Some(daemon) = self.0.take() {
            daemon.shutdown().ok();
        }
    }
}

/// Announces the port. Where that is impossible, a meeting server may help, so it is no error.
pub(super) fn announce(code: &Code, port: u16) -> Announced {
    Announced(try_announce(code, port))
}

fn try_announce(code: &Code, port: u16) -> Option<ServiceDaemon> {
    let id = u64::from_be_bytes(random::bytes().ok()?);
    let name = format!("{}-{id:016x}", code.place());
    let host = format!("whimbrel-{id:016x}.local.");
    let service = ServiceInfo::new(SERVICE, &name, &host, "", port, None).ok()?;
    let daemon = ServiceDaemon::new().ok()?;
    daemon.register(service.enable_addr_auto()).ok()?;
    Some(daemon)
}

/// The addresses of receivers with the public word, as they are found.
pub(super) fn search(code: &Code) -> mpsc::Receiver<Vec<SocketAddr>> {
    let (found, addresses) = mpsc::channel(MOST);
    let prefix = format!("{}-", code.place());
    let searching = ServiceDaemon::new().and_then(|daemon| {
        let events = daemon.browse(SERVICE)?;
        Ok((daemon, events))
    });
    if let Ok((daemon, events)) = searching {
        tokio::spawn(async move {
            loop {
                let event = tokio::select! {
                    event = events.recv_async() => event,
                    () = found.closed() => break,
                };
                let Ok(event) = event else { break };
                if let ServiceEvent::ServiceResolved(service) = event
                    && service.fullname.starts_with(&prefix)
                    && found.send(reachable(&service)).await.is_err()
                {
                    break;
                }
            }
            daemon.shutdown().ok();
        });
    }
    addresses
}

/// Addresses without the link-local ones of IPv6, which need an interface.
fn reachable(service: &ResolvedService) -> Vec<SocketAddr> {
    let is_usable = |ip: &IpAddr| match ip {
        IpAddr::V4(_) => true,
        IpAddr::V6(ip) => !ip.is_unicast_link_local(),
    };
    let mut addresses: Vec<_> = service
        .addresses
        .iter()
        .map(|ip| ip.to_ip_addr())
        .filter(is_usable)
        .map(|ip| SocketAddr::new(ip, service.port))
        .collect();
    addresses.sort();
    addresses.truncate(MOST);
    addresses
}
