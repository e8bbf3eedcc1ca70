//! The experiments that are compiled into this program.

use include_dir::{Dir, include_dir};
use std::path::Path;

/// The folder `experiments`.
pub(crate) static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../experiments");

/// The content of a compiled-in file, by its path below `experiments`.
pub(crate) fn embedded(path: &Path) -> Option<&'static str> {
    let name = path.strip_prefix("experiments").ok()?;
    EMBEDDED.get_file(name)?.contents_utf8()
}
