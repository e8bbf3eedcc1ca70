//! The events that a transport reports to an algorithm. Plain values: any transport can fill them
//! in.

use crate::interface::verdict::Verdict;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Data was acknowledged. Reported once for each acknowledgment that delivers something new, after
/// the transport has updated its own counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ack {
    /// When the acknowledgment arrived.
    pub now: Time,
    /// Bytes newly delivered by it, cumulatively or selectively; every byte is counted once.
    pub acked: Bytes,
    /// The round-trip sample of this acknowledgment, if it has one (the transport applies Karn's
    /// rule).
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 6298 section 2).
    pub srtt: Duration,
    /// Minimum round-trip time of the connection so far.
    pub min_rtt: Duration,
    /// Bytes still in flight after it.
    pub in_flight: Bytes,
    /// Bytes delivered on this connection so far, including this acknowledgment's.
    pub delivered: Bytes,
    /// Delivery rate measured over the flight of the newest packet acknowledged
    /// (draft-cheng-iccrg-delivery-rate-estimation), if it could be measured.
    pub delivery_rate: Option<Rate>,
    /// The application limited the delivery rate, or has too little data to send now.
    pub app_limited: bool,
    /// The sender used its entire window before this acknowledgment, so the window may grow
    /// (RFC 7661; RFC 9002 section 7.8).
    pub cwnd_limited: bool,
    /// The window may not grow: the transport repairs losses for which the window was reduced, or
    /// (TCP) the acknowledgment is a duplicate that indicates a loss which is not yet certain
    /// (RFC 5681 section 3.2). False during the repair of losses for which the controller kept its
    /// window.
    pub in_recovery: bool,
    /// This acknowledgment is the first of a new round trip: it acknowledges a packet that was sent
    /// after the previous round trip began.
    pub round_start: bool,
    /// The arrival time of the newest acknowledged packet by the receiver's clock, if the transport
    /// knows it; only differences of such times are meaningful. TCP knows the time at which the
    /// acknowledgment left the receiver (TSval of RFC 7323), which includes the receiver's delay.
    /// An algorithm that uses it sets [`TransportFeatures::receiver_times`].
    ///
    /// [`TransportFeatures::receiver_times`]: crate::TransportFeatures::receiver_times
    pub receiver_time: Option<Time>,
    /// Bytes detected as lost on this connection so far.
    pub lost: Bytes,
    /// The transport's counts when the newest acknowledged packet was sent.
    pub newest: Option<AtSending>,
    /// It carries a new congestion mark: TCP's ECN-Echo (RFC 3168 section 6.1), or an increase of
    /// QUIC's CE count (RFC 9000 section 19.3.2). The transport also reports an episode of marks as
    /// a [`Loss`], once per round trip.
    pub ece: bool,
}

/// The state of one path of a multipath connection, for coupled algorithms on the other paths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sibling {
    /// Congestion window of the path.
    pub cwnd: Bytes,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// Minimum round-trip time so far; zero before the first sample.
    pub min_rtt: Duration,
    /// Minimum sample of the last complete round trip; zero before the first one.
    pub round_rtt: Duration,
}

/// The transport's counts when a packet was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtSending {
    /// The time of sending.
    pub sent: Time,
    /// Bytes in flight, including the packet (tx_in_flight of draft-ietf-ccwg-bbr).
    pub in_flight: Bytes,
    /// [`Ack::delivered`] at that time.
    pub delivered: Bytes,
    /// [`Ack::lost`] at that time.
    pub lost: Bytes,
    /// The application had too little data to send.
    pub app_limited: bool,
    /// The data were sent before, so that their acknowledgment may be for the earlier packet, and
    /// the time since `sent` is no RTT (Karn's algorithm, RFC 6298 section 3). Never in QUIC.
    pub retransmitted: bool,
}

/// One packet was detected as lost. Reported for each such packet, in the order of detection, and
/// before the [`Loss`] of the episode that it begins, if it begins one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostPacket {
    /// The time of detection.
    pub now: Time,
    /// Its payload.
    pub size: Bytes,
    /// Bytes detected as lost on this connection so far, including this packet.
    pub lost: Bytes,
    /// The transport's counts when it was sent.
    pub at: AtSending,
}

/// The signal of congestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Packets were lost.
    Loss,
    /// Packets arrived marked "congestion experienced" (RFC 3168): certainly congestion.
    Ecn,
}

/// An episode of loss began: the transport detected missing packets and was not yet in recovery.
/// Reported once per episode (one "congestion event" of RFC 9002).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loss {
    /// The time of detection.
    pub now: Time,
    /// Its signal.
    pub signal: Signal,
    /// Bytes in flight just before the loss was deducted: FlightSize of RFC 5681. Over QUIC at least
    /// the window, if the sender used it (RFC 9002 appendix B.6).
    pub in_flight: Bytes,
    /// Bytes detected as lost so far.
    pub lost: Bytes,
    /// Position of the lost packet in the order of first transmission (TCP: the sequence number of
    /// the hole; QUIC: the packet number). Compared only with [`next_order`](Self::next_order).
    pub lost_order: u64,
    /// Position of the next packet that will be sent, in the same order.
    pub next_order: u64,
    /// When the lost packet was sent.
    pub sent: Time,
    /// The acknowledgment that revealed the loss carries a new congestion mark ([`Ack::ece`]).
    pub ece: bool,
    /// The true cause, if the algorithm is to obey it: a simulator sets it to measure the cost of
    /// each kind of misclassification. A real network never knows it.
    pub truth: Option<Verdict>,
}

impl Loss {
    /// The verdict of an algorithm that judges `judged`: the true cause, if it is set.
    pub fn verdict(&self, judged: Verdict) -> Verdict {
        self.truth.unwrap_or(judged)
    }
}

/// The retransmission timer fired; in QUIC, persistent congestion was established.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timeout {
    /// The time of the event.
    pub now: Time,
    /// Bytes in flight just before, as in [`Loss::in_flight`].
    pub in_flight: Bytes,
    /// The same data has timed out before: RFC 5681 section 3.1 then leaves ssthresh unchanged.
    pub repeated: bool,
    /// Position of the next packet that will be sent, as in [`Loss::next_order`].
    pub next_order: u64,
}
