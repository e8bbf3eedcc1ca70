//! What runs at an end of a path.

use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;

/// What runs at an end of a path, in a process of its own.
#[derive(Clone)]
pub enum Program {
    /// A program and its arguments.
    Command(Vec<OsString>),
    /// A command line for `sh -c`.
    Shell(OsString),
    /// A function of this program. It returns the exit status, and finds the memory as it was when
    /// the path was [prepared](crate::Prepared). What it changes is lost, but for files.
    Function(Arc<dyn Fn() -> u8 + Send + Sync>),
}

impl Program {
    /// A function of this program.
    pub fn function(work: impl Fn() -> u8 + Send + Sync + 'static) -> Self {
        Self::Function(Arc::new(work))
    }

    /// The program's name, for messages; `None` if there is nothing to run.
    pub(crate) fn name(&self) -> Option<String> {
        match self {
            Self::Command(words) => Some(words.first()?.to_string_lossy().into_owned()),
            Self::Shell(_) => Some("/bin/sh".to_owned()),
            Self::Function(_) => Some("a function".to_owned()),
        }
    }
}

impl From<&[OsString]> for Program {
    fn from(words: &[OsString]) -> Self {
        Self::Command(words.to_vec())
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(words) => f.debug_tuple("Command").field(words).finish(),
            Self::Shell(line) => f.debug_tuple("Shell").field(line).finish(),
            Self::Function(_) => f.write_str("Function"),
        }
    }
}
