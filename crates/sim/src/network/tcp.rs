//! TCP flows and their settings.

use super::{ForgedNacks, Nack, Oracle, Streams};
use whimbrel_cc::{Growth, SavedPath, Spec};
use whimbrel_units::{Bytes, Duration};

/// A TCP connection.
#[derive(Debug, Clone)]
pub struct TcpFlow {
    /// Congestion control algorithm of each sender.
    pub controller: Spec,
    /// How much to send; endless when `None`. Ignored if [`Streams::messages`] describes the data.
    pub size: Option<Bytes>,
    /// The far end sends as much as the near end, and data packets carry the acknowledgments. Not
    /// available with several routes, several streams or messages.
    pub two_way: bool,
    /// The streams of its data, and when data becomes available.
    pub streams: Streams,
    /// The protocol's settings.
    pub settings: TcpSettings,
}

impl TcpFlow {
    /// Whether its data may be marked instead of dropped: [`TcpSettings::ecn`], or else whether its
    /// controller needs marks.
    pub fn may_be_marked(&self) -> bool {
        self.settings
            .ecn
            .unwrap_or_else(|| self.controller.transport_features().marks)
    }

    /// What its endpoints do about corrupted segments.
    pub(crate) fn nack(&self) -> Nack {
        let wanted = || match self.controller.transport_features().nack {
            true => Nack::On,
            false => Nack::Off,
        };
        self.settings.nack.unwrap_or_else(wanted)
    }
}

/// How lost data is detected and retransmitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// No SACK: three duplicate ACKs, inflation, partial ACKs (RFC 6582). The simulators of the
    /// papers use it.
    NewReno,
    /// SACK-based (RFC 2018, RFC 6675) with the proportional rate reduction of RFC 6937, as in
    /// ns-3.
    Sack,
    /// As [`Self::Sack`], but by forward acknowledgment: everything more than three segments below
    /// the highest SACKed one is lost (M. Mathis, J. Mahdavi, "Forward Acknowledgement", ACM
    /// SIGCOMM 1996). Linux used it before RACK.
    Fack,
    /// Time-based with tail loss probes (RFC 8985) and the proportional rate reduction of RFC 9937.
    /// Linux uses it, and QUIC's loss detection resembles it.
    Rack,
}

impl Recovery {
    /// Losses are found by how many segments beyond them were SACKed, not by time.
    pub(crate) fn counts_sacks(self) -> bool {
        matches!(self, Self::Sack | Self::Fack)
    }
}

/// From what an algorithm that halves computes ssthresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SsthreshFrom {
    /// FlightSize; a repeated timeout for the same data leaves ssthresh (RFC 5681 sections 3.1 and
    /// 3.2).
    Flight,
    /// The smaller of the congestion window and the receiver's, at each timeout anew: 4.3BSD, ns-2
    /// (`slowdown()`). After two timeouts in a row ssthresh is two segments.
    Window,
}

/// Which path of a flow over several routes sends next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PathChoice {
    /// The one with the lowest smoothed RTT whose window has room: Linux's default.
    MinRtt,
    /// [`whimbrel_cc::path_scheduler`]: a slow path waits where the faster ones would bring its
    /// data sooner. Data in flight on it is then sent on an idle faster path, too.
    Ecf,
}

/// Settings of a TCP connection. The defaults are those of a scenario that sets none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TcpSettings {
    /// How lost data is detected and retransmitted.
    pub recovery: Recovery,
    /// Maximum payload of a segment.
    pub mss: Bytes,
    /// Headers of every packet on the wire: IPv4 20, TCP 20, timestamps 12. SACK blocks are added.
    pub header: Bytes,
    /// Initial window in segments (RFC 6928).
    pub initial_window: u32,
    /// What an earlier connection found on the path: the flow starts with Careful Resume
    /// (RFC 9959).
    pub saved_path: Option<SavedPath>,
    /// Receive window; one for all paths of a multipath connection. RFC 7323's scaling ends at
    /// 1 GiB. With streams or messages it counts whole segments, however small.
    pub receive_window: Bytes,
    /// A delayed acknowledgment is sent after this many full segments (RFC 1122, RFC 5681
    /// section 4.2); 1 acknowledges each.
    pub ack_every: u32,
    /// A delayed acknowledgment is sent after this time at the latest.
    pub ack_delay: Duration,
    /// So many segments are acknowledged one by one at the start of a connection, and again after
    /// each segment that arrives twice (Linux's quick acknowledgments: 16); 0: none.
    pub quick_acks: u32,
    /// What a window of Reno's family grows for.
    pub growth: Growth,
    /// With [`Recovery::NewReno`]: the acknowledgment that ends a recovery grows the window too, as
    /// in ns-2, whose SACK does not. RFC 5681 section 3.2 sets the window to ssthresh with it and
    /// does not grow it.
    pub growth_at_recovery_end: bool,
    /// Timestamps (RFC 7323): every acknowledgment gives an RTT sample.
    pub timestamps: bool,
    /// Minimum retransmission timeout (RFC 6298 section 2.4: 1 s; Linux: 200 ms).
    pub min_rto: Duration,
    /// Maximum of the backed-off retransmission timeout (RFC 6298 section 2.5: at least 60 s). It
    /// never shortens the timeout below SRTT + 4 RTTVAR, and rises to 60 s while acknowledgments
    /// give no RTT sample.
    pub max_rto: Duration,
    /// The timeout is that of 4.3BSD and ns-2, with a clock of this tick: one segment timed per
    /// window, and Karn's rule in full. `None`: Linux's, with a sample from each acknowledgment.
    pub coarse_timer: Option<Duration>,
    /// From what a loss or a timeout computes ssthresh.
    pub ssthresh_from: SsthreshFrom,
    /// New segments on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Tail loss probes (RFC 8985 section 7), with [`Recovery::Rack`].
    pub tail_loss_probe: bool,
    /// Probes in silence ([`Silence`](whimbrel_cc::connection::Silence)), with [`Recovery::Rack`],
    /// as over QUIC. `None`: on if the controller asks for them, else off.
    pub probes_in_silence: Option<bool>,
    /// Paces packets at this multiple of cwnd/srtt, where the controller sets no pacing rate
    /// (RFC 9002 section 7.7: 1.25). `None`: sending is clocked by acknowledgments alone.
    pub pacing: Option<f64>,
    /// Which path sends next, on several routes.
    pub scheduler: PathChoice,
    /// Data packets may be marked instead of dropped (RFC 3168). `None`: if the controller needs
    /// marks.
    pub ecn: Option<bool>,
    /// Which mistakes of the controller's loss classifier are corrected with the truth.
    pub oracle: Oracle,
    /// What is done about corrupted segments. `None`: on if the controller was published with
    /// NACKs, else off.
    pub nack: Option<Nack>,
    /// An attacker forges negative acknowledgments for data of the near end.
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
            saved_path: None,
            receive_window: Bytes::new(1 << 30),
            ack_every: 2,
            ack_delay: Duration::from_millis(40),
            quick_acks: 0,
            growth: Growth::Segments,
            growth_at_recovery_end: false,
            timestamps: true,
            min_rto: Duration::from_secs(1),
            max_rto: Duration::from_secs(60),
            coarse_timer: None,
            ssthresh_from: SsthreshFrom::Flight,
            limited_transmit: true,
            tail_loss_probe: true,
            probes_in_silence: None,
            pacing: None,
            scheduler: PathChoice::MinRtt,
            ecn: None,
            oracle: Oracle::Nothing,
            nack: None,
            forged_nacks: None,
        }
    }
}
