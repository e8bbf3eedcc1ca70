//! What happened on a server, as a line for its operator and as JSON for programs.

use crate::{Error, Event, KeyExchange, RemoteUser};
use serde_json::{Value, json};
use whimbrel_units::{Bytes, Duration, Rate};

impl Event {
    /// The event in one line, for a reader. It names the key exchange if a quantum computer could
    /// decrypt a record of the connection later.
    pub fn line(&self) -> String {
        let line = self.words();
        match self.key_exchange() {
            Some(group) if !group.is_post_quantum() => {
                format!("{line}; key exchange {group} is not post-quantum")
            }
            _ => line,
        }
    }

    /// How the keys of a connection were agreed on that has carried something.
    fn key_exchange(&self) -> Option<KeyExchange> {
        match self {
            Self::Stored { key_exchange, .. }
            | Self::StoredTree { key_exchange, .. }
            | Self::Sent { key_exchange, .. }
            | Self::SentTree { key_exchange, .. }
            | Self::Piped { key_exchange, .. } => *key_exchange,
            Self::Removed { .. } | Self::Introduced { .. } | Self::Failed { .. } => None,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Stored {
                peer,
                name,
                bytes,
                took,
                ..
            } => moved(&format!("stored {name}"), *bytes, "from", peer, *took),
            Self::Sent {
                peer,
                name,
                bytes,
                took,
                ..
            } => moved(&format!("sent {name}"), *bytes, "to", peer, *took),
            Self::StoredTree {
                peer,
                name,
                files,
                bytes,
                took,
                ..
            } => {
                let directory = name.as_ref().map_or(".".to_owned(), ToString::to_string);
                let what = format!("stored {files} files in {directory}");
                moved(&what, *bytes, "from", peer, *took)
            }
            Self::SentTree {
                peer,
                files,
                bytes,
                took,
                ..
            } => moved(&format!("sent {files} files"), *bytes, "to", peer, *took),
            Self::Piped {
                peer,
                target,
                sent,
                received,
                took,
                ..
            } => {
                format!("joined {peer} to {target}: {received} to it, {sent} from it, {took}")
            }
            Self::Removed { peer, name, count } => {
                let what = match count {
                    1 => "file or directory",
                    _ => "files and directories",
                };
                format!("removed {name} for {peer}: {count} {what}")
            }
            Self::Introduced { peer } => format!("{peer} has the same words"),
            Self::Failed {
                peer,
                name: Some(name),
                error,
            } => {
                format!("failed: {name} for {peer}: {}", why(error))
            }
            Self::Failed {
                peer,
                name: None,
                error,
            } => {
                format!("rejected {peer}: {}", why(error))
            }
        }
    }

    /// The event as an object with an `event`, for a program. Sizes are in bytes, times in seconds,
    /// rates in bits per second.
    pub fn json(&self) -> Value {
        let mut object = self.object();
        if let Some(group) = self.key_exchange() {
            object["key_exchange"] = json!(group);
        }
        object
    }

    fn object(&self) -> Value {
        match self {
            Self::Stored {
                peer,
                name,
                bytes,
                took,
                hash,
                ..
            } => one_file("stored", peer, name, *bytes, *took, hash),
            Self::Sent {
                peer,
                name,
                bytes,
                took,
                hash,
                ..
            } => one_file("sent", peer, name, *bytes, *took, hash),
            Self::StoredTree {
                peer,
                name,
                files,
                bytes,
                took,
                ..
            } => json!({
                    "event": "stored_tree",
                    "peer": peer.address.to_string(),
            "user": peer.user,
                    "name": name.as_ref().map(ToString::to_string),
                    "files": files,
                    "bytes": bytes.get(),
                    "seconds": took.as_secs_f64(),
                    "goodput_bps": Rate::over(*bytes, *took).as_bits_per_sec(),
                }),
            Self::SentTree {
                peer,
                files,
                bytes,
                took,
                ..
            } => json!({
                    "event": "sent_tree",
                    "peer": peer.address.to_string(),
            "user": peer.user,
                    "files": files,
                    "bytes": bytes.get(),
                    "seconds": took.as_secs_f64(),
                    "goodput_bps": Rate::over(*bytes, *took).as_bits_per_sec(),
                }),
            Self::Removed { peer, name, count } => json!({
                    "event": "removed",
                    "peer": peer.address.to_string(),
            "user": peer.user,
                    "name": name.to_string(),
                    "count": count,
                }),
            Self::Piped {
                peer,
                target,
                sent,
                received,
                took,
                ..
            } => json!({
                    "event": "piped",
                    "peer": peer.address.to_string(),
            "user": peer.user,
                    "target": target,
                    "sent": sent.get(),
                    "received": received.get(),
                    "seconds": took.as_secs_f64(),
                }),
            Self::Introduced { peer } => json!({
                "event": "introduced",
                "peer": peer.address.to_string(),
                "user": peer.user,
            }),
            Self::Failed { peer, name, error } => json!({
                    "event": "failed",
                    "peer": peer.address.to_string(),
            "user": peer.user,
                    "name": name.as_ref().map(ToString::to_string),
                    "error": why(error),
                }),
        }
    }
}

/// A transfer that is complete. `way`: `from` or `to` the client.
fn moved(what: &str, bytes: Bytes, way: &str, peer: &RemoteUser, took: Duration) -> String {
    let rate = Rate::over(bytes, took);
    format!("{what}: {bytes} {way} {peer} in {took}, {rate}")
}

/// A single file that is complete.
fn one_file(
    event: &str,
    peer: &RemoteUser,
    name: &crate::RemotePath,
    bytes: Bytes,
    took: Duration,
    hash: &blake3::Hash,
) -> Value {
    json!({
        "event": event,
        "peer": peer.address.to_string(),
        "user": peer.user,
        "name": name.to_string(),
        "bytes": bytes.get(),
        "seconds": took.as_secs_f64(),
        "goodput_bps": Rate::over(bytes, took).as_bits_per_sec(),
        "blake3": hash.to_hex().as_str(),
    })
}

/// Why a request failed, for the operator of the server.
fn why(error: &Error) -> String {
    match error {
        Error::Refused(refusal) => refusal.to_string(),
        Error::Lost(why) => format!("connection lost: {why}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_files_and_a_file_has_a_hash() {
        let peer = RemoteUser {
            address: ([127, 0, 0, 1], 4433).into(),
            user: Some("bob".to_owned()),
        };
        let tree = |name: Option<&str>| Event::StoredTree {
            peer: peer.clone(),
            name: name.map(|name| name.parse().expect("a path")),
            files: 3,
            key_exchange: Some(KeyExchange::POST_QUANTUM),
            bytes: Bytes::new(1_000_000),
            took: Duration::from_secs(2),
        };
        assert_eq!(
            tree(None).line(),
            "stored 3 files in .: 1 MB from bob at 127.0.0.1:4433 in 2 s, 4 Mbit/s"
        );
        assert_eq!(
            tree(Some("a")).json(),
            json!({
                "event": "stored_tree", "peer": "127.0.0.1:4433", "user": "bob", "name": "a",
                "files": 3,
                "bytes": 1_000_000, "seconds": 2.0, "goodput_bps": 4_000_000,
                "key_exchange": "X25519MLKEM768",
            })
        );
        assert!(tree(None).json()["name"].is_null());
        let piped = Event::Piped {
            peer: peer.clone(),
            key_exchange: Some(KeyExchange::POST_QUANTUM),
            target: "ssh".to_owned(),
            sent: Bytes::new(1000),
            received: Bytes::new(2000),
            took: Duration::from_secs(1),
        };
        assert_eq!(
            piped.line(),
            "joined bob at 127.0.0.1:4433 to ssh: 2 kB to it, 1 kB from it, 1 s"
        );
        let json = piped.json();
        assert_eq!(
            (&json["sent"], &json["received"]),
            (&json!(1000), &json!(2000))
        );
        let sent = Event::Sent {
            peer: peer.clone(),
            key_exchange: Some(KeyExchange::X25519),
            name: "a.bin".parse().expect("a path"),
            bytes: Bytes::new(1000),
            took: Duration::from_secs(1),
            hash: [7; 32].into(),
        };
        assert_eq!(
            sent.line(),
            "sent a.bin: 1 kB to bob at 127.0.0.1:4433 in 1 s, 8 kbit/s; key exchange X25519 is \
             not post-quantum"
        );
        assert_eq!(sent.json()["blake3"], "07".repeat(32));
    }
}
