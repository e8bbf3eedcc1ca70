//! What is known of a file beside its content.

use super::bounds::at_most;
use serde::{Deserialize, Serialize};

/// The type of an entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// Anything else.
    Other,
}

/// A time stamp of a file: seconds and nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileTime {
    /// Seconds since 1970; negative before.
    pub seconds: i64,
    /// Nanoseconds, below 1,000,000,000.
    pub nanoseconds: u32,
}

impl FileTime {
    /// Whether the nanoseconds are less than a second.
    pub(super) fn is_valid(self) -> bool {
        self.nanoseconds < 1_000_000_000
    }
}

/// An extended attribute in the namespace `user`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    /// The name, with `user.`; at most 255 bytes.
    #[serde(deserialize_with = "at_most::<255, _, _>")]
    pub name: Vec<u8>,
    /// The value; at most 4096 bytes.
    #[serde(deserialize_with = "at_most::<MAX_VALUE, _, _>")]
    pub value: Vec<u8>,
}

/// Maximum number of extended attributes of a file, and the longest value.
pub(crate) const MAX_ATTRIBUTES: usize = 8;
pub(crate) const MAX_VALUE: usize = 4096;

/// What is known of a file beside its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// The type.
    pub kind: Kind,
    /// The permission bits (0o777); `None` leaves them to the receiver.
    pub mode: Option<u16>,
    /// The time of the last change; `None` leaves it to the receiver.
    pub modified: Option<FileTime>,
    /// Extended attributes; at most 8.
    #[serde(deserialize_with = "at_most::<MAX_ATTRIBUTES, _, _>")]
    pub attributes: Vec<Attribute>,
}

impl Metadata {
    /// Nothing is known but the type.
    pub fn plain(kind: Kind) -> Self {
        Self {
            kind,
            mode: None,
            modified: None,
            attributes: Vec::new(),
        }
    }

    /// Bytes of the extended attributes.
    pub fn attribute_bytes(&self) -> u64 {
        let bytes = |attribute: &Attribute| (attribute.name.len() + attribute.value.len()) as u64;
        self.attributes.iter().map(bytes).sum()
    }

    /// Whether all values are within their limits.
    pub(super) fn is_valid(&self) -> bool {
        let is_valid = |attribute: &Attribute| {
            let name = &attribute.name;
            name.len() > 5 && name.starts_with(b"user.") && !name.contains(&0)
        };
        self.mode.is_none_or(|mode| mode <= 0o777)
            && self.modified.is_none_or(FileTime::is_valid)
            && self.attributes.iter().all(is_valid)
    }
}
