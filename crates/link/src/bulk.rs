//! Packets that the kernel hands over in bulk: several of TCP or UDP as one.
//!
//! A TUN device with a header before each packet (`virtio_net_hdr`, linux/virtio_net.h) passes on
//! what TCP or a UDP socket sends at once as one packet of up to 64 KiB, whose checksum is left to
//! the device, as to a network card that segments. The path is one of packets, so [`Bulk::split`]
//! makes them, and the link decides on each. Towards the other end a [`Train`] joins packets of one
//! connection that are due at nearly the same time, as a network card's driver merges what arrives
//! between two interrupts (GRO). That saves most system calls and most of the work of TCP.

use crate::held::{Frame, Packet, Partial};
use whimbrel_units::{Duration, Time};

/// Size of the header before each packet, bytes.
pub(crate) const HEADER: usize = 10;
/// Size of the largest packet with its header, bytes.
pub(crate) const LARGEST: usize = HEADER + 65_535;
/// Packets that are due within this time of each other may be joined: less than network cards wait
/// before they interrupt, and more than a packet of 1500 bytes takes at 1 Gbit/s.
const TOGETHER: Duration = Duration::from_micros(15);

/// The checksum is still to be computed (`VIRTIO_NET_HDR_F_NEEDS_CSUM`).
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_TCPV4`, `VIRTIO_NET_HDR_GSO_UDP_L4`.
const GSO_TCP: u8 = 1;
const GSO_UDP: u8 = 5;

const TCP: u8 = 6;
const UDP: u8 = 17;
const FIN: u8 = 1;
const PUSH: u8 = 8;
const ACK: u8 = 0x10;
/// Congestion window reduced (RFC 3168): on the first segment alone.
const CWR: u8 = 0x80;

/// What the kernel handed over: one packet, or several as one.
pub(crate) struct Bulk<'a> {
    packet: &'a [u8],
    partial: Option<Partial>,
    /// Of several: the protocol, where the payload begins, and how much of it each packet has.
    several: Option<(u8, usize, usize)>,
}

impl<'a> Bulk<'a> {
    /// Takes apart what was read from a device. `None` if it makes no sense.
    pub fn read(read: &'a [u8]) -> Option<Self> {
        let (header, packet) = read.split_first_chunk::<HEADER>()?;
        let [flags, kind, ..] = *header;
        let number = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
        let (size, start, offset) = (number(4), number(6), number(8));
        let partial = (flags & NEEDS_CHECKSUM != 0).then_some(Partial { start, offset });
        if partial.is_some() && start + offset + 2 > packet.len() {
            return None;
        }
        let several = match kind {
            0 => None,
            GSO_TCP | GSO_UDP => {
                partial?;
                let (protocol, length) = match kind {
                    GSO_TCP => (TCP, usize::from(packet.get(start + 12)? >> 4) * 4),
                    _ => (UDP, 8),
                };
                let begin = start + length;
                (size > 0 && begin <= packet.len()).then_some(())?;
                Some((protocol, begin, size))
            }
            _ => return None,
        };
        Some(Self {
            packet,
            partial,
            several,
        })
    }

    /// Number of packets.
    pub fn count(&self) -> usize {
        self.several.map_or(1, |(_, begin, size)| {
            (self.packet.len() - begin).div_ceil(size).max(1)
        })
    }

    /// Writes packet `index` to a buffer. Returns its length; `None` if it is larger than the
    /// device's packets.
    pub fn split(&self, index: usize, to: &mut Frame) -> Option<usize> {
        to.partial = self.partial;
        let (Some((protocol, begin, size)), Some(Partial { start, offset })) =
            (self.several, self.partial)
        else {
            to.get_mut(..self.packet.len())?
                .copy_from_slice(self.packet);
            return Some(self.packet.len());
        };
        let from = index * size;
        let payload = &self.packet[begin + from..];
        let (payload, is_last) = match payload.split_at_checked(size) {
            Some((payload, rest)) => (payload, rest.is_empty()),
            None => (payload, true),
        };
        let length = begin + payload.len();
        let packet = to.get_mut(..length)?;
        packet[..begin].copy_from_slice(&self.packet[..begin]);
        packet[begin..].copy_from_slice(payload);
        if protocol == TCP {
            let sequence = sequence(packet, start).wrapping_add(from as u32);
            packet[start + 4..start + 8].copy_from_slice(&sequence.to_be_bytes());
            let flags = &mut packet[start + 13];
            *flags &= if is_last { !0 } else { !(FIN | PUSH) };
            *flags &= if index == 0 { !0 } else { !CWR };
        }
        if packet[0] >> 4 == 4 {
            let id = word(packet, 4).wrapping_add(index as u16);
            packet[4..6].copy_from_slice(&id.to_be_bytes());
        }
        set_lengths(packet, length, protocol, start, offset);
        Some(length)
    }
}

/// Packets of one connection that are written as one.
#[derive(Default)]
pub(crate) struct Train {
    packets: Vec<Packet>,
    /// Header and packet headers of the whole.
    front: Vec<u8>,
    /// Where the payload of each packet begins, and where their checksum is.
    begin: usize,
    partial: Option<Partial>,
    /// Length of the whole.
    length: usize,
}

impl Train {
    /// Begins with a packet.
    pub fn begin(&mut self, packet: Packet) {
        self.packets.clear();
        self.length = packet.len;
        self.partial = packet.buffer.partial;
        self.begin = payload(&packet).map_or(packet.len, |(_, begin)| begin);
        self.packets.push(packet);
    }

    /// Whether a packet may follow those of the train.
    pub fn takes(&self, next: &Packet) -> bool {
        let (Some(first), Some(last)) = (self.packets.first(), self.packets.last()) else {
            return false;
        };
        next.due.since(last.due) <= TOGETHER && {
            let more = next.len.saturating_sub(self.begin);
            self.length + more <= LARGEST - HEADER && follows(first, last, next)
        }
    }

    /// Adds a packet that the train [takes](Self::takes).
    pub fn add(&mut self, packet: Packet) {
        self.length += packet.len.saturating_sub(self.begin);
        self.packets.push(packet);
    }

    /// What is to be written: header and packets.
    pub fn parts(&mut self) -> Vec<&[u8]> {
        let Self {
            packets,
            front,
            begin,
            partial,
            length,
        } = self;
        front.clear();
        front.resize(HEADER, 0);
        let Some(first) = packets.first() else {
            return vec![front];
        };
        let (header, headers) = (&mut [0; HEADER], first.bytes());
        if let Some(Partial { start, offset }) = *partial {
            header[0] = NEEDS_CHECKSUM;
            header[6..8].copy_from_slice(&(start as u16).to_ne_bytes());
            header[8..10].copy_from_slice(&(offset as u16).to_ne_bytes());
            if packets.len() > 1 {
                let protocol = headers[9];
                header[1] = if protocol == TCP { GSO_TCP } else { GSO_UDP };
                header[2..4].copy_from_slice(&(*begin as u16).to_ne_bytes());
                let size = (first.len - *begin) as u16;
                header[4..6].copy_from_slice(&size.to_ne_bytes());
                front.extend_from_slice(&headers[..*begin]);
                let whole = &mut front[HEADER..];
                if protocol == TCP {
                    let last = packets.last().map_or(0, |last| last.bytes()[start + 13]);
                    whole[start + 13] |= last;
                }
                set_lengths(whole, *length, protocol, start, offset);
            }
        }
        front[..HEADER].copy_from_slice(header);
        let skipped = if packets.len() > 1 { *begin } else { 0 };
        let payloads = packets.iter().map(|packet| &packet.bytes()[skipped..]);
        [front.as_slice()].into_iter().chain(payloads).collect()
    }

    /// When each of the packets was due.
    pub fn dues(&self) -> impl ExactSizeIterator<Item = Time> {
        self.packets.iter().map(|packet| packet.due)
    }

    /// Its packets, which leave it empty.
    pub fn drain(&mut self) -> impl Iterator<Item = Packet> {
        self.packets.drain(..)
    }
}

/// The protocol and the beginning of the payload of a packet that may be one of several: TCP or
/// UDP over IPv4 without options, whole, its checksum not computed yet.
fn payload(packet: &Packet) -> Option<(u8, usize)> {
    packet.buffer.partial?;
    let bytes = packet.bytes();
    // Version 4, five words of header; no fragment.
    if bytes.len() < 28 || bytes[0] != 0x45 || word(bytes, 6) & 0x3fff != 0 {
        return None;
    }
    let begin = match bytes[9] {
        TCP => 20 + usize::from(bytes.get(32)? >> 4) * 4,
        UDP => 28,
        _ => return None,
    };
    (begin < bytes.len()).then_some((bytes[9], begin))
}

/// Whether `next` continues what `first` and `last` belong to.
fn follows(first: &Packet, last: &Packet, next: &Packet) -> bool {
    let (Some(kind), Some(other)) = (payload(first), payload(next)) else {
        return false;
    };
    let (protocol, begin) = kind;
    let (a, b, before) = (first.bytes(), next.bytes(), last.bytes());
    let size = first.len - begin;
    // A smaller one ends it.
    let fits = kind == other && last.len == first.len && next.len - begin <= size;
    // Not the length, the identification and the checksum.
    let same_path = a[1] == b[1] && a[6..10] == b[6..10] && a[12..24] == b[12..24];
    fits && same_path
        && (protocol == UDP || {
            // All but the last only acknowledge; not the sequence number, flags and checksum.
            let plain = a[33] == ACK && before[33] == ACK && b[33] & !PUSH == ACK;
            let same =
                a[28..33] == b[28..33] && a[34..36] == b[34..36] && a[38..begin] == b[38..begin];
            let expected = sequence(before, 20).wrapping_add(size as u32);
            plain && same && sequence(b, 20) == expected
        })
}

/// Sets what depends on the length of a packet: lengths, the checksum of an IPv4 header, and the
/// sum of the pseudo-header in the place of the transport's checksum.
fn set_lengths(packet: &mut [u8], length: usize, protocol: u8, start: usize, offset: usize) {
    let transport = length - start;
    if protocol == UDP {
        packet[start + 4..start + 6].copy_from_slice(&(transport as u16).to_be_bytes());
    }
    let addresses = if packet[0] >> 4 == 4 {
        packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        packet[10..12].fill(0);
        let checksum = !fold(sum(&packet[..start]));
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        12..20
    } else {
        packet[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes());
        8..40
    };
    let pseudo = sum(&packet[addresses]) + u64::from(protocol) + transport as u64;
    packet[start + offset..start + offset + 2].copy_from_slice(&fold(pseudo).to_be_bytes());
}

impl Partial {
    /// Computes the checksum, so that a receiver checks it: before a bit is changed.
    pub fn complete(self, packet: &mut [u8]) {
        let Self { start, offset } = self;
        let checksum = match !fold(sum(&packet[start..])) {
            // UDP takes zero for none.
            0 => 0xffff,
            checksum => checksum,
        };
        packet[start + offset..start + offset + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn sequence(packet: &[u8], start: usize) -> u32 {
    let at = |n: usize| packet[start + n];
    u32::from_be_bytes([at(4), at(5), at(6), at(7)])
}

/// The sum of all words (RFC 1071).
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let words = words
        .iter()
        .map(|word| u64::from(u16::from_be_bytes(*word)));
    let last = rest.first().map_or(0, |byte| u64::from(*byte) << 8);
    words.sum::<u64>() + last
}

/// The sum in 16 bits, with end-around carry.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the kernel hands over: a TCP packet with timestamps of `payload`, in segments of
    /// `size`.
    fn tcp(payload: &[u8], size: u16, flags: u8) -> Vec<u8> {
        let mut read = vec![0; HEADER];
        read[0] = NEEDS_CHECKSUM;
        read[1] = GSO_TCP;
        read[2..4].copy_from_slice(&52_u16.to_ne_bytes());
        read[4..6].copy_from_slice(&size.to_ne_bytes());
        read[6..8].copy_from_slice(&20_u16.to_ne_bytes());
        read[8..10].copy_from_slice(&16_u16.to_ne_bytes());
        let mut packet = vec![0; 52];
        packet[0] = 0x45;
        packet[4..6].copy_from_slice(&7_u16.to_be_bytes());
        packet[6] = 0x40;
        packet[8..10].copy_from_slice(&[64, TCP]);
        packet[12..20].copy_from_slice(&[10, 77, 0, 1, 10, 77, 0, 2]);
        packet[20..24].copy_from_slice(&[0, 80, 1, 0]);
        packet[24..28].copy_from_slice(&u32::MAX.to_be_bytes());
        packet[32..34].copy_from_slice(&[8 << 4, flags]);
        packet.extend_from_slice(payload);
        let length = packet.len();
        set_lengths(&mut packet, length, TCP, 20, 16);
        read.extend_from_slice(&packet);
        read
    }

    fn udp(payload: &[u8], size: u16) -> Vec<u8> {
        let mut read = tcp(payload, size, 0);
        read[1] = GSO_UDP;
        read[2..4].copy_from_slice(&28_u16.to_ne_bytes());
        read[8..10].copy_from_slice(&6_u16.to_ne_bytes());
        read[HEADER + 9] = UDP;
        read.drain(HEADER + 28..HEADER + 52);
        let length = read.len() - HEADER;
        set_lengths(&mut read[HEADER..], length, UDP, 20, 6);
        read
    }

    fn split(read: &[u8]) -> Vec<Packet> {
        let bulk = Bulk::read(read).expect("a packet");
        let packet = |index| {
            let mut buffer = Box::<Frame>::default();
            let len = bulk.split(index, &mut buffer).expect("it fits");
            Packet {
                due: Time::ZERO,
                buffer,
                len,
            }
        };
        (0..bulk.count()).map(packet).collect()
    }

    /// A receiver accepts both checksums of a packet once the second is computed.
    fn is_intact(packet: &mut Packet) -> bool {
        let len = packet.len;
        let protocol = packet.buffer[9];
        if let Some(partial) = packet.buffer.partial {
            partial.complete(&mut packet.buffer[..len]);
        }
        let bytes = packet.bytes();
        let pseudo = sum(&bytes[12..20]) + u64::from(protocol) + (len - 20) as u64;
        fold(sum(&bytes[..20])) == 0xffff
            && fold(pseudo + sum(&bytes[20..])) == 0xffff
            && usize::from(word(bytes, 2)) == len
    }

    /// Joins as many packets as go together and returns what is written.
    fn join(packets: Vec<Packet>) -> Vec<Vec<u8>> {
        let mut written = Vec::new();
        let mut train = Train::default();
        let mut packets = packets.into_iter().peekable();
        while let Some(first) = packets.next() {
            train.begin(first);
            while let Some(next) = packets.next_if(|next| train.takes(next)) {
                train.add(next);
            }
            written.push(train.parts().concat());
        }
        written
    }

    proptest! {
        #[test]
        fn what_is_split_is_intact_and_joins_again(
            payload in prop::collection::vec(any::<u8>(), 1..20_000),
            size in 100_u16..1448,
            last in prop::sample::select(vec![ACK, ACK | PUSH]),
        ) {
            for read in [tcp(&payload, size, last), udp(&payload, size)] {
                let packets = split(&read);
                prop_assert_eq!(packets.len(), payload.len().div_ceil(size.into()));
                let begin = if read[1] == GSO_TCP { 52 } else { 28 };
                let found = packets.iter().map(|p| &p.bytes()[begin..]);
                prop_assert_eq!(found.collect::<Vec<_>>().concat(), payload.clone());
                prop_assert!(split(&read).iter_mut().all(is_intact));
                let written = join(packets);
                prop_assert_eq!(written.len(), 1);
                let mut expected = read.clone();
                if payload.len() <= usize::from(size) {
                    // One packet alone is no bulk.
                    expected[1..6].fill(0);
                }
                prop_assert_eq!(&written[0], &expected);
            }
        }

        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(bulk) = Bulk::read(&bytes) {
                for index in 0..bulk.count() {
                    bulk.split(index, &mut Frame::default());
                }
            }
        }
    }

    #[test]
    fn only_neighbours_of_one_connection_are_joined() {
        let packets = || split(&tcp(&[7; 4000], 1000, ACK));
        assert_eq!(join(packets()).len(), 1);
        let changed = |change: &dyn Fn(&mut Vec<Packet>)| {
            let mut packets = packets();
            change(&mut packets);
            join(packets).len()
        };
        assert_eq!(changed(&|p| p[1].buffer[21] += 1), 3, "another port");
        assert_eq!(changed(&|p| p[1].buffer[1] = 3), 3, "marked");
        assert_eq!(changed(&|p| drop(p.remove(1))), 2, "a gap");
        assert_eq!(changed(&|p| p.swap(1, 2)), 4, "out of order");
        assert_eq!(changed(&|p| p[1].buffer.partial = None), 3, "a checksum");
        assert_eq!(changed(&|p| p[1].buffer[33] |= PUSH), 2, "it ends there");
        let later = Time::ZERO + TOGETHER + TOGETHER;
        assert_eq!(
            changed(&|p| p[2..].iter_mut().for_each(|p| p.due = later)),
            2
        );
    }

    #[test]
    fn flags_of_the_whole_are_on_the_first_or_the_last_segment() {
        let packets = split(&tcp(&[7; 3000], 1000, ACK | PUSH | FIN | CWR));
        let flags: Vec<u8> = packets.iter().map(|p| p.bytes()[33]).collect();
        assert_eq!(flags, [ACK | CWR, ACK, ACK | PUSH | FIN]);
        let sequence = |p: &Packet| sequence(p.bytes(), 20);
        assert_eq!(
            packets.iter().map(sequence).collect::<Vec<_>>(),
            [u32::MAX, 999, 1999]
        );
        assert_eq!(
            packets
                .iter()
                .map(|p| word(p.bytes(), 4))
                .collect::<Vec<_>>(),
            [7, 8, 9]
        );
    }
}
