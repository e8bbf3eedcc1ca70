//! The token and the fingerprint of a server, for the commands that connect to one.

mod stranger;

use crate::failure::BadInput;
use crate::over_tcp::{self, TransportArgs};
use crate::print;
use anyhow::Context;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use whimbrel_cc::Spec;
use whimbrel_study::credentials::{self as known, Ask, Given, NoToken, VARIABLE};
use whimbrel_study::words;
use whimbrel_transfer::service::Location;
use whimbrel_transfer::{ClientOptions, Error, Fingerprint, Reason, ServerAddress, Token};

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

/// What a command shows to a server, and how it reaches it.
#[derive(Debug)]
pub struct Credentials {
    known: known::Credentials,
    transport: TransportArgs,
    /// What may be wrong with the place that the user wrote, if something fails.
    note: Option<String>,
}

/// Asks on the terminal.
struct Terminal<'a>(&'a TransportArgs);

impl Ask for Terminal<'_> {
    type Error = anyhow::Error;

    fn confirm(&self, server: &ServerAddress) -> anyhow::Result<Option<Fingerprint>> {
        stranger::confirm(server, self.0)
    }

    fn token(&self, host: &str) -> anyhow::Result<Option<Token>> {
        if !io::stderr().is_terminal() {
            return Ok(None);
        }
        let text = rpassword::prompt_password(format!("token of {host}: "))
            .context("cannot read the token from the terminal")?;
        let token = text.parse::<Token>().map_err(BadInput::new)?;
        Ok(Some(token))
    }

    fn without_token(&self, why: NoToken) -> anyhow::Error {
        if why == NoToken::OfAnotherServer {
            let text = "this machine's token is for another server: use --token-file";
            return BadInput::new(text).into();
        }
        let mut text = format!(
            "a token is required: use {VARIABLE}, --token-file FILE or --token TOKEN. The server \
             shows it on its terminal, and has it in the file `token` of its identity directory \
             (~/.local/state/whimbrel; of the service, /var/lib/whimbrel/identity)"
        );
        if why == NoToken::OfUnknownServer {
            text += ". The first connection also needs --fingerprint, which the server prints";
        }
        BadInput::new(text).into()
    }
}

impl CredentialArgs {
    /// One of these options that was given.
    pub fn given(&self) -> Option<&'static str> {
        let all = [
            (self.token.is_some(), "--token"),
            (self.token_file.is_some(), "--token-file"),
            (self.fingerprint.is_some(), "--fingerprint"),
            (self.identity.is_some(), "--identity"),
        ];
        all.iter().find(|(given, _)| *given).map(|(_, name)| *name)
    }

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
        if let (Err(_), Some(note)) = (&found, &note) {
            print::note(format_args!("note: {note}"));
        }
        Ok(Credentials { note, ..found? })
    }

    /// Finds the fingerprint and the token; asks on the terminal for what is not known.
    ///
    /// # Errors
    /// Those of [`Given::find`].
    pub fn find(
        &self,
        server: &ServerAddress,
        transport: &TransportArgs,
    ) -> anyhow::Result<Credentials> {
        let given = Given {
            token: self.token.clone(),
            token_file: self.token_file.clone(),
            fingerprint: self.fingerprint,
            identity: self.identity.clone(),
        };
        Ok(Credentials {
            known: given.find(server, &Terminal(transport))?,
            transport: transport.clone(),
            note: None,
        })
    }
}

impl Credentials {
    /// The options of a client, made by `new`: [`ClientOptions::new`] or
    /// [`ClientOptions::for_pipes`].
    pub fn client(
        &self,
        new: fn(ServerAddress, Token, Spec) -> ClientOptions,
        server: ServerAddress,
        controller: Spec,
    ) -> ClientOptions {
        let algorithm = over_tcp::algorithm(&controller);
        let mut options = new(server, self.known.token.clone(), controller);
        options.tcp_algorithm = Some(algorithm);
        self.known.apply(&mut options);
        self.transport.apply(&mut options);
        options
    }

    /// The same, for transfers that may begin at a rate which the path carried before.
    pub fn client_that_resumes(
        &self,
        new: fn(ServerAddress, Token, Spec) -> ClientOptions,
        server: ServerAddress,
        controller: Spec,
    ) -> ClientOptions {
        ClientOptions {
            known_paths: self.transport.known_paths(&self.known.known_paths),
            ..self.client(new, server, controller)
        }
    }

    /// The server accepted the token: it need not be given again. That it cannot be remembered is
    /// no error, and said on standard error.
    pub fn accepted(&self) {
        if let Err(error) = self.known.accepted() {
            print::note(format_args!("note: the token was not remembered: {error}"));
        }
    }

    /// Prints an error, and what to do if a remembered token caused it.
    pub fn report(&self, error: &Error) {
        let text = words::plain(&error.to_string());
        print::note(format_args!("error: {text}"));
        self.hint(error)
            .iter()
            .chain(&self.note)
            .for_each(print::note);
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
            Error::NothingRemoved {
                count: Some(count), ..
            } => return Some(format!("--max-delete {count} permits it")),
            Error::KeyExchange { required: true, .. } => {
                "update the server's program, or leave out --require-pq"
            }
            Error::Refused(refusal) => match refusal.reason {
                Reason::Token if self.known.is_remembered() => {
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
