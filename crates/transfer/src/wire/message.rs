//! The messages and their bytes.

use super::attributes::{FileTime, Metadata};
use super::bounds::{at_most, digest, paths, secret, text};
use super::refusal::Refusal;
use super::{MAX_LIST, MAX_MESSAGE, MAX_PAKE, MAX_PATH, MAX_TARGET, WireError};
use crate::token::Token;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// A message of a bidirectional stream.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Message {
    /// The client authenticates itself.
    Hello {
        /// The client's protocol version.
        version: u16,
        /// The client's token.
        #[serde(with = "secret")]
        token: Token,
    },
    /// The server knows the client.
    Welcome {
        /// The server's protocol version.
        version: u16,
        /// The largest file that the server accepts, bytes.
        max_size: u64,
    },
    /// The request is refused, or failed.
    Refused(Refusal),
    /// The request waits for a slot. Sent again when the position changes.
    Queued {
        /// 1: the next.
        position: u32,
    },
    /// A file is offered: by a client that wants to store it, or by a server that was asked for it.
    Put(Put),
    /// The receiver is ready for the data.
    Accepted {
        /// The identifier for the header of each chunk stream.
        transfer: u64,
        /// The ranges (start and end) of the file that the receiver has data for, in order; at most
        /// 1024. For a tree: not empty if there are files already.
        #[serde(deserialize_with = "at_most::<MAX_LIST, _, _>")]
        have: Vec<(u64, u64)>,
    },
    /// The receiver has a file of that name and size. It is compared by hash.
    Present,
    /// Requests the hashes of subtrees `first` to `first + count - 1` of 2^`log` bytes.
    HashRequest {
        /// The size of a subtree as power of two, from 16 to 44.
        log: u8,
        /// The first subtree.
        first: u64,
        /// The number of subtrees, 1 to 1024.
        count: u32,
    },
    /// The hashes that were requested.
    Hashes {
        /// As in the request.
        log: u8,
        /// As in the request.
        first: u64,
        /// The chaining values.
        #[serde(deserialize_with = "at_most::<MAX_LIST, _, _>")]
        hashes: Vec<[u8; 32]>,
    },
    /// Of a file of unknown size, what was written over this connection.
    Written {
        /// The first ranges (start and end), in order; at most 1024.
        #[serde(deserialize_with = "at_most::<MAX_LIST, _, _>")]
        ranges: Vec<(u64, u64)>,
    },
    /// The sender has sent all chunks.
    Finish(Finish),
    /// The receiver has the file on disk under its name.
    Stored {
        /// The file's size, bytes; of a tree, the bytes of its packs.
        bytes: u64,
        /// The file's hash, computed from what was written.
        #[serde(with = "digest")]
        hash: blake3::Hash,
    },
    /// A client requests a file.
    Get {
        /// Its path.
        #[serde(deserialize_with = "at_most::<MAX_PATH, _, _>")]
        path: Vec<u8>,
    },
    /// A client wants to store many files.
    Tree {
        /// As in [`Put`].
        id: [u8; 16],
        /// The directory below which they go; empty for the user's own.
        #[serde(deserialize_with = "at_most::<MAX_PATH, _, _>")]
        path: Vec<u8>,
        /// Bytes of all files, those that the server has already included.
        bytes: u64,
    },
    /// Which of these files does the server lack? At most 1024.
    Check {
        /// The files.
        #[serde(deserialize_with = "at_most::<MAX_LIST, _, _>")]
        files: Vec<CheckedFile>,
    },
    /// For each file of a [`Message::Check`], whether it is needed.
    Need {
        /// In the same order.
        #[serde(deserialize_with = "at_most::<MAX_LIST, _, _>")]
        needed: Vec<bool>,
    },
    /// A pack is stored, but for these files.
    Packed {
        /// The number of the pack.
        pack: u64,
        /// The files that are not stored, at most 1024.
        #[serde(deserialize_with = "at_most::<MAX_LIST, _, _>")]
        failures: Vec<Failure>,
    },
    /// A client requests the entries of a directory.
    List {
        /// The directory; empty for the user's own.
        #[serde(deserialize_with = "at_most::<MAX_PATH, _, _>")]
        path: Vec<u8>,
        /// With everything below it.
        recursive: bool,
    },
    /// Entries of a directory.
    Entries {
        /// At most as many as fit a message.
        #[serde(deserialize_with = "at_most::<MAX_LIST, _, _>")]
        entries: Vec<Entry>,
        /// What could not be read, or cannot be named.
        #[serde(deserialize_with = "at_most::<MAX_LIST, _, _>")]
        unread: Vec<Unread>,
        /// No more follow.
        last: bool,
    },
    /// A client requests to remove a file or directory.
    Remove {
        /// Its path.
        #[serde(deserialize_with = "at_most::<MAX_PATH, _, _>")]
        path: Vec<u8>,
        /// With everything below it.
        recursive: bool,
    },
    /// Files and directories were removed.
    Removed {
        /// How many.
        count: u64,
    },
    /// A client requests many small files, in packs. Lists of them follow.
    GetMany {
        /// The identifier for the header of each pack stream.
        transfer: u64,
    },
    /// Files that a client requests, after [`Message::GetMany`].
    Wanted {
        /// Their paths, at most 1024.
        #[serde(deserialize_with = "paths")]
        paths: Vec<Vec<u8>>,
        /// No more follow.
        last: bool,
    },
    /// Files that were requested and are in no pack, at most 1024. The index is that of the
    /// request, over all lists.
    Unsent {
        /// Which, and why.
        #[serde(deserialize_with = "at_most::<MAX_LIST, _, _>")]
        failures: Vec<Failure>,
    },
    /// A client wants to be joined to a target.
    Pipe {
        /// The identifier for the header of each chunk stream that the server sends.
        answers: u64,
        /// The target's name; empty for the only one that the client may reach.
        #[serde(deserialize_with = "text::<MAX_TARGET, _>")]
        target: String,
    },
    /// Instead of [`Message::Hello`]: the client has the words of a code.
    Code {
        /// The client's protocol version.
        version: u16,
        /// SPAKE2's message.
        #[serde(deserialize_with = "at_most::<MAX_PAKE, _, _>")]
        message: Vec<u8>,
    },
    /// The receiver of a code has the same words, if the proof is right.
    CodeAnswer {
        /// SPAKE2's message.
        #[serde(deserialize_with = "at_most::<MAX_PAKE, _, _>")]
        message: Vec<u8>,
        /// The proof.
        #[serde(with = "digest")]
        proof: blake3::Hash,
    },
    /// The sender of a code has the same words, if the proof is right.
    CodeProof {
        /// The proof.
        #[serde(with = "digest")]
        proof: blake3::Hash,
    },
    /// Instead of [`Message::Hello`]: the client wants to meet another one.
    Meet {
        /// The client's protocol version.
        version: u16,
        /// The public word of a code.
        place: u16,
        /// It is the sender, who waits for the receiver.
        sender: bool,
        /// It may be told to the other end where this connection comes from.
        direct: bool,
    },
    /// The other end is there: what follows on the stream comes from it.
    Met {
        /// Where the other end's connection comes from, if both may be told.
        other: Option<SocketAddr>,
    },
    /// The target has ended.
    Exited {
        /// The exit status of a program; 0 for a port.
        status: u8,
    },
}

/// A file that is offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Put {
    /// A random number of the sender's invocation: a transfer with the same number takes over from
    /// a dead connection.
    pub id: [u8; 16],
    /// The requested path, not yet checked.
    #[serde(deserialize_with = "at_most::<MAX_PATH, _, _>")]
    pub path: Vec<u8>,
    /// The file's size, bytes; `None` if it is not known yet.
    pub size: Option<u64>,
    /// What is known beside the content.
    pub metadata: Metadata,
}

/// The end of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finish {
    /// The file's size, bytes.
    pub size: u64,
    /// The number of chunk streams that the sender has opened for this transfer.
    pub chunks: u64,
    /// Hash of the whole file.
    #[serde(with = "digest")]
    pub hash: blake3::Hash,
}

/// A file that a client asks about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedFile {
    /// The path below the tree's directory.
    #[serde(deserialize_with = "at_most::<MAX_PATH, _, _>")]
    pub path: Vec<u8>,
    /// The size, bytes.
    pub size: u64,
    /// The time of the last change.
    pub modified: Option<FileTime>,
    /// The hash, if the content is to be compared.
    pub hash: Option<[u8; 32]>,
}

/// A file of a pack that was not stored, or one that was requested and cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Its number in the pack or request, from 0.
    pub index: u32,
    /// Why.
    pub refusal: Refusal,
}

/// What is at a path of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remote {
    /// The size, bytes; 0 for directories.
    pub size: u64,
    /// Type, mode and times.
    pub metadata: Metadata,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The path below the listed directory.
    #[serde(deserialize_with = "at_most::<MAX_PATH, _, _>")]
    pub path: Vec<u8>,
    /// Size, type, mode and times.
    pub remote: Remote,
    /// The target of a link; empty for others.
    #[serde(deserialize_with = "at_most::<MAX_PATH, _, _>")]
    pub target: Vec<u8>,
}

/// What a listing leaves out, because it could not be read or has a name that no client can use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// The path below the listed directory as it is, at most 4000 bytes of it.
    #[serde(deserialize_with = "at_most::<MAX_PATH, _, _>")]
    pub path: Vec<u8>,
    /// Why.
    pub refusal: Refusal,
}

impl Unread {
    /// Upper bound of the encoded length, bytes.
    pub fn encoded_len(&self) -> usize {
        16 + self.path.len() + self.refusal.text.len()
    }
}

impl Entry {
    /// Upper bound of the encoded length, bytes.
    pub fn encoded_len(&self) -> usize {
        let attributes = self.remote.metadata.attributes.iter();
        let attributes = attributes.map(|a| 8 + a.name.len() + a.value.len());
        64 + self.path.len() + self.target.len() + attributes.sum::<usize>()
    }
}

impl CheckedFile {
    /// Upper bound of the encoded length, bytes.
    pub fn encoded_len(&self) -> usize {
        64 + self.path.len()
    }
}

impl Message {
    /// Encodes the message, its length first.
    pub fn encode(&self) -> Bytes {
        let mut out = postcard::to_extend(self, vec![0; 4]).expect("memory takes all bytes");
        debug_assert!(out.len() - 4 <= MAX_MESSAGE);
        let length = (out.len() - 4) as u32;
        out[..4].copy_from_slice(&length.to_be_bytes());
        out.into()
    }

    /// Decodes the bytes after the length field.
    ///
    /// # Errors
    /// If they are not exactly one message, or a value is outside its limits.
    pub fn decode(body: &[u8]) -> Result<Self, WireError> {
        let (message, rest) = postcard::take_from_bytes::<Self>(body)?;
        if !rest.is_empty() {
            return Err(WireError("it has trailing bytes".to_owned()));
        }
        if !message.is_within_limits() {
            return Err(WireError("a value is outside its limits".to_owned()));
        }
        Ok(message)
    }

    fn is_within_limits(&self) -> bool {
        let is_log = |log: &u8| (16..=44).contains(log);
        match self {
            Self::Put(put) => put.metadata.is_valid(),
            Self::Accepted { have: ranges, .. } | Self::Written { ranges } => {
                let apart = ranges.windows(2).all(|pair| pair[0].1 < pair[1].0);
                apart && ranges.iter().all(|(start, end)| start < end)
            }
            Self::HashRequest { log, first, count } => {
                let counts = 1..=MAX_LIST as u32;
                is_log(log)
                    && counts.contains(count)
                    && first.checked_add((*count).into()).is_some()
            }
            Self::Hashes { log, .. } => is_log(log),
            Self::Check { files } => files
                .iter()
                .all(|file| file.modified.is_none_or(FileTime::is_valid)),
            Self::Entries { entries, .. } => {
                entries.iter().all(|entry| entry.remote.metadata.is_valid())
            }
            _ => true,
        }
    }
}
