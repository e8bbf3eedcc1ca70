//! What an algorithm requires of the transport that carries it.

/// Features of the transport that an algorithm was published with. A transport that supports a
/// feature enables it for such an algorithm, unless the configuration overrides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransportFeatures {
    /// Explicit congestion marks (RFC 3168): the algorithm responds to them.
    pub marks: bool,
    /// Several streams over one connection.
    pub streams: bool,
    /// Negative acknowledgments, with which the receiver reports corrupted packets.
    pub nack: bool,
    /// The arrival times of packets by the receiver's clock ([`Ack::receiver_time`]).
    ///
    /// [`Ack::receiver_time`]: crate::Ack::receiver_time
    pub receiver_times: bool,
    /// Those of all packets that are the newest of an acknowledgment: a sample on fast paths is not
    /// enough.
    pub each_receiver_time: bool,
    /// A missing packet counts as lost a round trip after the first evidence: TCP-DCR.
    pub delayed_response: bool,
    /// Probes while packets are in flight and nothing arrives
    /// ([`Silence`](crate::connection::Silence)).
    pub probes_in_silence: bool,
}

impl TransportFeatures {
    /// No feature.
    pub const NOTHING: Self = Self {
        marks: false,
        streams: false,
        nack: false,
        receiver_times: false,
        each_receiver_time: false,
        delayed_response: false,
        probes_in_silence: false,
    };
    /// Probes in silence.
    pub const PROBES_IN_SILENCE: Self = Self {
        probes_in_silence: true,
        ..Self::NOTHING
    };
    /// Congestion marks.
    pub const MARKS: Self = Self {
        marks: true,
        ..Self::NOTHING
    };
    /// Several streams.
    pub const STREAMS: Self = Self {
        streams: true,
        ..Self::NOTHING
    };
    /// Negative acknowledgments.
    pub const NACK: Self = Self {
        nack: true,
        ..Self::NOTHING
    };
    /// Arrival times by the receiver's clock.
    pub const RECEIVER_TIMES: Self = Self {
        receiver_times: true,
        each_receiver_time: true,
        ..Self::NOTHING
    };
    /// Arrival times by the receiver's clock; on fast paths, of a sample of the packets.
    pub const SAMPLED_RECEIVER_TIMES: Self = Self {
        receiver_times: true,
        ..Self::NOTHING
    };

    /// Losses that count a round trip later.
    pub const DELAYED_RESPONSE: Self = Self {
        delayed_response: true,
        ..Self::NOTHING
    };
    /// The features of both.
    pub const fn union(self, other: Self) -> Self {
        Self {
            marks: self.marks || other.marks,
            streams: self.streams || other.streams,
            nack: self.nack || other.nack,
            receiver_times: self.receiver_times || other.receiver_times,
            each_receiver_time: self.each_receiver_time || other.each_receiver_time,
            delayed_response: self.delayed_response || other.delayed_response,
            probes_in_silence: self.probes_in_silence || other.probes_in_silence,
        }
    }
}

/// When fast recovery ends. The oldest algorithms differ in nothing else. A transport obeys as far
/// as its loss detection leaves it the choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FastRecovery {
    /// It lasts until all data that was in flight when it began is acknowledged (RFC 6582,
    /// RFC 6675): all algorithms but Tahoe and Reno.
    UntilRepaired,
    /// Without SACK, the first acknowledgment that advances ends it, even if more segments are
    /// missing (RFC 5681 section 3.2 step 6): Reno. With SACK it lasts until all is repaired.
    UntilFirstAck,
    /// There is no fast recovery: the sender retransmits the oldest segment, and the rest in slow
    /// start, as after a timeout: Tahoe.
    Never,
}
