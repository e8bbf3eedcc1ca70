//! One incomplete file.
//!
//! Its hidden name follows from the user and the path, so the next attempt finds it. It is its own
//! journal: what it contains is found with `SEEK_DATA` and verified by hash, so nothing else has to
//! be kept in step with it. It is locked while a transfer uses it.
//!
//! A failed flush is the one thing that its content does not show: the system then believes that all
//! is written, shows it as long as it is in memory, and a second flush succeeds. Whoever had the
//! error may be dead. So the file carries a mark ([`UNFLUSHED`]) until it is flushed for the first
//! time, and what is found in a file without the mark is written again as it is compared.

use super::resolve::set_attributes;
use super::system::{
    fchmod, fsync, futimens, linkat, openat, renameat, renameat_with, set_len, unlinkat,
    write_all_at,
};
use super::{Storage, is_own_name, is_same, own_name};
use crate::blocks::FINE_LOG;
use crate::error::Error;
use crate::lock::lock;
use crate::path::RemotePath;
use crate::ranges::RangeSet;
use crate::wire::{MAX_LIST, Metadata, Reason};
use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, RenameFlags, SeekFrom, Timespec, Timestamps, flock, seek,
};
use rustix::io::Errno;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const SUFFIX: &str = ".part";
/// Digits of the hash in a name.
const DIGITS: usize = 32;
/// The permission bits of an incomplete file.
const MODE: u32 = 0o600;
/// The sticky bit, which means nothing for a file on Linux: nobody has tried to flush this one. A
/// stored file does not have it.
const UNFLUSHED: u32 = 0o1000;
/// After so many bytes at most the free space is checked again.
const CHECK: u64 = 64 << 20;
/// And after this part of it, so that as many files can grow at once.
const SHARES: u64 = 256;

pub(super) fn is_partial(name: &str) -> bool {
    is_own_name(name, DIGITS, SUFFIX)
}

/// The hidden name of a file that `user` stores at `path`.
pub(super) fn partial_name(user: &str, path: &RemotePath) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(user.as_bytes())
        .update(b"\0")
        .update(path.as_bytes());
    own_name(&hasher.finalize().to_hex()[..DIGITS], SUFFIX)
}

/// Whether an incomplete file could be locked.
pub(crate) enum Lock {
    /// It is this transfer's.
    Ours(Partial),
    /// Another transfer has it.
    Taken,
}

/// An incomplete file. Dropped, it stays for the next attempt.
#[derive(Debug)]
pub(crate) struct Partial {
    storage: Storage,
    name: String,
    path: PathBuf,
    file: File,
    /// Bytes until the free space is checked again.
    unchecked: AtomicU64,
    /// What was in it may not be on disk, although the system believes so: it is written again as
    /// it is read. No other write may come in between.
    doubtful: Option<Mutex<()>>,
}

impl Storage {
    /// Opens or creates the incomplete file of `user` at `path`.
    pub fn partial(&self, user: &str, path: &RemotePath) -> Result<Lock, Error> {
        let name = partial_name(user, path);
        let shown = self.path.join(&name);
        let failed = |what| {
            let shown = shown.clone();
            move |e: Errno| Error::file(shown, what)(e.into())
        };
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        // A second attempt is needed if another process removed the file before it was locked; a
        // third is unlikely.
        for _ in 0..8 {
            let mode = Mode::from_raw_mode(MODE | UNFLUSHED);
            let file = match openat(&*self.root, &*name, flags, mode) {
                // It shall be read-only in the end, and its transfer ended before it had its name.
                Err(Errno::ACCESS) => match self.make_writable(&name) {
                    Err(Errno::WOULDBLOCK) => return Ok(Lock::Taken),
                    made => made.and_then(|()| openat(&*self.root, &*name, flags, mode)),
                },
                opened => opened,
            };
            let file = File::from(file.map_err(failed("create"))?);
            let metadata = file.metadata().map_err(Error::file(&shown, "inspect"))?;
            if !metadata.is_file() {
                return Err(failed("use")(Errno::EXIST));
            }
            // On a file system without locks only one server may use the directory.
            if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
                return Ok(Lock::Taken);
            }
            if metadata.nlink() > 1 {
                // A stored file, whose transfer ended before it removed this name. It must not be
                // changed.
                unlinkat(&*self.root, &*name, AtFlags::empty()).map_err(failed("remove"))?;
                continue;
            }
            if is_same(&self.root, &name, metadata.ino()) {
                return Ok(Lock::Ours(Partial {
                    storage: self.clone(),
                    name,
                    path: shown,
                    file,
                    unchecked: AtomicU64::new(0),
                    doubtful: (metadata.mode() & UNFLUSHED == 0).then(Mutex::default),
                }));
            }
        }
        Err(failed("lock")(Errno::AGAIN))
    }

    fn make_writable(&self, name: &str) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match openat(&*self.root, name, flags, Mode::empty()) {
            Ok(file) => {
                flock(&file, FlockOperation::NonBlockingLockExclusive)?;
                // Without the mark: it may have been flushed.
                fchmod(&file, Mode::from_raw_mode(MODE))
            }
            Err(Errno::ACCESS) => unlinkat(&*self.root, name, AtFlags::empty()),
            Err(e) => Err(e),
        }
    }
}

impl Partial {
    /// Its length, bytes.
    pub fn len(&self) -> Result<u64, Error> {
        let metadata = self.file.metadata();
        Ok(metadata.map_err(Error::file(&self.path, "inspect"))?.len())
    }

    /// Sets the length; new bytes are zero and take no space.
    pub fn set_len(&self, size: u64) -> Result<(), Error> {
        set_len(&self.file, size).map_err(Error::file(&self.path, "set the length of"))
    }

    /// The ranges with data, in whole parts of 64 KiB or up to the end, at most 1024. Zeros may be
    /// among them.
    pub fn have(&self) -> Result<RangeSet, Error> {
        let size = self.len()?;
        let mut have = RangeSet::default();
        let mut at = 0;
        while let Some(data) = self.next_data(at..size) {
            let part = 1 << FINE_LOG;
            let whole_end = if data.end >= size {
                size
            } else {
                data.end / part * part
            };
            have.insert(data.start.next_multiple_of(part)..whole_end);
            at = data.end;
        }
        Ok(merge_close(have))
    }

    /// The first range of data in a part of the file; the rest up to there is a hole.
    fn next_data(&self, within: Range<u64>) -> Option<Range<u64>> {
        let start = match seek(&self.file, SeekFrom::Data(within.start)) {
            Ok(start) => start,
            Err(Errno::NXIO) => return None,
            // The file system does not know: everything may be data.
            Err(_) => within.start,
        };
        if start >= within.end {
            return None;
        }
        let end = seek(&self.file, SeekFrom::Hole(start)).unwrap_or(within.end);
        Some(start..end.clamp(start + 1, within.end))
    }

    /// Writes all of `data` at `offset`.
    pub fn write_at(&self, data: &[u8], offset: u64) -> Result<(), Error> {
        let length = data.len() as u64;
        if self.unchecked.load(Ordering::Relaxed) < length {
            let usable = self.storage.check_space(length)?;
            self.unchecked
                .store(unchecked_of(usable), Ordering::Relaxed);
        } else {
            self.unchecked.fetch_sub(length, Ordering::Relaxed);
        }
        let _alone = self.alone();
        write_all_at(&self.file, data, offset).map_err(Error::file(&self.path, "write"))
    }

    /// Reads exactly `into` from `offset`. What was read can be flushed from now on.
    pub fn read_at(&self, into: &mut [u8], offset: u64) -> Result<(), Error> {
        let alone = self.alone();
        let read = self.file.read_exact_at(into, offset);
        read.map_err(Error::file(&self.path, "read back"))?;
        if alone.is_none() {
            return Ok(());
        }
        let end = offset + into.len() as u64;
        let mut at = offset;
        // Holes stay holes.
        while let Some(data) = self.next_data(at..end) {
            let bytes = &into[(data.start - offset) as usize..(data.end - offset) as usize];
            let written = write_all_at(&self.file, bytes, data.start);
            written.map_err(Error::file(&self.path, "write"))?;
            at = data.end;
        }
        Ok(())
    }

    fn alone(&self) -> Option<std::sync::MutexGuard<'_, ()>> {
        let doubtful = self.doubtful.as_ref()?;
        Some(lock(doubtful))
    }

    /// Flushes the file to disk and renames it to `path`. The file then survives a crash. A file
    /// that is replaced passes its permissions on. After an error of the disk it may have its name
    /// all the same, but nobody knows whether it survives.
    pub fn store(&self, path: &RemotePath, metadata: &Metadata) -> Result<(), Error> {
        let storage = &self.storage;
        let failed = |what| {
            let shown = self.path.clone();
            move |e: Errno| Error::file(shown, what)(e.into())
        };
        let parent = storage.parent(path, true)?;
        let parent = parent.ok_or_else(|| failed("create the directory of")(Errno::NOENT))?;
        let mode = storage.mode_for(storage.look_up(path)?, metadata.mode);
        set_attributes(&self.file, &metadata.attributes).map_err(failed("set attributes of"))?;
        fchmod(&self.file, Mode::from_raw_mode(mode.into())).map_err(failed("set the mode of"))?;
        set_modified(&self.file, metadata).map_err(failed("set the time of"))?;
        // The mark is gone since `fchmod`.
        if let Err(e) = fsync(&self.file) {
            // The disk is not sound: better send all of it again.
            self.remove();
            return Err(failed("flush to disk")(e));
        }
        self.rename(&parent, path).map_err(|e| match e {
            Errno::EXIST | Errno::ISDIR | Errno::NOTEMPTY => storage.exists_error(path),
            e => storage.failed(path, "rename the file to this")(e),
        })?;
        storage.flush_names(path)
    }

    fn rename(&self, parent: &File, path: &RemotePath) -> Result<(), Errno> {
        let (root, old, new) = (&*self.storage.root, &*self.name, path.file_name());
        if self.storage.overwrites() {
            return renameat(root, old, parent, new);
        }
        match renameat_with(root, old, parent, new, RenameFlags::NOREPLACE) {
            // Not every file system supports this; a hard link does not replace a file either.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                linkat(root, old, parent, new, AtFlags::empty())?;
                unlinkat(root, old, AtFlags::empty())
            }
            result => result,
        }
    }

    /// Removes the file: it is not needed any more.
    pub fn remove(&self) {
        // If this fails, the file goes when it is old.
        unlinkat(&*self.storage.root, &*self.name, AtFlags::empty()).ok();
    }
}

/// How much may be written before the space is checked again, of `usable` bytes. Many files may
/// grow at once.
fn unchecked_of(usable: u64) -> u64 {
    (usable / SHARES).min(CHECK)
}

/// Sets the time of the last change, if it is known.
pub(super) fn set_modified(file: &File, metadata: &Metadata) -> Result<(), Errno> {
    let Some(time) = metadata.modified else {
        return Ok(());
    };
    let time = Timespec {
        tv_sec: time.seconds,
        tv_nsec: time.nanoseconds.into(),
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    futimens(file, &times)
}

/// Merges ranges over gaps that grow until few enough remain.
fn merge_close(mut ranges: RangeSet) -> RangeSet {
    let mut gap = 1u64 << FINE_LOG;
    while ranges.len() > MAX_LIST {
        let mut merged = RangeSet::default();
        let mut last: Option<Range<u64>> = None;
        for range in ranges.iter() {
            last = Some(match last {
                Some(before) if range.start - before.end <= gap => before.start..range.end,
                Some(before) => {
                    merged.insert(before);
                    range
                }
                None => range,
            });
        }
        merged.insert(last.unwrap_or_default());
        (ranges, gap) = (merged, gap * 2);
    }
    ranges
}

/// A transfer that is busy elsewhere.
pub(crate) fn busy(path: &RemotePath) -> Error {
    let text = format!("another transfer stores `{path}` at the moment; try again later");
    Error::refused(Reason::Busy, text)
}

#[cfg(test)]
mod tests {
    use super::super::{KeepFree, StorageOptions};
    use super::*;
    use crate::scratch_directory::ScratchDirectory;

    #[test]
    fn space_is_kept_free_from_the_first_byte_on() {
        let scratch = ScratchDirectory::new();
        let options = StorageOptions {
            keep_free: KeepFree::Bytes(whimbrel_units::Bytes::new(1 << 60)),
            ..StorageOptions::default()
        };
        let storage = Storage::open(scratch.path(), options).expect("opened");
        let path = RemotePath::new("a").expect("a path");
        let Lock::Ours(partial) = storage.partial("u", &path).expect("created") else {
            panic!("locked")
        };
        let error = partial.write_at(b"x", 0).expect_err("no space");
        assert_eq!(error.for_peer().reason, Reason::DiskFull, "{error}");
    }

    #[test]
    fn the_space_is_checked_again_the_sooner_the_less_there_is() {
        assert_eq!(unchecked_of(1 << 40), CHECK);
        assert_eq!(unchecked_of(1 << 30), 4 << 20);
        assert_eq!(unchecked_of(100), 0);
    }

    #[test]
    fn what_is_written_brings_the_next_check_nearer() {
        let scratch = ScratchDirectory::new();
        let options = StorageOptions::default();
        let storage = Storage::open(scratch.path(), options).expect("opened");
        let partial = partial(&storage);
        let left = || partial.unchecked.load(Ordering::Relaxed);
        partial.write_at(b"x", 0).expect("written");
        let before = left();
        partial.write_at(&[7; 100], 1).expect("written");
        assert_eq!(left(), before - 100);
    }

    /// What is found in it is written again as it is read.
    #[test]
    fn what_arrives_stays_while_the_rest_is_compared() {
        let scratch = ScratchDirectory::in_memory();
        let options = StorageOptions::default();
        let storage = Storage::open(scratch.path(), options).expect("opened");
        let (part, parts) = (1 << FINE_LOG, 16);
        let found = partial(&storage);
        let old = vec![1; part * parts];
        found.write_at(&old, 0).expect("written");
        fchmod(&found.file, Mode::from_raw_mode(MODE)).expect("without the mark");
        drop(found);
        let found = partial(&storage);
        // How often all of it was read.
        let reads = AtomicU64::new(0);
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut all = old.clone();
                while !done.load(Ordering::Relaxed) {
                    found.read_at(&mut all, 0).expect("read");
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
            for n in 0..parts {
                let before = reads.load(Ordering::Relaxed);
                let new = vec![2; part];
                found.write_at(&new, (n * part) as u64).expect("written");
                while reads.load(Ordering::Relaxed) == before {
                    std::thread::yield_now();
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        let mut all = old.clone();
        found.read_at(&mut all, 0).expect("read");
        assert!(all.iter().all(|byte| *byte == 2), "something is lost");
    }

    #[test]
    fn ranges_are_merged_over_the_smallest_gaps() {
        let part = 1 << FINE_LOG;
        let mut ranges = RangeSet::default();
        for n in 0..3000 {
            ranges.insert(2 * n * part..(2 * n + 1) * part);
        }
        let far = 1 << 40;
        ranges.insert(far..far + part);
        let merged: Vec<_> = merge_close(ranges.clone()).iter().collect();
        assert_eq!(merged, [0..5999 * part, far..far + part]);
        let few: RangeSet = merge_close(RangeSet::of(0..part));
        assert_eq!(few, RangeSet::of(0..part));
    }

    fn partial(storage: &Storage) -> Partial {
        let path = RemotePath::new("a").expect("a path");
        match storage.partial("u", &path).expect("opened") {
            Lock::Ours(partial) => partial,
            Lock::Taken => panic!("locked"),
        }
    }

    /// A transfer that is killed between the time of the original and the name.
    #[test]
    fn a_file_that_is_complete_but_for_its_name_is_not_old() {
        let scratch = ScratchDirectory::new();
        let options = StorageOptions::default();
        let storage = Storage::open(scratch.path(), options).expect("opened");
        let complete = partial(&storage);
        complete.write_at(b"x", 0).expect("written");
        let metadata = Metadata {
            modified: Some(crate::wire::FileTime {
                seconds: 0,
                nanoseconds: 0,
            }),
            ..Metadata::plain(crate::wire::Kind::File)
        };
        set_modified(&complete.file, &metadata).expect("set");
        drop(complete);
        let left = |now| {
            storage.remove_leftovers(now).expect("removed");
            crate::scratch_directory::file_names(scratch.path()).len()
        };
        let now = std::time::SystemTime::now();
        assert_eq!([left(now), left(now + 2 * options.keep_partial)], [1, 0]);
    }

    /// Another transfer may remove the file between its opening and its lock.
    #[test]
    fn whoever_has_the_lock_has_the_file_of_this_name() {
        let scratch = ScratchDirectory::in_memory();
        let options = StorageOptions::default();
        let storage = Storage::open(scratch.path(), options).expect("opened");
        let path = RemotePath::new("a").expect("a path");
        let lock_and_remove = || {
            for _ in 0..5000 {
                if let Ok(Lock::Ours(partial)) = storage.partial("u", &path) {
                    let inode = partial.file.metadata().expect("inspected").ino();
                    assert!(is_same(&storage.root, &partial.name, inode));
                    partial.remove();
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(lock_and_remove);
            lock_and_remove();
        });
    }

    #[test]
    fn what_is_about_to_be_written_fits_beside_what_stays_free() {
        // Other tests write to the same disk.
        let refused = (0..10).any(|_| {
            let scratch = ScratchDirectory::in_memory();
            let mut options = StorageOptions::default();
            let usable = {
                options.keep_free = KeepFree::Bytes(whimbrel_units::Bytes::new(0));
                let storage = Storage::open(scratch.path(), options).expect("opened");
                storage.check_space(0).expect("some")
            };
            let keep = usable.saturating_sub(4 << 20);
            options.keep_free = KeepFree::Bytes(whimbrel_units::Bytes::new(keep));
            let storage = Storage::open(scratch.path(), options).expect("opened");
            partial(&storage).write_at(&vec![7; 8 << 20], 0).is_err()
        });
        assert!(refused, "it is written");
    }

    /// Each step takes as long as there are ranges.
    #[test]
    fn ranges_far_from_each_other_are_merged_in_few_steps() {
        let part = 1 << FINE_LOG;
        let mut ranges = RangeSet::default();
        for n in 0..2 * MAX_LIST as u64 {
            ranges.insert(n << 33..(n << 33) + part);
        }
        assert_eq!(merge_close(ranges).len(), 1);
    }
}
