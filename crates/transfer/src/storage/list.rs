//! Lists and removes what is in the directory.

use super::partial::is_partial;
use super::resolve::open_directory;
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
    /// Calls `each` for every entry at or below a path (`None`: the directory itself), directories
    /// before their content, and for what cannot be read or named. A file is its own only entry,
    /// with an empty path. Stops if `each` returns false.
    pub fn list(
        &self,
        path: Option<&RemotePath>,
        recursive: bool,
        each: &mut dyn FnMut(Listed) -> bool,
    ) -> Result<(), Error> {
        if let Some(path) = path {
            let found = self.look_up(path)?.ok_or_else(|| missing(path))?;
            if found.kind != Kind::Directory {
                each(entry(Vec::new(), &found, Vec::new()));
                return Ok(());
            }
        }
        // Directories wait by name: a tree may have more of them than a process may open.
        let mut left = vec![Vec::new()];
        while let Some(below) = left.pop() {
            let names = self.open_below(path, &below).and_then(|directory| {
                let Some(directory) = directory else {
                    // It was removed meanwhile.
                    return Ok(None);
                };
                let listed = names(&directory);
                let names = listed.map_err(|e| Error::file(&self.path, "list")(e.into()))?;
                Ok(Some((directory, names)))
            });
            let (directory, names) = match names {
                Ok(None) => continue,
                Ok(Some(found)) => found,
                Err(error) if below.is_empty() => return Err(error),
                Err(error) => {
                    if each(unread(below, &error)) {
                        continue;
                    }
                    return Ok(());
                }
            };
            for name in names {
                if is_own(&name) {
                    continue;
                }
                // Hidden names at the top are no part of what clients see.
                if path.is_none() && below.is_empty() && name.starts_with(b".") {
                    continue;
                }
                let mut this = below.clone();
                if !this.is_empty() {
                    this.push(b'/');
                }
                this.extend_from_slice(&name);
                let whole = match path {
                    Some(path) => path.join(&this),
                    None => RemotePath::new(&this),
                };
                let found = match whole {
                    Ok(_) => look_at(&directory, OsStr::from_bytes(&name)),
                    Err(e) => Err(Error::refused(Reason::Name, e.to_string())),
                };
                let (found, target) = match found {
                    Ok(Some(found)) => found,
                    Ok(None) => continue,
                    Err(error) => {
                        if each(unread(this, &error)) {
                            continue;
                        }
                        return Ok(());
                    }
                };
                if !each(entry(this.clone(), &found, target)) {
                    return Ok(());
                }
                if recursive && found.kind == Kind::Directory {
                    left.push(this);
                }
            }
        }
        Ok(())
    }

    fn open_below(
        &self,
        path: Option<&RemotePath>,
        below: &[u8],
    ) -> Result<Option<Arc<File>>, Error> {
        let whole = match (path, below.is_empty()) {
            (path, true) => path.cloned(),
            (Some(path), false) => path.join(below).ok(),
            (None, false) => RemotePath::new(below).ok(),
        };
        self.directory(whole.as_ref(), false)
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

/// What a listing finds.
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
        ENTRY + Found::of(&stat).size.min(blocks)
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
