//! Output files that are written to a temporary file and renamed when they are complete, so that an
//! incomplete file never has the name of a complete one.

use crate::{BadInput, Error, output_kind};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};
use whimbrel_report::page::Page;

/// The prefix of temporary file names.
pub const PREFIX: &str = ".whimbrel-";

/// Checks that a file can be written, before long work begins.
///
/// # Errors
/// If it cannot, or if a file of this name exists that is no such output.
pub fn check(path: &Path) -> Result<(), Error> {
    AtomicFile::open(path).map(drop)
}

/// Refuses a file that several outputs would have.
///
/// # Errors
/// If there is one.
pub fn check_distinct(all: &[&Path]) -> Result<(), BadInput> {
    let twice = (1..all.len()).find(|i| all[..*i].contains(&all[*i]));
    match twice.map(|i| all[i].display()) {
        Some(path) => {
            let text = format!("{path} is saved twice: choose different files");
            Err(BadInput::new(text))
        }
        None => Ok(()),
    }
}

/// The folder in which a file is, as the system takes it.
pub fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Creates a folder if it does not exist, and checks that files can be written to it.
///
/// # Errors
/// If it cannot.
pub fn check_folder(folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder)
        .and_then(|()| AtomicFile::opened(&folder.join("any"), Replace::Any))
        .map(drop)
        .map_err(|error| Error::failed(format!("cannot write to {}", folder.display()), error))
}

/// Writes a file. An earlier file stays until the new one is complete.
///
/// # Errors
/// As [`AtomicFile::open`], or if it cannot be written.
pub fn write(
    path: &Path,
    content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> Result<(), Error> {
    AtomicFile::open(path)?.finish(content)
}

/// Writes a file whose name is the program's own, whatever is there.
///
/// # Errors
/// If it cannot be written.
pub fn replace(
    path: &Path,
    content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> Result<(), Error> {
    let file = AtomicFile::opened(path, Replace::Any).map_err(Error::writing(path))?;
    file.finish(content)
}

/// Which files may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replace {
    /// Outputs of the same format: the user has chosen the name.
    Outputs,
    /// Any: the name is the program's own.
    Any,
}

/// A file that is being written. Dropping it unfinished removes it.
pub struct AtomicFile {
    /// The path as the user gave it.
    path: PathBuf,
    output: Output,
}

enum Output {
    /// A regular file: a temporary file in the folder of the target.
    Plain {
        temporary: BufWriter<NamedTempFile>,
        target: PathBuf,
    },
    /// A pipe or a device, which must not be replaced.
    Special(BufWriter<File>),
}

impl AtomicFile {
    /// Opens it, so that an error appears before long work begins.
    ///
    /// # Errors
    /// If it cannot be written, or if a file of this name exists that is no such output: it may be
    /// precious.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::opened(path, Replace::Outputs).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                BadInput::new(format!("cannot write {}: {error}", path.display())).into()
            }
            _ => Error::writing(path)(error),
        })
    }

    fn opened(path: &Path, replace: Replace) -> io::Result<Self> {
        // The target of a symbolic link is replaced; the link stays.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let output = match fs::metadata(&target) {
            Ok(there) if there.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(there) if !there.is_file() => Output::Special(BufWriter::new(
                OpenOptions::new().write(true).open(&target)?,
            )),
            _ => {
                if replace == Replace::Outputs {
                    output_kind::check(&target)?;
                }
                let folder = folder_of(&target);
                // The reason in the system's own words, if the folder is the reason.
                fs::metadata(folder)?;
                let mut builder = Builder::new();
                builder.prefix(PREFIX);
                // The usual permissions of a new file: as the umask allows.
                #[cfg(unix)]
                {
                    use std::os::unix::fs::PermissionsExt;
                    builder.permissions(fs::Permissions::from_mode(0o666));
                }
                let temporary = BufWriter::new(builder.tempfile_in(folder).map_err(unnamed)?);
                Output::Plain { temporary, target }
            }
        };
        Ok(Self {
            path: path.to_owned(),
            output,
        })
    }

    /// The writer for its content.
    pub fn writer(&mut self) -> &mut (dyn Write + Send) {
        match &mut self.output {
            Output::Plain { temporary, .. } => temporary,
            Output::Special(file) => file,
        }
    }

    /// Another handle to it, which continues at the end of the last write. Flush the
    /// [writer](Self::writer) first.
    ///
    /// # Errors
    /// If the handle cannot be duplicated.
    pub fn handle(&self) -> io::Result<File> {
        match &self.output {
            Output::Plain { temporary, .. } => temporary.get_ref().as_file().try_clone(),
            Output::Special(file) => file.get_ref().try_clone(),
        }
    }

    /// Gives the complete file its name.
    ///
    /// # Errors
    /// If that fails.
    pub fn keep(self) -> Result<(), Error> {
        let kept = match self.output {
            Output::Plain { temporary, target } => temporary
                .into_inner()
                .map_err(io::IntoInnerError::into_error)
                .and_then(|temporary| temporary.persist(target).map_err(io::Error::from))
                .map(drop),
            Output::Special(mut file) => file.flush(),
        };
        kept.map_err(Error::writing(&self.path))
    }

    /// Writes its content, and gives it its name.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(
        mut self,
        content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> Result<(), Error> {
        content(self.writer()).map_err(Error::writing(&self.path))?;
        self.keep()
    }
}

/// The same error without the name of the temporary file, which the user never wrote.
fn unnamed(error: io::Error) -> io::Error {
    error.kind().into()
}

/// Writes a text to a file.
///
/// # Errors
/// If it cannot be written.
pub fn write_text(path: &Path, text: &str) -> Result<(), Error> {
    write(path, |to| to.write_all(text.as_bytes()))
}

/// Writes a page to a file.
///
/// # Errors
/// If it cannot be written.
pub fn write_page(path: &Path, page: &Page) -> Result<(), Error> {
    write(path, |to| whimbrel_report::html(page, to))
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
    fn a_file_has_its_name_only_when_it_is_complete() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.csv");
        fs::write(&path, "old,csv\n").expect("written");
        let file = AtomicFile::open(&path).expect("it can be written");
        let fails = file.finish(|to| {
            to.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert!(fails.is_err());
        assert_eq!(fs::read(&path).expect("there"), b"old,csv\n");
        assert_eq!(
            names(folder.path()),
            ["a.csv"],
            "the temporary file is removed"
        );
        let file = AtomicFile::open(&path).expect("it can be written");
        file.finish(|to| to.write_all(b"new")).expect("written");
        assert_eq!(fs::read(&path).expect("there"), b"new");
        assert_eq!(names(folder.path()), ["a.csv"]);
    }

    #[test]
    fn an_unwritable_path_fails_on_opening() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in [folder.path().to_owned(), folder.path().join("no/a.csv")] {
            let error = AtomicFile::open(&path).map(|_| ()).expect_err("impossible");
            assert!(error.to_string().contains(&*path.to_string_lossy()));
        }
    }

    #[test]
    fn a_device_is_written_to_but_not_replaced() {
        let file = AtomicFile::open(Path::new("/dev/null")).expect("it can be written");
        file.finish(|to| to.write_all(b"gone")).expect("written");
        assert!(!fs::metadata("/dev/null").expect("there").is_file());
    }
}
