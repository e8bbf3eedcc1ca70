//! What is known of a file beside its content.

use super::codec::{WireError, get_bytes, put_bytes};
use bytes::{Buf, BufMut, BytesMut};

/// The type of an entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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

impl Kind {
    fn number(self) -> u8 {
        match self {
            Self::File => 0,
            Self::Directory => 1,
            Self::Link => 2,
            Self::Other => 3,
        }
    }

    fn from_number(number: u8) -> Result<Self, WireError> {
        [Self::File, Self::Directory, Self::Link, Self::Other]
            .get(usize::from(number))
            .copied()
            .ok_or(WireError::Value)
    }
}

/// A time stamp of a file: seconds and nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileTime {
    /// Seconds since 1970; negative before.
    pub seconds: i64,
    /// Nanoseconds, below 1,000,000,000.
    pub nanoseconds: u32,
}

/// An extended attribute in the namespace `user`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// The name, with `user.`; at most 255 bytes.
    pub name: Vec<u8>,
    /// The value; at most 4096 bytes.
    pub value: Vec<u8>,
}

/// Maximum number of extended attributes of a file, and the longest value.
pub(crate) const MAX_ATTRIBUTES: usize = 8;
pub(crate) const MAX_VALUE: usize = 4096;

/// What is known of a file beside its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// The type.
    pub kind: Kind,
    /// The permission bits (0o777); `None` leaves them to the receiver.
    pub mode: Option<u16>,
    /// The time of the last change; `None` leaves it to the receiver.
    pub modified: Option<FileTime>,
    /// Extended attributes; at most 8.
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

    pub(super) fn put(&self, out: &mut BytesMut) {
        out.put_u8(self.kind.number());
        out.put_u16(self.mode.map_or(u16::MAX, |mode| mode & 0o777));
        put_time(out, self.modified);
        let attributes = &self.attributes[..self.attributes.len().min(MAX_ATTRIBUTES)];
        out.put_u8(attributes.len() as u8);
        for attribute in attributes {
            put_bytes(out, &attribute.name, 255);
            put_bytes(out, &attribute.value, MAX_VALUE);
        }
    }

    pub(super) fn get(from: &mut &[u8]) -> Result<Self, WireError> {
        let kind = Kind::from_number(from.try_get_u8()?)?;
        let mode = match from.try_get_u16()? {
            u16::MAX => None,
            mode @ 0..=0o777 => Some(mode),
            _ => return Err(WireError::Value),
        };
        let modified = get_time(from)?;
        let count = usize::from(from.try_get_u8()?);
        if count > MAX_ATTRIBUTES {
            return Err(WireError::Value);
        }
        let attribute = |_| {
            let name = get_bytes(from, 6, 255)?;
            if !name.starts_with(b"user.") || name.contains(&0) {
                return Err(WireError::Text);
            }
            let value = get_bytes(from, 0, MAX_VALUE)?;
            Ok(Attribute { name, value })
        };
        Ok(Self {
            kind,
            mode,
            modified,
            attributes: (0..count).map(attribute).collect::<Result<_, _>>()?,
        })
    }
}

pub(super) fn put_time(out: &mut BytesMut, time: Option<FileTime>) {
    out.put_i64(time.map_or(0, |t| t.seconds));
    out.put_u32(time.map_or(u32::MAX, |t| t.nanoseconds.min(999_999_999)));
}

pub(super) fn get_time(from: &mut &[u8]) -> Result<Option<FileTime>, WireError> {
    let seconds = from.try_get_i64()?;
    match from.try_get_u32()? {
        u32::MAX => Ok(None),
        nanoseconds @ 0..1_000_000_000 => Ok(Some(FileTime {
            seconds,
            nanoseconds,
        })),
        _ => Err(WireError::Value),
    }
}
