use super::connection::{ETHERNET, End, WINDOW, pair, parse_nack};
use super::{Noise, skipped};
use crate::bpf::object::{Kind, Object, Program};
use crate::nack::{RECEIVER, ReceiverCounters};

const PASS: u32 = 2;
const TX: u32 = 3;

/// The receiver's programs.
struct Receiver {
    object: Object,
    ethernet: Program,
    ip: Program,
}

impl Receiver {
    fn load(nacks_at_once: u32) -> Self {
        let constants = nacks_at_once.to_ne_bytes();
        let object = Object::load(RECEIVER, &[("nacks_at_once", &constants)]).expect("it loads");
        let program = |name| object.program(name, Kind::Xdp).expect("it is verified");
        Self {
            ethernet: program("nack_ethernet"),
            ip: program("nack_ip"),
            object,
        }
    }

    /// Runs both programs: they must agree. Returns the NACK's packet if the packet is answered;
    /// otherwise the packet must be unchanged.
    fn run(&self, packet: &[u8]) -> Option<Vec<u8>> {
        let (verdict, out) = self.ethernet.test_run(packet).expect("it runs");
        let kind = u16::from_be_bytes([packet[12], packet[13]]);
        // Without an Ethernet header the IP version decides; shorter packets cannot be run.
        let version = packet.get(ETHERNET).map(|byte| byte >> 4);
        let consistent = matches!((kind, version), (0x0800, Some(4)) | (0x86dd, Some(6)));
        if consistent && packet.len() >= 2 * ETHERNET {
            let (bare, bare_out) = self.ip.test_run(&packet[ETHERNET..]).expect("it runs");
            assert_eq!((bare, &bare_out[..]), (verdict, &out[ETHERNET..]));
        }
        match verdict {
            PASS => {
                assert_eq!(out, packet);
                None
            }
            TX => {
                assert_eq!(out[..6], packet[6..12]);
                assert_eq!(out[6..12], packet[..6]);
                Some(out)
            }
            other => panic!("verdict {other}"),
        }
    }

    fn counters(&self) -> ReceiverCounters {
        ReceiverCounters::read(&self.object).expect("they can be read")
    }
}

/// All kinds of connections.
fn kinds() -> impl Iterator<Item = (bool, bool)> {
    [(false, false), (false, true), (true, false), (true, true)].into_iter()
}

fn check_addresses(end: &End, nack: &super::connection::Parsed) {
    assert_eq!((nack.from, nack.to), (end.local, end.remote));
    assert_eq!(nack.seq, end.send.wrapping_sub(1));
}

#[test]
fn every_length_is_summed_right() {
    if skipped() {
        return;
    }
    let receiver = Receiver::load(1 << 20);
    for (v6, timestamps) in kinds() {
        let (_sender, end) = pair(v6, timestamps, 0);
        for payload in (1..200).chain([511, 512, 513, 1000, 1447, 1448, 1460, 3000]) {
            let segment = end.expects(payload);
            let mut packet = end.packet(&segment);
            assert_eq!(receiver.run(&packet), None, "{payload}");
            let last = packet.len() - 1;
            packet[last] ^= 0x80;
            let nack = parse_nack(&receiver.run(&packet).expect("it is corrupted"));
            check_addresses(&end, &nack);
            assert_eq!(nack.number, segment.seq);
        }
        // Padding of short Ethernet frames is not part of the segment.
        let mut packet = end.packet(&end.expects(1));
        packet.extend([0x55; 9]);
        assert_eq!(receiver.run(&packet), None);
        let at = end.tcp_at() + 4;
        packet[at + 14] ^= 1;
        assert!(receiver.run(&packet).is_some());
    }
    let counters = receiver.counters();
    assert_eq!(counters.corrupted, counters.nacked);
}

#[test]
fn a_nack_is_not_ecn_capable() {
    if skipped() {
        return;
    }
    let receiver = Receiver::load(10);
    for v6 in [false, true] {
        let (_sender, end) = pair(v6, true, 0);
        let mut packet = end.packet(&end.expects(33));
        let last = packet.len() - 1;
        packet[last] ^= 0x80;
        // The segment met congestion (RFC 3168). These bits are in the second byte of both headers.
        let bits = if v6 { 0x30 } else { 0x03 };
        packet[ETHERNET + 1] |= bits;
        if !v6 {
            let check = &mut packet[ETHERNET + 10..ETHERNET + 12];
            let sum = !u16::from_be_bytes([check[0], check[1]]);
            let (sum, carry) = sum.overflowing_add(bits.into());
            check.copy_from_slice(&(!(sum + u16::from(carry))).to_be_bytes());
        }
        let nack = receiver.run(&packet).expect("it is corrupted");
        assert_eq!(nack[ETHERNET + 1] & bits, 0, "{v6}");
    }
}

#[test]
fn a_flipped_bit_gives_a_right_nack_or_none() {
    if skipped() {
        return;
    }
    let receiver = Receiver::load(1 << 20);
    for (v6, timestamps) in kinds() {
        let (_sender, end) = pair(v6, timestamps, 0);
        let segment = end.expects(33);
        let packet = end.packet(&segment);
        let tcp = end.tcp_at();
        let mut answered = 0;
        for bit in 8 * ETHERNET..8 * packet.len() {
            let mut corrupted = packet.clone();
            corrupted[bit / 8] ^= 1 << (bit % 8);
            let Some(nack) = receiver.run(&corrupted) else {
                // What is in no header but TCP's checksum is always answered.
                let options = if timestamps { 12 } else { 0 };
                assert!(
                    bit / 8 < tcp + 20 + options,
                    "bit {bit} of {v6} {timestamps}"
                );
                continue;
            };
            answered += 1;
            let nack = parse_nack(&nack);
            check_addresses(&end, &nack);
            let in_number = (tcp + 4..tcp + 8).contains(&(bit / 8));
            let ahead = nack.number.wrapping_sub(segment.seq);
            if in_number {
                assert!(ahead < 1 << 20, "bit {bit}");
            } else {
                assert_eq!(ahead, 0, "bit {bit}");
            }
            let in_stamp = (tcp + 24..tcp + 32).contains(&(bit / 8));
            if !in_stamp {
                let expected = segment.stamps.map(|(value, echo)| (echo, value));
                assert_eq!(nack.stamps, expected, "bit {bit}");
            }
        }
        assert!(answered >= 8 * 33);
    }
}

#[test]
fn what_is_no_plausible_segment_of_a_connection_is_not_answered() {
    if skipped() {
        return;
    }
    let receiver = Receiver::load(1 << 20);
    for (v6, timestamps) in kinds() {
        let (sender, end) = pair(v6, timestamps, 0);
        let right = end.expects(100);
        let with = |change: &dyn Fn(&mut super::connection::Segment)| {
            let mut segment = right.clone();
            change(&mut segment);
            let mut packet = end.packet(&segment);
            let at = end.tcp_at() + 16;
            packet[at] ^= 0x10;
            receiver.run(&packet).is_some()
        };
        assert!(with(&|_| ()));
        assert!(with(&|s| s.seq = s.seq.wrapping_add(WINDOW - 200)));
        assert!(!with(&|s| s.seq = s.seq.wrapping_sub(1)), "received");
        assert!(!with(&|s| s.seq = s.seq.wrapping_add(1 << 24)), "no window");
        assert!(!with(&|s| s.payload = 0), "no data");
        for flag in [0x01, 0x02, 0x04, 0x20] {
            assert!(!with(&|s| s.flags = flag), "flag {flag}");
        }
        assert!(!with(&|s| s.reserved = 0x04), "a NACK");
        assert!(with(&|s| s.reserved = 0x01), "accurate ECN");
        if timestamps {
            assert!(!with(&|s| s.stamps = None));
            assert!(!with(&|s| s.stamps = Some((u32::MAX, 0))), "old");
            assert!(!with(&|s| s.stamps = Some((1 << 23, 0))), "far ahead");
        }
        let mut other = end.packet(&right);
        other[end.tcp_at()] ^= 1;
        assert_eq!(receiver.run(&other), None, "another port");
        drop(sender);
        let mut hardware = end.packet(&right);
        end.leave_checksum_to_hardware(&mut hardware);
        assert_eq!(receiver.run(&hardware), None);
        let mut fragment = end.packet(&right);
        if !v6 {
            fragment[ETHERNET + 6] |= 0x20;
            assert_eq!(receiver.run(&fragment), None);
        }
        let mut corrupted = end.packet(&right);
        corrupted[end.tcp_at() + 17] ^= 1;
        assert!(receiver.run(&corrupted).is_some());
        drop(end);
        assert_eq!(receiver.run(&corrupted), None, "the connection is closed");
    }
    let counters = receiver.counters();
    assert_eq!(counters.offloaded, 2 * 4, "by both programs");
    assert!(counters.unknown > 0 && counters.implausible > 0 && counters.no_data > 0);
}

#[test]
fn ten_nacks_are_sent_until_segments_arrive_intact() {
    if skipped() {
        return;
    }
    let receiver = Receiver::load(10);
    let (_sender, end) = pair(false, true, 0);
    let (_other_sender, other) = pair(false, true, 0);
    let corrupted = |end: &End| {
        let mut packet = end.packet(&end.expects(50));
        packet[end.tcp_at() + 16] ^= 1;
        packet
    };
    let answered = |end: &End| {
        let answers = |_: &i32| {
            let (verdict, _) = receiver
                .ethernet
                .test_run(&corrupted(end))
                .expect("it runs");
            verdict == TX
        };
        (0..30).filter(answers).count()
    };
    assert_eq!(answered(&end), 10);
    assert_eq!(answered(&end), 0);
    assert_eq!(answered(&other), 10, "each connection has its own");
    assert_eq!(receiver.counters().limited, 20 + 30 + 20);
}

#[test]
fn arbitrary_packets_do_no_harm() {
    if skipped() {
        return;
    }
    let receiver = Receiver::load(1 << 20);
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15);
    for (v6, timestamps) in kinds() {
        let (_sender, end) = pair(v6, timestamps, 0);
        let packet = end.packet(&end.expects(60));
        for _ in 0..1_000 {
            let mut packet = packet.clone();
            for _ in 0..1 + noise.next() % 8 {
                let at = ETHERNET + noise.next() % (packet.len() - ETHERNET);
                packet[at] = noise.next() as u8;
            }
            if noise.next() & 1 == 0 {
                packet.truncate(ETHERNET + noise.next() % (packet.len() - ETHERNET));
            }
            if let Some(nack) = receiver.run(&packet) {
                check_addresses(&end, &parse_nack(&nack));
            }
        }
        for _ in 0..500 {
            let length = ETHERNET + noise.next() % 200;
            let mut packet: Vec<u8> = (0..length).map(|_| noise.next() as u8).collect();
            packet[12..14].copy_from_slice(if v6 { &[0x86, 0xdd] } else { &[0x08, 0] });
            assert_eq!(receiver.run(&packet), None);
        }
    }
}
