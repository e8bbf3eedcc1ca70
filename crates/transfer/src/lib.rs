//! File transfers over QUIC: the server, the sender, and their wire format.
//!
//! * [`Server`] stores files in one directory; [`send()`] uploads one file.
//! * TLS 1.3 encrypts and authenticates. The server is identified by the [`Fingerprint`] of its
//!   key, pinned on first use as in ssh ([`KnownHosts`]); the client proves itself with a
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

mod blocking;
mod blocks;
mod cancel;
mod client;
mod code;
mod connection;
mod credentials;
pub mod decoders;
mod defaults;
mod error;
mod file_calls;
mod file_receiver;
mod file_sender;
mod fingerprint;
mod introduction;
mod lock;
mod path;
mod pipe;
#[cfg(test)]
mod planted;
mod random;
mod ranges;
#[cfg(test)]
mod scratch_directory;
mod server;
pub mod service;
#[cfg(test)]
mod simulated;
mod storage;
mod token;
mod turns;
pub mod wire;
mod words;
#[cfg(test)]
mod world;

pub use blocks::CHUNK;
pub use client::{
    BurstSummary, ClientOptions, DeleteOptions, Direction, Filter, GetOptions, GetReport,
    IntervalSample, ListOptions, Listing, MeasureOptions, MeasureReport, Measurement, Outcome,
    PROBE_SAMPLING, PathSummary, PathUse, PipeClient, ProbeReport, ProbeSample, ProbeStage,
    Progress, RemoveOptions, Report, Retry, SendOptions, SendSource, ServerAddress, StreamReader,
    Summary, TracePoint, TreeOptions, TreeReport, Update, VerdictCounts, Via, Wanted,
    fingerprint_of, get, list, measure, probe, remove, send, send_tree, transfer,
};
pub use code::{FetchOptions, Fetched, OfferOptions, fetch, offer};
pub use connection::key_exchange::KeyExchange;
pub use connection::over_tcp::{TcpAlgorithm, TcpControl, Transport, TransportChoice};
pub use connection::qlog::QlogFolder;
pub use credentials::identity::{Identity, default_state_dir};
pub use credentials::known_hosts::KnownHosts;
pub use credentials::known_paths::KnownPaths;
pub use credentials::known_tokens::KnownTokens;
pub use credentials::tls::ALPN;
pub use defaults::{DEFAULT_CONTROLLER, DEFAULT_PORT, default_controller};
pub use error::Error;
pub use fingerprint::{Fingerprint, Pins};
pub use path::{NameError, RemotePath, printable};
pub use pipe::Carried;
pub use random::NoRandomness;
pub use server::{
    Counts, Event, Incoming, IncomingPath, Limits, Receiving, RemoteUser, ServeOptions, Server,
    Share, users,
};
pub use storage::KeepFree;
pub use token::{Token, TokenHash};
pub use whimbrel_quic::key_exchange::AcceptedGroups;
pub use wire::{Reason, Refusal};
pub use words::Code;
