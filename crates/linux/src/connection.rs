//! What is known about one connection: its addresses, its present state, its samples over time, and
//! the summary at its end.

use std::net::SocketAddr;
use whimbrel_cc::connection::{ConnectionState, Decision, EpisodeCounts};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// One end of a connection, as the controlled socket sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Addresses {
    /// The own address and port.
    pub local: SocketAddr,
    /// The peer's address and port.
    pub remote: SocketAddr,
}

/// The resolution of the receiver times that classifiers by jitter need: the tick of the peer's
/// timestamp clock (RFC 7323).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReceiverClock {
    /// The connection has no timestamps.
    Absent,
    /// Too few acknowledgments to measure the tick.
    #[default]
    Unknown,
    /// The tick is short enough; receiver times are reported to the controller.
    Usable(Duration),
    /// The tick is too long for this path; receiver times are withheld.
    TooCoarse(Duration),
}

/// The state of a connection of Linux TCP. Times are since it began to be controlled.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TcpState {
    /// What every transport knows.
    pub state: ConnectionState,
    /// Its episodes of loss.
    pub episodes: EpisodeCounts,
    /// Bytes received in order.
    pub received: Bytes,
    /// Segments sent, retransmissions included.
    pub segments: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Segments marked lost.
    pub lost_packets: u64,
    /// Negative acknowledgments that were accepted.
    pub nacks: u64,
    /// Negative acknowledgments that were refused.
    pub nacks_refused: u64,
    /// The peer's timestamp clock.
    pub receiver_clock: ReceiverClock,
}

/// One point of a connection's time line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// The state. Its time is since the connection began to be controlled.
    pub state: ConnectionState,
    /// Segments marked lost so far.
    pub lost_packets: u64,
    /// Segments retransmitted so far.
    pub retransmits: u64,
}

/// Why a connection is no longer controlled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It was still controlled when the report was made.
    StillOpen,
    /// The connection ended.
    Closed,
    /// It went to the kernel's fallback algorithm.
    Fallback,
}

/// A connection: its addresses, its last state, and its time line.
#[derive(Debug, Clone, PartialEq)]
pub struct Connection {
    /// Its addresses.
    pub addresses: Addresses,
    /// When it began to be controlled, since the agent started.
    pub began: Time,
    /// Its last state.
    pub last: TcpState,
    /// The time from its beginning to the last acknowledgment of new data.
    pub active: Duration,
    /// Bytes acknowledged over [`active`](Self::active); zero if it sent nothing.
    pub goodput: Rate,
    /// Why it is no longer controlled.
    pub end: End,
    /// Events that the kernel could not deliver.
    pub dropped_events: u64,
    /// The decisions of the loss classifier, at most [`MAX_DECISIONS`].
    pub decisions: Vec<Decision>,
    /// The time line, if [`Options::sampling`](crate::Options::sampling) requests one.
    pub samples: Vec<Sample>,
}

impl Connection {
    /// A copy without time line and decisions.
    pub(crate) fn without_series(&self) -> Self {
        Self {
            addresses: self.addresses,
            decisions: Vec::new(),
            samples: Vec::new(),
            ..*self
        }
    }
}

/// Maximum number of [`Connection::decisions`].
pub const MAX_DECISIONS: usize = 10_000;
