//! Connections without packets, and packets for them.
//!
//! A socket in repair mode (`TCP_REPAIR`, for moving connections between machines) becomes
//! established with any sequence numbers and sends nothing.

use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TcpHeader};
use etherparse::{TcpOptionElement, TransportSlice};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const MIN_TTL: i32 = 21;
const MIN_HOP_COUNT: i32 = 73;
const REPAIR: i32 = 19;
const REPAIR_QUEUE: i32 = 20;
const QUEUE_SEQ: i32 = 21;
const REPAIR_OPTIONS: i32 = 22;
const RECEIVE_QUEUE: i32 = 1;
const SEND_QUEUE: i32 = 2;
const OPTION_SACK: u32 = 4;
const OPTION_TIMESTAMPS: u32 = 8;

pub const ETHERNET: usize = 14;
/// What `TCP_REPAIR` has as the first receive window at least.
pub const WINDOW: u32 = 5_000;

/// One end of a connection.
#[derive(Debug)]
pub struct End {
    _socket: OwnedFd,
    pub local: SocketAddr,
    pub remote: SocketAddr,
    /// The next number that is expected from the peer.
    pub receive: u32,
    /// The first number in flight.
    pub send: u32,
    pub timestamps: bool,
}

/// Both ends of a connection over the loopback. The first has sent `in_flight` bytes, as it thinks.
pub fn pair(v6: bool, timestamps: bool, in_flight: usize) -> (End, End) {
    let address = match v6 {
        true => IpAddr::V6(Ipv6Addr::LOCALHOST),
        false => IpAddr::V4(Ipv4Addr::LOCALHOST),
    };
    // Ports that are free now.
    let port = || {
        let listener = std::net::TcpListener::bind((address, 0)).expect("a loopback");
        listener.local_addr().expect("it is bound").port()
    };
    let (a, b) = (port(), port());
    let (a, b) = (SocketAddr::new(address, a), SocketAddr::new(address, b));
    let numbers = (u32::MAX - 1000, 7_000_000);
    let sender = end(a, b, numbers.0, numbers.1, timestamps, in_flight);
    let receiver = end(b, a, numbers.1, numbers.0, timestamps, 0);
    (sender.expect("repair"), receiver.expect("repair"))
}

fn end(
    local: SocketAddr,
    remote: SocketAddr,
    send: u32,
    receive: u32,
    timestamps: bool,
    in_flight: usize,
) -> io::Result<End> {
    let family = if local.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    };
    // SAFETY: creates a descriptor that nothing else owns.
    let socket = unsafe { libc::socket(family, libc::SOCK_STREAM, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    set(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, &[1_u32])?;
    // The kernel retransmits what it believes to be in flight. No end accepts such packets: they
    // have fewer hops left.
    match local.is_ipv4() {
        true => set(&socket, libc::IPPROTO_IP, MIN_TTL, &[255])?,
        false => set(&socket, libc::IPPROTO_IPV6, MIN_HOP_COUNT, &[255])?,
    }
    let tcp = |name, value: &[u32]| set(&socket, libc::IPPROTO_TCP, name, value);
    tcp(REPAIR, &[1])?;
    address(&socket, local, libc::bind)?;
    for (queue, number) in [(RECEIVE_QUEUE, receive), (SEND_QUEUE, send)] {
        tcp(REPAIR_QUEUE, &[queue as u32])?;
        tcp(QUEUE_SEQ, &[number])?;
    }
    address(&socket, remote, libc::connect)?;
    tcp(REPAIR_OPTIONS, &[OPTION_SACK, 0])?;
    if timestamps {
        tcp(REPAIR_OPTIONS, &[OPTION_TIMESTAMPS, 0])?;
    }
    let data = vec![0_u8; in_flight];
    // SAFETY: the buffer has that length.
    let sent = unsafe { libc::send(socket.as_raw_fd(), data.as_ptr().cast(), in_flight, 0) };
    if sent != in_flight as isize {
        return Err(io::Error::last_os_error());
    }
    Ok(End {
        _socket: socket,
        local,
        remote,
        receive,
        send,
        timestamps,
    })
}

fn set(socket: &OwnedFd, level: i32, name: i32, value: &[u32]) -> io::Result<()> {
    // SAFETY: the value has that length.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            value.as_ptr().cast(),
            size_of_val(value) as libc::socklen_t,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

type WithAddress = unsafe extern "C" fn(i32, *const libc::sockaddr, libc::socklen_t) -> i32;

fn address(socket: &OwnedFd, address: SocketAddr, call: WithAddress) -> io::Result<()> {
    let storage = nix::sys::socket::SockaddrStorage::from(address);
    let (pointer, length) = {
        use nix::sys::socket::SockaddrLike;
        (storage.as_ptr(), storage.len())
    };
    // SAFETY: the address has that length.
    if unsafe { call(socket.as_raw_fd(), pointer, length) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// What a packet of the peer has that differs between tests.
#[derive(Debug, Clone)]
pub struct Segment {
    pub seq: u32,
    pub ack: u32,
    pub stamps: Option<(u32, u32)>,
    pub payload: usize,
    /// Bits of the TCP header's bytes 12 and 13, beyond the data offset and ACK.
    pub reserved: u8,
    pub flags: u8,
}

impl End {
    /// A segment that this end expects.
    pub fn expects(&self, payload: usize) -> Segment {
        Segment {
            seq: self.receive,
            ack: self.send,
            stamps: self.timestamps.then_some((1_000, 500)),
            payload,
            reserved: 0,
            flags: 0,
        }
    }

    /// The packet, with an Ethernet header and right checksums.
    pub fn packet(&self, segment: &Segment) -> Vec<u8> {
        let mut tcp = TcpHeader::new(self.remote.port(), self.local.port(), segment.seq, 1_000);
        tcp.ack = true;
        tcp.acknowledgment_number = segment.ack;
        tcp.psh = true;
        if let Some((value, echo)) = segment.stamps {
            use TcpOptionElement::{Noop, Timestamp};
            tcp.set_options(&[Noop, Noop, Timestamp(value, echo)])
                .expect("they fit");
        }
        let payload: Vec<u8> = (0..segment.payload).map(|i| (i * 7 + 3) as u8).collect();
        let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let builder = match (self.remote.ip(), self.local.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => builder.ipv4(from.octets(), to.octets(), 60),
            (IpAddr::V6(from), IpAddr::V6(to)) => builder.ipv6(from.octets(), to.octets(), 60),
            _ => unreachable!("both ends have one family"),
        };
        let mut packet = Vec::new();
        builder
            .tcp_header(tcp)
            .write(&mut packet, &payload)
            .expect("a vector");
        let at = self.tcp_at();
        packet[at + 12] |= segment.reserved;
        packet[at + 13] |= segment.flags;
        self.fix_checksum(&mut packet);
        // By chance (17 of 65,536) the checksum is the pseudo-header's sum, or would be after a
        // test flips one of its bits. Such a segment looks offloaded. Another window prevents it.
        while (self.checksum(&packet) ^ self.sum(&packet, false)).count_ones() <= 1 {
            packet[at + 15] = packet[at + 15].wrapping_add(1);
            self.fix_checksum(&mut packet);
        }
        packet
    }

    /// Where the TCP header begins in a packet.
    pub fn tcp_at(&self) -> usize {
        ETHERNET + if self.local.is_ipv4() { 20 } else { 40 }
    }

    /// Where the addresses begin in a packet.
    pub fn addresses_at(&self) -> usize {
        ETHERNET + if self.local.is_ipv4() { 12 } else { 8 }
    }

    fn checksum(&self, packet: &[u8]) -> u16 {
        let at = self.tcp_at() + 16;
        u16::from_be_bytes([packet[at], packet[at + 1]])
    }

    /// Writes the right TCP checksum.
    pub fn fix_checksum(&self, packet: &mut [u8]) {
        let at = self.tcp_at() + 16;
        packet[at..at + 2].fill(0);
        let sum = !self.sum(packet, true);
        packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }

    /// The checksum that a packet has before the hardware completes it.
    pub fn leave_checksum_to_hardware(&self, packet: &mut [u8]) {
        let at = self.tcp_at() + 16;
        let sum = self.sum(packet, false);
        packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }

    /// The sum over the pseudo-header, and over the segment if requested.
    fn sum(&self, packet: &[u8], segment: bool) -> u16 {
        let tcp = &packet[self.tcp_at()..];
        let mut bytes = packet[self.addresses_at()..self.tcp_at()].to_vec();
        bytes.extend((tcp.len() as u32).to_be_bytes());
        bytes.extend([0, 0, 0, 6]);
        if segment {
            bytes.extend(tcp);
        }
        bytes.resize(bytes.len().next_multiple_of(2), 0);
        let words = bytes
            .chunks(2)
            .map(|pair| u64::from(pair[0]) << 8 | u64::from(pair[1]));
        let mut sum: u64 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }
}

/// A NACK, as an independent parser reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub seq: u32,
    pub number: u32,
    pub stamps: Option<(u32, u32)>,
}

/// Parses a NACK, checks both checksums and everything that is the same in all NACKs.
pub fn parse_nack(packet: &[u8]) -> Parsed {
    let sliced = SlicedPacket::from_ethernet(packet).expect("a packet");
    let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else {
        panic!("not TCP: {packet:?}");
    };
    let (from, to) = match sliced.net.as_ref().expect("IP") {
        NetSlice::Ipv4(ip) => {
            let header = ip.header();
            assert_eq!(
                header.header_checksum(),
                header.to_header().calc_header_checksum()
            );
            assert_eq!(header.total_len() as usize, packet.len() - ETHERNET);
            assert_eq!(header.ecn().value(), 0);
            let sum = tcp.calc_checksum_ipv4(header.source(), header.destination());
            assert_eq!(sum.expect("short"), tcp.checksum());
            (
                IpAddr::V4(header.source_addr()),
                IpAddr::V4(header.destination_addr()),
            )
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header();
            assert_eq!(
                header.payload_length() as usize,
                packet.len() - ETHERNET - 40
            );
            let sum = tcp.calc_checksum_ipv6(header.source(), header.destination());
            assert_eq!(sum.expect("short"), tcp.checksum());
            (
                IpAddr::V6(header.source_addr()),
                IpAddr::V6(header.destination_addr()),
            )
        }
        other => panic!("not IP: {other:?}"),
    };
    assert!(tcp.payload().is_empty());
    assert_eq!(tcp.slice()[12] & 0x0f, 0x04, "the mark");
    assert_eq!(tcp.slice()[13], 0x10, "ACK only");
    assert_eq!((tcp.window_size(), tcp.urgent_pointer()), (0, 0));
    let stamps = tcp.options_iterator().find_map(|option| match option {
        Ok(TcpOptionElement::Timestamp(value, echo)) => Some((value, echo)),
        _ => None,
    });
    Parsed {
        from: SocketAddr::new(from, tcp.source_port()),
        to: SocketAddr::new(to, tcp.destination_port()),
        seq: tcp.sequence_number(),
        number: tcp.acknowledgment_number(),
        stamps,
    }
}
