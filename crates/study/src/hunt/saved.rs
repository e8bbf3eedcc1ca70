//! What a hunt found as files: points that a ranking reads.

use super::Find;
use crate::{BadInput, Error, atomic_file};
use std::fs;
use std::path::Path;
use whimbrel_rank::MatrixPoint;

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
    save_points(path, finds.iter().map(|find| &find.point))
}

/// Writes points to a folder that has none yet, for a ranking of exactly these.
///
/// # Errors
/// If it has points, is a file's name, or a file cannot be written.
pub fn save_set(folder: &Path, points: &[MatrixPoint]) -> Result<(), Error> {
    let refused = |why: String| Err(BadInput::in_argument("save", why).into());
    if is_file(folder) {
        return refused(format!("{} names a file: name a folder", folder.display()));
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    if let Some(point) = entries.map(|entry| entry.path()).find(|path| is_file(path)) {
        let point = point.display();
        return refused(format!("{point} is a point already: name a new folder"));
    }
    save_points(folder, points)
}

/// Writes points to a folder, for `whimbrel rank --points`.
///
/// # Errors
/// If a file cannot be written.
fn save_points<'a>(
    folder: &Path,
    points: impl IntoIterator<Item = &'a MatrixPoint>,
) -> Result<(), Error> {
    atomic_file::check_folder(folder)?;
    points.into_iter().try_for_each(|point| {
        let file = folder.join(format!("{}.toml", point.id));
        atomic_file::write_text(&file, &point.text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hunt::draw;

    #[test]
    fn a_set_is_alone_in_its_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let set = folder.path().join("set");
        let points = draw(&["wifi".to_owned()], 2, 1).expect("points");
        save_set(&set, &points).expect("saved");
        assert_eq!(fs::read_dir(&set).expect("a folder").count(), 2);
        for (path, why) in [
            (set, "is a point already"),
            (folder.path().join("set.toml"), "name a folder"),
        ] {
            let error = save_set(&path, &points).expect_err("refused");
            assert!(error.to_string().contains(why), "{error}");
        }
    }
}
