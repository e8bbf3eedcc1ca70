//! The network interfaces that NACKs are sent and received on.

use crate::error::LinuxError;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use std::io;
use whimbrel_units::nearest;

/// ARPHRD_NONE
const NO_HEADER: u16 = 65_534;

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Device {
    pub name: String,
    pub index: u32,
    /// Its packets begin with an Ethernet header; otherwise with the IP header.
    pub ethernet: bool,
}

/// What the system says about an interface.
#[derive(Debug, Clone)]
struct Interface {
    name: String,
    index: u32,
    /// ARPHRD_* of `linux/if_arp.h`.
    kind: u16,
    up: bool,
    loopback: bool,
}

/// The devices with these names; if there are none, all that are up but the loopback.
///
/// # Errors
/// If there is no device of a name, or its packets begin with neither an Ethernet nor an IP header.
pub(super) fn find(names: &[String]) -> Result<Vec<Device>, LinuxError> {
    let failed = LinuxError::os("listing network interfaces");
    // /sys/class/net may belong to another network namespace; this is always the process's own.
    let interfaces: Vec<Interface> = getifaddrs()
        .map_err(|errno| failed(io::Error::from(errno)))?
        .filter_map(|entry| {
            // A device without a hardware address is listed without an address; its packets have no
            // header but IP's.
            let (index, kind) = match &entry.address {
                None => (
                    if_nametoindex(entry.interface_name.as_str()).ok()?,
                    NO_HEADER,
                ),
                Some(address) => {
                    let link = address.as_link_addr()?;
                    (u32::try_from(link.ifindex()).ok()?, link.hatype())
                }
            };
            Some(Interface {
                name: entry.interface_name,
                index,
                kind,
                up: entry.flags.contains(InterfaceFlags::IFF_UP),
                loopback: entry.flags.contains(InterfaceFlags::IFF_LOOPBACK),
            })
        })
        .collect();
    choose(&interfaces, names).map_err(LinuxError::System)
}

fn choose(interfaces: &[Interface], names: &[String]) -> Result<Vec<Device>, String> {
    if names.is_empty() {
        let usable = interfaces
            .iter()
            .filter(|known| known.up && !known.loopback);
        // A device that carries other packets is left out if it was not requested.
        let found: Vec<Device> = usable.filter_map(|known| device(known).ok()).collect();
        return match found.is_empty() {
            true => Err("no network interface is up but the loopback: NACKs need one".to_owned()),
            false => Ok(found),
        };
    }
    let mut found: Vec<Device> = Vec::new();
    for name in names {
        let Some(interface) = interfaces.iter().find(|known| known.name == *name) else {
            let known = interfaces.iter().map(|known| known.name.as_str());
            let hint = nearest(name, known)
                .map_or_else(String::new, |near| format!(": do you mean `{near}`?"));
            return Err(format!("no network interface `{name}`{hint}"));
        };
        let device = device(interface)?;
        if !found.contains(&device) {
            found.push(device);
        }
    }
    Ok(found)
}

fn device(interface: &Interface) -> Result<Device, String> {
    let ethernet = match interface.kind {
        // Ethernet, the loopback
        1 | 772 => true,
        // none (TUN, WireGuard), PPP, raw IP
        NO_HEADER | 512 | 519 => false,
        kind => {
            return Err(format!(
                "packets of the network interface `{}` (type {kind}) begin with neither an \
                 Ethernet nor an IP header: choose another one",
                interface.name,
            ));
        }
    };
    Ok(Device {
        name: interface.name.clone(),
        index: interface.index,
        ethernet,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, index: u32, kind: u16, up: bool) -> Interface {
        Interface {
            name: name.to_owned(),
            index,
            kind,
            up,
            loopback: kind == 772,
        }
    }

    fn some() -> Vec<Interface> {
        vec![
            interface("lo", 1, 772, true),
            interface("eth0", 2, 1, true),
            interface("eth1", 3, 1, false),
            interface("whimbrel0", 4, 65_534, true),
            interface("ib0", 5, 32, true),
        ]
    }

    #[test]
    fn by_default_all_that_are_up_but_the_loopback() {
        let found = choose(&some(), &[]).expect("two");
        let about = |device: &Device| (device.name.clone(), device.index, device.ethernet);
        assert_eq!(
            found.iter().map(about).collect::<Vec<_>>(),
            [
                ("eth0".to_owned(), 2, true),
                ("whimbrel0".to_owned(), 4, false)
            ]
        );
        assert!(choose(&some()[..1], &[]).is_err());
    }

    #[test]
    fn a_wrong_name_gets_the_nearest_right_one() {
        let line = choose(&some(), &["eth2".to_owned()]).expect_err("none");
        assert!(
            line.contains("`eth2`") && line.contains("do you mean"),
            "{line}"
        );
        let line = choose(&some(), &["ib0".to_owned()]).expect_err("InfiniBand");
        assert!(line.contains("type 32"), "{line}");
    }

    #[test]
    fn a_device_that_is_named_twice_is_used_once() {
        let names = ["eth0".to_owned(), "eth0".to_owned()];
        assert_eq!(choose(&some(), &names).map(|found| found.len()), Ok(1));
    }

    #[test]
    fn the_loopback_can_be_named() {
        let found = find(&["lo".to_owned()]).expect("every system has it");
        assert!(found[0].ethernet);
    }
}
