//! What `--json` and `whimbrel tcp status` say about connections, in base units.

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use whimbrel_cc::connection::Verdicts;
use whimbrel_linux::{Connection, End, NackReport, ReceiverClock, Report};
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
    pub congestion_as_congestion: u64,
    pub congestion_as_random: u64,
    pub random_as_congestion: u64,
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

/// Everything about one use of the command.
#[derive(Debug, Serialize)]
pub struct SummaryRecord<'a> {
    /// The algorithm.
    pub controller: String,
    /// The kernel's algorithm that takes over when this program is silent.
    pub fallback_controller: &'a str,
    /// The connections, in the order in which they began.
    pub connections: Vec<ConnectionRecord>,
    /// Their number, those included that are missing in the list because there were too many.
    pub connections_total: u64,
    /// Connections that went to the fallback algorithm.
    pub fallbacks: u64,
    /// Connections that went to it because too many were controlled already.
    pub refused: u64,
    /// Connections that were chosen, but for which the kernel refused the algorithm.
    pub not_chosen: u64,
    /// Events that found the kernel's buffer full.
    pub dropped_events: u64,
    /// Windows or rates that the kernel's half clamped.
    pub clamped: u64,
    /// Events that the kernel wrote.
    pub events: u64,
    /// Time from an event to its answer: median.
    pub answer_p50_us: f64,
    /// The same, 99th percentile.
    pub answer_p99_us: f64,
    /// CPU time of the thread that answers.
    pub cpu_s: f64,
    /// Whether it had real-time priority.
    pub realtime: bool,
    /// Time from the start to the end.
    pub elapsed_s: f64,
    /// Connections that still had unacknowledged data when this program stopped waiting.
    pub unfinished: usize,
    /// COMMAND's exit status, 128 + signal if one killed it; null without COMMAND.
    pub exit_status: Option<u8>,
    /// What became of NACKs on the network interfaces; null if they are not in use.
    pub nacks: Option<NacksRecord<'a>>,
}

/// What the programs on the network interfaces have counted, for all connections of the machine.
#[derive(Debug, Serialize)]
pub struct NacksRecord<'a> {
    /// The interfaces.
    pub devices: &'a [String],
    /// As a receiver of data.
    pub receiver: ReceiverRecord,
    /// As a sender of data.
    pub sender: SenderRecord,
}

/// Segments of TCP that arrived, by what became of them.
#[derive(Debug, Serialize)]
pub struct ReceiverRecord {
    /// With the right checksum.
    pub intact: u64,
    /// With a wrong one. All but `offloaded` and `unverified` are parts of it.
    pub corrupted: u64,
    /// Without a checksum to verify.
    pub offloaded: u64,
    /// That cannot be verified.
    pub unverified: u64,
    /// Without data, or that open or close a connection.
    pub no_data: u64,
    /// Of no connection of this host.
    pub unknown: u64,
    /// Whose headers do not agree with the connection.
    pub implausible: u64,
    /// That exceeded the allowance.
    pub limited: u64,
    /// That were answered with a NACK.
    pub nacked: u64,
}

/// NACKs that arrived, by what became of them.
#[derive(Debug, Serialize)]
pub struct SenderRecord {
    /// Passed on to the connection's rules.
    pub passed_on: u64,
    /// With a wrong checksum, or without the connection's timestamps.
    pub malformed: u64,
    /// That the kernel's state of the connection refutes.
    pub refuted: u64,
    /// That exceeded the allowance.
    pub limited: u64,
    /// That this program did not read in time.
    pub lost: u64,
    /// Of no connection of this host.
    pub transit: u64,
}

impl<'a> From<&'a NackReport> for NacksRecord<'a> {
    fn from(report: &'a NackReport) -> Self {
        let (r, s) = (&report.receiver, &report.sender);
        Self {
            devices: &report.devices,
            receiver: ReceiverRecord {
                intact: r.intact,
                corrupted: r.corrupted,
                offloaded: r.offloaded,
                unverified: r.unverified,
                no_data: r.no_data,
                unknown: r.unknown,
                implausible: r.implausible,
                limited: r.limited,
                nacked: r.nacked,
            },
            sender: SenderRecord {
                passed_on: s.passed_on,
                malformed: s.malformed,
                refuted: s.refuted,
                limited: s.limited,
                lost: s.lost,
                transit: s.transit,
            },
        }
    }
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

/// How one use of the command ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ended {
    /// COMMAND's exit status, if there was a COMMAND.
    pub status: Option<u8>,
    /// Time from the start to the end.
    pub elapsed: Duration,
    /// Connections that still had unacknowledged data.
    pub unfinished: usize,
}

impl<'a> SummaryRecord<'a> {
    /// Of a report.
    pub fn new(controller: String, fallback: &'a str, report: &'a Report, ended: Ended) -> Self {
        let us = |span: Duration| span.as_secs_f64() * 1e6;
        Self {
            controller,
            fallback_controller: fallback,
            connections: report.connections.iter().map(Into::into).collect(),
            connections_total: report.total,
            fallbacks: report.fallbacks,
            refused: report.refused,
            not_chosen: report.not_chosen,
            dropped_events: report.dropped_events,
            clamped: report.clamped,
            events: report.events,
            answer_p50_us: us(report.answer_p50),
            answer_p99_us: us(report.answer_p99),
            cpu_s: report.cpu.as_secs_f64(),
            realtime: report.real_time,
            elapsed_s: ended.elapsed.as_secs_f64(),
            unfinished: ended.unfinished,
            exit_status: ended.status,
            nacks: report.nacks.as_ref().map(NacksRecord::from),
        }
    }
}
