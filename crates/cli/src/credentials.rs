//! How the commands that connect to a server find its token and its fingerprint.

mod stranger;

use crate::failure::BadInput;
use crate::over_tcp::TransportArgs;
use anyhow::Context;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use whimbrel_study::words;
use whimbrel_transfer::service::Location;
use whimbrel_transfer::{
    Error, Fingerprint, Identity, KnownHosts, KnownPaths, KnownTokens, Pins, Reason, ServerAddress,
    Token, default_state_dir,
};

/// The environment variable with the token.
const VARIABLE: &str = "WHIMBREL_TOKEN";

/// Token and fingerprint of a server.
#[derive(Debug, Clone, clap::Args)]
pub struct CredentialArgs {
    /// The server's token, which is in the file `token` of the server's identity directory. Other
    /// users of this machine can see this option [default: the environment variable WHIMBREL_TOKEN,
    /// --token-file, the one remembered for the server, or asked for on the terminal]
    #[arg(long, help_heading = "Server")]
    token: Option<Token>,
    /// A file with the token, which only you can read
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "token",
        help_heading = "Server"
    )]
    token_file: Option<PathBuf>,
    /// The fingerprint that `whimbrel serve` and, on the server, `whimbrel key show` print;
    /// remembered when the server has proved it
    #[arg(long, help_heading = "Server")]
    fingerprint: Option<Fingerprint>,
    /// Directory with the known servers and their tokens [default: ~/.local/state/whimbrel]
    #[arg(long, value_name = "DIR", help_heading = "Server")]
    identity: Option<PathBuf>,
}

/// What a command shows to a server, and expects of it.
#[derive(Debug)]
pub struct Credentials {
    /// The token.
    pub token: Token,
    /// The expected fingerprint; `None`: the pinned one.
    pub fingerprint: Option<Fingerprint>,
    /// The pinned servers.
    pub known_hosts: Option<KnownHosts>,
    /// What the paths to servers carried.
    pub known_paths: Option<KnownPaths>,
    tokens: Option<KnownTokens>,
    source: Source,
    host: String,
    /// What may be wrong with the place that the user wrote, if something fails.
    note: Option<String>,
}

/// Where a token comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The user gave it for this command: it is worth remembering.
    Given,
    /// The user keeps it elsewhere.
    Kept,
    /// It was remembered.
    Remembered,
}

impl CredentialArgs {
    /// Finds the fingerprint and the token of the server of a place, as [`find`](Self::find) does.
    ///
    /// # Errors
    /// As `find`; what may be wrong with the place is said on standard error before.
    pub fn find_for(
        &self,
        place: &Location,
        transport: &TransportArgs,
    ) -> anyhow::Result<Credentials> {
        let note = place.port_note();
        let found = self.find(&place.server, transport);
        match (found, &note) {
            (Ok(credentials), _) => Ok(Credentials {
                note,
                ..credentials
            }),
            (Err(error), Some(note)) => {
                writeln!(io::stderr(), "note: {note}").ok();
                Err(error)
            }
            (Err(error), None) => Err(error),
        }
    }

    /// Finds the fingerprint and the token. On a terminal the user confirms the fingerprint of an
    /// unknown server, and is then asked for a token if none is known: no secret is asked for
    /// before it is clear who gets it.
    ///
    /// # Errors
    /// If no token is known, or the one given is damaged or readable by others; if an unknown
    /// server does not answer, or the user does not trust it.
    pub fn find(
        &self,
        server: &ServerAddress,
        transport: &TransportArgs,
    ) -> anyhow::Result<Credentials> {
        let state = self.identity.clone().or_else(default_state_dir);
        let in_state = |name| state.as_ref().map(|state: &PathBuf| state.join(name));
        let known_hosts = in_state("known_hosts").map(KnownHosts::at);
        let tokens = in_state("tokens").map(KnownTokens::at);
        let known_paths = in_state("paths").map(KnownPaths::at);
        let host = server.to_string();
        let credentials = |token, source, fingerprint| Credentials {
            token,
            fingerprint,
            known_hosts: known_hosts.clone(),
            known_paths: known_paths.clone(),
            tokens: tokens.clone(),
            source,
            host: host.clone(),
            note: None,
        };
        let pinned = match &known_hosts {
            Some(known) => known.get(&host)?,
            None => None,
        };
        let expected = self.fingerprint.map(Pins::from).or(pinned);
        let known = match (self.explicit()?, &tokens) {
            (Some(given), _) => Some(given),
            (None, Some(known)) => known.get(&host)?.map(|token| (token, Source::Remembered)),
            (None, None) => None,
        };
        let confirmed = || match &expected {
            Some(_) => Ok(self.fingerprint),
            None => stranger::confirm(server, transport),
        };
        if let Some((token, source)) = known {
            return Ok(credentials(token, source, confirmed()?));
        }
        let own = own_identity(state.as_deref())?;
        // The token of this machine is sent to this machine only.
        if let Some(own) = &own
            && expected
                .as_ref()
                .is_none_or(|pins| pins.contain(own.fingerprint()))
        {
            let fingerprint = Some(own.fingerprint());
            return Ok(credentials(own.token().clone(), Source::Kept, fingerprint));
        }
        let fingerprint = confirmed()?;
        match ask(&host)? {
            Some(token) => Ok(credentials(token, Source::Given, fingerprint)),
            None if own.is_some() => {
                let text = "this machine's token is for another server: use --token-file";
                Err(BadInput::new(text).into())
            }
            None => Err(BadInput::new(no_token(expected.is_some())).into()),
        }
    }

    /// The token that the user gave or keeps.
    fn explicit(&self) -> anyhow::Result<Option<(Token, Source)>> {
        if let Some(token) = &self.token {
            return Ok(Some((token.clone(), Source::Given)));
        }
        if let Some(path) = &self.token_file {
            return Ok(Some((Token::from_file(path)?, Source::Kept)));
        }
        let Some(text) = std::env::var_os(VARIABLE) else {
            return Ok(None);
        };
        let token = text
            .to_string_lossy()
            .parse()
            .map_err(|e| BadInput::new(format!("{VARIABLE}: {e}")))?;
        Ok(Some((token, Source::Kept)))
    }
}

impl Credentials {
    /// The server accepted the token: it need not be given again. That it cannot be remembered is
    /// no error, and said on standard error.
    pub fn accepted(&self) {
        let Some(tokens) = &self.tokens else { return };
        if self.source != Source::Given {
            return;
        }
        let known = tokens.get(&self.host).ok().flatten();
        if known.is_some_and(|known| known.matches(&self.token)) {
            return;
        }
        if let Err(error) = tokens.set(&self.host, &self.token) {
            eprintln!("note: the token was not remembered: {error}");
        }
    }

    /// Prints an error, and what to do if a remembered token caused it.
    pub fn report(&self, error: &Error) {
        // That nothing reads standard error is no reason to hide the exit status.
        let mut out = io::stderr().lock();
        writeln!(out, "error: {}", words::plain(&error.to_string())).ok();
        for hint in self.hint(error).iter().chain(&self.note) {
            writeln!(out, "{hint}").ok();
        }
    }

    /// What the user can do about an error.
    pub fn hint(&self, error: &Error) -> Option<String> {
        let text = match error {
            Error::UnknownServer { found, .. } => {
                return Some(format!(
                    "If they are equal, add\n  --fingerprint {found}\nThe fingerprint is remembered \
                     after that."
                ));
            }
            Error::FingerprintMismatch { found, .. } => {
                return Some(format!("If it is right, add --fingerprint {found}"));
            }
            Error::Refused(refusal) => match refusal.reason {
                Reason::Token if self.source == Source::Remembered => {
                    "the token was remembered; give the new one with --token-file or --token"
                }
                Reason::Exists => {
                    "choose another name, or let the server replace files: serve --overwrite; rm \
                     needs --recursive for a directory that is not empty"
                }
                Reason::TooLarge => "the server's --max-size sets the limit",
                Reason::Rights => {
                    "the server's --allow-read, --allow-remove, --allow-connect and --max-probe, or \
                     its configuration file, give rights"
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(text.to_owned())
    }
}

/// What to do without a token, and all at once if the server is not known either.
fn no_token(known: bool) -> String {
    let mut text = format!(
        "a token is required: use {VARIABLE}, --token-file FILE or --token TOKEN. The server \
         shows it on its terminal, and has it in the file `token` of its identity directory \
         (~/.local/state/whimbrel; of the service, /var/lib/whimbrel/identity)"
    );
    if !known {
        text += ". The first connection also needs --fingerprint, which the server prints";
    }
    text
}

/// Asks for the token on the terminal, without showing it. `None` without a terminal.
fn ask(host: &str) -> anyhow::Result<Option<Token>> {
    if !io::stderr().is_terminal() {
        return Ok(None);
    }
    let text = rpassword::prompt_password(format!("token of {host}: "))
        .context("cannot read the token from the terminal")?;
    let token = text.parse::<Token>().map_err(BadInput::new)?;
    Ok(Some(token))
}

/// The identity that `whimbrel serve` created on this machine, if any.
fn own_identity(state: Option<&Path>) -> Result<Option<Identity>, Error> {
    match state.filter(|s| s.join("token").exists()) {
        Some(state) => Identity::load_or_create(state).map(Some),
        None => Ok(None),
    }
}
