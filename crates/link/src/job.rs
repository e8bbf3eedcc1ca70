//! What the emulator gives the first process of the PID namespace to do.

use nix::sys::signal::SigSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;

/// The task of the first process of the PID namespace.
pub(crate) struct Job<'a> {
    pub near: &'a File,
    pub far: &'a File,
    pub far_command: Option<&'a OsStr>,
    /// Program and arguments; not empty.
    pub command: &'a [OsString],
    /// COMMAND's signal mask: that of the emulator when it started.
    pub signals: SigSet,
    pub environment: Vec<(&'static str, String)>,
}
