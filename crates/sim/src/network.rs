//! One run, described as data: directed links, flows with their routes, and settings. What a scenario
//! file says for people is turned into this for the engine.

use whimbrel_cc::Spec;
use whimbrel_net::LinkSpec;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Everything one run needs. Seeds included: it determines the outcome bit for bit.
#[derive(Debug, Clone)]
pub struct Network {
    /// All directed links.
    pub links: Vec<NamedLink>,
    /// All flows.
    pub flows: Vec<FlowSpec>,
    /// When the run ends, if the flows do not all end before.
    pub duration: Duration,
    /// Decides every random event: each link and source derives its own stream from it.
    pub seed: u64,
    /// Record time series at this interval, if at all.
    pub sample: Option<Duration>,
}

/// Index of a directed link in [`Network::links`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// One direction of a link, and what people call it.
#[derive(Debug, Clone)]
pub struct NamedLink {
    /// As in the scenario: `L`, `access*[3]` for flow 3's own copy; the mirrored direction is `L (reverse)`.
    pub name: String,
    /// What it does to packets.
    pub spec: LinkSpec,
}

/// One flow: who sends what over which links, from when to when.
#[derive(Debug, Clone)]
pub struct FlowSpec {
    /// As shown to people: `cerl #3`.
    pub name: String,
    /// Links that data passes, in order; not empty.
    pub forward: Vec<LinkId>,
    /// Links that acknowledgments (and the data of a two-way flow's far end) pass, in order; not empty.
    pub backward: Vec<LinkId>,
    /// When it starts.
    pub start: Time,
    /// When it stops sending new data, if before its data or the run ends.
    pub stop: Option<Time>,
    /// What it sends.
    pub traffic: Traffic,
}

/// What a flow sends.
#[derive(Debug, Clone)]
pub enum Traffic {
    /// A TCP connection with bulk data.
    Tcp(TcpFlow),
    /// Datagrams that nobody acknowledges.
    Udp(UdpFlow),
}

/// A TCP connection.
#[derive(Debug, Clone)]
pub struct TcpFlow {
    /// Congestion control of each sender.
    pub controller: Spec,
    /// How much to send; endless when `None`.
    pub size: Option<Bytes>,
    /// The far end sends as much as the near end, and acknowledgments travel on data.
    pub two_way: bool,
    /// The protocol's settings.
    pub settings: TcpSettings,
}

/// How lost data is found and resent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// No SACK: three duplicate ACKs, inflation, partial ACKs (RFC 6582). What the papers' simulators ran.
    NewReno,
    /// SACK-based (RFC 2018, RFC 6675) with proportional rate reduction (RFC 6937). What ns-3 runs.
    Sack,
    /// Time-based with tail loss probes (RFC 8985) and proportional rate reduction. What Linux runs
    /// and QUIC resembles.
    Rack,
}

/// Settings of a TCP connection. The defaults are those of a scenario that says nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TcpSettings {
    /// How lost data is found and resent.
    pub recovery: Recovery,
    /// Greatest payload of a segment.
    pub mss: Bytes,
    /// Headers of every packet on the wire: IPv4 20, TCP 20, timestamps 12. SACK blocks come on top.
    pub header: Bytes,
    /// Initial window in segments (RFC 6928).
    pub initial_window: u32,
    /// Receive window; RFC 7323's scaling ends at 1 GiB.
    pub receive_window: Bytes,
    /// A delayed acknowledgment is sent after so many full segments (RFC 1122, RFC 5681 section 4.2); 1 acknowledges each.
    pub ack_every: u32,
    /// ... and at the latest after this time.
    pub ack_delay: Duration,
    /// Timestamps (RFC 7323): every acknowledgment gives an RTT sample.
    pub timestamps: bool,
    /// Floor of the retransmission timeout (RFC 6298 section 2.4: 1 s; Linux: 200 ms).
    pub min_rto: Duration,
    /// Ceiling of the retransmission timeout (RFC 6298 section 2.5: at least 60 s).
    pub max_rto: Duration,
    /// New segments on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Tail loss probes (RFC 8985 section 7), with `Recovery::Rack`.
    pub tail_loss_probe: bool,
    /// Spread the window over the round trip at this multiple of cwnd/srtt, where the controller sets no
    /// rate of its own (RFC 9002 section 7.7: 1.25). `None`: acknowledgments alone set the pace.
    pub pacing: Option<f64>,
}

impl Default for TcpSettings {
    fn default() -> Self {
        Self {
            recovery: Recovery::Rack,
            mss: Bytes::new(1448),
            header: Bytes::new(52),
            initial_window: 10,
            receive_window: Bytes::new(1 << 30),
            ack_every: 2,
            ack_delay: Duration::from_millis(40),
            timestamps: true,
            min_rto: Duration::from_secs(1),
            max_rto: Duration::from_secs(60),
            limited_transmit: true,
            tail_loss_probe: true,
            pacing: None,
        }
    }
}

/// A source of datagrams at a constant rate, all the time or in bursts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UdpFlow {
    /// Rate on the wire, headers included, while it sends.
    pub rate: Rate,
    /// Size of each packet on the wire.
    pub packet: Bytes,
    /// Sends in bursts; all the time when `None`.
    pub on_off: Option<OnOff>,
}

/// Bursts: sends for a while, is silent for a while.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnOff {
    /// Mean length of a burst.
    pub on: Duration,
    /// Mean length of a silence.
    pub off: Duration,
    /// Lengths are drawn from exponential distributions; otherwise they are always the mean.
    pub exponential: bool,
}
