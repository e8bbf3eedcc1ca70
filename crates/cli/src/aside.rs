//! Files that are whole or not there: written aside, renamed when all is in them.

use anyhow::Context;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use tempfile::NamedTempFile;

/// What a file is called while it is written.
pub const BEGINNING: &str = ".whimbrel-";

/// Sees that a file could be written there, before long work begins.
///
/// # Errors
/// If it could not.
pub fn check(path: &Path) -> anyhow::Result<()> {
    let reason = || -> io::Result<()> {
        if path.is_dir() {
            return Err(io::Error::other("it is a folder"));
        }
        begin(path).map(drop)
    };
    reason().with_context(|| format!("cannot write {}", path.display()))
}

/// Makes a folder unless it is there, and sees that it can be written to.
///
/// # Errors
/// If it cannot.
pub fn check_folder(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder)
        .and_then(|()| begin(&folder.join("any")))
        .map(drop)
        .with_context(|| format!("cannot write to {}", folder.display()))
}

/// Writes a file. What was there before stays until the new one is whole.
///
/// # Errors
/// If it cannot be written.
pub fn write(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<&mut File>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let all = || -> io::Result<()> {
        let mut aside = begin(path)?;
        let mut to = BufWriter::new(aside.as_file_mut());
        content(&mut to)?;
        to.flush()?;
        drop(to);
        aside.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    all().with_context(|| format!("cannot write {}", path.display()))
}

/// In the same folder, so that renaming does not copy.
fn begin(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(BEGINNING);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As files are that are written without a detour; the user's mask applies.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder.unwrap_or(Path::new(".")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_on_the_way_leaves_what_was_there_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("page.html");
        write(&path, |to| to.write_all(b"old")).expect("written");
        let failed = write(&path, |to| {
            to.write_all(b"half")?;
            Err(io::Error::other("no more room"))
        });
        let error = format!("{:#}", failed.expect_err("it failed"));
        assert!(
            error.contains("page.html") && error.contains("no more room"),
            "{error}"
        );
        assert_eq!(std::fs::read(&path).expect("there"), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 1);
    }

    #[test]
    fn a_place_that_cannot_be_written_to_is_known_before() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(check(&folder.path().join("page.html")).is_ok());
        assert!(check(&folder.path().join("nowhere/page.html")).is_err());
        assert!(check(folder.path()).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 0);
    }
}
