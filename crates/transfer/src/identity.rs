//! A server's identity: its key, its certificate and its token, stored in a directory.
//!
//! Created on first start: `server-key.pem`, `server-cert.pem` and `token`, each readable by the
//! owner only.

use crate::{Error, Fingerprint, Token, tls};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

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
    /// # Errors
    /// If the identity cannot be read or written or is damaged, or if other users may read one of
    /// its files.
    pub fn load_or_create(directory: &Path) -> Result<Self, Error> {
        create_private_dir(directory)?;
        let path = |name| directory.join(name);
        if !exists(&path(KEY))? && !exists(&path(CERTIFICATE))? {
            let created = rcgen::generate_simple_self_signed([tls::SERVER_NAME.to_owned()])
                .map_err(|e| Error::Identity(format!("cannot create a certificate: {e}")))?;
            create_private(&path(KEY), created.signing_key.serialize_pem().as_bytes())?;
            create_private(&path(CERTIFICATE), created.cert.pem().as_bytes())?;
        }
        if !exists(&path(TOKEN))? {
            create_private(
                &path(TOKEN),
                format!("{}\n", Token::random()?.reveal()).as_bytes(),
            )?;
        }
        let key = read_private(&path(KEY))?;
        let certificate = read_private(&path(CERTIFICATE))?;
        let token = read_private(&path(TOKEN))?;
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

/// Creates a directory, and its missing parents, with access for the owner only.
pub(crate) fn create_private_dir(directory: &Path) -> Result<(), Error> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(Error::file(directory, "create this directory"))
}

fn exists(path: &Path) -> Result<bool, Error> {
    path.try_exists()
        .map_err(Error::file(path, "check for this file"))
}

/// Creates a file that only the owner can read.
fn create_private(path: &Path, contents: &[u8]) -> Result<(), Error> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(Error::file(path, "create this file"))?;
    file.write_all(contents)
        .and_then(|()| file.sync_all())
        .map_err(Error::file(path, "write"))
}

fn read_private(path: &Path) -> Result<String, Error> {
    let text = fs::read_to_string(path).map_err(|e| match e.kind() {
        ErrorKind::NotFound => Error::Identity(format!(
            "{} is missing; restore it, or remove its directory to create a new identity",
            path.display()
        )),
        _ => Error::file(path, "read")(e),
    })?;
    let mode = fs::metadata(path)
        .map_err(Error::file(path, "read"))?
        .permissions()
        .mode();
    if mode & 0o077 != 0 {
        return Err(Error::Identity(format!(
            "other users can read {0}; run `chmod 600 {0}`, and create a new identity if they may \
             have read it",
            path.display()
        )));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch_directory::ScratchDirectory;

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
