//! What a server that listens says of itself.

use super::Confinement;
use crate::{DEFAULT_PORT, Error, Identity, ServeOptions, Server};
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::path::Path;

/// Binds a server to an address; `None`: to all addresses at the usual port.
///
/// # Errors
/// Those of [`Server::bind`].
pub fn bind(
    options: &ServeOptions,
    listen: Option<SocketAddr>,
    identity: &Identity,
) -> Result<Server, Error> {
    let bind = |listen| {
        let options = ServeOptions {
            listen,
            ..options.clone()
        };
        Server::bind(options, identity)
    };
    match listen {
        Some(listen) => bind(listen),
        // Both families, or IPv4 only on a host without IPv6.
        None => match bind(([0u16; 8], DEFAULT_PORT).into()) {
            Err(Error::Socket { cause, .. }) if cause.kind() != io::ErrorKind::AddrInUse => {
                bind(([0u8; 4], DEFAULT_PORT).into())
            }
            bound => bound,
        },
    }
}

/// How to use a server.
#[derive(Debug, Clone, Copy)]
pub struct Listening<'a> {
    /// Where files are stored.
    pub directory: &'a Path,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its key and token.
    pub identity: &'a Identity,
    /// The directory of key and token.
    pub state: &'a Path,
    /// The file of its users; `None`: the owner of the token.
    pub config: Option<&'a Path>,
    /// What its process is confined to.
    pub confinement: &'a Confinement,
}

impl Listening<'_> {
    /// As an event. The token is secret, so only its file is there.
    pub fn json(&self) -> Value {
        let token_file = self.state.join("token").to_string_lossy().into_owned();
        json!({
            "event": "listening",
            "address": self.address.to_string(),
            "fingerprint": self.identity.fingerprint().to_string(),
            "token_file": self.config.is_none().then_some(token_file),
            "confined": { "files": self.confinement.files, "calls": self.confinement.calls },
        })
    }

    /// As lines; with the token only if they go to a terminal.
    pub fn text(&self, to_terminal: bool) -> String {
        let (address, fingerprint) = (self.address, self.identity.fingerprint());
        let host = match (address.ip().is_unspecified(), address.port()) {
            (true, DEFAULT_PORT) => "THIS-HOST".to_owned(),
            (true, port) => format!("THIS-HOST:{port}"),
            (false, _) => address.to_string(),
        };
        let access = match self.config {
            Some(config) => format!("users in {}", config.display()),
            None if to_terminal => format!("token {}", self.identity.token().reveal().as_str()),
            None => format!("token in {}", self.state.join("token").display()),
        };
        format!(
            "serving {} on {address}\nfingerprint {fingerprint}\n{access}\n{}\n\
             send a file here with the token and\n  \
             whimbrel send FILE {host} --fingerprint {fingerprint}\n",
            self.directory.display(),
            self.confinement.line(),
        )
    }
}
