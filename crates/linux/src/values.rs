//! What chooses the connections, as users write it.

use crate::options::Network;
use nix::sys::statfs::{CGROUP2_SUPER_MAGIC, statfs};
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use whimbrel_units::nearest;

/// Where cgroups usually are, in front of their own names.
const ROOTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// A range of addresses: `10.0.0.0/8`, `2001:db8::/32`, or one address.
impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let bare = address.strip_prefix('[').and_then(|a| a.strip_suffix(']'));
        let Ok(address) = bare.unwrap_or(address).parse::<IpAddr>() else {
            return Err(format!(
                "`{address}` is not an IP address; write ADDRESS/BITS, such as 10.0.0.0/8 or \
             2001:db8::/32"
            ));
        };
        let (family, most) = match address {
            IpAddr::V4(_) => ("IPv4", 32),
            IpAddr::V6(_) => ("IPv6", 128),
        };
        let bits = match bits.map(str::parse::<u8>) {
            None => most,
            Some(Ok(bits)) if bits <= most => bits,
            Some(_) => {
                return Err(format!(
                    "the number of bits of an {family} network is 0 to {most}"
                ));
            }
        };
        let first = first_of(address, bits);
        if first != address {
            return Err(format!(
                "{address} has bits set behind the first {bits}; did you mean {first}/{bits}, or \
             {address}/{most} for this address alone?"
            ));
        }
        Ok(Self { address, bits })
    }
}

/// The first address of a network.
fn first_of(address: IpAddr, bits: u8) -> IpAddr {
    let keep = u32::from(bits);
    match address {
        IpAddr::V4(a) => {
            let mask = u32::MAX.checked_shl(32 - keep).unwrap_or(0);
            IpAddr::V4((a.to_bits() & mask).into())
        }
        IpAddr::V6(a) => {
            let mask = u128::MAX.checked_shl(128 - keep).unwrap_or(0);
            IpAddr::V6((a.to_bits() & mask).into())
        }
    }
}

/// Parses names of network interfaces, separated by commas.
///
/// # Errors
/// If one is empty or contains what no name does.
pub fn devices(text: &str) -> Result<Vec<String>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let name = |name: &str| match name.trim() {
        "" => Err("a name is missing; write names such as eth0,wlan0".to_owned()),
        // The kernel's limit (IFNAMSIZ) and rules (dev_valid_name).
        name if name.len() > 15
            || name.contains(['/', ':'])
            || name.contains(char::is_whitespace) =>
        {
            Err(format!(
                "`{name}` is not a name of a network interface; `ip -brief link` lists them"
            ))
        }
        name => Ok(name.to_owned()),
    };
    text.split(',').map(name).collect()
}

/// Parses the name of one of the kernel's algorithms.
///
/// # Errors
/// If this kernel does not have it; names the nearest.
pub fn fallback(text: &str) -> Result<String, String> {
    // Without /proc, the kernel decides.
    let available = crate::kernel_algorithms().unwrap_or_default();
    known(text, &available)
}

fn known(text: &str, names: &[String]) -> Result<String, String> {
    if names.is_empty() || names.iter().any(|name| name == text) {
        return Ok(text.to_owned());
    }
    let hint = match nearest(text, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("`modprobe tcp_{text}` may load it"),
    };
    Err(format!(
        "this kernel has no algorithm `{text}`; it has {}; {hint}",
        names.join(", ")
    ))
}

/// The existing cgroup of version 2 at this path.
///
/// # Errors
/// If there is none; the text says what to write.
pub fn cgroup(path: &Path) -> Result<PathBuf, String> {
    let shown = path.display();
    let there = match fs::canonicalize(path) {
        Ok(there) => there,
        Err(error) => {
            let below = |root| Path::new(root).join(path.strip_prefix("/").unwrap_or(path));
            let meant = ROOTS.into_iter().map(below).find(|path| path.is_dir());
            let meant = meant.map_or_else(
                || {
                    "; `systemctl show --property=ControlGroup SERVICE` shows a service's"
                        .to_owned()
                },
                |meant| format!("; did you mean {}?", meant.display()),
            );
            return Err(format!("{shown}: {error}{meant}"));
        }
    };
    let is_cgroup = statfs(&there).is_ok_and(|fs| fs.filesystem_type() == CGROUP2_SUPER_MAGIC);
    if !is_cgroup || !there.is_dir() {
        return Err(format!(
            "{shown}: not a cgroup of version 2, which is a directory below /sys/fs/cgroup, such as \
             /sys/fs/cgroup/system.slice/nginx.service"
        ));
    }
    Ok(there)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_an_address_and_its_bits() {
        for (text, address, bits) in [
            ("10.0.0.0/8", "10.0.0.0", 8),
            ("192.0.2.7", "192.0.2.7", 32),
            ("0.0.0.0/0", "0.0.0.0", 0),
            ("2001:db8::/32", "2001:db8::", 32),
            ("[2001:db8::1]", "2001:db8::1", 128),
            ("::/0", "::", 0),
        ] {
            let address = address.parse().expect("an address");
            assert_eq!(text.parse(), Ok(Network { address, bits }), "{text}");
        }
    }

    #[test]
    fn a_wrong_network_is_refused_with_what_to_write() {
        for (text, says) in [
            ("10.0.0.0/33", "0 to 32"),
            ("::/129", "0 to 128"),
            ("10.0.0.0/", "0 to 32"),
            ("10.0.0.0/-1", "0 to 32"),
            ("10.1.2.3/8", "did you mean 10.0.0.0/8, or 10.1.2.3/32"),
            ("2001:db8::1/32", "did you mean 2001:db8::/32"),
            ("example.org/8", "not an IP address"),
            ("", "not an IP address"),
        ] {
            let error = text.parse::<Network>().expect_err(text);
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn devices_are_separated_by_commas_and_may_be_left_out() {
        assert_eq!(devices(""), Ok(Vec::new()));
        let two = vec!["eth0".to_owned(), "wlan0".to_owned()];
        assert_eq!(devices("eth0, wlan0"), Ok(two));
        assert!(devices("eth0,").is_err());
        assert!(
            devices("a/b")
                .expect_err("a path")
                .contains("ip -brief link")
        );
        assert!(devices("sixteen-letters!").is_err());
    }

    #[test]
    fn an_unknown_fallback_names_the_nearest() {
        let names = ["reno".to_owned(), "cubic".to_owned()];
        assert_eq!(known("cubic", &names), Ok("cubic".to_owned()));
        assert_eq!(known("bbr", &[]), Ok("bbr".to_owned()));
        let error = known("cubik", &names).expect_err("unknown");
        assert!(error.contains("did you mean `cubic`?"), "{error}");
        assert!(error.contains("it has reno, cubic; did you"), "{error}");
    }

    #[test]
    fn a_path_that_is_not_a_cgroup_is_refused() {
        let refused = |path: &str| cgroup(Path::new(path)).expect_err(path);
        assert!(refused("/no/such").contains("/no/such: No such file"));
        assert!(refused("/tmp").contains("not a cgroup"));
        assert!(refused("/proc/self/status").contains("not a cgroup"));
    }
}
