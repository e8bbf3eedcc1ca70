//! From a path to the file descriptor of its directory, one component at a time.

use super::system::{fsync, mkdirat, openat};
use super::{ENTRY, Storage};
use crate::error::Error;
use crate::path::RemotePath;
use crate::wire::{Attribute, FileTime, Kind, MAX_ATTRIBUTES, MAX_VALUE, Metadata, Reason};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fgetxattr, flistxattr, fsetxattr, statat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// The type.
    pub kind: Kind,
    /// Size, bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u16,
    /// Time of the last change.
    pub modified: FileTime,
}

impl Found {
    pub(super) fn of(stat: &Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        };
        let found = Self {
            kind,
            size: if kind == Kind::File {
                stat.st_size as u64
            } else {
                0
            },
            mode: (stat.st_mode & 0o777) as u16,
            modified: FileTime {
                seconds: stat.st_mtime,
                nanoseconds: stat.st_mtime_nsec as u32,
            },
        };
        #[cfg(test)]
        let found = found.as_simulated();
        found
    }

    /// In a simulated world all that clients see follows from a seed, but a directory has the time
    /// of the real file system.
    #[cfg(test)]
    fn as_simulated(self) -> Self {
        let modified = match self.kind {
            Kind::Directory if crate::simulated::network::is_simulated() => FileTime {
                seconds: 0,
                nanoseconds: 0,
            },
            _ => self.modified,
        };
        Self { modified, ..self }
    }

    /// The same, to be sent.
    pub fn metadata(&self) -> Metadata {
        Metadata {
            kind: self.kind,
            mode: Some(self.mode),
            modified: Some(self.modified),
            attributes: Vec::new(),
        }
    }
}

impl Storage {
    /// The directory of a path; `None` if it does not exist and shall not be created.
    pub(super) fn parent(
        &self,
        path: &RemotePath,
        create: bool,
    ) -> Result<Option<Arc<File>>, Error> {
        let mut components = path.components();
        components.next_back();
        self.descend(path, components, create)
    }

    /// The directory at a path, or the root; `None` if it does not exist.
    pub(super) fn directory(
        &self,
        path: Option<&RemotePath>,
        create: bool,
    ) -> Result<Option<Arc<File>>, Error> {
        match path {
            Some(path) => self.descend(path, path.components(), create),
            None => Ok(Some(Arc::clone(&self.root))),
        }
    }

    fn descend<'a>(
        &self,
        path: &RemotePath,
        components: impl Iterator<Item = &'a OsStr>,
        create: bool,
    ) -> Result<Option<Arc<File>>, Error> {
        let mut directory = Arc::clone(&self.root);
        for name in components {
            directory = match open_directory(&directory, name) {
                Ok(next) => Arc::new(next),
                Err(Errno::NOENT) if create => {
                    let created = self.create_directory(&directory, name);
                    Arc::new(created.map_err(self.failed(path, "create the directory of"))?)
                }
                Err(Errno::NOENT) => return Ok(None),
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    let name = crate::path::printable(name.as_encoded_bytes());
                    let text = format!("`{path}`: `{name}` is not a directory");
                    return Err(Error::refused(Reason::Name, text));
                }
                Err(e) => return Err(self.failed(path, "open the directory of")(e)),
            };
        }
        Ok(Some(directory))
    }

    /// Flushes the name of a file, and those of the directories above it, to disk: they may be new,
    /// and whoever made them may have been killed before it flushed them.
    pub(super) fn flush_names(&self, path: &RemotePath) -> Result<(), Error> {
        let failed = || self.failed_named(path, "flush the directory of");
        let mut directory = Arc::clone(&self.root);
        let mut above = path.components();
        above.next_back();
        for name in above {
            fsync(&*directory).map_err(failed())?;
            directory = Arc::new(open_directory(&directory, name).map_err(failed())?);
        }
        fsync(&*directory).map_err(failed())
    }

    fn create_directory(&self, parent: &File, name: &OsStr) -> Result<File, Errno> {
        match mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
            // Another transfer was faster.
            Ok(()) => {
                self.made_entry();
                fsync(parent)?;
            }
            Err(Errno::EXIST) => {}
            Err(e) => return Err(e),
        }
        open_directory(parent, name)
    }

    /// What is at a path, itself and not what a link leads to; `None` if nothing is.
    pub fn look_up(&self, path: &RemotePath) -> Result<Option<Found>, Error> {
        let Some(parent) = self.parent(path, false)? else {
            return Ok(None);
        };
        match statat(&*parent, path.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Found::of(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(self.failed(path, "check for this file")(e)),
        }
    }

    /// What a file at a path counts against a quota; 0 if nothing is there.
    pub fn counted(&self, path: &RemotePath) -> Result<u64, Error> {
        let (Some(found), Some(parent)) = (self.look_up(path)?, self.parent(path, false)?) else {
            return Ok(0);
        };
        Ok(found.size + ENTRY + attribute_bytes_at(&*parent, path.file_name()))
    }

    /// Opens a regular file for reading.
    pub fn open_file(&self, path: &RemotePath) -> Result<File, Error> {
        let missing = || {
            let text = format!("there is no file `{path}` on the server");
            Error::refused(Reason::Missing, text)
        };
        let parent = self.parent(path, false)?.ok_or_else(missing)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&*parent, path.file_name(), flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Err(missing()),
            Err(Errno::LOOP) => return Err(not_a_file(path)),
            Err(e) => return Err(self.failed(path, "open")(e)),
        };
        if file.metadata().is_ok_and(|m| m.is_file()) {
            Ok(file)
        } else {
            Err(not_a_file(path))
        }
    }

    /// The permission bits of a new file at a path that was requested with `mode`. A file that is
    /// replaced keeps its own.
    pub(super) fn mode_for(&self, replaced: Option<Found>, mode: Option<u16>) -> u16 {
        match replaced {
            Some(found) if found.kind == Kind::File => found.mode,
            _ => mode.unwrap_or(0o666) & !self.umask & 0o777,
        }
    }
}

fn not_a_file(path: &RemotePath) -> Error {
    Error::refused(Reason::Missing, format!("`{path}` is not a regular file"))
}

pub(super) fn open_directory(parent: &File, name: &OsStr) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty()).map(File::from)
}

/// The extended attributes of a file in the namespace `user`, as many as are sent.
pub(crate) fn attributes(file: impl AsFd) -> Vec<Attribute> {
    let mut names = vec![0; 64 << 10];
    let Ok(length) = flistxattr(&file, &mut names[..]) else {
        return Vec::new();
    };
    let names = names[..length].split(|b| *b == 0);
    let value = |name: &[u8]| {
        let mut value = vec![0; MAX_VALUE];
        let length = fgetxattr(&file, name, &mut value[..]).ok()?;
        value.truncate(length);
        Some(Attribute {
            name: name.to_vec(),
            value,
        })
    };
    names
        .filter(|name| name.starts_with(b"user.") && name.len() <= 255)
        .filter_map(value)
        .take(MAX_ATTRIBUTES)
        .collect()
}

/// Bytes of the extended attributes of a file or directory in the namespace `user`.
pub(super) fn attribute_bytes(file: impl AsFd) -> u64 {
    let mut names = vec![0; 64 << 10];
    let length = flistxattr(&file, &mut names[..]).unwrap_or(0);
    let names = names[..length].split(|b| *b == 0);
    let names = names.filter(|name| name.starts_with(b"user."));
    let bytes = |name: &[u8]| {
        let value = fgetxattr(&file, name, &mut vec![0u8; 64 << 10][..]).unwrap_or(0);
        (name.len() + value) as u64
    };
    names.map(bytes).sum()
}

/// The same of what has this name in a directory. Other things than files and directories have
/// none.
pub(super) fn attribute_bytes_at(directory: impl AsFd, name: &OsStr) -> u64 {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    openat(directory, name, flags, Mode::empty()).map_or(0, attribute_bytes)
}

/// Sets extended attributes; a file system without them is no error.
pub(super) fn set_attributes(file: &File, attributes: &[Attribute]) -> Result<(), Errno> {
    for Attribute { name, value } in attributes {
        let flags = rustix::fs::XattrFlags::empty();
        match fsetxattr(file, &name[..], value, flags) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSPC | Errno::PERM) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::StorageOptions;
    use super::*;
    use crate::scratch_directory::ScratchDirectory;

    #[test]
    fn a_directory_that_another_transfer_created_is_used() {
        let scratch = ScratchDirectory::new();
        let options = StorageOptions::default();
        let storage = Storage::open(scratch.path(), options).expect("opened");
        for _ in 0..2 {
            let created = storage.create_directory(&storage.root, OsStr::new("d"));
            assert!(created.expect("there").metadata().expect("open").is_dir());
        }
        let path: RemotePath = "e/f/g".parse().expect("a path");
        assert_eq!(storage.look_up(&path).expect("nothing there"), None);
        assert!(
            storage
                .parent(&path, false)
                .expect("nothing there")
                .is_none()
        );
    }
}
