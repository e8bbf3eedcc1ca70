//! Why a transfer failed. Every text is meant to be shown to a person.

use crate::Fingerprint;
use crate::wire::{Reason, Refusal};
use std::io;
use std::path::{Path, PathBuf};

/// Why a file was not sent, or a server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server said no.
    #[error("the server refused: {0}")]
    Refused(Refusal),
    /// The server is not known and nobody said what its fingerprint is.
    #[error(
        "{host} is not known. Its fingerprint is\n  {found}\nCompare it with what `whimbrel serve` \
         printed there; if it is the same, add\n  --fingerprint {found}\nIt is remembered after that."
    )]
    Unknown {
        /// As the person wrote it.
        host: String,
        /// What it showed.
        found: Fingerprint,
    },
    /// The server is not who it was expected to be.
    #[error(
        "{host} is not the server it should be: somebody may be listening in.\n  expected {expected}\n  \
         found    {found}\nIf the server was set up anew, check the new fingerprint with its owner and \
         add --fingerprint {found}"
    )]
    Impostor {
        /// As the person wrote it.
        host: String,
        /// What was pinned.
        expected: Fingerprint,
        /// What it showed.
        found: Fingerprint,
    },
    /// No connection could be made.
    #[error("no connection to {host}: {why}")]
    Connect {
        /// As the person wrote it.
        host: String,
        /// What went wrong.
        why: String,
    },
    /// The connection broke.
    #[error("the connection was lost: {0}; the file was not stored")]
    Lost(String),
    /// The peer does not speak the protocol.
    #[error("the peer broke the protocol: {0}")]
    Protocol(String),
    /// A file or directory could not be used.
    #[error("{path}: cannot {what}: {cause}")]
    File {
        /// Which.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// The file changed while it was being sent.
    #[error("{0}: the file became shorter while it was being sent")]
    Changed(PathBuf),
    /// The key, certificate or token could not be made or read.
    #[error("the server's identity: {0}")]
    Identity(String),
    /// A socket could not be opened.
    #[error("cannot open a UDP socket on {address}: {cause}")]
    Socket {
        /// Where.
        address: std::net::SocketAddr,
        /// What the system said.
        cause: io::Error,
    },
    /// The congestion controller cannot run here.
    #[error(transparent)]
    Controller(#[from] whimbrel_quic::NotCarried),
    /// The person stopped it.
    #[error("stopped; the file is not stored there")]
    Stopped,
}

impl Error {
    pub(crate) fn file(
        path: impl AsRef<Path>,
        what: &'static str,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |cause| Self::File { path, what, cause }
    }

    pub(crate) fn refused(reason: Reason, text: impl Into<String>) -> Self {
        Self::Refused(Refusal::new(reason, text))
    }

    /// What a peer may be told of it: our paths and the system's messages stay here.
    pub(crate) fn for_peer(&self) -> Refusal {
        match self {
            Self::Refused(refusal) => refusal.clone(),
            Self::Protocol(text) => Refusal::new(Reason::Protocol, text.clone()),
            Self::File { cause, .. } if is_full(cause) => Refusal::new(
                Reason::DiskFull,
                "the disk filled up while the file was written",
            ),
            Self::Stopped => Refusal::new(Reason::Stopping, "the server is being stopped"),
            _ => Refusal::new(
                Reason::Internal,
                "the server could not store the file; its log says why",
            ),
        }
    }
}

/// Whether the system said that there is no room, or no more allowed.
pub(crate) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_fills_up_while_writing_is_told_as_such_and_nothing_else_of_ours_is() {
        for error in [
            rustix::io::Errno::NOSPC,
            rustix::io::Errno::DQUOT,
            rustix::io::Errno::FBIG,
        ] {
            let told = Error::file("/secret/place", "write")(error.into()).for_peer();
            assert_eq!(told.reason, Reason::DiskFull);
            assert!(!told.text.contains("secret"));
        }
        let told = Error::file("/secret/place", "write")(rustix::io::Errno::IO.into()).for_peer();
        assert_eq!(told.reason, Reason::Internal);
        assert!(!told.text.contains("secret"));
    }
}
