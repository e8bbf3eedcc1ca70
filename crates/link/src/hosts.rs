//! Names of nodes for programs, by a hosts(5) file of their own.

use nix::mount::{MsFlags, mount};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The file of the host.
const HOSTS: &str = "/etc/hosts";
/// Names that are tried for the file.
const MAX_NAMES: u32 = 16;

/// Adds these lines to what the processes of this mount namespace find in `/etc/hosts`; the host's
/// own file stays as it is. The namespace must be private. `emulator`: its PID, since that of the
/// calling process is 1 in each namespace.
///
/// # Errors
/// If the system refuses, or there is no such file.
pub(crate) fn add(lines: &str, emulator: u32) -> io::Result<()> {
    let before = fs::read_to_string(HOSTS)?;
    // It needs a name only until it is mounted.
    let (path, mut file) = new_file(&std::env::temp_dir(), emulator)?;
    let written = file.write_all(format!("{before}\n{lines}").as_bytes());
    let none = None::<&str>;
    let mounted = written.and_then(|()| {
        mount(Some(&path), HOSTS, none, MsFlags::MS_BIND, none).map_err(io::Error::from)
    });
    let _ = fs::remove_file(&path);
    mounted
}

/// Creates a new file. Files of other runs may exist: one in another container that shares the
/// directory, or one that was killed. Another user may have created one to be in the way.
fn new_file(directory: &Path, emulator: u32) -> io::Result<(PathBuf, File)> {
    let mut number = 0;
    loop {
        let path = directory.join(format!("whimbrel-hosts-{emulator}-{number}"));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o644);
        match options.open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                number += 1;
                if number == MAX_NAMES {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_runs_are_left_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let make = |emulator| new_file(directory.path(), emulator);
        let made: Vec<_> = [7, 7, 8]
            .map(|emulator| make(emulator).expect("a name").0)
            .into();
        let mut names = made.clone();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 3, "{made:?}");
        let more = (0..MAX_NAMES).map_while(|_| make(8).ok()).count();
        assert_eq!(more as u32, MAX_NAMES - 1, "it does not try for ever");
    }
}
