//! A file with one value for each server, `host:port value` a line, as ssh's `known_hosts`. Lines
//! that begin with `#` are comments.

use crate::Error;
use crate::private_file::{self, Access};
use std::path::{Path, PathBuf};

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

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The value for `host:port`, and its line; the last one if there are several.
    ///
    /// # Errors
    /// If the file cannot be read, or other users have access that they should not have.
    pub fn get(&self, host: &str) -> Result<Option<(usize, String)>, Error> {
        let text = private_file::read(&self.path, self.access)?.unwrap_or_default();
        let lines = (1..).zip(text.lines());
        let found = lines.filter_map(|(number, line)| {
            let (name, value) = entry(line)?;
            (name == host).then(|| (number, value.trim().to_owned()))
        });
        Ok(found.last())
    }

    /// Sets the value for `host:port` and replaces an older one. Other processes may do so at the
    /// same time.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn set(&self, host: &str, value: &str) -> Result<(), Error> {
        if let Some(directory) = self.path.parent() {
            private_file::create_directory(directory)?;
        }
        let _lock = private_file::lock(&self.path)?;
        let keep = |line: &&str| entry(line).is_none_or(|(name, _)| name != host);
        let old = private_file::read(&self.path, self.access)?.unwrap_or_default();
        let mut text: String = old.lines().filter(keep).map(|l| format!("{l}\n")).collect();
        text.push_str(&format!("{host} {value}\n"));
        private_file::replace(&self.path, text.as_bytes())
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
    fn values_written_in_parallel_are_all_there() {
        let scratch = ScratchDirectory::new();
        let file = HostFile::at(scratch.path().join("sub/hosts"), Access::Secret);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let file = file.clone();
                scope.spawn(move || {
                    for n in 0..10 {
                        file.set(&format!("h{thread}-{n}:1"), &format!("v{n}"))
                            .expect("written");
                    }
                });
            }
        });
        for thread in 0..8 {
            for n in 0..10 {
                let value = file.get(&format!("h{thread}-{n}:1")).expect("read");
                assert_eq!(value.map(|(_, v)| v), Some(format!("v{n}")));
            }
        }
    }
}
