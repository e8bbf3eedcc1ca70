//! Packs: many small files on one stream.

use super::bounds::at_most;
use super::{MAX_PATH, Metadata, WireError};
use bytes::{BufMut, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

/// Maximum length of a pack, bytes: it fits a stream's window.
pub const MAX_PACK: usize = 1 << 20;

/// A file, directory or symbolic link in a pack.
///
/// A pack begins with the BLAKE3 hash of the rest (32 bytes). Each entry is: the path below the
/// tree's directory, the metadata and the length of the content, by postcard as in a message, and
/// the content: a file's bytes, a link's target, nothing for a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackEntry {
    /// The path below the tree's directory.
    pub path: Vec<u8>,
    /// Type, mode and times.
    pub metadata: Metadata,
    /// A file's content, or a link's target.
    pub content: Bytes,
}

impl PackEntry {
    /// Adds the entry to a pack, which begins empty.
    pub fn encode(&self, pack: &mut BytesMut) {
        if pack.is_empty() {
            pack.put_slice(&[0; 32]);
        }
        let head = Head {
            path: self.path.clone(),
            metadata: self.metadata.clone(),
            length: self.content.len() as u32,
        };
        let head = postcard::to_stdvec(&head).expect("memory takes all bytes");
        pack.put_slice(&head);
        pack.put_slice(&self.content);
    }

    /// Upper bound of the encoded length without attributes, bytes.
    pub fn encoded_len(path: usize, content: usize) -> usize {
        64 + path + content
    }
}

/// What precedes the content of an entry.
#[derive(Serialize, Deserialize)]
struct Head {
    #[serde(deserialize_with = "at_most::<MAX_PATH, _, _>")]
    path: Vec<u8>,
    metadata: Metadata,
    length: u32,
}

/// Reads the entries of a pack.
#[derive(Debug)]
pub struct PackReader {
    rest: Bytes,
}

impl PackReader {
    /// Completes a pack with its hash.
    pub fn seal(mut pack: BytesMut) -> Bytes {
        if pack.is_empty() {
            pack.put_slice(&[0; 32]);
        }
        let hash = blake3::hash(&pack[32..]);
        pack[..32].copy_from_slice(hash.as_bytes());
        pack.freeze()
    }

    /// Checks the hash of a pack. `None` if it is wrong.
    pub fn open(mut pack: Bytes) -> Option<Self> {
        if pack.len() < 32 {
            return None;
        }
        let hash: [u8; 32] = pack.split_to(32)[..].try_into().ok()?;
        (blake3::hash(&pack) == blake3::Hash::from_bytes(hash)).then_some(Self { rest: pack })
    }

    fn read(&mut self) -> Result<PackEntry, WireError> {
        let all = self.rest.clone();
        let (head, rest) = postcard::take_from_bytes::<Head>(&all)?;
        let cut = rest.split_at_checked(head.length as usize);
        let (content, rest) = cut.ok_or_else(|| WireError("a pack is truncated".to_owned()))?;
        if !head.metadata.is_valid() {
            return Err(WireError("a value is outside its limits".to_owned()));
        }
        self.rest = all.slice_ref(rest);
        Ok(PackEntry {
            path: head.path,
            metadata: head.metadata,
            content: all.slice_ref(content),
        })
    }
}

impl Iterator for PackReader {
    type Item = Result<PackEntry, WireError>;

    /// The next entry. After an error nothing follows.
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let entry = self.read();
        if entry.is_err() {
            self.rest = Bytes::new();
        }
        Some(entry)
    }
}
