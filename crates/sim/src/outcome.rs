//! What was measured in one run.

use whimbrel_cc::Verdict;
use whimbrel_cc::fairness::{Priority, jain};
use whimbrel_net::DropCause;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// What was measured in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How long the run was, in its own time: its set duration, or less if all flows ended before.
    pub duration: Duration,
    /// Per flow, in the network's order.
    pub flows: Vec<FlowOutcome>,
    /// Per directed link, in the network's order.
    pub links: Vec<LinkOutcome>,
    /// Per destination node, in the network's order.
    pub destinations: Vec<DestinationOutcome>,
    /// Events that were played.
    pub events: u64,
    /// Data packets delivered to the receiving applications, each counted once.
    pub delivered_packets: u64,
    /// One-way delay of all data packets of all flows.
    pub one_way_delay: Summary,
}

impl Outcome {
    /// Data delivered to the applications, per second of the run.
    pub fn goodput(&self) -> Rate {
        Rate::over(self.flows.iter().map(|f| f.delivered).sum(), self.duration)
    }

    /// Everything TCP and UDP senders put on the wire, headers and retransmissions included, per second of the run.
    pub fn throughput(&self) -> Rate {
        Rate::over(
            self.flows.iter().map(|f| f.sent_on_wire).sum(),
            self.duration,
        )
    }

    /// Jain's index of the goodput of the flows that have a controller: 1 is equal shares, 1/n is one flow taking all. 1 if nothing moved.
    /// Datagram sources share nothing: they count only where there is nothing else.
    pub fn jain(&self) -> f64 {
        let any_controlled = self.flows.iter().any(|f| f.controller.is_some());
        let flows = self
            .flows
            .iter()
            .filter(|f| f.controller.is_some() || !any_controlled);
        jain(flows.map(|f| f.goodput.as_bits_per_sec() as f64))
    }

    /// Data packets dropped anywhere over data packets sent.
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

/// What one flow did. The default did nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FlowOutcome {
    /// Its name in the network.
    pub name: String,
    /// Its congestion control as chosen, `None` for datagrams.
    pub controller: Option<String>,
    /// When it started.
    pub start: Time,
    /// How long it was active: from its start to its completion, its stop or the run's end.
    pub active: Duration,
    /// Data delivered in order to the applications (both ends of a two-way flow).
    pub delivered: Bytes,
    /// `delivered` over `active`.
    pub goodput: Rate,
    /// Everything its senders put on the wire as data packets, headers and retransmissions included.
    pub sent_on_wire: Bytes,
    /// `sent_on_wire` over `active`.
    pub throughput: Rate,
    /// Data packets sent, retransmissions included.
    pub packets_sent: u64,
    /// Data packets sent again.
    pub retransmits: u64,
    /// Times the retransmission timer fired.
    pub timeouts: u64,
    /// Loss episodes the transport entered.
    pub loss_episodes: u64,
    /// Timeouts and episodes that proved to be mistakes (RFC 3522).
    pub spurious: u64,
    /// Its data packets that were dropped, by cause.
    pub lost: LossCounts,
    /// Its data packets that arrived marked: they met congestion and were not dropped for it (RFC 3168).
    pub marked: u64,
    /// Times that a controller was told of marks: at most once a round trip.
    pub mark_episodes: u64,
    /// Round-trip samples.
    pub rtt: Summary,
    /// One-way delays of its data packets.
    pub one_way_delay: Summary,
    /// From its start until all its data was delivered, if it had an end and reached it.
    pub completion: Option<Duration>,
    /// How often its controllers found that the path itself had changed; `None` if they do not look.
    pub path_changes: Option<u64>,
    /// Its controller's decisions against the truth, if it tells losses apart.
    pub discrimination: Option<Confusion>,
    /// Its negative acknowledgments, if its transport knows them or any were forged.
    pub nacks: Option<NackCounts>,
    /// What only an AATP connection has.
    pub aatp: Option<AatpOutcome>,
    /// What became of its messages, if it has any.
    pub messages: Option<MessageOutcome>,
    /// Its streams, if it has several or messages; none of any other flow.
    pub streams: Vec<StreamOutcome>,
    /// Segments that a path of a multipath connection carried because they were stuck on another.
    pub reinjected: u64,
    /// The paths of a multipath connection, in the order of its routes; none of any other flow. What stands above is of all
    /// of them together.
    pub paths: Vec<PathOutcome>,
    /// How its delays were distributed, if the run was sampled.
    pub distributions: Option<Distributions>,
    /// Its state over time, if the run was sampled.
    pub samples: Vec<FlowSample>,
    /// Episodes of loss of its near end, in order of time, if the run was sampled and it is a TCP flow; those of a multipath
    /// connection are its paths'.
    pub episodes: Vec<LossEpisode>,
}

/// What became of a flow's messages. Those that were not delivered when the run ended are `arrived` less `delivered`, and in
/// none of the distributions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MessageOutcome {
    /// Messages that the sending application handed over.
    pub arrived: u64,
    /// Messages that the receiving application got, whole.
    pub delivered: u64,
    /// Those of them that were whole at the receiver before they could be delivered: something before them in their stream
    /// was missing.
    pub held: u64,
    /// From a message's arrival at the sender until its last byte was delivered in its stream's order.
    pub latency: Summary,
    /// For how much of that it was whole at the receiver and waited for what stood before it in its stream: head-of-line
    /// blocking. Zero of messages that did not wait.
    pub blocked: Summary,
}

/// What one stream delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamOutcome {
    /// Data delivered to the application, in the stream's order.
    pub delivered: Bytes,
    /// Messages delivered.
    pub messages: u64,
    /// Their latency in the mean; zero if there were none.
    pub latency: Duration,
}

/// What one path of a multipath connection did: its subflow.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PathOutcome {
    /// The links of its route: `home > wifi`.
    pub route: String,
    /// Data that came on it before it came on any other path, in order or not. Those of all paths add up to what came.
    pub brought: Bytes,
    /// `brought` over the time that the flow was active.
    pub goodput: Rate,
    /// What its sender put on the wire as data packets, over that time.
    pub throughput: Rate,
    /// Data packets sent on it, retransmissions included.
    pub packets_sent: u64,
    /// Of them those that it sent again itself.
    pub retransmits: u64,
    /// Of them those whose data was stuck on another path.
    pub reinjected: u64,
    /// Times its retransmission timer fired.
    pub timeouts: u64,
    /// Loss episodes it entered.
    pub loss_episodes: u64,
    /// Its data packets that arrived marked.
    pub marked: u64,
    /// Times its controller was told of marks.
    pub mark_episodes: u64,
    /// Timeouts and episodes that proved to be mistakes.
    pub spurious: u64,
    /// Its data packets that were dropped, by cause.
    pub lost: LossCounts,
    /// Its round-trip samples.
    pub rtt: Summary,
    /// One-way delays of its data packets.
    pub one_way_delay: Summary,
    /// Smoothed RTT when the run ended, zero if none was measured.
    pub srtt: Duration,
    /// Congestion window when the run ended.
    pub cwnd: Bytes,
    /// Congestion window, mean over the time since its handshake was over; zero if it never was.
    pub mean_cwnd: Bytes,
    /// Its controller's decisions against the truth, if it tells losses apart.
    pub discrimination: Option<Confusion>,
    /// How often its controller found that the path itself had changed; `None` if it does not look.
    pub path_changes: Option<u64>,
    /// Its state over time, if the run was sampled.
    pub samples: Vec<FlowSample>,
    /// Its episodes of loss, if the run was sampled.
    pub episodes: Vec<LossEpisode>,
}

/// An episode of loss: from when a sender found it until it was repaired. There is one for each time that the controller was
/// asked about a loss or told of a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossEpisode {
    /// When the sender found it: with the third duplicate ACK, by RACK's or RFC 6675's verdict, or because the timer fired.
    pub at: Time,
    /// The congestion window just before.
    pub cwnd: Bytes,
    /// Bytes in flight just before.
    pub in_flight: Bytes,
    /// The smoothed RTT then, zero before the first sample.
    pub srtt: Duration,
    /// The window was reduced for it.
    pub reduced: bool,
    /// The retransmission timer fired.
    pub timeout: bool,
    /// When all was acknowledged that had been sent by the time it was found, or it proved to be a mistake. One that another
    /// followed before it was over ends with that. `None`: not before the run's end.
    pub ended: Option<Time>,
}

/// What an AATP connection did besides.
#[derive(Debug, Clone, PartialEq)]
pub struct AatpOutcome {
    /// Its priority.
    pub priority: Priority,
    /// What its packet trains measured last, or what it was told; zero if it never got so far.
    pub bandwidth: Rate,
    /// From its start until its bandwidth was known.
    pub set_up: Option<Duration>,
    /// Bursts that were reported.
    pub bursts: u64,
    /// Reported bursts by the state that the law was in afterwards, in the order in which the states first came up.
    pub states: Vec<(&'static str, u64)>,
    /// Times the circuit breaker stopped it.
    pub breaks: u64,
    /// Round trips as the receiver measured them.
    pub receiver_rtt: Summary,
}

/// What a destination node saw.
#[derive(Debug, Clone, PartialEq)]
pub struct DestinationOutcome {
    /// Its name in the network.
    pub name: String,
    /// Weighted fairness of its flows, mean over the time in which it had any; 1 if it had none.
    pub mean_fairness: f64,
    /// Its state over time, if the run was sampled.
    pub samples: Vec<DestinationSample>,
}

/// A destination node at an instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DestinationSample {
    /// When.
    pub at: Time,
    /// Flows that it served.
    pub flows: u32,
    /// Their weighted fairness (WF), 1 if there were none.
    pub fairness: f64,
}

/// Losses by their true cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LossCounts {
    /// A queue overflowed.
    pub queue_overflow: u64,
    /// The management of a queue dropped it before that was full.
    pub early: u64,
    /// A channel lost it at random.
    pub random: u64,
    /// It met an outage.
    pub outage: u64,
    /// It arrived corrupted and its checksum threw it away.
    pub corrupted: u64,
    /// It collided on a shared medium as often as it was tried.
    pub contention: u64,
}

impl LossCounts {
    /// Those that congestion caused: dropped by queues, or collided.
    pub fn congestion(&self) -> u64 {
        self.queue_overflow + self.early + self.contention
    }

    /// All of them.
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
    /// Those that receivers sent for corrupted segments.
    pub sent: u64,
    /// Those that were sent in a receiver's name by somebody else.
    pub forged: u64,
    /// Those that senders believed.
    pub accepted: u64,
    /// Those that senders did not believe.
    pub refused: u64,
    /// Segments that were sent again for them.
    pub resent: u64,
    /// Those that proved to be false after they were believed. Senders believe none after the first.
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

/// Decisions on losses against the causes of the drops. An episode is congestion if any of the packets
/// found missing when it was judged had been dropped by a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Confusion {
    /// Congestion, and taken for it.
    pub congestion_as_congestion: u64,
    /// Congestion, taken for random loss: others pay for it.
    pub congestion_as_random: u64,
    /// Random loss, taken for congestion: the flow pays for it.
    pub random_as_congestion: u64,
    /// Random loss, and taken for it.
    pub random_as_random: u64,
    /// Nothing was lost (reordering): decided all the same.
    pub spurious: u64,
}

/// What really became of the packets that a sender found missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    /// They arrived or are on their way.
    NothingLost,
    /// The channel lost them.
    Random,
    /// A queue dropped at least one of them, or others' traffic on a shared medium did.
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
    /// Counts one decision.
    pub(crate) fn count(&mut self, truth: Truth, verdict: Verdict) {
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

    /// Share of the decisions on real losses that were right; `None` if there were none.
    pub fn accuracy(&self) -> Option<f64> {
        let right = self.congestion_as_congestion + self.random_as_random;
        share(right, self.random() + self.congestion())
    }

    /// Share of the random losses that were taken for congestion; `None` if there were none.
    pub fn random_mistaken(&self) -> Option<f64> {
        share(self.random_as_congestion, self.random())
    }

    /// Share of the congestion that was taken for random loss; `None` if there was none.
    pub fn congestion_mistaken(&self) -> Option<f64> {
        share(self.congestion_as_random, self.congestion())
    }

    /// Mean of the shares of random loss and of congestion that were taken for what they were: 1/2 is what always
    /// saying the same gives, however rare one of the two is. `None` unless there were both.
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

/// A distribution in a few numbers. All zero if there was no sample.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Summary {
    /// How many samples.
    pub count: u64,
    /// The least.
    pub min: Duration,
    /// The mean.
    pub mean: Duration,
    /// The median; this and the percentiles below are exact to 0.1 %.
    pub p50: Duration,
    /// 95th percentile.
    pub p95: Duration,
    /// 99th percentile.
    pub p99: Duration,
    /// The greatest.
    pub max: Duration,
    /// How much one differs from the one before it, in the mean over absolute values: the mean of |D| of RFC 3550 section 6.4.1,
    /// not smoothed, as D-ITG reports it. Zero of fewer than two.
    pub jitter: Duration,
}

/// How the delays of a flow were distributed: more than a [`Summary`] tells.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Distributions {
    /// Of its round-trip samples.
    pub rtt: Distribution,
    /// Of the one-way delays of its data packets.
    pub one_way_delay: Distribution,
    /// Of its messages' latency; empty if it has none.
    pub message_latency: Distribution,
}

/// A distribution as its quantiles: for some shares, from 0 to 1, what that share of the samples did not exceed. Neither falls
/// from one to the next. Every percent up to 90 %, then ever closer towards the longest. Empty if there was no sample.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Distribution {
    /// The shares in millionths, and their quantiles, exact to 0.1 %.
    pub quantiles: Vec<(u32, Duration)>,
}

/// What one directed link did.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkOutcome {
    /// Its name in the network.
    pub name: String,
    /// What it counted.
    pub counters: whimbrel_net::Counters,
    /// Share of the run during which it was serving packets.
    pub utilisation: f64,
    /// Packets waiting, mean over the run; of those that were served in the end.
    pub mean_queue: f64,
    /// Time packets waited before their service, mean over all that were served.
    pub mean_wait: Duration,
    /// Packets still on the link when the run ended (on Wi-Fi and under CoDel those that wait too): offered = delivered on to
    /// the next node + dropped + these.
    pub in_transit: u64,
    /// Packets that came out at its far end before the run ended.
    pub came_out: u64,
    /// Its queue over time, if the run was sampled.
    pub samples: Vec<LinkSample>,
}

/// A flow at an instant. The default is before anything happened.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FlowSample {
    /// When.
    pub at: Time,
    /// Congestion window: the controller's, without what NewReno's recovery adds to it while it lasts.
    pub cwnd: Bytes,
    /// Slow start threshold, if set.
    pub ssthresh: Option<Bytes>,
    /// Bytes in flight.
    pub in_flight: Bytes,
    /// Smoothed RTT, zero before the first sample.
    pub srtt: Duration,
    /// Smoothed mean deviation of the RTT (RTTVAR of RFC 6298, as Linux reports it), zero before the first sample. Of the path
    /// that `srtt` is of.
    pub rttvar: Duration,
    /// Data delivered since the last sample, per second.
    pub rate: Rate,
    /// Data delivered to the applications since the flow's start; of a path, what it brought first.
    pub delivered: Bytes,
    /// Data packets sent again since the flow's start.
    pub retransmits: u64,
    /// All that was put on the wire as data packets since the flow's start, headers and retransmissions included.
    pub sent: Bytes,
    /// Between the newest two acknowledgments that arrived (the inter-packet delay, IPD, of S. Ahmad, M. J. Arshad, "Enhanced
    /// Multistream Fast TCP", Applied Sciences 9(21), 2019); `None` before there were two, and where there are several paths or
    /// no such acknowledgments (AATP).
    pub ack_spacing: Option<Duration>,
    /// How often the controller found by then that the path itself had changed; `None` if it does not look, and where there are
    /// several paths.
    pub path_changes: Option<u64>,
    /// The controller's own rate, if it sets one.
    pub pacing_rate: Option<Rate>,
    /// What the controller was doing.
    pub phase: &'static str,
}

/// A link at an instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkSample {
    /// When.
    pub at: Time,
    /// Packets that waited.
    pub queue: u32,
    /// Their size.
    pub queue_bytes: Bytes,
    /// What came out since the last sample, per second.
    pub rate: Rate,
}
