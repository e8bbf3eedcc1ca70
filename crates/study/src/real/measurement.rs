//! What a real transfer measured.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Interval of the samples.
pub(super) const SAMPLING: Duration = Duration::from_millis(100);

/// One finished transfer.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Measurement {
    /// Seconds from the request to the receiver's answer that the file is stored.
    pub seconds: f64,
    /// Bits of the file per second.
    pub goodput_bps: f64,
    /// Packets sent; over TCP, segments with data.
    pub sent_packets: u64,
    /// Packets declared lost; over TCP, segments retransmitted.
    pub lost_packets: u64,
    /// The file's BLAKE3 hash, as sender and receiver computed it.
    pub blake3: String,
    /// The transfer over time.
    pub samples: Vec<Sample>,
    /// Each of several paths over time; empty if there was one.
    #[serde(default)]
    pub paths: Vec<OnPath>,
    /// How well the path was emulated.
    pub path: PathQuality,
}

/// What was sent over one path.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct OnPath {
    /// The network interface.
    pub via: String,
    /// Seconds since the start, and bytes of UDP datagrams sent until then.
    pub sent: Vec<(f64, f64)>,
}

/// A moment of a transfer.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Sample {
    /// Seconds since its start.
    pub t_s: f64,
    /// Bytes delivered until then, transport overhead included.
    pub delivered_bytes: u64,
    /// The round-trip time; 0 before the first sample.
    pub rtt_ms: f64,
}

/// What limits the trust in a measurement.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct PathQuality {
    /// 99 of 100 packets were not later than this, in the worse direction. Seconds.
    pub late_p99_s: f64,
    /// Packets that the path lost although the emulated link did not drop them.
    pub missed: u64,
    /// Connections under one of Whimbrel's algorithms that went to the kernel's fallback.
    pub fallbacks: u64,
    /// Events of connections that were lost.
    pub dropped_events: u64,
}

impl Measurement {
    /// Times in seconds and bytes delivered until then, transport overhead included.
    pub fn delivered(&self) -> Vec<(f64, f64)> {
        let samples = self.samples.iter();
        samples.map(|s| (s.t_s, s.delivered_bytes as f64)).collect()
    }

    /// Times in seconds and the round-trip time then, in milliseconds.
    pub fn rtts(&self) -> Vec<(f64, f64)> {
        let known = self.samples.iter().filter(|s| s.rtt_ms > 0.0);
        known.map(|s| (s.t_s, s.rtt_ms)).collect()
    }

    /// Packets lost, of those sent.
    pub fn lost(&self) -> f64 {
        self.lost_packets as f64 / self.sent_packets.max(1) as f64
    }
}
