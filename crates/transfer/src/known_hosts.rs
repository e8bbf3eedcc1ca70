//! The servers that a client has pinned, one `host:port fingerprint` per line, as in ssh's
//! `known_hosts`.

use crate::identity::create_private_dir;
use crate::{Error, Fingerprint};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// A file of pinned servers. Lines that begin with `#` are comments.
#[derive(Debug, Clone)]
pub struct KnownHosts {
    path: PathBuf,
}

impl KnownHosts {
    /// The file at `path`; it need not exist yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The fingerprint pinned for `host:port`; the last one if there are several.
    ///
    /// # Errors
    /// If the file cannot be read or the line is damaged.
    pub fn get(&self, host: &str) -> Result<Option<Fingerprint>, Error> {
        let mut found = None;
        for (number, line) in self.read()?.lines().enumerate() {
            if let Some((name, print)) = entry(line)
                && name == host
            {
                let print = print.parse().map_err(|e| {
                    Error::Identity(format!("{}:{}: {e}", self.path.display(), number + 1))
                })?;
                found = Some(print);
            }
        }
        Ok(found)
    }

    /// Pins `fingerprint` for `host:port` and replaces an older one.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn set(&self, host: &str, fingerprint: Fingerprint) -> Result<(), Error> {
        let keep = |line: &&str| entry(line).is_none_or(|(name, _)| name != host);
        let old = self.read()?;
        let mut text: String = old.lines().filter(keep).map(|l| format!("{l}\n")).collect();
        text.push_str(&format!("{host} {fingerprint}\n"));
        if let Some(directory) = self.path.parent() {
            create_private_dir(directory)?;
        }
        // Write a temporary file and rename it, so that the file is always complete.
        let temporary = self
            .path
            .with_extension(format!("{}.tmp", std::process::id()));
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .and_then(|()| fs::rename(&temporary, &self.path))
            .map_err(Error::file(
                &self.path,
                "write the server's fingerprint to this file",
            ))
    }

    fn read(&self) -> Result<String, Error> {
        match fs::read_to_string(&self.path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(String::new()),
            result => result.map_err(Error::file(&self.path, "read")),
        }
    }
}

fn entry(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    if line.starts_with('#') {
        None
    } else {
        line.split_once(char::is_whitespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch_directory::ScratchDirectory;

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
            fs::read_to_string(&known.path)
                .expect("a file")
                .lines()
                .count(),
            2
        );
        fs::write(&known.path, "# mine\nx:4440 nonsense\n").expect("written");
        let error = known.get("x:4440").expect_err("damaged").to_string();
        assert!(error.contains(":2:"), "{error}");
    }
}
