//! Lists and removes what is in the directory.

use super::resolve::open_directory;
use super::{Found, Storage};
use crate::error::Error;
use crate::path::RESERVED;
use crate::path::RemotePath;
use crate::wire::{Entry, Kind, Reason, Remote};
use rustix::fs::{AtFlags, Dir, readlinkat, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;

impl Storage {
    /// Calls `each` for every entry at or below a path (`None`: the directory itself), directories
    /// before their content. A file is its own only entry, with an empty path. Stops if `each`
    /// returns false.
    pub fn list(
        &self,
        path: Option<&RemotePath>,
        recursive: bool,
        each: &mut dyn FnMut(Entry) -> bool,
    ) -> Result<(), Error> {
        if let Some(path) = path {
            let found = self.look_up(path)?.ok_or_else(|| missing(path))?;
            if found.kind != Kind::Directory {
                each(entry(Vec::new(), &found, Vec::new()));
                return Ok(());
            }
        }
        let directory = self.directory(path, false)?;
        let failed = |e: Errno| Error::file(&self.path, "list")(e.into());
        let Some(directory) = directory else {
            return Ok(());
        };
        let mut left = vec![(
            Vec::new(),
            directory
                .try_clone()
                .map_err(Error::file(&self.path, "list"))?,
        )];
        while let Some((prefix, directory)) = left.pop() {
            for name in names(&directory).map_err(failed)? {
                let Ok(stat) = statat(
                    &directory,
                    OsStr::from_bytes(&name),
                    AtFlags::SYMLINK_NOFOLLOW,
                ) else {
                    continue;
                };
                let found = Found::of(&stat);
                let mut below = prefix.clone();
                below.extend_from_slice(&name);
                let target = match found.kind {
                    Kind::Link => readlinkat(&directory, OsStr::from_bytes(&name), Vec::new())
                        .map(|target| target.into_bytes())
                        .unwrap_or_default(),
                    _ => Vec::new(),
                };
                // What a client could not name is not shown.
                let whole = match path {
                    Some(path) => path.join(&below),
                    None => RemotePath::new(&below),
                };
                if whole.is_err() {
                    continue;
                }
                if !each(entry(below.clone(), &found, target)) {
                    return Ok(());
                }
                if recursive
                    && found.kind == Kind::Directory
                    && let Ok(next) = open_directory(&directory, OsStr::from_bytes(&name))
                {
                    below.push(b'/');
                    left.push((below, next));
                }
            }
        }
        Ok(())
    }

    /// Removes what is at a path; with `recursive` also a directory that is not empty. Returns the
    /// number of files and directories removed.
    pub fn remove(&self, path: &RemotePath, recursive: bool) -> Result<u64, Error> {
        let parent = self.parent(path, false)?.ok_or_else(|| missing(path))?;
        let mut count = 0;
        let removed = remove(&parent, path.file_name(), recursive, &mut count);
        removed.map_err(|e| match e {
            Errno::NOENT => missing(path),
            Errno::NOTEMPTY | Errno::EXIST => {
                let text = format!("`{path}` is a directory that is not empty: use --recursive");
                Error::refused(Reason::Exists, text)
            }
            e => self.failed(path, "remove")(e),
        })?;
        Ok(count)
    }
}

fn entry(path: Vec<u8>, found: &Found, target: Vec<u8>) -> Entry {
    Entry {
        path,
        remote: Remote {
            size: found.size,
            metadata: found.metadata(),
        },
        target,
    }
}

fn missing(path: &RemotePath) -> Error {
    let text = format!("there is no `{path}` on the server");
    Error::refused(Reason::Missing, text)
}

/// The names in a directory, sorted, without the server's own.
fn names(directory: &File) -> Result<Vec<Vec<u8>>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." && !name.starts_with(RESERVED) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn remove(parent: &File, name: &OsStr, recursive: bool, count: &mut u64) -> Result<(), Errno> {
    match unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) => {
            *count += 1;
            return Ok(());
        }
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(e) => return Err(e),
    }
    if recursive {
        let directory = open_directory(parent, name)?;
        for below in names(&directory)? {
            remove(&directory, OsStr::from_bytes(&below), true, count)?;
        }
    }
    unlinkat(parent, name, AtFlags::REMOVEDIR)?;
    *count += 1;
    Ok(())
}
