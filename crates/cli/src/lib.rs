//! The `whimbrel` command: parses arguments, calls the libraries, prints results.
//!
//! A program of one's own is the whole command with further algorithms in its table if its `main`
//! is [`main_with`]: see `examples/own-algorithm`.

// `print::note`: standard error that takes nothing is no reason to panic.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

mod advise;
mod code;
mod compare;
mod controllers;
mod credentials;
mod demo;
#[cfg(test)]
mod documented;
mod failure;
mod figure;
mod hunt;
mod judge;
mod key;
mod lab;
mod link;
mod measure;
mod model;
mod over_tcp;
mod packet_trace;
mod path;
mod pipe;
mod print;
mod priority;
mod rank;
mod rates;
mod real;
#[cfg(test)]
mod reference;
mod remote_files;
mod reproduce;
mod run_scenario;
mod save;
mod send;
mod serve;
mod shell;
mod show;
mod sim;
mod stop;
mod svg;
mod tcp;
mod token;
mod trace;

/// The algorithms: what one is made of, and the table.
pub use whimbrel_cc as cc;
/// Time, data and rates.
pub use whimbrel_units as units;

use clap::{FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;
use whimbrel_cc::registry::{self, Entry};

/// Congestion control in simulation and in real transfers.
///
/// Each algorithm has one implementation, which runs in a packet-level simulator and in encrypted
/// transfers. Each path has one description, which is simulated, or emulated for real traffic.
#[derive(Parser)]
#[command(name = "whimbrel", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  whimbrel advise --rate 200Mbit/s --rtt 45ms --loss 0.5%
                                          which algorithm to use on a path
  whimbrel compare                        common algorithms on a lossy path
  whimbrel compare --loss 0%,0.1%,1%,5%   the same at four loss rates
  whimbrel compare --print-scenario       the same as a scenario file
  whimbrel sim path.toml                  run a scenario file
  whimbrel controllers                    list the algorithms and their papers
  whimbrel rank                           algorithms on a matrix of paths
  whimbrel trace mobile.down              what recorded rates are like
  whimbrel hunt cubic                     the path on which one does worst
  whimbrel lab                            try all this on a page in the browser
  whimbrel judge                          decisions on the causes of losses
  whimbrel model                          formulas compared with the simulator
  whimbrel reproduce                      the papers' figures, with verdicts
  whimbrel figure page.html --all         a report's figures as SVG and PDF
  whimbrel serve DIR                      receive files over QUIC
  whimbrel send FILE HOST                 send a file with any algorithm
  whimbrel send FILE                      send it to whoever has three words
  whimbrel get HOST:PATH DIR              get files back
  whimbrel measure HOST                   throughput to a server and back
  whimbrel link --rtt 600ms --loss 1% -- ping 10.77.0.2
                                          run a program on an emulated path
  whimbrel tcp --controller cerl -- COMMAND
                                          run a program's TCP with any algorithm";

#[derive(Subcommand)]
enum Command {
    Controllers(controllers::ControllersArgs),
    Sim(sim::SimArgs),
    Trace(trace::TraceArgs),
    Compare(Box<compare::CompareArgs>),
    Advise(Box<advise::AdviseArgs>),
    Judge(judge::JudgeArgs),
    Model(model::ModelArgs),
    Rank(rank::RankArgs),
    Hunt(hunt::HuntArgs),
    Lab(lab::LabArgs),
    Reproduce(reproduce::ReproduceArgs),
    Figure(figure::FigureArgs),
    Serve(serve::ServeArgs),
    Send(Box<send::SendArgs>),
    Get(remote_files::GetArgs),
    Ls(remote_files::LsArgs),
    Rm(remote_files::RmArgs),
    Measure(Box<measure::MeasureArgs>),
    Pipe(pipe::PipeArgs),
    Tunnel(pipe::TunnelArgs),
    Token(token::TokenArgs),
    Key(key::KeyArgs),
    Link(Box<link::LinkArgs>),
    Tcp(Box<tcp::TcpArgs>),
    Demo(demo::DemoArgs),
    Completions(shell::CompletionsArgs),
    Man(shell::ManArgs),
}

/// The command with `own` algorithms in the table, behind Whimbrel's. Returns the status to exit
/// with.
pub fn main_with(own: &[&'static Entry]) -> ExitCode {
    if let Err(error) = registry::add(own) {
        return failure::report(&failure::BadInput::new(error).into());
    }
    shell::complete::<Cli>();
    let arguments = shell::command::<Cli>().try_get_matches();
    let command = match arguments.and_then(|given| Cli::from_arg_matches(&given)) {
        Ok(cli) => cli.command,
        Err(error) => return failure::of_arguments(&error),
    };
    // What has many connections or files open at once.
    if let Command::Serve(_) | Command::Send(_) | Command::Get(_) | Command::Tunnel(_) = command {
        whimbrel_transfer::service::raise_descriptor_limit();
    }
    let done = match command {
        Command::Controllers(args) => controllers::run(args),
        Command::Sim(args) => sim::run(args),
        Command::Trace(args) => trace::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Advise(args) => advise::run(*args),
        Command::Judge(args) => judge::run(args),
        Command::Model(args) => model::run(args),
        Command::Rank(args) => rank::run(args),
        Command::Hunt(args) => hunt::run(&args),
        Command::Lab(args) => lab::run(&args),
        Command::Reproduce(args) => reproduce::run(args),
        Command::Figure(args) => figure::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Send(args) => send::run(*args),
        Command::Get(args) => remote_files::run_get(args),
        Command::Ls(args) => remote_files::run_ls(args),
        Command::Rm(args) => remote_files::run_rm(args),
        Command::Measure(args) => measure::run(&args),
        Command::Pipe(args) => pipe::run(args),
        Command::Tunnel(args) => pipe::run_tunnel(args),
        Command::Token(args) => token::run(args),
        Command::Key(args) => key::run(&args),
        Command::Link(args) => link::run(*args),
        Command::Tcp(args) => tcp::run(*args),
        Command::Demo(args) => demo::run(args),
        Command::Completions(args) => shell::completions(&args),
        Command::Man(args) => shell::man::<Cli>(&args),
    };
    done.unwrap_or_else(|error| failure::report(&error))
}
