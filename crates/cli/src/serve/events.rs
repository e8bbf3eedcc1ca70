//! What happened on the server, as a line and as JSON.

use serde_json::{Value, json};
use std::net::SocketAddr;
use whimbrel_transfer::{Error, Event};
use whimbrel_units::{Bytes, Duration, Rate};

/// A transfer that is complete.
struct Complete<'a> {
    /// Its name in JSON.
    kind: &'static str,
    /// What was done, to what: `stored a.bin`.
    what: String,
    /// Between the size and the client.
    way: &'static str,
    peer: &'a SocketAddr,
    /// The file, or the directory of a tree; `None`: the kind has no name.
    name: Option<Value>,
    /// The number of files of a tree.
    files: Option<u64>,
    bytes: Bytes,
    took: Duration,
    /// The hash of a single file.
    hash: Option<String>,
}

impl<'a> Complete<'a> {
    /// `None` for events that are no complete transfers.
    fn of(event: &'a Event) -> Option<Self> {
        let (kind, what, name, files, hash) = match event {
            Event::Stored { name, hash, .. } => {
                let named = Some(name.to_string().into());
                ("stored", format!("stored {name}"), named, None, Some(hash))
            }
            Event::Sent { name, hash, .. } => {
                let named = Some(name.to_string().into());
                ("sent", format!("sent {name}"), named, None, Some(hash))
            }
            Event::StoredTree { name, files, .. } => {
                let name = name.as_ref().map(ToString::to_string);
                let what = format!("stored {files} files in {}", name.as_deref().unwrap_or("."));
                ("stored_tree", what, Some(name.into()), Some(*files), None)
            }
            Event::SentTree { files, .. } => {
                let what = format!("sent {files} files");
                ("sent_tree", what, None, Some(*files), None)
            }
            _ => return None,
        };
        let (Event::Stored {
            peer, bytes, took, ..
        }
        | Event::Sent {
            peer, bytes, took, ..
        }
        | Event::StoredTree {
            peer, bytes, took, ..
        }
        | Event::SentTree {
            peer, bytes, took, ..
        }) = event
        else {
            return None;
        };
        let (bytes, took) = (*bytes, *took);
        Some(Self {
            kind,
            what,
            way: if kind.starts_with("stored") {
                "from"
            } else {
                "to"
            },
            peer,
            name,
            files,
            bytes,
            took,
            hash: hash.map(|hash| hash.to_hex().to_string()),
        })
    }

    fn rate(&self) -> Rate {
        Rate::over(self.bytes, self.took)
    }

    fn line(&self) -> String {
        let Self {
            what,
            way,
            peer,
            bytes,
            took,
            ..
        } = self;
        format!("{what}: {bytes} {way} {peer} in {took}, {}", self.rate())
    }

    fn json(self) -> Value {
        let rate = self.rate().as_bits_per_sec();
        let mut all = json!({ "event": self.kind, "peer": self.peer.to_string() });
        let optional = [("name", self.name), ("files", self.files.map(Value::from))];
        for (key, value) in optional {
            if let Some(value) = value {
                all[key] = value;
            }
        }
        all["bytes"] = self.bytes.get().into();
        all["seconds"] = self.took.as_secs_f64().into();
        all["goodput_bps"] = rate.into();
        if let Some(hash) = self.hash {
            all["blake3"] = hash.into();
        }
        all
    }
}

/// Why a file was not stored, for the operator of the server.
fn why(error: &Error) -> String {
    match error {
        Error::Refused(refusal) => refusal.to_string(),
        Error::Lost(why) => format!("connection lost: {why}"),
        other => other.to_string(),
    }
}

/// The event for a reader.
pub fn line(event: &Event) -> String {
    if let Some(complete) = Complete::of(event) {
        return complete.line();
    }
    match event {
        Event::Piped {
            peer,
            target,
            sent,
            received,
            took,
        } => format!("joined {peer} to {target}: {received} to it, {sent} from it, {took}"),
        Event::Removed { peer, name, count } => {
            format!("removed {name} for {peer}: {count} files and directories")
        }
        Event::Failed { peer, name, error } => match name {
            Some(name) => format!("not stored {name} from {peer}: {}", why(error)),
            None => format!("rejected {peer}: {}", why(error)),
        },
        other => format!("{other:?}"),
    }
}

/// The event for a program.
pub fn json(event: &Event) -> Value {
    if let Some(complete) = Complete::of(event) {
        return complete.json();
    }
    match event {
        Event::Removed { peer, name, count } => json!({
            "event": "removed",
            "peer": peer.to_string(),
            "name": name.to_string(),
            "count": count,
        }),
        Event::Piped {
            peer,
            target,
            sent,
            received,
            took,
        } => json!({
            "event": "piped",
            "peer": peer.to_string(),
            "target": target,
            "sent": sent.get(),
            "received": received.get(),
            "seconds": took.as_secs_f64(),
        }),
        Event::Failed { peer, name, error } => json!({
            "event": "failed",
            "peer": peer.to_string(),
            "name": name.as_ref().map(ToString::to_string),
            "error": why(error),
        }),
        other => json!({ "event": "other", "text": format!("{other:?}") }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer() -> SocketAddr {
        ([127, 0, 0, 1], 4433).into()
    }

    #[test]
    fn a_tree_has_files_and_a_file_has_a_hash() {
        let tree = |name: Option<&str>| Event::StoredTree {
            peer: peer(),
            name: name.map(|name| name.parse().expect("a path")),
            files: 3,
            bytes: Bytes::new(1_000_000),
            took: Duration::from_secs(2),
        };
        assert_eq!(
            line(&tree(None)),
            "stored 3 files in .: 1 MB from 127.0.0.1:4433 in 2 s, 4 Mbit/s"
        );
        assert_eq!(
            json(&tree(Some("a"))).to_string(),
            "{\"event\":\"stored_tree\",\"peer\":\"127.0.0.1:4433\",\"name\":\"a\",\"files\":3,\
             \"bytes\":1000000,\"seconds\":2.0,\"goodput_bps\":4000000}"
        );
        assert!(json(&tree(None))["name"].is_null());
        let sent = Event::Sent {
            peer: peer(),
            name: "a.bin".parse().expect("a path"),
            bytes: Bytes::new(1000),
            took: Duration::from_secs(1),
            hash: [7; 32].into(),
        };
        assert_eq!(
            line(&sent),
            "sent a.bin: 1 kB to 127.0.0.1:4433 in 1 s, 8 kbit/s"
        );
        assert_eq!(json(&sent)["blake3"], "07".repeat(32));
    }
}
