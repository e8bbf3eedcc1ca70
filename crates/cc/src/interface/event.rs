//! What a transport tells an algorithm. Plain values: any transport can fill them in.

use crate::interface::verdict::Verdict;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Data was acknowledged. Told once per acknowledgment that delivered something new, after the
/// transport has updated its own counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ack {
    /// When the acknowledgment arrived.
    pub now: Time,
    /// Bytes newly delivered by it, cumulatively or selectively: every byte is counted once.
    pub acked: Bytes,
    /// The round-trip sample it gave, if it gave one (Karn's rule is the transport's business).
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 6298 section 2).
    pub srtt: Duration,
    /// Least round-trip time of the connection so far.
    pub min_rtt: Duration,
    /// Bytes still in flight after it.
    pub in_flight: Bytes,
    /// Bytes delivered on this connection so far, this acknowledgment included.
    pub delivered: Bytes,
    /// Delivery rate measured over the flight of the newest packet acknowledged
    /// (draft-cheng-iccrg-delivery-rate-estimation), if it could be measured.
    pub delivery_rate: Option<Rate>,
    /// The rate sample, or the lack of data to send, was limited by the application.
    pub app_limited: bool,
    /// The sender used its whole window before this acknowledgment: growth is earned
    /// (RFC 7661; RFC 9002 section 7.8).
    pub cwnd_limited: bool,
    /// The window may not grow: the transport is repairing losses that it was reduced for, or (TCP) the
    /// acknowledgment is a duplicate and tells of a loss that is not yet certain (RFC 5681 section 3.2). False while
    /// losses are repaired that the controller kept its window for.
    pub in_recovery: bool,
    /// This acknowledgment is the first of a new round trip: it acknowledges a packet sent after
    /// the previous round began.
    pub round_start: bool,
    /// When the newest packet it acknowledges arrived, by the receiver's clock, where the transport knows it: only
    /// differences between two such times mean anything. TCP knows when the acknowledgment left the receiver
    /// (TSval of RFC 7323), which is later by what the receiver delayed it.
    pub receiver_time: Option<Time>,
    /// Bytes found lost on this connection so far.
    pub lost: Bytes,
    /// What the transport's counts were when the newest packet it acknowledges was sent.
    pub newest: Option<AtSending>,
    /// It carries news of congestion marks: TCP's ECN-Echo (RFC 3168 section 6.1), QUIC's greater count of CE
    /// (RFC 9000 section 19.3.2). The transport tells of an episode of marks by [`Loss`] besides, once a round trip.
    pub ece: bool,
}

/// What the transport knows of one path of a multipath connection: what the laws of the other paths may go by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sibling {
    /// Congestion window of the path's law.
    pub cwnd: Bytes,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// Least round-trip time so far; zero before the first sample.
    pub min_rtt: Duration,
    /// Least of the samples of the last whole round trip; zero before one is over.
    pub round_rtt: Duration,
}

/// The transport's counts at the moment when a packet was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtSending {
    /// When.
    pub sent: Time,
    /// Bytes in flight, the packet included (tx_in_flight of draft-ietf-ccwg-bbr).
    pub in_flight: Bytes,
    /// [`Ack::delivered`] at that moment.
    pub delivered: Bytes,
    /// [`Ack::lost`] at that moment.
    pub lost: Bytes,
    /// The application had too little to send.
    pub app_limited: bool,
}

/// One packet was found lost. Told for every one of them, in the order in which they are found, and before the
/// [`Loss`] of the episode that it begins, if it begins one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostPacket {
    /// When it was noticed.
    pub now: Time,
    /// Its payload.
    pub size: Bytes,
    /// Bytes found lost on this connection so far, this packet included.
    pub lost: Bytes,
    /// The transport's counts when it was sent.
    pub at: AtSending,
}

/// How congestion showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Packets were lost.
    Loss,
    /// Packets arrived marked "congestion experienced" (RFC 3168): congestion without any doubt.
    Ecn,
}

/// An episode of loss began: the transport has found packets missing and was not yet repairing. Told
/// once an episode (one "congestion event" of RFC 9002).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loss {
    /// When it was noticed.
    pub now: Time,
    /// How it showed.
    pub signal: Signal,
    /// Bytes in flight just before the loss was taken off: the FlightSize of RFC 5681.
    pub in_flight: Bytes,
    /// Bytes found lost so far.
    pub lost: Bytes,
    /// Position of the lost packet in the order of first transmission (TCP: the sequence number of the
    /// hole; QUIC: the packet number). Only ever compared with [`next_order`](Self::next_order).
    pub lost_order: u64,
    /// Position of the next packet to be sent, in the same order.
    pub next_order: u64,
    /// When the lost packet was sent.
    pub sent: Time,
    /// The acknowledgment that showed it carried news of congestion marks ([`Ack::ece`]).
    pub ece: bool,
    /// What it was in truth, if somebody knows who wants the algorithm to go by it: a simulator that asks what each
    /// kind of mistake costs. Nobody on a real network does.
    pub truth: Option<Verdict>,
}

impl Loss {
    /// What it is to be taken for, by an algorithm that takes it for `judged`: that, unless the truth is given.
    pub fn verdict(&self, judged: Verdict) -> Verdict {
        self.truth.unwrap_or(judged)
    }
}

/// The retransmission timer fired, or in QUIC persistent congestion was established.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timeout {
    /// When.
    pub now: Time,
    /// Bytes in flight just before: the FlightSize of RFC 5681.
    pub in_flight: Bytes,
    /// The same data has already timed out: RFC 5681 section 3.1 then leaves ssthresh alone.
    pub repeated: bool,
    /// Position of the next packet to be sent, as in [`Loss::next_order`].
    pub next_order: u64,
}
