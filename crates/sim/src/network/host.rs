//! Flows that a protocol stack from outside carries: the engine moves its datagrams over the links
//! of the run and calls it when its timers are due.

use crate::end::End;
use std::fmt::Debug;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// What opens the connections of a protocol stack.
pub trait Host: Debug + Send + Sync {
    /// The name of the controller in outcomes: `quinn:cubic`.
    fn controller(&self) -> String;

    /// Both ends of a connection that sends `size` bytes from the near end to the far end; endless
    /// when `None`. `seed` is for all random numbers that the stack draws.
    ///
    /// The engine calls the connection with times that never go back, from one thread.
    fn open(&self, size: Option<Bytes>, seed: u64) -> Box<dyn Connection>;
}

/// Both ends of a connection of a protocol stack, and the applications that use it. It has no
/// socket and no clock: the same calls at the same times give the same results.
pub trait Connection: Send {
    /// The flow starts: the near end connects.
    fn start(&mut self, now: Time);

    /// The sending application writes nothing from now on. Other calls at the same time follow.
    fn stop(&mut self);

    /// A datagram reached an end.
    fn receive(&mut self, now: Time, end: End, datagram: &mut [u8], ecn: Ecn);

    /// Timers of an end may be due.
    fn expire(&mut self, now: Time, end: End);

    /// The next datagram that an end sends now; its bytes replace those in `datagram`, which is not
    /// read. `None`: nothing before the next call of the others.
    fn transmit(&mut self, now: Time, end: End, datagram: &mut Vec<u8>) -> Option<Transmit>;

    /// When [`Self::expire`] must be called for an end.
    fn deadline(&self, end: End) -> Option<Time>;

    /// Data that the receiving application has read, in order.
    fn delivered(&self) -> Bytes;

    /// The state of the sender.
    fn state(&mut self) -> HostState;

    /// The counters of the sender.
    fn counters(&mut self) -> HostCounters;
}

/// The mark of a datagram for explicit congestion notification (RFC 3168).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ecn {
    /// Its sender does not support marks.
    NotEct,
    /// Queues may mark it: it left as ECT(0).
    Ect,
    /// A queue marked it.
    Ce,
}

/// A datagram that leaves an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// Headers below the datagram that the links carry too, bytes: 28 for IPv4 and UDP.
    pub headers: u16,
    /// Queues may mark it instead of dropping it (ECT of RFC 3168).
    pub ect: bool,
}

/// The state of a sender at an instant, as far as its stack reports it; zero or `None` if not.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HostState {
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow start threshold.
    pub ssthresh: Option<Bytes>,
    /// Bytes in flight. `None`: the bytes of its packets that are on links take its place.
    pub in_flight: Option<Bytes>,
    /// Smoothed RTT.
    pub srtt: Duration,
    /// Pacing rate.
    pub pacing_rate: Option<Rate>,
}

/// What a sender counted since its start, as far as its stack reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostCounters {
    /// From the start until the near end was connected. `None`: not yet.
    pub handshake: Option<Duration>,
    /// Packets that the sender took for lost, or segments that it retransmitted.
    pub lost: Option<u64>,
    /// Timeouts: probe timeouts of QUIC, retransmission timeouts of TCP.
    pub timeouts: Option<u64>,
    /// Reductions of the window for losses.
    pub loss_episodes: Option<u64>,
    /// The connection ended before its time.
    pub failed: bool,
}
