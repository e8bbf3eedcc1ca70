//! One run as data: directed links, flows with their routes, and settings.
//!
//! A scenario file ([`crate::scenario`]) is turned into this, and the engine runs it.

mod aatp;
mod helper;
mod host;
mod nack;
mod names;
mod oracle;
mod streams;
mod tcp;
mod udp;

pub use aatp::{AatpFlow, AatpSettings, Destination};
pub use helper::{Helped, Helper};
pub use host::{Connection, Ecn, Host, HostCounters, HostState, Transmit};
pub use nack::{ForgedNacks, Nack, Sequences};
pub use names::{FlowName, LinkCopy, LinkName};
pub use oracle::Oracle;
pub use streams::{Messages, Streams};
pub use tcp::{PathChoice, Recovery, SsthreshFrom, TcpFlow, TcpSettings};
pub use udp::{OnOff, UdpFlow};

use std::sync::Arc;
use whimbrel_net::{LinkSpec, Side, WifiSpec};
use whimbrel_units::{Bytes, Duration, Time};

/// Everything that one run needs, the seed included: it determines the outcome bit for bit.
#[derive(Debug, Clone)]
pub struct Network {
    /// All directed links.
    pub links: Vec<NamedLink>,
    /// Wi-Fi channels, each shared by two of the links.
    pub channels: Vec<WifiSpec>,
    /// Nodes that share their bandwidth among the AATP flows that they receive.
    pub destinations: Vec<Destination>,
    /// All flows.
    pub flows: Vec<FlowSpec>,
    /// When the run ends, unless all flows end earlier.
    pub duration: Duration,
    /// Seed of all random events: each link and each source derives its own stream from it.
    pub seed: u64,
    /// Interval at which time series are recorded; `None`: they are not.
    pub sample: Option<Duration>,
}

/// Index of a directed link in [`Network::links`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

impl LinkId {
    /// As an index.
    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// One direction of a link, and its name.
#[derive(Debug, Clone)]
pub struct NamedLink {
    /// Its name.
    pub name: LinkName,
    /// What the link does to packets. On a Wi-Fi channel `spec.service` has no effect: the channel
    /// serves the packets.
    pub spec: LinkSpec,
    /// The Wi-Fi channel of which this is one direction.
    pub on_channel: Option<OnChannel>,
    /// The helper at one of its ends.
    pub helped: Option<Helped>,
}

/// One direction of a Wi-Fi channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnChannel {
    /// Index in [`Network::channels`].
    pub channel: usize,
    /// The station that sends in this direction.
    pub side: Side,
}

/// One flow: what it sends, over which links, from when to when.
#[derive(Debug, Clone)]
pub struct FlowSpec {
    /// Its name.
    pub name: FlowName,
    /// Its route. A TCP flow may have several: it is then a multipath connection with one subflow
    /// per route. Other flows have exactly one.
    pub routes: Vec<Route>,
    /// When it starts.
    pub start: Time,
    /// When it stops sending new data; `None`: at the end of its data or of the run.
    pub stop: Option<Time>,
    /// What it sends.
    pub traffic: Traffic,
    /// The protocol stack that carries it instead of the simulator's own transport: it takes the
    /// first route and the size from the rest, and nothing else. `None`: the simulator's own.
    pub host: Option<Arc<dyn Host>>,
}

impl FlowSpec {
    /// How much it sends; endless when `None`.
    pub(crate) fn size(&self) -> Option<Bytes> {
        match &self.traffic {
            Traffic::Tcp(tcp) => tcp.size,
            Traffic::Aatp(aatp) => aatp.size,
            Traffic::Udp(_) => None,
        }
    }

    /// Whether a multipath connection schedules the data of its endpoints: one over several routes,
    /// with several streams or with messages. All other flows send bulk data in order.
    pub(crate) fn is_multipath(&self) -> bool {
        match &self.traffic {
            _ if self.host.is_some() => false,
            Traffic::Tcp(tcp) => {
                self.routes.len() > 1 || tcp.streams.count > 1 || tcp.streams.messages.is_some()
            }
            Traffic::Aatp(_) | Traffic::Udp(_) => false,
        }
    }
}

/// The route of a flow, or of one subflow of a multipath connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Links that data passes, in order; not empty.
    pub forward: Vec<LinkId>,
    /// Links that acknowledgments pass, in order; not empty. The far end of a two-way flow sends
    /// its data over them too.
    pub backward: Vec<LinkId>,
}

/// What a flow sends.
#[derive(Debug, Clone)]
pub enum Traffic {
    /// A TCP connection.
    Tcp(TcpFlow),
    /// An AATP connection with bulk data.
    Aatp(AatpFlow),
    /// UDP datagrams, which are not acknowledged.
    Udp(UdpFlow),
}
