//! Files that are asked for: written aside, and renamed when they are whole, so that nothing half-written looks whole.

use anyhow::Context;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

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
                builder.prefix(".whimbrel-");
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

    /// Writes it as `what` does, and gives it its name.
    pub fn finish(
        mut self,
        what: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let done = match &mut self.to {
            Kind::Plain { aside, .. } => what(aside),
            Kind::Special(file) => what(file),
        };
        let done = done.and_then(|()| match self.to {
            Kind::Plain { aside, target } => {
                let aside = aside.into_inner().map_err(io::IntoInnerError::into_error)?;
                aside.persist(target)?;
                Ok(())
            }
            Kind::Special(mut file) => file.flush(),
        });
        done.with_context(|| format!("cannot write {}", self.path.display()))
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
