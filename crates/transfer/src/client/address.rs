//! A server's address as the user writes it.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

/// A server as the user names it: `host`, `host:port`, `[v6]:port`, or `fe80::1%eth0` with the
/// interface of a link-local address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServerAddress {
    /// Host name or address.
    pub host: String,
    /// UDP port.
    pub port: u16,
}

impl FromStr for ServerAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a server address; write host, host:port or [IPv6 address]:port"
            )
        };
        let named = |host: &str, port| Self {
            host: host.to_owned(),
            port,
        };
        if is_ipv6(text) {
            return Ok(named(text, crate::defaults::DEFAULT_PORT));
        }
        if let Some(rest) = text.strip_prefix('[') {
            let (host, port) = rest.split_once(']').ok_or_else(wrong)?;
            if !is_ipv6(host) {
                return Err(wrong());
            }
            let port = match port.strip_prefix(':') {
                Some(port) => port.parse().map_err(|_| wrong())?,
                None if port.is_empty() => crate::defaults::DEFAULT_PORT,
                None => return Err(wrong()),
            };
            return Ok(named(host, port));
        }
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| wrong())?),
            None => (text, crate::defaults::DEFAULT_PORT),
        };
        let invalid = |c: char| c.is_whitespace() || c.is_control() || "/@%[]".contains(c);
        if host.is_empty() || host.contains(invalid) {
            return Err(wrong());
        }
        Ok(named(host, port))
    }
}

/// Whether the text is an IPv6 address, with an interface if it is link-local (RFC 4007 section
/// 11).
fn is_ipv6(text: &str) -> bool {
    match text.split_once('%') {
        None => text.parse::<Ipv6Addr>().is_ok(),
        Some((address, zone)) => {
            let link_local = address
                .parse::<Ipv6Addr>()
                .is_ok_and(|a| a.is_unicast_link_local());
            let named = zone
                .chars()
                .all(|c| c.is_ascii_graphic() && !"/[]%".contains(c));
            link_local && named && !zone.is_empty()
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn server_addresses_are_parsed() {
        for (text, host, port, shown) in [
            ("example.org", "example.org", 4440, "example.org:4440"),
            ("example.org:99", "example.org", 99, "example.org:99"),
            ("192.0.2.1:99", "192.0.2.1", 99, "192.0.2.1:99"),
            ("::1", "::1", 4440, "[::1]:4440"),
            ("[::1]", "::1", 4440, "[::1]:4440"),
            ("[::1]:99", "::1", 99, "[::1]:99"),
            ("fe80::1%eth0", "fe80::1%eth0", 4440, "[fe80::1%eth0]:4440"),
            ("[fe80::1%2]:99", "fe80::1%2", 99, "[fe80::1%2]:99"),
        ] {
            let address: ServerAddress = text.parse().expect(text);
            assert_eq!((&*address.host, address.port), (host, port));
            assert_eq!(address.to_string(), shown);
        }
        for wrong in [
            "",
            ":99",
            "a:b",
            "a:99999",
            "[::1",
            "[::1]99",
            "[a]:9",
            "a b",
            "user@host",
            "fe80::1%",
            "fe80::1%a b",
            "2001:db8::1%eth0",
            "host%eth0",
        ] {
            assert!(wrong.parse::<ServerAddress>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_parses_to_an_address_or_an_error(text in ".*") {
            if let Ok(address) = text.parse::<ServerAddress>() {
                prop_assert_eq!(address.to_string().parse(), Ok(address));
            }
        }
    }
}
