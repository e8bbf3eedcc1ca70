//! The UDP socket of a driver: batches in both directions, and either merging of packets or the
//! kernel's time of arrival of each.
//!
//! Not both: noq-udp has room for 96 bytes of control messages. Merging, time, address and mark
//! together take 112 (IPv4) or 120 (IPv6), and the kernel would drop the mark (ECN).

use super::core::Arrival;
use super::obstacle::{self, Obstacle};
use super::transmit::Outgoing;
use bytes::BytesMut;
use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use noq_proto::EcnCodepoint;
use noq_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{SystemTime, UNIX_EPOCH};
use whimbrel_units::{Duration, Time};

/// Messages that one system call receives at most.
pub(super) const MESSAGES: usize = 16;
/// Size of the buffer for one message, bytes: what the kernel merges at most (UDP GRO).
const MESSAGE: usize = 64 << 10;

/// A UDP socket that does not block.
#[derive(Debug)]
pub(crate) struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
    /// The kernel may merge packets; otherwise it stamps them.
    merges: bool,
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
            merges: true,
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
            let merge = std::mem::replace(&mut self.merges, true);
            self.set_merging(merge);
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

    /// Whether the kernel may merge packets of one flow that arrive together. Otherwise it reports
    /// when each arrived; merged packets are stamped when they are read.
    pub fn set_merging(&mut self, merge: bool) {
        if self.merges == merge {
            return;
        }
        self.merges = merge;
        // Where the system refuses an option, times are less exact.
        if self.can_merge {
            setsockopt(&self.socket, sockopt::UdpGroSegment, &merge).ok();
        }
        setsockopt(&self.socket, sockopt::ReceiveTimestampns, &!merge).ok();
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
        let ReceiveBuffers { space, metas, .. } = buffers;
        let mut rest = space.as_mut_slice();
        let mut slices: [IoSliceMut<'_>; MESSAGES] = std::array::from_fn(|_| {
            let (slice, after) = std::mem::take(&mut rest).split_at_mut(MESSAGE);
            rest = after;
            IoSliceMut::new(slice)
        });
        let slices = &mut slices[..limit.clamp(1, MESSAGES)];
        self.state
            .recv(UdpSockRef::from(&self.socket), slices, metas)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Space for one batch of messages.
pub(crate) struct ReceiveBuffers {
    space: Vec<u8>,
    metas: [RecvMeta; MESSAGES],
    /// Datagrams are copied here and split off. Memory is allocated as needed: streams keep parts
    /// of it until the application has read them.
    datagrams: BytesMut,
}

impl ReceiveBuffers {
    /// Empty buffers.
    pub fn new() -> Self {
        Self {
            space: vec![0; MESSAGES * MESSAGE],
            metas: [RecvMeta::default(); MESSAGES],
            datagrams: BytesMut::new(),
        }
    }

    /// Calls `each` with every datagram of the first `messages` messages, in order.
    pub fn arrivals(&mut self, messages: usize, mut each: impl FnMut(Arrival)) {
        let received = self.metas.iter().zip(self.space.chunks(MESSAGE));
        for (meta, message) in received.take(messages) {
            let Some(message) = message.get(..meta.len) else {
                continue;
            };
            self.datagrams.reserve(message.len());
            self.datagrams.extend_from_slice(message);
            let mut data = self.datagrams.split_to(message.len());
            let arrived = arrival_time(meta);
            while !data.is_empty() {
                let length = meta.stride.clamp(1, data.len());
                each(Arrival {
                    source: meta.addr,
                    destination: meta.dst_ip,
                    ecn: meta.ecn.map(|ecn| match ecn {
                        noq_udp::EcnCodepoint::Ect0 => EcnCodepoint::Ect0,
                        noq_udp::EcnCodepoint::Ect1 => EcnCodepoint::Ect1,
                        noq_udp::EcnCodepoint::Ce => EcnCodepoint::Ce,
                    }),
                    arrived,
                    data: data.split_to(length),
                });
            }
        }
    }
}

/// The kernel's time of arrival, since 1970. Where it reports none, the present by the same clock.
fn arrival_time(meta: &RecvMeta) -> Time {
    let since = meta.timestamp.unwrap_or_else(|| {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
    });
    Time::ZERO + Duration::from(since)
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
