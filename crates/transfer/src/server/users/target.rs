//! What a pipe reaches at the server.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// What a pipe reaches at the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A TCP port, as host and port.
    Tcp(String, u16),
    /// A program and its arguments, whose standard input and output the pipe is.
    Command(Vec<String>),
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a target; write host:port, e.g. `127.0.0.1:22`");
        if let Ok(address) = text.parse::<SocketAddr>() {
            let port = Some(address.port()).filter(|port| *port > 0);
            return Ok(Self::Tcp(address.ip().to_string(), port.ok_or_else(wrong)?));
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().ok().filter(|port| *port > 0);
        let invalid = |c: char| c.is_whitespace() || c.is_control() || "/@:[]%".contains(c);
        if host.is_empty() || host.len() > 255 || host.contains(invalid) {
            return Err(wrong());
        }
        Ok(Self::Tcp(host.to_owned(), port.ok_or_else(wrong)?))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Command(words) => f.write_str(&words.join(" ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn targets_are_a_host_and_a_port() {
        for (text, host, port) in [
            ("127.0.0.1:22", "127.0.0.1", 22),
            ("[::1]:22", "::1", 22),
            ("db.example:5432", "db.example", 5432),
        ] {
            let target: Target = text.parse().expect(text);
            assert_eq!(target, Target::Tcp(host.to_owned(), port));
            assert_eq!(target.to_string(), text);
        }
        for wrong in [
            "",
            "22",
            "host",
            ":22",
            "host:0",
            "127.0.0.1:0",
            "host:99999",
            "a b:1",
            "::1:22",
            "[x]:1",
        ] {
            assert!(wrong.parse::<Target>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_target_or_an_error(text in ".*") {
            if let Ok(target) = text.parse::<Target>() {
                prop_assert_eq!(target.to_string().parse(), Ok(target));
            }
        }
    }
}
