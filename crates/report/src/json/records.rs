//! The records of the JSON output and of the tables, field by field.
//!
//! Names are never changed; fields may be added.

use super::record::{Key, List, Recorded, Shown, record};
use serde_json::{Map, Value};
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{
    AatpOutcome, Confusion, DestinationOutcome, DestinationSample, FlowName, FlowOutcome,
    FlowSample, LinkName, LinkOutcome, LinkSample, LossCounts, LossEpisode, MessageOutcome,
    NackCounts, PathOutcome, StreamOutcome, Summary,
};
use whimbrel_units::Duration;

/// Counts that only some networks have are left out if they are zero.
fn is_zero(number: &u64) -> bool {
    *number == 0
}

record! {
    /// All flows of a run together.
    TotalJson of run: Run<'_> {
        goodput_bps: u64 = run.outcome.goodput().as_bits_per_sec(),
            "delivered to the applications, all flows, per second of the run";
        throughput_bps: u64 = run.outcome.throughput().as_bits_per_sec(),
            "sent, headers and retransmissions included, all flows, per second of the run";
        capacity_bps: Option<u64> = run.point.capacity().map(|rate| rate.as_bits_per_sec()),
            "capacity of the links without loss; null if it is unlimited";
        jain: f64 = run.outcome.jain(), "Jain's index of the flows' goodput";
        loss_ratio: f64 = run.outcome.loss_ratio(), "data packets dropped over data packets sent";
        delay_ms: SummaryJson = SummaryJson::from(&run.outcome.one_way_delay),
            "one-way delay of data packets";
    }
}

record! {
    FlowJson<'a> of flow: FlowOutcome {
        name: Shown<'a, FlowName> = Shown(&flow.name), "";
        controller: Option<Key<'a>> = flow.controller.as_deref().map(Key), "";
        priority: Option<u8> = flow.aatp.as_ref().map(|aatp| aatp.priority.get()),
            "AATP: the flow's priority";
        start_s: f64 = flow.start.as_secs_f64(), "start, in the run's time";
        active_s: f64 = flow.active.as_secs_f64(),
            "time from its start to its completion, its stop or the run's end";
        goodput_bps: u64 = flow.goodput.as_bits_per_sec(),
            "data delivered per second of the active time";
        throughput_bps: u64 = flow.throughput.as_bits_per_sec(),
            "sent, headers and retransmissions included, per second of the active time";
        delivered_bytes: u64 = flow.delivered.get(), "delivered in order to the applications";
        packets_sent: u64 = flow.packets_sent, "data packets sent, retransmissions included";
        retransmits: u64 = flow.retransmits, "data packets retransmitted";
        timeouts: u64 = flow.timeouts, "expiries of the retransmission timer";
        loss_episodes: u64 = flow.loss_episodes, "loss episodes";
        spurious: u64 = flow.spurious, "timeouts and loss episodes that proved to be mistakes";
        lost: LossJson = LossJson::from(&flow.lost), "";
        #[serde(skip_serializing_if = "is_zero")]
        marked: u64 = flow.marked, "data packets that arrived with an ECN mark; null: none";
        #[serde(skip_serializing_if = "is_zero")]
        mark_episodes: u64 = flow.mark_episodes,
            "notifications of the controller about marks; null: none";
        rtt_ms: SummaryJson = SummaryJson::from(&flow.rtt), "round-trip samples";
        one_way_delay_ms: SummaryJson = SummaryJson::from(&flow.one_way_delay),
            "one-way delay of its data packets";
        completion_s: Option<f64> = flow.completion.map(|span| span.as_secs_f64()),
            "time from its start until all data was delivered; null: endless or not reached";
        #[serde(skip_serializing_if = "Option::is_none")]
        path_changes: Option<u64> = flow.path_changes,
            "path changes that the controller detected; null: it does not look for them";
        discrimination: Option<ConfusionJson> =
            flow.discrimination.as_ref().map(ConfusionJson::from), "";
        #[serde(skip_serializing_if = "Option::is_none")]
        nacks: Option<NacksJson> = flow.nacks.as_ref().map(NacksJson::from), "";
        aatp: Option<AatpJson> = flow.aatp.as_ref().map(AatpJson::from), "AATP";
        #[serde(skip_serializing_if = "Option::is_none")]
        messages: Option<MessagesJson> = flow.messages.as_ref().map(MessagesJson::from), "";
        #[serde(skip_serializing_if = "List::is_empty")]
        streams: List<'a, StreamOutcome> = List(&flow.streams), "";
        #[serde(skip_serializing_if = "Option::is_none")]
        reinjected: Option<u64> = (!flow.paths.is_empty()).then_some(flow.reinjected),
            "segments that one path carried because they were stuck on another; null: one path";
        #[serde(skip_serializing_if = "List::is_empty")]
        paths: List<'a, PathOutcome> = List(&flow.paths), "";
        #[serde(skip_serializing_if = "List::is_empty")]
        samples: List<'a, FlowSample> = List(&flow.samples), "";
        #[serde(skip_serializing_if = "List::is_empty")]
        episodes: List<'a, LossEpisode> = List(&flow.episodes), "";
    }
}

impl FlowJson<'_> {
    /// The same without its lists, which tables do not need.
    pub fn without_lists(self) -> Self {
        Self {
            streams: List(&[]),
            paths: List(&[]),
            samples: List(&[]),
            episodes: List(&[]),
            ..self
        }
    }
}

record! {
    EpisodeJson of e: LossEpisode {
        at_s: f64 = e.at.as_secs_f64(), "when the sender detected the loss, in the run's time";
        ended_s: Option<f64> = e.ended.map(|at| at.as_secs_f64()),
            "when recovery ended; null: not before the end of the run";
        cwnd_bytes: u64 = e.cwnd.get(), "congestion window just before";
        in_flight_bytes: u64 = e.in_flight.get(), "bytes in flight just before";
        srtt_ms: f64 = e.srtt.as_millis_f64(), "smoothed round-trip time at that moment";
        reduced: bool = e.reduced, "the window was reduced";
        timeout: bool = e.timeout, "the retransmission timer expired";
    }
}

record! {
    MessagesJson of messages: MessageOutcome {
        arrived: u64 = messages.arrived,
            "messages passed to the sender by its application; null: it has none";
        delivered: u64 = messages.delivered, "messages delivered completely";
        held: u64 = messages.held, "messages that were complete before they could be delivered";
        latency_ms: SummaryJson = SummaryJson::from(&messages.latency),
            "time from a message's arrival at the sender to the delivery of its last byte";
        blocked_ms: SummaryJson = SummaryJson::from(&messages.blocked),
            "part of it during which the message was complete and held";
    }
}

record! {
    StreamJson of stream: StreamOutcome {
        delivered_bytes: u64 = stream.delivered.get(), "delivered to the application";
        messages: u64 = stream.messages, "messages delivered";
        latency_ms: f64 = stream.latency.as_millis_f64(), "their mean latency";
    }
}

record! {
    PathJson<'a> of path: PathOutcome {
        route: Key<'a> = Key(&path.route), "";
        goodput_bps: u64 = path.goodput.as_bits_per_sec(),
            "data that it delivered first, per second of the flow's active time";
        throughput_bps: u64 = path.throughput.as_bits_per_sec(),
            "sent, headers and retransmissions included, per second of the flow's active time";
        brought_bytes: u64 = path.brought.get(), "data that it delivered first";
        packets_sent: u64 = path.packets_sent, "data packets sent, retransmissions included";
        retransmits: u64 = path.retransmits, "data packets retransmitted";
        reinjected: u64 = path.reinjected, "data packets whose data was stuck on another path";
        timeouts: u64 = path.timeouts, "expiries of the retransmission timer";
        loss_episodes: u64 = path.loss_episodes, "loss episodes";
        marked: u64 = path.marked, "data packets that arrived with an ECN mark; null: none";
        mark_episodes: u64 = path.mark_episodes,
            "notifications of the controller about marks; null: none";
        spurious: u64 = path.spurious, "timeouts and loss episodes that proved to be mistakes";
        lost: LossJson = LossJson::from(&path.lost), "";
        rtt_ms: SummaryJson = SummaryJson::from(&path.rtt), "its round-trip samples";
        one_way_delay_ms: SummaryJson = SummaryJson::from(&path.one_way_delay),
            "one-way delay of its data packets";
        srtt_ms: f64 = path.srtt.as_millis_f64(), "smoothed round-trip time at the end of the run";
        cwnd_bytes: u64 = path.cwnd.get(), "congestion window at the end of the run";
        mean_cwnd_bytes: u64 = path.mean_cwnd.get(), "congestion window, mean over time";
        discrimination: Option<ConfusionJson> =
            path.discrimination.as_ref().map(ConfusionJson::from), "";
        #[serde(skip_serializing_if = "Option::is_none")]
        path_changes: Option<u64> = path.path_changes,
            "path changes that the controller detected; null: it does not look for them";
        #[serde(skip_serializing_if = "List::is_empty")]
        samples: List<'a, FlowSample> = List(&path.samples), "";
        #[serde(skip_serializing_if = "List::is_empty")]
        episodes: List<'a, LossEpisode> = List(&path.episodes), "";
    }
}

impl PathJson<'_> {
    /// The same without its lists, which tables do not need.
    pub fn without_lists(self) -> Self {
        Self {
            samples: List(&[]),
            episodes: List(&[]),
            ..self
        }
    }
}

record! {
    /// Negative acknowledgments, if the transport has them.
    NacksJson of counts: NackCounts {
        sent: u64 = counts.sent, "negative acknowledgments of receivers; null: not known";
        forged: u64 = counts.forged, "negative acknowledgments forged by others";
        accepted: u64 = counts.accepted, "negative acknowledgments that senders accepted";
        refused: u64 = counts.refused, "negative acknowledgments that senders refused";
        resent: u64 = counts.resent, "data packets retransmitted because of them";
        mistaken: u64 = counts.mistaken, "negative acknowledgments accepted by mistake";
    }
}

record! {
    AatpJson of aatp: AatpOutcome {
        bandwidth_bps: u64 = aatp.bandwidth.as_bits_per_sec(),
            "the bandwidth as measured last or as configured";
        set_up_s: Option<f64> = aatp.set_up.map(|span| span.as_secs_f64()),
            "time from the flow's start until its bandwidth was known";
        bursts: u64 = aatp.bursts, "bursts that were reported";
        states: Map<String, Value> = aatp
            .states
            .iter()
            .map(|(name, bursts)| ((*name).to_owned(), Value::from(*bursts)))
            .collect(),
            "bursts by the state of the controller, a JSON object";
        breaks: u64 = aatp.breaks, "times that the circuit breaker stopped the flow";
        receiver_rtt_ms: SummaryJson = SummaryJson::from(&aatp.receiver_rtt),
            "round trips as the receiver measured them";
    }
}

record! {
    DestinationJson<'a> of node: DestinationOutcome {
        name: Key<'a> = Key(&node.name), "";
        mean_fairness: f64 = node.mean_fairness, "weighted fairness of its flows, mean over time";
        #[serde(skip_serializing_if = "List::is_empty")]
        samples: List<'a, DestinationSample> = List(&node.samples), "";
    }
}

impl DestinationJson<'_> {
    /// The same without its list, which tables do not need.
    pub fn without_lists(self) -> Self {
        Self {
            samples: List(&[]),
            ..self
        }
    }
}

record! {
    DestinationSampleJson of s: DestinationSample {
        at_s: f64 = s.at.as_secs_f64(), "time of the sample, in the run's time";
        flows: u32 = s.flows, "flows that it served";
        fairness: f64 = s.fairness, "their weighted fairness";
    }
}

record! {
    SummaryJson of s: Summary {
        count: u64 = s.count, "count; if it is 0, so is the rest";
        min: f64 = s.min.as_millis_f64(), "minimum";
        mean: f64 = s.mean.as_millis_f64(), "mean";
        p50: f64 = s.p50.as_millis_f64(), "median";
        p95: f64 = s.p95.as_millis_f64(), "95th percentile";
        p99: f64 = s.p99.as_millis_f64(), "99th percentile";
        max: f64 = s.max.as_millis_f64(), "maximum";
        jitter: f64 = s.jitter.as_millis_f64(), "mean absolute difference of neighbours";
    }
}

record! {
    LossJson of lost: LossCounts {
        queue_overflow: u64 = lost.queue_overflow, "data packets lost to a full queue";
        #[serde(skip_serializing_if = "is_zero")]
        early: u64 = lost.early,
            "data packets dropped by the management of a queue that was not full; null: none";
        random: u64 = lost.random, "data packets lost at random on the channel";
        outage: u64 = lost.outage, "data packets lost to an outage";
        corrupted: u64 = lost.corrupted, "data packets lost to corruption";
        contention: u64 = lost.contention, "data packets lost to collisions on a shared medium";
    }
}

record! {
    ConfusionJson of c: Confusion {
        congestion_as_congestion: u64 = c.congestion_as_congestion,
            "losses to congestion classified as such; null: the controller does not classify losses";
        congestion_as_random: u64 = c.congestion_as_random,
            "losses to congestion classified as random";
        random_as_congestion: u64 = c.random_as_congestion,
            "random losses classified as congestion";
        random_as_random: u64 = c.random_as_random, "random losses classified as such";
        spurious: u64 = c.spurious, "decisions without a loss";
        brier: Option<f64> = c.brier(),
            "Brier score: mean over the losses of (p - truth)^2, where p is the confidence that the \
             loss is congestion, or 1 or 0 without a confidence, and truth is 1 for congestion; \
             null: there were no losses";
        accuracy: Option<f64> = c.accuracy(),
            "fraction of correct decisions on losses; null: there were no losses";
        balanced_accuracy: Option<f64> = c.balanced_accuracy(),
            "mean of the fractions of random losses and of losses to congestion that were classified \
             correctly; null: one of them did not occur";
    }
}

record! {
    FlowSampleJson of s: FlowSample {
        at_s: f64 = s.at.as_secs_f64(), "time of the sample, in the run's time";
        cwnd_bytes: u64 = s.cwnd.get(), "congestion window";
        ssthresh_bytes: Option<u64> = s.ssthresh.map(|bytes| bytes.get()),
            "slow start threshold; null: not set";
        in_flight_bytes: u64 = s.in_flight.get(), "bytes in flight";
        srtt_ms: f64 = s.srtt.as_millis_f64(),
            "smoothed round-trip time; 0 before the first round-trip sample";
        rttvar_ms: f64 = s.rttvar.as_millis_f64(), "smoothed mean deviation of the round-trip time";
        rate_bps: u64 = s.rate.as_bits_per_sec(), "delivered since the last sample, per second";
        delivered_bytes: u64 = s.delivered.get(),
            "delivered to the applications since the flow's start";
        retransmits: u64 = s.retransmits, "data packets retransmitted since the flow's start";
        sent_bytes: u64 = s.sent.get(),
            "sent since the flow's start, headers and retransmissions included";
        ack_spacing_ms: Option<f64> = s.ack_spacing.map(Duration::as_millis_f64),
            "time between the last two acknowledgments";
        #[serde(skip_serializing_if = "Option::is_none")]
        path_changes: Option<u64> = s.path_changes,
            "path changes that the controller detected; null: it does not look for them";
        pacing_rate_bps: Option<u64> = s.pacing_rate.map(|rate| rate.as_bits_per_sec()),
            "the controller's pacing rate; null: it sets none";
        phase: &'static str = s.phase, "phase of the controller";
    }
}

record! {
    LinkJson<'a> of link: LinkOutcome {
        name: Shown<'a, LinkName> = Shown(&link.name), "";
        utilisation: f64 = link.utilisation, "fraction of the run in which it served packets";
        mean_queue_packets: f64 = link.mean_queue, "packets waiting, mean over the run";
        most_waiting_packets: u32 = link.counters.most_waiting,
            "maximum number of packets waiting";
        mean_wait_ms: f64 = link.mean_wait.as_millis_f64(), "wait before service, mean over packets";
        longest_wait_ms: f64 = link.counters.longest_wait.as_millis_f64(),
            "maximum wait before service";
        offered: u64 = link.counters.offered, "packets that arrived at it";
        delivered: u64 = link.counters.delivered, "packets that it delivered";
        lost: LossJson = LossJson::from(&losses(link)), "";
        #[serde(skip_serializing_if = "is_zero")]
        marked: u64 = link.counters.marked, "delivered packets that its queue marked; null: none";
        #[serde(skip_serializing_if = "List::is_empty")]
        samples: List<'a, LinkSample> = List(&link.samples), "";
    }
}

impl LinkJson<'_> {
    /// The same without its list, which tables do not need.
    pub fn without_lists(self) -> Self {
        Self {
            samples: List(&[]),
            ..self
        }
    }
}

fn losses(link: &LinkOutcome) -> LossCounts {
    let c = &link.counters;
    LossCounts {
        queue_overflow: c.queue_overflow,
        early: c.early,
        random: c.random,
        outage: c.outage,
        corrupted: c.corrupted,
        contention: c.contention,
    }
}

record! {
    LinkSampleJson of s: LinkSample {
        at_s: f64 = s.at.as_secs_f64(), "time of the sample, in the run's time";
        queue_packets: u32 = s.queue, "packets waiting";
        queue_bytes: u64 = s.queue_bytes.get(), "their size";
        rate_bps: u64 = s.rate.as_bits_per_sec(), "sent since the last sample, per second";
    }
}

macro_rules! recorded {
    ($($type:ty => $record:ty;)*) => {
        $(impl Recorded for $type {
            type Record<'a> = $record;
        })*
    };
}

recorded! {
    FlowOutcome => FlowJson<'a>;
    PathOutcome => PathJson<'a>;
    StreamOutcome => StreamJson;
    FlowSample => FlowSampleJson;
    LossEpisode => EpisodeJson;
    LinkOutcome => LinkJson<'a>;
    LinkSample => LinkSampleJson;
    DestinationOutcome => DestinationJson<'a>;
    DestinationSample => DestinationSampleJson;
}
