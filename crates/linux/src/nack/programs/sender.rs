use super::connection::{End, Parsed, Segment, pair, parse_nack};
use super::skipped;
use crate::bpf::object::{Kind, Object, Program};
use crate::bpf::ring::Ring;
use crate::nack::{RECEIVER, SENDER, SenderCounters, parse};
use crate::wire::Nack;
use std::net::{IpAddr, SocketAddr};

/// To the next program, and in the end to TCP.
const NEXT: u32 = u32::MAX;
const DROP: u32 = 2;
const IN_FLIGHT: usize = 3_000;

/// The sender's program.
struct Sender {
    object: Object,
    program: Program,
    ring: Ring,
}

impl Sender {
    fn load(nacks_at_once: u32) -> Self {
        let constants = nacks_at_once.to_ne_bytes();
        let object = Object::load(SENDER, &[("nacks_at_once", &constants)]).expect("it loads");
        Self {
            program: object
                .program("nack_sender", Kind::Classifier)
                .expect("it is verified"),
            ring: Ring::new(object.map("nacks").expect("it has one")).expect("memory"),
            object,
        }
    }

    /// Runs the program. Returns whether the packet is dropped, and what user space receives.
    fn run(&mut self, packet: &[u8]) -> (bool, Vec<Nack>) {
        let (verdict, out) = self.program.test_run(packet).expect("it runs");
        assert!([NEXT, DROP].contains(&verdict), "verdict {verdict}");
        assert_eq!(out, packet);
        let mut nacks = Vec::new();
        self.ring.consume(|record| nacks.extend(parse(record)));
        (verdict == DROP, nacks)
    }

    fn counters(&self) -> SenderCounters {
        SenderCounters::read(&self.object).expect("they can be read")
    }
}

/// The NACK that the receiver's program makes of a corrupted segment.
fn nack_of(receiver: &End, ahead: u32) -> Vec<u8> {
    let object = Object::load(RECEIVER, &[]).expect("it loads");
    let program = object
        .program("nack_ethernet", Kind::Xdp)
        .expect("it is verified");
    let mut segment = receiver.expects(100);
    segment.seq = segment.seq.wrapping_add(ahead);
    let mut packet = receiver.packet(&segment);
    packet[receiver.tcp_at() + 16] ^= 1;
    program.test_run(&packet).expect("it runs").1
}

/// A NACK that a test writes itself.
fn written(sender: &End) -> Segment {
    Segment {
        seq: sender.receive.wrapping_sub(1),
        ack: sender.send.wrapping_add(1448),
        stamps: sender.timestamps.then_some((9, 1_234)),
        payload: 0,
        reserved: 0x04,
        flags: 0,
    }
}

/// Its packet; a NACK has no PSH.
fn packet(sender: &End, segment: &Segment) -> Vec<u8> {
    let mut packet = sender.packet(segment);
    packet[sender.tcp_at() + 13] &= !0x08;
    sender.fix_checksum(&mut packet);
    packet
}

fn socket(address: [u8; 16], port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::from(address).to_canonical(), port)
}

#[test]
fn what_the_receiver_sends_reaches_user_space_and_not_tcp() {
    if skipped() {
        return;
    }
    let mut program = Sender::load(10);
    for (v6, timestamps) in [(false, false), (false, true), (true, false), (true, true)] {
        let (sender, receiver) = pair(v6, timestamps, IN_FLIGHT);
        let nack = nack_of(&receiver, 1448);
        let (dropped, nacks) = program.run(&nack);
        assert!(dropped);
        let [nack] = nacks.as_slice() else {
            panic!("{nacks:?}");
        };
        assert_eq!(nack.seq, sender.send.wrapping_add(1448));
        assert_eq!(socket(nack.local, nack.local_port), sender.local);
        assert_eq!(socket(nack.remote, nack.remote_port), sender.remote);
        assert_eq!(nack.timestamps != 0, timestamps);
        assert_eq!(nack.echo, if timestamps { 1_000 } else { 0 });
        assert!(nack.time > 0);
    }
    assert_eq!(program.counters().passed_on, 4);
}

#[test]
fn a_nack_that_the_connection_refutes_is_dropped() {
    if skipped() {
        return;
    }
    let mut program = Sender::load(1 << 20);
    for (v6, timestamps) in [(false, false), (false, true), (true, false), (true, true)] {
        let (sender, _receiver) = pair(v6, timestamps, IN_FLIGHT);
        let right = written(&sender);
        let mut with = |change: &dyn Fn(&mut Segment)| {
            let mut segment = right.clone();
            change(&mut segment);
            let (dropped, nacks) = program.run(&packet(&sender, &segment));
            assert!(dropped);
            nacks.len()
        };
        assert_eq!(with(&|_| ()), 1);
        assert_eq!(with(&|s| s.ack = sender.send), 1);
        assert_eq!(with(&|s| s.ack = sender.send.wrapping_sub(1)), 0);
        assert_eq!(
            with(&|s| s.ack = sender.send.wrapping_add(IN_FLIGHT as u32)),
            0
        );
        assert_eq!(
            with(&|s| s.seq = s.seq.wrapping_add(1)),
            0,
            "a number in the window"
        );
        assert_eq!(with(&|s| s.seq = s.seq.wrapping_sub(1 << 20)), 1);
        assert_eq!(
            with(&|s| s.seq = s.seq.wrapping_sub((1 << 20) + 1)),
            0,
            "long past"
        );
        let other = match timestamps {
            true => None,
            false => Some((1, 2)),
        };
        assert_eq!(with(&|s| s.stamps = other), 0);
    }
    let counters = program.counters();
    assert_eq!((counters.refuted, counters.passed_on), (4 * 5, 4 * 3));
}

#[test]
fn a_flipped_bit_makes_a_nack_void() {
    if skipped() {
        return;
    }
    let mut program = Sender::load(1 << 20);
    for (v6, timestamps) in [(false, true), (true, true), (false, false)] {
        let (sender, _receiver) = pair(v6, timestamps, IN_FLIGHT);
        let right = packet(&sender, &written(&sender));
        assert_eq!(program.run(&right).1.len(), 1);
        for bit in 8 * sender.addresses_at()..8 * right.len() {
            let mut corrupted = right.clone();
            corrupted[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(program.run(&corrupted).1.len(), 0, "bit {bit}");
        }
    }
}

#[test]
fn other_packets_go_on() {
    if skipped() {
        return;
    }
    let mut program = Sender::load(10);
    for v6 in [false, true] {
        let (sender, receiver) = pair(v6, true, IN_FLIGHT);
        let right = written(&sender);
        let mut goes_on = |packet: &[u8]| {
            let (dropped, nacks) = program.run(packet);
            assert!(nacks.is_empty());
            !dropped
        };
        let unmarked = Segment {
            reserved: 0,
            ..right.clone()
        };
        assert!(goes_on(&packet(&sender, &unmarked)), "an acknowledgment");
        let data = Segment {
            payload: 10,
            ..right.clone()
        };
        assert!(goes_on(&packet(&sender, &data)), "data");
        let fin = Segment {
            flags: 1,
            ..right.clone()
        };
        assert!(goes_on(&packet(&sender, &fin)), "FIN");
        let nack = packet(&sender, &right);
        let sender_at = sender.tcp_at();
        drop((sender, receiver));
        assert!(goes_on(&nack), "no connection of this host");
        // Without a whole IP header nothing gets here.
        for length in sender_at..nack.len() {
            assert!(goes_on(&nack[..length]));
        }
    }
    assert!(program.counters().transit > 0);
}

#[test]
fn ten_nacks_are_passed_on_until_segments_are_delivered() {
    if skipped() {
        return;
    }
    let mut program = Sender::load(10);
    let (sender, _receiver) = pair(false, true, IN_FLIGHT);
    let right = packet(&sender, &written(&sender));
    let mut passed_on = 0;
    for _ in 0..30 {
        let (dropped, nacks) = program.run(&right);
        assert!(dropped);
        passed_on += nacks.len();
    }
    assert_eq!((passed_on, program.counters().limited), (10, 20));
}

#[test]
fn the_program_s_nack_is_the_same_as_a_written_one() {
    if skipped() {
        return;
    }
    let (sender, receiver) = pair(true, true, IN_FLIGHT);
    let made = parse_nack(&nack_of(&receiver, 1448));
    let expected = Parsed {
        from: sender.remote,
        to: sender.local,
        seq: sender.receive.wrapping_sub(1),
        number: sender.send.wrapping_add(1448),
        stamps: Some((500, 1_000)),
    };
    assert_eq!(made, expected);
}
