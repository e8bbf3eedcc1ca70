//! A packet in the simulator: one cache line.

use whimbrel_units::Time;

/// A packet on its way. Sequence numbers count segments of one MSS, from 0; `TcpFlow::size` bounds
/// them to 32 bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    /// When it comes out of the link it is on.
    pub at: Time,
    /// When its sender sent it (the TSval of RFC 7323).
    pub sent: Time,
    /// The `sent` of the packet that it answers (TSecr).
    pub echo: Time,
    /// Its flow, and which route of it: see [`routes`](super::routes).
    pub lane: u32,
    /// The segment that it carries, if it has [`Flags::DATA`]; of an AATP flow the number of its encoded message among the
    /// [`Mail`](super::mail::Mail). Without, on a governed connection: the next segment of the connection that its sender
    /// expects (Data ACK of RFC 8684).
    pub seg: u32,
    /// The next segment that its sender expects from the other end. With data of a governed connection, whose far end
    /// sends none: which segment of the connection that is (data sequence number of RFC 8684). Of a NACK the segment that
    /// came corrupted. Nobody acts on what a packet with [`Flags::CORRUPTED`] acknowledges: there it is the first bit that
    /// was changed.
    pub ack: u32,
    /// Bytes on the wire; never more than an IP packet's 65,535.
    pub size: u16,
    /// Which link of its route it is on.
    pub hop: u8,
    /// What it is.
    pub flags: Flags,
    /// Ranges that its sender holds beyond `ack`, the most recent first; empty ones are unused (RFC 2018).
    pub sacks: [Block; 3],
}

impl Packet {
    /// After a link: the first bit that it changed, if any, and whether it marked it.
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

    /// Bytes of the header that its SACK blocks take (RFC 2018 section 3): two and eight for each block, with two of padding.
    #[inline]
    pub fn sack_bytes(&self) -> u16 {
        // Nearly no acknowledgment has any.
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
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

/// What a packet is, in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flags(u8);

impl Flags {
    /// It travels from the flow's far end to its near end.
    pub const BACKWARD: Self = Self(1);
    /// It carries data.
    pub const DATA: Self = Self(2);
    /// It opens the connection; on data it says [`Self::CWR`] instead.
    pub const SYN: Self = Self(4);
    /// On data: its sender has answered for marks, or for losses (CWR of RFC 3168). No data opens a connection here, so that
    /// one bit says both.
    pub const CWR: Self = Self::SYN;
    /// Some of its bits were changed on the way.
    pub const CORRUPTED: Self = Self(8);
    /// Its first SACK block names data that came twice (RFC 2883).
    pub const DSACK: Self = Self(16);
    /// It may be marked instead of dropped (ECT of RFC 3168).
    pub const ECT: Self = Self(32);
    /// It met congestion (CE of RFC 3168). Without data it is a [`Self::NACK`] instead.
    pub const CE: Self = Self(64);
    /// Without data: a negative acknowledgment. What carries no data may not be marked, so that one bit says both.
    pub const NACK: Self = Self::CE;
    /// Its sender has received marks for which no [`Self::CWR`] has come yet (ECN-Echo of RFC 3168).
    pub const ECE: Self = Self(128);

    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// With none of `other`.
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
    /// With `other` if so it is.
    pub const fn with_if(self, so: bool, other: Self) -> Self {
        Self(self.0 | if so { other.0 } else { 0 })
    }
}

const _: () = assert!(size_of::<Packet>() == 64, "a packet is one cache line");
