//! Names of nodes for programs, by a hosts(5) file of their own.

use nix::mount::{MsFlags, mount};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process;

/// The file of the host.
const HOSTS: &str = "/etc/hosts";

/// Adds these lines to what the processes of this mount namespace find in `/etc/hosts`; the host's
/// own file stays as it is. The namespace must be private.
///
/// # Errors
/// If the system refuses, or there is no such file.
pub(crate) fn add(lines: &str) -> io::Result<()> {
    let before = fs::read_to_string(HOSTS)?;
    // It needs a name only until it is mounted.
    let path = std::env::temp_dir().join(format!("whimbrel-hosts-{}", process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o644)
        .open(&path)?;
    let written = file.write_all(format!("{before}\n{lines}").as_bytes());
    let none = None::<&str>;
    let mounted = written.and_then(|()| {
        mount(Some(&path), HOSTS, none, MsFlags::MS_BIND, none).map_err(io::Error::from)
    });
    let _ = fs::remove_file(&path);
    mounted
}
