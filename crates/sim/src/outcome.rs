//! What was measured in one run.

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

    /// Jain's index of the TCP flows' goodput: 1 is equal shares, 1/n is one flow taking all. 1 if nothing moved.
    /// Datagram sources share nothing: they count only where there is nothing else.
    pub fn jain(&self) -> f64 {
        let any_tcp = self.flows.iter().any(|f| f.controller.is_some());
        let flows = self
            .flows
            .iter()
            .filter(|f| f.controller.is_some() || !any_tcp);
        let rates: Vec<f64> = flows.map(|f| f.goodput.as_bits_per_sec() as f64).collect();
        let squares: f64 = rates.iter().map(|r| r * r).sum();
        if squares == 0.0 {
            1.0
        } else {
            rates.iter().sum::<f64>().powi(2) / (rates.len() as f64 * squares)
        }
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

/// What one flow did.
#[derive(Debug, Clone, PartialEq)]
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
    /// Round-trip samples.
    pub rtt: Summary,
    /// One-way delays of its data packets.
    pub one_way_delay: Summary,
    /// From its start until all its data was delivered, if it had an end and reached it.
    pub completion: Option<Duration>,
    /// Its controller's decisions against the truth, if it tells losses apart.
    pub discrimination: Option<Confusion>,
    /// Its state over time, if the run was sampled.
    pub samples: Vec<FlowSample>,
}

/// Losses by their true cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LossCounts {
    /// A queue overflowed.
    pub queue_overflow: u64,
    /// A channel lost it at random.
    pub random: u64,
    /// It met an outage.
    pub outage: u64,
    /// It arrived corrupted and its checksum threw it away.
    pub corrupted: u64,
}

impl LossCounts {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.queue_overflow + self.random + self.outage + self.corrupted
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

impl Confusion {
    /// Share of the decisions on real losses that were right; `None` if there were none.
    pub fn accuracy(&self) -> Option<f64> {
        let right = self.congestion_as_congestion + self.random_as_random;
        let all = right + self.congestion_as_random + self.random_as_congestion;
        (all > 0).then(|| right as f64 / all as f64)
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
    /// Packets waiting, mean over the run.
    pub mean_queue: f64,
    /// Time packets waited before their service, mean over all that were served.
    pub mean_wait: Duration,
    /// Packets still on the link when the run ended: offered = delivered on to the next node + dropped + these.
    pub in_transit: u64,
    /// Packets that came out at its far end before the run ended.
    pub came_out: u64,
    /// Its queue over time, if the run was sampled.
    pub samples: Vec<LinkSample>,
}

/// A flow at an instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowSample {
    /// When.
    pub at: Time,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow start threshold, if set.
    pub ssthresh: Option<Bytes>,
    /// Bytes in flight.
    pub in_flight: Bytes,
    /// Smoothed RTT, zero before the first sample.
    pub srtt: Duration,
    /// Data delivered since the last sample, per second.
    pub rate: Rate,
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
