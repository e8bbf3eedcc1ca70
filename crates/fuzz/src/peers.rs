//! Decoders of what peers send.

use bytes::{Bytes, BytesMut};
use std::path::Path;
use whimbrel_transfer::wire::{Message, PackReader};
use whimbrel_transfer::{RemotePath, printable};

/// Length of the hash in front of a pack, bytes.
const HASH: usize = 32;

/// A message of a control stream. One that is read is written as bytes that are read as the same.
pub fn message(bytes: &[u8]) {
    let Ok(message) = Message::decode(bytes) else {
        return;
    };
    let written = message.encode();
    let again = Message::decode(&written[4..]).expect("what was written can be read");
    assert_eq!(format!("{again:?}"), format!("{message:?}"));
}

/// Messages one after the other, in pieces as a network brings them.
pub fn messages(bytes: &[u8]) {
    whimbrel_transfer::decoders::messages(bytes);
}

/// The files of a pack. Its hash is made here: no random input has one.
pub fn pack(bytes: &[u8]) {
    let mut whole = BytesMut::zeroed(HASH);
    whole.extend_from_slice(bytes);
    let sealed = PackReader::seal(whole);
    let reader = PackReader::open(sealed).expect("it has its hash");
    let mut size = 0;
    for entry in reader {
        let Ok(entry) = entry else {
            break;
        };
        size += entry.path.len() + entry.content.len();
        assert!(size <= bytes.len(), "more than there is");
    }
    assert!(PackReader::open(Bytes::copy_from_slice(bytes)).is_none_or(|_| bytes.len() >= HASH));
}

/// Datagrams in a stream of TLS.
pub fn frames(bytes: &[u8]) {
    whimbrel_transfer::decoders::frames(bytes);
}

/// Marks of packets, reports of their arrival, bursts, trains and shares.
pub fn feedback(bytes: &[u8]) {
    whimbrel_quic::decoders::feedback(bytes);
}

/// A path, and what a terminal shows of it.
pub fn path(bytes: &[u8]) {
    let shown = printable(bytes);
    assert!(!shown.chars().any(char::is_control), "{shown:?}");
    let Ok(path) = RemotePath::new(bytes) else {
        return;
    };
    assert_eq!(path.as_bytes(), bytes);
    let parts = Path::new(path.as_path()).components();
    for part in parts {
        assert!(matches!(part, std::path::Component::Normal(_)), "{path}");
    }
}
