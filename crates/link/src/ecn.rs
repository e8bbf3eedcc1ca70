//! Congestion marks in the headers of IP packets (RFC 3168 section 5; RFC 8200 section 7 for IPv6).
//!
//! The field has two bits: 00 not ECN-capable, 01 and 10 ECN-capable, 11 congestion experienced. In
//! IPv4 they are the last two of the second byte, which the header's checksum covers; in IPv6 they
//! are in the middle of it, and the header has no checksum.

/// Whether a packet may be marked. A packet that is already marked may be marked again.
pub(crate) fn is_capable(packet: &[u8]) -> bool {
    place(packet).is_some_and(|shift| packet[1] >> shift & CE != 0)
}

/// Marks a packet, if it may be marked.
pub(crate) fn mark(packet: &mut [u8]) {
    if !is_capable(packet) {
        return;
    }
    let Some(shift) = place(packet) else {
        return;
    };
    let before = u16::from_be_bytes([packet[0], packet[1]]);
    packet[1] |= CE << shift;
    let after = u16::from_be_bytes([packet[0], packet[1]]);
    if shift == V4 {
        // RFC 1624 equation 3: HC' = ~(~HC + ~m + m').
        let checksum = u16::from_be_bytes([packet[10], packet[11]]);
        let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
        let folded = (sum & 0xffff) + (sum >> 16);
        let folded = (folded & 0xffff) + (folded >> 16);
        packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    }
}

/// Congestion experienced.
const CE: u8 = 0b11;
/// Position of the two bits in the second byte, from the right.
const V4: u32 = 0;
const V6: u32 = 4;

/// The position of the bits of a packet; `None` if it has no complete IP header.
fn place(packet: &[u8]) -> Option<u32> {
    match packet.first()? >> 4 {
        4 if packet.len() >= 20 => Some(V4),
        6 if packet.len() >= 40 => Some(V6),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An IPv4 header whose checksum other texts compute as 0xb1e6 (RFC 1071's sum), with these ECN
    /// bits.
    fn header(ecn: u8) -> [u8; 20] {
        let mut header = [
            0x45, ecn, 0x00, 0x3c, 0x1c, 0x46, 0x40, 0x00, 0x40, 0x06, 0, 0, 0xac, 0x10, 0x0a,
            0x63, 0xac, 0x10, 0x0a, 0x0c,
        ];
        let sum = !(checksum(&header) as u16);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        header
    }

    /// The sum of all words; 0xffff for a header with a correct checksum (RFC 1071).
    fn checksum(header: &[u8]) -> u32 {
        let words = header
            .chunks(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
        let mut sum: u32 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum
    }

    #[test]
    fn capable_packets_are_marked_and_keep_a_correct_checksum() {
        assert_eq!(header(0)[10..12], [0xb1, 0xe6]);
        for (ecn, capable) in [(0, false), (1, true), (2, true), (3, true)] {
            let mut packet = header(ecn);
            assert_eq!(is_capable(&packet), capable);
            mark(&mut packet);
            assert_eq!(packet[1], if capable { 3 } else { 0 });
            assert_eq!(checksum(&packet), 0xffff, "{ecn}");
        }
        // 0xb1e6 - 3: a word grows by three, so the complement of the sum shrinks by three.
        let mut packet = header(2);
        mark(&mut packet);
        assert_eq!(packet[10..12], [0xb1, 0xe3]);
    }

    #[test]
    fn each_checksum_stays_correct() {
        // The identification goes through all values, and the checksum with it.
        for (id, ecn) in (0..=u16::MAX).flat_map(|id| [(id, 1), (id, 2)]) {
            let mut packet = header(ecn);
            packet[4..6].copy_from_slice(&id.to_be_bytes());
            packet[10..12].fill(0);
            let sum = !(checksum(&packet) as u16);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
            mark(&mut packet);
            assert_eq!(checksum(&packet), 0xffff, "{id} {ecn}");
        }
    }

    #[test]
    fn the_other_bits_of_the_byte_do_not_change() {
        let mut packet = header(0b1011_1001);
        mark(&mut packet);
        assert_eq!(packet[1], 0b1011_1011);
        let mut six = [0; 40];
        // Version 6, traffic class 0xba: DSCP 46, ECT(0); the flow label begins with 5.
        (six[0], six[1]) = (0x6b, 0xa5);
        assert!(is_capable(&six));
        mark(&mut six);
        assert_eq!((six[0], six[1]), (0x6b, 0xb5));
        (six[0], six[1]) = (0x6b, 0x85);
        assert!(!is_capable(&six));
    }

    #[test]
    fn incomplete_headers_are_not_changed() {
        for packet in [
            &mut [][..],
            &mut [0x45],
            &mut [0x45; 19],
            &mut [0x6f; 39],
            &mut [0xff; 60],
        ] {
            let before = packet.to_vec();
            assert!(!is_capable(packet));
            mark(packet);
            assert_eq!(packet, before);
        }
    }

    proptest! {
        #[test]
        fn any_header_keeps_a_correct_checksum(mut bytes in prop::array::uniform20(any::<u8>())) {
            bytes[0] = 0x45;
            (bytes[10], bytes[11]) = (0, 0);
            let sum = !(checksum(&bytes) as u16);
            bytes[10..12].copy_from_slice(&sum.to_be_bytes());
            mark(&mut bytes);
            prop_assert_eq!(checksum(&bytes), 0xffff);
        }
    }
}
