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
//! Decoding trusts nothing: every size and count that a peer chooses is bounded here.

use bytes::{Buf, BufMut};
use whimbrel_cc::burst_transport::trains::MAX_TRAIN;
use whimbrel_cc::burst_transport::{self, BurstPacket, MAX_PACKETS, bounded_rate};
use whimbrel_cc::fairness::Priority;
use whimbrel_cc::{Share, Spans};
use whimbrel_units::{Bytes, Duration, Rate};

/// IPv4 and UDP headers.
pub(super) const IP_AND_UDP: u32 = 28;
/// Header of a data message; the rest of the packet is payload.
pub(super) const DATA_HEADER: u32 = IP_AND_UDP + 5 + 38;
/// Maximum number of parts of a SACK.
pub(super) const MAX_PARTS: u8 = 64;
/// Minimum size of a full packet: a SACK with some gaps fits.
pub(super) const MIN_PACKET: u16 = 128;
/// "Endless" in [`Open::packets`].
pub(super) const ENDLESS: u32 = u32::MAX;

const VERSION: u8 = 1;
/// A SACK without gaps, IP and UDP included.
const SACK_FIXED: u32 = IP_AND_UDP + 5 + 77;
const GAP: u32 = 8;

/// How many gaps fit into a SACK of at most this size on the wire.
pub(super) fn gaps_that_fit(packet: u32) -> usize {
    (packet.saturating_sub(SACK_FIXED) / GAP).max(1) as usize
}

/// A message of one connection.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Message {
    Open(Open),
    Accept(Granted),
    Train(Train),
    TrainReport(TrainReport),
    Data(Data),
    Sack(Sack),
    Ack(AckOf),
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

/// What the receiving node knows and allocates, in bits per second; zero if nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Granted {
    /// The bandwidth of the node.
    pub bandwidth: u64,
    /// The share of the flow.
    pub allocated: u64,
}

impl From<burst_transport::Granted> for Granted {
    fn from(granted: burst_transport::Granted) -> Self {
        Self {
            bandwidth: granted.bandwidth.as_bits_per_sec(),
            allocated: granted.allocated.as_bits_per_sec(),
        }
    }
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
    /// The mean of the last ten, and the share of the flow once there are ten.
    pub granted: Granted,
}

/// The header of a data packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Data {
    /// Its number in the data.
    pub sequence: u32,
    /// The burst that it is in.
    pub burst: u32,
    /// Its index in the burst, and the number of packets in the burst.
    pub index: u32,
    pub count: u32,
    /// The span over which the burst is sent, in nanoseconds.
    pub interval: u64,
    /// When it was sent by the clock of the sender, in nanoseconds.
    pub sent: u64,
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
    /// From the arrival of the last packet until this was sent, in nanoseconds.
    pub held: u64,
    /// The share of the flow, if the node has it on its list.
    pub share: Option<Share>,
    /// The gaps: start and length by index in the burst, in order. Parts have different gaps.
    pub gaps: Vec<(u32, u32)>,
}

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum WireError {
    #[error("the message ends too early")]
    Short,
    #[error("there are bytes after the end of the message")]
    Long,
    #[error("unknown version or kind")]
    Unknown,
    #[error("a field is out of range")]
    Range,
}

impl From<bytes::TryGetError> for WireError {
    fn from(_: bytes::TryGetError) -> Self {
        Self::Short
    }
}

const OPEN: u8 = 0;
const ACCEPT: u8 = 1;
const TRAIN: u8 = 2;
const TRAIN_REPORT: u8 = 3;
const DATA: u8 = 4;
const SACK: u8 = 5;
const ACK: u8 = 6;
const PROBE: u8 = 7;
const PROBE_ANSWER: u8 = 8;
const CLOSE: u8 = 9;
const CLOSED: u8 = 10;

const FLAG_AGAIN: u8 = 1;
const FLAG_SPANS: u8 = 2;
const FLAG_SHARE: u8 = 4;

impl Message {
    /// Appends it to `to`, as a message of `connection`.
    pub fn encode(&self, connection: u32, to: &mut Vec<u8>) {
        let kind = match self {
            Self::Open(_) => OPEN,
            Self::Accept(_) => ACCEPT,
            Self::Train(_) => TRAIN,
            Self::TrainReport(_) => TRAIN_REPORT,
            Self::Data(_) => DATA,
            Self::Sack(_) => SACK,
            Self::Ack(_) => ACK,
            Self::Probe => PROBE,
            Self::ProbeAnswer => PROBE_ANSWER,
            Self::Close => CLOSE,
            Self::Closed => CLOSED,
        };
        to.put_u8(VERSION << 4 | kind);
        to.put_u32(connection);
        match self {
            Self::Open(open) => {
                to.put_u8(open.priority.get());
                to.put_u16(open.packet);
                to.put_u32(open.packets);
            }
            Self::Accept(granted) => granted.encode(to),
            Self::Train(train) => {
                to.put_u32(train.number);
                to.put_u8(train.index);
                to.put_u8(train.count);
            }
            Self::TrainReport(report) => {
                to.put_u32(report.number);
                to.put_u8(report.measured);
                report.granted.encode(to);
            }
            Self::Data(data) => {
                to.put_u32(data.sequence);
                to.put_u32(data.burst);
                to.put_u32(data.index);
                to.put_u32(data.count);
                to.put_u64(data.interval);
                to.put_u64(data.sent);
                to.put_u8(u8::from(data.ack.is_some()));
                data.ack.unwrap_or(AckOf { burst: 0, part: 0 }).encode(to);
            }
            Self::Sack(sack) => sack.encode(to),
            Self::Ack(ack) => ack.encode(to),
            Self::Probe | Self::ProbeAnswer | Self::Close | Self::Closed => {}
        }
    }

    /// Decodes a message and its connection. What follows the header of a train or data packet is
    /// padding or payload.
    pub fn decode(mut from: &[u8]) -> Result<(u32, Self), WireError> {
        let from = &mut from;
        let first = from.try_get_u8()?;
        let connection = from.try_get_u32()?;
        if first >> 4 != VERSION {
            return Err(WireError::Unknown);
        }
        let message = match first & 0xf {
            OPEN => Self::Open(Open::decode(from)?),
            ACCEPT => Self::Accept(Granted::decode(from)?),
            TRAIN => Self::Train(Train::decode(from)?),
            TRAIN_REPORT => Self::TrainReport(TrainReport::decode(from)?),
            DATA => Self::Data(Data::decode(from)?),
            SACK => Self::Sack(Sack::decode(from)?),
            ACK => Self::Ack(AckOf::decode(from)?),
            PROBE => Self::Probe,
            PROBE_ANSWER => Self::ProbeAnswer,
            CLOSE => Self::Close,
            CLOSED => Self::Closed,
            _ => return Err(WireError::Unknown),
        };
        let open_ended = matches!(message, Self::Train(_) | Self::Data(_));
        if from.has_remaining() && !open_ended {
            return Err(WireError::Long);
        }
        Ok((connection, message))
    }
}

fn check<T>(value: T, good: impl FnOnce(&T) -> bool) -> Result<T, WireError> {
    if good(&value) {
        Ok(value)
    } else {
        Err(WireError::Range)
    }
}

impl Open {
    /// Size of a full packet on the wire.
    pub fn packet(&self) -> Bytes {
        Bytes::new(u64::from(self.packet))
    }

    fn decode(from: &mut &[u8]) -> Result<Self, WireError> {
        Ok(Self {
            priority: Priority::new(from.try_get_u8()?).ok_or(WireError::Range)?,
            packet: check(from.try_get_u16()?, |p| *p >= MIN_PACKET)?,
            packets: check(from.try_get_u32()?, |n| *n > 0)?,
        })
    }
}

impl Granted {
    fn encode(&self, to: &mut Vec<u8>) {
        to.put_u64(self.bandwidth);
        to.put_u64(self.allocated);
    }

    fn decode(from: &mut &[u8]) -> Result<Self, WireError> {
        Ok(Self {
            bandwidth: from.try_get_u64()?,
            allocated: from.try_get_u64()?,
        })
    }
}

impl Train {
    fn decode(from: &mut &[u8]) -> Result<Self, WireError> {
        let train = Self {
            number: from.try_get_u32()?,
            index: from.try_get_u8()?,
            count: from.try_get_u8()?,
        };
        check(train, |t| {
            (2..=MAX_TRAIN).contains(&t.count) && t.index < t.count
        })
    }
}

impl TrainReport {
    fn decode(from: &mut &[u8]) -> Result<Self, WireError> {
        Ok(Self {
            number: from.try_get_u32()?,
            measured: from.try_get_u8()?,
            granted: Granted::decode(from)?,
        })
    }
}

impl AckOf {
    fn encode(self, to: &mut Vec<u8>) {
        to.put_u32(self.burst);
        to.put_u8(self.part);
    }

    fn decode(from: &mut &[u8]) -> Result<Self, WireError> {
        Ok(Self {
            burst: from.try_get_u32()?,
            part: check(from.try_get_u8()?, |part| *part < MAX_PARTS)?,
        })
    }
}

impl Data {
    /// What it says about its burst.
    pub fn in_burst(&self) -> BurstPacket {
        BurstPacket {
            burst: self.burst,
            index: self.index,
            count: self.count,
            interval: Duration::from_nanos(self.interval),
            sent: self.sent,
        }
    }

    fn decode(from: &mut &[u8]) -> Result<Self, WireError> {
        let data = Self {
            sequence: from.try_get_u32()?,
            burst: from.try_get_u32()?,
            index: from.try_get_u32()?,
            count: from.try_get_u32()?,
            interval: from.try_get_u64()?,
            sent: from.try_get_u64()?,
            ack: {
                let acks = check(from.try_get_u8()?, |acks| *acks <= 1)?;
                let ack = AckOf::decode(from)?;
                (acks == 1).then_some(ack)
            },
        };
        check(data, |d| d.count <= MAX_PACKETS && d.index < d.count)
    }
}

impl Sack {
    fn encode(&self, to: &mut Vec<u8>) {
        let flag = |on, flag| if on { flag } else { 0 };
        to.put_u32(self.burst);
        to.put_u8(self.part);
        to.put_u8(self.parts);
        to.put_u8(
            flag(self.again, FLAG_AGAIN)
                | flag(self.spans.is_some(), FLAG_SPANS)
                | flag(self.share.is_some(), FLAG_SHARE),
        );
        to.put_u32(self.count);
        to.put_u32(self.received);
        to.put_u32(self.lost_bursts);
        let spans = self.spans.unwrap_or(Spans {
            sent: Duration::ZERO,
            received: Duration::ZERO,
        });
        to.put_u64(spans.sent.as_nanos());
        to.put_u64(spans.received.as_nanos());
        to.put_u64(self.held);
        let share = self.share.unwrap_or(Share {
            allocated: Rate::ZERO,
            delivered: Rate::ZERO,
            fairness: 0.0,
            adapter: 0.0,
        });
        to.put_u64(share.allocated.as_bits_per_sec());
        to.put_u64(share.delivered.as_bits_per_sec());
        to.put_f64(share.fairness);
        to.put_f64(share.adapter);
        to.put_u16(self.gaps.len() as u16);
        for (start, length) in &self.gaps {
            to.put_u32(*start);
            to.put_u32(*length);
        }
    }

    fn decode(from: &mut &[u8]) -> Result<Self, WireError> {
        let burst = from.try_get_u32()?;
        let part = from.try_get_u8()?;
        let parts = check(from.try_get_u8()?, |n| {
            (1..=MAX_PARTS).contains(n) && part < *n
        })?;
        let flags = check(from.try_get_u8()?, |f| {
            f & !(FLAG_AGAIN | FLAG_SPANS | FLAG_SHARE) == 0
        })?;
        let count = check(from.try_get_u32()?, |n| (1..=MAX_PACKETS).contains(n))?;
        let received = check(from.try_get_u32()?, |n| *n <= count)?;
        let lost_bursts = from.try_get_u32()?;
        let spans = Spans {
            sent: Duration::from_nanos(from.try_get_u64()?),
            received: Duration::from_nanos(from.try_get_u64()?),
        };
        let held = from.try_get_u64()?;
        let share = Share {
            allocated: bounded_rate(from.try_get_u64()?),
            delivered: bounded_rate(from.try_get_u64()?),
            fairness: check(from.try_get_f64()?, |f| (0.0..=1.0).contains(f))?,
            adapter: check(from.try_get_f64()?, |d| d.is_finite())?,
        };
        let n = from.try_get_u16()?;
        let mut gaps = Vec::new();
        let mut end = 0;
        for _ in 0..n {
            let (start, length) = (from.try_get_u32()?, from.try_get_u32()?);
            let fits = start >= end && length > 0 && length <= count && start <= count - length;
            if !fits {
                return Err(WireError::Range);
            }
            end = start + length;
            gaps.push((start, length));
        }
        Ok(Self {
            burst,
            part,
            parts,
            again: flags & FLAG_AGAIN != 0,
            count,
            received,
            lost_bursts,
            spans: (flags & FLAG_SPANS != 0).then_some(spans),
            held,
            share: (flags & FLAG_SHARE != 0).then_some(share),
            gaps,
        })
    }
}

#[cfg(test)]
pub(super) mod tests;
