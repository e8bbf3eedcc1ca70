//! The files of `--plot` and `--picture`.

use std::path::PathBuf;

/// Parses the path of a picture, which must have the extension .svg or none.
///
/// # Errors
/// If it has another extension.
pub fn svg_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension() {
        Some(extension) if !extension.eq_ignore_ascii_case("svg") => {
            let named = path.with_extension("svg");
            Err(format!(
                "pictures are SVG; name the file {}",
                named.display()
            ))
        }
        _ => Ok(path),
    }
}
