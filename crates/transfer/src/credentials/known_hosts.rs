//! The servers that a client has pinned, one `host:port fingerprint` per line, as in ssh's
//! `known_hosts`; more fingerprints in a line are those of keys that the server has announced.

use super::host_file::HostFile;
use super::private_file::Access;
use crate::error::Error;
use crate::fingerprint::Pins;
use std::path::PathBuf;

/// A file of pinned servers. Lines that begin with `#` are comments.
#[derive(Debug, Clone)]
pub struct KnownHosts(HostFile);

impl KnownHosts {
    /// The file at `path`; it need not exist yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(HostFile::at(path, Access::Public))
    }

    /// The keys pinned for `host:port`; those of the last line if there are several.
    ///
    /// # Errors
    /// If the file cannot be read, other users may write it, or the line is damaged.
    pub fn get(&self, host: &str) -> Result<Option<Pins>, Error> {
        self.0.get(host)
    }

    /// Pins these keys for `host:port` and replaces older ones. Other processes may do so at
    /// the same time.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn set(&self, host: &str, keys: &Pins) -> Result<(), Error> {
        self.0.set(host, &keys.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Fingerprint;
    use crate::scratch_directory::ScratchDirectory;
    use std::fs;

    #[test]
    fn a_pinned_fingerprint_is_found_and_replaced() {
        let scratch = ScratchDirectory::new();
        let path = scratch.path().join("sub/known_hosts");
        let known = KnownHosts::at(&path);
        let (a, b) = (
            Pins::from(Fingerprint::of_key(b"a")),
            Pins::from(Fingerprint::of_key(b"b")),
        );
        assert_eq!(known.get("x:4440").expect("a missing file is empty"), None);
        known.set("x:4440", &a).expect("written");
        known.set("y:4440", &b).expect("written");
        assert_eq!(known.get("x:4440").expect("read"), Some(a));
        known.set("x:4440", &b).expect("written");
        assert_eq!(known.get("x:4440").expect("read"), Some(b.clone()));
        assert_eq!(
            fs::read_to_string(&path).expect("a file").lines().count(),
            2
        );
        // What the user has written beside them stays.
        let comment = "# mine\n\n";
        let written = format!("{comment}{}", fs::read_to_string(&path).expect("a file"));
        fs::write(&path, written).expect("written");
        known.set("x:4440", &b).expect("written");
        let text = fs::read_to_string(&path).expect("a file");
        assert!(text.starts_with(comment), "{text}");
        // Of several lines the last one counts.
        let both = format!("x:4440 {b}\nx:4440 {c}\n", c = Fingerprint::of_key(b"c"));
        fs::write(&path, both).expect("written");
        let last = Pins::from(Fingerprint::of_key(b"c"));
        assert_eq!(known.get("x:4440").expect("read"), Some(last));
        fs::write(&path, "# mine\nx:4440 nonsense\n").expect("written");
        let error = known.get("x:4440").expect_err("damaged").to_string();
        assert!(error.contains(":2:"), "{error}");
    }
}
