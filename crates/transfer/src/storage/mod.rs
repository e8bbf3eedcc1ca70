//! The directory in which files arrive: written under a hidden name, renamed when complete.
//!
//! Every operation is relative to a file descriptor of a directory and follows no symbolic link, so
//! nothing that is renamed or linked meanwhile leads out of the directory.
//!
//! | part | content |
//! |---|---|
//! | `resolve` | from a path to the file descriptor of its directory |
//! | `partial` | one incomplete file, which survives lost connections and restarts |
//! | `stage` | many small files, written and synchronized together |
//! | `list` | listing and removing |
//! | `space` | how much of the disk may be used |
//! | `system` | the calls that change the disk |

mod list;
mod partial;
mod resolve;
mod space;
mod stage;
pub(crate) mod system;
#[cfg(test)]
mod tests;

pub(crate) use list::Listed;
pub(crate) use partial::{Lock, Partial, busy};
use resolve::attribute_bytes_at;
pub(crate) use resolve::{Found, attributes};
pub use space::KeepFree;
pub(crate) use stage::{Directories, Stage, Staged, stays_below};

use crate::blocks::{BlockHashes, hash_subtree};
use crate::cancel::Cancel;
use crate::error::Error;
use crate::path::RESERVED;
use crate::path::RemotePath;
use crate::random;
use crate::wire::{Kind, Reason};
use blake3::hazmat::ChainingValue;
use rustix::fs::{Access, AtFlags, CWD, FlockOperation, Mode, OFlags, flock, statat};
use rustix::io::Errno;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use system::{mkdirat, openat, unlinkat};

/// What each file, directory and link counts beside its content, bytes: empty ones take space, too.
pub(crate) const ENTRY: u64 = 512;

/// At which end of a connection a directory is. Only messages differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Clients send files to it.
    Server,
    /// Files from a server go to it.
    Client,
}

/// Options of a directory in which files are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StorageOptions {
    /// Replace files of the same name.
    pub overwrite: bool,
    /// What of the disk stays free.
    pub keep_free: KeepFree,
    /// Incomplete files that have not changed for this long are removed.
    pub keep_partial: Duration,
    /// At which end it is.
    pub side: Side,
}

impl Default for StorageOptions {
    /// Nothing is replaced, the usual share of the disk stays free, and incomplete files stay for 7
    /// days.
    fn default() -> Self {
        Self {
            overwrite: false,
            keep_free: KeepFree::Share,
            keep_partial: Duration::from_secs(7 * 24 * 3600),
            side: Side::Client,
        }
    }
}

/// Counts the bytes that new directories and links take.
type Counts = Arc<dyn Fn(u64) + Send + Sync>;

/// A directory in which files are stored.
#[derive(Clone)]
pub(crate) struct Storage {
    root: Arc<File>,
    path: PathBuf,
    options: StorageOptions,
    /// Permission bits that new files do not get.
    umask: u16,
    counts: Option<Counts>,
}

impl std::fmt::Debug for Storage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Storage").field(&self.path).finish()
    }
}

/// The directory in which a path is, as the system takes it.
pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(above) if !above.as_os_str().is_empty() => above,
        _ => Path::new("."),
    }
}

impl Storage {
    /// Opens `path` and removes incomplete files that are too old.
    pub fn open(path: &Path, options: StorageOptions) -> Result<Self, Error> {
        let root = File::open(path)
            .and_then(|d| {
                if d.metadata()?.is_dir() {
                    Ok(d)
                } else {
                    Err(Errno::NOTDIR.into())
                }
            })
            .map_err(Error::file(
                path,
                match options.side {
                    Side::Server => "use this as the directory for uploads",
                    Side::Client => "store files in this directory",
                },
            ))?;
        let storage = Self {
            root: Arc::new(root),
            path: path.to_owned(),
            options,
            umask: umask(),
            counts: None,
        };
        storage.remove_leftovers(SystemTime::now())?;
        Ok(storage)
    }

    /// The same storage; `counts` is called with the bytes that each new directory or link takes.
    /// Whoever stores a file counts it: its room is reserved first.
    pub fn counting(self, counts: impl Fn(u64) + Send + Sync + 'static) -> Self {
        Self {
            counts: Some(Arc::new(counts)),
            ..self
        }
    }

    /// A directory or link was made.
    fn made_entry(&self) {
        if let Some(counts) = &self.counts {
            counts(ENTRY);
        }
    }

    /// Creates the directory `path` in one that exists, and opens it.
    pub fn create(path: &Path, options: StorageOptions) -> Result<Self, Error> {
        let created = || {
            let name = path.file_name().ok_or(Errno::INVAL)?;
            let above = File::open(directory_of(path))?;
            mkdirat(&above, name, Mode::from_raw_mode(0o777))?;
            // What is stored in it is only as sure as its name.
            system::fsync(&above).map_err(std::io::Error::from)
        };
        created().map_err(Error::file(path, "create this directory"))?;
        Self::open(path, options)
    }

    /// Checks that files can be created in this directory below it, or the directory itself, if it
    /// does not exist.
    ///
    /// # Errors
    /// If this user may not, or the file system is read-only.
    pub fn check_writable(&self, directory: &Path) -> Result<(), Error> {
        let path = self.path.join(directory);
        let exists = path.ancestors().find(|path| path.exists());
        let path = exists.unwrap_or(&self.path);
        let allowed = rustix::fs::access(path, Access::WRITE_OK | Access::EXEC_OK);
        allowed.map_err(|errno| Error::file(path, "store files in this directory")(errno.into()))
    }

    /// The same for a directory below this one, which is created if it does not exist.
    ///
    /// # Errors
    /// If it cannot be opened, or leads out of this one over a symbolic link.
    pub fn below(&self, directory: &Path) -> Result<Self, Error> {
        let path = self.path.join(directory);
        let create = || {
            let mut above = self.path.clone();
            for name in directory {
                let place = above.join(name);
                if !place.is_dir() {
                    match mkdirat(&File::open(&above)?, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(e) => return Err(e.into()),
                    }
                }
                above = place;
            }
            let inside = path.canonicalize()?.starts_with(self.path.canonicalize()?);
            let outside = || std::io::Error::other("it leads out of the server's directory");
            inside.then_some(()).ok_or_else(outside)
        };
        let named = || {
            let mut above = directory.ancestors().skip(1);
            above.try_for_each(|above| {
                let flushed = system::fsync(&File::open(self.path.join(above))?);
                flushed.map_err(std::io::Error::from)
            })
        };
        // What is stored in it is only as sure as its name.
        create()
            .and_then(|()| named())
            .map_err(Error::file(&path, "use this directory of a user"))?;
        Self::open(&path, self.options)
    }

    /// Whether files of the same name are replaced.
    pub fn overwrites(&self) -> bool {
        self.options.overwrite
    }

    /// Where a file is, for messages to the operator.
    pub fn shown(&self, path: &RemotePath) -> PathBuf {
        self.path.join(path.as_path())
    }

    /// Removes old incomplete files, and what packs of a killed server left. What a living server
    /// has locked stays.
    pub fn remove_leftovers(&self, now: SystemTime) -> Result<(), Error> {
        let entries = self
            .path
            .read_dir()
            .map_err(Error::file(&self.path, "list"))?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let staged = stage::is_stage(name);
            if !staged && !partial::is_partial(name) {
                continue;
            }
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let Ok(file) = openat(&*self.root, name, flags, Mode::empty()) else {
                continue;
            };
            let file = File::from(file);
            let Ok(metadata) = file.metadata() else {
                continue;
            };
            // Not the time of its content: a file whose transfer ended just before it had its name
            // has that of the original.
            let changed = UNIX_EPOCH + Duration::from_secs(metadata.ctime().unsigned_abs());
            let old = now.duration_since(changed).unwrap_or_default() >= self.options.keep_partial;
            let right_type = if staged {
                metadata.is_dir()
            } else {
                metadata.is_file() && old
            };
            if !right_type || flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                continue;
            }
            let removed = if staged {
                std::fs::remove_dir_all(self.path.join(name))
            } else {
                unlinkat(&*self.root, name, AtFlags::empty()).map_err(Into::into)
            };
            removed.map_err(Error::file(
                self.path.join(name),
                "remove this incomplete file",
            ))?;
        }
        Ok(())
    }

    /// Bytes that the files in the directory take, incomplete ones included.
    pub fn used(&self) -> u64 {
        let mut used = 0;
        let mut folders = vec![self.path.clone()];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = folder.read_dir() else {
                continue;
            };
            for entry in entries.flatten() {
                let Ok(metadata) = entry.metadata() else {
                    continue;
                };
                let path = entry.path();
                used += space::taken(&metadata) + attribute_bytes_at(CWD, path.as_os_str());
                if metadata.is_dir() {
                    folders.push(entry.path());
                }
            }
        }
        used
    }

    /// The error if there is something else at a path, or a file that is not to be replaced.
    pub fn exists_error(&self, path: &RemotePath) -> Error {
        let is_directory = self
            .look_up(path)
            .ok()
            .flatten()
            .is_some_and(|found| found.kind == Kind::Directory);
        let text = match (self.options.side, self.options.overwrite) {
            (Side::Server, _) if is_directory => {
                format!("`{path}` is a directory; write `{path}/` to store files in it")
            }
            (Side::Client, _) if is_directory => format!("`{path}` is a directory here"),
            (_, true) => format!("`{path}` exists already; it is not a regular file"),
            (Side::Server, false) => {
                format!("`{path}` exists already, and this server replaces no files")
            }
            (Side::Client, false) => {
                format!("`{path}` exists already and is different; it is not replaced")
            }
        };
        Error::refused(Reason::Exists, text)
    }

    /// Whether the file at a path has this content. If it has, it is on disk from now on: whoever
    /// stored it may have been killed before it was.
    pub fn has(
        &self,
        path: &RemotePath,
        size: u64,
        hash: blake3::Hash,
        cancel: &Cancel,
    ) -> Result<bool, Error> {
        let file = self.open_file(path)?;
        if hash_file(&file, size, cancel)? != hash {
            return Ok(false);
        }
        system::fsync(&file).map_err(self.failed_named(path, "flush to disk"))?;
        self.flush_names(path)?;
        Ok(true)
    }

    /// Flushes everything on the disk, also what others have written: files that were found to be
    /// there already.
    pub fn flush(&self) -> Result<(), Error> {
        system::syncfs(&*self.root).map_err(|e| Error::file(&self.path, "flush to disk")(e.into()))
    }

    fn failed(&self, path: &RemotePath, what: &'static str) -> impl FnOnce(Errno) -> Error {
        let path = self.shown(path);
        move |e| Error::file(path, what)(e.into())
    }

    /// The same for a file that has its name. The client must not be told that it is not stored, so
    /// a full disk is not given as the reason.
    fn failed_named(&self, path: &RemotePath, what: &'static str) -> impl FnOnce(Errno) -> Error {
        let path = self.shown(path);
        move |e| Error::file(path, what)(std::io::Error::other(std::io::Error::from(e)))
    }
}

/// The process's umask. It can only be read by changing it, which threads that create files
/// meanwhile would notice; the kernel's status file has it too.
pub(crate) fn umask() -> u16 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|text| u16::from_str_radix(text.trim(), 8).ok())
        .unwrap_or(0o022)
}

/// A random name with the server's own prefix.
fn random_name(suffix: &str) -> Result<String, Error> {
    let random = random::bytes::<8>()?;
    Ok(own_name(&data_encoding::HEXLOWER.encode(&random), suffix))
}

/// A name with the server's own prefix.
fn own_name(middle: &str, suffix: &str) -> String {
    let prefix = std::str::from_utf8(RESERVED).unwrap_or_default();
    format!("{prefix}{middle}{suffix}")
}

/// Whether a name consists of the server's prefix, so many hexadecimal digits, and a suffix.
fn is_own_name(name: &str, digits: usize, suffix: &str) -> bool {
    let prefix = std::str::from_utf8(RESERVED).unwrap_or_default();
    name.strip_prefix(prefix)
        .and_then(|n| n.strip_suffix(suffix))
        .is_some_and(|n| n.len() == digits && n.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Whether `name` in `directory` still is the file with this inode.
fn is_same(directory: &File, name: &str, inode: u64) -> bool {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|s| s.st_ino == inode)
}

/// The hash of a file.
pub(crate) fn hash_file(file: &File, size: u64, cancel: &Cancel) -> Result<blake3::Hash, Error> {
    let mut hashes = BlockHashes::new(size);
    let mut buffer = Vec::new();
    for block in 0..hashes.count() {
        cancel.check()?;
        let range = hashes.range(block);
        let hash = hash_block(file, size, &range, &mut buffer)?;
        hashes.set(block, Some(hash));
    }
    hashes.root().ok_or(Error::Stopped)
}

/// The hash of one block of a file of `size` bytes. `buffer` is overwritten.
fn hash_block(
    file: &File,
    size: u64,
    range: &Range<u64>,
    buffer: &mut Vec<u8>,
) -> Result<ChainingValue, Error> {
    buffer.resize((range.end - range.start) as usize, 0);
    let read = file.read_exact_at(buffer, range.start);
    read.map_err(Error::file("a stored file", "read"))?;
    Ok(hash_subtree(size, range, buffer))
}
