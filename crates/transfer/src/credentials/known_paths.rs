//! What the paths to servers carried, so that the next transfer starts at speed (RFC 9959).
//!
//! An entry belongs to a server, by its fingerprint, and to the network from which it was reached,
//! by the address that this host has there. A file that only its owner may read has one a line:
//! `FINGERPRINT/ADDRESS CWND RTT SAVED`, in bytes, microseconds, and seconds since 1970. It is
//! bounded: the oldest of many entries goes, and none lives longer than a day.

use super::host_file::HostFile;
use super::private_file::Access;
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};
use whimbrel_cc::SavedPath;
use whimbrel_quic::Snapshot;
use whimbrel_units::{Bytes, Duration};

/// Entries of a file.
const MOST: usize = 256;
/// Seconds after which an entry says nothing about its path.
const LIFE: u64 = 24 * 60 * 60;
/// Limits of what is believed: a window of more than QUIC's largest receive window, or a longer RTT
/// than any path has, is damage.
const LIMITS: (u64, u64) = (1 << 32, 60_000_000);

/// A file of paths. Lines that begin with `#` are comments.
#[derive(Debug, Clone)]
pub struct KnownPaths(HostFile);

/// The path of one connection: a server, and the network from which it is reached.
#[derive(Debug, Clone)]
pub(crate) struct KnownPath {
    file: HostFile,
    key: String,
}

/// What was saved, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    path: SavedPath,
    /// Seconds since 1970.
    saved: u64,
}

impl KnownPaths {
    /// The file at `path`; it need not exist yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(HostFile::at(path, Access::Secret))
    }

    /// The path to the server with this fingerprint, at this address; `None` if the system has no
    /// route to it.
    pub(crate) fn to(&self, server: Fingerprint, address: SocketAddr) -> Option<KnownPath> {
        Some(KnownPath {
            file: self.0.clone(),
            key: format!("{server}/{}", network(address)?),
        })
    }
}

impl KnownPath {
    /// What an earlier connection found, if that is not too long ago. A file that cannot be read,
    /// or that others may read, has nothing to say: a transfer does not depend on it.
    pub fn saved(&self) -> Option<SavedPath> {
        self.saved_at(now())
    }

    fn saved_at(&self, now: u64) -> Option<SavedPath> {
        let entry: Entry = self.file.get(&self.key).ok().flatten()?;
        let lives = (entry.saved..=entry.saved.saturating_add(LIFE)).contains(&now);
        lives.then_some(entry.path)
    }

    /// Saves what a connection found.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: SavedPath) -> Result<(), Error> {
        let entry = Entry { path, saved: now() };
        self.file.set_among(MOST, &self.key, &entry.to_string())
    }
}

/// What to save after a connection that saw `seen`, if `before` was saved before it. A short
/// transfer counts alone only if it met losses.
pub(crate) fn to_save(seen: &Snapshot, before: Option<SavedPath>) -> Option<SavedPath> {
    let Some(path) = seen.path else {
        return before;
    };
    let alone = seen.path_is_settled || seen.episodes.reductions > 0;
    Some(path.replacing(before, alone))
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, saved } = self;
        write!(
            f,
            "{} {} {saved}",
            path.cwnd.get(),
            path.rtt.as_nanos() / 1000
        )
    }
}

impl FromStr for Entry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a window, an RTT and a time");
        let numbers: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
        match numbers.map_err(|_| wrong())?[..] {
            [cwnd, rtt, saved] if cwnd <= LIMITS.0 && (1..=LIMITS.1).contains(&rtt) => Ok(Self {
                path: SavedPath {
                    cwnd: Bytes::new(cwnd),
                    rtt: Duration::from_micros(rtt),
                },
                saved,
            }),
            _ => Err(wrong()),
        }
    }
}

/// The address that this host has on the way to `address`. Of IPv6 its network of 64 bits, since
/// the rest may change each day (RFC 8981).
fn network(address: SocketAddr) -> Option<IpAddr> {
    #[cfg(test)]
    if crate::simulated::network::is_simulated() {
        return Some(address.ip());
    }
    let any: SocketAddr = match address {
        SocketAddr::V4(_) => ([0; 4], 0).into(),
        SocketAddr::V6(_) => ([0; 8], 0).into(),
    };
    // No packet leaves: the system chooses a route.
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(address).ok()?;
    Some(match socket.local_addr().ok()?.ip() {
        IpAddr::V6(ip) => {
            let [a, b, c, d, ..] = ip.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        ip => ip,
    })
}

/// Seconds since 1970.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch_directory::ScratchDirectory;
    use proptest::prelude::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    const PATH: SavedPath = SavedPath {
        cwnd: Bytes::new(1_500_000),
        rtt: Duration::from_millis(600),
    };

    fn fingerprint(n: u8) -> Fingerprint {
        format!("{n:02x}").repeat(32).parse().expect("64 digits")
    }

    fn file() -> (ScratchDirectory, PathBuf, KnownPaths) {
        let scratch = ScratchDirectory::new();
        let at = scratch.path().join("state/paths");
        let paths = KnownPaths::at(&at);
        (scratch, at, paths)
    }

    #[test]
    fn a_path_is_remembered_for_a_day_by_server_and_network() {
        let (_scratch, at, paths) = file();
        let loopback: SocketAddr = ([127, 0, 0, 1], 1).into();
        let path = paths.to(fingerprint(1), loopback).expect("a route");
        assert_eq!(path.saved(), None);
        path.save(PATH).expect("saved");
        assert_eq!(path.saved(), Some(PATH));
        assert_eq!(path.saved_at(now() + LIFE - 60), Some(PATH));
        assert_eq!(path.saved_at(now() + LIFE + 60), None);
        assert_eq!(path.saved_at(now() - 60), None, "a clock that went back");
        let other = paths.to(fingerprint(2), loopback).expect("a route");
        assert_eq!(other.saved(), None);
        let mode = fs::metadata(&at).expect("there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "only its owner reads it");
    }

    #[test]
    fn the_file_is_bounded_and_keeps_the_newest() {
        let (_scratch, at, paths) = file();
        for n in 0..MOST + 10 {
            let path = KnownPath {
                file: paths.0.clone(),
                key: format!("server-{n}/127.0.0.1"),
            };
            path.save(PATH).expect("saved");
        }
        let text = fs::read_to_string(at).expect("text");
        assert_eq!(text.lines().count(), MOST);
        assert!(text.starts_with("server-10/"), "{}", &text[..40]);
    }

    #[test]
    fn what_others_can_change_or_what_is_damaged_counts_for_nothing() {
        let (_scratch, at, paths) = file();
        let loopback: SocketAddr = ([127, 0, 0, 1], 1).into();
        let path = paths.to(fingerprint(1), loopback).expect("a route");
        path.save(PATH).expect("saved");
        fs::set_permissions(&at, fs::Permissions::from_mode(0o666)).expect("set");
        assert_eq!(path.saved(), None);
        fs::set_permissions(&at, fs::Permissions::from_mode(0o600)).expect("set");
        let line = format!("{} 99999999999999 1 1\n", path.key);
        fs::write(&at, line).expect("written");
        assert_eq!(path.saved(), None);
    }

    proptest! {
        #[test]
        fn entries_are_read_as_written_and_others_do_not_panic(
            cwnd in 0..=LIMITS.0,
            rtt in 1..=LIMITS.1,
            saved: u64,
            text in ".*",
        ) {
            let path = SavedPath { cwnd: Bytes::new(cwnd), rtt: Duration::from_micros(rtt) };
            let entry = Entry { path, saved };
            prop_assert_eq!(entry.to_string().parse::<Entry>(), Ok(entry));
            let _ = text.parse::<Entry>();
        }
    }
}
