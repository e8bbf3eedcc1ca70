//! Files that are whole or not there: written aside, renamed when all is in them.

use anyhow::Context;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use tempfile::NamedTempFile;

/// What a file is called while it is written.
pub const BEGINNING: &str = ".whimbrel-";

/// Makes a folder unless it is there, and sees that it can be written to.
///
/// # Errors
/// If it cannot.
pub fn check_folder(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder)
        .and_then(|()| begin(folder))
        .map(drop)
        .with_context(|| format!("cannot write to {}", folder.display()))
}

/// Writes a file, and its folder if that is not there. What was there before stays until the new one is whole.
///
/// # Errors
/// If it cannot be written.
pub fn write(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<&mut File>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let try_write = || {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut aside = begin(folder)?;
        let mut to = BufWriter::new(aside.as_file_mut());
        content(&mut to)?;
        to.flush()?;
        drop(to);
        aside.persist(path).map_err(|error| error.error)?;
        Ok::<(), io::Error>(())
    };
    try_write().with_context(|| format!("cannot write {}", path.display()))
}

fn begin(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(BEGINNING);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As files are that are written without a detour; the user's mask applies.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}
