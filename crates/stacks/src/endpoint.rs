//! The interface of a foreign stack: one end of one connection.
//!
//! To add a stack:
//!
//! 1. Add the crate to `Cargo.toml`, optional, with an exact version, and a feature that turns it on;
//!    add the feature to `STACKS` in the `Makefile`.
//! 2. Write a file in `stack/` that implements [`Endpoint`], and has a function
//!    `connect(controller: &str, seed: u64) -> Option<[Box<dyn Endpoint>; 2]>` that makes both ends
//!    of a connection, or returns `None` for a controller that the stack has not. `smoltcp_family.rs`
//!    is the shortest example of a stack that takes the time as an argument, `quiche.rs` of one that
//!    reads the clock.
//! 3. Add an entry to [`catalog`](crate::catalog), and the stack to the table in `docs/stacks.md`.
//! 4. Run `make test-stacks`: the tests that run all stacks run yours, and compare two runs with the
//!    same seed. If they differ, the stack has another source of time or of random numbers;
//!    [`virtual_os`](crate::virtual_os) replaces those of the system.
//!
//! A controller without a transport needs no `Endpoint`: `stack/s2n.rs` runs those of s2n-quic-core
//! on noq-proto. A stack that cannot be linked can be a program: `stack/linux.rs`.
//!
//! * **Datagrams.** Whatever the stack hands to a socket is a datagram: a QUIC stack's UDP payload,
//!   a TCP stack's IP packet. [`Transmit::headers`] says how much the links carry besides.
//! * **Order of calls.** The near end is the client and sends. The driver calls
//!   [`receive`](Endpoint::receive) for each datagram that arrives and
//!   [`expire`](Endpoint::expire) when [`deadline`](Endpoint::deadline) has come. After each of
//!   them the application acts ([`read`](Endpoint::read) at the far end,
//!   [`write`](Endpoint::write) at the near end), and the driver calls
//!   [`transmit`](Endpoint::transmit) until it returns `None`.
//! * **Time.** `now` is the time of the run as an `Instant`. A stack that reads the system's clock
//!   sees the same time; see [`virtual_os`](crate::virtual_os).
//! * **Pacing.** If a stack asks its caller to send a datagram later, the endpoint keeps it, and
//!   its `deadline` is no later than that.
//! * **Settings.** The stack's own defaults, but packets of up to [`MTU`] bytes on the wire from
//!   the start, no path MTU discovery, windows of flow control that never limit ([`WINDOW`]), and
//!   no idle timeout. Anything else that differs from the stack's defaults is a note in its file.

use std::time::{Duration, Instant};
pub use whimbrel_sim::{Ecn, Transmit};

/// The largest packet on the wire, with all headers, bytes.
pub const MTU: u16 = 1500;
/// The headers of IPv4 and UDP, bytes.
pub const IP_AND_UDP: u16 = 28;
/// Flow control: how much data may be on its way, bytes. More than any path of the matrix holds.
pub const WINDOW: u32 = 64 << 20;

/// One end of one connection of a protocol stack.
pub trait Endpoint: Send {
    /// A datagram arrives.
    fn receive(&mut self, now: Instant, datagram: &mut [u8], ecn: Ecn);

    /// A timer may be due.
    fn expire(&mut self, now: Instant);

    /// The next datagram that leaves now; its bytes replace those in `datagram`. `None`: nothing
    /// leaves before the next call of another function.
    fn transmit(&mut self, now: Instant, datagram: &mut Vec<u8>) -> Option<Transmit>;

    /// When [`Self::expire`] or [`Self::transmit`] must be called. `None`: no timer runs.
    fn deadline(&mut self) -> Option<Instant>;

    /// Whether the application can write.
    fn is_connected(&self) -> bool;

    /// Whether the connection has ended, for whatever reason.
    fn is_closed(&self) -> bool;

    /// The application writes up to so many bytes, of whatever value. Returns how many the stack
    /// took.
    fn write(&mut self, bytes: usize) -> usize;

    /// The application writes nothing any more.
    fn finish(&mut self);

    /// The application reads all that has arrived in order. Returns its size, bytes.
    fn read(&mut self, now: Instant) -> u64;

    /// The state and the counters of the sender, as far as the stack reports them.
    fn report(&mut self) -> EndpointReport;
}

/// What a stack reports of a sender. `None`: it does not report that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EndpointReport {
    /// Congestion window, bytes.
    pub cwnd: Option<u64>,
    /// Slow start threshold, bytes.
    pub ssthresh: Option<u64>,
    /// Bytes in flight.
    pub in_flight: Option<u64>,
    /// Smoothed RTT.
    pub srtt: Option<Duration>,
    /// Pacing rate, bit/s.
    pub pacing_rate: Option<u64>,
    /// Packets taken for lost, or segments retransmitted.
    pub lost: Option<u64>,
    /// Probe timeouts, or retransmission timeouts.
    pub timeouts: Option<u64>,
    /// Reductions of the window.
    pub episodes: Option<u64>,
}
