//! How much of the disk may be used.

use super::partial::is_partial;
use super::{ENTRY, Side, Storage};
use crate::error::Error;
use crate::wire::Reason;
use rustix::fs::{StatVfs, fstatvfs};
use std::os::unix::fs::MetadataExt;
use whimbrel_units::Bytes;

/// What a file, directory or link counts without its extended attributes. Sparse files count by
/// what they take.
pub(super) fn taken(metadata: &std::fs::Metadata) -> u64 {
    let content = match metadata.is_file() {
        true => metadata
            .len()
            .min(metadata.blocks().saturating_mul(512).max(1)),
        false => 0,
    };
    content + ENTRY
}

/// What of the disk transfers never use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeepFree {
    /// 5 % of the disk, but at most 1 GiB.
    #[default]
    Share,
    /// So many bytes.
    Bytes(Bytes),
}

impl KeepFree {
    fn of(self, disk: u64) -> u64 {
        match self {
            Self::Share => (disk / 20).min(1 << 30),
            Self::Bytes(bytes) => bytes.get(),
        }
    }

    /// How much of this may be used, bytes.
    fn usable(self, space: &StatVfs) -> u64 {
        let disk = space.f_blocks.saturating_mul(space.f_frsize);
        let free = space.f_bavail.saturating_mul(space.f_frsize);
        free.saturating_sub(self.of(disk))
    }
}

impl Storage {
    /// Bytes on disk of incomplete files.
    pub fn partial_bytes(&self) -> u64 {
        let entries = self.path.read_dir().into_iter().flatten().flatten();
        let partial = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_partial));
        let metadata = partial.filter_map(|entry| entry.metadata().ok());
        metadata.map(|metadata| taken(&metadata)).sum()
    }

    /// Whether `size` more bytes fit. Returns how many do.
    pub fn check_space(&self, size: u64) -> Result<u64, Error> {
        let space = fstatvfs(&*self.root)
            .map_err(|e| Error::file(&self.path, "query its free space")(e.into()))?;
        // Some file systems report zero blocks for "no limit".
        if space.f_blocks == 0 {
            return Ok(u64::MAX);
        }
        let usable = self.options.keep_free.usable(&space);
        if size <= usable && usable > 0 {
            return Ok(usable);
        }
        let (size, usable) = (Bytes::new(size), Bytes::new(usable));
        let disk = match self.options.side {
            Side::Server => "the server's disk",
            Side::Client => "the disk here",
        };
        let text = format!("{size} more do not fit; {disk} has {usable} left");
        Err(Error::refused(Reason::DiskFull, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_disk_stays_free() {
        assert_eq!(KeepFree::Share.of(100 << 20), 5 << 20);
        assert_eq!(KeepFree::Share.of(1 << 40), 1 << 30);
        assert_eq!(KeepFree::Bytes(Bytes::new(7)).of(1 << 40), 7);
    }

    /// Some file systems keep a part for root, and count in larger units than blocks.
    #[test]
    fn what_a_file_system_keeps_for_itself_is_not_usable() {
        let directory = std::fs::File::open("/").expect("opened");
        let space = StatVfs {
            f_bsize: 1 << 20,
            f_frsize: 4096,
            f_blocks: 1000,
            f_bfree: 300,
            f_bavail: 200,
            ..fstatvfs(&directory).expect("queried")
        };
        let keep_free = KeepFree::Bytes(Bytes::new(50 * 4096));
        assert_eq!(keep_free.usable(&space), 150 * 4096);
    }
}
