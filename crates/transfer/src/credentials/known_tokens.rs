//! The tokens that a client keeps: one in a file of its own, or remembered, one `host:port token`
//! per line, in a file that only its owner can read.

use super::host_file::HostFile;
use super::private_file::{self, Access};
use crate::error::Error;
use crate::token::Token;
use std::path::{Path, PathBuf};

impl Token {
    /// Reads a token from a file that only its owner can read.
    ///
    /// # Errors
    /// If the file cannot be read, others have access to it, or it contains no token.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let text = private_file::read(path, Access::Secret)?.ok_or_else(|| {
            let missing = std::io::ErrorKind::NotFound.into();
            Error::file(path, "read the token")(missing)
        })?;
        text.parse()
            .map_err(|e| Error::Private(format!("{}: {e}", path.display())))
    }
}

/// A file of tokens for servers. Lines that begin with `#` are comments.
#[derive(Debug, Clone)]
pub struct KnownTokens(HostFile);

impl KnownTokens {
    /// The file at `path`; it need not exist yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(HostFile::at(path, Access::Secret))
    }

    /// The token for `host:port`; the last one if there are several.
    ///
    /// # Errors
    /// If the file cannot be read, other users have access to it, or the line is damaged.
    pub fn get(&self, host: &str) -> Result<Option<Token>, Error> {
        self.0.get(host)
    }

    /// Remembers `token` for `host:port` instead of an older one. Other processes may do so at the
    /// same time.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn set(&self, host: &str, token: &Token) -> Result<(), Error> {
        self.0.set(host, token.reveal().as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch_directory::ScratchDirectory;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_is_remembered_where_nobody_else_can_read_it() {
        let scratch = ScratchDirectory::new();
        let path = scratch.path().join("state/tokens");
        let tokens = KnownTokens::at(&path);
        let token = || Token::random().expect("randomness");
        let (first, second) = (token(), token());
        assert!(tokens.get("a:1").expect("no file").is_none());
        tokens.set("a:1", &first).expect("written");
        tokens.set("b:1", &first).expect("written");
        tokens.set("a:1", &second).expect("written");
        let found = tokens.get("a:1").expect("read").expect("known");
        assert!(found.matches(&second));
        let mode = |path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(path.clone()), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("the owner may");
        let error = tokens.get("a:1").expect_err("not private").to_string();
        assert!(error.contains("chmod 600"), "{error}");
        fs::write(&path, "a:1 short\n").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("the owner may");
        let error = tokens.get("a:1").expect_err("damaged").to_string();
        assert!(error.contains(":1: a token is"), "{error}");
    }
}
