//! Where files arrive: written aside under a hidden name, renamed when whole.
//!
//! Everything happens relative to the directory's descriptor, so that nobody who renames or links
//! directories meanwhile can lead a file elsewhere. The hidden file is made with `O_EXCL | O_NOFOLLOW` and
//! locked while its server lives; one that nobody holds was left by a server that was killed, and the next
//! one removes it.

use crate::error::is_full;
use crate::wire::Reason;
use crate::{Error, FileName};
use ring::rand::{SecureRandom, SystemRandom};
use rustix::fs::{
    AtFlags, FallocateFlags, FlockOperation, Mode, OFlags, RenameFlags, fallocate, flock, fstat,
    fstatfs, fstatvfs, linkat, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use whimbrel_units::Bytes;

const PREFIX: &str = ".whimbrel-";
const SUFFIX: &str = ".part";
/// `TMPFS_MAGIC` of statfs(2).
const TMPFS: rustix::fs::FsWord = 0x0102_1994;

/// The directory files are stored in.
#[derive(Debug, Clone)]
pub(crate) struct Spool {
    directory: Arc<File>,
    path: PathBuf,
    overwrite: bool,
}

impl Spool {
    /// Opens `path` and removes what a killed server left there.
    pub fn open(path: &Path, overwrite: bool) -> Result<Self, Error> {
        let directory = File::open(path)
            .and_then(|d| {
                if d.metadata()?.is_dir() {
                    Ok(d)
                } else {
                    Err(Errno::NOTDIR.into())
                }
            })
            .map_err(Error::file(
                path,
                "use this as the directory to store files in",
            ))?;
        let spool = Self {
            directory: Arc::new(directory),
            path: path.to_owned(),
            overwrite,
        };
        spool.sweep()?;
        Ok(spool)
    }

    /// Removes hidden files of ours that no living server holds.
    fn sweep(&self) -> Result<(), Error> {
        let entries = self
            .path
            .read_dir()
            .map_err(Error::file(&self.path, "list"))?;
        for name in entries.flatten().map(|e| e.file_name()) {
            let Some(name) = name.to_str().filter(|n| is_ours(n)) else {
                continue;
            };
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let Ok(file) = openat(&*self.directory, name, flags, Mode::empty()) else {
                continue;
            };
            if File::from(
                file.try_clone()
                    .map_err(Error::file(&self.path, "open a file in it"))?,
            )
            .metadata()
            .is_ok_and(|m| m.is_file())
                && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
            {
                unlinkat(&*self.directory, name, AtFlags::empty()).map_err(|e| {
                    Error::file(self.path.join(name), "remove what was left")(e.into())
                })?;
            }
        }
        Ok(())
    }

    /// Whether `name` may be stored: no such file is there, or files are overwritten.
    pub fn check(&self, name: &FileName) -> Result<(), Error> {
        match statat(&*self.directory, name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(Error::file(
                self.path.join(name.as_str()),
                "look for this file",
            )(e.into())),
            Ok(stat) => {
                let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
                if self.overwrite && kind == rustix::fs::FileType::RegularFile {
                    Ok(())
                } else {
                    Err(self.exists(name))
                }
            }
        }
    }

    /// Makes room for a file of `size` bytes.
    pub fn create(&self, size: u64) -> Result<Part, Error> {
        let failed = |what| {
            let path = self.path.clone();
            move |e: Errno| Error::file(path, what)(e.into())
        };
        let room = fstatvfs(&*self.directory).map_err(failed("ask for its free space"))?;
        let free = room.f_bavail.saturating_mul(room.f_frsize);
        // Some file systems say zero blocks for "no limit".
        if room.f_blocks > 0 && size > free {
            return Err(no_room(size, free));
        }
        let (name, file) = self.create_hidden()?;
        let part = Part {
            directory: Arc::clone(&self.directory),
            path: self.path.join(&name),
            name,
            file,
            overwrite: self.overwrite,
            stored: AtomicBool::new(false),
        };
        // Where memory is the disk there is nothing to lay out, and reserving would clear every page first.
        let in_memory = fstatfs(&part.file).is_ok_and(|s| s.f_type == TMPFS);
        if size > 0 && in_memory {
            part.file
                .set_len(size)
                .map_err(Error::file(&part.path, "make it that long"))?;
        } else if size > 0 {
            match fallocate(&part.file, FallocateFlags::empty(), 0, size) {
                // Not every file system can; then the room is found or missed while writing.
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                    part.file
                        .set_len(size)
                        .map_err(Error::file(&part.path, "make it that long"))?;
                }
                Err(e) if is_full(&e.into()) => return Err(no_room(size, free)),
                result => result.map_err(|e| Error::file(&part.path, "reserve room")(e.into()))?,
            }
        }
        Ok(part)
    }

    fn create_hidden(&self) -> Result<(String, File), Error> {
        let failed = |e: Errno| Error::file(&self.path, "make a file in it")(e.into());
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Twice at most: once more if a server that starts up swept it away before it was locked.
        for _ in 0..8 {
            let mut random = [0; 8];
            SystemRandom::new()
                .fill(&mut random)
                .map_err(|_| Error::Identity("the system gave no randomness".to_owned()))?;
            let name = format!(
                "{PREFIX}{}{SUFFIX}",
                data_encoding::HEXLOWER.encode(&random)
            );
            let mode = Mode::from_raw_mode(0o666);
            let file = match openat(&*self.directory, &*name, flags, mode) {
                Err(Errno::EXIST) => continue,
                result => File::from(result.map_err(failed)?),
            };
            // A file system without locks is used by one server at a time.
            if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
                || fstat(&file).map_err(failed)?.st_nlink == 0
            {
                continue;
            }
            return Ok((name, file));
        }
        Err(failed(Errno::EXIST))
    }

    fn exists(&self, name: &FileName) -> Error {
        let hint = if self.overwrite {
            "what stands there is not a plain file"
        } else {
            "send it under another --name, or start the server with --overwrite"
        };
        Error::refused(Reason::Exists, format!("`{name}` is there already; {hint}"))
    }
}

fn no_room(size: u64, free: u64) -> Error {
    let (size, free) = (Bytes::new(size), Bytes::new(free));
    Error::refused(
        Reason::DiskFull,
        format!("the file is {size}, the server's disk has {free} left"),
    )
}

fn is_ours(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .and_then(|n| n.strip_suffix(SUFFIX))
        .is_some_and(|n| n.len() == 16 && n.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// A file that is not whole yet. Dropped before it is stored, it is gone.
#[derive(Debug)]
pub(crate) struct Part {
    directory: Arc<File>,
    path: PathBuf,
    name: String,
    file: File,
    overwrite: bool,
    stored: AtomicBool,
}

impl Part {
    /// Writes all of `data` at `offset`.
    pub fn write_at(&self, data: &[u8], offset: u64) -> Result<(), Error> {
        self.file
            .write_all_at(data, offset)
            .map_err(Error::file(&self.path, "write"))
    }

    /// Reads exactly `into` from `offset`.
    pub fn read_at(&self, into: &mut [u8], offset: u64) -> Result<(), Error> {
        self.file
            .read_exact_at(into, offset)
            .map_err(Error::file(&self.path, "read back"))
    }

    /// Flushes it to disk and gives it its name. After this it is there whatever happens.
    pub fn store(&self, spool: &Spool, name: &FileName) -> Result<(), Error> {
        let path = spool.path.join(name.as_str());
        self.file
            .sync_all()
            .map_err(Error::file(&self.path, "flush to disk"))?;
        self.rename(name).map_err(|e| match e {
            Errno::EXIST | Errno::ISDIR | Errno::NOTEMPTY => spool.exists(name),
            e => Error::file(&path, "give the file this name")(e.into()),
        })?;
        self.stored.store(true, Ordering::Release);
        self.directory
            .sync_all()
            .map_err(Error::file(&path, "flush its directory to disk"))
    }

    fn rename(&self, name: &FileName) -> Result<(), Errno> {
        let (dir, old, new) = (&*self.directory, &*self.name, name.as_str());
        if self.overwrite {
            return renameat(dir, old, dir, new);
        }
        match renameat_with(dir, old, dir, new, RenameFlags::NOREPLACE) {
            // Not every file system can; a hard link does not replace either.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                linkat(dir, old, dir, new, AtFlags::empty())?;
                unlinkat(dir, old, AtFlags::empty())
            }
            result => result,
        }
    }
}

impl Part {
    /// Removes it unless it is stored. Whoever still writes to it writes into nothing.
    pub fn discard(&self) {
        if !self.stored.load(Ordering::Acquire) {
            // If this fails the next server's sweep does it.
            let _: Result<(), io::Error> =
                unlinkat(&*self.directory, &*self.name, AtFlags::empty()).map_err(io::Error::from);
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.discard();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A directory of this test's own.
    pub(crate) fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("whimbrel-test-{name}-{}", std::process::id()));
        fs::remove_dir_all(&dir).ok();
        fs::create_dir_all(&dir).expect("a place for tests");
        dir
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = dir
            .read_dir()
            .expect("there")
            .map(|e| {
                e.expect("readable")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }

    fn name(text: &str) -> FileName {
        FileName::new(text).expect("a good name")
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let dir = scratch("whole");
        let spool = Spool::open(&dir, false).expect("opened");
        let part = spool.create(5).expect("made");
        part.write_at(b"world", 0).expect("written");
        assert!(names(&dir)[0].starts_with(PREFIX));
        drop(part);
        assert!(names(&dir).is_empty(), "given up, it is gone");
        let part = spool.create(5).expect("made");
        part.write_at(b"hello", 0).expect("written");
        part.store(&spool, &name("a")).expect("stored");
        drop(part);
        assert_eq!(names(&dir), ["a"]);
        assert_eq!(fs::read(dir.join("a")).expect("there"), b"hello");
        fs::remove_dir_all(dir).expect("mine");
    }

    #[test]
    fn what_is_there_is_replaced_only_when_allowed_and_never_through_a_link() {
        let dir = scratch("exists");
        let outside = scratch("outside");
        fs::write(outside.join("victim"), "precious").expect("written");
        fs::write(dir.join("a"), "old").expect("written");
        symlink(outside.join("victim"), dir.join("link")).expect("made");
        fs::create_dir(dir.join("sub")).expect("made");
        let store = |overwrite, n: &str| {
            let spool = Spool::open(&dir, overwrite).expect("opened");
            let part = spool.create(3).expect("made");
            part.write_at(b"new", 0).expect("written");
            let checked = spool.check(&name(n));
            assert_eq!(
                checked.is_ok(),
                part.store(&spool, &name(n)).is_ok() && checked.is_ok()
            );
            checked
        };
        assert!(store(false, "a").is_err());
        assert_eq!(fs::read(dir.join("a")).expect("there"), b"old");
        assert!(store(true, "a").is_ok());
        assert_eq!(fs::read(dir.join("a")).expect("there"), b"new");
        assert!(store(true, "sub").is_err() && store(false, "link").is_err());
        assert_eq!(
            fs::read(outside.join("victim")).expect("there"),
            b"precious"
        );
        fs::remove_dir_all(dir).expect("mine");
        fs::remove_dir_all(outside).expect("mine");
    }

    #[test]
    fn only_what_a_killed_server_left_is_swept() {
        let dir = scratch("sweep");
        let left = format!("{PREFIX}0123456789abcdef{SUFFIX}");
        let mine = [
            ".whimbrel-notes.part",
            "a.part",
            ".whimbrel-0123456789abcdeX.part",
        ];
        fs::write(dir.join(&left), "half").expect("written");
        for n in mine {
            fs::write(dir.join(n), "mine").expect("written");
        }
        let spool = Spool::open(&dir, false).expect("opened");
        assert!(!dir.join(&left).exists());
        let living = spool.create(1).expect("made");
        Spool::open(&dir, false).expect("a second server in the same directory");
        assert!(living.path.exists(), "a living server's file stays");
        assert!(mine.iter().all(|n| dir.join(n).exists()));
        fs::remove_dir_all(dir).expect("mine");
    }

    #[test]
    fn a_file_larger_than_the_disk_is_refused_at_once() {
        let dir = scratch("room");
        let spool = Spool::open(&dir, false).expect("opened");
        let error = spool.create(1 << 60).expect_err("no such disk").to_string();
        assert!(error.contains("left"), "{error}");
        assert!(names(&dir).is_empty());
        assert!(Spool::open(&dir.join("none"), false).is_err());
        fs::remove_dir_all(dir).expect("mine");
    }
}
