//! Why Linux TCP cannot be controlled.

use std::io;

/// Why Linux TCP cannot be controlled.
#[derive(Debug, thiserror::Error)]
pub enum LinuxError {
    /// The algorithm cannot run on TCP.
    #[error("{0}")]
    Controller(String),
    /// This process lacks a privilege, or the kernel an option.
    #[error("{0}")]
    System(String),
    /// A BPF object of this program is damaged, or of another version.
    #[error("the BPF object {0}")]
    Object(String),
    /// The kernel refused a call.
    #[error("{doing}: {error}")]
    Os {
        /// What was being done.
        doing: &'static str,
        /// The kernel's answer.
        error: io::Error,
    },
    /// The kernel's verifier refused a program.
    #[error("the kernel's verifier refused the program {program}: {why}")]
    Verifier {
        /// The program's name.
        program: String,
        /// The end of the verifier's log.
        why: String,
    },
}

impl LinuxError {
    /// Turns an error of the system into this error.
    pub(crate) fn os(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Os { doing, error }
    }
}
