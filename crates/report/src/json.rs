//! Results for programs: one object whose `runs` lists every run with every flow, in base units.
//!
//! Fields are never renamed; new ones may come.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use whimbrel_sim::scenario::{Parameter, ParameterValue, Point};
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{
    AatpOutcome, Confusion, DestinationOutcome, DestinationSample, FlowOutcome, FlowSample,
    LinkOutcome, LinkSample, LossCounts, LossEpisode, MessageOutcome, NackCounts, PathOutcome,
    StreamOutcome, Summary,
};
use whimbrel_units::Duration;

#[derive(Serialize)]
struct RunJson<'a> {
    parameters: Map<String, Value>,
    seed: u64,
    duration_s: f64,
    wall_s: f64,
    events: u64,
    delivered_packets: u64,
    total: TotalJson,
    flows: Vec<FlowJson<'a>>,
    /// Shared links; the flows' own copies are left out.
    links: Vec<LinkJson<'a>>,
    /// Nodes that receive AATP flows; those at the end of own copies, which receive one each, are left out.
    destinations: Vec<DestinationJson<'a>>,
}

#[derive(Serialize)]
pub(crate) struct TotalJson {
    goodput_bps: u64,
    throughput_bps: u64,
    capacity_bps: Option<u64>,
    jain: f64,
    loss_ratio: f64,
    delay_ms: SummaryJson,
}

#[derive(Serialize)]
pub(crate) struct FlowJson<'a> {
    name: &'a str,
    controller: Option<&'a str>,
    /// Of an AATP flow.
    priority: Option<u8>,
    start_s: f64,
    active_s: f64,
    goodput_bps: u64,
    throughput_bps: u64,
    delivered_bytes: u64,
    packets_sent: u64,
    retransmits: u64,
    timeouts: u64,
    loss_episodes: u64,
    spurious: u64,
    lost: LossJson,
    /// Data packets that arrived marked, and how often the controller was told of marks.
    #[serde(skip_serializing_if = "is_zero")]
    marked: u64,
    #[serde(skip_serializing_if = "is_zero")]
    mark_episodes: u64,
    rtt_ms: SummaryJson,
    one_way_delay_ms: SummaryJson,
    completion_s: Option<f64>,
    /// How often the law found that the path itself had changed, if it looks.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_changes: Option<u64>,
    discrimination: Option<ConfusionJson>,
    /// Negative acknowledgments, if the transport knows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    nacks: Option<NacksJson>,
    aatp: Option<AatpJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<MessagesJson>,
    /// If it has several, or messages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    streams: Vec<StreamJson>,
    /// Segments that a path carried because they were stuck on another.
    #[serde(skip_serializing_if = "Option::is_none")]
    reinjected: Option<u64>,
    /// Of a multipath connection.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<PathJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    samples: Vec<FlowSampleJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    episodes: Vec<EpisodeJson>,
}

/// An episode of loss; bytes and RTT just before.
#[derive(Serialize)]
pub(crate) struct EpisodeJson {
    at_s: f64,
    ended_s: Option<f64>,
    cwnd_bytes: u64,
    in_flight_bytes: u64,
    srtt_ms: f64,
    reduced: bool,
    timeout: bool,
}

#[derive(Serialize)]
struct MessagesJson {
    arrived: u64,
    delivered: u64,
    /// Those that were whole before they could be delivered.
    held: u64,
    /// From the arrival at the sender to the delivery of the last byte.
    latency_ms: SummaryJson,
    /// For how much of it they were whole and held.
    blocked_ms: SummaryJson,
}

#[derive(Serialize)]
pub(crate) struct StreamJson {
    delivered_bytes: u64,
    messages: u64,
    /// In the mean.
    latency_ms: f64,
}

#[derive(Serialize)]
pub(crate) struct PathJson<'a> {
    route: &'a str,
    goodput_bps: u64,
    throughput_bps: u64,
    /// Data that came on this path first.
    brought_bytes: u64,
    packets_sent: u64,
    retransmits: u64,
    reinjected: u64,
    timeouts: u64,
    loss_episodes: u64,
    marked: u64,
    mark_episodes: u64,
    spurious: u64,
    lost: LossJson,
    rtt_ms: SummaryJson,
    one_way_delay_ms: SummaryJson,
    /// When the run ended.
    srtt_ms: f64,
    /// When the run ended.
    cwnd_bytes: u64,
    mean_cwnd_bytes: u64,
    discrimination: Option<ConfusionJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_changes: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    samples: Vec<FlowSampleJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    episodes: Vec<EpisodeJson>,
}

#[derive(Serialize)]
struct NacksJson {
    /// By receivers, and in a receiver's name by somebody else.
    sent: u64,
    forged: u64,
    /// By senders.
    accepted: u64,
    refused: u64,
    /// Data packets sent again for them.
    resent: u64,
    /// Believed, and then proved false.
    mistaken: u64,
}

impl From<&NackCounts> for NacksJson {
    fn from(counts: &NackCounts) -> Self {
        let NackCounts {
            sent,
            forged,
            accepted,
            refused,
            resent,
            mistaken,
        } = *counts;
        Self {
            sent,
            forged,
            accepted,
            refused,
            resent,
            mistaken,
        }
    }
}

#[derive(Serialize)]
struct AatpJson {
    bandwidth_bps: u64,
    set_up_s: Option<f64>,
    bursts: u64,
    /// Bursts by the state of the law.
    states: Map<String, Value>,
    breaks: u64,
    receiver_rtt_ms: SummaryJson,
}

#[derive(Serialize)]
pub(crate) struct DestinationJson<'a> {
    name: &'a str,
    mean_fairness: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    samples: Vec<DestinationSampleJson>,
}

#[derive(Serialize)]
pub(crate) struct DestinationSampleJson {
    at_s: f64,
    flows: u32,
    fairness: f64,
}

#[derive(Serialize)]
struct SummaryJson {
    /// Samples; where there are none, all below are zero.
    count: u64,
    min: f64,
    mean: f64,
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
    jitter: f64,
}

#[derive(Serialize)]
struct LossJson {
    queue_overflow: u64,
    /// Dropped by a queue before it was full.
    #[serde(skip_serializing_if = "is_zero")]
    early: u64,
    random: u64,
    outage: u64,
    corrupted: u64,
    contention: u64,
}

#[derive(Serialize)]
struct ConfusionJson {
    congestion_as_congestion: u64,
    congestion_as_random: u64,
    random_as_congestion: u64,
    random_as_random: u64,
    spurious: u64,
    accuracy: Option<f64>,
    balanced_accuracy: Option<f64>,
}

#[derive(Serialize)]
pub(crate) struct FlowSampleJson {
    at_s: f64,
    cwnd_bytes: u64,
    ssthresh_bytes: Option<u64>,
    in_flight_bytes: u64,
    srtt_ms: f64,
    /// Smoothed mean deviation of the RTT.
    rttvar_ms: f64,
    rate_bps: u64,
    /// Delivered to the applications since the flow's start.
    delivered_bytes: u64,
    /// Data packets sent again since the flow's start.
    retransmits: u64,
    /// Put on the wire since the flow's start.
    sent_bytes: u64,
    /// Between the newest two acknowledgments.
    ack_spacing_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_changes: Option<u64>,
    /// The controller's own rate, if it sets one.
    pacing_rate_bps: Option<u64>,
    phase: &'static str,
}

#[derive(Serialize)]
pub(crate) struct LinkJson<'a> {
    name: &'a str,
    utilisation: f64,
    mean_queue_packets: f64,
    most_waiting_packets: u32,
    mean_wait_ms: f64,
    longest_wait_ms: f64,
    offered: u64,
    delivered: u64,
    lost: LossJson,
    /// Delivered packets that its queue marked.
    #[serde(skip_serializing_if = "is_zero")]
    marked: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    samples: Vec<LinkSampleJson>,
}

/// Numbers that only managed queues have are left out where there are none.
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[derive(Serialize)]
pub(crate) struct LinkSampleJson {
    at_s: f64,
    queue_packets: u32,
    queue_bytes: u64,
    rate_bps: u64,
}

/// `{"runs": [...]}` of all runs, in their order.
///
/// # Errors
/// If the writer fails.
pub fn json(runs: &[Run<'_>], to: impl std::io::Write) -> std::io::Result<()> {
    #[derive(Serialize)]
    struct All<'a> {
        runs: Vec<RunJson<'a>>,
    }
    let all = All {
        runs: runs.iter().map(RunJson::from).collect(),
    };
    serde_json::to_writer_pretty(to, &all).map_err(std::io::Error::from)
}

/// Tells decisions on losses as [`json()`] does.
///
/// # Errors
/// If the serializer fails.
pub fn confusion<S: Serializer>(decisions: &Confusion, to: S) -> Result<S::Ok, S::Error> {
    ConfusionJson::from(decisions).serialize(to)
}

/// Tells a sweep's values as [`json()`] does: an object with its keys.
///
/// # Errors
/// If the serializer fails.
pub fn parameters<S: Serializer>(parameters: &[Parameter], to: S) -> Result<S::Ok, S::Error> {
    values(parameters).serialize(to)
}

fn values(parameters: &[Parameter]) -> Map<String, Value> {
    let value = |value: &ParameterValue| match value {
        ParameterValue::Text(text) => Value::from(text.as_str()),
        ParameterValue::Integer(n) => Value::from(*n),
        ParameterValue::Float(n) => Value::from(*n),
        ParameterValue::Switch(on) => Value::from(*on),
    };
    let all = parameters.iter();
    all.map(|p| (p.key.clone(), value(&p.value))).collect()
}

/// The sweep's values and, as `controller`, what the TCP and AATP flows run, joined by ", " if they differ, null
/// if there is none.
fn of_point(point: &Point) -> Map<String, Value> {
    let mut map = values(point.parameters());
    let controllers = point.controllers();
    let controller = (!controllers.is_empty()).then(|| controllers.join(", "));
    map.insert("controller".to_owned(), Value::from(controller));
    map
}

impl<'a> From<&'a Run<'_>> for RunJson<'a> {
    fn from(run: &'a Run<'_>) -> Self {
        let outcome = &run.outcome;
        Self {
            parameters: of_point(run.point),
            seed: run.seed,
            duration_s: outcome.duration.as_secs_f64(),
            wall_s: run.wall.as_secs_f64(),
            events: outcome.events,
            delivered_packets: outcome.delivered_packets,
            total: TotalJson::from(run),
            flows: outcome.flows.iter().map(FlowJson::from).collect(),
            links: outcome
                .links
                .iter()
                .filter(|link| is_shared(&link.name))
                .map(LinkJson::from)
                .collect(),
            destinations: outcome
                .destinations
                .iter()
                .filter(|node| is_shared(&node.name))
                .map(DestinationJson::from)
                .collect(),
        }
    }
}

/// Not a flow's own copy.
pub(crate) fn is_shared(name: &str) -> bool {
    !name.contains("*[")
}

impl From<&Run<'_>> for TotalJson {
    fn from(run: &Run<'_>) -> Self {
        let outcome = &run.outcome;
        Self {
            goodput_bps: outcome.goodput().as_bits_per_sec(),
            throughput_bps: outcome.throughput().as_bits_per_sec(),
            capacity_bps: run.point.capacity().map(|rate| rate.as_bits_per_sec()),
            jain: outcome.jain(),
            loss_ratio: outcome.loss_ratio(),
            delay_ms: SummaryJson::from(&outcome.one_way_delay),
        }
    }
}

impl<'a> From<&'a FlowOutcome> for FlowJson<'a> {
    fn from(flow: &'a FlowOutcome) -> Self {
        Self {
            streams: flow.streams.iter().map(StreamJson::from).collect(),
            paths: flow.paths.iter().map(PathJson::from).collect(),
            samples: flow.samples.iter().map(FlowSampleJson::from).collect(),
            episodes: flow.episodes.iter().map(EpisodeJson::from).collect(),
            ..Self::measures(flow)
        }
    }
}

impl<'a> FlowJson<'a> {
    /// Without the lists.
    pub(crate) fn measures(flow: &'a FlowOutcome) -> Self {
        Self {
            name: &flow.name,
            controller: flow.controller.as_deref(),
            priority: flow.aatp.as_ref().map(|aatp| aatp.priority.get()),
            start_s: flow.start.as_secs_f64(),
            active_s: flow.active.as_secs_f64(),
            goodput_bps: flow.goodput.as_bits_per_sec(),
            throughput_bps: flow.throughput.as_bits_per_sec(),
            delivered_bytes: flow.delivered.get(),
            packets_sent: flow.packets_sent,
            retransmits: flow.retransmits,
            timeouts: flow.timeouts,
            loss_episodes: flow.loss_episodes,
            spurious: flow.spurious,
            lost: LossJson::from(&flow.lost),
            marked: flow.marked,
            mark_episodes: flow.mark_episodes,
            rtt_ms: SummaryJson::from(&flow.rtt),
            one_way_delay_ms: SummaryJson::from(&flow.one_way_delay),
            completion_s: flow.completion.map(|span| span.as_secs_f64()),
            path_changes: flow.path_changes,
            discrimination: flow.discrimination.as_ref().map(ConfusionJson::from),
            nacks: flow.nacks.as_ref().map(NacksJson::from),
            aatp: flow.aatp.as_ref().map(AatpJson::from),
            messages: flow.messages.as_ref().map(MessagesJson::from),
            streams: Vec::new(),
            reinjected: (!flow.paths.is_empty()).then_some(flow.reinjected),
            paths: Vec::new(),
            samples: Vec::new(),
            episodes: Vec::new(),
        }
    }
}

impl From<&MessageOutcome> for MessagesJson {
    fn from(messages: &MessageOutcome) -> Self {
        Self {
            arrived: messages.arrived,
            delivered: messages.delivered,
            held: messages.held,
            latency_ms: SummaryJson::from(&messages.latency),
            blocked_ms: SummaryJson::from(&messages.blocked),
        }
    }
}

impl From<&StreamOutcome> for StreamJson {
    fn from(stream: &StreamOutcome) -> Self {
        Self {
            delivered_bytes: stream.delivered.get(),
            messages: stream.messages,
            latency_ms: stream.latency.as_millis_f64(),
        }
    }
}

impl<'a> From<&'a PathOutcome> for PathJson<'a> {
    fn from(path: &'a PathOutcome) -> Self {
        Self {
            samples: path.samples.iter().map(FlowSampleJson::from).collect(),
            episodes: path.episodes.iter().map(EpisodeJson::from).collect(),
            ..Self::measures(path)
        }
    }
}

impl<'a> PathJson<'a> {
    /// Without the lists.
    pub(crate) fn measures(path: &'a PathOutcome) -> Self {
        Self {
            route: &path.route,
            goodput_bps: path.goodput.as_bits_per_sec(),
            throughput_bps: path.throughput.as_bits_per_sec(),
            brought_bytes: path.brought.get(),
            packets_sent: path.packets_sent,
            retransmits: path.retransmits,
            reinjected: path.reinjected,
            timeouts: path.timeouts,
            loss_episodes: path.loss_episodes,
            marked: path.marked,
            mark_episodes: path.mark_episodes,
            spurious: path.spurious,
            lost: LossJson::from(&path.lost),
            rtt_ms: SummaryJson::from(&path.rtt),
            one_way_delay_ms: SummaryJson::from(&path.one_way_delay),
            srtt_ms: path.srtt.as_millis_f64(),
            cwnd_bytes: path.cwnd.get(),
            mean_cwnd_bytes: path.mean_cwnd.get(),
            discrimination: path.discrimination.as_ref().map(ConfusionJson::from),
            path_changes: path.path_changes,
            samples: Vec::new(),
            episodes: Vec::new(),
        }
    }
}

impl From<&AatpOutcome> for AatpJson {
    fn from(aatp: &AatpOutcome) -> Self {
        let state = |(name, bursts): &(&str, u64)| ((*name).to_owned(), Value::from(*bursts));
        Self {
            bandwidth_bps: aatp.bandwidth.as_bits_per_sec(),
            set_up_s: aatp.set_up.map(|span| span.as_secs_f64()),
            bursts: aatp.bursts,
            states: aatp.states.iter().map(state).collect(),
            breaks: aatp.breaks,
            receiver_rtt_ms: SummaryJson::from(&aatp.receiver_rtt),
        }
    }
}

impl<'a> From<&'a DestinationOutcome> for DestinationJson<'a> {
    fn from(node: &'a DestinationOutcome) -> Self {
        let samples = node.samples.iter();
        Self {
            samples: samples.map(DestinationSampleJson::from).collect(),
            ..Self::measures(node)
        }
    }
}

impl<'a> DestinationJson<'a> {
    /// Without the list.
    pub(crate) fn measures(node: &'a DestinationOutcome) -> Self {
        Self {
            name: &node.name,
            mean_fairness: node.mean_fairness,
            samples: Vec::new(),
        }
    }
}

impl From<&DestinationSample> for DestinationSampleJson {
    fn from(s: &DestinationSample) -> Self {
        Self {
            at_s: s.at.as_secs_f64(),
            flows: s.flows,
            fairness: s.fairness,
        }
    }
}

impl From<&Summary> for SummaryJson {
    fn from(s: &Summary) -> Self {
        Self {
            count: s.count,
            min: s.min.as_millis_f64(),
            mean: s.mean.as_millis_f64(),
            p50: s.p50.as_millis_f64(),
            p95: s.p95.as_millis_f64(),
            p99: s.p99.as_millis_f64(),
            max: s.max.as_millis_f64(),
            jitter: s.jitter.as_millis_f64(),
        }
    }
}

impl From<&LossCounts> for LossJson {
    fn from(lost: &LossCounts) -> Self {
        let LossCounts {
            queue_overflow,
            early,
            random,
            outage,
            corrupted,
            contention,
        } = *lost;
        Self {
            queue_overflow,
            early,
            random,
            outage,
            corrupted,
            contention,
        }
    }
}

impl From<&Confusion> for ConfusionJson {
    fn from(c: &Confusion) -> Self {
        Self {
            congestion_as_congestion: c.congestion_as_congestion,
            congestion_as_random: c.congestion_as_random,
            random_as_congestion: c.random_as_congestion,
            random_as_random: c.random_as_random,
            spurious: c.spurious,
            accuracy: c.accuracy(),
            balanced_accuracy: c.balanced_accuracy(),
        }
    }
}

impl From<&FlowSample> for FlowSampleJson {
    fn from(s: &FlowSample) -> Self {
        Self {
            at_s: s.at.as_secs_f64(),
            cwnd_bytes: s.cwnd.get(),
            ssthresh_bytes: s.ssthresh.map(|bytes| bytes.get()),
            in_flight_bytes: s.in_flight.get(),
            srtt_ms: s.srtt.as_millis_f64(),
            rttvar_ms: s.rttvar.as_millis_f64(),
            rate_bps: s.rate.as_bits_per_sec(),
            delivered_bytes: s.delivered.get(),
            retransmits: s.retransmits,
            sent_bytes: s.sent.get(),
            ack_spacing_ms: s.ack_spacing.map(Duration::as_millis_f64),
            path_changes: s.path_changes,
            pacing_rate_bps: s.pacing_rate.map(|rate| rate.as_bits_per_sec()),
            phase: s.phase,
        }
    }
}

impl From<&LossEpisode> for EpisodeJson {
    fn from(e: &LossEpisode) -> Self {
        Self {
            at_s: e.at.as_secs_f64(),
            ended_s: e.ended.map(|at| at.as_secs_f64()),
            cwnd_bytes: e.cwnd.get(),
            in_flight_bytes: e.in_flight.get(),
            srtt_ms: e.srtt.as_millis_f64(),
            reduced: e.reduced,
            timeout: e.timeout,
        }
    }
}

impl<'a> From<&'a LinkOutcome> for LinkJson<'a> {
    fn from(link: &'a LinkOutcome) -> Self {
        Self {
            samples: link.samples.iter().map(LinkSampleJson::from).collect(),
            ..Self::measures(link)
        }
    }
}

impl<'a> LinkJson<'a> {
    /// Without the list.
    pub(crate) fn measures(link: &'a LinkOutcome) -> Self {
        let c = &link.counters;
        Self {
            name: &link.name,
            utilisation: link.utilisation,
            mean_queue_packets: link.mean_queue,
            most_waiting_packets: link.counters.most_waiting,
            mean_wait_ms: link.mean_wait.as_millis_f64(),
            longest_wait_ms: link.counters.longest_wait.as_millis_f64(),
            offered: c.offered,
            delivered: c.delivered,
            lost: LossJson {
                queue_overflow: c.queue_overflow,
                early: c.early,
                random: c.random,
                outage: c.outage,
                corrupted: c.corrupted,
                contention: c.contention,
            },
            marked: c.marked,
            samples: Vec::new(),
        }
    }
}

impl From<&LinkSample> for LinkSampleJson {
    fn from(s: &LinkSample) -> Self {
        Self {
            at_s: s.at.as_secs_f64(),
            queue_packets: s.queue,
            queue_bytes: s.queue_bytes.get(),
            rate_bps: s.rate.as_bits_per_sec(),
        }
    }
}
