//! The experiments of the library, all together, and the pages that describe them.

mod docs;
mod library;
mod results;

use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
