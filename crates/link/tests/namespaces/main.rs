//! The emulator with real processes and real packets.
//!
//! Needs the right to make namespaces; without it the tests say "skipped" and why. One program in
//! several roles: without arguments it runs the tests one after another (two would disturb each
//! other's times), each of which runs it again as the emulator and, inside, as COMMAND and far
//! command.

mod roles;
mod tests;

use nix::sys::signal::{SigHandler, Signal, signal};
use std::process::ExitCode;

fn main() -> ExitCode {
    // A shell that runs this program in the background makes it ignore interrupts, and so would all
    // processes that it starts, including the commands that a test interrupts.
    // SAFETY: the default action runs no code of this program.
    let _ = unsafe { signal(Signal::SIGINT, SigHandler::SigDfl) };
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("role") => roles::play(&args[1..]),
        _ => tests::run_all(&args),
    }
}
