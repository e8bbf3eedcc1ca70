//! The commands that send real packets.

use crate::{demo, files, link, pipe, send, serve, tcp, token};
use clap::Subcommand;
use std::process::ExitCode;

/// A command that sends real packets.
#[derive(Subcommand)]
pub enum Command {
    Serve(serve::ServeArgs),
    Send(Box<send::SendArgs>),
    Get(files::GetArgs),
    Ls(files::LsArgs),
    Rm(files::RmArgs),
    Pipe(pipe::PipeArgs),
    Tunnel(pipe::TunnelArgs),
    Token(token::TokenArgs),
    Link(Box<link::LinkArgs>),
    Tcp(Box<tcp::TcpArgs>),
    Demo(demo::DemoArgs),
    #[command(hide = true)]
    DemoEnd(demo::DemoEndArgs),
}

/// Runs it.
///
/// # Errors
/// As the command.
pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(args) => serve::run(args),
        Command::Send(args) => send::run(*args),
        Command::Get(args) => files::run_get(args),
        Command::Ls(args) => files::run_ls(args),
        Command::Rm(args) => files::run_rm(args),
        Command::Pipe(args) => pipe::run(args),
        Command::Tunnel(args) => pipe::run_tunnel(args),
        Command::Token(args) => token::run(args),
        Command::Link(args) => link::run(*args),
        Command::Tcp(args) => tcp::run(*args),
        Command::Demo(args) => demo::run(args),
        Command::DemoEnd(args) => demo::run_end(args),
    }
}
