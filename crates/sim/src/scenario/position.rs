//! Where something was written in a file.

use std::fmt;
use std::sync::Arc;

/// The place of a value or key. Shown as `scenario.toml:7`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Position {
    pub(super) source: Arc<str>,
    pub(super) line: Option<usize>,
}

impl Position {
    /// A place without lines: a flag or an argument.
    pub fn named(name: &str) -> Self {
        Self {
            source: name.into(),
            line: None,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.source),
            None => f.write_str(&self.source),
        }
    }
}
