//! Where a scenario comes from: what reports and errors say about it.

use crate::one_run::Selection;
use std::path::Path;
use whimbrel_study::compare::Tested;

/// Where a scenario comes from.
pub struct Origin<'a> {
    /// The title of its results; may be empty.
    pub title: &'a str,
    /// The path of its file.
    pub path: &'a Path,
    /// The content of its file.
    pub text: &'a str,
    /// How the user chooses one run of its sweep.
    pub selection: Selection,
    /// Which flows its tables are about; `None`: all.
    pub tested: Option<&'a Tested>,
}
