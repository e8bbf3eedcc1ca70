//! What can be measured of a run.
//!
//! Measures are of a whole run, or, where the samples of its time series allow, of a [`Window`] of it.

use crate::path::outside_outages;
use crate::recovery::Recovery;
use crate::view::{View, mbits, megabits, some};
use crate::window::{Window, average};
use std::str::FromStr;
use whimbrel_cc::fairness::jain;
use whimbrel_sim::scenario::fields::unknown;
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{Confusion, FlowOutcome, MessageOutcome, NackCounts, Summary};

/// A quantity of a run.
///
/// "On the wire" is with headers and with everything sent again. A flow is active from its start to its end. What a
/// two-way flow's far end sends counts as if it went the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Goodput of all flows together, over the run.
    TotalGoodput,
    /// Mean over the flows of each one's goodput while it was active.
    MeanFlowGoodput,
    /// What all flows together put on the wire, over the run.
    TotalThroughput,
    /// Mean over the flows of what each put on the wire while it was active.
    MeanFlowThroughput,
    /// What all flows together put on the wire.
    Transmitted,
    /// What all flows together delivered.
    Delivered,
    /// As [`Self::MeanFlowThroughput`], but outages on the flow's way count neither with their time nor with what was
    /// lost in them, packets taken as of equal size.
    ThroughputOutsideOutages,
    /// Mean of the rate that each flow's controller set, mean over the flows; taken from samples.
    SendingRate,
    /// What the flows put on the wire, over what their bottleneck could carry while any of them was active. More than
    /// 100 % is what it could not carry. The bottleneck is the link that they fill most.
    OfferedLoad,
    /// As [`Self::OfferedLoad`], but only of what was not lost, packets taken as of equal size.
    Utilisation,
    /// Delivered data of the chosen flows, over that of all flows.
    Share,
    /// Jain's index of the flows' goodput.
    Jain,
    /// Weighted fairness (WF) at the destination nodes while they had flows, mean over the nodes.
    WeightedFairness,
    /// From the window's beginning until the weighted fairness of every destination node stays at 0.99 or above for
    /// the rest of the window; nothing if it does not. Taken from samples.
    ConvergenceTime,
    /// Congestion window in the mean over time, mean over the flows; this and all below that are of windows or of the spacing
    /// of acknowledgments are taken from samples.
    MeanCwnd,
    /// The greatest congestion window of all flows.
    GreatestCwnd,
    /// The least congestion window of all flows.
    LeastCwnd,
    /// Spacing of successive acknowledgments, mean over the samples, mean over the flows.
    AckSpacing,
    /// How much the spacing of acknowledgments differs from one sample to the next (the differences whose mean RFC 3550
    /// section 6.4.1 calls jitter), mean over the samples, mean over the flows.
    AckSpacingJitter,
    /// From the first loss that a flow finds in the window until its congestion window is back at 95 % of the greatest of the
    /// 5 s before, mean over the flows; nothing if one loses nothing, or is not back before the window's end. Equation (3) of
    /// the EMFAST paper. Taken from samples.
    RecoveryTime,
    /// As [`Self::RecoveryTime`], but until the rate at which it delivers data, over one smoothed RTT since the repair, is back
    /// at 95 % of its mean in the 5 s before.
    ShareRecoveryTime,
    /// As [`Self::RecoveryTime`], but until its bytes in flight are back, in smoothed RTTs at the loss.
    Refill,
    /// How often controllers found that the path itself had changed; nothing if none looks.
    PathChanges,
    /// Data packets lost for any cause, over data packets sent.
    Loss,
    /// Data packets lost to congestion (dropped by queues, or collided), over data packets sent.
    CongestionLoss,
    /// Data packets lost for any cause.
    PacketsLost,
    /// Mean of all RTT samples.
    RttMean,
    /// 95th percentile of the RTT, mean over the flows.
    RttP95,
    /// Mean one-way delay of the data packets.
    DelayMean,
    /// 95th percentile of the one-way delay, mean over the flows.
    DelayP95,
    /// Mean one-way delay over the propagation delay of the flow's way, mean over the flows. What is measured has the
    /// time to send a packet in it, what it is divided by has not.
    DelayRatioMean,
    /// As [`Self::DelayRatioMean`], of the 95th percentile of the one-way delay.
    DelayRatioP95,
    /// Mean wait in the queue that was longest.
    QueueDelay,
    /// Mean time from a flow's start to its completion; nothing if one did not complete.
    CompletionTime,
    /// Data packets sent again.
    Retransmits,
    /// Times a retransmission timer fired.
    Timeouts,
    /// The bandwidth that AATP connections work with, mean over them.
    BandwidthEstimate,
    /// Share of right decisions on losses.
    Accuracy,
    /// Decisions that were made on random loss.
    RandomJudged,
    /// Share of them that took it for congestion.
    RandomTakenForCongestion,
    /// Decisions that were made on congestion.
    CongestionJudged,
    /// Share of them that took it for random loss.
    CongestionTakenForRandom,
    /// Median of the messages' latency, mean over the flows: from a message's arrival at the sender to the delivery of its
    /// last byte. Of messages that were delivered.
    MessageLatencyP50,
    /// As [`Self::MessageLatencyP50`], the 95th percentile.
    MessageLatencyP95,
    /// As [`Self::MessageLatencyP50`], the 99th percentile.
    MessageLatencyP99,
    /// Mean latency of all messages that were delivered.
    MessageLatencyMean,
    /// For how long messages were held behind others though they were whole, in the mean of all that were delivered.
    BlockedMean,
    /// 99th percentile of that, mean over the flows.
    BlockedP99,
    /// Messages that were delivered, of those that arrived at the senders.
    MessagesDelivered,
    /// Negative acknowledgments that receivers sent.
    NacksSent,
    /// Those that senders believed.
    NacksAccepted,
    /// Those that senders did not believe.
    NacksRefused,
    /// Data packets sent again for them.
    NackResends,
    /// How much the one-way delay of a data packet differs from that of the one before it, mean over the packets, mean over the
    /// flows: the jitter that D-ITG reports.
    DelayJitter,
    /// The same of the latency of messages, in the order in which they were delivered.
    MessageJitter,
}

/// Whether a measure is taken from samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Samples {
    /// Never: it is of the whole run.
    Never,
    /// If it is asked for in a window.
    InWindow,
    /// Always.
    Always,
}

/// All measures, as they are written and with their units.
const ALL: &[(&str, &str, Measure)] = &[
    ("total goodput", "Mbit/s", Measure::TotalGoodput),
    ("mean flow goodput", "Mbit/s", Measure::MeanFlowGoodput),
    ("total throughput", "Mbit/s", Measure::TotalThroughput),
    (
        "mean flow throughput",
        "Mbit/s",
        Measure::MeanFlowThroughput,
    ),
    ("transmitted", "MB", Measure::Transmitted),
    ("delivered", "MB", Measure::Delivered),
    (
        "throughput outside outages",
        "Mbit/s",
        Measure::ThroughputOutsideOutages,
    ),
    ("sending rate", "Mbit/s", Measure::SendingRate),
    ("offered load", "%", Measure::OfferedLoad),
    ("utilisation", "%", Measure::Utilisation),
    ("share", "%", Measure::Share),
    ("jain", "", Measure::Jain),
    ("weighted fairness", "", Measure::WeightedFairness),
    ("convergence time", "s", Measure::ConvergenceTime),
    ("mean cwnd", "kB", Measure::MeanCwnd),
    ("greatest cwnd", "kB", Measure::GreatestCwnd),
    ("least cwnd", "kB", Measure::LeastCwnd),
    ("mean ack spacing", "ms", Measure::AckSpacing),
    ("ack spacing jitter", "ms", Measure::AckSpacingJitter),
    ("recovery time", "s", Measure::RecoveryTime),
    ("share recovery time", "s", Measure::ShareRecoveryTime),
    ("refill", "RTTs", Measure::Refill),
    ("path changes", "", Measure::PathChanges),
    ("loss", "%", Measure::Loss),
    ("congestion loss", "%", Measure::CongestionLoss),
    ("packets lost", "packets", Measure::PacketsLost),
    ("rtt mean", "ms", Measure::RttMean),
    ("rtt p95", "ms", Measure::RttP95),
    ("delay mean", "ms", Measure::DelayMean),
    ("delay p95", "ms", Measure::DelayP95),
    ("delay ratio mean", "", Measure::DelayRatioMean),
    ("delay ratio p95", "", Measure::DelayRatioP95),
    ("queue delay", "ms", Measure::QueueDelay),
    ("completion time", "s", Measure::CompletionTime),
    ("retransmits", "packets", Measure::Retransmits),
    ("timeouts", "", Measure::Timeouts),
    ("bandwidth estimate", "Mbit/s", Measure::BandwidthEstimate),
    ("accuracy", "%", Measure::Accuracy),
    ("random judged", "", Measure::RandomJudged),
    (
        "random taken for congestion",
        "%",
        Measure::RandomTakenForCongestion,
    ),
    ("congestion judged", "", Measure::CongestionJudged),
    (
        "congestion taken for random",
        "%",
        Measure::CongestionTakenForRandom,
    ),
    ("message latency p50", "ms", Measure::MessageLatencyP50),
    ("message latency p95", "ms", Measure::MessageLatencyP95),
    ("message latency p99", "ms", Measure::MessageLatencyP99),
    ("message latency mean", "ms", Measure::MessageLatencyMean),
    ("blocked mean", "ms", Measure::BlockedMean),
    ("blocked p99", "ms", Measure::BlockedP99),
    ("messages delivered", "%", Measure::MessagesDelivered),
    ("nacks sent", "", Measure::NacksSent),
    ("nacks accepted", "", Measure::NacksAccepted),
    ("nacks refused", "", Measure::NacksRefused),
    ("nack resends", "packets", Measure::NackResends),
    ("delay jitter", "ms", Measure::DelayJitter),
    ("message jitter", "ms", Measure::MessageJitter),
];

impl FromStr for Measure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = ALL
            .iter()
            .find(|(name, ..)| *name == text)
            .map(|(.., measure)| *measure);
        found.ok_or_else(|| unknown("measure", text, ALL.iter().map(|(name, ..)| *name)))
    }
}

impl Measure {
    /// Its name, as people write it.
    pub fn name(self) -> &'static str {
        ALL.iter()
            .find(|(.., measure)| *measure == self)
            .map_or("", |(name, ..)| name)
    }

    /// Its unit; empty if it has none.
    pub fn unit(self) -> &'static str {
        ALL.iter()
            .find(|(.., measure)| *measure == self)
            .map_or("", |(_, unit, _)| unit)
    }

    /// Whether it can be taken of a part of a run.
    ///
    /// # Errors
    /// Names the measures that can.
    pub fn in_window(self) -> Result<(), String> {
        if self.samples() != Samples::Never {
            return Ok(());
        }
        let can = ALL
            .iter()
            .filter(|(.., measure)| measure.samples() != Samples::Never)
            .map(|(name, ..)| format!("`{name}`"));
        Err(format!(
            "is for measures that can be taken of a part of a run: {}",
            can.collect::<Vec<_>>().join(", ")
        ))
    }

    /// Whether it can only be taken of a run that was sampled.
    pub fn needs_samples(self, window: Option<Window>) -> bool {
        match self.samples() {
            Samples::Never => false,
            Samples::InWindow => window.is_some(),
            Samples::Always => true,
        }
    }

    fn samples(self) -> Samples {
        match self {
            Self::SendingRate
            | Self::ConvergenceTime
            | Self::MeanCwnd
            | Self::GreatestCwnd
            | Self::LeastCwnd
            | Self::AckSpacing
            | Self::AckSpacingJitter
            | Self::RecoveryTime
            | Self::ShareRecoveryTime
            | Self::Refill => Samples::Always,
            Self::TotalGoodput
            | Self::MeanFlowGoodput
            | Self::TotalThroughput
            | Self::MeanFlowThroughput
            | Self::Transmitted
            | Self::Delivered
            | Self::Share
            | Self::Jain
            | Self::WeightedFairness => Samples::InWindow,
            _ => Samples::Never,
        }
    }

    /// Its value in a run, of the flows whose controller or name is `flows`, or of all; in a window, or over the whole
    /// run. `None` if the run has none.
    pub fn of(self, run: &Run<'_>, flows: Option<&str>, window: Option<Window>) -> Option<f64> {
        self.of_view(&View::new(run, flows, window)?)
    }

    /// Its value of these flows.
    pub(crate) fn of_view(self, view: &View<'_>) -> Option<f64> {
        let (run, window) = (view.run, view.window());
        let mean = |what: &dyn Fn(&FlowOutcome) -> Option<f64>| view.mean(|_, flow| what(flow));
        let sum = |what| view.sum(what);
        let judged = |part: fn(&Confusion) -> u64| view.decisions(part);
        match self {
            Self::TotalGoodput => view.per_second(view.delivered(&view.flows)?),
            Self::MeanFlowGoodput => average(view.goodputs().into_iter()),
            Self::TotalThroughput => view.per_second(view.sent()),
            Self::MeanFlowThroughput => average(view.throughputs().into_iter()),
            Self::Transmitted => Some(view.sent() * 1e-6),
            Self::Delivered => Some(view.delivered(&view.flows)? * 1e-6),
            Self::ThroughputOutsideOutages => {
                let network = view.network();
                view.mean(|i, flow| {
                    let span = Window::of_flows([flow]);
                    let left = outside_outages(&network, network.flows.get(i)?, span);
                    megabits(arrived_of(flow, flow.lost.outage)?, left)
                })
            }
            Self::SendingRate => mean(&|f| Some(view.span.sending_rate(f)? * 1e-6)),
            Self::OfferedLoad => view.load(|f| Some(f.sent_on_wire.get() as f64)),
            Self::Utilisation => view.load(|f| arrived_of(f, f.lost.total())),
            Self::Share => {
                let all: Vec<(usize, &FlowOutcome)> =
                    run.outcome.flows.iter().enumerate().collect();
                percent(view.delivered(&view.flows)?, view.delivered(&all)?)
            }
            Self::Jain => Some(jain(view.goodputs())),
            Self::WeightedFairness => {
                average(
                    run.outcome
                        .destinations
                        .iter()
                        .filter_map(|node| match window {
                            Some(_) => view.span.fairness(node),
                            None => Some(node.mean_fairness),
                        }),
                )
            }
            Self::ConvergenceTime => {
                let nodes = run.outcome.destinations.iter();
                let times: Option<Vec<f64>> = nodes
                    .map(|node| Some(view.span.convergence(node)?.as_secs_f64()))
                    .collect();
                times?.into_iter().reduce(f64::max)
            }
            Self::MeanCwnd => mean(&|f| Some(average(view.span.windows(f))? * 1e-3)),
            Self::GreatestCwnd => Some(view.windows().reduce(f64::max)? * 1e-3),
            Self::LeastCwnd => Some(view.windows().reduce(f64::min)? * 1e-3),
            Self::AckSpacing => mean(&|f| view.span.ack_spacing(f)),
            Self::AckSpacingJitter => mean(&|f| view.span.ack_jitter(f)),
            Self::RecoveryTime => {
                mean(&|f| Some(Recovery::first(f, view.span)?.of_window()?.as_secs_f64()))
            }
            Self::ShareRecoveryTime => {
                let interval = run.point.sample()?;
                mean(&|f| {
                    let share = Recovery::first(f, view.span)?.of_share(interval)?;
                    Some(share.as_secs_f64())
                })
            }
            Self::Refill => mean(&|f| Recovery::first(f, view.span)?.of_flight()),
            Self::PathChanges => {
                let changes = view.flows.iter().filter_map(|(_, f)| f.path_changes);
                changes.map(|n| n as f64).reduce(|a, b| a + b)
            }
            Self::Loss => percent(sum(|f| f.lost.total()), sum(|f| f.packets_sent)),
            Self::CongestionLoss => percent(sum(|f| f.lost.congestion()), sum(|f| f.packets_sent)),
            Self::PacketsLost => Some(sum(|f| f.lost.total())),
            Self::RttMean => view.mean_of_all(|f| f.rtt),
            Self::RttP95 => mean(&|f| some(f.rtt).map(|rtt| rtt.p95.as_millis_f64())),
            Self::DelayMean => view.mean_of_all(|f| f.one_way_delay),
            Self::DelayP95 => mean(&|f| some(f.one_way_delay).map(|d| d.p95.as_millis_f64())),
            Self::DelayRatioMean => view.delay_ratio(|delay| delay.mean),
            Self::DelayRatioP95 => view.delay_ratio(|delay| delay.p95),
            Self::QueueDelay => {
                let waits = run
                    .outcome
                    .links
                    .iter()
                    .map(|l| l.mean_wait.as_millis_f64());
                waits.reduce(f64::max)
            }
            Self::CompletionTime => mean(&|f| f.completion.map(|span| span.as_secs_f64())),
            Self::Retransmits => Some(sum(|f| f.retransmits)),
            Self::Timeouts => Some(sum(|f| f.timeouts)),
            Self::BandwidthEstimate => {
                let flows = view.flows.iter().filter_map(|(_, f)| f.aatp.as_ref());
                average(flows.map(|aatp| mbits(aatp.bandwidth)))
            }
            Self::Accuracy => {
                let right = judged(|d| d.congestion_as_congestion + d.random_as_random);
                percent(
                    right,
                    judged(Confusion::random) + judged(Confusion::congestion),
                )
            }
            Self::RandomJudged => Some(judged(Confusion::random)),
            Self::RandomTakenForCongestion => percent(
                judged(|d| d.random_as_congestion),
                judged(Confusion::random),
            ),
            Self::CongestionJudged => Some(judged(Confusion::congestion)),
            Self::CongestionTakenForRandom => percent(
                judged(|d| d.congestion_as_random),
                judged(Confusion::congestion),
            ),
            Self::MessageLatencyP50 => mean(&|f| some(latency(f)).map(|l| l.p50.as_millis_f64())),
            Self::MessageLatencyP95 => mean(&|f| some(latency(f)).map(|l| l.p95.as_millis_f64())),
            Self::MessageLatencyP99 => mean(&|f| some(latency(f)).map(|l| l.p99.as_millis_f64())),
            Self::MessageLatencyMean => view.mean_of_all(latency),
            Self::BlockedMean => view.mean_of_all(blocked),
            Self::BlockedP99 => mean(&|f| some(blocked(f)).map(|b| b.p99.as_millis_f64())),
            Self::MessagesDelivered => {
                let count = |of: fn(&MessageOutcome) -> u64| {
                    let flows = view.flows.iter().filter_map(|(_, f)| f.messages.as_ref());
                    flows.map(of).sum::<u64>() as f64
                };
                percent(count(|m| m.delivered), count(|m| m.arrived))
            }
            Self::NacksSent => nacks(view, |n| n.sent),
            Self::NacksAccepted => nacks(view, |n| n.accepted),
            Self::NacksRefused => nacks(view, |n| n.refused),
            Self::NackResends => nacks(view, |n| n.resent),
            Self::DelayJitter => mean(&|f| some(f.one_way_delay).map(|d| d.jitter.as_millis_f64())),
            Self::MessageJitter => mean(&|f| some(latency(f)).map(|l| l.jitter.as_millis_f64())),
        }
    }
}

/// Of no samples if the flow has no messages.
fn latency(flow: &FlowOutcome) -> Summary {
    let messages = flow.messages.as_ref();
    messages.map(|m| m.latency).unwrap_or_default()
}

/// The same.
fn blocked(flow: &FlowOutcome) -> Summary {
    let messages = flow.messages.as_ref();
    messages.map(|m| m.blocked).unwrap_or_default()
}

/// What a flow put on the wire less this many of its packets, in bytes, packets taken as of equal size.
fn arrived_of(flow: &FlowOutcome, lost: u64) -> Option<f64> {
    let sent = flow.packets_sent as f64;
    let share = 1.0 - lost as f64 / sent;
    (sent > 0.0).then(|| flow.sent_on_wire.get() as f64 * share)
}

/// A count of negative acknowledgments over all flows; none if no transport knows them.
fn nacks(view: &View<'_>, part: fn(&NackCounts) -> u64) -> Option<f64> {
    let flows = view.flows.iter().filter_map(|(_, f)| f.nacks.as_ref());
    let counts: Vec<u64> = flows.map(part).collect();
    (!counts.is_empty()).then(|| counts.iter().sum::<u64>() as f64)
}

fn percent(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| 100.0 * part / whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use whimbrel_sim::scenario::{Point, Scenario};
    use whimbrel_sim::{
        DestinationOutcome, DestinationSample, FlowSample, LinkOutcome, LossCounts, LossEpisode,
        Outcome, Summary,
    };
    use whimbrel_units::{Bytes, Duration, Rate, Time};

    /// 8 Mbit/s, 50 ms one way, out from 2 s to 4 s; two flows; sampled every second.
    const SCENARIO: &str = r#"
[link.L]
rate = "8 Mbit/s"
delay = "50 ms"
loss = { outages = [["2 s", "4 s"]] }
[[flow]]
name = "first"
route = ["L"]
[[flow]]
name = "second"
route = ["L"]
start = "5 s"
[run]
duration = "10 s"
sample = "1 s"
"#;

    fn points(text: &str) -> Scenario {
        Scenario::parse(text, Path::new("a.toml")).expect("a scenario")
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    fn megabit(rate: f64) -> Rate {
        Rate::from_bits_per_sec((rate * 1e6) as u64)
    }

    /// A flow that did nothing from `start` until `end`, in seconds.
    fn idle(name: &str, start: u64, end: u64) -> FlowOutcome {
        FlowOutcome {
            name: name.to_owned(),
            controller: Some("newreno".to_owned()),
            start: at(start),
            active: Duration::from_secs(end - start),
            ..FlowOutcome::default()
        }
    }

    /// Delivers at these rates in Mbit/s, a second each, and sends at twice that; with as many kB of window, and as many
    /// milliseconds between acknowledgments, but for the first second.
    fn sampled(name: &str, start: u64, rates: &[f64]) -> FlowOutcome {
        let end = start + rates.len() as u64;
        let mut sent = 0.0;
        let sample = |(i, rate): (usize, &f64)| FlowSample {
            at: at(start + 1 + i as u64),
            cwnd: Bytes::new((rate * 1000.0) as u64),
            ssthresh: None,
            in_flight: Bytes::ZERO,
            srtt: Duration::ZERO,
            rate: megabit(*rate),
            sent: {
                sent += 2.0 * rate * 125_000.0;
                Bytes::new(sent as u64)
            },
            ack_spacing: (i > 0).then(|| Duration::from_secs_f64(rate * 1e-3)),
            path_changes: None,
            pacing_rate: Some(megabit(2.0 * rate)),
            ..FlowSample::default()
        };
        FlowOutcome {
            samples: rates.iter().enumerate().map(sample).collect(),
            ..idle(name, start, end)
        }
    }

    fn run(point: &Point, flows: Vec<FlowOutcome>) -> Run<'_> {
        Run {
            point,
            seed: 1,
            wall: std::time::Duration::ZERO,
            outcome: Outcome {
                duration: Duration::from_secs(10),
                flows,
                links: Vec::<LinkOutcome>::new(),
                destinations: Vec::new(),
                events: 0,
                delivered_packets: 0,
                one_way_delay: Summary::default(),
            },
        }
    }

    /// What a measure says of a run, by its name; `from` and `to` in seconds.
    fn say(run: &Run<'_>, measure: &str, flows: Option<&str>, part: Option<(u64, u64)>) -> f64 {
        let measure: Measure = measure.parse().expect("a measure");
        let window = part.map(|(from, to)| Window {
            from: at(from),
            to: at(to),
        });
        measure.of(run, flows, window).expect("a number")
    }

    fn assert_near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    }

    #[test]
    fn throughput_is_what_was_put_on_the_wire() {
        let scenario = points(SCENARIO);
        // 5 MB in 10 s are 4 Mbit/s, 1.25 MB in 5 s are 2 Mbit/s; both together 5 Mbit/s over the 10 s.
        let flow = |name, start, bytes, rate| FlowOutcome {
            sent_on_wire: Bytes::new(bytes),
            throughput: megabit(rate),
            ..idle(name, start, 10)
        };
        let flows = vec![
            flow("first", 0, 5_000_000, 4.0),
            flow("second", 5, 1_250_000, 2.0),
        ];
        let run = run(&scenario.points()[0], flows);
        assert_near(say(&run, "total throughput", None, None), 5.0);
        assert_near(say(&run, "mean flow throughput", None, None), 3.0);
        assert_near(say(&run, "total throughput", Some("second"), None), 1.0);
    }

    #[test]
    fn load_is_what_was_sent_and_utilisation_what_of_it_arrived() {
        let scenario = points(SCENARIO);
        // The second flow alone: 8 Mbit/s for 5 s is 5 MB of capacity, 6 MB were sent, a quarter was lost.
        let flow = FlowOutcome {
            sent_on_wire: Bytes::new(6_000_000),
            packets_sent: 4000,
            lost: LossCounts {
                queue_overflow: 900,
                random: 100,
                ..LossCounts::default()
            },
            ..idle("second", 5, 10)
        };
        let run = run(&scenario.points()[0], vec![idle("first", 0, 10), flow]);
        assert_near(say(&run, "offered load", Some("second"), None), 120.0);
        assert_near(say(&run, "utilisation", Some("second"), None), 90.0);
        assert_near(say(&run, "packets lost", None, None), 1000.0);
        assert_near(say(&run, "loss", None, None), 25.0);
        // Beside the first, which sent nothing for 10 s, the load is over 10 s.
        assert_near(say(&run, "offered load", None, None), 60.0);
        assert_eq!(Measure::Utilisation.of(&run, None, None), None);
    }

    #[test]
    fn outages_count_neither_with_their_time_nor_with_what_was_lost_in_them() {
        let scenario = points(SCENARIO);
        // 10 s of sending 8 Mbit/s without a stop: 10 MB in 10,000 packets, 2,000 of them in the outage of 2 s.
        let flow = FlowOutcome {
            sent_on_wire: Bytes::new(10_000_000),
            packets_sent: 10_000,
            throughput: megabit(8.0),
            lost: LossCounts {
                outage: 2_000,
                ..LossCounts::default()
            },
            ..idle("first", 0, 10)
        };
        // As fast, but silent for the whole outage.
        let silent = FlowOutcome {
            sent_on_wire: Bytes::new(8_000_000),
            packets_sent: 8_000,
            throughput: megabit(6.4),
            ..idle("second", 0, 10)
        };
        let run = run(&scenario.points()[0], vec![flow, silent]);
        assert_near(
            say(&run, "throughput outside outages", Some("first"), None),
            8.0,
        );
        assert_near(
            say(&run, "throughput outside outages", Some("second"), None),
            8.0,
        );
    }

    #[test]
    fn a_delay_ratio_is_over_the_propagation_delay_of_the_way() {
        let scenario = points(SCENARIO);
        let flow = |name, p95| FlowOutcome {
            one_way_delay: Summary {
                count: 10,
                mean: Duration::from_millis(55),
                p95: Duration::from_millis(p95),
                ..Summary::default()
            },
            ..idle(name, 0, 10)
        };
        // 1.2 and 2 times 50 ms.
        let run = run(
            &scenario.points()[0],
            vec![flow("first", 60), flow("second", 100)],
        );
        assert_near(say(&run, "delay ratio p95", None, None), 1.6);
        assert_near(say(&run, "delay ratio mean", None, None), 1.1);
    }

    #[test]
    fn in_a_window_rates_are_those_of_its_samples() {
        let scenario = points(SCENARIO);
        let first = sampled(
            "first",
            0,
            &[8.0, 8.0, 0.0, 0.0, 8.0, 6.0, 6.0, 6.0, 6.0, 6.0],
        );
        let second = sampled("second", 5, &[1.0, 2.0, 2.0, 2.0, 2.0]);
        let run = run(&scenario.points()[0], vec![first, second]);
        let at_end = Some((6, 10));
        assert_near(say(&run, "share", Some("first"), at_end), 75.0);
        assert_near(say(&run, "share", Some("second"), at_end), 25.0);
        assert_near(say(&run, "total goodput", None, at_end), 8.0);
        assert_near(say(&run, "mean flow goodput", None, at_end), 4.0);
        // (6 + 2)^2 / (2 (36 + 4)).
        assert_near(say(&run, "jain", None, at_end), 0.8);
        assert_near(say(&run, "sending rate", Some("second"), at_end), 4.0);
        // Before the second began there was only the first; 24 Mbit in 5 s.
        assert_near(say(&run, "total goodput", None, Some((0, 5))), 4.8);
        assert_near(say(&run, "mean flow goodput", None, Some((0, 5))), 4.8);
        assert_near(say(&run, "jain", None, Some((0, 5))), 1.0);
        // From 4 s to 6 s: 14 Mbit in two seconds and 1 Mbit in the only one it was active in.
        assert_near(say(&run, "mean flow goodput", None, Some((4, 6))), 4.0);
    }

    #[test]
    fn in_a_window_what_was_sent_is_what_was_sent_there() {
        let scenario = points(SCENARIO);
        let mut first = sampled(
            "first",
            0,
            &[8.0, 8.0, 0.0, 0.0, 8.0, 6.0, 6.0, 6.0, 6.0, 6.0],
        );
        first.sent_on_wire = Bytes::new(13_500_000);
        first.delivered = Bytes::new(6_750_000);
        first.throughput = megabit(10.8);
        let second = sampled("second", 5, &[1.0, 2.0, 2.0, 2.0, 2.0]);
        let run = run(&scenario.points()[0], vec![first, second]);
        // 12 and 4 Mbit/s for four seconds: 6 MB and 2 MB, of which half is delivered.
        let at_end = Some((6, 10));
        assert_near(say(&run, "transmitted", None, at_end), 8.0);
        assert_near(say(&run, "transmitted", Some("first"), at_end), 6.0);
        assert_near(say(&run, "delivered", None, at_end), 4.0);
        assert_near(say(&run, "total throughput", None, at_end), 16.0);
        assert_near(say(&run, "mean flow throughput", None, at_end), 8.0);
        // From 4 s to 6 s the first sent 28 Mbit in two seconds, the second 2 Mbit in the one in which it was active.
        assert_near(say(&run, "total throughput", None, Some((4, 6))), 15.0);
        assert_near(say(&run, "mean flow throughput", None, Some((4, 6))), 8.0);
        // From the flow's first second on.
        assert_near(say(&run, "transmitted", Some("first"), Some((0, 1))), 2.0);
        assert_near(say(&run, "transmitted", Some("first"), None), 13.5);
        assert_near(say(&run, "delivered", Some("first"), None), 6.75);
        assert_near(say(&run, "total throughput", Some("first"), None), 10.8);
    }

    #[test]
    fn windows_and_the_spacing_of_acknowledgments_are_those_of_the_samples() {
        let scenario = points(SCENARIO);
        let first = sampled("first", 0, &[5.0, 7.0, 3.0, 9.0]);
        let second = sampled("second", 0, &[1.0, 1.0, 1.0, 2.0]);
        let mut run = run(&scenario.points()[0], vec![first, second]);
        assert_near(say(&run, "mean cwnd", Some("first"), None), 6.0);
        assert_near(say(&run, "greatest cwnd", None, None), 9.0);
        assert_near(say(&run, "greatest cwnd", None, Some((0, 3))), 7.0);
        assert_near(say(&run, "least cwnd", None, None), 1.0);
        assert_near(say(&run, "least cwnd", Some("first"), Some((1, 2))), 7.0);
        // 6 and 1.25 kB.
        assert_near(say(&run, "mean cwnd", None, None), 3.625);
        // The first second knows of none: 7, 3, 9 ms, and 1, 1, 2 ms.
        assert_near(
            say(&run, "mean ack spacing", Some("first"), None),
            19.0 / 3.0,
        );
        assert_near(say(&run, "ack spacing jitter", Some("first"), None), 5.0);
        assert_near(say(&run, "ack spacing jitter", None, None), 2.75);
        assert_eq!(Measure::PathChanges.of(&run, None, None), None);
        run.outcome.flows[1].path_changes = Some(3);
        assert_near(say(&run, "path changes", None, None), 3.0);
        run.outcome.flows[0].path_changes = Some(2);
        assert_near(say(&run, "path changes", None, None), 5.0);
    }

    #[test]
    fn recovery_is_measured_of_each_flow_and_of_none_that_does_not_recover() {
        let scenario = points(SCENARIO);
        let loss = |seconds, srtt| LossEpisode {
            at: at(seconds),
            cwnd: Bytes::new(8000),
            in_flight: Bytes::ZERO,
            srtt: Duration::from_secs(srtt),
            reduced: true,
            timeout: false,
            ended: Some(at(seconds + 1)),
        };
        let mut first = sampled("first", 0, &[8.0, 8.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        first.episodes.push(loss(2, 1));
        let mut second = sampled("second", 0, &[8.0, 8.0, 4.0, 6.0, 8.0, 8.0, 8.0]);
        second.episodes.push(loss(2, 3));
        let mut run = run(&scenario.points()[0], vec![first, second]);
        // Lost at 2 s, 7.6 kB again at 7 s and at 5 s.
        assert_near(say(&run, "recovery time", Some("first"), None), 5.0);
        assert_near(say(&run, "recovery time", None, Some((1, 8))), 4.0);
        assert_near(say(&run, "share recovery time", Some("second"), None), 3.0);
        // Nothing was in flight before nor is after the repair: 1 s, of RTTs of 1 s and 3 s.
        assert_near(say(&run, "refill", None, None), 2.0 / 3.0);
        let recovery = |run: &Run<'_>, window| Measure::RecoveryTime.of(run, None, window);
        let until_6 = Window {
            from: at(0),
            to: at(6),
        };
        assert_eq!(recovery(&run, Some(until_6)), None);
        run.outcome.flows[0].episodes.clear();
        assert_eq!(recovery(&run, None), None);
    }

    #[test]
    fn over_the_whole_run_shares_are_of_all_that_was_delivered() {
        let scenario = points(SCENARIO);
        let flow = |name, bytes| FlowOutcome {
            delivered: Bytes::new(bytes),
            ..idle(name, 0, 10)
        };
        let run = run(
            &scenario.points()[0],
            vec![flow("first", 300), flow("second", 100)],
        );
        assert_near(say(&run, "share", Some("first"), None), 75.0);
        assert_near(say(&run, "share", None, None), 100.0);
    }

    #[test]
    fn congestion_loss_is_what_queues_and_collisions_took() {
        let scenario = points(SCENARIO);
        let flow = |name, queue_overflow| FlowOutcome {
            packets_sent: 500,
            lost: LossCounts {
                queue_overflow,
                early: 3,
                contention: 5,
                random: 100,
                ..LossCounts::default()
            },
            ..idle(name, 0, 10)
        };
        let run = run(
            &scenario.points()[0],
            vec![flow("first", 7), flow("second", 27)],
        );
        // 15 and 35 of a thousand.
        assert_near(say(&run, "congestion loss", None, None), 5.0);
        assert_near(say(&run, "congestion loss", Some("second"), None), 7.0);
    }

    #[test]
    fn messages_are_measured_over_those_that_were_delivered() {
        let scenario = points(SCENARIO);
        let summary = |count, mean, p50, p99| Summary {
            count,
            mean: Duration::from_millis(mean),
            p50: Duration::from_millis(p50),
            p99: Duration::from_millis(p99),
            jitter: Duration::from_micros(mean * 100),
            ..Summary::default()
        };
        let flow = |name, arrived, delivered, latency, blocked| FlowOutcome {
            messages: Some(MessageOutcome {
                arrived,
                delivered,
                held: 0,
                latency: summary(delivered, latency, latency + 10, latency * 5),
                blocked: summary(delivered, blocked, 0, blocked * 9),
            }),
            one_way_delay: summary(delivered, latency / 2, 0, 0),
            ..idle(name, 0, 10)
        };
        let flows = vec![
            flow("first", 400, 300, 100, 10),
            flow("second", 100, 100, 200, 50),
        ];
        let both = run(&scenario.points()[0], flows);
        let say = |measure| say(&both, measure, None, None);
        assert_near(say("message latency p50"), 160.0);
        assert_near(say("message latency p99"), 750.0);
        // 300 at 100 ms and 100 at 200 ms; 300 at 10 ms and 100 at 50 ms.
        assert_near(say("message latency mean"), 125.0);
        assert_near(say("blocked mean"), 20.0);
        assert_near(say("blocked p99"), 270.0);
        assert_near(say("messages delivered"), 80.0);
        // A tenth of the mean in each flow: 10 and 20 ms of the messages, 5 and 10 of the packets.
        assert_near(say("message jitter"), 15.0);
        assert_near(say("delay jitter"), 7.5);
        let bulk = run(&scenario.points()[0], vec![idle("first", 0, 10)]);
        for measure in ["message latency p95", "blocked mean", "messages delivered"] {
            let measure: Measure = measure.parse().expect("a measure");
            assert_eq!(measure.of(&bulk, None, None), None);
        }
    }

    #[test]
    fn wrong_decisions_are_counted_by_what_the_losses_really_were() {
        let scenario = points(SCENARIO);
        let flow = |name, congestion_as_random, random_as_congestion| FlowOutcome {
            discrimination: Some(Confusion {
                congestion_as_congestion: 30,
                congestion_as_random,
                random_as_congestion,
                random_as_random: 50,
                spurious: 7,
            }),
            ..idle(name, 0, 10)
        };
        let run = run(
            &scenario.points()[0],
            vec![flow("first", 10, 0), flow("second", 30, 100)],
        );
        assert_near(say(&run, "congestion judged", None, None), 100.0);
        assert_near(say(&run, "congestion taken for random", None, None), 40.0);
        assert_near(say(&run, "random judged", None, None), 200.0);
        assert_near(say(&run, "random taken for congestion", None, None), 50.0);
        // 60 and 100 right of 300.
        assert_near(say(&run, "accuracy", None, None), 100.0 * 160.0 / 300.0);
        assert_near(
            say(&run, "random taken for congestion", Some("first"), None),
            0.0,
        );
    }

    #[test]
    fn nacks_are_counted_over_the_flows_that_know_them() {
        let scenario = points(SCENARIO);
        let flow = |name, nacks| FlowOutcome {
            nacks,
            ..idle(name, 0, 10)
        };
        let counts = NackCounts {
            sent: 9,
            accepted: 7,
            refused: 2,
            resent: 6,
            ..NackCounts::default()
        };
        let flows = vec![flow("first", Some(counts)), flow("second", None)];
        let run = run(&scenario.points()[0], flows);
        for (measure, count) in [
            ("nacks sent", 9.0),
            ("nacks accepted", 7.0),
            ("nacks refused", 2.0),
            ("nack resends", 6.0),
        ] {
            assert_near(say(&run, measure, None, None), count);
        }
        let measure: Measure = "nacks sent".parse().expect("known");
        assert_eq!(measure.of(&run, Some("second"), None), None);
    }

    #[test]
    fn the_slowest_node_says_when_all_are_fair() {
        let scenario = points(SCENARIO);
        let node = |fair_from| DestinationOutcome {
            name: "client".to_owned(),
            mean_fairness: 0.75,
            samples: (1..=10)
                .map(|s| DestinationSample {
                    at: at(s),
                    flows: 2,
                    fairness: if s >= fair_from { 1.0 } else { 0.5 },
                })
                .collect(),
        };
        let mut run = run(&scenario.points()[0], vec![idle("first", 0, 10)]);
        assert_eq!(Measure::ConvergenceTime.of(&run, None, None), None);
        run.outcome.destinations = vec![node(6), node(8)];
        assert_near(say(&run, "convergence time", None, Some((5, 10))), 3.0);
        assert_near(say(&run, "weighted fairness", None, None), 0.75);
        // Samples at 6, 7, 8, 9 s: the first node 1, the second half the time 0.5.
        assert_near(say(&run, "weighted fairness", None, Some((5, 9))), 0.875);
    }
}
