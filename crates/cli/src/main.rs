//! The `whimbrel` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    whimbrel_cli::main_with(&[])
}
