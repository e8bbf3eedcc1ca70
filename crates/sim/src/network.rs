//! One run, described as data: directed links, flows with their routes, and settings. What a scenario
//! file says for people is turned into this for the engine.

use crate::outcome::Truth;
use whimbrel_cc::fairness::{Adapter, Priority};
use whimbrel_cc::{Spec, Verdict};
use whimbrel_net::{LinkSpec, Side, WifiSpec};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Everything one run needs. Seeds included: it determines the outcome bit for bit.
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
    /// What it does to packets. On a Wi-Fi channel its service does not count: the channel serves.
    pub spec: LinkSpec,
    /// The Wi-Fi channel that it is one direction of.
    pub on_channel: Option<OnChannel>,
}

/// One direction of a Wi-Fi channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnChannel {
    /// Index in [`Network::channels`].
    pub channel: usize,
    /// Who sends on it.
    pub side: Side,
}

/// A node that receives AATP flows and shares its bandwidth among them by their priorities.
#[derive(Debug, Clone, PartialEq)]
pub struct Destination {
    /// As in the scenario.
    pub name: String,
    /// How strongly it answers unfairness.
    pub adapter: Adapter,
    /// What it can receive, if it need not be estimated.
    pub bandwidth: Option<Rate>,
}

/// One flow: who sends what over which links, from when to when.
#[derive(Debug, Clone)]
pub struct FlowSpec {
    /// As shown to people: `cerl #3`.
    pub name: String,
    /// The way that it takes; several make a TCP flow a multipath connection with a subflow on each. Others have one.
    pub routes: Vec<Route>,
    /// When it starts.
    pub start: Time,
    /// When it stops sending new data, if before its data or the run ends.
    pub stop: Option<Time>,
    /// What it sends.
    pub traffic: Traffic,
}

impl FlowSpec {
    /// Whether a connection of its own decides what its ends send: one over several routes, with several streams or with
    /// messages. All others send bulk data as it comes.
    pub(crate) fn is_multipath(&self) -> bool {
        match &self.traffic {
            Traffic::Tcp(tcp) => {
                self.routes.len() > 1 || tcp.streams.count > 1 || tcp.streams.messages.is_some()
            }
            Traffic::Aatp(_) | Traffic::Udp(_) => false,
        }
    }
}

/// The way of a flow, or of one subflow of a multipath connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Links that data passes, in order; not empty.
    pub forward: Vec<LinkId>,
    /// Links that acknowledgments (and the data of a two-way flow's far end) pass, in order; not empty.
    pub backward: Vec<LinkId>,
}

/// What a flow sends.
#[derive(Debug, Clone)]
pub enum Traffic {
    /// A TCP connection with bulk data.
    Tcp(TcpFlow),
    /// An AATP connection with bulk data.
    Aatp(AatpFlow),
    /// Datagrams that nobody acknowledges.
    Udp(UdpFlow),
}

/// An AATP connection.
#[derive(Debug, Clone)]
pub struct AatpFlow {
    /// Its law; one that lives on bursts.
    pub controller: Spec,
    /// How much to send; endless when `None`.
    pub size: Option<Bytes>,
    /// Its priority at the destination.
    pub priority: Priority,
    /// Index in [`Network::destinations`] of the node that receives it.
    pub destination: usize,
    /// The protocol's settings.
    pub settings: AatpSettings,
}

/// Settings of an AATP connection. The defaults are the paper's configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AatpSettings {
    /// Size of a full packet on the wire, headers included.
    pub packet: Bytes,
    /// Resolution of the system's timers: the least interval between bursts (5).
    pub timer: Duration,
    /// A sender that hears nothing for so long, but never longer than 10 RTT + 1 s, stops and only asks now and then
    /// whether the path is back (RFC 8084). `None`: it sends on for ever, as in the paper.
    pub circuit_breaker: Option<Duration>,
    /// Measures the path again with a packet train at this interval, while data flows. `None`: never, as in the paper.
    pub reestimate: Option<Duration>,
}

impl Default for AatpSettings {
    fn default() -> Self {
        Self {
            packet: Bytes::new(1500),
            timer: Duration::from_millis(1),
            circuit_breaker: None,
            reestimate: None,
        }
    }
}

/// A TCP connection.
#[derive(Debug, Clone)]
pub struct TcpFlow {
    /// Congestion control of each sender.
    pub controller: Spec,
    /// How much to send; endless when `None`. Without effect where [`Streams::messages`] say what there is to send.
    pub size: Option<Bytes>,
    /// The far end sends as much as the near end, and acknowledgments travel on data. Not of a connection over several
    /// routes, with several streams or with messages.
    pub two_way: bool,
    /// How its data is ordered, and when it is there to be sent.
    pub streams: Streams,
    /// The protocol's settings.
    pub settings: TcpSettings,
}

impl TcpFlow {
    /// Whether its data may be marked instead of dropped: [`TcpSettings::ecn`], or what its controller lives by.
    pub fn may_be_marked(&self) -> bool {
        self.settings
            .ecn
            .unwrap_or_else(|| self.controller.asks().marks)
    }

    /// What its ends do about corrupted segments.
    pub(crate) fn nack(&self) -> Nack {
        let wanted = || match self.controller.asks().nack {
            true => Nack::On,
            false => Nack::Off,
        };
        self.settings.nack.unwrap_or_else(wanted)
    }
}

/// The streams of a connection: data of one stream is delivered in order, that of different streams is not held up by each
/// other (RFC 9260 section 6.6; RFC 9000 section 2.2). The default is TCP's: one stream of bulk data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Streams {
    /// How many, from 1 to 65,535 (more are taken for so many). Over several routes there can be one only.
    pub count: u32,
    /// The streams that have data take turns, a segment each (RFC 8260 section 3.3). Otherwise messages are sent whole, in the
    /// order in which they came (RFC 8260 section 3.1).
    pub interleave: bool,
    /// Messages that arrive one by one. `None`: bulk data, all there from the beginning, in equal parts on all streams.
    pub messages: Option<Messages>,
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            count: 1,
            interleave: true,
            messages: None,
        }
    }
}

/// Messages that an application hands to its connection while it stands, the first as soon as it does. They go to the
/// streams in turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Messages {
    /// The smallest message, at least a byte.
    pub least: Bytes,
    /// The largest; sizes between the two are drawn evenly.
    pub greatest: Bytes,
    /// From one message to the next; the mean, if that is drawn.
    pub every: Duration,
    /// These times are drawn from an exponential distribution: messages arrive as a Poisson process.
    pub exponential: bool,
    /// How many in all; until the flow stops when `None`.
    pub count: Option<u32>,
}

/// How lost data is found and resent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// No SACK: three duplicate ACKs, inflation, partial ACKs (RFC 6582). What the papers' simulators ran.
    NewReno,
    /// SACK-based (RFC 2018, RFC 6675) with the proportional rate reduction of RFC 6937. What ns-3 runs.
    Sack,
    /// Time-based with tail loss probes (RFC 8985) and the proportional rate reduction of RFC 9937. What Linux runs
    /// and QUIC resembles.
    Rack,
}

/// About which losses a controller that tells random loss from congestion is told the truth, instead of being left to its
/// own judgement. A run with the mistakes of one kind corrected shows what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Oracle {
    /// None, as on a real network.
    Nothing,
    /// Those that the channel caused: no random loss is taken for congestion.
    Random,
    /// Those that a queue caused: no congestion is taken for random loss.
    Congestion,
    /// All.
    Everything,
}

impl Oracle {
    /// What it says of a loss that was this in truth.
    pub(crate) fn told(self, truth: Truth) -> Option<Verdict> {
        match (self, truth) {
            (Self::Random | Self::Everything, Truth::Random) => Some(Verdict::Random),
            (Self::Congestion | Self::Everything, Truth::Congestion) => Some(Verdict::Congestion),
            _ => None,
        }
    }
}

/// What is done about segments that arrive corrupted, but with readable headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nack {
    /// Their checksum throws them away, and they are missing like lost ones.
    Off,
    /// The receiver answers with a negative acknowledgment, upon which the sender sends them again at once; the hole that they
    /// leave begins no recovery.
    On,
    /// The same, but duplicate acknowledgments of the hole begin a recovery as any others do.
    Unsuppressed,
}

/// Negative acknowledgments that somebody near the receiver sends in its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgedNacks {
    /// One each so long; greater than zero.
    pub interval: Duration,
    /// Which segments they name.
    pub sequences: Sequences,
}

/// Which segments forged negative acknowledgments name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sequences {
    /// Any that there could be: who forges sees nothing.
    Random,
    /// Any between the last acknowledgment and the newest data that passed: who forges sees all.
    InWindow,
    /// The one for which the receiver last sent one itself: a copy of that.
    Replayed,
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
    /// Receive window, of a multipath connection that of all its paths together; RFC 7323's scaling ends at 1 GiB. With streams
    /// or messages it counts whole segments, however small.
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
    /// Data packets may be marked instead of dropped (RFC 3168). `None`: if the controller lives by marks.
    pub ecn: Option<bool>,
    /// Mistakes of the controller about losses that are corrected by the truth.
    pub oracle: Oracle,
    /// What is done about corrupted segments. `None`: on if the controller was published so, else off.
    pub nack: Option<Nack>,
    /// Somebody forges negative acknowledgments for what the near end sends.
    pub forged_nacks: Option<ForgedNacks>,
}

impl TcpSettings {
    /// The receive window in segments, at least one.
    pub(crate) fn window(&self) -> u32 {
        let segments = self.receive_window.get() / self.mss.get().max(1);
        u32::try_from(segments).unwrap_or(u32::MAX).max(1)
    }
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
            ecn: None,
            oracle: Oracle::Nothing,
            nack: None,
            forged_nacks: None,
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
