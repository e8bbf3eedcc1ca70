//! One run, watched packet by packet: what happens, in order of time, with the truth that no end knows.
//!
//! An [`Observer`] is told of everything that packet captures and logs of real transports show, as plain values: packets that
//! leave an end and reach one, losses that a sender finds, how its window stands. Besides, it is told what only a simulator
//! knows: which link dropped a packet and why, and what a loss was that a controller had to judge.
//!
//! A watched run is the same run, bit for bit: whoever watches changes nothing. What the engine settles ahead of its time is
//! held back until the time comes, so that events come in order.
//!
//! The simulator's TCP counts segments. Here they are bytes, as on the wire: the first byte of an end's data is byte 0. (A
//! capture adds the initial sequence number, of which the SYN takes one.)

use crate::network::LinkId;
pub use crate::outcome::Truth;
use std::ops::Range;
use whimbrel_cc::Verdict;
use whimbrel_net::DropCause;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Watches a run.
pub trait Observer {
    /// Something happened, not before anything that it was told of already.
    fn on_event(&mut self, event: &Event);
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When.
    pub at: Time,
    /// To which flow: its index in [`Network::flows`](crate::Network::flows).
    pub flow: usize,
    /// On which of the flow's routes.
    pub path: usize,
    /// What.
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
    /// A sender found a segment lost, rightly or not.
    Lost(Lost),
    /// A controller was asked about an episode of loss.
    Judged(Judged),
    /// The retransmission timer of an end fired.
    TimedOut(End),
    /// The last reduction of an end's window proved to be a mistake, and was taken back.
    TakenBack(End),
    /// A sender stands as it did not before.
    State(State),
}

/// One end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// The one that opens it.
    Near,
    /// The one that answers.
    Far,
}

impl End {
    /// 0 for the near end, 1 for the far end.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self as usize
    }

    /// The one that it speaks to.
    #[inline]
    pub const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }
}

/// A packet.
#[derive(Debug, Clone, PartialEq)]
pub struct Packet {
    /// Which one: packets are counted from 0 in the order in which they leave, whoever sends them.
    pub id: u64,
    /// Who sent it.
    pub from: End,
    /// When it left.
    pub sent: Time,
    /// Its size on the wire, headers included, as the simulator counts them.
    pub size: Bytes,
    /// Whether it may be marked, and was.
    pub ecn: Ecn,
    /// What is in it.
    pub content: Content,
}

/// The two bits of RFC 3168.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ecn {
    /// It may not be marked.
    NotEct,
    /// It may: ECT(0).
    Ect,
    /// It was: CE.
    Ce,
}

/// What a packet carries.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A segment of TCP.
    Segment(Segment),
    /// A message of AATP, as it is encoded; what the packet has beyond it is payload or padding.
    Message(Vec<u8>),
    /// A datagram that nobody answers.
    Datagram,
}

/// A segment of TCP.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Segment {
    /// It opens the connection, or answers that.
    pub syn: bool,
    /// Where its data begins, or without any, the byte that its sender sends next.
    pub next: u64,
    /// The data that it carries.
    pub data: Option<Data>,
    /// The next byte that its sender expects of the other end. `None`: it acknowledges nothing.
    pub ack: Option<u64>,
    /// It is a negative acknowledgment: the data from this byte on came corrupted.
    pub nack: Option<u64>,
    /// What its sender holds beyond `ack`, the most recent first, three ranges at most (RFC 2018).
    pub sacks: Vec<Range<u64>>,
    /// The first of these is data that came twice (RFC 2883).
    pub dsack: bool,
    /// When the packet left that it answers (RFC 7323). `None`: it answers none.
    pub echo: Option<Time>,
    /// Its sender has received marks (ECN-Echo of RFC 3168).
    pub ece: bool,
    /// Its sender has answered for marks (CWR of RFC 3168).
    pub cwr: bool,
    /// Of a connection over several paths, with several streams or with messages: which of its segments this carries, or
    /// without data, which it expects next (the data sequence numbers of RFC 8684, in segments).
    pub of_connection: Option<u32>,
}

/// Data in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data {
    /// Where it stands among all that its sender sends, or on a path of several, on that path.
    pub offset: u64,
    /// Its bytes.
    pub length: u32,
    /// It was sent before.
    pub again: bool,
    /// It is the last that there is.
    pub last: bool,
}

impl Data {
    /// The byte behind it.
    pub const fn end(&self) -> u64 {
        self.offset + self.length as u64
    }
}

/// What became of a packet that was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// A link dropped it when it was offered to it, or, if that link decides later, as it left its queue.
    Dropped {
        /// Which one.
        link: LinkId,
        /// Why.
        cause: DropCause,
    },
    /// It came with a wrong checksum, and was thrown away.
    Corrupted,
}

/// A segment that a sender found lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// Whose data it is.
    pub end: End,
    /// The packet that is meant: the last that carried the segment.
    pub id: Option<u64>,
    /// Its data.
    pub offset: u64,
    /// Its bytes.
    pub length: u32,
    /// How it was found.
    pub by: Finding,
    /// What really became of it.
    pub truth: Truth,
}

/// How a sender finds a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Finding {
    /// Three later segments had arrived: duplicate acknowledgments, partial ones, or SACKs (RFC 5681, RFC 6582, RFC 6675).
    Duplicates,
    /// One that left later had arrived, and time had passed (RFC 8985).
    Rack,
    /// The retransmission timer fired (RFC 6298).
    Timeout,
}

/// What a controller made of an episode of loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judged {
    /// Whose controller.
    pub end: End,
    /// The first packet that was missing.
    pub id: Option<u64>,
    /// What it took the loss for, if it tells the two apart.
    pub verdict: Option<Verdict>,
    /// What it was: congestion if a queue dropped any of what was found missing.
    pub truth: Truth,
    /// It reduced its window.
    pub reduced: bool,
}

/// How a sender stands. It is told of when it differs from the last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct State {
    /// Who.
    pub end: End,
    /// Congestion window as its controller has it.
    pub cwnd: Bytes,
    /// Slow start threshold, if the controller has one.
    pub ssthresh: Option<Bytes>,
    /// Bytes in flight, as far as the sender can tell.
    pub in_flight: Bytes,
    /// The newest RTT sample; zero before the first, or if it is not known.
    pub latest_rtt: Duration,
    /// Smoothed RTT (RFC 6298), zero before the first sample.
    pub srtt: Duration,
    /// RTT variation (RFC 6298), zero before the first sample, or if it is not known.
    pub rttvar: Duration,
    /// Least RTT, zero before the first sample, or if it is not known.
    pub min_rtt: Duration,
    /// Pacing rate, if the controller sets one.
    pub pacing_rate: Option<Rate>,
    /// What is done about losses.
    pub stage: Stage,
    /// What its controller is doing, in its own word: `slow start`.
    pub phase: &'static str,
}

/// What a sender does about losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Nothing: none is known.
    Open,
    /// Losses are being repaired for which the window was not reduced.
    Repair,
    /// The same, and the window was reduced: fast recovery.
    Recovery,
    /// The window was reduced for marks.
    Marked,
    /// All that is outstanding is sent again in slow start.
    StartedAgain,
}
