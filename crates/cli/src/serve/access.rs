//! Who may use the server: flags, configuration file, and what is announced of it.

use super::confinement::Confinement;
use serde_json::json;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use whimbrel_cc::fairness::Priority;
use whimbrel_study::server_users;
use whimbrel_transfer::users::{Rights, Target, User, Users};
use whimbrel_transfer::{DEFAULT_PORT, Identity};

/// Who may use the server.
#[derive(Debug, clap::Args)]
pub struct AccessArgs {
    /// Users with tokens, directories and rights of their own, as TOML; read again upon SIGHUP
    /// (docs/operating-a-server.md)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Let `whimbrel pipe` and `whimbrel tunnel` with the token reach this port; may be repeated
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "config")]
    allow_connect: Vec<Target>,
}

impl AccessArgs {
    /// The users.
    ///
    /// # Errors
    /// If the configuration file cannot be read or has a mistake.
    pub fn users(
        &self,
        identity: &Identity,
        rights: Rights,
        max_priority: Priority,
    ) -> anyhow::Result<Users> {
        if let Some(path) = &self.config {
            return Ok(server_users::read(path)?);
        }
        let mut owner = User::owner(identity.token(), rights, max_priority);
        for target in &self.allow_connect {
            owner.connect.insert(target.to_string(), target.clone());
        }
        Ok(Users::new([owner]))
    }
}

/// Prints how to use the server. The token is secret: it goes to a terminal, but not into a log or
/// to a program, which learn the token's file.
pub fn announce(
    access: &AccessArgs,
    as_json: bool,
    (directory, address, confinement): (&Path, SocketAddr, &Confinement),
    (identity, state): (&Identity, &Path),
) -> io::Result<()> {
    let stdout = io::stdout();
    let to_terminal = stdout.is_terminal();
    let mut out = stdout.lock();
    let fingerprint = identity.fingerprint();
    let token = access.config.is_none().then(|| identity.token().reveal());
    if as_json {
        let event = json!({
            "event": "listening",
            "address": address.to_string(),
            "fingerprint": fingerprint.to_string(),
            "token_file": token.map(|_| state.join("token").to_string_lossy().into_owned()),
            "confined": { "files": confinement.files, "calls": confinement.calls },
        });
        return writeln!(out, "{event}");
    }
    let host = match (address.ip().is_unspecified(), address.port()) {
        (true, DEFAULT_PORT) => "THIS-HOST".to_owned(),
        (true, port) => format!("THIS-HOST:{port}"),
        (false, _) => address.to_string(),
    };
    writeln!(out, "serving {} on {address}", directory.display())?;
    writeln!(out, "fingerprint {fingerprint}")?;
    match (token, &access.config) {
        (Some(token), _) if to_terminal => writeln!(out, "token {}", token.as_str())?,
        (Some(_), _) => writeln!(out, "token in {}", state.join("token").display())?,
        (None, Some(config)) => writeln!(out, "users in {}", config.display())?,
        (None, None) => {}
    }
    writeln!(out, "{}", confinement.line())?;
    writeln!(out, "send a file here with the token and")?;
    writeln!(
        out,
        "  whimbrel send FILE {host} --fingerprint {fingerprint}"
    )
}
