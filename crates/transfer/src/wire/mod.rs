//! The wire format, version 4: `whimbrel/4` in TLS's ALPN.
//!
//! The first bidirectional stream of a connection authenticates the client. Every request is a
//! bidirectional stream of its own, which the client may open in the same flight; the server looks
//! at it when the client is authenticated. One unidirectional stream per chunk carries data.
//!
//! ```text
//! client                                  server
//!   Hello(version, token)             ->
//!                                     <-  Welcome | Refused
//!
//! A file, on a stream of its own:
//!   Put(path, size, ...)              ->
//!                                     <-  Queued(position)*     while other transfers have the slots
//!                                     <-  Accepted(transfer, what the server has of it)
//!   HashRequest(a part of that)*      ->
//!                                     <-  Hashes*               so that only what differs is sent
//!   chunk streams, many at once       ->
//!                                     <-  Written(ranges)*      if the size is unknown
//!   Finish(size, chunks, blake3)      ->
//!                                     <-  Stored(bytes, blake3)       on disk under its name
//! ```
//!
//! If a file of that name and size exists, the server answers `Present` instead of `Accepted`, and
//! the client sends `Finish`. If the hashes are equal, the answer is `Stored`: a request that is
//! repeated, because its answer was lost, succeeds. Otherwise the answer is `Accepted` or, if files
//! are not replaced, `Refused`.
//!
//! ```text
//! A file in the other direction, with the roles exchanged after the request:
//!   Get(path)                         ->
//!                                     <-  Queued*, Put(path, size, ...)
//!   Accepted(transfer, ...)           ->  and so on, until
//!   Stored                            ->
//!
//! Many small files:
//!   Tree(path, bytes)                 ->
//!                                     <-  Queued*, Accepted(transfer, whether files exist there)
//!   Check(files)*                     ->
//!                                     <-  Need(which of them)*  in the same order
//!   pack streams, many at once        ->
//!                                     <-  Packed(pack, failures)*     on disk under their names
//!   Finish                            ->
//!                                     <-  Stored
//!
//! Many small files in the other direction:
//!   GetMany(transfer), Wanted(paths)* ->
//!                                     <-  Queued*, pack streams, Unsent(failures)*
//!                                     <-  Finish(size, packs)   when all paths are answered
//!
//!   List(path, recursive)             ->
//!                                     <-  Entries*, the last one marked
//!   Remove(path, recursive)           ->
//!                                     <-  Removed(number)
//! ```
//!
//! ```text
//! A byte stream in each direction to a port or program at the server:
//!   Pipe(answers, target)             ->
//!                                     <-  Accepted(transfer)
//!   chunk streams, numbered from 0, of `transfer` to the server and of `answers` to the client
//!                                     <-  Exited(status)
//! ```
//!
//! ```text
//! Three words instead of a token, of a server that waits for them:
//!   Code(version, pA)                 ->
//!                                     <-  CodeAnswer(pB, proof)
//!   CodeProof(proof)                  ->
//!                                     <-  Welcome
//!
//! Strangers who meet at a server:
//!   Meet(version, place, ...)         ->
//!                                     <-  Queued                a sender waits
//!                                     <-  Met(its address)      what follows is the other end's
//! ```
//!
//! The chunk streams of a pipe have their number as offset and the length 0, which is not known
//! when they begin. Each has 1 MiB, but for the last one of its direction, which has less.
//!
//! The server may send `Refused(reason, text)` instead of any answer. A message is
//!
//! ```text
//! length   u32    of the rest, at most 2048 before Welcome and 65,536 after it
//! message         as postcard encodes it (<https://postcard.jamesmunns.com/wire-format>)
//! ```
//!
//! and a chunk or pack stream is
//!
//! ```text
//! transfer u64, offset in the file or number of the pack u64, length u32 (1 to 1 MiB),
//! then `length` bytes; then the stream ends
//! ```
//!
//! The numbers of these two are big-endian. Bytes after a message are an error, and so is a list,
//! a text or a number outside its limits. A chunk stays within a block of 1
//! MiB. The content of a pack is described at [`PackEntry`].

mod attributes;
mod bounds;
mod message;
mod pack;
mod refusal;
#[cfg(test)]
mod tests;

pub use attributes::{Attribute, FileTime, Kind, Metadata};
pub(crate) use attributes::{MAX_ATTRIBUTES, MAX_VALUE};
pub use message::{CheckedFile, Entry, Failure, Finish, Message, Put, Remote, Unread};
pub use pack::{MAX_PACK, PackEntry, PackReader};
pub use refusal::{Reason, Refusal};

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Why bytes are not a message or pack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a message is damaged: {0}")]
pub struct WireError(String);

impl From<postcard::Error> for WireError {
    fn from(error: postcard::Error) -> Self {
        Self(error.to_string())
    }
}

/// The protocol version.
pub const VERSION: u16 = 4;
/// Maximum length of a message before the client is authenticated, without its length field, bytes.
pub const MAX_FIRST_MESSAGE: usize = 2048;
/// Maximum length of a message, without its length field, bytes.
pub const MAX_MESSAGE: usize = 64 << 10;
/// Maximum number of ranges in [`Message::Accepted`], of hashes in a message, and of files in
/// [`Message::Check`].
pub const MAX_LIST: usize = 1024;
/// Maximum length of a path, bytes.
const MAX_PATH: usize = crate::path::RemotePath::MAX_LEN;
/// Maximum length of a target's name, bytes.
const MAX_TARGET: usize = 300;
/// Maximum length of a message of SPAKE2, bytes.
const MAX_PAKE: usize = 64;
/// The target of a probe. No name of a configured target begins with `@`.
pub const PROBE: &str = "@probe";
/// The target that sends data until the client ends its own direction.
pub const SOURCE: &str = "@source";
/// Length of the header of a chunk stream, bytes.
pub const CHUNK_HEADER: usize = 20;

/// The header of a chunk or pack stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkHeader {
    /// The transfer, from [`Message::Accepted`].
    pub transfer: u64,
    /// Offset in the file, bytes, or number of the pack.
    pub offset: u64,
    /// Length of the content, bytes.
    pub length: u32,
}

impl ChunkHeader {
    /// The header as bytes.
    pub fn encode(self) -> Bytes {
        let mut out = BytesMut::with_capacity(CHUNK_HEADER);
        out.put_u64(self.transfer);
        out.put_u64(self.offset);
        out.put_u32(self.length);
        out.freeze()
    }

    /// Reads a header.
    pub fn decode(bytes: [u8; CHUNK_HEADER]) -> Self {
        let mut from = &bytes[..];
        Self {
            transfer: from.get_u64(),
            offset: from.get_u64(),
            length: from.get_u32(),
        }
    }
}
