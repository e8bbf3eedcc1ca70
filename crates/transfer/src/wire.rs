//! What is said on the wire, version 1: `whimbrel/1` in TLS's ALPN.
//!
//! One bidirectional stream per file carries messages; one unidirectional stream per chunk carries data.
//!
//! ```text
//! client                                 server
//!   Put(version, token, name, size)  ->
//!                                    <-  Accepted(transfer)
//!   chunk streams, many at once      ->
//!   Finish(blake3)                   ->
//!                                    <-  Stored(bytes, blake3)     it stands under its name, on disk
//! ```
//!
//! Instead of any answer the server may send `Refused(reason, text)`. A message is
//!
//! ```text
//! length  u32    of what follows, 1 to 2048
//! kind    u8     1 Put, 2 Finish, 3 Accepted, 4 Stored, 5 Refused
//! body
//!   Put      version u16, token 20 bytes, size u64, name: length u16 (1 to 255) and UTF-8
//!   Finish   blake3 32 bytes
//!   Accepted transfer u64
//!   Stored   bytes u64, blake3 32 bytes
//!   Refused  reason u16, text: length u16 (to 1024) and UTF-8
//! ```
//!
//! and a chunk stream is
//!
//! ```text
//! transfer u64, index u64, then the chunk: 1 MiB, or what is left of the file; then the stream ends
//! ```
//!
//! Numbers are big-endian. Bytes left over after a body are an error.

use crate::token::Token;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use std::fmt;

/// The version spoken.
pub const VERSION: u16 = 1;
/// Longest message, without its length.
pub const MOST_MESSAGE: usize = 2048;
/// Longest text of a refusal, in bytes.
const MOST_TEXT: usize = 1024;
/// Length of what precedes a chunk on its stream.
pub const CHUNK_HEADER: usize = 16;

/// One message of the control stream.
#[derive(Debug, Clone)]
pub enum Message {
    /// The client asks to store a file.
    Put(Put),
    /// The client has sent all chunks.
    Finish {
        /// Of the whole file.
        hash: blake3::Hash,
    },
    /// The server is ready for the chunks.
    Accepted {
        /// To be named on each chunk's stream.
        transfer: u64,
    },
    /// The file stands under its name, on disk.
    Stored {
        /// Its size.
        bytes: u64,
        /// Its hash, computed from what was written.
        hash: blake3::Hash,
    },
    /// The server will not, or could not.
    Refused(Refusal),
}

/// A wish to store a file.
#[derive(Debug, Clone)]
pub struct Put {
    /// The version the client speaks.
    pub version: u16,
    /// Its right to be here.
    pub token: Token,
    /// Bytes in the file.
    pub size: u64,
    /// As the client would like it called; not yet checked.
    pub name: String,
}

/// Why the server said no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The token is wrong.
    Token,
    /// The name is not accepted.
    Name,
    /// A file of that name is there.
    Exists,
    /// The file is larger than the server takes.
    TooLarge,
    /// There is no room on the disk.
    DiskFull,
    /// Too many transfers at once.
    Busy,
    /// The hash does not match what arrived.
    Corrupt,
    /// The client broke the protocol.
    Protocol,
    /// Nothing arrived for too long.
    Stalled,
    /// The server is being stopped.
    Stopping,
    /// Something failed at the server.
    Internal,
    /// The client speaks another version.
    Version,
    /// A reason this version does not know.
    Other(u16),
}

/// Reasons and their numbers, in one place.
const REASONS: [(Reason, u16); 12] = [
    (Reason::Token, 1),
    (Reason::Name, 2),
    (Reason::Exists, 3),
    (Reason::TooLarge, 4),
    (Reason::DiskFull, 5),
    (Reason::Busy, 6),
    (Reason::Corrupt, 7),
    (Reason::Protocol, 8),
    (Reason::Stalled, 9),
    (Reason::Stopping, 10),
    (Reason::Internal, 11),
    (Reason::Version, 12),
];

impl Reason {
    fn number(self) -> u16 {
        match self {
            Self::Other(number) => number,
            known => REASONS
                .iter()
                .find(|(r, _)| *r == known)
                .map_or(0, |(_, n)| *n),
        }
    }

    fn from_number(number: u16) -> Self {
        REASONS
            .iter()
            .find(|(_, n)| *n == number)
            .map_or(Self::Other(number), |(r, _)| *r)
    }
}

/// A no, with a sentence for the person who asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Why, for a program.
    pub reason: Reason,
    /// Why, for a person. At most 1024 bytes, without control characters.
    pub text: String,
}

impl Refusal {
    /// A refusal; text that is too long is cut, control characters become spaces.
    pub fn new(reason: Reason, text: impl Into<String>) -> Self {
        let mut text: String = text
            .into()
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        if text.len() > MOST_TEXT {
            let cut = (0..=MOST_TEXT)
                .rev()
                .find(|i| text.is_char_boundary(*i))
                .unwrap_or(0);
            text.truncate(cut);
        }
        Self { reason, text }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The body ends too early.
    #[error("a message is cut short")]
    Short,
    /// The body is longer than its fields.
    #[error("a message has bytes left over")]
    Long,
    /// There is no such kind.
    #[error("a message is of unknown kind {0}")]
    Kind(u8),
    /// A text is too long, empty where it may not be, or not UTF-8.
    #[error("a message has a text that is no text")]
    Text,
}

impl From<bytes::TryGetError> for WireError {
    fn from(_: bytes::TryGetError) -> Self {
        Self::Short
    }
}

impl Message {
    /// As it goes on the stream, its length first.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(64);
        out.put_u32(0);
        match self {
            Self::Put(put) => {
                out.put_u8(1);
                out.put_u16(put.version);
                out.put_slice(put.token.bytes());
                out.put_u64(put.size);
                put_text(&mut out, &put.name, crate::FileName::MOST);
            }
            Self::Finish { hash } => {
                out.put_u8(2);
                out.put_slice(hash.as_bytes());
            }
            Self::Accepted { transfer } => {
                out.put_u8(3);
                out.put_u64(*transfer);
            }
            Self::Stored { bytes, hash } => {
                out.put_u8(4);
                out.put_u64(*bytes);
                out.put_slice(hash.as_bytes());
            }
            Self::Refused(refusal) => {
                out.put_u8(5);
                out.put_u16(refusal.reason.number());
                put_text(&mut out, &refusal.text, MOST_TEXT);
            }
        }
        let length = (out.len() - 4) as u32;
        out[..4].copy_from_slice(&length.to_be_bytes());
        out.freeze()
    }

    /// From what follows the length.
    ///
    /// # Errors
    /// If it is not exactly one message.
    pub fn decode(mut body: &[u8]) -> Result<Self, WireError> {
        let from = &mut body;
        let message = match from.try_get_u8()? {
            1 => Self::Put(Put {
                version: from.try_get_u16()?,
                token: Token::from_bytes(array(from)?),
                size: from.try_get_u64()?,
                name: text(from, 1, crate::FileName::MOST)?,
            }),
            2 => Self::Finish {
                hash: blake3::Hash::from_bytes(array(from)?),
            },
            3 => Self::Accepted {
                transfer: from.try_get_u64()?,
            },
            4 => Self::Stored {
                bytes: from.try_get_u64()?,
                hash: blake3::Hash::from_bytes(array(from)?),
            },
            5 => {
                let reason = Reason::from_number(from.try_get_u16()?);
                Self::Refused(Refusal::new(reason, text(from, 0, MOST_TEXT)?))
            }
            kind => return Err(WireError::Kind(kind)),
        };
        if body.is_empty() {
            Ok(message)
        } else {
            Err(WireError::Long)
        }
    }
}

/// What precedes a chunk on its stream.
pub fn chunk_header(transfer: u64, index: u64) -> [u8; CHUNK_HEADER] {
    let mut header = [0; CHUNK_HEADER];
    header[..8].copy_from_slice(&transfer.to_be_bytes());
    header[8..].copy_from_slice(&index.to_be_bytes());
    header
}

/// The transfer and the index that a chunk's stream begins with.
pub fn read_chunk_header(header: [u8; CHUNK_HEADER]) -> (u64, u64) {
    let mut from = &header[..];
    (from.get_u64(), from.get_u64())
}

fn array<const N: usize>(from: &mut &[u8]) -> Result<[u8; N], WireError> {
    let mut bytes = [0; N];
    from.try_copy_to_slice(&mut bytes)?;
    Ok(bytes)
}

/// Callers keep texts short; one that is not is cut, never sent with a false length.
fn put_text(out: &mut BytesMut, text: &str, most: usize) {
    let bytes = &text.as_bytes()[..text.len().min(most)];
    out.put_u16(bytes.len() as u16);
    out.put_slice(bytes);
}

fn text(from: &mut &[u8], least: usize, most: usize) -> Result<String, WireError> {
    let length = usize::from(from.try_get_u16()?);
    if !(least..=most).contains(&length) {
        return Err(WireError::Text);
    }
    if from.len() < length {
        return Err(WireError::Short);
    }
    let (bytes, rest) = from.split_at(length);
    *from = rest;
    String::from_utf8(bytes.to_vec()).map_err(|_| WireError::Text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_message() -> impl Strategy<Value = Message> {
        let hash = || any::<[u8; 32]>().prop_map(blake3::Hash::from_bytes);
        prop_oneof![
            (
                any::<u16>(),
                any::<[u8; 20]>(),
                any::<u64>(),
                "[a-zé]{1,100}"
            )
                .prop_map(|(version, token, size, name)| Message::Put(Put {
                    version,
                    token: Token::from_bytes(token),
                    size,
                    name,
                })),
            hash().prop_map(|hash| Message::Finish { hash }),
            any::<u64>().prop_map(|transfer| Message::Accepted { transfer }),
            (any::<u64>(), hash()).prop_map(|(bytes, hash)| Message::Stored { bytes, hash }),
            (any::<u16>(), ".{0,300}")
                .prop_map(|(n, text)| Message::Refused(Refusal::new(Reason::from_number(n), text))),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(message in any_message()) {
            let bytes = message.encode();
            let length = u32::from_be_bytes(bytes[..4].try_into().expect("four")) as usize;
            prop_assert_eq!(length, bytes.len() - 4);
            prop_assert!(length <= MOST_MESSAGE);
            let again = Message::decode(&bytes[4..]).expect("as written");
            prop_assert_eq!(again.encode(), bytes);
        }

        #[test]
        fn a_message_cut_short_or_with_something_behind_it_is_an_error(message in any_message(), cut in any::<prop::sample::Index>()) {
            let bytes = message.encode();
            let body = &bytes[4..];
            prop_assert!(Message::decode(&body[..cut.index(body.len())]).is_err());
            let mut longer = body.to_vec();
            longer.push(0);
            prop_assert!(Message::decode(&longer).is_err());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
            if let Ok(message) = Message::decode(&bytes) {
                prop_assert!(message.encode().len() <= MOST_MESSAGE + 4);
            }
        }

        #[test]
        fn chunk_headers_read_back(transfer in any::<u64>(), index in any::<u64>()) {
            prop_assert_eq!(read_chunk_header(chunk_header(transfer, index)), (transfer, index));
        }
    }

    #[test]
    fn a_refusal_fits_a_message_and_a_terminal() {
        let refusal = Refusal::new(Reason::Other(77), "é\x1b[31m".repeat(1000));
        assert!(refusal.text.len() <= MOST_TEXT && !refusal.text.contains('\x1b'));
        let bytes = Message::Refused(refusal.clone()).encode();
        assert!(bytes.len() <= MOST_MESSAGE);
        let Ok(Message::Refused(read)) = Message::decode(&bytes[4..]) else {
            panic!("as written")
        };
        assert_eq!(read, refusal);
    }

    /// The bytes are the protocol: a change here needs a new version.
    #[test]
    fn version_1_is_these_bytes() {
        let put = Message::Put(Put {
            version: VERSION,
            token: Token::from_bytes([7; 20]),
            size: 0x0102,
            name: "a.b".to_owned(),
        });
        let mut expected = vec![0, 0, 0, 36, 1, 0, 1];
        expected.extend([7; 20]);
        expected.extend([0, 0, 0, 0, 0, 0, 1, 2, 0, 3, b'a', b'.', b'b']);
        assert_eq!(put.encode(), expected);
        assert_eq!(
            chunk_header(1, 258)[..],
            [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 2]
        );
    }
}
