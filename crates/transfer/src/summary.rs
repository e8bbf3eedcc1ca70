//! What is to be said about a transfer, in the shape of `whimbrel send --json`.

use serde::Serialize;
use whimbrel_quic::Snapshot;
use whimbrel_units::{Bytes, Duration};

/// A finished transfer. Serialised, it is the one JSON object that `send --json` prints.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// The name it has there.
    pub name: String,
    /// Its size, bytes.
    pub bytes: u64,
    /// From the first byte of the request sent to the receiver's word that the file stands under its name,
    /// on disk, its hash checked. Seconds.
    pub seconds: f64,
    /// What came before that: finding the server and the handshake. Seconds.
    pub connect_seconds: f64,
    /// `bytes` over `seconds`, bits per second.
    pub goodput_bps: f64,
    /// QUIC packets that had to be taken for lost, MTU probes included.
    pub lost_packets: u64,
    /// QUIC packets sent.
    pub sent_packets: u64,
    /// Smoothed round-trip time at the end, milliseconds.
    pub rtt_ms: f64,
    /// Least round-trip time, milliseconds.
    pub min_rtt_ms: f64,
    /// Congestion window at the end, bytes.
    pub cwnd_bytes: u64,
    /// Largest UDP payload the path was found to take, bytes.
    pub mtu_bytes: u16,
    /// The congestion controller, as it was chosen.
    pub controller: String,
    /// BLAKE3 of the file, 64 hexadecimal digits; the receiver computed the same.
    pub blake3: String,
    /// Episodes of loss: after one that reduced the window, at most one per round trip.
    pub loss_episodes: u64,
    /// Episodes that reduced the window.
    pub reductions: u64,
    /// Times persistent congestion was established.
    pub timeouts: u64,
    /// Episodes that proved to have been reordering.
    pub spurious: u64,
    /// How the controller judged the episodes; null if it does not tell random loss from congestion.
    pub verdicts: Option<VerdictCounts>,
    /// The trace, if one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<Vec<TracePoint>>,
    /// How it stood at the end of each interval, if that was asked for; the last is its own end.
    #[serde(skip)]
    pub standings: Vec<Standing>,
}

/// How a transfer stands at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Since the request.
    pub at: Duration,
    /// Bytes acknowledged since the connection began, with QUIC's own overhead.
    pub acknowledged: Bytes,
    /// Packets taken for lost since the connection began, MTU probes included.
    pub lost_packets: u64,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// How much round-trip times vary (RTTVAR of RFC 6298).
    pub rttvar: Duration,
    /// Largest packet that the path was found to take, with the headers of UDP and IP.
    pub path_mtu: Bytes,
}

/// How many episodes of loss were taken for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct VerdictCounts {
    /// For congestion.
    pub congestion: u64,
    /// For random loss.
    pub random: u64,
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
    /// Bytes acknowledged so far, with QUIC's own overhead.
    pub delivered_bytes: u64,
}

impl From<whimbrel_quic::Sample> for TracePoint {
    fn from(s: whimbrel_quic::Sample) -> Self {
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
        snapshot.verdicts.map(|v| Self {
            congestion: v.congestion,
            random: v.random,
        })
    }
}

/// Bits per second; zero if no time passed.
pub(crate) fn goodput(bytes: u64, took: Duration) -> f64 {
    if took.is_zero() {
        0.0
    } else {
        bytes as f64 * 8.0 / took.as_secs_f64()
    }
}
