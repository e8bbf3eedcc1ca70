//! The outcome of a run: what was measured.

use crate::network::{FlowName, LinkName};
use whimbrel_cc::Verdict;
use whimbrel_cc::fairness::{Priority, jain};
use whimbrel_net::DropCause;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Length of the run in simulated time: the set duration, or less if all flows ended before.
    pub duration: Duration,
    /// The flows, in the order of the network.
    pub flows: Vec<FlowOutcome>,
    /// The directed links, in the order of the network.
    pub links: Vec<LinkOutcome>,
    /// The destination nodes, in the order of the network.
    pub destinations: Vec<DestinationOutcome>,
    /// Events that the engine played.
    pub events: u64,
    /// Data packets delivered to the receiving applications, each counted once.
    pub delivered_packets: u64,
    /// One-way delay of all data packets of all flows.
    pub one_way_delay: Summary,
}

impl Outcome {
    /// Data delivered to the applications per second of the run.
    pub fn goodput(&self) -> Rate {
        Rate::over(self.flows.iter().map(|f| f.delivered).sum(), self.duration)
    }

    /// Data packets that all senders put on the wire, headers and retransmissions included, per
    /// second of the run.
    pub fn throughput(&self) -> Rate {
        Rate::over(
            self.flows.iter().map(|f| f.sent_on_wire).sum(),
            self.duration,
        )
    }

    /// Jain's fairness index of the goodputs of the flows that have a controller: 1 for equal
    /// shares, 1/n if one flow takes all, 1 if nothing was delivered. Datagram sources count only
    /// if there are no other flows.
    pub fn jain(&self) -> f64 {
        let any_controlled = self.flows.iter().any(|f| f.controller.is_some());
        let flows = self
            .flows
            .iter()
            .filter(|f| f.controller.is_some() || !any_controlled);
        jain(flows.map(|f| f.goodput.as_bits_per_sec() as f64))
    }

    /// Data packets dropped on any link, divided by data packets sent.
    pub fn loss_ratio(&self) -> f64 {
        let sent: u64 = self.flows.iter().map(|f| f.packets_sent).sum();
        let lost: u64 = self.flows.iter().map(|f| f.lost.total()).sum();
        if sent == 0 {
            0.0
        } else {
            lost as f64 / sent as f64
        }
    }
}

/// The outcome of a flow. The default is that of a flow that did nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FlowOutcome {
    /// Its name in the network.
    pub name: FlowName,
    /// Its congestion control as chosen. `None` for datagrams.
    pub controller: Option<String>,
    /// When it started.
    pub start: Time,
    /// How long it was active: from its start to its completion, its stop, or the end of the run.
    pub active: Duration,
    /// Data delivered in order to the applications, at both ends of a two-way flow.
    pub delivered: Bytes,
    /// `delivered` over `active`.
    pub goodput: Rate,
    /// Data packets that its senders put on the wire, headers and retransmissions included.
    pub sent_on_wire: Bytes,
    /// `sent_on_wire` over `active`.
    pub throughput: Rate,
    /// Data packets sent, retransmissions included.
    pub packets_sent: u64,
    /// Data packets retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Loss episodes that its senders entered.
    pub loss_episodes: u64,
    /// Timeouts and episodes that proved spurious (RFC 3522).
    pub spurious: u64,
    /// Its data packets that were lost, by cause.
    pub lost: LossCounts,
    /// Its data packets that arrived marked: a queue marked them instead of dropping them (RFC
    /// 3168).
    pub marked: u64,
    /// Times that a controller was notified of marks: at most once in a round trip.
    pub mark_episodes: u64,
    /// RTT samples.
    pub rtt: Summary,
    /// One-way delays of its data packets.
    pub one_way_delay: Summary,
    /// From its start until all its data was delivered. `None` if it is endless, or the run ended
    /// before.
    pub completion: Option<Duration>,
    /// How often its controllers detected a change of the path. `None` if they do not try to.
    pub path_changes: Option<u64>,
    /// Decisions of its loss classifier against the truth, if it has one.
    pub discrimination: Option<Confusion>,
    /// Its negative acknowledgments, if its ends use them or any were forged.
    pub nacks: Option<NackCounts>,
    /// Further measurements of an AATP connection.
    pub aatp: Option<AatpOutcome>,
    /// What the protocol stack that carried it reported, if it was not the simulator's own.
    pub hosted: Option<HostOutcome>,
    /// Its messages, if it has any.
    pub messages: Option<MessageOutcome>,
    /// Its streams, if it has several streams or messages; otherwise empty.
    pub streams: Vec<StreamOutcome>,
    /// Segments that a path of a multipath connection carried because they were stuck on another
    /// path.
    pub reinjected: u64,
    /// The paths of a multipath connection, in the order of its routes; empty for other flows. The
    /// fields above are totals over all paths.
    pub paths: Vec<PathOutcome>,
    /// Distributions of its delays, if the run was sampled.
    pub distributions: Option<Distributions>,
    /// Its state over time, if the run was sampled.
    pub samples: Vec<FlowSample>,
    /// Loss episodes of the near end in order of time, if the run was sampled. Only of TCP flows;
    /// those of a flow with several paths are in `paths`.
    pub episodes: Vec<LossEpisode>,
}

/// The messages of a flow. Messages that were not delivered when the run ended are `arrived` minus
/// `delivered`, and in no distribution.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MessageOutcome {
    /// Messages that the sending application submitted.
    pub arrived: u64,
    /// Messages that were delivered to the receiving application.
    pub delivered: u64,
    /// Delivered messages that were complete at the receiver before they could be delivered,
    /// because something before them in their stream was missing.
    pub held: u64,
    /// From the arrival of a message at the sender until its last byte was delivered in the order
    /// of its stream.
    pub latency: Summary,
    /// The part of the latency for which the message was complete at the receiver and waited for
    /// data before it in its stream: head-of-line blocking. Zero for messages that did not wait.
    pub blocked: Summary,
}

/// One stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamOutcome {
    /// Data delivered to the application, in the order of the stream.
    pub delivered: Bytes,
    /// Messages delivered.
    pub messages: u64,
    /// Their mean latency; zero if there were none.
    pub latency: Duration,
}

/// One path of a multipath connection: its subflow.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PathOutcome {
    /// The links of its route: `home > wifi`, `access*[3] > wifi`.
    pub route: String,
    /// Its route as the scenario writes it, the same for all flows: `access* > wifi`.
    pub written_route: String,
    /// Data that arrived on it before it arrived on any other path, in order or not. The sum over
    /// all paths is the data that arrived.
    pub brought: Bytes,
    /// `brought` over the time for which the flow was active.
    pub goodput: Rate,
    /// Data packets that its sender put on the wire, over the same time.
    pub throughput: Rate,
    /// Data packets sent on it, retransmissions included.
    pub packets_sent: u64,
    /// Data packets that it retransmitted itself.
    pub retransmits: u64,
    /// Data packets whose data was stuck on another path.
    pub reinjected: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Loss episodes that it entered.
    pub loss_episodes: u64,
    /// Its data packets that arrived marked.
    pub marked: u64,
    /// Times that its controller was notified of marks.
    pub mark_episodes: u64,
    /// Timeouts and episodes that proved spurious.
    pub spurious: u64,
    /// Its data packets that were lost, by cause.
    pub lost: LossCounts,
    /// Its RTT samples.
    pub rtt: Summary,
    /// One-way delays of its data packets.
    pub one_way_delay: Summary,
    /// Smoothed RTT at the end of the run; zero if none was measured.
    pub srtt: Duration,
    /// Congestion window at the end of the run.
    pub cwnd: Bytes,
    /// Congestion window, mean over the time since its handshake; zero if the handshake did not
    /// complete.
    pub mean_cwnd: Bytes,
    /// Decisions of its loss classifier against the truth, if it has one.
    pub discrimination: Option<Confusion>,
    /// How often its controller detected a change of the path. `None` if it does not try to.
    pub path_changes: Option<u64>,
    /// Its state over time, if the run was sampled.
    pub samples: Vec<FlowSample>,
    /// Its loss episodes, if the run was sampled.
    pub episodes: Vec<LossEpisode>,
}

/// A loss episode: from when a sender found a loss until it was repaired. There is one for each
/// time that the controller was notified of a loss or a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossEpisode {
    /// When the sender found the loss: at the third duplicate ACK, by RACK or RFC 6675, or by
    /// timeout.
    pub at: Time,
    /// The congestion window just before.
    pub cwnd: Bytes,
    /// Bytes in flight just before.
    pub in_flight: Bytes,
    /// The smoothed RTT then; zero before the first sample.
    pub srtt: Duration,
    /// The window was reduced.
    pub reduced: bool,
    /// The retransmission timer fired.
    pub timeout: bool,
    /// When all data was acknowledged that had been sent when the loss was found, or when the loss
    /// proved spurious. An episode that is followed by another before it is over ends with that
    /// one. `None`: not before the end of the run.
    pub ended: Option<Time>,
}

/// Further measurements of a connection of a protocol stack from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostOutcome {
    /// From its start until the near end was connected. `None`: it never was.
    pub handshake: Option<Duration>,
    /// Packets that the sender took for lost; `None` if its stack does not report them.
    pub lost: Option<u64>,
    /// Those of them that no link had lost: at least so many were taken for lost by mistake.
    pub needless: Option<u64>,
    /// The connection ended before its time.
    pub failed: bool,
}

/// Further measurements of an AATP connection.
#[derive(Debug, Clone, PartialEq)]
pub struct AatpOutcome {
    /// Its priority at the destination.
    pub priority: Priority,
    /// The bandwidth that its packet trains measured last, or that the receiver reported; zero if
    /// it is unknown.
    pub bandwidth: Rate,
    /// From its start until its bandwidth was known.
    pub set_up: Option<Duration>,
    /// Bursts that the receiver reported on.
    pub bursts: u64,
    /// Reported bursts by the state of the controller afterwards, in the order in which the states
    /// first occurred.
    pub states: Vec<(&'static str, u64)>,
    /// Times that the circuit breaker stopped it.
    pub breaks: u64,
    /// Round trips as measured by the receiver.
    pub receiver_rtt: Summary,
}

/// A destination node.
#[derive(Debug, Clone, PartialEq)]
pub struct DestinationOutcome {
    /// Its name in the network.
    pub name: String,
    /// It is a flow's own.
    pub is_copy: bool,
    /// Weighted fairness of its flows, mean over the time in which it had any; 1 if it had none.
    pub mean_fairness: f64,
    /// Its state over time, if the run was sampled.
    pub samples: Vec<DestinationSample>,
}

/// A destination node at an instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DestinationSample {
    /// When it was sampled.
    pub at: Time,
    /// Number of its flows.
    pub flows: u32,
    /// Their weighted fairness (WF); 1 if there are none.
    pub fairness: f64,
}

/// Lost packets by their true cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LossCounts {
    /// Dropped because a queue was full.
    pub queue_overflow: u64,
    /// Dropped by the management of a queue before the queue was full.
    pub early: u64,
    /// Lost at random on a channel.
    pub random: u64,
    /// Lost in an outage.
    pub outage: u64,
    /// Arrived corrupted and discarded by the checksum.
    pub corrupted: u64,
    /// Collided on a shared medium in each of its tries.
    pub contention: u64,
}

impl LossCounts {
    /// Those caused by congestion: dropped by queues, or collided.
    pub fn congestion(&self) -> u64 {
        self.queue_overflow + self.early + self.contention
    }

    /// The sum.
    pub fn total(&self) -> u64 {
        self.queue_overflow
            + self.early
            + self.random
            + self.outage
            + self.corrupted
            + self.contention
    }
}

impl LossCounts {
    /// Counts a packet that was dropped for this cause.
    pub(crate) fn count(&mut self, cause: DropCause) {
        *match cause {
            DropCause::QueueOverflow => &mut self.queue_overflow,
            DropCause::Early => &mut self.early,
            DropCause::Random => &mut self.random,
            DropCause::Outage => &mut self.outage,
            DropCause::Contention => &mut self.contention,
        } += 1;
    }
}

impl std::ops::AddAssign for LossCounts {
    fn add_assign(&mut self, other: Self) {
        self.queue_overflow += other.queue_overflow;
        self.random += other.random;
        self.outage += other.outage;
        self.corrupted += other.corrupted;
        self.contention += other.contention;
        self.early += other.early;
    }
}

/// Negative acknowledgments of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NackCounts {
    /// NACKs that receivers sent for corrupted segments.
    pub sent: u64,
    /// NACKs that an attacker forged.
    pub forged: u64,
    /// NACKs that senders accepted.
    pub accepted: u64,
    /// NACKs that senders rejected.
    pub refused: u64,
    /// Segments that were retransmitted for a NACK.
    pub resent: u64,
    /// Accepted NACKs that proved false. A sender accepts none after the first of these.
    pub mistaken: u64,
}

impl std::ops::AddAssign for NackCounts {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.forged += other.forged;
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.resent += other.resent;
        self.mistaken += other.mistaken;
    }
}

/// Decisions on losses against the true causes. An episode is congestion if a queue dropped any of
/// the packets that had been found missing when it was judged.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Confusion {
    /// Congestion, classified as congestion.
    pub congestion_as_congestion: u64,
    /// Congestion, classified as random loss: other flows pay for it.
    pub congestion_as_random: u64,
    /// Random loss, classified as congestion: the flow itself pays for it.
    pub random_as_congestion: u64,
    /// Random loss, classified as random loss.
    pub random_as_random: u64,
    /// Decisions although nothing was lost: packets were reordered or late.
    pub spurious: u64,
    /// Sum over the decisions on real losses of (p - truth)²: p is the probability that the
    /// controller gave to congestion, truth is 1 for congestion and 0 for random loss.
    pub squared_error: f64,
}

/// What happened to the packets that a sender found missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    /// They arrived, or are still in flight.
    NothingLost,
    /// A channel lost them.
    Random,
    /// A queue dropped at least one of them, or it collided on a shared medium.
    Congestion,
}

impl From<Option<DropCause>> for Truth {
    fn from(cause: Option<DropCause>) -> Self {
        match cause {
            None => Self::NothingLost,
            Some(cause) if cause.is_congestion() => Self::Congestion,
            Some(_) => Self::Random,
        }
    }
}

impl Confusion {
    /// Counts one decision, with the controller's confidence that the loss is congestion.
    pub(crate) fn count(&mut self, truth: Truth, verdict: Verdict, confidence: Option<f64>) {
        let probability = verdict.probability(confidence);
        self.squared_error += match truth {
            Truth::Congestion => (1.0 - probability).powi(2),
            Truth::Random => probability.powi(2),
            Truth::NothingLost => 0.0,
        };
        *match (truth, verdict) {
            (Truth::Congestion, Verdict::Congestion) => &mut self.congestion_as_congestion,
            (Truth::Congestion, Verdict::Random) => &mut self.congestion_as_random,
            (Truth::Random, Verdict::Congestion) => &mut self.random_as_congestion,
            (Truth::Random, Verdict::Random) => &mut self.random_as_random,
            (Truth::NothingLost, _) => &mut self.spurious,
        } += 1;
    }

    /// Decisions on random loss.
    pub fn random(&self) -> u64 {
        self.random_as_random + self.random_as_congestion
    }

    /// Decisions on congestion.
    pub fn congestion(&self) -> u64 {
        self.congestion_as_congestion + self.congestion_as_random
    }

    /// Fraction of the decisions on real losses that were right. `None` if there were no such
    /// decisions.
    pub fn accuracy(&self) -> Option<f64> {
        let right = self.congestion_as_congestion + self.random_as_random;
        share(right, self.random() + self.congestion())
    }

    /// Brier score (G. W. Brier, "Verification of Forecasts Expressed in Terms of Probability",
    /// Monthly Weather Review 78, 1950): the mean over the decisions on real losses of (p -
    /// truth)², from 0 (all right and sure) to 1 (all wrong and sure). Without a confidence p is 0
    /// or 1, and the score is the fraction of wrong decisions. `None` if there were no such
    /// decisions.
    pub fn brier(&self) -> Option<f64> {
        let losses = self.random() + self.congestion();
        (losses > 0).then(|| self.squared_error / losses as f64)
    }

    /// Fraction of the random losses that were classified as congestion. `None` if there were none.
    pub fn random_mistaken(&self) -> Option<f64> {
        share(self.random_as_congestion, self.random())
    }

    /// Fraction of the congestion that was classified as random loss. `None` if there was none.
    pub fn congestion_mistaken(&self) -> Option<f64> {
        share(self.congestion_as_random, self.congestion())
    }

    /// Mean of the fractions of random loss and of congestion that were classified correctly. A
    /// classifier that always gives the same answer has 1/2, however rare one of the two causes is.
    /// `None` unless both occurred.
    pub fn balanced_accuracy(&self) -> Option<f64> {
        let mistaken = self.random_mistaken()? + self.congestion_mistaken()?;
        Some(1.0 - mistaken / 2.0)
    }
}

impl std::ops::AddAssign for Confusion {
    fn add_assign(&mut self, other: Self) {
        self.congestion_as_congestion += other.congestion_as_congestion;
        self.congestion_as_random += other.congestion_as_random;
        self.random_as_congestion += other.random_as_congestion;
        self.random_as_random += other.random_as_random;
        self.spurious += other.spurious;
        self.squared_error += other.squared_error;
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The sum of two counts, each of which may be absent. `None` if both are.
pub(crate) fn add_counts(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    }
}

/// A distribution in a few numbers. All are zero if there was no sample.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Summary {
    /// Number of samples.
    pub count: u64,
    /// The minimum.
    pub min: Duration,
    /// The mean.
    pub mean: Duration,
    /// The median. This and the percentiles below are exact to 0.1 %.
    pub p50: Duration,
    /// 95th percentile.
    pub p95: Duration,
    /// 99th percentile.
    pub p99: Duration,
    /// The maximum.
    pub max: Duration,
    /// Mean absolute difference between consecutive samples: the mean of |D| of RFC 3550 section
    /// 6.4.1, not smoothed, as D-ITG reports it. Zero for fewer than two samples.
    pub jitter: Duration,
}

/// Distributions of the delays of a flow, in more detail than a [`Summary`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Distributions {
    /// RTT samples.
    pub rtt: Distribution,
    /// One-way delays of its data packets.
    pub one_way_delay: Distribution,
    /// Latency of its messages; empty if it has none.
    pub message_latency: Distribution,
}

/// A distribution as quantiles: for each share of the samples, the value that this share did not
/// exceed. Both are ascending. The shares are every percent up to 90 %, then ever closer towards
/// 100 %. Empty if there was no sample.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Distribution {
    /// The shares in millionths, and their quantiles, exact to 0.1 %.
    pub quantiles: Vec<(u32, Duration)>,
}

/// The outcome of a directed link.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkOutcome {
    /// Its name in the network.
    pub name: LinkName,
    /// Its counters.
    pub counters: whimbrel_net::Counters,
    /// Utilization: the fraction of the run during which it was serving packets.
    pub utilisation: f64,
    /// Packets in the queue, mean over the run. Only packets that were served count.
    pub mean_queue: f64,
    /// Time that packets waited for service, mean over all that were served.
    pub mean_wait: Duration,
    /// Packets on the link when the run ended. On Wi-Fi and under CoDel the packets in the queue
    /// are included. `counters.offered` = `came_out` + dropped + `in_transit`.
    pub in_transit: u64,
    /// Packets that left the link before the end of the run.
    pub came_out: u64,
    /// Its queue over time, if the run was sampled.
    pub samples: Vec<LinkSample>,
}

/// The state of a flow at an instant. The default is the state before it starts.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FlowSample {
    /// When it was sampled.
    pub at: Time,
    /// Congestion window of the controller, without NewReno's inflation during recovery.
    pub cwnd: Bytes,
    /// Slow start threshold, if the controller has one.
    pub ssthresh: Option<Bytes>,
    /// Bytes in flight.
    pub in_flight: Bytes,
    /// Smoothed RTT, zero before the first sample.
    pub srtt: Duration,
    /// Smoothed mean deviation of the RTT (RTTVAR of RFC 6298, as Linux reports it); zero before
    /// the first sample. With several paths it is that of the path of `srtt`.
    pub rttvar: Duration,
    /// Data delivered since the last sample, per second.
    pub rate: Rate,
    /// Data delivered to the applications since the start of the flow; for a path, data that it
    /// brought first.
    pub delivered: Bytes,
    /// Data packets retransmitted since the start of the flow.
    pub retransmits: u64,
    /// Data packets put on the wire since the start of the flow, headers and retransmissions
    /// included.
    pub sent: Bytes,
    /// Time between the newest two acknowledgments (the inter-packet delay, IPD, of S. Ahmad, M. J.
    /// Arshad, "Enhanced Multistream Fast TCP", Applied Sciences 9(21), 2019). `None` before the
    /// second, with several paths, and for AATP.
    pub ack_spacing: Option<Duration>,
    /// How often the controller has detected a change of the path. `None` if it does not try to,
    /// and with several paths.
    pub path_changes: Option<u64>,
    /// Pacing rate of the controller, if it sets one.
    pub pacing_rate: Option<Rate>,
    /// What the controller does, as it names it itself.
    pub phase: &'static str,
}

/// The state of a link at an instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkSample {
    /// When it was sampled.
    pub at: Time,
    /// Packets in the queue.
    pub queue: u32,
    /// Their size.
    pub queue_bytes: Bytes,
    /// Data that left the link since the last sample, per second.
    pub rate: Rate,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_brier_score_is_the_mean_squared_error_of_the_confidence() {
        let mut graded = Confusion::default();
        assert_eq!(graded.brier(), None);
        for (truth, verdict, confidence) in [
            (Truth::Congestion, Verdict::Congestion, Some(0.8)), // 0.2² = 0.04
            (Truth::Random, Verdict::Random, Some(0.3)),         // 0.09
            (Truth::Congestion, Verdict::Random, Some(0.25)),    // 0.75² = 0.5625
            (Truth::Random, Verdict::Congestion, None),          // 1
            (Truth::NothingLost, Verdict::Congestion, Some(0.9)), // not a loss
        ] {
            graded.count(truth, verdict, confidence);
        }
        let brier = graded.brier().expect("losses");
        assert!((brier - 1.6925 / 4.0).abs() < 1e-12, "{brier}");
        // Without a confidence it is the fraction of wrong decisions.
        let mut plain = Confusion::default();
        for truth in [Truth::Random, Truth::Random, Truth::Congestion] {
            plain.count(truth, Verdict::Random, None);
        }
        assert_eq!(plain.brier(), Some(1.0 / 3.0));
        graded += plain;
        let both = graded.brier().expect("losses");
        assert!((both - 2.6925 / 7.0).abs() < 1e-12, "{both}");
    }
}
