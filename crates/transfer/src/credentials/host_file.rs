//! A file with one value for each server, `host:port value` a line, as ssh's `known_hosts`. Lines
//! that begin with `#` are comments.

use super::private_file;
use super::private_file::Access;
use crate::error::Error;
use std::path::PathBuf;
use std::str::FromStr;
use zeroize::Zeroizing;

/// The file.
#[derive(Debug, Clone)]
pub(crate) struct HostFile {
    path: PathBuf,
    access: Access,
}

impl HostFile {
    /// The file at `path`; it need not exist yet.
    pub fn at(path: impl Into<PathBuf>, access: Access) -> Self {
        Self {
            path: path.into(),
            access,
        }
    }

    /// The value for `host:port`; the last one if there are several.
    ///
    /// # Errors
    /// If the file cannot be read, other users have access that they should not have, or the line
    /// is damaged.
    pub fn get<T: FromStr<Err = String>>(&self, host: &str) -> Result<Option<T>, Error> {
        let text = private_file::read(&self.path, self.access)?.unwrap_or_default();
        let damaged = |(line, e)| Error::Private(format!("{}:{line}: {e}", self.path.display()));
        find(&text, host).map_err(damaged)
    }

    /// Sets the value for `host:port` and replaces an older one. Other processes may do so at the
    /// same time.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn set(&self, host: &str, value: &str) -> Result<(), Error> {
        self.set_among(usize::MAX, host, value)
    }

    /// The same, and removes the oldest entries beyond `most`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn set_among(&self, most: usize, host: &str, value: &str) -> Result<(), Error> {
        if let Some(directory) = self.path.parent() {
            private_file::create_directory(directory)?;
        }
        let _lock = private_file::lock(&self.path)?;
        let keep = |line: &&str| entry(line).is_none_or(|(name, _)| name != host);
        let old = private_file::read(&self.path, self.access)?.unwrap_or_default();
        let kept: Vec<&str> = old.lines().filter(keep).collect();
        let from = (kept.len() + 1).saturating_sub(most);
        let size: usize = kept.iter().map(|line| line.len() + 1).sum();
        let more = host.len() + value.len() + 2;
        let mut text = Zeroizing::new(String::with_capacity(size + more));
        for part in kept[from..].iter().flat_map(|line| [line, "\n"]) {
            text.push_str(part);
        }
        for part in [host, " ", value, "\n"] {
            text.push_str(part);
        }
        private_file::replace(&self.path, text.as_bytes())
    }
}

/// The value for `host:port` in a file of this text; the last one if there are several.
///
/// # Errors
/// If its line is damaged; which line, and how.
pub(crate) fn find<T: FromStr<Err = String>>(
    text: &str,
    host: &str,
) -> Result<Option<T>, (usize, String)> {
    let lines = (1..).zip(text.lines());
    let values = lines.filter_map(|(number, line)| Some((number, entry(line)?)));
    let Some((line, (_, value))) = values.filter(|(_, (name, _))| *name == host).last() else {
        return Ok(None);
    };
    let damaged = |e| (line, e);
    value.trim().parse().map(Some).map_err(damaged)
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
    use crate::token::Token;

    #[test]
    fn values_written_in_parallel_are_all_there() {
        let scratch = ScratchDirectory::new();
        let file = HostFile::at(scratch.path().join("sub/hosts"), Access::Secret);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let file = file.clone();
                scope.spawn(move || {
                    for n in 0..10 {
                        let token = Token::random().expect("randomness").reveal();
                        file.set(&format!("h{thread}-{n}:1"), &token)
                            .expect("written");
                    }
                });
            }
        });
        for thread in 0..8 {
            for n in 0..10 {
                let value = file.get::<Token>(&format!("h{thread}-{n}:1"));
                assert!(value.expect("read").is_some());
            }
        }
    }
}
