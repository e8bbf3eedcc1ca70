//! How a client finds the token and the fingerprint of a server: given, remembered, those of this
//! machine, or from the user.

use crate::BadInput;
use std::path::{Path, PathBuf};
use whimbrel_transfer::{
    ClientOptions, Error, Fingerprint, Identity, KnownHosts, KnownPaths, KnownTokens, Pins,
    ServerAddress, Token, default_state_dir,
};

/// The environment variable with the token.
pub const VARIABLE: &str = "WHIMBREL_TOKEN";

/// What the user gives for a server.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// The token.
    pub token: Option<Token>,
    /// A file with the token, which only the user can read.
    pub token_file: Option<PathBuf>,
    /// The expected fingerprint.
    pub fingerprint: Option<Fingerprint>,
    /// The directory with the known servers and their tokens; `None`: the usual one.
    pub identity: Option<PathBuf>,
}

/// Asks the user.
pub trait Ask {
    /// Why it is not known.
    type Error: From<BadInput> + From<Error>;

    /// The fingerprint of a server that is not known yet, if the user trusts it. `None` if nobody
    /// can be asked; the connection then fails, and its error names the fingerprint.
    ///
    /// # Errors
    /// If the server does not answer, or the user does not trust it.
    fn confirm(&self, server: &ServerAddress) -> Result<Option<Fingerprint>, Self::Error>;

    /// The token of a server; `None` if nobody can be asked.
    ///
    /// # Errors
    /// If what the user writes is no token.
    fn token(&self, host: &str) -> Result<Option<Token>, Self::Error>;

    /// The error that tells the user how to give a token.
    fn without_token(&self, why: NoToken) -> Self::Error;
}

/// Why there is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoToken {
    /// None was given for this server, whose fingerprint is known.
    OfKnownServer,
    /// None was given, and the server's fingerprint is not known either.
    OfUnknownServer,
    /// The token of this machine is for another server.
    OfAnotherServer,
}

/// What a client shows to a server, and expects of it.
#[derive(Debug)]
pub struct Credentials {
    /// The token.
    pub token: Token,
    fingerprint: Option<Fingerprint>,
    known_hosts: Option<KnownHosts>,
    /// What the paths to servers carried.
    pub known_paths: Option<KnownPaths>,
    tokens: Option<KnownTokens>,
    source: Source,
    host: String,
}

/// Where a token comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The user gave it for this transfer: it is worth remembering.
    Given,
    /// The user keeps it elsewhere.
    Kept,
    /// It was remembered.
    Remembered,
}

impl Given {
    /// Finds the fingerprint and the token. The user confirms the fingerprint of an unknown server
    /// before the token is asked for, and so knows who receives it.
    ///
    /// # Errors
    /// If no token is known, or the one given is damaged or readable by others; if an unknown
    /// server does not answer, or the user does not trust it.
    pub fn find<A: Ask>(&self, server: &ServerAddress, user: &A) -> Result<Credentials, A::Error> {
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
        };
        let pinned = match &known_hosts {
            Some(known) => known.get(&host)?,
            None => None,
        };
        let expected = self.fingerprint.map(Pins::from).or(pinned);
        let known = match (self.explicit::<A::Error>()?, &tokens) {
            (Some(given), _) => Some(given),
            (None, Some(known)) => known.get(&host)?.map(|token| (token, Source::Remembered)),
            (None, None) => None,
        };
        let confirmed = || match &expected {
            Some(_) => Ok(self.fingerprint),
            None => user.confirm(server),
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
        match user.token(&host)? {
            Some(token) => Ok(credentials(token, Source::Given, fingerprint)),
            None => Err(user.without_token(match own {
                Some(_) => NoToken::OfAnotherServer,
                None if expected.is_some() => NoToken::OfKnownServer,
                None => NoToken::OfUnknownServer,
            })),
        }
    }

    /// The token that the user gave or keeps.
    fn explicit<E: From<BadInput> + From<Error>>(&self) -> Result<Option<(Token, Source)>, E> {
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
    /// Sets what is known of the server.
    pub fn apply(&self, options: &mut ClientOptions) {
        options.fingerprint = self.fingerprint;
        options.known_hosts.clone_from(&self.known_hosts);
    }

    /// Remembers the token, which the server has accepted, so that it need not be given again.
    ///
    /// # Errors
    /// If it cannot be remembered.
    pub fn accepted(&self) -> Result<(), Error> {
        let Some(tokens) = self
            .tokens
            .as_ref()
            .filter(|_| self.source == Source::Given)
        else {
            return Ok(());
        };
        let known = tokens.get(&self.host).ok().flatten();
        if known.is_some_and(|known| known.matches(&self.token)) {
            return Ok(());
        }
        tokens.set(&self.host, &self.token)
    }

    /// Whether the token is one that was remembered.
    pub fn is_remembered(&self) -> bool {
        self.source == Source::Remembered
    }
}

/// The identity that a server created on this machine, if any.
fn own_identity(state: Option<&Path>) -> Result<Option<Identity>, Error> {
    match state.filter(|s| s.join("token").exists()) {
        Some(state) => Identity::load_or_create(state).map(Some),
        None => Ok(None),
    }
}
