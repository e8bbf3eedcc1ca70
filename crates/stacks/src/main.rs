//! `whimbrel-stacks`: protocol stacks of others on simulated paths.

mod args;
mod hunt;
mod league;
mod show;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    match args::Args::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
