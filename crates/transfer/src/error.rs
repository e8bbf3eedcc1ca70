//! Errors of a transfer. Every message is meant for the user.

use crate::fingerprint::Fingerprint;
use crate::path::printable;
use crate::random::NoRandomness;
use crate::wire::{Reason, Refusal};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Why a file was not sent, or a server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server refused the request.
    #[error("the server refused: {0}")]
    Refused(Refusal),
    /// This computer cannot store what it gets, for a reason that a server may have, too.
    #[error("{0}")]
    Here(Refusal),
    /// The server is not known, and no fingerprint was given.
    #[error(
        "the server {host} is not known. Its fingerprint is\n  {found}\nCompare it with the one \
         that the server printed when it started, or prints with `whimbrel key show`."
    )]
    UnknownServer {
        /// The server as the user wrote it.
        host: String,
        /// The fingerprint of its key.
        found: Fingerprint,
    },
    /// The server's fingerprint is not the expected one.
    #[error(
        "{host} has another fingerprint than expected; the connection may be intercepted.\n  \
         expected {expected}\n  found    {found}\nIf the server was set up again, check the new \
         fingerprint with its owner."
    )]
    FingerprintMismatch {
        /// The server as the user wrote it.
        host: String,
        /// The pinned fingerprint.
        expected: Fingerprint,
        /// The fingerprint of its key.
        found: Fingerprint,
    },
    /// The two ends have no key exchange in common.
    #[error("{}", no_common_group(host, *required))]
    KeyExchange {
        /// The server as the user wrote it.
        host: String,
        /// This end accepts post-quantum key exchanges only.
        required: bool,
    },
    /// No connection could be established.
    #[error("cannot connect to {host}: {why}")]
    Connect {
        /// The server as the user wrote it.
        host: String,
        /// What failed.
        why: String,
    },
    /// The connection was lost.
    #[error("the connection was lost: {0}")]
    Lost(String),
    /// The peer violated the protocol.
    #[error("the peer violated the protocol: {0}")]
    Protocol(String),
    /// A file or directory could not be used.
    #[error("{}: cannot {what}: {cause}", shown(path))]
    File {
        /// Path of the file or directory.
        path: PathBuf,
        /// The operation, to follow "cannot".
        what: &'static str,
        /// The system's error.
        cause: io::Error,
    },
    /// What the source of a transfer does not have was not removed at its destination.
    #[error("nothing was removed: {why}")]
    NothingRemoved {
        /// The reason.
        why: String,
        /// If a higher maximum permits it: how many files and directories would be removed.
        count: Option<u64>,
    },
    /// A transfer by a code failed: wrong words, nobody came, or the ends cannot meet.
    #[error("{0}")]
    Code(String),
    /// The file changed while it was sent, again and again.
    #[error("{}: the file changes while it is sent; send it when nothing writes to it", shown(.0))]
    Changed(PathBuf),
    /// The key or token could not be created or read.
    #[error("the server's identity: {0}")]
    Identity(String),
    /// A file that must be private is not, or is damaged.
    #[error("{0}")]
    Private(String),
    /// A socket could not be opened.
    #[error("cannot open a UDP socket on {address}: {cause}")]
    Socket {
        /// The local address.
        address: std::net::SocketAddr,
        /// The system's error.
        cause: io::Error,
    },
    /// The server cannot listen on TCP.
    #[error("cannot listen on TCP {address}: {cause}")]
    Listen {
        /// The local address.
        address: std::net::SocketAddr,
        /// The system's error.
        cause: io::Error,
    },
    /// No random numbers.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
    /// The user stopped the transfer.
    #[error("stopped")]
    Stopped,
}

impl Error {
    /// What the source does not have stays at the destination.
    pub(crate) fn nothing_removed(why: impl Into<String>) -> Self {
        Self::NothingRemoved {
            why: why.into(),
            count: None,
        }
    }

    /// Nothing is removed, since so many files could not be `done`.
    pub(crate) fn could_not(count: usize, done: &str) -> Self {
        let files = if count == 1 { "file" } else { "files" };
        Self::nothing_removed(format!("{count} {files} could not be {done}"))
    }

    pub(crate) fn file(
        path: impl AsRef<Path>,
        what: &'static str,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |cause| Self::File { path, what, cause }
    }

    /// An error of this computer's storage, which is not the server's.
    pub(crate) fn here(self) -> Self {
        match self {
            Self::Refused(refusal) => Self::Here(refusal),
            other => other,
        }
    }

    pub(crate) fn refused(reason: Reason, text: impl Into<String>) -> Self {
        Self::Refused(Refusal::new(reason, text))
    }

    /// Whether the same may succeed later without anybody doing anything.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Refused(refusal) | Self::Here(refusal) => refusal.reason.is_temporary(),
            Self::Lost(_) | Self::Connect { .. } | Self::Socket { .. } => true,
            _ => false,
        }
    }

    /// The part of the error that the peer may see: local paths and system messages stay here.
    pub(crate) fn for_peer(&self) -> Refusal {
        match self {
            Self::Refused(refusal) | Self::Here(refusal) => refusal.clone(),
            Self::Protocol(text) => Refusal::new(Reason::Protocol, text.clone()),
            Self::Code(_) => Refusal::new(Reason::Token, "the words are different"),
            Self::File { cause, .. } if is_full(cause) => Refusal::new(
                Reason::DiskFull,
                "the disk became full while the file was written",
            ),
            Self::Stopped => Refusal::new(Reason::Stopping, "the server is being stopped"),
            _ => Refusal::new(
                Reason::Internal,
                "the server could not store the file; its log says why",
            ),
        }
    }
}

fn no_common_group(host: &str, required: bool) -> String {
    match required {
        true => format!(
            "{host} does not have the post-quantum key exchange X25519MLKEM768, which is required"
        ),
        false => {
            format!("{host} accepts none of this program's key exchanges; update this program")
        }
    }
}

/// A path on one line, whatever it contains.
fn shown(path: &Path) -> String {
    printable(path.as_os_str().as_bytes())
}

/// Whether the system reported that the disk, a quota or the file size limit is exhausted.
pub(crate) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_on_its_line() {
        let error = Error::file("a\nb\x1b[31m", "open")(rustix::io::Errno::NOENT.into());
        assert!(
            error
                .to_string()
                .starts_with("a\\u{a}b\\u{1b}[31m: cannot open"),
            "{error}"
        );
        let error = Error::Changed("a\nb".into());
        assert!(error.to_string().starts_with("a\\u{a}b: "), "{error}");
    }

    #[test]
    fn the_peer_sees_a_full_disk_but_no_local_path() {
        for error in [
            rustix::io::Errno::NOSPC,
            rustix::io::Errno::DQUOT,
            rustix::io::Errno::FBIG,
        ] {
            let refusal = Error::file("/secret/place", "write")(error.into()).for_peer();
            assert_eq!(refusal.reason, Reason::DiskFull);
            assert!(!refusal.text.contains("secret"));
        }
        let refusal =
            Error::file("/secret/place", "write")(rustix::io::Errno::IO.into()).for_peer();
        assert_eq!(refusal.reason, Reason::Internal);
        assert!(!refusal.text.contains("secret"));
    }
}
