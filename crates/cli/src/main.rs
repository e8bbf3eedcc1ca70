//! The `whimbrel` command: parses, calls, prints; decides nothing.

mod aside;
mod compare;
mod controllers;
mod demo;
mod failure;
mod judge;
mod link;
mod made;
mod model;
mod one_run;
mod page;
mod play;
mod reproduce;
mod save;
mod send;
mod serve;
mod sim;
mod trace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Congestion control, simulated and for real.
///
/// One implementation of each algorithm runs in a packet-level simulator and in encrypted transfers; one
/// description of a path is simulated, or emulated for real traffic.
#[derive(Parser)]
#[command(name = "whimbrel", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  whimbrel compare                         the usual algorithms on 50 Mbit/s, 100 ms, 1 % loss
  whimbrel compare --loss 0%,0.1%,1%,5%    ... on four of them
  whimbrel compare --print-scenario        ... as a scenario file, to be changed
  whimbrel sim path.toml                   run a scenario file
  whimbrel controllers                     which algorithms there are, from which papers
  whimbrel judge                           who tells random loss from congestion, and what mistakes cost
  whimbrel model                           what theory says of random loss, beside the simulator
  whimbrel reproduce                       the papers' figures again, with verdicts
  whimbrel serve DIR                       take files over QUIC
  whimbrel send FILE HOST                  bring one there, with any of the algorithms
  whimbrel link --rtt 600ms --loss 1% -- ping 10.77.0.2    any program behind an emulated path";

#[derive(Subcommand)]
enum Command {
    Controllers(controllers::ControllersArgs),
    Sim(sim::SimArgs),
    Compare(compare::CompareArgs),
    Judge(judge::JudgeArgs),
    Model(model::ModelArgs),
    Reproduce(reproduce::ReproduceArgs),
    Serve(serve::ServeArgs),
    Send(send::SendArgs),
    Link(Box<link::LinkArgs>),
    Demo(demo::DemoArgs),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Controllers(args) => controllers::run(args),
        Command::Sim(args) => sim::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Judge(args) => judge::run(args),
        Command::Model(args) => model::run(args),
        Command::Reproduce(args) => reproduce::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Send(args) => send::run(args),
        Command::Link(args) => link::run(*args),
        Command::Demo(args) => demo::run(args),
    };
    done.unwrap_or_else(|error| failure::report(&error))
}
