//! Takes the place of `--real` in a build without transports.

use super::CompareArgs;
use crate::failure::BadInput;
use std::process::ExitCode;

/// Would compare with real transfers.
///
/// # Errors
/// Always: this build cannot send.
pub fn run(_: &CompareArgs) -> anyhow::Result<ExitCode> {
    Err(BadInput::new("--real: this program was built without transports").into())
}
