//! The server's event and options.

use super::users::{Rights, User, Users};
use crate::connection::key_exchange::KeyExchange;
use crate::connection::over_tcp::TcpAlgorithm;
use crate::connection::qlog::QlogFolder;
use crate::error::Error;
use crate::path::RemotePath;
use crate::storage::KeepFree;
use crate::words::Code;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use whimbrel_cc::Spec;
use whimbrel_cc::fairness::Priority;
use whimbrel_quic::key_exchange::AcceptedGroups;
use whimbrel_units::{Bytes, Duration as Span};

/// Limits on the resources of peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum file size; never more than 16 TiB.
    pub file: Bytes,
    /// Maximum number of connections with transfers; further ones wait for their turn. Each may
    /// hold up to 128 MiB of data that waits for the disk, after the client has shown the token.
    pub connections: usize,
    /// Maximum number of concurrent files per connection.
    pub transfers: usize,
    /// Timeout of the handshake and of the request.
    pub handshake: Span,
    /// A connection is closed when the peer is silent for this long; earlier if the client wants.
    pub idle: Span,
    /// A transfer fails when no data arrives for this long, although the peer is alive.
    pub stall: Span,
    /// Maximum bytes of a measurement of the path, which are discarded; 0 permits none.
    pub probe: Bytes,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file: Bytes::new(1 << 40),
            connections: 16,
            transfers: 16,
            handshake: Span::from_secs(10),
            idle: Span::from_secs(180),
            stall: Span::from_secs(60),
            probe: Bytes::new(1 << 30),
        }
    }
}

/// Options of a server.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Directory in which files are stored. The server writes nowhere else.
    pub directory: PathBuf,
    /// Local address. Port 0 selects a free port.
    pub listen: SocketAddr,
    /// Replace files of the same name. A file is replaced atomically.
    pub overwrite: bool,
    /// Limits on the resources of peers.
    pub limits: Limits,
    /// The highest priority that a client gets. One that requests a higher priority gets this one.
    /// Only controllers that share by priority use it.
    pub max_priority: Priority,
    /// What of the disk transfers never use.
    pub keep_free: KeepFree,
    /// Incomplete files that have not changed for this long are removed when the server starts, and
    /// once an hour. 7 days are usual.
    pub keep_partial: Span,
    /// The congestion controller of what the server sends.
    pub controller: Spec,
    /// Start sending to a client at a rate that the path to it carried within the last day,
    /// carefully (RFC 9959).
    pub resume_rate: bool,
    /// What the owner of the identity's token may do, if there are no other users.
    pub rights: Rights,
    /// Where to log every packet.
    pub qlog: Option<QlogFolder>,
    /// Also listen on TCP, at the same port, for clients to which UDP is blocked.
    pub tcp: bool,
    /// The algorithm of what is sent over TCP; `None`: the kernel's.
    pub tcp_algorithm: Option<TcpAlgorithm>,
    /// Which key exchanges are accepted.
    pub groups: AcceptedGroups,
    /// Who may use the server; `None`: the owner of the identity's token.
    pub users: Option<Users>,
    /// The first client who proves to have these words becomes the owner.
    pub code: Option<Code>,
    /// Let strangers meet here: see [`offer`](crate::offer).
    pub meet: bool,
}

impl ServeOptions {
    /// Options with the defaults: nothing is replaced, every priority is granted, incomplete files
    /// stay for 7 days.
    pub fn new(directory: impl Into<PathBuf>, listen: SocketAddr) -> Self {
        Self {
            directory: directory.into(),
            listen,
            overwrite: false,
            limits: Limits::default(),
            max_priority: Priority::HIGHEST,
            keep_free: KeepFree::default(),
            keep_partial: Span::from_secs(7 * 24 * 3600),
            controller: crate::defaults::default_controller(),
            resume_rate: false,
            rights: Rights {
                read: false,
                write: true,
                remove: false,
            },
            qlog: None,
            tcp: true,
            tcp_algorithm: None,
            groups: AcceptedGroups::default(),
            users: None,
            code: None,
            meet: false,
        }
    }
}

/// A client: where it is, and who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteUser {
    /// Its address.
    pub address: SocketAddr,
    /// The name of its user; `None` before it has shown a token.
    pub user: Option<String>,
}

/// The address, behind the user's name unless it is that of the only user.
impl fmt::Display for RemoteUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.user.as_deref() {
            None | Some(User::OWNER) => write!(f, "{}", self.address),
            Some(user) => write!(f, "{user} at {}", self.address),
        }
    }
}

/// An event, to be shown to the operator of the server.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A file was stored under its name.
    Stored {
        /// The client.
        peer: RemoteUser,
        /// How the keys of its connection were agreed on.
        key_exchange: Option<KeyExchange>,
        /// The file's name.
        name: RemotePath,
        /// The file's size.
        bytes: Bytes,
        /// Time from the request to the answer.
        took: Span,
        /// The file's hash.
        hash: blake3::Hash,
    },
    /// The files of a tree were stored.
    StoredTree {
        /// The client.
        peer: RemoteUser,
        /// How the keys of its connection were agreed on.
        key_exchange: Option<KeyExchange>,
        /// Their directory; `None` is the user's own.
        name: Option<RemotePath>,
        /// The number of files.
        files: u64,
        /// Their bytes.
        bytes: Bytes,
        /// Time from the request to the answer.
        took: Span,
    },
    /// A file was sent to a client.
    Sent {
        /// The client.
        peer: RemoteUser,
        /// How the keys of its connection were agreed on.
        key_exchange: Option<KeyExchange>,
        /// The file's name.
        name: RemotePath,
        /// The file's size.
        bytes: Bytes,
        /// Time from the request to the client's confirmation.
        took: Span,
        /// The file's hash.
        hash: blake3::Hash,
    },
    /// Many small files were sent to a client.
    SentTree {
        /// The client.
        peer: RemoteUser,
        /// How the keys of its connection were agreed on.
        key_exchange: Option<KeyExchange>,
        /// The number of files.
        files: u64,
        /// Their bytes.
        bytes: Bytes,
        /// Time from the request until all were handed to the connection.
        took: Span,
    },
    /// Files were removed.
    Removed {
        /// The client.
        peer: RemoteUser,
        /// What was removed.
        name: RemotePath,
        /// The number of files and directories.
        count: u64,
    },
    /// A pipe has ended.
    Piped {
        /// The client.
        peer: RemoteUser,
        /// How the keys of its connection were agreed on.
        key_exchange: Option<KeyExchange>,
        /// What it reached.
        target: String,
        /// Bytes from the target to the client.
        sent: Bytes,
        /// Bytes from the client to the target.
        received: Bytes,
        /// Time from the request to the end of the target.
        took: Span,
    },
    /// A client has proved to have the words of the server's code.
    Introduced {
        /// The client.
        peer: RemoteUser,
    },
    /// A request failed.
    Failed {
        /// The client.
        peer: RemoteUser,
        /// The file's name, if the request got that far.
        name: Option<RemotePath>,
        /// The reason.
        error: Error,
    },
}
