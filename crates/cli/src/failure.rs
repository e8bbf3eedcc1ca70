//! Exit status of a failed command: 2 for wrong input, 130 if Ctrl-C stopped it, 1 for other errors;
//! success if the reader of a pipe has closed it.

use std::fmt::{self, Display};
use std::process::ExitCode;
use whimbrel_sim::scenario::ScenarioError;

/// Exit status: stopped by Ctrl-C, 128 + SIGINT.
pub const STOPPED: u8 = 130;

/// Wrong input; the text says how to correct it.
#[derive(Debug)]
pub struct BadInput(String);

impl BadInput {
    /// An error with this text.
    pub fn new(text: impl Display) -> Self {
        Self(text.to_string())
    }
}

impl Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadInput {}

/// A signal stopped the command.
#[derive(Debug)]
pub struct Stopped;

impl Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped by a signal")
    }
}

impl std::error::Error for Stopped {}

/// Prints an error to stderr and returns its exit status.
pub fn report(error: &anyhow::Error) -> ExitCode {
    // `whimbrel … | head`: the reader has closed the pipe.
    let pipe = |e: &std::io::Error| e.kind() == std::io::ErrorKind::BrokenPipe;
    if error
        .chain()
        .any(|cause| cause.downcast_ref().is_some_and(pipe))
    {
        return ExitCode::SUCCESS;
    }
    eprintln!("error: {error:#}");
    if error.chain().any(|cause| cause.is::<Stopped>()) {
        return ExitCode::from(STOPPED);
    }
    let bad_input = |cause: &(dyn std::error::Error + 'static)| {
        cause.is::<BadInput>() || cause.is::<ScenarioError>()
    };
    ExitCode::from(if error.chain().any(bad_input) { 2 } else { 1 })
}
