//! What a hunt found as files: points that a ranking reads.

use super::Find;
use crate::{Error, atomic_file};
use std::path::Path;

/// Whether a path names a file for the worst find, and not a folder for all.
fn is_file(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "toml")
}

/// Checks that finds can be saved, before long work begins.
///
/// # Errors
/// If they cannot.
pub fn check_save(path: &Path) -> Result<(), Error> {
    match is_file(path) {
        true => atomic_file::check(path),
        false => atomic_file::check_folder(path),
    }
}

/// Writes each find to a folder, or the worst to a file.
///
/// # Errors
/// If a file cannot be written.
pub fn save(path: &Path, finds: &[Find]) -> Result<(), Error> {
    if is_file(path) {
        let worst = finds.first();
        return worst.map_or(Ok(()), |worst| {
            atomic_file::write_text(path, &worst.point.text)
        });
    }
    atomic_file::check_folder(path)?;
    finds.iter().try_for_each(|find| {
        let file = path.join(format!("{}.toml", find.point.id));
        atomic_file::write_text(&file, &find.point.text)
    })
}
