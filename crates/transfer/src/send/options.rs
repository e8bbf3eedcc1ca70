//! Options of a transfer.

use super::Retry;
use crate::{
    Fingerprint, KnownHosts, QlogFolder, ServerAddress, TcpAlgorithm, TcpControl, Token,
    TransportChoice,
};
use std::path::PathBuf;
use whimbrel_cc::Spec;
use whimbrel_cc::fairness::Priority;
use whimbrel_units::{Duration as Span, Rate};

/// Options of [`send()`](super::send).
#[derive(Debug, Clone)]
pub struct SendOptions {
    /// The file to send; `-` is standard input, which needs a name.
    pub file: PathBuf,
    /// The path on the server; `None` uses the file's own name.
    pub name: Option<String>,
    /// The server.
    pub server: ServerAddress,
    /// The server's token.
    pub token: Token,
    /// The server's fingerprint; `None` uses the pinned one.
    pub fingerprint: Option<Fingerprint>,
    /// The file of pinned servers. A server given with `fingerprint` is pinned after a successful
    /// handshake.
    pub known_hosts: Option<KnownHosts>,
    /// The congestion controller.
    pub controller: Spec,
    /// The requested priority against other transfers to the same server; the server may grant a
    /// lower one. Only controllers that share by priority use it.
    pub priority: Priority,
    /// Time between the points of a trace; `None` takes no trace.
    pub trace: Option<Span>,
    /// Time between the [samples](crate::IntervalSample) in the summary; `None` takes none.
    pub interval: Option<Span>,
    /// Where to log every packet.
    pub qlog: Option<QlogFolder>,
    /// A CSV file for every packet and every decision on a loss, for comparison with what the path
    /// did ([`PacketLog`](whimbrel_quic::PacketLog)).
    pub packet_log: Option<PathBuf>,
    /// Whether an interrupted transfer goes on by itself; `None` gives up at the first failure.
    pub retry: Option<Retry>,
    /// The maximum rate of file data.
    pub bandwidth: Option<Rate>,
    /// Send extended attributes in the namespace `user`.
    pub attributes: bool,
    /// Timeout of a connection attempt to one address of the server.
    pub connect: Span,
    /// The connection is lost if the server is silent for this long.
    pub idle: Span,
    /// Which transport is used.
    pub transport: TransportChoice,
    /// The algorithm of a TCP connection, where UDP is blocked; `None`: the kernel's.
    pub tcp_algorithm: Option<TcpAlgorithm>,
}

impl SendOptions {
    /// Options with the defaults: no trace, one attempt, 10 s to connect, 30 s of silence.
    pub fn new(
        file: impl Into<PathBuf>,
        server: ServerAddress,
        token: Token,
        controller: Spec,
    ) -> Self {
        Self {
            file: file.into(),
            name: None,
            server,
            token,
            fingerprint: None,
            known_hosts: None,
            controller,
            priority: Priority::default(),
            trace: None,
            interval: None,
            qlog: None,
            packet_log: None,
            retry: None,
            bandwidth: None,
            attributes: false,
            connect: Span::from_secs(10),
            idle: Span::from_secs(30),
            transport: TransportChoice::default(),
            tcp_algorithm: None,
        }
    }
}

/// Progress of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the file that the server has acknowledged. Approximate: QUIC's overhead is
    /// included.
    pub bytes: u64,
    /// Bytes of the file.
    pub size: u64,
}

/// News of a transfer, to be shown to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Update {
    /// Data flows. Called ten times per second.
    Progress(Progress),
    /// The server is busy; the request waits at this position, 1 is the next.
    Queued(u32),
    /// The transfer runs over TLS and TCP, under this congestion control.
    OverTcp(TcpControl),
    /// The transfer was interrupted and goes on after this time.
    Interrupted {
        /// Why.
        reason: String,
        /// The time until the next attempt.
        wait: Span,
    },
}
