//! A server's identity: its key and its token, stored in a directory.
//!
//! Created on first start: `server-key.pem` and `token`, readable by the owner only. The server
//! makes a certificate of the key each time it starts; clients pin the key. `next-key.pem` is a key
//! that the server announces, so that its clients know it before it takes the place of the first.

use super::private_file;
use super::private_file::Access;
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::token::Token;
use rcgen::{CertificateParams, KeyPair, PublicKeyData};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fs;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The name in every certificate. The fingerprint, not this name, identifies a server.
pub(crate) const SERVER_NAME: &str = "whimbrel";

const KEY: &str = "server-key.pem";
const NEXT_KEY: &str = "next-key.pem";
const TOKEN: &str = "token";

/// A key, and a certificate of it.
#[derive(Debug)]
struct ServerKey {
    secret: PrivateKeyDer<'static>,
    certificate: CertificateDer<'static>,
    fingerprint: Fingerprint,
}

impl ServerKey {
    fn of(pem: &str) -> Result<Self, String> {
        let secret = PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|e| e.to_string())?;
        let pair = KeyPair::from_pem(pem).map_err(|e| e.to_string())?;
        let params = CertificateParams::new([SERVER_NAME.to_owned()]);
        let certificate = params.and_then(|params| params.self_signed(&pair));
        Ok(Self {
            secret,
            certificate: certificate.map_err(|e| e.to_string())?.der().clone(),
            fingerprint: Fingerprint::of_key(&pair.subject_public_key_info()),
        })
    }
}

/// A new key as PEM.
fn new_key() -> Result<Zeroizing<String>, Error> {
    let key = KeyPair::generate();
    let key = key.map_err(|e| Error::Identity(format!("cannot create a key: {e}")))?;
    Ok(Zeroizing::new(key.serialize_pem()))
}

/// A server's keys and token.
#[derive(Debug)]
pub struct Identity {
    key: ServerKey,
    next: Option<ServerKey>,
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
        if missing(TOKEN)? {
            // Of two servers that start for the first time at once, one waits for the other.
            let _lock = lock(directory)?;
            if missing(KEY)? {
                private_file::replace(&path(KEY), new_key()?.as_bytes())?;
            }
            if missing(TOKEN)? {
                let token = Token::random()?.reveal();
                let line = Zeroizing::new(format!("{}\n", *token));
                private_file::replace(&path(TOKEN), line.as_bytes())?;
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
        let damaged = |name: &'static str| {
            Error::Identity(format!(
                "{} is damaged; restore it, or remove {} to create a new identity, which clients \
                 must pin again",
                path(name).display(),
                directory.display()
            ))
        };
        let key = ServerKey::of(&read(KEY)?).map_err(|_| damaged(KEY))?;
        let next = private_file::read(&path(NEXT_KEY), Access::Secret)?;
        let next = next.map(|pem| ServerKey::of(&pem)).transpose();
        let next = next.map_err(|_| damaged(NEXT_KEY))?;
        let token = read(TOKEN)?.parse().map_err(|_| damaged(TOKEN))?;
        Ok(Self { key, next, token })
    }

    /// An identity that lives as long as this value.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn ephemeral() -> Result<Self, Error> {
        let key = ServerKey::of(&new_key()?);
        Ok(Self {
            key: key.map_err(|e| Error::Identity(format!("cannot create a key: {e}")))?,
            next: None,
            token: Token::random()?,
        })
    }

    /// Creates the next key of the identity in `directory`, unless there is one. Servers that start
    /// from now on announce it to their clients.
    ///
    /// # Errors
    /// As [`Self::load_or_create`].
    pub fn prepare_next(directory: &Path) -> Result<Self, Error> {
        // Of a new directory too.
        let identity = Self::load_or_create(directory)?;
        if identity.next.is_some() {
            return Ok(identity);
        }
        let lock = lock(directory)?;
        let path = directory.join(NEXT_KEY);
        if private_file::read(&path, Access::Secret)?.is_none() {
            private_file::replace(&path, new_key()?.as_bytes())?;
        }
        drop(lock);
        Self::load_or_create(directory)
    }

    /// The next key takes the place of the present one, which is gone.
    ///
    /// # Errors
    /// If there is no next key, and as [`Self::load_or_create`].
    pub fn rotate(directory: &Path) -> Result<Self, Error> {
        let before = Self::load_or_create(directory)?;
        if before.next.is_none() {
            return Err(Error::Identity(format!(
                "{} has no next key that clients know of; create it, and let the server announce \
                 it for some time",
                directory.display()
            )));
        }
        let lock = lock(directory)?;
        // One step: a crash leaves the old key or the new one.
        let (from, to) = (directory.join(NEXT_KEY), directory.join(KEY));
        fs::rename(&from, &to).map_err(Error::file(from, "rename"))?;
        drop(lock);
        Self::load_or_create(directory)
    }

    /// The fingerprint that clients pin.
    pub fn fingerprint(&self) -> Fingerprint {
        self.key.fingerprint
    }

    /// That of the key that will take the place of the present one.
    pub fn next_fingerprint(&self) -> Option<Fingerprint> {
        self.next.as_ref().map(|next| next.fingerprint)
    }

    /// The token that clients must show.
    pub fn token(&self) -> &Token {
        &self.token
    }

    /// The present key's certificate, then those of keys that are announced.
    pub(crate) fn certificates(&self) -> Vec<CertificateDer<'static>> {
        let keys = std::iter::once(&self.key).chain(&self.next);
        keys.map(|key| key.certificate.clone()).collect()
    }

    /// A secret that only this identity can compute, the same after a restart. Different purposes
    /// have independent secrets.
    pub(crate) fn secret(&self, purpose: &str) -> [u8; 32] {
        blake3::derive_key(purpose, self.key.secret.secret_der())
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        self.key.secret.clone_key()
    }
}

/// Who changes an identity is alone.
fn lock(directory: &Path) -> Result<private_file::Lock, Error> {
    private_file::lock(&directory.join("identity"))
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
        for name in [KEY, TOKEN] {
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

    #[test]
    fn a_certificate_is_renewed_at_each_start_and_the_key_stays() {
        let scratch = ScratchDirectory::new();
        let dir = scratch.path().join("state");
        let [first, again] = [(); 2].map(|()| Identity::load_or_create(&dir).expect("an identity"));
        assert_eq!(first.fingerprint(), again.fingerprint());
        assert_ne!(first.certificates(), again.certificates());
    }

    #[test]
    fn the_next_key_is_announced_and_then_takes_the_place_of_the_first() {
        let scratch = ScratchDirectory::new();
        let dir = scratch.path().join("state");
        let before = Identity::load_or_create(&dir).expect("created");
        let error = Identity::rotate(&dir).expect_err("no next key").to_string();
        assert!(error.contains("no next key"), "{error}");
        let prepared = || Identity::prepare_next(&dir).expect("a next key");
        let next = prepared().next_fingerprint().expect("created");
        assert_eq!(prepared().next_fingerprint(), Some(next), "there");
        let during = Identity::load_or_create(&dir).expect("read");
        assert_eq!(during.fingerprint(), before.fingerprint());
        assert_eq!(during.next_fingerprint(), Some(next));
        assert_eq!(during.certificates().len(), 2);
        let rotated = Identity::rotate(&dir).expect("rotated");
        assert_eq!(rotated.fingerprint(), next);
        let after = Identity::load_or_create(&dir).expect("read");
        assert_eq!(
            (after.fingerprint(), after.next_fingerprint()),
            (next, None)
        );
        assert!(after.token().matches(before.token()));
    }
}
