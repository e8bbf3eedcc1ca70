//! Where a scenario comes from: what reports and errors say about it.

use crate::one_run::Fix;
use crate::tested::Tested;
use std::path::Path;

/// Where a scenario comes from.
pub struct Origin<'a> {
    /// The title of its results; may be empty.
    pub title: &'a str,
    /// The path of its file.
    pub path: &'a Path,
    /// The content of its file.
    pub text: &'a str,
    /// How the user chooses one run of its sweep.
    pub fix: Fix,
    /// Which flows its tables are about; `None`: all.
    pub tested: Option<&'a Tested>,
}
