//! The wire format of AATP.
//!
//! The paper says what the messages carry, not how; the layout is ours. All numbers are big-endian.
//! AATP runs over UDP, whose checksum covers it; `IP_AND_UDP` counts both headers. Every message
//! begins with
//!
//! | bytes | field |
//! |---|---|
//! | 1 | version (high four bits) and kind (low four bits) |
//! | 4 | connection |
//!
//! The fields of each kind follow, with their sizes in bytes. The sender sends kinds 0, 2, 4, 6, 7
//! and 9, the receiver the others.
//!
//! * 0 open: priority 1, full packet 2, packets to send 4 (all ones: endless)
//! * 1 accept: known bandwidth 8, allocated 8 (bit/s; zero: none)
//! * 2 train: number 4, index 1, count 1; padded to a full packet
//! * 3 train report: number 4, trains measured 1, bandwidth 8, allocated 8
//! * 4 data: sequence 4, burst 4, index 4, count 4, interval 8 (ns), sent 8 (ns), acks 1 (0 or 1),
//!   burst 4 and part 1 of the SACK that it acknowledges; then the payload
//! * 5 sack: burst 4, part 1, parts 1, flags 1, count 4, received 4, lost bursts before 4, sent
//!   span 8, received span 8, held 8, allocated 8, delivered 8, fairness 8, adapter 8, gaps 2, then
//!   for each gap start 4 and length 4
//! * 6 ack: burst 4, part 1; sent if no data packet can carry it
//! * 7 probe, 8 probe answer: nothing; does the path work again?
//! * 9 close, 10 closed: nothing
//!
//! The Jitter Ratio of a SACK is sent as the two spans that it is computed from ((10) of the
//! paper), because a controller may need more than their ratio. Gaps name packets by their index in
//! the burst: a packet that was sent twice is in two bursts, so a gap names one transmission. If
//! the gaps of a burst do not fit into one packet, its report has several parts.
//!
//! In the simulator packets carry messages as values; an observer, such as a trace, gets the bytes.

use bytes::BufMut;
use whimbrel_cc::burst_transport::{BurstPacket, Granted};
use whimbrel_cc::fairness::Priority;
use whimbrel_cc::{Share, Spans};
use whimbrel_units::{Bytes, Duration, Rate};

/// IPv4 and UDP headers.
pub(super) const IP_AND_UDP: u32 = 28;
/// Version, kind and connection, in front of all messages.
const HEADER: u32 = 5;
/// Header of a data message; the rest of the packet is payload.
pub(super) const DATA_HEADER: u32 = IP_AND_UDP + HEADER + 38;
/// Maximum number of parts of a SACK.
pub(super) const MAX_PARTS: u8 = 64;
/// Minimum size of a full packet: a SACK with some gaps fits.
pub(super) const MIN_PACKET: u16 = 128;
/// "Endless" in [`Open::packets`].
pub(super) const ENDLESS: u32 = u32::MAX;

const VERSION: u8 = 1;
/// A SACK without gaps, after the header.
const SACK: u32 = 77;
const GAP: u32 = 8;

/// The payload of a full packet of this size on the wire, at least [`MIN_PACKET`].
pub(crate) fn payload(packet: Bytes) -> Bytes {
    Bytes::new(packet.get() - u64::from(DATA_HEADER))
}

/// How many gaps fit into a SACK of at most this size on the wire.
pub(super) fn gaps_that_fit(packet: u32) -> usize {
    (packet.saturating_sub(IP_AND_UDP + HEADER + SACK) / GAP).max(1) as usize
}

/// A message of one connection.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) enum Message {
    /// Opens a connection.
    Open(Open),
    /// What the receiving node knows and allocates, if it knows its bandwidth.
    Accept(Option<Granted>),
    /// One packet of a packet train.
    Train(Train),
    /// Answers the last packet of a train.
    TrainReport(TrainReport),
    Data(Data),
    Sack(Sack),
    Ack(AckOf),
    #[default]
    Probe,
    ProbeAnswer,
    Close,
    Closed,
}

/// Opens a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Open {
    pub priority: Priority,
    /// Size of a full packet on the wire.
    pub packet: u16,
    /// Packets to send, or [`ENDLESS`].
    pub packets: u32,
}

/// One packet of a packet train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Train {
    pub number: u32,
    pub index: u8,
    pub count: u8,
}

/// Answers the last packet of a train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TrainReport {
    pub number: u32,
    /// Trains that gave an estimate, up to ten.
    pub measured: u8,
    /// The mean of the last ten, and the share of the flow, once there are ten.
    pub granted: Option<Granted>,
}

/// The header of a data packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Data {
    /// Its number in the data.
    pub sequence: u32,
    /// Its place in a burst.
    pub place: BurstPacket,
    /// The SACK that it acknowledges.
    pub ack: Option<AckOf>,
}

/// A SACK that is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AckOf {
    pub burst: u32,
    pub part: u8,
}

/// Reports on a burst.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sack {
    pub burst: u32,
    /// The number of this part of the report, and how many parts there are.
    pub part: u8,
    pub parts: u8,
    /// It was sent before, so it gives no round-trip sample.
    pub again: bool,
    /// Packets of the burst.
    pub count: u32,
    /// Packets of the burst that arrived.
    pub received: u32,
    /// Bursts just before it of which nothing arrived.
    pub lost_bursts: u32,
    /// From the first to the last packet that arrived.
    pub spans: Option<Spans>,
    /// From the arrival of the last packet until this was sent.
    pub held: Duration,
    /// The share of the flow, if the node has it on its list.
    pub share: Option<Share>,
    /// The gaps: start and length by index in the burst, in order. Parts have different gaps.
    pub gaps: Vec<(u32, u32)>,
}

impl Sack {
    /// Whether its share is one that a node can compute. Rounding may give a fairness above 1: such
    /// a report is refused like any other.
    pub fn is_in_range(&self) -> bool {
        let valid =
            |share: Share| (0.0..=1.0).contains(&share.fairness) && share.adapter.is_finite();
        self.share.is_none_or(valid)
    }
}

const FLAG_AGAIN: u8 = 1;
const FLAG_SPANS: u8 = 2;
const FLAG_SHARE: u8 = 4;

impl Message {
    /// Its kind, and the length of its fields.
    fn kind(&self) -> (u8, u32) {
        match self {
            Self::Open(_) => (0, 7),
            Self::Accept(_) => (1, 16),
            Self::Train(_) => (2, 6),
            Self::TrainReport(_) => (3, 21),
            Self::Data(_) => (4, 38),
            Self::Sack(sack) => (5, SACK + GAP * sack.gaps.len() as u32),
            Self::Ack(_) => (6, 5),
            Self::Probe => (7, 0),
            Self::ProbeAnswer => (8, 0),
            Self::Close => (9, 0),
            Self::Closed => (10, 0),
        }
    }

    /// Its length in bytes, without padding or payload.
    pub fn length(&self) -> u32 {
        HEADER + self.kind().1
    }

    /// Its bytes, as a message of `connection`.
    pub fn encode(&self, connection: u32) -> Vec<u8> {
        let to = &mut Vec::new();
        to.put_u8(VERSION << 4 | self.kind().0);
        to.put_u32(connection);
        match self {
            Self::Open(open) => {
                to.put_u8(open.priority.get());
                to.put_u16(open.packet);
                to.put_u32(open.packets);
            }
            Self::Accept(granted) => put_granted(*granted, to),
            Self::Train(train) => {
                to.put_u32(train.number);
                to.put_u8(train.index);
                to.put_u8(train.count);
            }
            Self::TrainReport(report) => {
                to.put_u32(report.number);
                to.put_u8(report.measured);
                put_granted(report.granted, to);
            }
            Self::Data(Data {
                sequence,
                place,
                ack,
            }) => {
                to.put_u32(*sequence);
                to.put_u32(place.burst);
                to.put_u32(place.index);
                to.put_u32(place.count);
                to.put_u64(place.interval.as_nanos());
                to.put_u64(place.sent);
                to.put_u8(u8::from(ack.is_some()));
                put_ack(ack.unwrap_or(AckOf { burst: 0, part: 0 }), to);
            }
            Self::Sack(sack) => put_sack(sack, to),
            Self::Ack(ack) => put_ack(*ack, to),
            Self::Probe | Self::ProbeAnswer | Self::Close | Self::Closed => {}
        }
        std::mem::take(to)
    }
}

fn put_granted(granted: Option<Granted>, to: &mut Vec<u8>) {
    let bits = |of: fn(Granted) -> Rate| granted.map_or(0, |granted| of(granted).as_bits_per_sec());
    to.put_u64(bits(|granted| granted.bandwidth));
    to.put_u64(bits(|granted| granted.allocated));
}

fn put_ack(ack: AckOf, to: &mut Vec<u8>) {
    to.put_u32(ack.burst);
    to.put_u8(ack.part);
}

fn put_sack(sack: &Sack, to: &mut Vec<u8>) {
    let flag = |on, flag| if on { flag } else { 0 };
    to.put_u32(sack.burst);
    to.put_u8(sack.part);
    to.put_u8(sack.parts);
    to.put_u8(
        flag(sack.again, FLAG_AGAIN)
            | flag(sack.spans.is_some(), FLAG_SPANS)
            | flag(sack.share.is_some(), FLAG_SHARE),
    );
    to.put_u32(sack.count);
    to.put_u32(sack.received);
    to.put_u32(sack.lost_bursts);
    let nanos = |of: fn(Spans) -> Duration| sack.spans.map_or(0, |spans| of(spans).as_nanos());
    to.put_u64(nanos(|spans| spans.sent));
    to.put_u64(nanos(|spans| spans.received));
    to.put_u64(sack.held.as_nanos());
    let bits = |of: fn(Share) -> Rate| sack.share.map_or(0, |share| of(share).as_bits_per_sec());
    to.put_u64(bits(|share| share.allocated));
    to.put_u64(bits(|share| share.delivered));
    to.put_f64(sack.share.map_or(0.0, |share| share.fairness));
    to.put_f64(sack.share.map_or(0.0, |share| share.adapter));
    to.put_u16(sack.gaps.len() as u16);
    for (start, length) in &sack.gaps {
        to.put_u32(*start);
        to.put_u32(*length);
    }
}

#[cfg(test)]
pub(super) mod tests;
