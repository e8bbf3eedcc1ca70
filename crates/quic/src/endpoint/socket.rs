//! The UDP socket of a driver: batches in both directions, merging of packets, and the kernel's
//! times of arrival.
//!
//! noq-udp sends and sets the options. It does not receive: it has room for 96 bytes of control
//! messages, and merging, time, address and mark together take 112 (IPv4) or 120 (IPv6), so that
//! the kernel would drop the mark (ECN).

use super::core::Arrival;
use super::obstacle::{self, Obstacle};
use super::outgoing::Outgoing;
use crate::feedback::Stamps;
use bytes::BytesMut;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, MultiHeaders, RecvMsg, SockaddrStorage, getsockopt, recvmmsg,
    setsockopt, sockopt,
};
use noq_proto::EcnCodepoint;
use noq_udp::{Transmit, UdpSockRef, UdpSocketState};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{SystemTime, UNIX_EPOCH};
use whimbrel_units::{Duration, Time};

/// Messages that one system call receives at most.
pub(super) const MESSAGES: usize = 16;
/// Size of the buffer for one message, bytes: what the kernel merges at most (UDP GRO).
const MESSAGE: usize = 64 << 10;
/// Room for the control messages of one message, bytes: a multiple of their alignment.
const CONTROL: usize = 160;

/// A UDP socket that does not block.
#[derive(Debug)]
pub(crate) struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
    stamps: Stamps,
    /// The kernel can merge packets.
    can_merge: bool,
}

impl Socket {
    /// Sets the options that QUIC needs.
    ///
    /// # Errors
    /// If the system refuses one that is not optional.
    pub fn new(socket: UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new((&socket).into())?;
        let can_merge = state.gro_segments() > NonZeroUsize::MIN;
        Ok(Self {
            socket,
            state,
            stamps: Stamps::None,
            can_merge,
        })
    }

    /// Lets the kernel report why packets do not arrive ([`Self::take_obstacles`]).
    pub fn report_obstacles(&self) {
        obstacle::keep(&self.socket);
    }

    /// Calls `each` with what the kernel has reported since the last call: where a packet was sent,
    /// and why it did not arrive. Returns whether there was anything.
    pub fn take_obstacles(&self, each: impl FnMut(SocketAddr, Obstacle)) -> bool {
        obstacle::take(&self.socket, each)
    }

    /// Finds out again what the kernel and the device can do. To be called when the network has
    /// changed: noq-udp takes the refusal of a vanished address for a device without features.
    pub fn renew(&mut self) {
        if let Ok(state) = UdpSocketState::new((&self.socket).into()) {
            self.state = state;
            // That has switched merging on.
            let stamps = std::mem::replace(&mut self.stamps, Stamps::None);
            self.set_stamps(stamps);
        }
    }

    /// A socket for the same purpose that is not bound to an address of this host.
    ///
    /// # Errors
    /// If the system refuses it.
    pub fn unbound(&self) -> io::Result<UdpSocket> {
        let any: IpAddr = match self.local_addr()? {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((any, 0))?;
        // The kernel reports twice what it was asked for (socket(7)). Smaller buffers work too.
        if let Ok(size) = getsockopt(&self.socket, sockopt::RcvBuf) {
            setsockopt(&socket, sockopt::RcvBuf, &(size / 2)).ok();
        }
        if let Ok(size) = getsockopt(&self.socket, sockopt::SndBuf) {
            setsockopt(&socket, sockopt::SndBuf, &(size / 2)).ok();
        }
        Ok(socket)
    }

    /// The local address.
    ///
    /// # Errors
    /// If the system does not report it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Whether the network may split its packets.
    pub fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    /// Maximum number of datagrams that one call sends.
    pub fn max_segments(&self) -> NonZeroUsize {
        self.state.max_gso_segments()
    }

    /// Which times of arrival the kernel reports, and so whether it may merge packets of one flow
    /// that arrive together.
    pub fn set_stamps(&mut self, stamps: Stamps) {
        let before = std::mem::replace(&mut self.stamps, stamps);
        // Where the system refuses an option, times are less exact.
        if self.can_merge && before.may_merge() != stamps.may_merge() {
            setsockopt(&self.socket, sockopt::UdpGroSegment, &stamps.may_merge()).ok();
        }
        let stamped = |stamps| stamps != Stamps::None;
        if stamped(before) != stamped(stamps) {
            setsockopt(&self.socket, sockopt::ReceiveTimestampns, &stamped(stamps)).ok();
        }
    }

    /// Sends one datagram or several.
    ///
    /// # Errors
    /// `WouldBlock` if the kernel's buffer is full: nothing was sent. Other errors say that these
    /// datagrams are lost.
    pub fn send(&self, outgoing: &Outgoing, data: &[u8]) -> io::Result<()> {
        let transmit = Transmit {
            destination: outgoing.destination,
            ecn: outgoing.ecn.map(|ecn| match ecn {
                EcnCodepoint::Ect0 => noq_udp::EcnCodepoint::Ect0,
                EcnCodepoint::Ect1 => noq_udp::EcnCodepoint::Ect1,
                EcnCodepoint::Ce => noq_udp::EcnCodepoint::Ce,
            }),
            contents: data,
            segment_size: outgoing.segment_size,
            src_ip: outgoing.source,
        };
        self.state
            .try_send(UdpSockRef::from(&self.socket), &transmit)
    }

    /// Receives what has arrived into `buffers`, at most `limit` messages. Returns their number.
    ///
    /// # Errors
    /// `WouldBlock` if nothing has arrived; others as the system reports them.
    pub fn receive(&self, buffers: &mut ReceiveBuffers, limit: usize) -> io::Result<usize> {
        let ReceiveBuffers {
            space, messages, ..
        } = buffers;
        messages.clear();
        let slices = space.chunks_mut(MESSAGE).take(limit.max(1));
        let mut slices: Vec<_> = slices.map(|slice| [IoSliceMut::new(slice)]).collect();
        // The kernel writes the lengths into the headers, so they serve one call.
        let control = Some(Vec::with_capacity(CONTROL));
        let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(slices.len(), control);
        let (fd, flags) = (self.socket.as_raw_fd(), MsgFlags::empty());
        let received = recvmmsg(fd, &mut headers, slices.iter_mut(), flags, None)?;
        messages.extend(received.map(|message| Message::of(&message)));
        Ok(messages.len())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What the kernel says of a message: one datagram, or several that it merged.
#[derive(Debug)]
struct Message {
    source: Option<SocketAddr>,
    destination: Option<IpAddr>,
    ecn: Option<EcnCodepoint>,
    /// When it arrived, by the kernel's clock.
    arrived: Time,
    length: usize,
    /// The size of each datagram but the last, which may be smaller.
    stride: usize,
}

impl Message {
    fn of(received: &RecvMsg<'_, '_, SockaddrStorage>) -> Self {
        let mut message = Self {
            source: received.address.as_ref().and_then(obstacle::address),
            destination: None,
            ecn: None,
            arrived: Time::ZERO,
            length: received.bytes,
            stride: received.bytes,
        };
        let mut stamp = None;
        for control in received.cmsgs().into_iter().flatten() {
            match control {
                ControlMessageOwned::Ipv4Tos(tos) => message.ecn = EcnCodepoint::from_bits(tos),
                ControlMessageOwned::Ipv6TClass(class) => {
                    message.ecn = EcnCodepoint::from_bits(class.to_le_bytes()[0]);
                }
                ControlMessageOwned::Ipv4PacketInfo(info) => {
                    let address = Ipv4Addr::from(info.ipi_addr.s_addr.to_ne_bytes());
                    message.destination = Some(address.into());
                }
                ControlMessageOwned::Ipv6PacketInfo(info) => {
                    message.destination = Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into());
                }
                ControlMessageOwned::UdpGroSegments(size) => {
                    message.stride = usize::try_from(size).unwrap_or(message.stride);
                }
                ControlMessageOwned::ScmTimestampns(time) => stamp = Some(time.into()),
                _ => {}
            }
        }
        // Where the kernel reports no time: the present by the same clock.
        let since = stamp.unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            now.unwrap_or_default()
        });
        message.arrived = Time::ZERO + Duration::from(since);
        message
    }
}

/// Space for one batch of messages.
pub(crate) struct ReceiveBuffers {
    space: Vec<u8>,
    /// What was received into it.
    messages: Vec<Message>,
    /// Datagrams are copied here and split off. Memory is allocated as needed: streams keep parts
    /// of it until the application has read them.
    datagrams: BytesMut,
}

impl ReceiveBuffers {
    /// Empty buffers.
    pub fn new() -> Self {
        Self {
            space: vec![0; MESSAGES * MESSAGE],
            messages: Vec::with_capacity(MESSAGES),
            datagrams: BytesMut::new(),
        }
    }

    /// Calls `each` with every datagram of the last batch, in order.
    pub fn arrivals(&mut self, mut each: impl FnMut(Arrival)) {
        for (message, space) in self.messages.iter().zip(self.space.chunks(MESSAGE)) {
            let (Some(source), Some(content)) = (message.source, space.get(..message.length))
            else {
                continue;
            };
            self.datagrams.reserve(content.len());
            self.datagrams.extend_from_slice(content);
            let mut data = self.datagrams.split_to(content.len());
            while !data.is_empty() {
                let length = message.stride.clamp(1, data.len());
                each(Arrival {
                    source,
                    destination: message.destination,
                    ecn: message.ecn,
                    arrived: message.arrived,
                    data: data.split_to(length),
                    link: 0,
                });
            }
        }
    }
}

/// Sends the datagrams of a batch one by one: for devices whose driver cannot split batches.
pub(super) fn send_singly(socket: &Socket, outgoing: &Outgoing, data: &[u8]) {
    let size = outgoing.segment_size.unwrap_or(data.len()).max(1);
    let single = Outgoing {
        segment_size: None,
        ..*outgoing
    };
    for datagram in data.chunks(size) {
        // A datagram that is refused is lost; QUIC sends its content again.
        socket.send(&single, datagram).ok();
    }
}
