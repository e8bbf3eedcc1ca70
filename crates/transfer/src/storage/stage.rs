//! Many small files: written into a hidden directory, synchronized together, and renamed.
//!
//! One `syncfs` for a batch costs as much as one file's `fsync`. A file appears under its name only
//! after that.

use super::partial::set_modified;
use super::resolve::{attribute_bytes, open_directory, set_attributes};
use super::system::{
    fchmod, fsync, linkat, mkdirat, openat, renameat, renameat_with, symlinkat, syncfs, unlinkat,
    write_all,
};
use super::{ENTRY, Found, Storage, is_own_name, random_name};
use crate::error::Error;
use crate::path::RemotePath;
use crate::wire::{Kind, Metadata, PackEntry, Reason};
use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, RenameFlags, ResolveFlags, flock, openat2, readlinkat,
    statat,
};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const SUFFIX: &str = ".tmp";
/// Open directories that are remembered. Files come in the order of their directories, and many
/// packs are written at once, so more would cost descriptors and save little.
const DIRECTORIES: usize = 8;

pub(super) fn is_stage(name: &str) -> bool {
    is_own_name(name, 16, SUFFIX)
}

/// The hidden directory of one tree. Dropped, it is removed.
#[derive(Debug)]
pub(crate) struct Stage {
    storage: Storage,
    name: String,
    directory: File,
    next: AtomicU64,
}

/// A file of a pack that waits to be synchronized and renamed.
#[derive(Debug)]
pub(crate) struct Staged {
    name: String,
    path: RemotePath,
    bytes: u64,
    /// What it counts against a quota, and what the file counts that it replaces.
    taken: u64,
    replaced: u64,
}

impl Staged {
    /// The size, bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes that the directory has more when the file is stored.
    pub fn growth(&self) -> i64 {
        self.taken as i64 - self.replaced as i64
    }
}

/// Directories that were opened for the files of a pack.
pub(crate) type Directories = HashMap<Vec<u8>, Arc<File>>;

impl Storage {
    /// The directory of a path, opened once for many files.
    fn remembered_parent(
        &self,
        path: &RemotePath,
        directories: &mut Directories,
        create: bool,
    ) -> Result<Option<Arc<File>>, Error> {
        let bytes = path.as_bytes();
        let end = bytes.iter().rposition(|b| *b == b'/').unwrap_or(0);
        if let Some(found) = directories.get(&bytes[..end]) {
            return Ok(Some(Arc::clone(found)));
        }
        let Some(parent) = self.parent(path, create)? else {
            return Ok(None);
        };
        if directories.len() >= DIRECTORIES {
            directories.clear();
        }
        directories.insert(bytes[..end].to_vec(), Arc::clone(&parent));
        Ok(Some(parent))
    }

    /// What is at a path, as [`Self::look_up`], for many files.
    pub fn find(
        &self,
        path: &RemotePath,
        directories: &mut Directories,
    ) -> Result<Option<Found>, Error> {
        let Some(parent) = self.remembered_parent(path, directories, false)? else {
            return Ok(None);
        };
        match statat(&*parent, path.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Found::of(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(self.failed(path, "check for this file")(e)),
        }
    }

    /// Creates a hidden directory for a tree.
    pub fn stage(&self) -> Result<Stage, Error> {
        let failed =
            |e: Errno| Error::file(&self.path, "create a file in this directory")(e.into());
        for _ in 0..8 {
            let name = random_name(SUFFIX)?;
            match mkdirat(&*self.root, &*name, Mode::from_raw_mode(0o700)) {
                Err(Errno::EXIST) => continue,
                result => result.map_err(failed)?,
            }
            let directory = match open_directory(&self.root, OsStr::new(&name)) {
                // A starting server took it for a killed one's.
                Err(Errno::NOENT) => continue,
                result => result.map_err(failed)?,
            };
            flock(&directory, FlockOperation::NonBlockingLockExclusive).ok();
            if directory
                .metadata()
                .is_ok_and(|m| std::os::unix::fs::MetadataExt::nlink(&m) > 0)
            {
                return Ok(Stage {
                    storage: self.clone(),
                    name,
                    directory,
                    next: AtomicU64::new(0),
                });
            }
        }
        Err(failed(Errno::EXIST))
    }
}

impl Stage {
    /// Writes an entry of a pack for `path`. `None` if nothing remains to be done: a directory, a
    /// link, or a file that is there already.
    pub fn write(
        &self,
        path: &RemotePath,
        entry: &PackEntry,
        directories: &mut Directories,
    ) -> Result<Option<Staged>, Error> {
        match entry.metadata.kind {
            Kind::Directory => self.directory(path, &entry.metadata).map(|()| None),
            Kind::Link => self.link(path, entry).map(|()| None),
            Kind::File => self.file(path, entry, directories),
            Kind::Other => {
                let text = format!("`{path}` is neither a file, a directory nor a link");
                Err(Error::refused(Reason::Name, text))
            }
        }
    }

    fn parent_of(
        &self,
        path: &RemotePath,
        directories: &mut Directories,
    ) -> Result<Arc<File>, Error> {
        let parent = self.storage.remembered_parent(path, directories, true)?;
        parent.ok_or_else(|| self.storage.failed(path, "open")(Errno::NOENT))
    }

    fn file(
        &self,
        path: &RemotePath,
        entry: &PackEntry,
        directories: &mut Directories,
    ) -> Result<Option<Staged>, Error> {
        let parent = self.parent_of(path, directories)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let (mut replaced, mut counted) = (None, 0);
        match openat(&*parent, path.file_name(), flags, Mode::empty()) {
            Err(Errno::NOENT) => {}
            Err(_) => return Err(self.storage.exists_error(path)),
            Ok(file) => {
                let mut file = File::from(file);
                let found =
                    rustix::fs::fstat(&file).map_err(self.storage.failed(path, "inspect"))?;
                let found = Found::of(&found);
                if found.kind == Kind::File && has_content(&mut file, found.size, &entry.content) {
                    // An identical file is no conflict; its time may be new.
                    set_modified(&file, &entry.metadata).ok();
                    return Ok(None);
                }
                if found.kind != Kind::File || !self.storage.overwrites() {
                    return Err(self.storage.exists_error(path));
                }
                counted = found.size + ENTRY + attribute_bytes(&file);
                replaced = Some(found);
            }
        }
        let name = self.next.fetch_add(1, Ordering::Relaxed).to_string();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.directory, &*name, flags, Mode::from_raw_mode(0o600));
        let file = File::from(file.map_err(self.storage.failed(path, "create"))?);
        let shown = self.storage.shown(path);
        write_all(&file, &entry.content).map_err(Error::file(&shown, "write"))?;
        let mode = self.storage.mode_for(replaced, entry.metadata.mode);
        set_attributes(&file, &entry.metadata.attributes)
            .and_then(|()| fchmod(&file, Mode::from_raw_mode(mode.into())))
            .and_then(|()| set_modified(&file, &entry.metadata))
            .map_err(self.storage.failed(path, "set the mode and time of"))?;
        Ok(Some(Staged {
            name,
            path: path.clone(),
            bytes: entry.content.len() as u64,
            taken: entry.content.len() as u64 + ENTRY + entry.metadata.attribute_bytes(),
            replaced: counted,
        }))
    }

    fn directory(&self, path: &RemotePath, metadata: &Metadata) -> Result<(), Error> {
        let directory = self.storage.directory(Some(path), true)?;
        let directory = directory.ok_or_else(|| self.storage.exists_error(path))?;
        let failed = |e| self.storage.failed(path, "set the mode and time of")(e);
        if metadata.mode.is_some() {
            // The owner's rights remain: otherwise the next transfer could not store here.
            let mode = self.storage.mode_for(None, metadata.mode) | 0o700;
            fchmod(&*directory, Mode::from_raw_mode(mode.into())).map_err(failed)?;
        }
        set_modified(&directory, metadata).map_err(failed)
    }

    fn link(&self, path: &RemotePath, entry: &PackEntry) -> Result<(), Error> {
        let target = &entry.content[..];
        let parent = self.storage.parent(path, true)?;
        let parent = parent.ok_or_else(|| self.storage.exists_error(path))?;
        let below = stays_below(path.components().count() - 1, target);
        if !below || self.leads_out(path, target) {
            let text = format!("the link `{path}` leads out of the directory");
            return Err(Error::refused(Reason::Name, text));
        }
        let failed = |e| self.storage.failed(path, "create the link")(e);
        match symlinkat(target, &*parent, path.file_name()) {
            Ok(()) => {
                self.storage.made_entry();
                return fsync(&*parent).map_err(failed);
            }
            Err(Errno::EXIST) => {}
            Err(e) => return Err(failed(e)),
        }
        match readlinkat(&*parent, path.file_name(), Vec::new()) {
            Ok(there) if there.as_bytes() == target => return Ok(()),
            Ok(_) if self.storage.overwrites() => {}
            _ => return Err(self.storage.exists_error(path)),
        }
        let name = self.next.fetch_add(1, Ordering::Relaxed).to_string();
        symlinkat(target, &self.directory, &*name)
            .and_then(|()| renameat(&self.directory, &*name, &*parent, path.file_name()))
            .and_then(|()| fsync(&*parent))
            .map_err(failed)
    }

    /// Whether a link at `path` would lead out of the directory over links that are there.
    fn leads_out(&self, path: &RemotePath, target: &[u8]) -> bool {
        let bytes = path.as_bytes();
        let name = bytes.len() - path.file_name().len();
        let whole = [&bytes[..name], target].concat();
        let (flags, resolve) = (OFlags::PATH | OFlags::CLOEXEC, ResolveFlags::BENEATH);
        let opened = openat2(&*self.storage.root, whole, flags, Mode::empty(), resolve);
        matches!(opened, Err(Errno::XDEV))
    }

    /// Flushes everything that was written, and gives the files their names. Returns the error of
    /// each file.
    pub fn commit(&self, files: &[&Staged]) -> Vec<Result<(), Error>> {
        if let Err(e) = self.synchronize() {
            let failed = |file: &&Staged| Err(self.storage.failed(&file.path, "flush to disk")(e));
            return files.iter().map(failed).collect();
        }
        let mut directories = Directories::new();
        let rename = |file: &&Staged| self.rename(file, &mut directories);
        let mut results: Vec<_> = files.iter().map(rename).collect();
        // The new names.
        if let Err(e) = self.synchronize() {
            for (file, result) in files.iter().zip(&mut results) {
                *result = Err(self.storage.failed(&file.path, "flush the directory of")(e));
            }
        }
        results
    }

    fn synchronize(&self) -> Result<(), Errno> {
        syncfs(&self.directory)
    }

    fn rename(&self, file: &Staged, directories: &mut Directories) -> Result<(), Error> {
        let (old, new) = (&*file.name, file.path.file_name());
        let parent = self.parent_of(&file.path, directories)?;
        let renamed = if self.storage.overwrites() {
            renameat(&self.directory, old, &*parent, new)
        } else {
            match renameat_with(&self.directory, old, &*parent, new, RenameFlags::NOREPLACE) {
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                    linkat(&self.directory, old, &*parent, new, AtFlags::empty())
                }
                result => result,
            }
        };
        renamed.map_err(|e| match e {
            Errno::EXIST | Errno::ISDIR | Errno::NOTEMPTY => self.storage.exists_error(&file.path),
            e => self.storage.failed(&file.path, "rename the file to this")(e),
        })
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What is left was not stored. If this fails, the next server removes it.
        for number in 0..self.next.load(Ordering::Relaxed) {
            unlinkat(&self.directory, number.to_string(), AtFlags::empty()).ok();
        }
        unlinkat(&*self.storage.root, &*self.name, AtFlags::REMOVEDIR).ok();
    }
}

fn has_content(file: &mut File, size: u64, content: &[u8]) -> bool {
    if size != content.len() as u64 {
        return false;
    }
    let mut there = Vec::with_capacity(content.len());
    let read = file.take(size + 1).read_to_end(&mut there);
    read.is_ok() && there == content
}

/// Whether a link with this target, `depth` directories below the top of a tree, leads to a place
/// in the tree, whatever other such links there are or will be.
///
/// `..` is allowed only at the beginning, where the directories above are real ones: what is above
/// a name that comes before may be somewhere else, if that is a link.
pub(crate) fn stays_below(depth: usize, target: &[u8]) -> bool {
    let target = Path::new(OsStr::from_bytes(target));
    if target.as_os_str().is_empty() || target.as_os_str().as_bytes().contains(&0) {
        return false;
    }
    let mut above = depth;
    let mut named = false;
    target.components().all(|component| match component {
        Component::Normal(_) => {
            named = true;
            true
        }
        Component::CurDir => true,
        Component::ParentDir if named || above == 0 => false,
        Component::ParentDir => {
            above -= 1;
            true
        }
        Component::RootDir | Component::Prefix(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::StorageOptions;
    use super::*;
    use crate::scratch_directory::ScratchDirectory;

    #[test]
    fn links_stay_below_the_directory() {
        let link = |depth, target: &str| stays_below(depth, target.as_bytes());
        assert!(link(0, "b") && link(1, "../b") && link(2, "../../x/./y"));
        for (depth, target) in [
            (0, "/etc/passwd"),
            (0, ".."),
            (0, "../x"),
            (1, "../../x"),
            (1, "x/../../../d"),
            (3, "x/../y"),
            (0, ""),
            (0, "x\0y"),
        ] {
            assert!(!link(depth, target), "{depth} {target}");
        }
    }

    /// Links that each stay below by their text, and together lead out; in either order.
    #[test]
    fn a_chain_of_links_does_not_lead_out() {
        let link = |path: &str, target: &str| {
            let entry = PackEntry {
                path: path.into(),
                metadata: Metadata::plain(Kind::Link),
                content: target.as_bytes().to_vec().into(),
            };
            (path.parse::<RemotePath>().expect("a path"), entry)
        };
        let up = link("a/b/c/l", "../../..");
        let out = link("m", "a/b/c/l/../../victim");
        for chain in [[&up, &out], [&out, &up]] {
            let scratch = ScratchDirectory::new();
            let top = scratch.subdirectory("top");
            std::fs::create_dir(scratch.path().join("victim")).expect("created");
            let storage = Storage::open(&top, StorageOptions::default()).expect("opened");
            let stage = storage.stage().expect("staged");
            let mut directories = Directories::new();
            let made =
                chain.map(|(path, entry)| stage.write(path, entry, &mut directories).is_ok());
            assert!(made.iter().filter(|made| **made).count() < 2, "{made:?}");
            assert!(!top.join("m").join("anything").exists() && top.join("m").read_dir().is_err());
            // What somebody else has linked to the outside is not followed either.
            std::os::unix::fs::symlink("/", top.join("root")).expect("linked");
            let (path, entry) = link("n", "root/etc");
            assert!(stage.write(&path, &entry, &mut directories).is_err());
        }
    }
}
