//! A packet in the simulator: one cache line.

use crate::end::End;
use whimbrel_units::Time;

/// A packet. Sequence numbers count segments of one MSS, from 0; `TcpFlow::size` bounds them to 32
/// bits.
///
/// `seg` and `ack` have the meaning of TCP: the segment that a data packet carries, and the
/// cumulative acknowledgment. Some packets use them otherwise; the methods give these meanings:
///
/// | packet | field | method |
/// |---|---|---|
/// | NACK | `ack` | [`nacked_segment`](Self::nacked_segment) |
/// | data of a multipath connection | `ack` | [`connection_segment`](Self::connection_segment) |
/// | acknowledgment of a multipath connection | `seg` | [`data_ack`](Self::data_ack) |
/// | acknowledgment that a helper marked | `seg` | [`is_loss_notified`](Self::is_loss_notified), [`is_frozen`](Self::is_frozen) |
/// | AATP | `seg` | [`payload_handle`](Self::payload_handle) |
/// | any with [`Flags::CORRUPTED`] | `ack` | [`first_changed_bit`](Self::first_changed_bit) |
///
/// In a UDP packet `seg` is the sequence number of the datagram.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct Packet {
    /// When it leaves the link that it is on.
    pub at: Time,
    /// When its sender sent it (TSval of RFC 7323).
    pub sent: Time,
    /// The `sent` of the packet that it answers (TSecr of RFC 7323).
    pub echo: Time,
    /// Its flow and the route of that flow; see `engine/routes.rs`.
    pub path_id: u32,
    /// The segment that a data packet carries; see the table.
    pub seg: u32,
    /// The next segment that its sender expects; see the table.
    pub ack: u32,
    /// Size on the wire in bytes, at most the 65,535 of an IP packet.
    pub size: u16,
    /// Index of the current link in its route.
    pub hop: u8,
    /// Its type and its marks.
    pub flags: Flags,
    /// Ranges that its sender holds beyond `ack`, the most recent first (RFC 2018). Empty ranges
    /// are unused.
    pub sacks: [Block; 3],
}

impl Packet {
    /// A packet that leaves its sender now, with no sequence numbers and no SACK blocks.
    #[inline]
    pub fn new(now: Time, path_id: u32, size: u16, flags: Flags) -> Self {
        Self {
            at: now,
            sent: now,
            echo: Time::ZERO,
            path_id,
            seg: 0,
            ack: 0,
            size,
            hop: 0,
            flags,
            sacks: [Block::default(); 3],
        }
    }

    /// The end that sent it.
    #[inline]
    pub fn sender(&self) -> End {
        match self.flags.has(Flags::BACKWARD) {
            true => End::Far,
            false => End::Near,
        }
    }

    /// The end that receives it.
    #[inline]
    pub fn receiver(&self) -> End {
        self.sender().other()
    }

    /// Data of a multipath connection: which segment of the connection it carries (data sequence
    /// number of RFC 8684). The far end sends no data, so `ack` is free.
    #[inline]
    pub fn connection_segment(&self) -> u32 {
        self.ack
    }

    /// Sets [`Self::connection_segment`].
    #[inline]
    pub fn set_connection_segment(&mut self, segment: u32) {
        self.ack = segment;
    }

    /// Acknowledgment of a multipath connection: the next segment of the connection that its
    /// sender expects (Data ACK of RFC 8684).
    #[inline]
    pub fn data_ack(&self) -> u32 {
        self.seg
    }

    /// Sets [`Self::data_ack`].
    #[inline]
    pub fn set_data_ack(&mut self, segment: u32) {
        self.seg = segment;
    }

    /// Acknowledgment: a helper says that the expected segment was lost on its link. No multipath
    /// connection has so many segments, and no other acknowledgment uses `seg`.
    #[inline]
    pub fn is_loss_notified(&self) -> bool {
        self.seg == u32::MAX
    }

    /// Sets [`Self::is_loss_notified`].
    #[inline]
    pub fn set_loss_notified(&mut self) {
        self.seg = u32::MAX;
    }

    /// Acknowledgment: its window is zero.
    #[inline]
    pub fn is_frozen(&self) -> bool {
        self.seg == u32::MAX - 1
    }

    /// Sets [`Self::is_frozen`].
    #[inline]
    pub fn set_frozen(&mut self) {
        self.seg = u32::MAX - 1;
    }

    /// NACK: the segment that arrived corrupted.
    #[inline]
    pub fn nacked_segment(&self) -> u32 {
        self.ack
    }

    /// Sets [`Self::nacked_segment`].
    #[inline]
    pub fn set_nacked_segment(&mut self, segment: u32) {
        self.ack = segment;
    }

    /// AATP: where the flow keeps the message that it carries.
    #[inline]
    pub fn message(&self) -> u32 {
        self.seg
    }

    /// Sets [`Self::message`].
    #[inline]
    pub fn set_message(&mut self, place: u32) {
        self.seg = place;
    }

    /// Packet with [`Flags::CORRUPTED`]: the first bit that a link changed. No end uses what such
    /// a packet acknowledges, so `ack` is free.
    #[inline]
    pub fn first_changed_bit(&self) -> u32 {
        self.ack
    }

    /// Records what a link did to it: the first bit that the link changed, if any, and whether the
    /// link marked it.
    #[inline]
    pub fn pass(&mut self, corrupted: Option<u32>, marked: bool) {
        if marked {
            self.flags = self.flags.with(Flags::CE);
        }
        if let Some(bit) = corrupted {
            self.corrupt(bit);
        }
    }

    #[cold]
    fn corrupt(&mut self, bit: u32) {
        let before = self.flags.has(Flags::CORRUPTED).then_some(self.ack);
        self.ack = before.map_or(bit, |before| before.min(bit));
        self.flags = self.flags.with(Flags::CORRUPTED);
    }

    /// Header bytes of its SACK blocks (RFC 2018 section 3): two bytes, eight for each block, and
    /// two of padding.
    #[inline]
    pub fn sack_bytes(&self) -> u16 {
        // Nearly all acknowledgments have none.
        if self.sacks[0].is_empty() {
            return 0;
        }
        4 + 8 * self.sacks.iter().filter(|b| !b.is_empty()).count() as u16
    }
}

/// A range of segments: `start <= seg < end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Block {
    pub start: u32,
    pub end: u32,
}

impl Block {
    /// Whether it holds no segment.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

/// The type and the marks of a packet, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flags(u8);

impl Flags {
    /// It travels from the far end of the flow to the near end.
    pub const BACKWARD: Self = Self(1);
    /// It carries data.
    pub const DATA: Self = Self(2);
    /// It opens the connection. On data the bit is [`Self::CWR`].
    pub const SYN: Self = Self(4);
    /// On data: the sender has reduced its window for marks or losses (CWR of RFC 3168). No data
    /// packet opens a connection, so the two share a bit.
    pub const CWR: Self = Self::SYN;
    /// A link changed some of its bits.
    pub const CORRUPTED: Self = Self(8);
    /// Its first SACK block reports data that arrived twice (RFC 2883).
    pub const DSACK: Self = Self(16);
    /// Queues may mark it instead of dropping it (ECT of RFC 3168).
    pub const ECT: Self = Self(32);
    /// A queue marked it (CE of RFC 3168). Without data the bit is [`Self::NACK`].
    pub const CE: Self = Self(64);
    /// Without data: a negative acknowledgment. Only data can be marked, so the two share a bit.
    pub const NACK: Self = Self::CE;
    /// Its sender has received marks and no [`Self::CWR`] since (ECN-Echo of RFC 3168).
    pub const ECE: Self = Self(128);

    /// Whether it has any bit of `other`.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    /// These flags and `other`.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// These flags without any of `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
    /// Whether it opens the connection.
    pub const fn opens(self) -> bool {
        self.0 & (Self::SYN.0 | Self::DATA.0) == Self::SYN.0
    }
    /// Whether it is a negative acknowledgment.
    #[inline]
    pub const fn is_nack(self) -> bool {
        self.0 & (Self::NACK.0 | Self::DATA.0) == Self::NACK.0
    }
    /// These flags, and `other` if `condition` holds.
    pub const fn with_if(self, condition: bool, other: Self) -> Self {
        Self(self.0 | if condition { other.0 } else { 0 })
    }
}

const _: () = assert!(size_of::<Packet>() == 64, "a packet is one cache line");
