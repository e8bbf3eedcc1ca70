//! Why the path dropped each TCP segment: the truth that the decisions of loss classifiers are
//! compared with.
//!
//! The path reports the packets that it drops or corrupts, from its own threads; whoever observes
//! TCP queries the cause of a lost segment from another.

use crate::{LossCause, Observer};
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use whimbrel_net::Side;
use whimbrel_units::Time;

/// The maximum number of remembered segments. At 100,000 lost packets a second they are those of
/// the last 0.6 s, which is longer than TCP needs to detect a loss on most paths.
const MAX: usize = 65_536;

/// The sender and the receiver of a segment.
type Ends = (SocketAddr, SocketAddr);

/// The last lost segments of all connections.
#[derive(Debug)]
pub struct LostSegments {
    memory: Mutex<Memory>,
    max: usize,
}

/// One lost segment: the sequence numbers from `seq` up to, but not including, `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    seq: u32,
    end: u32,
    cause: LossCause,
}

#[derive(Debug, Default)]
struct Memory {
    /// The segments of each connection and direction, oldest first.
    segments: HashMap<Ends, VecDeque<Segment>>,
    /// The connection of each remembered segment, oldest first.
    order: VecDeque<Ends>,
}

impl Default for LostSegments {
    /// Remembers the last 65,536 segments.
    fn default() -> Self {
        Self::remembering(MAX)
    }
}

impl LostSegments {
    fn remembering(max: usize) -> Self {
        Self {
            memory: Mutex::default(),
            max,
        }
    }

    /// Locks the memory. It is consistent after every statement, so a poisoned lock is no reason to
    /// stop.
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the last transmission of the segment that begins at sequence number `seq`, and ends
    /// before `end`, did not arrive intact; `None` if the path did not drop it.
    pub fn cause(&self, from: SocketAddr, to: SocketAddr, seq: u32, end: u32) -> Option<LossCause> {
        let memory = self.memory();
        let segments = memory.segments.get(&(canonical(from), canonical(to)))?;
        let mut latest_first = segments.iter().rev();
        let found = latest_first.find(|segment| segment.overlaps(seq, end));
        found.map(|segment| segment.cause)
    }

    fn remember(&self, addresses: Ends, segment: Segment) {
        let mut memory = self.memory();
        while memory.order.len() >= self.max {
            memory.forget_oldest();
        }
        memory.order.push_back(addresses);
        let of_connection = memory.segments.entry(addresses).or_default();
        of_connection.push_back(segment);
    }
}

impl Memory {
    fn forget_oldest(&mut self) {
        let Some(addresses) = self.order.pop_front() else {
            return;
        };
        let Some(segments) = self.segments.get_mut(&addresses) else {
            return;
        };
        segments.pop_front();
        if segments.is_empty() {
            self.segments.remove(&addresses);
        }
    }
}

impl Segment {
    /// Whether it has a sequence number in `[seq, end)`. Sequence numbers wrap, so the comparison
    /// is modulo 2^32.
    fn overlaps(&self, seq: u32, end: u32) -> bool {
        self.seq.wrapping_sub(seq) < end.wrapping_sub(seq)
            || seq.wrapping_sub(self.seq) < self.end.wrapping_sub(self.seq)
    }
}

impl Observer for LostSegments {
    fn lost(&self, _at: Time, _side: Side, packet: &[u8], cause: LossCause) {
        if let Some((addresses, seq, end)) = segment(packet) {
            self.remember(addresses, Segment { seq, end, cause });
        }
    }
}

/// An IPv4 address that is mapped into IPv6 becomes IPv4 again.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// The sender, the receiver and the sequence numbers of a packet; `None` if it is no TCP segment
/// that occupies sequence numbers, such as a pure acknowledgment.
fn segment(packet: &[u8]) -> Option<(Ends, u32, u32)> {
    let packet = SlicedPacket::from_ip(packet).ok()?;
    let (from, to): (IpAddr, IpAddr) = match packet.net? {
        NetSlice::Ipv4(ip) => {
            let header = ip.header();
            (
                header.source_addr().into(),
                header.destination_addr().into(),
            )
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header();
            (
                header.source_addr().into(),
                header.destination_addr().into(),
            )
        }
        _ => return None,
    };
    let Some(TransportSlice::Tcp(tcp)) = packet.transport else {
        return None;
    };
    let payload = u32::try_from(tcp.payload().len()).ok()?;
    let length = payload + u32::from(tcp.syn()) + u32::from(tcp.fin());
    let addresses = (
        canonical(SocketAddr::new(from, tcp.source_port())),
        canonical(SocketAddr::new(to, tcp.destination_port())),
    );
    let seq = tcp.sequence_number();
    (length > 0).then(|| (addresses, seq, seq.wrapping_add(length)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;
    use proptest::prelude::*;
    use whimbrel_net::DropCause;

    const FULL: LossCause = LossCause::Dropped(DropCause::QueueOverflow);
    const NOISE: LossCause = LossCause::Dropped(DropCause::Random);

    fn addresses(port: u16) -> Ends {
        (
            SocketAddr::from(([10, 77, 0, 1], port)),
            SocketAddr::from(([10, 77, 0, 2], 5001)),
        )
    }

    /// The cause of a segment from this port.
    fn cause(lost: &LostSegments, port: u16, seq: u32, end: u32) -> Option<LossCause> {
        let (from, to) = addresses(port);
        lost.cause(from, to, seq, end)
    }

    fn packet(port: u16, seq: u32, length: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        PacketBuilder::ipv4([10, 77, 0, 1], [10, 77, 0, 2], 64)
            .tcp(port, 5001, seq, 1000)
            .ack(7)
            .write(&mut bytes, &vec![0; length])
            .expect("a packet");
        bytes
    }

    #[test]
    fn the_cause_of_a_segment_is_that_of_the_drop_that_overlaps() {
        let lost = LostSegments::default();
        lost.lost(Time::ZERO, Side::Forward, &packet(40_000, 1000, 500), FULL);
        lost.lost(Time::ZERO, Side::Forward, &packet(40_000, 3000, 500), NOISE);
        let of = |seq, end| cause(&lost, 40_000, seq, end);
        for (seq, end) in [(1000, 1500), (500, 1001), (1499, 1600)] {
            assert_eq!(of(seq, end), Some(FULL), "{seq}..{end}");
        }
        assert_eq!(of(3200, 3201), Some(NOISE));
        // Between the two, at the ends of both, and nothing at all.
        for (seq, end) in [(1500, 3000), (500, 1000), (3500, 4000), (1200, 1200)] {
            let expected = (seq == 1200).then_some(FULL);
            assert_eq!(of(seq, end), expected, "{seq}..{end}");
        }
        assert_eq!(cause(&lost, 40_001, 1000, 1500), None);
        let (from, to) = addresses(40_000);
        assert_eq!(lost.cause(to, from, 1000, 1500), None, "the way back");
    }

    #[test]
    fn the_latest_drop_of_a_retransmitted_segment_counts() {
        let lost = LostSegments::default();
        for why in [NOISE, FULL, LossCause::Corrupted, FULL] {
            lost.lost(Time::ZERO, Side::Forward, &packet(1, 1000, 500), why);
            assert_eq!(cause(&lost, 1, 1000, 1500), Some(why));
        }
    }

    #[test]
    fn causes_are_congestion_or_random() {
        use DropCause::{Contention, Early, Outage, QueueOverflow, Random};
        for (cause, congestion) in [
            (QueueOverflow, true),
            (Early, true),
            (Contention, true),
            (Random, false),
            (Outage, false),
        ] {
            assert_eq!(LossCause::Dropped(cause).is_congestion(), congestion);
        }
        assert!(!LossCause::Corrupted.is_congestion());
    }

    #[test]
    fn segments_across_the_wrap_of_sequence_numbers_are_found() {
        let lost = LostSegments::default();
        lost.lost(
            Time::ZERO,
            Side::Forward,
            &packet(1, u32::MAX - 99, 300),
            NOISE,
        );
        let of = |seq, end| cause(&lost, 1, seq, end);
        assert_eq!(of(u32::MAX - 10, 50), Some(NOISE));
        assert_eq!(of(150, 170), Some(NOISE));
        assert_eq!(of(200, 300), None);
        assert_eq!(of(u32::MAX - 200, u32::MAX - 99), None);
    }

    #[test]
    fn acknowledgments_and_other_protocols_are_not_remembered() {
        assert_eq!(segment(&packet(1, 1, 0)), None);
        let mut udp = Vec::new();
        PacketBuilder::ipv4([10, 77, 0, 1], [10, 77, 0, 2], 64)
            .udp(1, 2)
            .write(&mut udp, &[0; 100])
            .expect("a packet");
        assert_eq!(segment(&udp), None);
        let mut syn = Vec::new();
        PacketBuilder::ipv4([10, 77, 0, 1], [10, 77, 0, 2], 64)
            .tcp(1, 5001, 77, 1000)
            .syn()
            .write(&mut syn, &[])
            .expect("a packet");
        assert_eq!(segment(&syn), Some((addresses(1), 77, 78)));
    }

    #[test]
    fn ipv6_and_mapped_addresses_are_understood() {
        let (near, far): (std::net::Ipv6Addr, std::net::Ipv6Addr) = (
            "2001:db8::1".parse().expect("an address"),
            "2001:db8::2".parse().expect("an address"),
        );
        let mut bytes = Vec::new();
        PacketBuilder::ipv6(near.octets(), far.octets(), 64)
            .tcp(9, 10, 5, 1000)
            .write(&mut bytes, &[0; 10])
            .expect("a packet");
        let found = segment(&bytes).expect("a segment");
        let expected = (SocketAddr::from((near, 9)), SocketAddr::from((far, 10)));
        assert_eq!(found, (expected, 5, 15));

        let lost = LostSegments::default();
        lost.lost(Time::ZERO, Side::Forward, &packet(1, 1000, 500), NOISE);
        let mapped = |address: SocketAddr| match address.ip() {
            IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()),
            IpAddr::V6(_) => address,
        };
        let (from, to) = addresses(1);
        assert_eq!(
            lost.cause(mapped(from), mapped(to), 1000, 1500),
            Some(NOISE)
        );
    }

    #[test]
    fn the_oldest_segments_are_forgotten_first() {
        let lost = LostSegments::remembering(4);
        for port in 1..=3 {
            for i in 0..2 {
                lost.lost(
                    Time::ZERO,
                    Side::Forward,
                    &packet(port, i * 1000, 500),
                    NOISE,
                );
            }
        }
        let known = |port, seq| cause(&lost, port, seq, seq + 1).is_some();
        assert_eq!([known(1, 0), known(1, 1000)], [false, false]);
        assert_eq!([known(2, 0), known(2, 1000)], [true, true]);
        lost.lost(Time::ZERO, Side::Forward, &packet(3, 2000, 500), NOISE);
        assert_eq!([known(2, 0), known(2, 1000)], [false, true]);
        let memory = lost.memory();
        assert_eq!((memory.order.len(), memory.segments.len()), (4, 2));
    }

    proptest! {
        #[test]
        fn arbitrary_packets_are_no_problem(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = segment(&bytes);
        }

        #[test]
        fn any_byte_of_a_segment_may_be_wrong(at in 0_usize..60, byte: u8, cut in 0_usize..61) {
            let mut bytes = packet(1, 2, 20);
            bytes[at] = byte;
            if let Some((_, seq, end)) = segment(&bytes[..cut.min(bytes.len())]) {
                prop_assert!((1..=22).contains(&end.wrapping_sub(seq)));
            }
        }

        #[test]
        fn every_part_of_a_lost_segment_is_found(
            seq: u32,
            length in 1_usize..1460,
            part in 0.0..1.0,
        ) {
            let lost = LostSegments::default();
            lost.lost(Time::ZERO, Side::Reverse, &packet(1, seq, length), FULL);
            let at = seq.wrapping_add((length as f64 * part) as u32);
            let of = |seq: u32| cause(&lost, 1, seq, seq.wrapping_add(1));
            prop_assert_eq!(of(at), Some(FULL));
            prop_assert_eq!(of(seq.wrapping_sub(1)), None);
            prop_assert_eq!(of(seq.wrapping_add(length as u32)), None);
        }
    }
}
