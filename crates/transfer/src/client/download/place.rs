//! What to download, and where it goes, as users of rsync and scp expect.

use crate::error::Error;
use crate::path::RemotePath;
use crate::storage::{Storage, StorageOptions, directory_of};
use crate::wire::{Reason, Refusal};
use rustix::io::Errno;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file or directory to get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its path on the server; `None` is the user's own directory.
    pub path: Option<RemotePath>,
    /// Only what the directory contains, without the directory itself. The user's own directory is
    /// always downloaded in this way.
    pub content: bool,
}

impl From<Option<RemotePath>> for Wanted {
    /// The file, or the directory with its name.
    fn from(path: Option<RemotePath>) -> Self {
        let content = path.is_none();
        Self { path, content }
    }
}

impl Wanted {
    /// Whether it may be a file.
    fn may_be_file(&self) -> bool {
        self.path.is_some() && !self.content
    }

    /// Refuses the content of a file.
    pub(super) fn check(&self, is_file: bool) -> Result<(), Error> {
        match &self.path {
            Some(path) if is_file && self.content => Err(wrong(format!(
                "`{path}` is a file on the server: leave out the slash at its end"
            ))),
            _ => Ok(()),
        }
    }

    /// Its place in the directory for it; `None` is that directory.
    pub(super) fn top(&self) -> Result<Option<RemotePath>, Error> {
        let own = self.path.as_ref().filter(|_| !self.content);
        let top = own.map(|path| RemotePath::new(path.file_name().as_bytes()));
        top.transpose().map_err(|e| wrong(e.to_string()))
    }

    /// Why a hidden file is not got if it would be at the top of the destination: there it may
    /// configure programs, as `.bashrc` does, and the server chose its name.
    pub(super) fn hidden(&self) -> String {
        let way_out = match &self.path {
            Some(path) => format!("; `{path}` without a slash at its end gets the whole directory"),
            None => String::new(),
        };
        format!("hidden files are not stored at the top of the destination{way_out}")
    }
}

fn wrong(text: String) -> Error {
    Error::Here(Refusal::new(Reason::Name, text))
}

/// Where files go.
#[derive(Debug, Clone)]
pub(super) struct Destination {
    path: PathBuf,
    /// The user wrote a slash at its end: it is a directory.
    is_directory: bool,
}

impl Destination {
    /// Checks what can be checked without the server.
    ///
    /// # Errors
    /// If it is something else than a directory, but must be one, or the directory above it does
    /// not exist.
    pub fn new(path: &Path, wanted: &[Wanted]) -> Result<Self, Error> {
        let written = path.as_os_str().as_bytes();
        let is_directory = written.ends_with(b"/") || written.ends_with(b"/.");
        // With its slash, the system does not say that a file is there.
        let path: &Path = &path.components().collect::<PathBuf>();
        let destination = Self {
            path: path.to_owned(),
            is_directory,
        };
        let above = directory_of(path);
        let may_be_file = matches!(wanted, [one] if one.may_be_file());
        if path.is_dir() {
            return Ok(destination);
        }
        if path.symlink_metadata().is_ok() {
            let can_be = may_be_file && !destination.is_directory;
            let wrong = Error::file(path, "store files in this directory");
            return can_be
                .then_some(destination)
                .ok_or_else(|| wrong(Errno::NOTDIR.into()));
        }
        if !above.is_dir() {
            let missing = std::io::Error::other("only the last directory of a path is created");
            return Err(Error::file(above, "find this directory")(missing));
        }
        Ok(destination)
    }

    /// Opens the directory, which is created if it is missing. `one_file`: what is to be got is one
    /// file. It is stored under the name that is returned, if there is one. A dry run opens nothing
    /// if the directory is missing.
    pub fn open(
        &self,
        one_file: bool,
        dry_run: bool,
        options: StorageOptions,
    ) -> Result<(Option<Storage>, Option<RemotePath>), Error> {
        let path = &self.path;
        if path.is_dir() {
            return Ok((Some(Storage::open(path, options)?), None));
        }
        if one_file && !self.is_directory {
            let name = path.file_name().unwrap_or_default();
            let name = RemotePath::new(name.as_bytes());
            let name = name
                .map_err(std::io::Error::other)
                .map_err(Error::file(path, "store a file under this name"))?;
            return Ok((
                Some(Storage::open(directory_of(path), options)?),
                Some(name),
            ));
        }
        let storage = match (path.symlink_metadata().is_ok(), dry_run) {
            (true, _) => Storage::open(path, options).map(Some),
            (false, true) => Ok(None),
            (false, false) => Storage::create(path, options).map(Some),
        };
        Ok((storage?, None))
    }
}
