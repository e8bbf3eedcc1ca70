//! What the emulator gives the first process of the PID namespace to do.

use crate::program::Program;
use nix::sys::signal::SigSet;
use std::fs::File;

/// The task of the first process of the PID namespace.
pub(crate) struct Job<'a> {
    pub near: &'a File,
    pub far: &'a File,
    /// What runs at the far end.
    pub far_program: Option<&'a Program>,
    /// What runs at the near end: COMMAND.
    pub command: &'a Program,
    /// COMMAND's signal mask: that of the emulator when it started.
    pub signals: SigSet,
    /// The emulator, which holds both namespaces open, as a process of the host.
    pub emulator: u32,
}
