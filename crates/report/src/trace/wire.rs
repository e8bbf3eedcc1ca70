//! Simulated packets in wire format: IPv4 (RFC 791), TCP (RFC 9293) with its options, UDP (RFC
//! 768).
//!
//! The payload is zeros. It counts in lengths and checksums but is not captured, as with `tcpdump
//! -s`.
//!
//! The wire format needs fields that the simulated TCP does not have:
//!
//! * Initial sequence numbers are 1,000,000,000 at the near end and 2,000,000,000 at the far end. A
//!   SYN takes one number; all wrap at 2^32.
//! * Options: on a SYN the MSS (RFC 6691: without subtracting the length of options), SACK if the
//!   recovery uses it, timestamps (RFC 7323) if the connection has them, and a window scale.
//!   Timestamps are milliseconds of the run plus one. If the simulated end keeps no timestamp to
//!   echo because it receives no data, it echoes that of the last packet that it received.
//! * The last segment of a flow's data has FIN, and the acknowledgment of all data acknowledges the
//!   FIN. The simulator does not close connections, so there are no other packets of a connection's
//!   end.
//! * With ECN (RFC 3168) the SYN has ECE and CWR, and the SYN-ACK has ECE.
//! * A negative acknowledgment has the reserved bit 0x100, as in the kernel of its authors, and the
//!   sequence number in the acknowledgment field. It does not have ACK, because it acknowledges
//!   nothing.
//! * The IP identification is the packet's number, so that captures of both ends can be compared.
//!
//! The simulator counts a fixed header for each packet (`header`, 52 bytes: IP 20, TCP 20,
//! timestamps 12) plus SACK blocks. If a scenario sets another header length, packets here have the
//! length of their real headers plus the simulated payload; so does a SYN, whose options are
//! longer.

use super::address::{Address, address};
use etherparse::checksum::Sum16BitWords;
use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader};
use std::ops::Range;
use whimbrel_sim::observe::{Content, Ecn, End, Event, Packet, Segment, What};
use whimbrel_sim::{Network, Recovery, TcpFlow, Traffic};
use whimbrel_units::Time;

/// Maximum length of an IPv4 packet.
const LONGEST: usize = 65_535;
/// Maximum window scale (RFC 7323 section 2.3).
const MAXIMUM_SHIFT: u8 = 14;
const TTL: u8 = 64;
/// Length of the timestamps option with its padding.
const TIMESTAMPS: u64 = 12;

/// Initial sequence number of an end.
pub(super) const fn initial(end: End) -> u32 {
    match end {
        End::Near => 1_000_000_000,
        End::Far => 2_000_000_000,
    }
}

/// Writes the packets of a run. [`Wire::note`] must be called for every event.
pub(super) struct Wire {
    /// All paths of all flows; those of a flow begin at index `first`.
    paths: Vec<Path>,
    first: Vec<usize>,
}

/// State of a path of a flow, for its near and its far end.
struct Path {
    addresses: [Address; 2],
    tcp: Option<Options>,
    /// Departure time of the last packet received at each end (TS.Recent).
    heard: [Option<Time>; 2],
    /// The end of each end's data, once its last segment has been sent.
    ends: [Option<u64>; 2],
}

/// The options of a connection.
#[derive(Clone, Copy)]
struct Options {
    mss: u16,
    sack: bool,
    timestamps: bool,
    marks: bool,
    window: u64,
    shift: u8,
}

impl Options {
    fn new(tcp: &TcpFlow) -> Self {
        let settings = &tcp.settings;
        let options = if settings.timestamps { TIMESTAMPS } else { 0 };
        let window = settings.receive_window.get();
        let shift = (0..MAXIMUM_SHIFT).find(|shift| window >> shift <= u64::from(u16::MAX));
        Self {
            mss: clamped(settings.mss.get() + options),
            sack: settings.recovery != Recovery::NewReno,
            timestamps: settings.timestamps,
            marks: tcp.may_be_marked(),
            window,
            shift: shift.unwrap_or(MAXIMUM_SHIFT),
        }
    }
}

fn clamped(value: u64) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}

/// The index of an end in arrays.
const fn place(end: End) -> usize {
    match end {
        End::Near => 0,
        End::Far => 1,
    }
}

/// Milliseconds of the run plus one: zero means that there is no timestamp.
fn timestamp(time: Time) -> u32 {
    (time.as_nanos() / 1_000_000 + 1) as u32
}

impl Wire {
    pub fn new(network: &Network) -> Self {
        let (mut paths, mut first) = (Vec::new(), Vec::new());
        for (flow, spec) in network.flows.iter().enumerate() {
            first.push(paths.len());
            let tcp = match &spec.traffic {
                Traffic::Tcp(tcp) => Some(Options::new(tcp)),
                Traffic::Aatp(_) | Traffic::Udp(_) => None,
            };
            paths.extend((0..spec.routes.len()).map(|path| Path {
                addresses: [End::Near, End::Far].map(|end| address(flow, path, end)),
                tcp,
                heard: [None; 2],
                ends: [None; 2],
            }));
        }
        Self { paths, first }
    }

    /// Updates the state from an event. Call it before [`Self::write`].
    pub fn note(&mut self, event: &Event) {
        let path = &mut self.paths[self.first[event.flow] + event.path];
        match &event.what {
            What::Arrived(packet) => path.heard[place(packet.from.other())] = Some(packet.sent),
            What::Sent(packet) => {
                if let Content::Segment(segment) = &packet.content
                    && let Some(data) = segment.data.filter(|data| data.last)
                {
                    path.ends[place(packet.from)] = Some(data.end());
                }
            }
            _ => {}
        }
    }

    /// Writes a packet's headers, and its contents unless they are zeros, to `bytes`. Returns its
    /// length on the wire.
    pub fn write(&self, event: &Event, packet: &Packet, bytes: &mut Vec<u8>) -> u32 {
        bytes.clear();
        let path = &self.paths[self.first[event.flow] + event.path];
        let (transport, payload, protocol) = match (&packet.content, path.tcp) {
            (Content::Segment(segment), Some(options)) => {
                let header = path.tcp_header(packet, segment, options);
                let payload = segment.data.map_or(0, |data| data.length as usize);
                (header.to_bytes().to_vec(), payload, IpNumber::TCP)
            }
            (Content::Message(message), _) => {
                let size = usize::try_from(packet.size.get()).unwrap_or(LONGEST);
                let payload = size.saturating_sub(Ipv4Header::MIN_LEN + UdpHeader::LEN);
                let rest = payload.max(message.len()) - message.len();
                (path.udp(packet, message, rest), rest, IpNumber::UDP)
            }
            _ => {
                let size = usize::try_from(packet.size.get()).unwrap_or(LONGEST);
                let payload = size.saturating_sub(Ipv4Header::MIN_LEN + UdpHeader::LEN);
                (path.udp(packet, &[], payload), payload, IpNumber::UDP)
            }
        };
        let payload = payload.min(LONGEST - Ipv4Header::MIN_LEN - transport.len());
        let length = transport.len() + payload;
        let [from, to] = path.way(packet.from);
        let mut ip = Ipv4Header {
            total_len: (Ipv4Header::MIN_LEN + length) as u16,
            identification: packet.id as u16,
            time_to_live: TTL,
            protocol,
            source: from.ip,
            destination: to.ip,
            ecn: match packet.ecn {
                Ecn::NotEct => IpEcn::NotEct,
                Ecn::Ect => IpEcn::Ect0,
                Ecn::Ce => IpEcn::CongestionExperienced,
            },
            ..Ipv4Header::default()
        };
        ip.header_checksum = ip.calc_header_checksum();
        bytes.extend_from_slice(&ip.to_bytes());
        let begin = bytes.len();
        bytes.extend_from_slice(&transport);
        // The pseudo header of RFC 9293 section 3.1 and RFC 768, and the data; zeros add nothing.
        let sum = Sum16BitWords::new()
            .add_4bytes(from.ip)
            .add_4bytes(to.ip)
            .add_2bytes([0, protocol.0])
            .add_2bytes((length as u16).to_be_bytes())
            .add_slice(&transport);
        let (at, sum) = match protocol {
            IpNumber::TCP => (begin + 16, sum.ones_complement()),
            _ => (begin + 6, sum.to_ones_complement_with_no_zero()),
        };
        bytes[at..at + 2].copy_from_slice(&sum.to_be().to_be_bytes());
        (Ipv4Header::MIN_LEN + length) as u32
    }
}

impl Path {
    /// Source and destination of a packet from this end.
    fn way(&self, from: End) -> [Address; 2] {
        let [near, far] = self.addresses;
        match from {
            End::Near => [near, far],
            End::Far => [far, near],
        }
    }

    /// A UDP header and a message; `rest` is the number of zeros that follow.
    fn udp(&self, packet: &Packet, message: &[u8], rest: usize) -> Vec<u8> {
        let [from, to] = self.way(packet.from);
        let header = UdpHeader {
            source_port: from.port,
            destination_port: to.port,
            length: clamped((UdpHeader::LEN + message.len() + rest) as u64),
            checksum: 0,
        };
        let mut bytes = header.to_bytes().to_vec();
        bytes.extend_from_slice(message);
        bytes
    }

    /// The sequence number behind data that ends at `offset`, a FIN included.
    fn number(&self, end: End, offset: u64) -> u32 {
        let fin = u32::from(self.ends[place(end)] == Some(offset));
        self.begin(end, offset).wrapping_add(fin)
    }

    /// The sequence number of data that begins at `offset`.
    fn begin(&self, end: End, offset: u64) -> u32 {
        initial(end).wrapping_add(1).wrapping_add(offset as u32)
    }

    fn tcp_header(&self, packet: &Packet, segment: &Segment, options: Options) -> TcpHeader {
        let (own, other) = (packet.from, packet.from.other());
        let [from, to] = self.way(own);
        let mut header = TcpHeader::new(from.port, to.port, 0, 0);
        header.sequence_number = match segment.data {
            _ if segment.syn => initial(own),
            Some(data) => self.begin(own, data.offset),
            None => self.number(own, segment.next),
        };
        // The window of a SYN is not scaled (RFC 7323 section 2.2).
        header.window_size = clamped(options.window >> if segment.syn { 0 } else { options.shift });
        header.syn = segment.syn;
        header.fin = segment.data.is_some_and(|data| data.last);
        header.ece = segment.ece;
        header.cwr = segment.cwr;
        if segment.syn && options.marks {
            header.ece = true;
            header.cwr = own == End::Near;
        }
        if let Some(ack) = segment.ack {
            header.ack = true;
            header.acknowledgment_number = self.number(other, ack);
        }
        if let Some(nack) = segment.nack {
            header.ns = true;
            header.acknowledgment_number = self.begin(other, nack);
        }
        let elements = self.elements(packet, segment, options);
        header
            .set_options(&elements)
            .expect("the longest are timestamps and three SACK blocks: 40 bytes");
        header
    }

    fn elements(
        &self,
        packet: &Packet,
        segment: &Segment,
        options: Options,
    ) -> Vec<TcpOptionElement> {
        use TcpOptionElement as Element;
        let mut elements = Vec::new();
        if segment.syn {
            elements.push(Element::MaximumSegmentSize(options.mss));
            if options.sack {
                elements.push(Element::SelectiveAcknowledgementPermitted);
            } else {
                elements.extend([Element::Noop, Element::Noop]);
            }
        }
        if options.timestamps {
            let heard = self.heard[place(packet.from)].filter(|_| segment.ack.is_some());
            let echo = segment.echo.or(heard).map_or(0, timestamp);
            if !segment.syn {
                elements.extend([Element::Noop, Element::Noop]);
            }
            elements.push(Element::Timestamp(timestamp(packet.sent), echo));
        }
        if segment.syn {
            let padding = if options.timestamps { 1 } else { 3 };
            elements.extend((0..padding).map(|_| Element::Noop));
            elements.push(Element::WindowScale(options.shift));
        }
        let other = packet.from.other();
        let block = |range: &Range<u64>| {
            (
                self.begin(other, range.start),
                self.number(other, range.end),
            )
        };
        if let [first, rest @ ..] = segment.sacks.as_slice() {
            let mut others = [None; 3];
            for (place, range) in others.iter_mut().zip(rest) {
                *place = Some(block(range));
            }
            elements.extend([Element::Noop, Element::Noop]);
            elements.push(Element::SelectiveAcknowledgement(block(first), others));
        }
        elements
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_sim::observe::Data;
    use whimbrel_units::{Bytes, Duration};

    const OPTIONS: Options = Options {
        mss: 1460,
        sack: true,
        timestamps: true,
        marks: false,
        window: 1 << 20,
        shift: 5,
    };

    fn path() -> Path {
        Path {
            addresses: [End::Near, End::Far].map(|end| address(0, 0, end)),
            tcp: Some(OPTIONS),
            heard: [None; 2],
            ends: [None; 2],
        }
    }

    fn packet(from: End, segment: Segment) -> Packet {
        Packet {
            id: 7,
            from,
            sent: Time::ZERO + Duration::from_millis(1234),
            size: Bytes::new(1500),
            ecn: Ecn::NotEct,
            content: Content::Segment(segment),
        }
    }

    fn header(path: &Path, from: End, segment: Segment) -> TcpHeader {
        let packet = packet(from, segment.clone());
        path.tcp_header(&packet, &segment, OPTIONS)
    }

    #[test]
    fn sequence_numbers_wrap_after_four_gibibytes() {
        // The initial number is 1,000,000,000 and 2^32 is 4,294,967,296: byte 3,294,967,295 has
        // number 0.
        let path = path();
        assert_eq!(path.begin(End::Near, 0), 1_000_000_001);
        assert_eq!(path.begin(End::Near, 3_294_967_294), u32::MAX);
        assert_eq!(path.begin(End::Near, 3_294_967_295), 0);
        assert_eq!(path.begin(End::Near, (1 << 32) + 5), 1_000_000_006);
        let ack = Segment {
            ack: Some(3_294_967_300),
            sacks: std::iter::once(3_294_967_290..3_294_967_310).collect(),
            ..Segment::default()
        };
        let header = header(&path, End::Far, ack);
        assert_eq!(header.acknowledgment_number, 5);
        let sack = header.options_iterator().find_map(|option| match option {
            Ok(TcpOptionElement::SelectiveAcknowledgement(first, _)) => Some(first),
            _ => None,
        });
        assert_eq!(sack, Some((u32::MAX - 4, 15)));
    }

    #[test]
    fn options_have_the_order_of_linux() {
        // MSS 1460; SACK permitted; timestamps 1235, none to echo; NOP; scale 5.
        let syn = Segment {
            syn: true,
            ..Segment::default()
        };
        let near = header(&path(), End::Near, syn);
        let bytes = [
            2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 4, 211, 0, 0, 0, 0, 1, 3, 3, 5,
        ];
        assert_eq!(near.options.as_slice(), bytes);
        assert_eq!(
            (near.sequence_number, near.window_size),
            (1_000_000_000, u16::MAX)
        );
        // NOP, NOP, timestamps, NOP, NOP, three blocks: all 40 bytes.
        let ack = Segment {
            ack: Some(10),
            echo: Some(Time::ZERO + Duration::from_millis(1000)),
            sacks: vec![20..30, 40..50, 60..70],
            ..Segment::default()
        };
        let far = header(&path(), End::Far, ack);
        assert_eq!(far.options.as_slice().len(), 40);
        assert_eq!(
            far.options.as_slice()[..12],
            [1, 1, 8, 10, 0, 0, 4, 211, 0, 0, 3, 233]
        );
        assert_eq!(far.options.as_slice()[12..16], [1, 1, 5, 26]);
        // 2^20 in units of 32.
        assert_eq!(far.window_size, 32_768);
    }

    #[test]
    fn a_fin_takes_a_number_and_is_acknowledged_with_the_last_byte() {
        let mut path = path();
        path.ends[0] = Some(1448);
        let last = Segment {
            data: Some(Data {
                offset: 0,
                length: 1448,
                again: false,
                last: true,
            }),
            ack: Some(0),
            ..Segment::default()
        };
        assert!(header(&path, End::Near, last).fin);
        let ack = |ack| Segment {
            ack: Some(ack),
            ..Segment::default()
        };
        assert_eq!(
            header(&path, End::Far, ack(1447)).acknowledgment_number,
            1_000_001_448
        );
        assert_eq!(
            header(&path, End::Far, ack(1448)).acknowledgment_number,
            1_000_001_450
        );
    }

    #[test]
    fn a_nack_names_its_segment_and_acknowledges_nothing() {
        let nack = Segment {
            nack: Some(2896),
            ..Segment::default()
        };
        let header = header(&path(), End::Far, nack);
        assert!(header.ns && !header.ack);
        assert_eq!(header.acknowledgment_number, 1_000_002_897);
    }
}
