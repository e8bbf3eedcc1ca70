//! Finds the files of a tree.

use crate::client::filter::Filter;
use crate::error::Error;
use crate::file_sender::metadata_of;
use crate::path::RemotePath;
use crate::path::{RESERVED, printable};
use crate::storage::stays_below;
use crate::wire::{Kind, Metadata};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A file, directory or link to be sent.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// Where it is on this host.
    pub local: PathBuf,
    /// Its path below the directory on the server; valid there.
    pub path: Vec<u8>,
    /// Size, bytes; 0 for others than files.
    pub size: u64,
    /// Type, mode and time.
    pub metadata: Metadata,
    /// The target of a link.
    pub target: Vec<u8>,
}

/// The files of all sources, and what is left out.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// Directories before what is in them.
    pub items: Vec<Item>,
    /// Left out as the user wants or as the rules are: the path and why.
    pub skipped: Vec<(String, String)>,
    /// What should be sent and cannot: the path and why.
    pub failures: Vec<(String, String)>,
    /// The directories of the sources, by their path below the directory on the server; empty for
    /// that directory itself.
    pub roots: Vec<Vec<u8>>,
    /// What the sources have, by its path there, whether it is sent or not.
    pub present: HashSet<Vec<u8>>,
}

impl Walk {
    /// Looks at all sources. A directory keeps its name, unless its path ends with a slash: then
    /// its content is sent.
    ///
    /// # Errors
    /// If a source does not exist.
    pub fn new(
        sources: &[PathBuf],
        directory: Option<&RemotePath>,
        filter: &Filter,
        links: bool,
    ) -> Result<Self, Error> {
        let mut walk = Self::default();
        let mut places = (sources.len() > 1).then(HashMap::new);
        for source in sources {
            let metadata = fs::symlink_metadata(source).map_err(Error::file(source, "open"))?;
            let bytes = source.as_os_str().as_bytes();
            let inside = bytes.ends_with(b"/") || bytes.ends_with(b"/.") || bytes == b".";
            // A link that the user names is followed.
            let metadata = match metadata.is_symlink() {
                true => fs::metadata(source).map_err(Error::file(source, "open"))?,
                false => metadata,
            };
            let name = match (inside && metadata.is_dir(), source.file_name()) {
                (true, _) => Vec::new(),
                (false, Some(name)) => name.as_bytes().to_vec(),
                // `..` has no name.
                (false, None) => Vec::new(),
            };
            if metadata.is_dir() {
                walk.roots.push(name.clone());
            }
            let mut tree = Tree {
                walk: &mut walk,
                places: places.as_mut(),
                directory,
                filter,
                links,
                top: name.clone(),
            };
            tree.visit(source, Path::new(""), &metadata);
        }
        Ok(walk)
    }
}

/// One source.
struct Tree<'a> {
    walk: &'a mut Walk,
    /// Of several sources: which item has a path, directories excepted.
    places: Option<&'a mut HashMap<Vec<u8>, usize>>,
    /// Where the files go.
    directory: Option<&'a RemotePath>,
    filter: &'a Filter,
    links: bool,
    /// The name on the server; empty if the content of a directory is sent.
    top: Vec<u8>,
}

impl Tree<'_> {
    /// `below` is the path below the source.
    fn visit(&mut self, local: &Path, below: &Path, metadata: &fs::Metadata) {
        let shown = || printable(local.as_os_str().as_bytes());
        let is_top = below.as_os_str().is_empty();
        let path = prefixed(&self.top, below.as_os_str().as_bytes());
        self.walk.present.insert(path.clone());
        if metadata.is_dir() {
            if !is_top && !self.filter.enters(below) {
                return;
            }
            if self.filter.takes_directories() && !(is_top && self.top.is_empty()) {
                self.add(local, below, metadata, Kind::Directory, Vec::new());
            }
            self.directory(local, below);
            return;
        }
        let named = if is_top {
            local.file_name().map(Path::new).unwrap_or(below)
        } else {
            below
        };
        if !self.filter.takes_file(named) {
            return;
        }
        if let Some(&other) = self.places.as_ref().and_then(|places| places.get(&path)) {
            let other = &self.walk.items[other];
            // The same one may be named twice.
            if other.local != local {
                let other = printable(other.local.as_os_str().as_bytes());
                let why = format!("it would have the same name on the server as {other}");
                self.walk.failures.push((shown(), why));
            }
            return;
        }
        if metadata.is_file() {
            self.add(local, below, metadata, Kind::File, Vec::new());
        } else if metadata.is_symlink() && self.links {
            match fs::read_link(local) {
                Ok(target) => self.link(local, below, metadata, target),
                Err(e) => self.walk.failures.push((shown(), e.to_string())),
            }
        } else {
            let kind = if metadata.is_symlink() {
                "a link"
            } else {
                "not a regular file"
            };
            self.walk.skipped.push((shown(), kind.to_owned()));
        }
    }

    fn link(&mut self, local: &Path, below: &Path, metadata: &fs::Metadata, target: PathBuf) {
        let target = target.into_os_string().into_vec();
        let stays = stays_below(below.components().count().saturating_sub(1), &target);
        if stays {
            self.add(local, below, metadata, Kind::Link, target);
        } else {
            let shown = printable(local.as_os_str().as_bytes());
            let why = format!("a link out of the tree, to {}", printable(&target));
            self.walk.skipped.push((shown, why));
        }
    }

    fn directory(&mut self, local: &Path, below: &Path) {
        let failed = |walk: &mut Walk, path: &Path, e: &std::io::Error| {
            walk.failures
                .push((printable(path.as_os_str().as_bytes()), e.to_string()));
        };
        let entries = match fs::read_dir(local) {
            Ok(entries) => entries,
            Err(e) => return failed(self.walk, local, &e),
        };
        let mut names = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) => names.push(entry.file_name()),
                Err(e) => failed(self.walk, local, &e),
            }
        }
        names.sort();
        for name in names {
            let path = local.join(&name);
            if name.as_bytes().starts_with(RESERVED) {
                let shown = printable(path.as_os_str().as_bytes());
                let why = "names that begin with `.whimbrel-` are the server's own";
                self.walk.skipped.push((shown, why.to_owned()));
                continue;
            }
            match fs::symlink_metadata(&path) {
                Ok(metadata) => self.visit(&path, &below.join(&name), &metadata),
                // It was removed meanwhile.
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                Err(e) => failed(self.walk, &path, &e),
            }
        }
    }

    fn add(
        &mut self,
        local: &Path,
        below: &Path,
        metadata: &fs::Metadata,
        kind: Kind,
        target: Vec<u8>,
    ) {
        let path = prefixed(&self.top, below.as_os_str().as_bytes());
        let whole = match self.directory {
            Some(directory) => directory.join(&path),
            None => RemotePath::new(&path),
        };
        match whole {
            Ok(_) => {
                if let Some(places) = &mut self.places
                    && kind != Kind::Directory
                {
                    places.insert(path.clone(), self.walk.items.len());
                }
                self.walk.items.push(Item {
                    local: local.to_owned(),
                    path,
                    size: if kind == Kind::File {
                        metadata.len()
                    } else {
                        0
                    },
                    metadata: metadata_of(metadata, kind),
                    target,
                });
            }
            Err(e) => {
                let shown = printable(local.as_os_str().as_bytes());
                self.walk.failures.push((shown, e.to_string()));
            }
        }
    }
}

fn prefixed(top: &[u8], below: &[u8]) -> Vec<u8> {
    let mut path = top.to_vec();
    if !top.is_empty() && !below.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(below);
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch_directory::{ScratchDirectory, Unprivileged};

    /// Of two files with one name the second would replace the first.
    #[test]
    fn files_that_would_have_the_same_name_are_reported() {
        let scratch = ScratchDirectory::new();
        scratch.subdirectory("a");
        scratch.subdirectory("b");
        scratch.file("a/file", 10);
        scratch.file("a/one", 10);
        let second = scratch.file("b/file", 10);
        scratch.file("b/two", 10);
        let path = |name| scratch.path().join(name);
        let sources = [path("a/"), path("b/"), path("b/two"), path("a/file")];
        let walk = Walk::new(&sources, None, &Filter::default(), true).expect("they exist");
        let found: Vec<_> = walk.items.iter().map(|item| &item.path[..]).collect();
        assert_eq!(found, [&b"file"[..], b"one", b"two"]);
        let failed: Vec<_> = walk.failures.iter().map(|(path, _)| path).collect();
        assert_eq!(failed, [&second.display().to_string()]);
    }

    /// A mirror must not remove what the server has of that name.
    #[test]
    fn what_is_here_and_is_not_sent_is_known_to_be_here() {
        let scratch = ScratchDirectory::new();
        scratch.subdirectory("tree");
        let link = scratch.path().join("tree/link");
        std::os::unix::fs::symlink("file", link).expect("made");
        let sources = [scratch.path().join("tree/")];
        let walk = Walk::new(&sources, None, &Filter::default(), false).expect("it exists");
        assert!(walk.items.is_empty() && walk.skipped.len() == 1);
        assert!(walk.present.contains(&b"link"[..]));
    }

    /// Its names can be read, and no more.
    #[test]
    fn what_cannot_be_looked_at_is_reported() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = ScratchDirectory::new();
        let listed = scratch.subdirectory("tree");
        let file = scratch.file("tree/file", 10);
        fs::set_permissions(&listed, fs::Permissions::from_mode(0o444)).expect("set");
        let user = Unprivileged::begin();
        let walk = Walk::new(&[listed.join("")], None, &Filter::default(), true);
        drop(user);
        fs::set_permissions(&listed, fs::Permissions::from_mode(0o755)).expect("set");
        let failures = walk.expect("it exists").failures;
        let failed: Vec<_> = failures.iter().map(|(path, _)| Path::new(path)).collect();
        assert_eq!(failed, [file]);
    }

    #[test]
    fn a_directory_that_cannot_be_read_is_reported() {
        let scratch = ScratchDirectory::new();
        let unreadable = scratch.unreadable("tree/closed");
        scratch.file("tree/file", 10);
        let sources = [scratch.path().join("tree/")];
        let user = Unprivileged::begin();
        let walk = Walk::new(&sources, None, &Filter::default(), true).expect("it exists");
        drop(user);
        let found: Vec<_> = walk.items.iter().map(|item| &item.path[..]).collect();
        assert_eq!(found, [&b"closed"[..], b"file"]);
        let failed: Vec<_> = walk
            .failures
            .iter()
            .map(|(path, _)| Path::new(path))
            .collect();
        assert_eq!(failed, [unreadable]);
    }
}
