//! A link with FQ-CoDel: the packets of each flow wait in a queue of their own.
//!
//! A flow is what RFC 8290 section 4.1 takes for one: the addresses, the protocol and the ports of
//! TCP or UDP. A fragment has no ports beyond the first one, so ports count in none; nor do they
//! behind IPv6's extension headers. A QUIC connection is one flow, whatever its streams.

use crate::held::Buffer;
use std::collections::VecDeque;
use whimbrel_net::{Counters, Fate, FlowFate, FqCodelLink};
use whimbrel_units::Time;

/// The link and the packets in its queues.
pub(crate) struct FlowQueues {
    link: FqCodelLink,
    /// The packets of each queue, in order of arrival; as many queues as packets have needed.
    queues: Vec<VecDeque<(Buffer, usize)>>,
    waiting: usize,
    /// Packets whose fate is known and that were not returned, in the order of the fates.
    ready: VecDeque<(Fate, Buffer, usize)>,
    /// Buffer for the fates that one call returns.
    departed: Vec<FlowFate>,
}

impl FlowQueues {
    /// Empty queues.
    pub fn new(link: FqCodelLink) -> Self {
        Self {
            link,
            queues: Vec::new(),
            waiting: 0,
            ready: VecDeque::new(),
            departed: Vec::new(),
        }
    }

    /// Adds a packet at `now`; `ect`: it may be marked. If the queues are too long then, a packet
    /// of the longest one is dropped.
    pub fn offer(&mut self, now: Time, buffer: Buffer, len: usize, ect: bool) {
        let queue = self.link.queue_of(flow_hash(&buffer[..len]));
        let place = queue as usize;
        if self.queues.len() <= place {
            self.queues.resize_with(place + 1, VecDeque::new);
        }
        self.queues[place].push_back((buffer, len));
        self.waiting += 1;
        let departed = &mut self.departed;
        self.link.offer(now, queue, len as u32, ect, departed);
        self.collect();
    }

    /// Advances the link to `now`.
    pub fn advance(&mut self, now: Time) {
        self.link.advance(now, &mut self.departed);
        self.collect();
    }

    /// The next packet whose fate is known.
    pub fn next_departed(&mut self) -> Option<(Fate, Buffer, usize)> {
        self.ready.pop_front()
    }

    /// Number of packets that were not returned.
    pub fn len(&self) -> usize {
        self.waiting + self.ready.len()
    }

    /// When the link must be advanced next.
    pub fn next(&self) -> Option<Time> {
        self.link.next()
    }

    /// The link's counters so far.
    pub fn counters(&self) -> Counters {
        *self.link.counters()
    }

    /// Matches fates with the packets that waited: those of one queue leave in order.
    fn collect(&mut self) {
        for FlowFate { queue, fate } in self.departed.drain(..) {
            let packets = self.queues.get_mut(queue as usize);
            if let Some((buffer, len)) = packets.and_then(VecDeque::pop_front) {
                self.waiting -= 1;
                self.ready.push_back((fate, buffer, len));
            }
        }
    }
}

/// A hash of a packet's flow. Packets that are not IP are one flow.
fn flow_hash(packet: &[u8]) -> u64 {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) if packet.len() >= 20 => {
            // More fragments, or an offset (RFC 791 section 3.1).
            let fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff != 0;
            let header = usize::from(packet[0] & 0xf) * 4;
            let ports = if fragment {
                &[]
            } else {
                ports(packet, packet[9], header)
            };
            hash([&packet[12..20], &packet[9..10], ports])
        }
        Some(6) if packet.len() >= 40 => {
            let ports = ports(packet, packet[6], 40);
            hash([&packet[8..40], &packet[6..7], ports])
        }
        _ => 0,
    }
}

/// The ports of TCP and UDP; empty for other protocols and if they are cut off.
fn ports(packet: &[u8], protocol: u8, header: usize) -> &[u8] {
    const TCP: u8 = 6;
    const UDP: u8 = 17;
    match protocol {
        TCP | UDP => packet.get(header..header + 4).unwrap_or_default(),
        _ => &[],
    }
}

/// The hash FNV-1a of all parts.
fn hash(parts: [&[u8]; 3]) -> u64 {
    let bytes = parts.into_iter().flatten();
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MTU;
    use proptest::prelude::*;
    use whimbrel_net::{Aqm, AqmSetting, DropCause, LinkSpec, QueueLimit, Schedule, ServiceSpec};
    use whimbrel_units::{Bytes, Duration, Rate};

    /// A UDP packet from a port, 1500 bytes.
    fn packet(port: u16) -> (Buffer, usize) {
        let mut buffer = Buffer::default();
        buffer[0] = 0x45;
        buffer[9] = 17;
        buffer[12..20].copy_from_slice(&[10, 77, 0, 1, 10, 77, 0, 2]);
        buffer[20..22].copy_from_slice(&port.to_be_bytes());
        (buffer, 1500)
    }

    /// 12 Mbit/s: 1500 bytes in a millisecond.
    fn queues(limit: u32) -> FlowQueues {
        let spec = LinkSpec {
            service: ServiceSpec::Rate(Schedule::constant(Rate::from_bits_per_sec(12_000_000))),
            queue: QueueLimit::Packets(limit),
            ..LinkSpec::default()
        };
        let setting: AqmSetting = "fq-codel".parse().expect("a setting");
        let aqm = setting.resolve(&spec.service, Duration::ZERO, Bytes::new(MTU.into()));
        let Ok(Some(Aqm::FqCodel(setting))) = aqm else {
            panic!("{aqm:?}");
        };
        FlowQueues::new(FqCodelLink::new(&spec, setting, 1))
    }

    fn port(buffer: &Buffer) -> u16 {
        u16::from_be_bytes([buffer[20], buffer[21]])
    }

    #[test]
    fn a_sparse_flow_passes_a_full_queue_of_another() {
        let mut queues = queues(1000);
        for port in [7; 10].into_iter().chain([8]) {
            let (buffer, len) = packet(port);
            queues.offer(Time::ZERO, buffer, len, false);
        }
        assert_eq!(queues.len(), 11);
        queues.advance(Time::ZERO + Duration::from_millis(20));
        let mut left = Vec::new();
        while let Some((fate, buffer, _)) = queues.next_departed() {
            assert!(matches!(fate, Fate::Delivered { .. }), "{fate:?}");
            left.push(port(&buffer));
        }
        // The first is in service when the sparse packet comes, and a turn is a packet.
        let place = left.iter().position(|port| *port == 8);
        assert!(place.is_some_and(|place| place <= 2), "{left:?}");
        assert_eq!((left.len(), queues.len()), (11, 0));
    }

    #[test]
    fn beyond_the_limit_the_longest_queue_loses() {
        let mut queues = queues(5);
        for port in [7, 7, 7, 7, 7, 8, 7, 7] {
            let (buffer, len) = packet(port);
            queues.offer(Time::ZERO, buffer, len, false);
        }
        queues.advance(Time::ZERO + Duration::from_secs(1));
        let mut dropped = Vec::new();
        while let Some((fate, buffer, _)) = queues.next_departed() {
            if fate == Fate::Dropped(DropCause::QueueOverflow) {
                dropped.push(port(&buffer));
            }
        }
        // One is in service, five wait.
        assert_eq!(dropped, [7, 7]);
        assert_eq!(queues.counters().offered, 8);
    }

    #[test]
    fn flows_differ_in_ports_and_fragments_do_not() {
        let (mut one, len) = packet(7);
        let (mut other, _) = packet(8);
        assert_ne!(flow_hash(&one[..len]), flow_hash(&other[..len]));
        for packet in [&mut one, &mut other] {
            packet[6] = 0x20;
        }
        assert_eq!(flow_hash(&one[..len]), flow_hash(&other[..len]));
        let mut v6 = [0; 60];
        v6[0] = 0x60;
        v6[6] = 6;
        let before = flow_hash(&v6);
        v6[41] = 1;
        assert_ne!(flow_hash(&v6), before, "the source port");
        v6[50] = 1;
        let ported = flow_hash(&v6);
        v6[50] = 0;
        assert_eq!(flow_hash(&v6), ported, "the payload");
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_flow(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            flow_hash(&bytes);
        }
    }
}
