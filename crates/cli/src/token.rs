//! `whimbrel token`: tokens for the users of a server.

use serde_json::json;
use std::io::{self, Write};
use std::process::ExitCode;
use whimbrel_transfer::Token;

/// Make a token for a user of a server
///
/// The token goes to the user, by a channel that you trust; the hash goes into the server's
/// configuration file. The hash does not reveal the token, and the token is stored nowhere.
#[derive(clap::Args)]
#[command(after_help = "\
With --json: {token, hash}. Exit status: 0; 1 if the system has no random
numbers.

Example:
  whimbrel token new
  [users.alice]                      # in the file of `serve --config`
  tokens = [\"blake3:...\"]")]
pub struct TokenArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Print a new random token and its hash
    New {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Prints a token.
pub fn run(args: TokenArgs) -> anyhow::Result<ExitCode> {
    let Action::New { json: as_json } = args.action;
    let token = Token::random()?;
    let mut out = io::stdout().lock();
    if as_json {
        let printed = json!({ "token": token.reveal().as_str(), "hash": token.hash().to_string() });
        writeln!(out, "{printed}")?;
    } else {
        writeln!(out, "token {}", token.reveal().as_str())?;
        writeln!(out, "hash  {}", token.hash())?;
    }
    Ok(ExitCode::SUCCESS)
}
