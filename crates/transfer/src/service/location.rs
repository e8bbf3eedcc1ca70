//! A place on a server as users write it: `HOST[:PORT][:PATH]`.

use crate::defaults::DEFAULT_PORT;
use crate::{RemotePath, ServerAddress};
use std::str::FromStr;

/// A server, and perhaps a path below the user's directory there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The server.
    pub server: ServerAddress,
    /// The path; `None` is the user's directory.
    pub path: Option<RemotePath>,
    /// The path ended with a slash: it is a directory.
    pub is_directory: bool,
}

impl Location {
    /// What to write for a port, if the path begins with what may be meant for one:
    /// `example.org:99/a` is the path `99/a` at the usual port. None if a port was written.
    pub fn port_note(&self) -> Option<String> {
        if self.server.port != DEFAULT_PORT {
            return None;
        }
        let path = self.path.as_ref()?.to_string();
        let (port, below) = path.split_once('/').unwrap_or((&path, ""));
        let port: u16 = port.parse().ok().filter(|port| *port > 0)?;
        let host = self.server.host.clone();
        let meant = ServerAddress { host, port };
        let slash = if self.is_directory && !below.is_empty() {
            "/"
        } else {
            ""
        };
        Some(format!(
            "`{path}` is a path on the server at port {DEFAULT_PORT}; for port {port} write \
             {meant}:{below}{slash}"
        ))
    }
}

impl FromStr for Location {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let place = |server: &str, path: Option<&str>| {
            let path = path.filter(|path| !path.is_empty() && *path != "." && *path != "./");
            let trimmed = path.map(|path| {
                let path = path.strip_prefix("./").unwrap_or(path);
                path.trim_end_matches('/')
            });
            let parsed = trimmed.map(RemotePath::new).transpose();
            Ok(Self {
                server: server.parse()?,
                path: parsed.map_err(|e| format!("`{text}`: {e}"))?,
                is_directory: path.is_none_or(|path| path.ends_with('/')),
            })
        };
        if text.parse::<ServerAddress>().is_ok() {
            return place(text, None);
        }
        // Behind the address in brackets, or behind the host: a port, a path, or both.
        let host = match text.strip_prefix('[') {
            Some(rest) => rest.find(']').map_or(text.len(), |end| end + 2),
            None => text.find(':').unwrap_or(text.len()),
        };
        let (host, rest) = text.split_at(host);
        if host.is_empty() {
            let text = format!("`{text}`: write HOST:PATH, and an IPv6 address in brackets");
            return Err(text);
        }
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        match rest.split_once(':') {
            Some((port, path)) if port.parse::<u16>().is_ok() => {
                place(&format!("{host}:{port}"), Some(path))
            }
            None if !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()) => Err(format!(
                "`{text}`: {rest} is not a port; for a file of this name write {host}:./{rest}"
            )),
            _ => place(host, Some(rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_parsed() {
        for (text, server, path, is_directory) in [
            ("example.org", "example.org:4440", None, true),
            ("example.org:99", "example.org:99", None, true),
            ("example.org:", "example.org:4440", None, true),
            ("example.org:a/b", "example.org:4440", Some("a/b"), false),
            ("example.org:a/", "example.org:4440", Some("a"), true),
            ("example.org:99:a", "example.org:99", Some("a"), false),
            ("example.org:./99", "example.org:4440", Some("99"), false),
            ("[::1]:a", "[::1]:4440", Some("a"), false),
            ("[::1]:99:a/b/", "[::1]:99", Some("a/b"), true),
            ("::1", "[::1]:4440", None, true),
        ] {
            let place: Location = text.parse().expect(text);
            assert_eq!(place.server.to_string(), server, "{text}");
            assert_eq!(place.path.map(|p| p.to_string()).as_deref(), path, "{text}");
            assert_eq!(place.is_directory, is_directory, "{text}");
        }
        for wrong in [
            "",
            ":a",
            "a b:c",
            "host:../x",
            "host:/etc/x",
            "host:.hidden",
        ] {
            assert!(wrong.parse::<Location>().is_err(), "{wrong}");
        }
        let error = |text: &str| text.parse::<Location>().expect_err(text);
        let port = error("example.org:99999");
        assert!(
            port.contains("not a port") && port.contains("example.org:./99999"),
            "{port}"
        );
        for (text, expected) in [
            ("example.org:4477/a/b", Some("example.org:4477:a/b")),
            ("[::1]:4477/a/", Some("[::1]:4477:a/")),
            ("example.org:4477/", Some("example.org:4477:")),
            ("example.org:99999/a", None),
            ("example.org:a/4477", None),
            ("example.org:4477:a", None),
            ("example.org:99:4477/a", None),
        ] {
            let place: Location = text.parse().expect(text);
            let note = place.port_note();
            assert_eq!(note.is_some(), expected.is_some(), "{text}: {note:?}");
            let end = format!("write {}", expected.unwrap_or_default());
            assert!(note.is_none_or(|note| note.ends_with(&end)), "{text}");
        }
        let address = error("::1:4455:x");
        assert!(
            address.contains("::1:4455:x") && address.contains("brackets"),
            "{address}"
        );
    }
}
