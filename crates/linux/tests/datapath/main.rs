//! The kernel's half with a real kernel and real connections, without the agent that answers.
//!
//! Needs the right to load BPF programs; without it the tests say "skipped" and why. One program in
//! several roles: without arguments it runs the tests one after another in a network namespace of
//! its own, and some of them run it again as a process that is killed.

mod roles;
mod tests;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("role") => roles::play(&args[1..]),
        _ => tests::run_all(&args),
    }
}
