//! The directory in which files arrive: written under a hidden name, renamed when complete.
//!
//! Every operation is relative to the directory's file descriptor, so that renaming or linking
//! directories meanwhile cannot redirect a file. The hidden file is created with `O_EXCL |
//! O_NOFOLLOW` and locked while its server lives. A hidden file without a lock was left by a killed
//! server, and the next server removes it.

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

/// The directory in which files are stored.
#[derive(Debug, Clone)]
pub(crate) struct UploadDirectory {
    directory: Arc<File>,
    path: PathBuf,
    overwrite: bool,
}

impl UploadDirectory {
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
            .map_err(Error::file(path, "use this as the directory for uploads"))?;
        let uploads = Self {
            directory: Arc::new(directory),
            path: path.to_owned(),
            overwrite,
        };
        uploads.remove_leftovers()?;
        Ok(uploads)
    }

    /// Removes hidden files that no living server has locked.
    fn remove_leftovers(&self) -> Result<(), Error> {
        let entries = self
            .path
            .read_dir()
            .map_err(Error::file(&self.path, "list"))?;
        for name in entries.flatten().map(|e| e.file_name()) {
            let Some(name) = name.to_str().filter(|n| is_hidden_name(n)) else {
                continue;
            };
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let Ok(file) = openat(&*self.directory, name, flags, Mode::empty()) else {
                continue;
            };
            if File::from(
                file.try_clone()
                    .map_err(Error::file(&self.path, "open a file in this directory"))?,
            )
            .metadata()
            .is_ok_and(|m| m.is_file())
                && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
            {
                unlinkat(&*self.directory, name, AtFlags::empty()).map_err(|e| {
                    Error::file(self.path.join(name), "remove this incomplete file")(e.into())
                })?;
            }
        }
        Ok(())
    }

    /// Whether `name` may be stored: no such file exists, or files may be overwritten.
    pub fn check(&self, name: &FileName) -> Result<(), Error> {
        match statat(&*self.directory, name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(Error::file(
                self.path.join(name.as_str()),
                "check for this file",
            )(e.into())),
            Ok(stat) => {
                let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
                if self.overwrite && kind == rustix::fs::FileType::RegularFile {
                    Ok(())
                } else {
                    Err(self.exists_error(name))
                }
            }
        }
    }

    /// Creates a hidden file and reserves `size` bytes for it.
    pub fn create(&self, size: u64) -> Result<PartialFile, Error> {
        let failed = |what| {
            let path = self.path.clone();
            move |e: Errno| Error::file(path, what)(e.into())
        };
        let space = fstatvfs(&*self.directory).map_err(failed("query its free space"))?;
        let free = space.f_bavail.saturating_mul(space.f_frsize);
        // Some file systems report zero blocks for "no limit".
        if space.f_blocks > 0 && size > free {
            return Err(no_space(size, free));
        }
        let (name, file) = self.create_hidden()?;
        let part = PartialFile {
            directory: Arc::clone(&self.directory),
            path: self.path.join(&name),
            name,
            file,
            overwrite: self.overwrite,
            stored: AtomicBool::new(false),
        };
        // A file system in memory has no layout to prepare, and reserving would clear every page
        // first.
        let in_memory = fstatfs(&part.file).is_ok_and(|s| s.f_type == TMPFS);
        if size > 0 && in_memory {
            part.file
                .set_len(size)
                .map_err(Error::file(&part.path, "set its length"))?;
        } else if size > 0 {
            match fallocate(&part.file, FallocateFlags::empty(), 0, size) {
                // Not every file system supports it; then writing finds out whether there is space.
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                    part.file
                        .set_len(size)
                        .map_err(Error::file(&part.path, "set its length"))?;
                }
                Err(e) if is_full(&e.into()) => return Err(no_space(size, free)),
                result => result.map_err(|e| Error::file(&part.path, "reserve space")(e.into()))?,
            }
        }
        Ok(part)
    }

    fn create_hidden(&self) -> Result<(String, File), Error> {
        let failed =
            |e: Errno| Error::file(&self.path, "create a file in this directory")(e.into());
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A second attempt is needed if a starting server removes the file before it is locked; a
        // third is unlikely.
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
            // On a file system without locks only one server may use the directory.
            if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
                || fstat(&file).map_err(failed)?.st_nlink == 0
            {
                continue;
            }
            return Ok((name, file));
        }
        Err(failed(Errno::EXIST))
    }

    fn exists_error(&self, name: &FileName) -> Error {
        let hint = if self.overwrite {
            "it is not a regular file"
        } else {
            "choose another --name, or start the server with --overwrite"
        };
        Error::refused(Reason::Exists, format!("`{name}` exists already; {hint}"))
    }
}

fn no_space(size: u64, free: u64) -> Error {
    let (size, free) = (Bytes::new(size), Bytes::new(free));
    Error::refused(
        Reason::DiskFull,
        format!("the file is {size}; the server's disk has {free} left"),
    )
}

fn is_hidden_name(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .and_then(|n| n.strip_suffix(SUFFIX))
        .is_some_and(|n| n.len() == 16 && n.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// An incomplete file, removed when it is dropped before it is stored.
#[derive(Debug)]
pub(crate) struct PartialFile {
    directory: Arc<File>,
    path: PathBuf,
    name: String,
    file: File,
    overwrite: bool,
    stored: AtomicBool,
}

impl PartialFile {
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

    /// Flushes the file to disk and renames it to `name`. The file then survives a crash.
    pub fn store(&self, uploads: &UploadDirectory, name: &FileName) -> Result<(), Error> {
        let path = uploads.path.join(name.as_str());
        self.file
            .sync_all()
            .map_err(Error::file(&self.path, "flush to disk"))?;
        self.rename(name).map_err(|e| match e {
            Errno::EXIST | Errno::ISDIR | Errno::NOTEMPTY => uploads.exists_error(name),
            e => Error::file(&path, "rename the file to this")(e.into()),
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
            // Not every file system supports this; a hard link does not replace a file either.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                linkat(dir, old, dir, new, AtFlags::empty())?;
                unlinkat(dir, old, AtFlags::empty())
            }
            result => result,
        }
    }
}

impl PartialFile {
    /// Removes the file unless it is stored. Later writes to it have no effect.
    pub fn discard(&self) {
        if !self.stored.load(Ordering::Acquire) {
            // If this fails, the next server removes the file.
            let _: Result<(), io::Error> =
                unlinkat(&*self.directory, &*self.name, AtFlags::empty()).map_err(io::Error::from);
        }
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        self.discard();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch_directory::{ScratchDirectory, file_names};
    use std::fs;
    use std::os::unix::fs::symlink;

    fn name(text: &str) -> FileName {
        FileName::new(text).expect("a valid name")
    }

    #[test]
    fn a_file_appears_complete_or_not_at_all() {
        let scratch = ScratchDirectory::new();
        let dir = scratch.path();
        let uploads = UploadDirectory::open(dir, false).expect("a directory");
        let part = uploads.create(5).expect("created");
        part.write_at(b"world", 0).expect("written");
        assert!(file_names(dir)[0].starts_with(PREFIX));
        drop(part);
        assert!(file_names(dir).is_empty(), "dropped, it is removed");
        let part = uploads.create(5).expect("created");
        part.write_at(b"hello", 0).expect("written");
        part.store(&uploads, &name("a")).expect("stored");
        drop(part);
        assert_eq!(file_names(dir), ["a"]);
        assert_eq!(fs::read(dir.join("a")).expect("a file"), b"hello");
    }

    #[test]
    fn files_are_replaced_only_if_allowed_and_never_through_a_link() {
        let scratch = ScratchDirectory::new();
        let dir = scratch.path();
        let outside_scratch = ScratchDirectory::new();
        let outside = outside_scratch.path();
        fs::write(outside.join("victim"), "precious").expect("written");
        fs::write(dir.join("a"), "old").expect("written");
        symlink(outside.join("victim"), dir.join("link")).expect("created");
        fs::create_dir(dir.join("sub")).expect("created");
        let store = |overwrite, n: &str| {
            let uploads = UploadDirectory::open(dir, overwrite).expect("a directory");
            let part = uploads.create(3).expect("created");
            part.write_at(b"new", 0).expect("written");
            let checked = uploads.check(&name(n));
            assert_eq!(
                checked.is_ok(),
                part.store(&uploads, &name(n)).is_ok() && checked.is_ok()
            );
            checked
        };
        assert!(store(false, "a").is_err());
        assert_eq!(fs::read(dir.join("a")).expect("a file"), b"old");
        assert!(store(true, "a").is_ok());
        assert_eq!(fs::read(dir.join("a")).expect("a file"), b"new");
        assert!(store(true, "sub").is_err() && store(false, "link").is_err());
        assert_eq!(
            fs::read(outside.join("victim")).expect("a file"),
            b"precious"
        );
    }

    #[test]
    fn only_files_of_a_killed_server_are_removed() {
        let scratch = ScratchDirectory::new();
        let dir = scratch.path();
        let leftover = format!("{PREFIX}0123456789abcdef{SUFFIX}");
        let others = [
            ".whimbrel-notes.part",
            "a.part",
            ".whimbrel-0123456789abcdeX.part",
        ];
        fs::write(dir.join(&leftover), "half").expect("written");
        for n in others {
            fs::write(dir.join(n), "other").expect("written");
        }
        let uploads = UploadDirectory::open(dir, false).expect("a directory");
        assert!(!dir.join(&leftover).exists());
        let in_use = uploads.create(1).expect("created");
        UploadDirectory::open(dir, false).expect("a second server in the same directory");
        assert!(in_use.path.exists(), "the file of a living server stays");
        assert!(others.iter().all(|n| dir.join(n).exists()));
    }

    #[test]
    fn a_file_larger_than_the_disk_is_refused_at_once() {
        let scratch = ScratchDirectory::new();
        let dir = scratch.path();
        let uploads = UploadDirectory::open(dir, false).expect("a directory");
        let error = uploads
            .create(1 << 60)
            .expect_err("no disk is as large")
            .to_string();
        assert!(error.contains("left"), "{error}");
        assert!(file_names(dir).is_empty());
        assert!(UploadDirectory::open(&dir.join("none"), false).is_err());
    }
}
