//! The wire format, version 1: `whimbrel/1` in TLS's ALPN.
//!
//! One bidirectional stream per file carries messages; one unidirectional stream per chunk carries
//! data.
//!
//! ```text
//! client                                 server
//!   Put(version, token, name, size)  ->
//!                                    <-  Accepted(transfer)
//!   chunk streams, many at once      ->
//!   Finish(blake3)                   ->
//!                                    <-  Stored(bytes, blake3)     stored on disk under its name
//! ```
//!
//! The server may send `Refused(reason, text)` instead of any answer. A message is
//!
//! ```text
//! length  u32    of the rest, 1 to 2048
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
//! transfer u64, index u64, then the chunk: 1 MiB, or the rest of the file; then the stream ends
//! ```
//!
//! Numbers are big-endian. Bytes after the body are an error.

use crate::token::Token;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use std::fmt;

/// The protocol version.
pub const VERSION: u16 = 1;
/// Maximum length of a message without its length field, bytes.
pub const MAX_MESSAGE: usize = 2048;
/// Maximum length of a refusal's text, bytes.
const MAX_TEXT: usize = 1024;
/// Length of the header of a chunk stream, bytes.
pub const CHUNK_HEADER: usize = 16;

/// A message of the control stream.
#[derive(Debug, Clone)]
pub enum Message {
    /// The client requests to store a file.
    Put(Put),
    /// The client has sent all chunks.
    Finish {
        /// Hash of the whole file.
        hash: blake3::Hash,
    },
    /// The server is ready for the chunks.
    Accepted {
        /// The identifier for the header of each chunk stream.
        transfer: u64,
    },
    /// The server has stored the file on disk under its name.
    Stored {
        /// The file's size.
        bytes: u64,
        /// The file's hash, computed from what was written.
        hash: blake3::Hash,
    },
    /// The server refuses the file or could not store it.
    Refused(Refusal),
}

/// A request to store a file.
#[derive(Debug, Clone)]
pub struct Put {
    /// The protocol version of the client.
    pub version: u16,
    /// The client's token.
    pub token: Token,
    /// The file's size, bytes.
    pub size: u64,
    /// The requested file name, not yet checked.
    pub name: String,
}

/// Why the server refused a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The token is wrong.
    Token,
    /// The name is invalid.
    Name,
    /// A file of that name exists.
    Exists,
    /// The file is larger than the server's limit.
    TooLarge,
    /// The disk has not enough space.
    DiskFull,
    /// Too many concurrent transfers.
    Busy,
    /// The data does not have the announced hash.
    Corrupt,
    /// The client violated the protocol.
    Protocol,
    /// No data arrived for too long.
    Stalled,
    /// The server is stopping.
    Stopping,
    /// The server failed.
    Internal,
    /// The client uses another protocol version.
    Version,
    /// A reason unknown to this version.
    Other(u16),
}

/// The reasons and their numbers on the wire.
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

/// A refusal with an explanation for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The reason, for a program.
    pub reason: Reason,
    /// The reason, for the user. At most 1024 bytes, without control characters.
    pub text: String,
}

impl Refusal {
    /// Creates a refusal. Text that is too long is cut; control characters become spaces.
    pub fn new(reason: Reason, text: impl Into<String>) -> Self {
        let mut text: String = text
            .into()
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        if text.len() > MAX_TEXT {
            let cut = (0..=MAX_TEXT)
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

/// Why bytes are not a valid message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The body ends too early.
    #[error("a message is truncated")]
    Short,
    /// The body is longer than its fields.
    #[error("a message has trailing bytes")]
    Long,
    /// The kind is unknown.
    #[error("a message has the unknown kind {0}")]
    Kind(u8),
    /// A text is too long, empty where that is not allowed, or not UTF-8.
    #[error("a message contains an invalid text")]
    Text,
}

impl From<bytes::TryGetError> for WireError {
    fn from(_: bytes::TryGetError) -> Self {
        Self::Short
    }
}

impl Message {
    /// Encodes the message, its length first.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(64);
        out.put_u32(0);
        match self {
            Self::Put(put) => {
                out.put_u8(1);
                out.put_u16(put.version);
                out.put_slice(put.token.bytes());
                out.put_u64(put.size);
                put_text(&mut out, &put.name, crate::FileName::MAX_LEN);
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
                put_text(&mut out, &refusal.text, MAX_TEXT);
            }
        }
        let length = (out.len() - 4) as u32;
        out[..4].copy_from_slice(&length.to_be_bytes());
        out.freeze()
    }

    /// Decodes the bytes after the length field.
    ///
    /// # Errors
    /// If they are not exactly one message.
    pub fn decode(mut body: &[u8]) -> Result<Self, WireError> {
        let from = &mut body;
        let message = match from.try_get_u8()? {
            1 => Self::Put(Put {
                version: from.try_get_u16()?,
                token: Token::from_bytes(array(from)?),
                size: from.try_get_u64()?,
                name: text(from, 1, crate::FileName::MAX_LEN)?,
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
                Self::Refused(Refusal::new(reason, text(from, 0, MAX_TEXT)?))
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

/// The header of a chunk stream.
pub fn chunk_header(transfer: u64, index: u64) -> [u8; CHUNK_HEADER] {
    let mut header = [0; CHUNK_HEADER];
    header[..8].copy_from_slice(&transfer.to_be_bytes());
    header[8..].copy_from_slice(&index.to_be_bytes());
    header
}

/// Transfer and index from the header of a chunk stream.
pub fn read_chunk_header(header: [u8; CHUNK_HEADER]) -> (u64, u64) {
    let mut from = &header[..];
    (from.get_u64(), from.get_u64())
}

fn array<const N: usize>(from: &mut &[u8]) -> Result<[u8; N], WireError> {
    let mut bytes = [0; N];
    from.try_copy_to_slice(&mut bytes)?;
    Ok(bytes)
}

/// Callers keep texts short. A longer text is cut, so that the length is always correct.
fn put_text(out: &mut BytesMut, text: &str, max: usize) {
    let bytes = &text.as_bytes()[..text.len().min(max)];
    out.put_u16(bytes.len() as u16);
    out.put_slice(bytes);
}

fn text(from: &mut &[u8], min: usize, max: usize) -> Result<String, WireError> {
    let length = usize::from(from.try_get_u16()?);
    if !(min..=max).contains(&length) {
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
        fn messages_read_back(message in any_message()) {
            let bytes = message.encode();
            let length = u32::from_be_bytes(bytes[..4].try_into().expect("four bytes")) as usize;
            prop_assert_eq!(length, bytes.len() - 4);
            prop_assert!(length <= MAX_MESSAGE);
            let again = Message::decode(&bytes[4..]).expect("a message");
            prop_assert_eq!(again.encode(), bytes);
        }

        #[test]
        fn truncated_messages_and_trailing_bytes_are_errors(
            message in any_message(),
            cut in any::<prop::sample::Index>(),
        ) {
            let bytes = message.encode();
            let body = &bytes[4..];
            prop_assert!(Message::decode(&body[..cut.index(body.len())]).is_err());
            let mut longer = body.to_vec();
            longer.push(0);
            prop_assert!(Message::decode(&longer).is_err());
        }

        #[test]
        fn any_bytes_decode_or_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
            if let Ok(message) = Message::decode(&bytes) {
                prop_assert!(message.encode().len() <= MAX_MESSAGE + 4);
            }
        }

        #[test]
        fn chunk_headers_read_back(transfer in any::<u64>(), index in any::<u64>()) {
            prop_assert_eq!(read_chunk_header(chunk_header(transfer, index)), (transfer, index));
        }
    }

    #[test]
    fn a_refusal_is_short_and_free_of_control_characters() {
        let refusal = Refusal::new(Reason::Other(77), "é\x1b[31m".repeat(1000));
        assert!(refusal.text.len() <= MAX_TEXT && !refusal.text.contains('\x1b'));
        let bytes = Message::Refused(refusal.clone()).encode();
        assert!(bytes.len() <= MAX_MESSAGE);
        let Ok(Message::Refused(read)) = Message::decode(&bytes[4..]) else {
            panic!("a message")
        };
        assert_eq!(read, refusal);
    }

    /// The format is fixed: a change here needs a new version.
    #[test]
    fn version_1_has_these_bytes() {
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
