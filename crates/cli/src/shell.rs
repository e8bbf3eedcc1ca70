//! `whimbrel completions` and `whimbrel man`: for shells and for `man`, made of the same
//! description of the command line that parses it.

use crate::atomic_file;
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Print a script that completes commands and flags in a shell
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  whimbrel completions bash > ~/.local/share/bash-completion/completions/whimbrel
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

/// Prints the script.
pub fn completions<C: CommandFactory>(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut command = C::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
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
    println!("{count} pages in {}", args.folder.display());
    Ok(ExitCode::SUCCESS)
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
