//! File transfers over QUIC: the server, the sender, and their wire format.
//!
//! * [`Server`] stores files in one directory; [`send()`] uploads one file.
//! * TLS 1.3 encrypts and authenticates. The server is identified by the [`Fingerprint`] of its
//!   certificate, pinned on first use as in ssh ([`KnownHosts`]); the client proves itself with a
//!   [`Token`].
//! * Data travels in chunks of 1 MiB, each on its own stream ([`wire`]). A gap holds up one chunk
//!   only, not the file, and no stream collects more gaps than noq allows.
//! * A file appears under its name only when it is complete: it is written under a hidden name,
//!   checked against the sender's BLAKE3 hash, flushed to disk, and then renamed.
//! * The sender chooses the congestion controller: any of
//!   [`whimbrel_cc::registry::CONTROLLERS`].
//!
//! Where UDP is blocked, the same QUIC packets travel in TLS 1.3 over TCP ([`Transport`]).
//!
//! Both sides can log every packet as qlog ([`QlogFolder`]).
//!
//! The server treats every peer as hostile until the peer has shown the token. Sizes, counts and
//! times are limited even after that ([`Limits`]).

mod blocks;
mod close;
mod connect;
mod error;
mod fetch;
mod fingerprint;
mod framing;
mod host_file;
mod identity;
mod incoming;
mod interval_statistics;
mod known_hosts;
mod known_tokens;
mod over_tcp;
mod path;
mod pipe;
mod private_file;
mod probe;
mod qlog;
mod ranges;
mod receiving;
mod routes;
#[cfg(test)]
mod scratch_directory;
mod send;
mod sending;
mod server;
mod socket;
mod storage;
mod strangers;
mod summary;
mod tls;
mod token;
mod transport;
pub mod users;
pub mod wire;

pub use blocks::CHUNK;
pub use connect::ServerAddress;
pub use error::Error;
pub use fetch::{GetOptions, GetReport, get, list, remove};
pub use fingerprint::Fingerprint;
pub use identity::{Identity, default_state_dir};
pub use incoming::{Incoming, Receiving, Share};
pub use known_hosts::KnownHosts;
pub use known_tokens::KnownTokens;
pub use over_tcp::{TcpAlgorithm, TcpControl, Transport, TransportChoice};
pub use path::{NameError, RemotePath, printable};
pub use pipe::{Carried, PipeClient, PipeOptions};
pub use probe::{ProbeReport, ProbeSample, probe};
pub use qlog::QlogFolder;
pub use send::{
    Filter, Outcome, Progress, Report, Retry, SendOptions, TreeOptions, TreeReport, Update, send,
    send_tree, transfer,
};
pub use server::{Counts, Event, Limits, ServeOptions, Server};
pub use storage::KeepFree;
pub use summary::{BurstSummary, IntervalSample, PathUse, Summary, TracePoint, VerdictCounts};
pub use tls::ALPN;
pub use token::{Token, TokenHash};
pub use wire::{Reason, Refusal};

/// The default UDP and TCP port of a server.
pub const DEFAULT_PORT: u16 = 4440;

/// The congestion controller of transfers for which none is chosen. docs/send-files.md says why.
pub const DEFAULT_CONTROLLER: &str = "whimbrel";

/// [`DEFAULT_CONTROLLER`], parsed.
pub fn default_controller() -> whimbrel_cc::Spec {
    DEFAULT_CONTROLLER
        .parse()
        .expect("the registry has the default")
}
