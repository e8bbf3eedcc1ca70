//! Options that all requests of a client share.

use super::address::ServerAddress;
use super::retry::Retry;
use super::via::Via;
use crate::connection::over_tcp::{TcpAlgorithm, TransportChoice};
use crate::connection::qlog::QlogFolder;
use crate::credentials::known_hosts::KnownHosts;
use crate::credentials::known_paths::KnownPaths;
use crate::fingerprint::Fingerprint;
use crate::token::Token;
use std::path::PathBuf;
use whimbrel_cc::Spec;
use whimbrel_cc::fairness::Priority;
use whimbrel_quic::Factory;
use whimbrel_quic::endpoint::Endpoint;
use whimbrel_quic::key_exchange::AcceptedGroups;
use whimbrel_units::Duration as Span;

/// How a client reaches a server, whatever it does there.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The server.
    pub server: ServerAddress,
    /// The server's token.
    pub token: Token,
    /// The server's fingerprint; `None` uses the pinned one.
    pub fingerprint: Option<Fingerprint>,
    /// The file of pinned servers. A server given with `fingerprint` is pinned after a successful
    /// handshake.
    pub known_hosts: Option<KnownHosts>,
    /// What the paths to servers carried: a connection over UDP starts with Careful Resume
    /// (RFC 9959), and saves what it finds. `None`: neither.
    pub known_paths: Option<KnownPaths>,
    /// The congestion controller of what is sent from here. The server chooses its own.
    pub controller: Spec,
    /// The requested priority against other transfers to the same server; the server may grant a
    /// lower one. Only controllers that share by priority use it.
    pub priority: Priority,
    /// Where to log every packet.
    pub qlog: Option<QlogFolder>,
    /// Whether an interrupted transfer goes on by itself; `None` gives up at the first failure.
    pub retry: Option<Retry>,
    /// Timeout of a connection attempt to one address of the server.
    pub connect: Span,
    /// The connection is lost if the server is silent for this long.
    pub idle: Span,
    /// Which transport is used.
    pub transport: TransportChoice,
    /// The network interfaces that a connection over UDP uses, all at once; none: the one that the
    /// system chooses.
    pub via: Vec<Via>,
    /// The endpoint that connections over UDP use, where the peer expects them from its address;
    /// `via` is then ignored. `None`: each connection opens a socket of its own.
    pub endpoint: Option<Endpoint>,
    /// Which key exchanges are accepted.
    pub groups: AcceptedGroups,
    /// The algorithm of a TCP connection, where UDP is blocked; `None`: the kernel's.
    pub tcp_algorithm: Option<TcpAlgorithm>,
}

impl ClientOptions {
    /// Options with the defaults: one attempt, 10 s to connect, 30 s of silence.
    pub fn new(server: ServerAddress, token: Token, controller: Spec) -> Self {
        Self {
            server,
            token,
            fingerprint: None,
            known_hosts: None,
            known_paths: None,
            controller,
            priority: Priority::default(),
            qlog: None,
            retry: None,
            connect: Span::from_secs(10),
            idle: Span::from_secs(30),
            transport: TransportChoice::default(),
            via: Vec::new(),
            endpoint: None,
            groups: AcceptedGroups::default(),
            tcp_algorithm: None,
        }
    }

    /// What builds the congestion controller of one attempt.
    pub(crate) fn factory(&self) -> Factory {
        Factory::for_endpoint(self.controller.clone())
    }

    /// The same for pipes: 3 minutes of silence, so that a laptop may change its network or sleep
    /// for a while.
    pub fn for_pipes(server: ServerAddress, token: Token, controller: Spec) -> Self {
        Self {
            idle: Span::from_secs(180),
            ..Self::new(server, token, controller)
        }
    }
}

/// What is recorded of the connections of a transfer.
#[derive(Debug, Clone, Default)]
pub struct Measurement {
    /// Time between the points of a trace; `None` takes no trace.
    pub trace: Option<Span>,
    /// Time between the [samples](super::summary::IntervalSample) in the summary; `None` takes
    /// none.
    pub interval: Option<Span>,
    /// A CSV file for every packet and every decision on a loss, for comparison with what the path
    /// did ([`PacketLog`](whimbrel_quic::PacketLog)).
    pub packet_log: Option<PathBuf>,
}
