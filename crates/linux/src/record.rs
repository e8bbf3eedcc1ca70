//! Connections and reports as JSON, in base units.

use crate::{AgentReport, Connection, End, ReceiverClock};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::net::SocketAddr;
use whimbrel_cc::connection::Verdicts;
use whimbrel_units::Duration;

/// One connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConnectionRecord {
    /// Own address and port.
    pub local: SocketAddr,
    /// The peer's address and port.
    pub remote: SocketAddr,
    /// Data acknowledged over the time from the beginning to its last acknowledgment.
    pub goodput_bps: u64,
    /// Data acknowledged.
    pub acked_bytes: u64,
    /// Data received in order.
    pub received_bytes: u64,
    /// When it began to be controlled, since this program started.
    pub began_s: f64,
    /// Time from then to the last acknowledgment of new data.
    pub active_s: f64,
    /// Segments sent, retransmissions included.
    pub segments: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Segments marked lost.
    pub lost: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Episodes of loss or of congestion marks.
    pub episodes: u64,
    /// Episodes that reduced the window.
    pub reductions: u64,
    /// Episodes that proved to be spurious.
    pub spurious: u64,
    /// The classifier's decisions; null if the algorithm makes none.
    pub verdicts: Option<VerdictsRecord>,
    /// The connection went to the kernel's fallback algorithm.
    pub fallback: bool,
    /// It has ended.
    pub ended: bool,
    /// Events that the kernel could not deliver.
    pub dropped_events: u64,
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Slow start threshold; null if none is set.
    pub ssthresh_bytes: Option<u64>,
    /// Pacing rate; null if the algorithm sets none.
    pub pacing_bps: Option<u64>,
    /// Last delivery rate sample; null before the first one.
    pub delivery_bps: Option<u64>,
    /// The algorithm's phase.
    pub phase: String,
    /// Bytes in flight.
    pub in_flight_bytes: u64,
    /// Last RTT sample; null before the first one.
    pub rtt_ms: Option<f64>,
    /// Smoothed RTT.
    pub srtt_ms: Option<f64>,
    /// Minimum RTT.
    pub min_rtt_ms: Option<f64>,
    /// Negative acknowledgments that were accepted.
    pub nacks: u64,
    /// Negative acknowledgments that were refused.
    pub nacks_refused: u64,
    /// The peer's timestamp clock.
    pub receiver_clock: ClockRecord,
}

/// How episodes of loss were classified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictsRecord {
    /// As congestion.
    pub congestion: u64,
    /// As random loss.
    pub random: u64,
    /// The episodes whose true cause is known; null if none is.
    pub truth: Option<TruthRecord>,
}

/// Decisions against the true causes: each name is the cause and the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TruthRecord {
    /// Congestion, recognized.
    pub congestion_as_congestion: u64,
    /// Congestion, mistaken for random loss.
    pub congestion_as_random: u64,
    /// Random loss, mistaken for congestion.
    pub random_as_congestion: u64,
    /// Random loss, recognized.
    pub random_as_random: u64,
}

/// The peer's timestamp clock (RFC 7323).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClockRecord {
    /// What it is good for.
    pub state: ClockState,
    /// Its tick; null if it was not measured.
    pub tick_ms: Option<f64>,
}

/// What the peer's timestamp clock is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockState {
    /// The connection has no timestamps.
    Absent,
    /// Too few acknowledgments to measure the tick.
    Unknown,
    /// The tick is short enough.
    Usable,
    /// The tick is too long for the path.
    TooCoarse,
}

impl From<&Connection> for ConnectionRecord {
    fn from(c: &Connection) -> Self {
        let last = &c.last;
        Self {
            local: c.addresses.local,
            remote: c.addresses.remote,
            goodput_bps: c.goodput.as_bits_per_sec(),
            acked_bytes: last.state.delivered.get(),
            received_bytes: last.received.get(),
            began_s: c.began.as_secs_f64(),
            active_s: c.active.as_secs_f64(),
            segments: last.segments,
            retransmits: last.retransmits,
            lost: last.lost_packets,
            timeouts: last.episodes.timeouts,
            episodes: last.episodes.episodes,
            reductions: last.episodes.reductions,
            spurious: last.episodes.spurious,
            verdicts: last.episodes.verdicts.as_ref().map(VerdictsRecord::from),
            fallback: c.end == End::Fallback,
            ended: c.end == End::Closed,
            dropped_events: c.dropped_events,
            cwnd_bytes: last.state.cwnd.get(),
            ssthresh_bytes: last.state.ssthresh.map(|s| s.get()),
            pacing_bps: last.state.pacing_rate.map(|rate| rate.as_bits_per_sec()),
            delivery_bps: last.state.delivery_rate.map(|rate| rate.as_bits_per_sec()),
            phase: last.state.phase.to_owned(),
            in_flight_bytes: last.state.in_flight.get(),
            rtt_ms: measured_ms(last.state.rtt),
            srtt_ms: measured_ms(last.state.srtt),
            min_rtt_ms: measured_ms(last.state.min_rtt),
            nacks: last.nacks,
            nacks_refused: last.nacks_refused,
            receiver_clock: ClockRecord::from(last.receiver_clock),
        }
    }
}

/// In milliseconds; `None` before the first sample.
fn measured_ms(span: Duration) -> Option<f64> {
    (!span.is_zero()).then(|| span.as_millis_f64())
}

impl From<&Verdicts> for VerdictsRecord {
    fn from(v: &Verdicts) -> Self {
        let [[cc, cr], [rc, rr]] = v.truth;
        let known = cc + cr + rc + rr > 0;
        Self {
            congestion: v.congestion,
            random: v.random,
            truth: known.then_some(TruthRecord {
                congestion_as_congestion: cc,
                congestion_as_random: cr,
                random_as_congestion: rc,
                random_as_random: rr,
            }),
        }
    }
}

impl From<ReceiverClock> for ClockRecord {
    fn from(clock: ReceiverClock) -> Self {
        let (state, tick) = match clock {
            ReceiverClock::Absent => (ClockState::Absent, None),
            ReceiverClock::Unknown => (ClockState::Unknown, None),
            ReceiverClock::Usable(tick) => (ClockState::Usable, Some(tick)),
            ReceiverClock::TooCoarse(tick) => (ClockState::TooCoarse, Some(tick)),
        };
        Self {
            state,
            tick_ms: tick.map(Duration::as_millis_f64),
        }
    }
}

/// How the use of an algorithm ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ended {
    /// The command's exit status, 128 + signal if one killed it; `None` without a command.
    pub status: Option<u8>,
    /// Time from the start to the end.
    pub elapsed: Duration,
    /// Connections that still had unacknowledged data.
    pub unfinished: usize,
}

impl AgentReport {
    /// The object that `whimbrel tcp --json` prints. `fallback`: the kernel's algorithm that takes
    /// over when this process is silent.
    pub fn json(&self, controller: &str, fallback: &str, ended: Ended) -> Value {
        let us = |span: Duration| span.as_secs_f64() * 1e6;
        let connections = self.connections.iter().map(ConnectionRecord::from);
        json!({
            "controller": controller,
            "fallback_controller": fallback,
            "connections": connections.collect::<Vec<_>>(),
            "connections_total": self.total,
            "fallbacks": self.fallbacks,
            "refused": self.refused,
            "not_chosen": self.not_chosen,
            "dropped_events": self.dropped_events,
            "clamped": self.clamped,
            "events": self.events,
            "answer_p50_us": us(self.answer_p50),
            "answer_p99_us": us(self.answer_p99),
            "cpu_s": self.cpu.as_secs_f64(),
            "realtime": self.real_time,
            "elapsed_s": ended.elapsed.as_secs_f64(),
            "unfinished": ended.unfinished,
            "exit_status": ended.status,
            "nacks": self.nacks,
        })
    }
}
