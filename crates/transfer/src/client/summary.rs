//! The result of a transfer, in the format of `whimbrel send --json`.

use super::paths::PathSummary;
use crate::connection::over_tcp::Transport;
use serde::Serialize;
use whimbrel_cc::SavedPath;
use whimbrel_cc::connection::ConnectionState;
use whimbrel_quic::Snapshot;
use whimbrel_units::{Bytes, Duration};

/// A finished transfer, serialised as the JSON object that `send --json` prints.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// The file's name on the server.
    pub name: String,
    /// The file's size, bytes. `send --json` prints that of the [`Report`](crate::Report).
    #[serde(skip)]
    pub bytes: u64,
    /// Time from the first byte of the request to the server's confirmation that the file is on
    /// disk under its name and its hash is correct. Seconds.
    pub seconds: f64,
    /// Time before that: name resolution and handshake. Seconds.
    pub connect_seconds: f64,
    /// Bytes that this command sent and the server stored, over `seconds`, bits per second: what
    /// the server had already does not count.
    pub goodput_bps: f64,
    /// What carried the last connection. `send --json` prints that of the
    /// [`Report`](crate::Report).
    #[serde(skip)]
    pub transport: Transport,
    /// QUIC packets declared lost, MTU probes included. Over TLS, where TCP sends and repeats
    /// segments, packets, window, MTU and episodes are 0.
    pub lost_packets: u64,
    /// QUIC packets sent.
    pub sent_packets: u64,
    /// Smoothed round-trip time at the end, milliseconds; over TLS, the wait for TCP included.
    pub rtt_ms: f64,
    /// Minimum round-trip time, milliseconds.
    pub min_rtt_ms: f64,
    /// Congestion window at the end, bytes.
    pub cwnd_bytes: u64,
    /// Path MTU as the maximum UDP payload, bytes.
    pub mtu_bytes: u16,
    /// The congestion controller, as the user wrote it; over TLS, TCP's.
    pub controller: String,
    /// BLAKE3 of the file, 64 hexadecimal digits; the server computed the same.
    pub blake3: String,
    /// Loss episodes: after one that reduced the window, at most one per round trip.
    pub loss_episodes: u64,
    /// Loss episodes that reduced the window.
    pub reductions: u64,
    /// Number of times persistent congestion was established.
    pub timeouts: u64,
    /// Loss episodes that turned out to be reordering.
    pub spurious: u64,
    /// How the controller classified the episodes; null if it does not classify losses.
    pub verdicts: Option<VerdictCounts>,
    /// What only a controller that sends bursts has; null for others.
    pub bursts: Option<BurstSummary>,
    /// What an earlier transfer found on the path, with which the last connection began
    /// (RFC 9959); null if nothing was known.
    pub saved_path: Option<SavedPathSummary>,
    /// What was done on each path: one for each interface of `--via`, otherwise one. Empty over
    /// TLS.
    pub paths: Vec<PathSummary>,
    /// The trace, if one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<Vec<TracePoint>>,
    /// Samples at the end of each interval, if requested; the last one is at the end of the
    /// transfer.
    #[serde(skip)]
    pub intervals: Vec<IntervalSample>,
}

/// How a transfer used its path, over all its connections.
#[derive(Debug, Clone, Default)]
pub struct PathUse {
    /// Bytes of the file or files.
    pub bytes: u64,
    /// The congestion controller, as the user wrote it; over TLS, TCP's.
    pub controller: String,
    /// QUIC packets declared lost; 0 over TLS.
    pub lost_packets: u64,
    /// QUIC packets sent; 0 over TLS.
    pub sent_packets: u64,
    /// Minimum round-trip time, milliseconds.
    pub min_rtt_ms: f64,
    /// Path MTU as the maximum UDP payload, bytes; 0 over TLS.
    pub mtu_bytes: u16,
    /// Samples at the end of each interval, if requested.
    pub intervals: Vec<IntervalSample>,
}

impl Summary {
    /// How the transfer used its path.
    pub fn path_use(&self) -> PathUse {
        PathUse {
            bytes: self.bytes,
            controller: self.controller.clone(),
            lost_packets: self.lost_packets,
            sent_packets: self.sent_packets,
            min_rtt_ms: self.min_rtt_ms,
            mtu_bytes: self.mtu_bytes,
            intervals: self.intervals.clone(),
        }
    }
}

/// The state of a transfer at the end of an interval.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalSample {
    /// Time since the request.
    pub at: Duration,
    /// Bytes acknowledged since the connection began, QUIC's overhead included.
    pub acknowledged: Bytes,
    /// Packets declared lost since the connection began, MTU probes included.
    pub lost_packets: u64,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Round-trip time variation (RTTVAR of RFC 6298).
    pub rttvar: Duration,
    /// Path MTU, UDP and IP headers included.
    pub path_mtu: Bytes,
    /// What was done on each path until then; empty if there is one only.
    pub paths: Vec<PathSummary>,
}

/// Number of loss episodes by classification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct VerdictCounts {
    /// Classified as congestion.
    pub congestion: u64,
    /// Classified as random loss.
    pub random: u64,
}

/// The state of a controller that sends bursts, at the end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BurstSummary {
    /// The bandwidth that its trains measured, headers included, bits per second.
    pub bandwidth_bps: u64,
    /// The priority that the server granted; null if it never answered.
    pub priority: Option<u8>,
    /// The weighted fairness of the server's transfers, 0 to 1; null before the first report.
    pub weighted_fairness: Option<f64>,
    /// The rate that the server allocated (Vm), bits per second.
    pub allocated_bps: Option<u64>,
    /// The noise of a Jitter Ratio on this path, a fraction of a burst.
    pub noise: f64,
    /// Whether packets arrived in lumps, so that losses were judged by the queue's level.
    pub lumps: bool,
    /// Bursts that the server reported.
    pub reported: u64,
    /// Times that silence halted the sender.
    pub halts: u64,
}

/// What an earlier transfer found on a path.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SavedPathSummary {
    /// The data that it held without a queue, bytes.
    pub cwnd_bytes: u64,
    /// Its minimum round-trip time, milliseconds.
    pub rtt_ms: f64,
}

impl From<SavedPath> for SavedPathSummary {
    fn from(saved: SavedPath) -> Self {
        Self {
            cwnd_bytes: saved.cwnd.get(),
            rtt_ms: saved.rtt.as_millis_f64(),
        }
    }
}

impl From<whimbrel_quic::Bursts> for BurstSummary {
    fn from(b: whimbrel_quic::Bursts) -> Self {
        Self {
            bandwidth_bps: b.bandwidth.as_bits_per_sec(),
            priority: b.priority,
            weighted_fairness: b.fairness,
            allocated_bps: b.allocated.map(whimbrel_units::Rate::as_bits_per_sec),
            noise: b.noise,
            lumps: b.lumps,
            reported: b.reported,
            halts: b.halts,
        }
    }
}

/// One point of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TracePoint {
    /// Seconds since the connection began.
    pub t_s: f64,
    /// Congestion window, bytes.
    pub cwnd_bytes: u64,
    /// Bytes in flight.
    pub in_flight_bytes: u64,
    /// Last round-trip time, milliseconds.
    pub rtt_ms: f64,
    /// Bytes acknowledged so far, QUIC's overhead included.
    pub delivered_bytes: u64,
}

impl From<ConnectionState> for TracePoint {
    fn from(s: ConnectionState) -> Self {
        Self {
            t_s: s.time.as_secs_f64(),
            cwnd_bytes: s.cwnd.get(),
            in_flight_bytes: s.in_flight.get(),
            rtt_ms: s.rtt.as_millis_f64(),
            delivered_bytes: s.delivered.get(),
        }
    }
}

impl VerdictCounts {
    pub(crate) fn of(snapshot: &Snapshot) -> Option<Self> {
        snapshot.episodes.verdicts.map(|v| Self {
            congestion: v.congestion,
            random: v.random,
        })
    }
}

/// Goodput in bits per second; zero if no time passed. `moved` counts repeated bytes, too; of
/// `bytes` the receiver had `found` before.
pub(crate) fn goodput(bytes: u64, found: u64, moved: u64, took: Duration) -> f64 {
    let bytes = bytes.saturating_sub(found).min(moved);
    if took.is_zero() {
        0.0
    } else {
        bytes as f64 * 8.0 / took.as_secs_f64()
    }
}
