//! The messages and their bytes.

use super::attributes::{FileTime, Metadata, get_time, put_time};
use super::codec::{WireError, array, count, get_bytes, get_text, put_bytes};
use super::refusal::{MAX_TEXT, Reason, Refusal};
use super::{MAX_LIST, MAX_MESSAGE};
use crate::path::RemotePath;
use crate::token::Token;
use bytes::{Buf, BufMut, Bytes, BytesMut};

/// A message of a bidirectional stream.
#[derive(Debug, Clone)]
pub enum Message {
    /// The client authenticates itself.
    Hello {
        /// The client's protocol version.
        version: u16,
        /// The client's token.
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
        hashes: Vec<[u8; 32]>,
    },
    /// All bytes before this offset are in the receiver's file.
    Written {
        /// Offset, bytes.
        offset: u64,
    },
    /// The sender has sent all chunks.
    Finish(Finish),
    /// The receiver has the file on disk under its name.
    Stored {
        /// The file's size, bytes; of a tree, the bytes of its packs.
        bytes: u64,
        /// The file's hash, computed from what was written.
        hash: blake3::Hash,
    },
    /// A client requests a file.
    Get {
        /// Its path.
        path: Vec<u8>,
    },
    /// A client wants to store many files.
    Tree {
        /// As in [`Put`].
        id: [u8; 16],
        /// The directory below which they go; empty for the user's own.
        path: Vec<u8>,
    },
    /// Which of these files does the server lack? At most 1024.
    Check {
        /// The files.
        files: Vec<CheckedFile>,
    },
    /// For each file of a [`Message::Check`], whether it is needed.
    Need {
        /// In the same order.
        needed: Vec<bool>,
    },
    /// A pack is stored, but for these files.
    Packed {
        /// The number of the pack.
        pack: u64,
        /// The files that are not stored, at most 1024.
        failures: Vec<Failure>,
    },
    /// A client requests the entries of a directory.
    List {
        /// The directory; empty for the user's own.
        path: Vec<u8>,
        /// With everything below it.
        recursive: bool,
    },
    /// Entries of a directory.
    Entries {
        /// At most as many as fit a message.
        entries: Vec<Entry>,
        /// No more follow.
        last: bool,
    },
    /// A client requests to remove a file or directory.
    Remove {
        /// Its path.
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
        paths: Vec<Vec<u8>>,
        /// No more follow.
        last: bool,
    },
    /// Files that were requested and are in no pack, at most 1024. The index is that of the request,
    /// over all lists.
    Unsent {
        /// Which, and why.
        failures: Vec<Failure>,
    },
    /// A client wants to be joined to a target.
    Pipe {
        /// The identifier for the header of each chunk stream that the server sends.
        answers: u64,
        /// The target's name; empty for the only one that the client may reach.
        target: String,
    },
    /// The target has ended.
    Exited {
        /// The exit status of a program; 0 for a port.
        status: u8,
    },
}

/// A file that is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// A random number of the sender's invocation: a transfer with the same number takes over from
    /// a dead connection.
    pub id: [u8; 16],
    /// The requested path, not yet checked.
    pub path: Vec<u8>,
    /// The file's size, bytes; `None` if it is not known yet.
    pub size: Option<u64>,
    /// What is known beside the content.
    pub metadata: Metadata,
}

/// The end of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finish {
    /// The file's size, bytes.
    pub size: u64,
    /// The number of chunk streams that the sender has opened for this transfer.
    pub chunks: u64,
    /// Hash of the whole file.
    pub hash: blake3::Hash,
}

/// A file that a client asks about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedFile {
    /// The path below the tree's directory.
    pub path: Vec<u8>,
    /// The size, bytes.
    pub size: u64,
    /// The time of the last change.
    pub modified: Option<FileTime>,
    /// The hash, if the content is to be compared.
    pub hash: Option<blake3::Hash>,
}

/// A file of a pack that was not stored, or one that was requested and cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Its number in the pack or request, from 0.
    pub index: u32,
    /// Why.
    pub refusal: Refusal,
}

/// What is at a path of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// The size, bytes; 0 for directories.
    pub size: u64,
    /// Type, mode and times.
    pub metadata: Metadata,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The path below the listed directory.
    pub path: Vec<u8>,
    /// Size, type, mode and times.
    pub remote: Remote,
    /// The target of a link; empty for others.
    pub target: Vec<u8>,
}

/// Maximum length of a path on the wire, bytes.
const MAX_PATH: usize = RemotePath::MAX_LEN;
/// Maximum length of a target's name, bytes.
const MAX_TARGET: usize = 300;
/// The size that stands for "unknown".
const UNKNOWN: u64 = u64::MAX;

impl Entry {
    /// Upper bound of the encoded length, bytes.
    pub fn encoded_len(&self) -> usize {
        64 + self.path.len() + self.target.len()
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
        let mut out = BytesMut::with_capacity(128);
        out.put_u32(0);
        self.put(&mut out);
        debug_assert!(out.len() - 4 <= MAX_MESSAGE);
        let length = (out.len() - 4) as u32;
        out[..4].copy_from_slice(&length.to_be_bytes());
        out.freeze()
    }

    fn put(&self, out: &mut BytesMut) {
        match self {
            Self::Hello { version, token } => {
                out.put_u8(1);
                out.put_u16(*version);
                out.put_slice(token.bytes());
            }
            Self::Welcome { version, max_size } => {
                out.put_u8(2);
                out.put_u16(*version);
                out.put_u64(*max_size);
            }
            Self::Refused(refusal) => {
                out.put_u8(3);
                put_refusal(out, refusal);
            }
            Self::Queued { position } => {
                out.put_u8(4);
                out.put_u32(*position);
            }
            Self::Put(put) => {
                out.put_u8(5);
                out.put_slice(&put.id);
                put_bytes(out, &put.path, MAX_PATH);
                out.put_u64(put.size.unwrap_or(UNKNOWN));
                put.metadata.put(out);
            }
            Self::Accepted { transfer, have } => {
                out.put_u8(6);
                out.put_u64(*transfer);
                put_list(out, have, |out, (start, end)| {
                    out.put_u64(*start);
                    out.put_u64(*end);
                });
            }
            Self::Present => out.put_u8(7),
            Self::HashRequest { log, first, count } => {
                out.put_u8(8);
                out.put_u8(*log);
                out.put_u64(*first);
                out.put_u32(*count);
            }
            Self::Hashes { log, first, hashes } => {
                out.put_u8(9);
                out.put_u8(*log);
                out.put_u64(*first);
                put_list(out, hashes, |out, hash| out.put_slice(hash));
            }
            Self::Written { offset } => {
                out.put_u8(10);
                out.put_u64(*offset);
            }
            Self::Finish(finish) => {
                out.put_u8(11);
                out.put_u64(finish.size);
                out.put_u64(finish.chunks);
                out.put_slice(finish.hash.as_bytes());
            }
            Self::Stored { bytes, hash } => {
                out.put_u8(12);
                out.put_u64(*bytes);
                out.put_slice(hash.as_bytes());
            }
            Self::Get { path } => {
                out.put_u8(13);
                put_bytes(out, path, MAX_PATH);
            }
            Self::Tree { id, path } => {
                out.put_u8(14);
                out.put_slice(id);
                put_bytes(out, path, MAX_PATH);
            }
            Self::Check { files } => {
                out.put_u8(15);
                put_list(out, files, |out, file| {
                    put_bytes(out, &file.path, MAX_PATH);
                    out.put_u64(file.size);
                    put_time(out, file.modified);
                    out.put_u8(file.hash.is_some().into());
                    if let Some(hash) = &file.hash {
                        out.put_slice(hash.as_bytes());
                    }
                });
            }
            Self::Need { needed } => {
                out.put_u8(16);
                put_list(out, needed, |out, needed| out.put_u8((*needed).into()));
            }
            Self::Packed { pack, failures } => {
                out.put_u8(17);
                out.put_u64(*pack);
                put_list(out, failures, put_failure);
            }
            Self::List { path, recursive } => {
                out.put_u8(18);
                put_bytes(out, path, MAX_PATH);
                out.put_u8((*recursive).into());
            }
            Self::Entries { entries, last } => {
                out.put_u8(19);
                out.put_u8((*last).into());
                put_list(out, entries, |out, entry| {
                    put_bytes(out, &entry.path, MAX_PATH);
                    out.put_u64(entry.remote.size);
                    entry.remote.metadata.put(out);
                    put_bytes(out, &entry.target, MAX_PATH);
                });
            }
            Self::Remove { path, recursive } => {
                out.put_u8(20);
                put_bytes(out, path, MAX_PATH);
                out.put_u8((*recursive).into());
            }
            Self::Removed { count } => {
                out.put_u8(21);
                out.put_u64(*count);
            }
            Self::GetMany { transfer } => {
                out.put_u8(22);
                out.put_u64(*transfer);
            }
            Self::Wanted { paths, last } => {
                out.put_u8(23);
                out.put_u8((*last).into());
                put_list(out, paths, |out, path| put_bytes(out, path, MAX_PATH));
            }
            Self::Unsent { failures } => {
                out.put_u8(24);
                put_list(out, failures, put_failure);
            }
            Self::Pipe { answers, target } => {
                out.put_u8(40);
                out.put_u64(*answers);
                put_bytes(out, target.as_bytes(), MAX_TARGET);
            }
            Self::Exited { status } => {
                out.put_u8(41);
                out.put_u8(*status);
            }
        }
    }

    /// Decodes the bytes after the length field.
    ///
    /// # Errors
    /// If they are not exactly one message.
    pub fn decode(mut body: &[u8]) -> Result<Self, WireError> {
        let message = Self::get(&mut body)?;
        if body.is_empty() {
            Ok(message)
        } else {
            Err(WireError::Long)
        }
    }

    fn get(from: &mut &[u8]) -> Result<Self, WireError> {
        Ok(match from.try_get_u8()? {
            1 => Self::Hello {
                version: from.try_get_u16()?,
                token: Token::from_bytes(array(from)?),
            },
            2 => Self::Welcome {
                version: from.try_get_u16()?,
                max_size: from.try_get_u64()?,
            },
            3 => Self::Refused(get_refusal(from)?),
            4 => Self::Queued {
                position: from.try_get_u32()?,
            },
            5 => Self::Put(Put {
                id: array(from)?,
                path: get_bytes(from, 0, MAX_PATH)?,
                size: Some(from.try_get_u64()?).filter(|size| *size != UNKNOWN),
                metadata: Metadata::get(from)?,
            }),
            6 => Self::Accepted {
                transfer: from.try_get_u64()?,
                have: get_ranges(from)?,
            },
            7 => Self::Present,
            8 => {
                let log = get_log(from)?;
                let first = from.try_get_u64()?;
                let count = from.try_get_u32()?;
                if !(1..=MAX_LIST as u32).contains(&count)
                    || first.checked_add(count.into()).is_none()
                {
                    return Err(WireError::Value);
                }
                Self::HashRequest { log, first, count }
            }
            9 => Self::Hashes {
                log: get_log(from)?,
                first: from.try_get_u64()?,
                hashes: get_list(from, array)?,
            },
            10 => Self::Written {
                offset: from.try_get_u64()?,
            },
            11 => Self::Finish(Finish {
                size: from.try_get_u64()?,
                chunks: from.try_get_u64()?,
                hash: get_hash(from)?,
            }),
            12 => Self::Stored {
                bytes: from.try_get_u64()?,
                hash: get_hash(from)?,
            },
            13 => Self::Get {
                path: get_bytes(from, 0, MAX_PATH)?,
            },
            14 => Self::Tree {
                id: array(from)?,
                path: get_bytes(from, 0, MAX_PATH)?,
            },
            15 => Self::Check {
                files: get_list(from, |from| {
                    Ok(CheckedFile {
                        path: get_bytes(from, 0, MAX_PATH)?,
                        size: from.try_get_u64()?,
                        modified: get_time(from)?,
                        hash: get_flag(from)?.then(|| get_hash(from)).transpose()?,
                    })
                })?,
            },
            16 => Self::Need {
                needed: get_list(from, get_flag)?,
            },
            17 => Self::Packed {
                pack: from.try_get_u64()?,
                failures: get_list(from, get_failure)?,
            },
            18 => Self::List {
                path: get_bytes(from, 0, MAX_PATH)?,
                recursive: get_flag(from)?,
            },
            19 => Self::Entries {
                last: get_flag(from)?,
                entries: get_list(from, |from| {
                    Ok(Entry {
                        path: get_bytes(from, 0, MAX_PATH)?,
                        remote: Remote {
                            size: from.try_get_u64()?,
                            metadata: Metadata::get(from)?,
                        },
                        target: get_bytes(from, 0, MAX_PATH)?,
                    })
                })?,
            },
            20 => Self::Remove {
                path: get_bytes(from, 0, MAX_PATH)?,
                recursive: get_flag(from)?,
            },
            21 => Self::Removed {
                count: from.try_get_u64()?,
            },
            22 => Self::GetMany {
                transfer: from.try_get_u64()?,
            },
            23 => Self::Wanted {
                last: get_flag(from)?,
                paths: get_list(from, |from| get_bytes(from, 0, MAX_PATH))?,
            },
            24 => Self::Unsent {
                failures: get_list(from, get_failure)?,
            },
            40 => Self::Pipe {
                answers: from.try_get_u64()?,
                target: get_text(from, 0, MAX_TARGET)?,
            },
            41 => Self::Exited {
                status: from.try_get_u8()?,
            },
            kind => return Err(WireError::Kind(kind)),
        })
    }
}

fn put_refusal(out: &mut BytesMut, refusal: &Refusal) {
    out.put_u16(refusal.reason.number());
    put_bytes(out, refusal.text.as_bytes(), MAX_TEXT);
}

fn get_refusal(from: &mut &[u8]) -> Result<Refusal, WireError> {
    let reason = Reason::from_number(from.try_get_u16()?);
    Ok(Refusal::new(reason, get_text(from, 0, MAX_TEXT)?))
}

fn put_failure(out: &mut BytesMut, failure: &Failure) {
    out.put_u32(failure.index);
    put_refusal(out, &failure.refusal);
}

fn get_failure(from: &mut &[u8]) -> Result<Failure, WireError> {
    Ok(Failure {
        index: from.try_get_u32()?,
        refusal: get_refusal(from)?,
    })
}

/// A list is cut at its maximum; callers keep it shorter.
fn put_list<T>(out: &mut BytesMut, list: &[T], mut put: impl FnMut(&mut BytesMut, &T)) {
    let list = &list[..list.len().min(MAX_LIST)];
    out.put_u32(list.len() as u32);
    for element in list {
        put(out, element);
    }
}

fn get_list<T>(
    from: &mut &[u8],
    mut get: impl FnMut(&mut &[u8]) -> Result<T, WireError>,
) -> Result<Vec<T>, WireError> {
    let count = count(from, MAX_LIST)?;
    // The list grows with what is there, not with what is announced.
    let mut list = Vec::new();
    for _ in 0..count {
        list.push(get(from)?);
    }
    Ok(list)
}

/// Ranges that are not empty, in order and apart.
fn get_ranges(from: &mut &[u8]) -> Result<Vec<(u64, u64)>, WireError> {
    let mut end = None;
    get_list(from, |from| {
        let range = (from.try_get_u64()?, from.try_get_u64()?);
        if range.0 >= range.1 || end.is_some_and(|end| range.0 <= end) {
            return Err(WireError::Value);
        }
        end = Some(range.1);
        Ok(range)
    })
}

fn get_hash(from: &mut &[u8]) -> Result<blake3::Hash, WireError> {
    Ok(blake3::Hash::from_bytes(array(from)?))
}

fn get_flag(from: &mut &[u8]) -> Result<bool, WireError> {
    match from.try_get_u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(WireError::Value),
    }
}

fn get_log(from: &mut &[u8]) -> Result<u8, WireError> {
    match from.try_get_u8()? {
        log @ 16..=44 => Ok(log),
        _ => Err(WireError::Value),
    }
}
