//! `whimbrel completions` and `whimbrel man`: for shells and for `man`, made of the same
//! description of the command line that parses it.
//!
//! The script of a shell runs the command again with each press of the Tab key, so that it knows
//! the algorithms of this very command, and the part of a list before the last comma.

mod names;
#[cfg(test)]
mod tests;

use crate::print;
use anyhow::Context;
use clap::CommandFactory;
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};
use std::env;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use whimbrel_study::atomic_file;

/// The name of the command.
const NAME: &str = "whimbrel";
/// The environment variable by which a shell's script asks for completions.
const VARIABLE: &str = "COMPLETE";
/// The width of help that does not go to a terminal, in columns.
const WIDTH: usize = 80;

/// Print a script that completes commands, flags and names in a shell
///
/// Names of algorithms, points of the matrix and experiments are those of the installed command.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  whimbrel completions bash > \\
      ~/.local/share/bash-completion/completions/whimbrel
  whimbrel completions fish > ~/.config/fish/completions/whimbrel.fish
  whimbrel completions zsh > ~/.zfunc/_whimbrel")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Write manual pages, one for each command
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  whimbrel man ~/.local/share/man/man1
  man whimbrel-rank")]
pub struct ManArgs {
    /// Folder for the pages; it is created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// The command line; help that does not go to a terminal has a fixed width.
pub fn command<C: CommandFactory>() -> clap::Command {
    let command = C::command();
    if io::stdout().is_terminal() || env::var_os("COLUMNS").is_some() {
        return command;
    }
    command.term_width(WIDTH)
}

/// Answers a shell's script and exits, if one has called.
pub fn complete<C: CommandFactory>() {
    CompleteEnv::with_factory(|| names::completed(C::command()))
        .var(VARIABLE)
        .complete();
}

/// Prints the script.
pub fn completions(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let shell = args.shell.to_string();
    let shells = Shells::builtins();
    let completer = shells
        .completer(&shell)
        .with_context(|| format!("no completions for {shell}"))?;
    let mut script = Vec::new();
    completer.write_registration(VARIABLE, NAME, NAME, NAME, &mut script)?;
    io::stdout().lock().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the pages.
pub fn man<C: CommandFactory>(args: &ManArgs) -> anyhow::Result<ExitCode> {
    atomic_file::check_folder(&args.folder)?;
    let mut command = C::command();
    // Gives each subcommand its full name.
    command.build();
    page(&command, "whimbrel", &args.folder)?;
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    let mut count = 1;
    for sub in shown.filter(|sub| sub.get_name() != "help") {
        page(sub, &format!("whimbrel-{}", sub.get_name()), &args.folder)?;
        count += 1;
    }
    print::text(format_args!("{count} pages in {}\n", args.folder.display()))
}

fn page(command: &clap::Command, name: &str, folder: &Path) -> anyhow::Result<()> {
    let page = clap_mangen::Man::new(command.clone()).title(name.to_uppercase());
    let mut text = Vec::new();
    page.render(&mut text)?;
    Ok(atomic_file::replace(
        &folder.join(format!("{name}.1")),
        |to| to.write_all(&text),
    )?)
}
