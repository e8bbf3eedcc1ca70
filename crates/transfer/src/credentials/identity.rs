//! A server's identity: its key, its certificate and its token, stored in a directory.
//!
//! Created on first start: `server-key.pem`, `server-cert.pem` and `token`, each readable by the
//! owner only.

use super::private_file;
use super::private_file::Access;
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::token::Token;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};

/// The name in every certificate. The fingerprint, not this name, identifies a server.
pub(crate) const SERVER_NAME: &str = "whimbrel";

const KEY: &str = "server-key.pem";
const CERTIFICATE: &str = "server-cert.pem";
const TOKEN: &str = "token";

/// A server's key, certificate and token.
#[derive(Debug)]
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    token: Token,
}

impl Identity {
    /// Reads the identity in `directory`, or creates one there.
    ///
    /// Servers that start at the same time agree on one identity.
    ///
    /// # Errors
    /// If the identity cannot be read or written or is damaged, or if other users may read one of
    /// its files or write to the directory.
    pub fn load_or_create(directory: &Path) -> Result<Self, Error> {
        private_file::create_directory(directory)?;
        private_file::check_directory(directory)?;
        let path = |name| directory.join(name);
        let missing = |name| path(name).try_exists().map(|there| !there);
        let missing = |name| missing(name).map_err(Error::file(path(name), "check for this file"));
        // The token is the last file of a new identity.
        if missing(TOKEN)? || missing(KEY)? {
            // Of two servers that start for the first time at once, one waits for the other.
            let _lock = private_file::lock(&directory.join("identity"))?;
            if missing(KEY)? && missing(CERTIFICATE)? {
                let created = rcgen::generate_simple_self_signed([SERVER_NAME.to_owned()])
                    .map_err(|e| Error::Identity(format!("cannot create a certificate: {e}")))?;
                let key = created.signing_key.serialize_pem();
                // Whoever finds the key finds the certificate.
                private_file::replace(&path(CERTIFICATE), created.cert.pem().as_bytes())?;
                private_file::replace(&path(KEY), key.as_bytes())?;
            }
            if missing(TOKEN)? {
                let token = Token::random()?.reveal();
                private_file::replace(&path(TOKEN), format!("{token}\n").as_bytes())?;
            }
        }
        let read = |name| {
            private_file::read(&path(name), Access::Secret)?.ok_or_else(|| {
                Error::Identity(format!(
                    "{} is missing; restore it, or remove its directory to create a new identity",
                    path(name).display()
                ))
            })
        };
        let (key, certificate, token) = (read(KEY)?, read(CERTIFICATE)?, read(TOKEN)?);
        let damaged = |name: &'static str| {
            Error::Identity(format!(
                "{} is damaged; restore it, or remove {} to create a new identity, which clients \
                 must pin again",
                path(name).display(),
                directory.display()
            ))
        };
        Ok(Self {
            key: PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| damaged(KEY))?,
            certificate: CertificateDer::from_pem_slice(certificate.as_bytes())
                .map_err(|_| damaged(CERTIFICATE))?,
            token: token.parse().map_err(|_| damaged(TOKEN))?,
        })
    }

    /// An identity that lives as long as this value.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn ephemeral() -> Result<Self, Error> {
        let created = rcgen::generate_simple_self_signed([SERVER_NAME.to_owned()])
            .map_err(|e| Error::Identity(format!("cannot create a certificate: {e}")))?;
        let key = created.signing_key.serialize_pem();
        Ok(Self {
            certificate: created.cert.der().clone(),
            key: PrivateKeyDer::from_pem_slice(key.as_bytes())
                .map_err(|e| Error::Identity(format!("cannot create a key: {e}")))?,
            token: Token::random()?,
        })
    }

    /// The fingerprint that clients pin.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_certificate(&self.certificate)
    }

    /// The token that clients must show.
    pub fn token(&self) -> &Token {
        &self.token
    }

    pub(crate) fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// A secret that only this identity can compute, the same after a restart. Different purposes
    /// have independent secrets.
    pub(crate) fn secret(&self, purpose: &str) -> [u8; 32] {
        blake3::derive_key(purpose, self.key.secret_der())
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        self.key.clone_key()
    }
}

/// Default directory of identities and pinned servers: `$XDG_STATE_HOME/whimbrel`, or
/// `~/.local/state/whimbrel`. `None` if neither variable is set.
pub fn default_state_dir() -> Option<PathBuf> {
    let var = |name| {
        std::env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    // The XDG base directory specification ignores relative paths.
    let state = var("XDG_STATE_HOME").filter(|p| p.is_absolute());
    state
        .or_else(|| var("HOME").map(|h| h.join(".local/state")))
        .map(|p| p.join("whimbrel"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch_directory::ScratchDirectory;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn simultaneous_first_starts_agree_on_one_identity() {
        let scratch = ScratchDirectory::new();
        let dir = scratch.path().join("state");
        let start = || Identity::load_or_create(&dir).expect("created or read");
        let prints: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
            let joined = threads.into_iter().map(|t| t.join().expect("no panic"));
            joined
                .map(|i| (i.fingerprint(), i.token().reveal()))
                .collect()
        });
        assert!(prints.iter().all(|found| *found == prints[0]));
    }

    #[test]
    fn an_identity_in_a_directory_of_everybody_is_refused() {
        let scratch = ScratchDirectory::new();
        let dir = scratch.path().join("state");
        Identity::load_or_create(&dir).expect("created");
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).expect("the owner may");
        let error = Identity::load_or_create(&dir)
            .expect_err("anybody may replace the key")
            .to_string();
        assert!(error.contains("chmod 700"), "{error}");
    }

    #[test]
    fn an_identity_is_persistent_and_private() {
        let scratch = ScratchDirectory::new();
        let dir = scratch.path().join("state/whimbrel");
        let first = Identity::load_or_create(&dir).expect("created");
        let again = Identity::load_or_create(&dir).expect("read");
        assert_eq!(first.fingerprint(), again.fingerprint());
        assert!(first.token().matches(again.token()));
        for name in [KEY, CERTIFICATE, TOKEN] {
            let mode = fs::metadata(dir.join(name))
                .expect("a file")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        fs::set_permissions(dir.join(KEY), fs::Permissions::from_mode(0o644))
            .expect("the owner may");
        let error = Identity::load_or_create(&dir)
            .expect_err("readable by others")
            .to_string();
        assert!(error.contains("chmod 600"), "{error}");
        fs::remove_file(dir.join(KEY)).expect("the owner may");
        let error = Identity::load_or_create(&dir)
            .expect_err("key missing")
            .to_string();
        assert!(error.contains("missing"), "{error}");
    }
}
