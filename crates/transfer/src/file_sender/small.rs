//! Small files, many to a stream.

use super::FileSource;
use crate::error::Error;
use crate::wire::{Kind, MAX_PACK, Metadata, PackEntry, PackReader};
use bytes::{Bytes, BytesMut};
use std::fs::File;
use std::path::Path;

/// Files up to this size go into packs, bytes.
pub(crate) const SMALL: u64 = 256 << 10;
/// A file that changes while it is read is read again so many times.
const CHANGES: u32 = 3;
/// Entries of a pack, at most: the answer lists those that failed.
const MAX_ITEMS: usize = 1000;

/// A pack.
pub(crate) struct Pack<T> {
    pub content: Bytes,
    /// What is in it, in order.
    pub items: Vec<T>,
    /// Bytes of file data.
    pub bytes: u64,
}

/// Puts entries into packs.
pub(crate) struct Packing<T> {
    pack: BytesMut,
    items: Vec<T>,
    bytes: u64,
}

impl<T> Packing<T> {
    pub fn new() -> Self {
        Self {
            pack: BytesMut::new(),
            items: Vec::new(),
            bytes: 0,
        }
    }

    /// Adds an entry. Returns the pack before it, if the entry does not fit there.
    pub fn add(&mut self, item: T, entry: &PackEntry) -> Option<Pack<T>> {
        let attributes: usize = entry
            .metadata
            .attributes
            .iter()
            .map(|a| 4 + a.name.len() + a.value.len())
            .sum();
        let length = PackEntry::encoded_len(entry.path.len(), entry.content.len()) + attributes;
        let full = self.pack.len() + length > MAX_PACK || self.items.len() >= MAX_ITEMS;
        let before = if full { self.finish() } else { None };
        entry.encode(&mut self.pack);
        if entry.metadata.kind == Kind::File {
            self.bytes += entry.content.len() as u64;
        }
        self.items.push(item);
        before
    }

    /// The last pack, unless it is empty.
    pub fn finish(&mut self) -> Option<Pack<T>> {
        (!self.items.is_empty()).then(|| Pack {
            content: PackReader::seal(std::mem::take(&mut self.pack)),
            items: std::mem::take(&mut self.items),
            bytes: std::mem::take(&mut self.bytes),
        })
    }
}

/// Reads all of a small file, as it was at one time. Blocks.
///
/// # Errors
/// [`Error::Changed`] if it changes all the time or has become long.
pub(crate) fn read_small(
    open: impl Fn() -> Result<File, Error>,
    path: &Path,
    attributes: bool,
) -> Result<(Metadata, Bytes), Error> {
    for _ in 0..=CHANGES {
        let file = FileSource::at_once(open()?, path)?;
        let metadata = file.metadata(attributes)?;
        if file.size() > 2 * SMALL {
            break;
        }
        if let Some(content) = file.whole()?
            && !file.changed()?
        {
            return Ok((metadata, content));
        }
    }
    Err(Error::Changed(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::SeqCst;
    use std::sync::atomic::{AtomicBool, AtomicU32};
    use std::sync::mpsc;

    #[test]
    fn packs_hold_what_fits_and_every_entry_once() {
        let entry = |size: usize| PackEntry {
            path: b"a/b".to_vec(),
            metadata: Metadata::plain(Kind::File),
            content: vec![7; size].into(),
        };
        let mut packing = Packing::new();
        let mut packs = Vec::new();
        let sizes = [SMALL as usize * 2, 0, SMALL as usize, 400_000, 1, 300_000];
        for (item, size) in sizes.into_iter().enumerate() {
            packs.extend(packing.add(item, &entry(size)));
        }
        packs.extend((0..2500).filter_map(|n| packing.add(10 + n, &entry(10))));
        packs.extend(packing.finish());
        assert!(packing.finish().is_none());
        let mut items = Vec::new();
        for pack in packs {
            assert!(pack.content.len() <= MAX_PACK && pack.items.len() <= MAX_ITEMS);
            let read = PackReader::open(pack.content).expect("sealed");
            assert_eq!(read.map(Result::unwrap).count(), pack.items.len());
            items.extend(pack.items);
        }
        let expected: Vec<usize> = (0..6).chain(10..2510).collect();
        assert_eq!(items, expected);
    }

    /// It is sent as a file of its own, which takes less memory.
    #[test]
    fn a_small_file_that_has_become_long_is_not_read() {
        let scratch = crate::scratch_directory::ScratchDirectory::new();
        for (size, is_read) in [(2 * SMALL, true), (2 * SMALL + 1, false)] {
            let path = scratch.file("a", size as usize);
            let read = read_small(|| Ok(File::open(&path).expect("opened")), &path, false);
            assert_eq!(read.is_ok(), is_read, "{size}");
        }
    }

    /// Reads a file to which another thread writes until it is opened again. Returns what was read,
    /// if it was opened again.
    fn read_while_it_changes(path: &Path) -> Option<Bytes> {
        let opened = AtomicU32::new(0);
        let (begun, writing) = mpsc::channel();
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut length = 0u64;
                while opened.load(SeqCst) < 2 && !ended.load(SeqCst) {
                    length += 1;
                    let file = File::options().write(true).open(path).expect("opened");
                    file.set_len(length).expect("set");
                    begun.send(()).ok();
                }
                drop(begun);
            });
            let open = || {
                writing.recv().ok();
                if opened.fetch_add(1, SeqCst) == 1 {
                    // Nothing is written any more.
                    while writing.recv().is_ok() {}
                }
                Ok(File::open(path).expect("opened"))
            };
            let read = read_small(open, path, false);
            ended.store(true, SeqCst);
            let again = opened.load(SeqCst) > 1;
            again.then(|| read.expect("it stays the same at last").1)
        })
    }

    #[test]
    fn a_small_file_is_read_as_it_was_at_one_time() {
        let scratch = crate::scratch_directory::ScratchDirectory::new();
        let path = scratch.file("a", 1);
        // The other thread may have no time to write.
        let read = (0..100).find_map(|_| read_while_it_changes(&path));
        let content = std::fs::read(&path).expect("read");
        assert_eq!(read.expect("it is read again"), content);
    }

    #[test]
    fn attributes_count_for_the_length_of_a_pack() {
        let attribute = |n: u8| crate::wire::Attribute {
            name: [&b"user."[..], &[b'a' + n]].concat(),
            value: vec![n; crate::wire::MAX_VALUE],
        };
        let entry = PackEntry {
            path: b"a".to_vec(),
            metadata: Metadata {
                attributes: (0..8).map(attribute).collect(),
                ..Metadata::plain(Kind::File)
            },
            content: Bytes::new(),
        };
        let mut packing = Packing::new();
        let mut packs: Vec<_> = (0..100).filter_map(|n| packing.add(n, &entry)).collect();
        packs.extend(packing.finish());
        assert!(packs.iter().all(|pack| pack.content.len() <= MAX_PACK));
        assert_eq!(
            packs.iter().map(|pack| pack.items.len()).sum::<usize>(),
            100
        );
    }
}
