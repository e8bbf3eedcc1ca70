//! Observation of a run, packet by packet: what happens, in order of time, and the truth that no
//! end knows.
//!
//! An [`Observer`] receives as plain values what packet captures and the logs of real transports
//! show: packets that leave an end or reach one, losses that a sender finds, the state of its
//! window. It also receives what only a simulator knows: which link dropped a packet and why, and
//! the true cause of a loss that a controller judged.
//!
//! An observed run is the same run, bit for bit. Events that the engine computes ahead of time are
//! held back until their time comes, so that events arrive in order.
//!
//! The TCP of the simulator counts segments. Here they are bytes, as on the wire: the first byte of
//! the data of an end is byte 0. (A capture adds the initial sequence number, of which the SYN
//! takes one.)

pub use crate::end::End;
use crate::network::LinkId;
pub use crate::outcome::Truth;
use std::ops::Range;
use whimbrel_cc::Verdict;
pub use whimbrel_cc::connection::RecoveryStage;
use whimbrel_net::DropCause;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Observes a run.
pub trait Observer {
    /// Something happened. Events come in order of time.
    fn on_event(&mut self, event: &Event);
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When it happened.
    pub at: Time,
    /// Index of its flow in [`Network::flows`](crate::Network::flows).
    pub flow: usize,
    /// Index of the route in the flow.
    pub path: usize,
    /// What happened.
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A packet left an end.
    Sent(Packet),
    /// A packet reached the other end intact.
    Arrived(Packet),
    /// A packet was lost.
    Dropped(Packet, Fate),
    /// A sender considered a segment lost, rightly or not.
    Lost(Lost),
    /// A controller responded to an episode of loss.
    Judged(Judged),
    /// The retransmission timer of an end fired.
    TimedOut(End),
    /// The last reduction of the window of an end proved spurious and was undone.
    TakenBack(End),
    /// The state of a sender changed.
    State(SenderState),
}

/// A packet.
#[derive(Debug, Clone, PartialEq)]
pub struct Packet {
    /// Its number: packets are counted from 0 in the order in which they leave, over all ends.
    pub id: u64,
    /// The end that sent it.
    pub from: End,
    /// When it left.
    pub sent: Time,
    /// Its size on the wire, headers included, as the simulator counts them.
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: Ecn,
    /// What it carries.
    pub content: Content,
}

/// The ECN field of RFC 3168.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ecn {
    /// It may not be marked: Not-ECT.
    NotEct,
    /// It may be marked: ECT(0).
    Ect,
    /// It was marked: CE.
    Ce,
}

/// What a packet carries.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A TCP segment.
    Segment(Segment),
    /// An encoded AATP message. The rest of the packet is payload or padding.
    Message(Vec<u8>),
    /// A datagram that nothing acknowledges.
    Datagram,
}

/// A TCP segment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Segment {
    /// It is a SYN, or the answer to one.
    pub syn: bool,
    /// The first byte of its data. Without data: the byte that its sender sends next.
    pub next: u64,
    /// The data that it carries.
    pub data: Option<Data>,
    /// The next byte that its sender expects from the other end. `None`: it acknowledges nothing.
    pub ack: Option<u64>,
    /// It is a negative acknowledgment: the data from this byte on arrived corrupted.
    pub nack: Option<u64>,
    /// What its sender holds beyond `ack`, the most recent first, at most three ranges (RFC 2018).
    pub sacks: Vec<Range<u64>>,
    /// The first of `sacks` is data that arrived twice (RFC 2883).
    pub dsack: bool,
    /// When the packet that it answers left (RFC 7323). `None`: it answers none.
    pub echo: Option<Time>,
    /// Its sender has received marks (ECN-Echo of RFC 3168).
    pub ece: bool,
    /// Its sender has reduced its window for marks (CWR of RFC 3168).
    pub cwr: bool,
    /// On a multipath connection (several paths, several streams, or messages): the segment of the
    /// connection that it carries, or without data the one that its sender expects next (the data
    /// sequence numbers of RFC 8684, in segments).
    pub of_connection: Option<u32>,
}

/// Data in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data {
    /// Its first byte, among all that its sender sends; on one of several paths, among all that it
    /// sends on that path.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u32,
    /// It was sent before.
    pub again: bool,
    /// It is the last data of its sender.
    pub last: bool,
}

impl Data {
    /// The byte after its last.
    pub const fn end(&self) -> u64 {
        self.offset + self.length as u64
    }
}

/// How a packet was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// A link dropped it: when it was offered to the link, or, on a link that decides later, when
    /// it left the queue.
    Dropped {
        /// The link.
        link: LinkId,
        /// The cause.
        cause: DropCause,
    },
    /// It arrived with a wrong checksum and was discarded.
    Corrupted,
}

/// A segment that a sender considers lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// The end that sent it.
    pub end: End,
    /// The packet that last carried the segment.
    pub id: Option<u64>,
    /// The first byte of its data.
    pub offset: u64,
    /// The length of its data in bytes.
    pub length: u32,
    /// How the sender found the loss.
    pub by: Finding,
    /// What happened to the packet.
    pub truth: Truth,
}

/// How a sender finds a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Finding {
    /// Three later segments had arrived: duplicate or partial acknowledgments, or SACKs (RFC 5681,
    /// RFC 6582, RFC 6675).
    Duplicates,
    /// A segment that left later had arrived, and the reordering window was over (RFC 8985).
    Rack,
    /// The retransmission timer fired (RFC 6298).
    Timeout,
}

/// The response of a controller to an episode of loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// The end of the controller.
    pub end: End,
    /// The first packet that was found missing.
    pub id: Option<u64>,
    /// What the controller took the loss for, if it classifies losses.
    pub verdict: Option<Verdict>,
    /// How sure it was that the loss was congestion, from 0 to 1, if it grades its verdicts.
    pub confidence: Option<f64>,
    /// The true cause: congestion if a queue dropped any of the packets found missing.
    pub truth: Truth,
    /// The controller reduced its window.
    pub reduced: bool,
}

/// The state of a sender. It is reported when it differs from the last report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SenderState {
    /// The end of the sender.
    pub end: End,
    /// Congestion window of its controller.
    pub cwnd: Bytes,
    /// Slow start threshold, if the controller has one.
    pub ssthresh: Option<Bytes>,
    /// Bytes in flight, as the sender estimates them.
    pub in_flight: Bytes,
    /// The newest RTT sample; zero before the first, or if it is unknown.
    pub latest_rtt: Duration,
    /// Smoothed RTT (RFC 6298), zero before the first sample.
    pub srtt: Duration,
    /// RTT variation (RFC 6298); zero before the first sample, or if it is unknown.
    pub rttvar: Duration,
    /// Minimum RTT; zero before the first sample, or if it is unknown.
    pub min_rtt: Duration,
    /// Pacing rate, if the controller sets one.
    pub pacing_rate: Option<Rate>,
    /// What the sender does about losses.
    pub stage: RecoveryStage,
    /// What its controller does, as it names it itself: `slow start`.
    pub phase: &'static str,
}
