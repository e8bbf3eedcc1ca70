//! The servers that a client has pinned, one `host:port fingerprint` per line, as in ssh's
//! `known_hosts`.

use crate::host_file::HostFile;
use crate::private_file::Access;
use crate::{Error, Fingerprint};
use std::path::PathBuf;

/// A file of pinned servers. Lines that begin with `#` are comments.
#[derive(Debug, Clone)]
pub struct KnownHosts(HostFile);

impl KnownHosts {
    /// The file at `path`; it need not exist yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(HostFile::at(path, Access::Public))
    }

    /// The fingerprint pinned for `host:port`; the last one if there are several.
    ///
    /// # Errors
    /// If the file cannot be read, other users may write it, or the line is damaged.
    pub fn get(&self, host: &str) -> Result<Option<Fingerprint>, Error> {
        let Some((line, value)) = self.0.get(host)? else {
            return Ok(None);
        };
        let place = self.0.path().display();
        let print = value.parse();
        print
            .map(Some)
            .map_err(|e| Error::Private(format!("{place}:{line}: {e}")))
    }

    /// Pins `fingerprint` for `host:port` and replaces an older one. Other processes may do so at
    /// the same time.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn set(&self, host: &str, fingerprint: Fingerprint) -> Result<(), Error> {
        self.0.set(host, &fingerprint.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch_directory::ScratchDirectory;
    use std::fs;

    #[test]
    fn a_pinned_fingerprint_is_found_and_replaced() {
        let scratch = ScratchDirectory::new();
        let known = KnownHosts::at(scratch.path().join("sub/known_hosts"));
        let (a, b) = (
            Fingerprint::of_certificate(b"a"),
            Fingerprint::of_certificate(b"b"),
        );
        assert_eq!(known.get("x:4440").expect("a missing file is empty"), None);
        known.set("x:4440", a).expect("written");
        known.set("y:4440", b).expect("written");
        assert_eq!(known.get("x:4440").expect("read"), Some(a));
        known.set("x:4440", b).expect("written");
        assert_eq!(known.get("x:4440").expect("read"), Some(b));
        assert_eq!(
            fs::read_to_string(known.0.path())
                .expect("a file")
                .lines()
                .count(),
            2
        );
        fs::write(known.0.path(), "# mine\nx:4440 nonsense\n").expect("written");
        let error = known.get("x:4440").expect_err("damaged").to_string();
        assert!(error.contains(":2:"), "{error}");
    }
}
