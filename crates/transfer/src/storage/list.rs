//! Lists and removes what is in the directory.

use super::partial::is_partial;
use super::resolve::{attribute_bytes_at, open_directory};
use super::stage::is_stage;
use super::system::unlinkat;
use super::{ENTRY, Found, Storage};
use crate::error::Error;
use crate::path::RemotePath;
use crate::wire::{Entry, Kind, Reason, Refusal, Remote, Unread};
use rustix::fs::{AtFlags, Dir, readlinkat, statat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

impl Storage {
    /// Begins to list what is at or below a path (`None`: the directory itself): directories before
    /// their content. A file is its own only entry, with an empty path.
    pub fn lister(&self, path: Option<&RemotePath>, recursive: bool) -> Result<Lister, Error> {
        let mut lister = Lister {
            storage: self.clone(),
            path: path.cloned(),
            recursive,
            single: None,
            left: vec![Vec::new()],
            open: None,
        };
        if let Some(path) = path {
            let found = self.look_up(path)?.ok_or_else(|| missing(path))?;
            if found.kind != Kind::Directory {
                lister.left.clear();
                lister.single = Some(entry(Vec::new(), &found, Vec::new()));
            }
        }
        Ok(lister)
    }

    /// Removes what is at a path; with `recursive` also a directory that is not empty. Returns the
    /// number of files and directories removed, and adds what they took to `freed`, also if it
    /// fails in the middle.
    pub fn remove(
        &self,
        path: &RemotePath,
        recursive: bool,
        freed: &mut u64,
    ) -> Result<u64, Error> {
        let parent = self.parent(path, false)?.ok_or_else(|| missing(path))?;
        let mut count = 0;
        let removed = remove(&parent, path.file_name(), recursive, &mut count, freed);
        removed.map_err(|e| match e {
            Errno::NOENT => missing(path),
            Errno::NOTEMPTY | Errno::EXIST => {
                let text = format!("`{path}` is a directory that is not empty");
                Error::refused(Reason::Exists, text)
            }
            e => self.failed(path, "remove")(e),
        })?;
        Ok(count)
    }
}

/// A listing in progress. Between two entries it has the names of one directory, and those of
/// directories that are still to be listed: a tree may have more of them than a process may open.
#[derive(Debug)]
pub(crate) struct Lister {
    storage: Storage,
    path: Option<RemotePath>,
    recursive: bool,
    /// The only entry of a path that is no directory.
    single: Option<Listed>,
    /// Directories to be listed, below the path.
    left: Vec<Vec<u8>>,
    open: Option<Opened>,
}

/// A directory that is being listed.
#[derive(Debug)]
struct Opened {
    directory: Arc<File>,
    /// Where it is below the path.
    below: Vec<u8>,
    names: std::vec::IntoIter<Vec<u8>>,
}

impl Lister {
    /// The next entries, or what cannot be read or named, at most so many; none at the end.
    pub fn some(&mut self, most: usize) -> Result<Vec<Listed>, Error> {
        let mut found = Vec::new();
        while found.len() < most
            && let Some(next) = self.next()?
        {
            found.push(next);
        }
        Ok(found)
    }

    /// The next entry, or what cannot be read or named; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Listed>, Error> {
        if let Some(single) = self.single.take() {
            return Ok(Some(single));
        }
        loop {
            if let Some(mut open) = self.open.take() {
                let Some(name) = open.names.next() else {
                    continue;
                };
                let found = self.look(&open, &name);
                self.open = Some(open);
                match found {
                    Some(found) => return Ok(Some(found)),
                    None => continue,
                }
            }
            let Some(below) = self.left.pop() else {
                return Ok(None);
            };
            match self.open(&below) {
                Ok(open) => self.open = open,
                Err(error) if below.is_empty() => return Err(error),
                Err(error) => return Ok(Some(unread(below, &error))),
            }
        }
    }

    /// Opens a directory and reads its names; `None` if it was removed meanwhile.
    fn open(&self, below: &[u8]) -> Result<Option<Opened>, Error> {
        let whole = match (&self.path, below.is_empty()) {
            (path, true) => path.clone(),
            (Some(path), false) => path.join(below).ok(),
            (None, false) => RemotePath::new(below).ok(),
        };
        let Some(directory) = self.storage.directory(whole.as_ref(), false)? else {
            return Ok(None);
        };
        let names =
            names(&directory).map_err(|e| Error::file(&self.storage.path, "list")(e.into()))?;
        Ok(Some(Opened {
            directory,
            below: below.to_vec(),
            names: names.into_iter(),
        }))
    }

    /// What has this name; `None` if clients do not see it, or it was removed meanwhile.
    fn look(&mut self, open: &Opened, name: &[u8]) -> Option<Listed> {
        if is_own(name) {
            return None;
        }
        // Hidden names at the top are no part of what clients see.
        if self.path.is_none() && open.below.is_empty() && name.starts_with(b".") {
            return None;
        }
        let mut this = open.below.clone();
        if !this.is_empty() {
            this.push(b'/');
        }
        this.extend_from_slice(name);
        let whole = match &self.path {
            Some(path) => path.join(&this),
            None => RemotePath::new(&this),
        };
        let found = match whole {
            Ok(_) => look_at(&open.directory, OsStr::from_bytes(name)),
            Err(e) => Err(Error::refused(Reason::Name, e.to_string())),
        };
        match found {
            Ok(None) => None,
            Ok(Some((found, target))) => {
                if self.recursive && found.kind == Kind::Directory {
                    self.left.push(this.clone());
                }
                Some(entry(this, &found, target))
            }
            Err(error) => Some(unread(this, &error)),
        }
    }
}

/// What a listing finds.
#[derive(Debug)]
pub(crate) enum Listed {
    /// A file, directory or link.
    Entry(Entry),
    /// What cannot be read, or has a name that no client can use.
    Unread(Unread),
}

fn entry(path: Vec<u8>, found: &Found, target: Vec<u8>) -> Listed {
    Listed::Entry(Entry {
        path,
        remote: Remote {
            size: found.size,
            metadata: found.metadata(),
        },
        target,
    })
}

fn unread(mut path: Vec<u8>, error: &Error) -> Listed {
    path.truncate(RemotePath::MAX_LEN);
    let refusal = match error {
        Error::File { cause, .. } => Refusal::new(Reason::Internal, cause.to_string()),
        error => error.for_peer(),
    };
    Listed::Unread(Unread { path, refusal })
}

/// What has this name, and a link's target; `None` if it was removed meanwhile.
fn look_at(directory: &File, name: &OsStr) -> Result<Option<(Found, Vec<u8>)>, Error> {
    let failed = |e: Errno| Error::file(name, "inspect")(e.into());
    let found = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(None),
        stat => Found::of(&stat.map_err(failed)?),
    };
    let target = match found.kind {
        Kind::Link => readlinkat(directory, name, Vec::new()).map(|target| target.into_bytes()),
        _ => Ok(Vec::new()),
    };
    Ok(Some((found, target.map_err(failed)?)))
}

/// Whether the server made a file or directory of this name for itself.
fn is_own(name: &[u8]) -> bool {
    std::str::from_utf8(name).is_ok_and(|name| is_partial(name) || is_stage(name))
}

fn missing(path: &RemotePath) -> Error {
    let text = format!("there is no `{path}` on the server");
    Error::refused(Reason::Missing, text)
}

/// The names in a directory, sorted.
fn names(directory: &File) -> Result<Vec<Vec<u8>>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn remove(
    parent: &File,
    name: &OsStr,
    recursive: bool,
    count: &mut u64,
    freed: &mut u64,
) -> Result<(), Errno> {
    let found = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
    let size = found.map_or(0, |stat| {
        let blocks = (stat.st_blocks as u64).saturating_mul(512).max(1);
        ENTRY + Found::of(&stat).size.min(blocks) + attribute_bytes_at(parent, name)
    });
    match unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) => {
            (*count, *freed) = (*count + 1, *freed + size);
            return Ok(());
        }
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(e) => return Err(e),
    }
    if recursive {
        let directory = open_directory(parent, name)?;
        // Those that the server is using remain, and with them their directory.
        for below in names(&directory)?.into_iter().filter(|name| !is_own(name)) {
            remove(&directory, OsStr::from_bytes(&below), true, count, freed)?;
        }
    }
    unlinkat(parent, name, AtFlags::REMOVEDIR)?;
    (*count, *freed) = (*count + 1, *freed + size);
    Ok(())
}
