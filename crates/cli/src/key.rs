//! `whimbrel key`: the key of a server, and the one that follows it.

use crate::failure::BadInput;
use serde_json::json;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use whimbrel_transfer::{Identity, default_state_dir};

/// Show a server's fingerprint, or give it another key
///
/// Clients know a server by its key. `prepare` makes the next key; a server that starts from then
/// on announces it, and each client that connects remembers both. Some weeks later `rotate` puts it
/// in the place of the first: only clients that did not connect meanwhile have to be told the new
/// fingerprint. Start the server again after both; running transfers resume by themselves.
#[derive(clap::Args)]
#[command(after_help = "\
With --json: {fingerprint, next}; next is null without a next key.
Exit status: 0; 1 failed; 2 wrong usage.

Examples:
  whimbrel key show
  whimbrel key prepare && systemctl restart whimbrel
  whimbrel key rotate && systemctl restart whimbrel     # weeks later")]
pub struct KeyArgs {
    #[command(subcommand)]
    action: Action,
    /// Directory of the key [default: ~/.local/state/whimbrel]
    #[arg(long, value_name = "DIR", global = true)]
    identity: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Print the fingerprint, and that of the next key
    Show,
    /// Make the next key, which the server announces
    Prepare,
    /// Use the next key from now on; the first is gone
    Rotate,
}

/// Makes or rotates the key if asked to, and prints the fingerprints.
pub fn run(args: &KeyArgs) -> anyhow::Result<ExitCode> {
    let directory = args.identity.clone().or_else(default_state_dir);
    let directory = directory.ok_or_else(|| BadInput::new("write --identity DIR: HOME is not set"));
    let directory = directory?;
    let identity = match args.action {
        Action::Show if !directory.exists() => {
            let text = format!(
                "{} does not exist: no server has started with it",
                directory.display()
            );
            return Err(BadInput::new(text).into());
        }
        Action::Show => Identity::load_or_create(&directory)?,
        Action::Prepare => Identity::prepare_next(&directory)?,
        Action::Rotate => Identity::rotate(&directory)?,
    };
    let (now, next) = (identity.fingerprint(), identity.next_fingerprint());
    let mut out = io::stdout().lock();
    if args.json {
        let next = next.map(|next| next.to_string());
        let printed = json!({ "fingerprint": now.to_string(), "next": next });
        writeln!(out, "{printed}")?;
    } else {
        writeln!(out, "fingerprint {now}")?;
        if let Some(next) = next {
            writeln!(out, "next        {next}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
