//! Finds the instances and reads their state. Any user can listen on any abstract socket, so the
//! other end is checked, and its answer is bounded in size and time and is never shown unfiltered.

use super::{MAX_ANSWER, PREFIX, Snapshot};
use crate::LinuxError;
use nix::errno::Errno;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, getsockopt, socket};
use nix::unistd::geteuid;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The sockets of this network namespace.
const SOCKETS: &str = "/proc/self/net/unix";
/// At most this many instances are queried.
const INSTANCES: usize = 100;
/// How long an instance has to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The instances that were found.
#[derive(Debug, Default)]
pub struct Found {
    /// Their states, in the order of their PIDs.
    pub snapshots: Vec<Snapshot>,
    /// PIDs of those that belong to another user.
    pub refused: Vec<u32>,
}

/// All instances of this network namespace.
///
/// # Errors
/// If the list of sockets cannot be read.
pub fn instances() -> Result<Found, LinuxError> {
    let text =
        fs::read_to_string(SOCKETS).map_err(LinuxError::os("reading /proc/self/net/unix"))?;
    let mut found = Found::default();
    let mut queried = 0;
    for pid in pids(&text) {
        let asked = connected(pid).and_then(|stream| {
            queried += 1;
            query(pid, stream)
        });
        match asked {
            Ok(snapshot) => found.snapshots.push(snapshot),
            Err(Unanswered::OfAnotherUser) if found.refused.len() < INSTANCES => {
                found.refused.push(pid);
            }
            // It has ended, does not answer, or poses as another.
            Err(_) => {}
        }
        if queried == INSTANCES {
            break;
        }
    }
    Ok(found)
}

/// The PIDs in the names of listening sockets.
fn pids(text: &str) -> BTreeSet<u32> {
    let pid = |line: &str| {
        // Num RefCount Protocol Flags Type St Inode Path; the flag is `__SO_ACCEPTCON`.
        let mut words = line.split_whitespace();
        let flags = words.nth(3)?;
        let name = words.nth(3)?;
        let pid = name.strip_prefix('@')?.strip_prefix(PREFIX)?;
        (flags == "00010000").then(|| pid.parse().ok())?
    };
    text.lines().filter_map(pid).collect()
}

#[derive(Debug)]
enum Unanswered {
    OfAnotherUser,
    Failed,
}

impl<E: std::error::Error> From<E> for Unanswered {
    fn from(_: E) -> Self {
        Self::Failed
    }
}

/// A connection to an instance that this user may query. It takes no time: others cannot hide the
/// instances by having many sockets.
fn connected(pid: u32) -> Result<UnixStream, Unanswered> {
    let stream = open(pid)?;
    let peer = getsockopt(&stream, PeerCredentials)?;
    // Any process can take the name of another.
    if u32::try_from(peer.pid()) != Ok(pid) {
        return Err(Unanswered::Failed);
    }
    let own = geteuid();
    if !own.is_root() && peer.uid() != own.as_raw() && peer.uid() != 0 {
        return Err(Unanswered::OfAnotherUser);
    }
    Ok(stream)
}

/// The state of one instance.
fn query(pid: u32, mut stream: UnixStream) -> Result<Snapshot, Unanswered> {
    let text = read(&mut stream)?;
    if text.is_empty() {
        return Err(Unanswered::OfAnotherUser);
    }
    let snapshot: Snapshot = serde_json::from_slice(&text)?;
    Ok(Snapshot { pid, ..snapshot })
}

/// Connects without waiting: a socket whose queue is full answers no one.
fn open(pid: u32) -> Result<UnixStream, Errno> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    let address = UnixAddr::new_abstract(format!("{PREFIX}{pid}").as_bytes())?;
    connect(fd.as_raw_fd(), &address)?;
    Ok(UnixStream::from(fd))
}

/// Reads to the end, within the limits of size and time.
fn read(stream: &mut UnixStream) -> std::io::Result<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    stream.set_nonblocking(false)?;
    let mut text = Vec::new();
    let mut part = [0; 1 << 14];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || text.len() as u64 > MAX_ANSWER {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => return Ok(text),
            n => text.extend_from_slice(&part[..n]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listening_sockets_of_this_name_count() {
        let text = "\
Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 31415 @whimbrel-tcp-4711
0000000000000000: 00000003 00000000 00000000 0001 03 31416 @whimbrel-tcp-4711
0000000000000000: 00000003 00000000 00000000 0001 03 31417 @whimbrel-tcp-99
0000000000000000: 00000002 00000000 00010000 0001 01 31418 @whimbrel-tcp-x
0000000000000000: 00000002 00000000 00010000 0001 01 31419 /run/whimbrel-tcp-5
0000000000000000: 00000002 00000000 00010000 0001 01 31420
0000000000000000: 00000002 00000000 00010000 0001 01 31421 @whimbrel-tcp-12
";
        assert_eq!(pids(text).into_iter().collect::<Vec<_>>(), [12, 4711]);
    }

    #[test]
    fn an_answer_without_an_end_is_not_read_to_the_end() {
        let (mut ours, mut theirs) = UnixStream::pair().expect("a pair");
        let writer = std::thread::spawn(move || {
            let part = [b' '; 1 << 16];
            let most = 4 * MAX_ANSWER as usize;
            // It ends when the reader has given up.
            let mut written = 0;
            while written < most && std::io::Write::write_all(&mut theirs, &part).is_ok() {
                written += part.len();
            }
            written < most
        });
        assert!(read(&mut ours).is_err());
        drop(ours);
        assert!(writer.join().expect("no panic"), "all of it was read");
    }
}
