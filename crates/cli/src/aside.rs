//! Files that are asked for: written aside, and renamed when they are whole, so that nothing half-written looks whole.

use anyhow::Context;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// What files are called while they are written, at the beginning.
pub const BEGINNING: &str = ".whimbrel-";

/// Sees that a file could be written there, before long work begins.
///
/// # Errors
/// If it could not.
pub fn check(path: &Path) -> anyhow::Result<()> {
    Aside::open(path).map(drop)
}

/// Makes a folder unless it is there, and sees that it can be written to.
///
/// # Errors
/// If it cannot.
pub fn check_folder(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder)
        .and_then(|()| Aside::opened(&folder.join("any")))
        .map(drop)
        .with_context(|| format!("cannot write to {}", folder.display()))
}

/// Writes a file. What was there before stays until the new one is whole.
///
/// # Errors
/// If it cannot be written.
pub fn write(
    path: &Path,
    what: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> anyhow::Result<()> {
    Aside::open(path)?.finish(what)
}

/// A file that is being written. If it is not finished, nothing is left of it.
pub struct Aside {
    /// As the person wrote it.
    path: PathBuf,
    to: Kind,
}

enum Kind {
    /// A plain file: beside what it is to replace.
    Plain {
        aside: BufWriter<NamedTempFile>,
        target: PathBuf,
    },
    /// A pipe or a device, which must not be replaced.
    Special(BufWriter<File>),
}

impl Aside {
    /// Opens it: whether it can be written is known before long work begins.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        Self::opened(path).with_context(|| format!("cannot write {}", path.display()))
    }

    fn opened(path: &Path) -> io::Result<Self> {
        // What a symbolic link leads to is replaced, and the link stays.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let to = match fs::metadata(&target) {
            Ok(there) if there.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(there) if !there.is_file() => Kind::Special(BufWriter::new(
                OpenOptions::new().write(true).open(&target)?,
            )),
            _ => {
                let folder = match target.parent() {
                    Some(folder) if folder != Path::new("") => folder,
                    _ => Path::new("."),
                };
                let mut builder = Builder::new();
                builder.prefix(BEGINNING);
                // As any file a program creates: what the person's umask leaves.
                #[cfg(unix)]
                {
                    use std::os::unix::fs::PermissionsExt;
                    builder.permissions(fs::Permissions::from_mode(0o666));
                }
                let aside = BufWriter::new(builder.tempfile_in(folder)?);
                Kind::Plain { aside, target }
            }
        };
        Ok(Self {
            path: path.to_owned(),
            to,
        })
    }

    /// Where to write.
    pub fn writer(&mut self) -> &mut (dyn Write + Send) {
        match &mut self.to {
            Kind::Plain { aside, .. } => aside,
            Kind::Special(file) => file,
        }
    }

    /// One more handle to it, which writes on where the last one stopped; what `writer` was given is to be flushed before.
    pub fn handle(&self) -> io::Result<File> {
        match &self.to {
            Kind::Plain { aside, .. } => aside.get_ref().as_file().try_clone(),
            Kind::Special(file) => file.get_ref().try_clone(),
        }
    }

    /// All is written: gives it its name.
    ///
    /// # Errors
    /// If that fails.
    pub fn keep(self) -> anyhow::Result<()> {
        let kept = match self.to {
            Kind::Plain { aside, target } => aside
                .into_inner()
                .map_err(io::IntoInnerError::into_error)
                .and_then(|aside| aside.persist(target).map_err(io::Error::from))
                .map(drop),
            Kind::Special(mut file) => file.flush(),
        };
        kept.with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Writes it as `what` does, and gives it its name.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(
        mut self,
        what: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        what(self.writer()).with_context(|| format!("cannot write {}", self.path.display()))?;
        self.keep()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let name = |entry: io::Result<fs::DirEntry>| {
            let name = entry.expect("an entry").file_name();
            name.into_string().expect("UTF-8")
        };
        entries.map(name).collect()
    }

    #[test]
    fn a_file_has_its_name_only_when_it_is_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.csv");
        fs::write(&path, "old").expect("written");
        let aside = Aside::open(&path).expect("it can be written");
        let fails = aside.finish(|to| {
            to.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert!(fails.is_err());
        assert_eq!(fs::read(&path).expect("there"), b"old");
        assert_eq!(names(folder.path()), ["a.csv"], "nothing is left of it");
        let aside = Aside::open(&path).expect("it can be written");
        aside.finish(|to| to.write_all(b"new")).expect("written");
        assert_eq!(fs::read(&path).expect("there"), b"new");
        assert_eq!(names(folder.path()), ["a.csv"]);
    }

    #[test]
    fn what_cannot_be_written_is_known_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in [folder.path().to_owned(), folder.path().join("no/a.csv")] {
            let error = Aside::open(&path).map(|_| ()).expect_err("impossible");
            assert!(error.to_string().contains(&*path.to_string_lossy()));
        }
    }

    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        let aside = Aside::open(Path::new("/dev/null")).expect("everybody can");
        aside.finish(|to| to.write_all(b"gone")).expect("written");
        assert!(!fs::metadata("/dev/null").expect("there").is_file());
    }
}
