//! Files over QUIC: the service, the sender, and what they say to each other.
//!
//! * [`Server`] takes files into one directory; [`send()`] brings it one.
//! * TLS 1.3 encrypts and authenticates: the server is known by the [`Fingerprint`] of its certificate,
//!   pinned on first use like ssh's ([`KnownHosts`]); the client proves itself by a [`Token`].
//! * Data travels in chunks of 1 MiB, each on its own stream ([`wire`]): a hole holds up one chunk and not
//!   the file, and no stream collects more gaps than noq allows.
//! * A file appears under its name only when it is whole: it is written aside, checked against the sender's
//!   BLAKE3 hash, flushed to disk and then renamed.
//! * The sender chooses the congestion controller, any of [`whimbrel_cc::registry::ALL`]
//!   that lives on acknowledgments.
//!
//! What became of every packet can be logged as qlog ([`QlogFolder`]).
//!
//! Whoever speaks to a server is taken to be hostile until it has shown the token, and its sizes, counts
//! and times are bounded even then ([`Limits`]).

mod chunks;
mod error;
mod fingerprint;
mod framing;
mod guard;
mod identity;
mod known_hosts;
mod name;
mod qlog;
mod receive;
mod send;
mod server;
mod socket;
mod spool;
mod standings;
mod summary;
mod tls;
mod token;
mod transport;
pub mod wire;

pub use chunks::CHUNK;
pub use error::Error;
pub use fingerprint::Fingerprint;
pub use identity::{Identity, default_state_dir};
pub use known_hosts::KnownHosts;
pub use name::{FileName, NameError};
pub use qlog::QlogFolder;
pub use send::{Progress, SendOptions, ServerAddress, send};
pub use server::{Event, Limits, ServeOptions, Server};
pub use summary::{Standing, Summary, TracePoint, VerdictCounts};
pub use tls::ALPN;
pub use token::Token;
pub use wire::{Reason, Refusal};

/// The UDP port a server listens on unless told otherwise.
pub const DEFAULT_PORT: u16 = 4440;
