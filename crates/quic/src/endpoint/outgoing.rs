//! Datagrams that leave next, or are held back until then.

use noq_proto::{EcnCodepoint, Transmit};
use std::net::{IpAddr, SocketAddr};

/// One or more datagrams to send. Their bytes are in a buffer beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outgoing {
    /// Where to.
    pub destination: SocketAddr,
    /// The local address to send from, if it matters.
    pub source: Option<IpAddr>,
    /// The mark for explicit congestion notification.
    pub ecn: Option<EcnCodepoint>,
    /// If there are several datagrams: the size of all but the last, which may be smaller. Bytes.
    pub segment_size: Option<usize>,
    /// The datagram must be handed to the kernel at once.
    pub exact: bool,
    /// The link that it leaves over: 0 is the endpoint's socket.
    pub link: usize,
}

impl Outgoing {
    /// Datagrams that noq made.
    pub fn new(transmit: &Transmit, link: usize, exact: bool) -> Self {
        Self {
            destination: transmit.destination,
            source: transmit.src_ip,
            ecn: transmit.ecn,
            segment_size: transmit.segment_size,
            exact,
            link,
        }
    }

    /// Number of datagrams in `size` bytes.
    pub fn datagrams(&self, size: usize) -> usize {
        self.segment_size.map_or(1, |s| size.div_ceil(s.max(1)))
    }

    pub fn goes_with(&self, transmit: &Transmit, link: usize) -> bool {
        self.destination == transmit.destination
            && self.link == link
            && self.source == transmit.src_ip
            && self.ecn == transmit.ecn
            && transmit.segment_size.is_none()
    }
}

/// A datagram that was made but could not leave with those before it.
#[derive(Debug)]
pub(super) struct Held {
    pub outgoing: Outgoing,
    pub data: Vec<u8>,
}
