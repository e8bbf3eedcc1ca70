//! What one run showed, in a few numbers.

use crate::point::{Aim, MatrixPoint};
use crate::windows::Windows;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use whimbrel_sim::scenario::Point;
use whimbrel_sim::{FlowOutcome, Network, Outcome, TcpSettings, jain};
use whimbrel_units::Time;

/// Spans over which the capacity of a path is averaged.
const SPANS: u32 = 1000;
/// Windows of fairness are at least this long, seconds, and this many round trips.
const WINDOW: (f64, f64) = (5.0, 50.0);
/// Windows in which shares are judged settled.
const FINE_WINDOW: (f64, f64) = (1.0, 10.0);

/// The measures of each point and controller, in the order of the seeds.
pub type Runs = BTreeMap<(String, String), Vec<Measures>>;

/// What one run showed. Rates are payload in bit/s, times in seconds, everything else fractions.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Measures {
    /// The seed of the run.
    pub seed: u64,
    /// Data that the flows under test delivered, per second of the run.
    pub rate: f64,
    /// The same over what an ideal sender delivers: the path's mean capacity in this run without
    /// headers, lost packets, and what other traffic takes.
    pub efficiency: f64,
    /// 95th percentile of the one-way delay of the flows under test above its minimum, in base
    /// RTTs; of several flows the maximum.
    pub delay: f64,
    /// Mean wait in queues, summed over the links, in base RTTs.
    pub wait: f64,
    /// Packets of the flows under test that queues dropped, of those sent.
    pub overflow: f64,
    /// Packets of the flows under test that were retransmitted, of those sent.
    pub retransmitted: f64,
    /// Goodput of a flow under test over a fair share, mean.
    pub share: f64,
    /// Goodput of another controlled flow, mean; 0 without other flows.
    pub others: f64,
    /// Packets of the other flows that queues dropped, of those sent.
    pub others_overflow: f64,
    /// Payload delivered by all flows over what the links carry.
    pub utilization: f64,
    /// Jain's index of the goodputs of the flows under test.
    pub jain: f64,
    /// Jain's index in windows of at least 5 s and 50 RTTs from the last start on, mean. `None` if
    /// the run was not sampled.
    pub jain_in_windows: Option<f64>,
    /// Seconds from the last start until the shares were fair in three windows in a row; the rest of
    /// the run if they never were. `None` if the run was not sampled.
    pub settled: Option<f64>,
    /// Seconds that the transfer took, mean over the flows under test; the length of the run if
    /// one did not complete.
    pub completion: f64,
    /// Retransmission timeouts of the flows under test.
    pub timeouts: u64,
    /// Packets that the run delivered: its cost.
    pub packets: u64,
    /// Seconds after which the run was stopped, because its flows had sent far more than its links
    /// carry in the whole run; `None`: it was played to its end. The measures are of the part that
    /// was played; a transfer that was not complete counts with the whole run.
    #[serde(default)]
    pub stopped: Option<f64>,
}

impl Measures {
    /// The measures of a run that was played to its end.
    pub fn of(
        matrix: &MatrixPoint,
        point: &Point,
        network: &Network,
        outcome: &Outcome,
        seed: u64,
    ) -> Self {
        Self::of_part(matrix, point, network, outcome, seed, false)
    }

    /// The measures of a run that may have been stopped before its end.
    pub(crate) fn of_part(
        matrix: &MatrixPoint,
        point: &Point,
        network: &Network,
        outcome: &Outcome,
        seed: u64,
        stopped: bool,
    ) -> Self {
        let under_test = matrix.under_test(point);
        let pick = |wanted: bool| -> Vec<&FlowOutcome> {
            let flows = outcome.flows.iter().zip(&under_test);
            flows
                .filter(|(_, is)| **is == wanted)
                .map(|(flow, _)| flow)
                .collect()
        };
        let tested = pick(true);
        let others: Vec<&FlowOutcome> = pick(false)
            .into_iter()
            .filter(|flow| flow.controller.is_some())
            .collect();
        let seconds = outcome.duration.as_secs_f64().max(1e-9);
        let rtt = matrix.rtt.as_secs_f64();
        let bits = |flows: &[&FlowOutcome]| -> f64 {
            flows
                .iter()
                .map(|flow| flow.delivered.get() as f64 * 8.0)
                .sum()
        };
        let rate = bits(&tested) / seconds;
        let capacity = point
            .capacity()
            .map_or(0.0, |rate| rate.as_bits_per_sec() as f64)
            * payload();
        let controlled = (tested.len() + others.len()).max(1) as f64;
        let goodput = |flow: &&FlowOutcome| flow.goodput.as_bits_per_sec() as f64;
        let fair = capacity / controlled;
        let delay = |flow: &&FlowOutcome| {
            let one_way = &flow.one_way_delay;
            one_way.p95.as_secs_f64() - one_way.min.as_secs_f64()
        };
        let wait: f64 = outcome
            .links
            .iter()
            .map(|link| link.mean_wait.as_secs_f64())
            .sum();
        let last = tested
            .iter()
            .map(|flow| flow.start)
            .max()
            .unwrap_or(Time::ZERO);
        let last = last.as_secs_f64();
        let windows =
            |(least, rtts): (f64, f64)| Windows::of(&tested, last, f64::max(least, rtts * rtt));
        let fine = windows(FINE_WINDOW);
        let sampled = !fine.delivered.is_empty();
        let end = match stopped {
            true => network.duration.as_secs_f64(),
            false => seconds,
        };
        let completion =
            |flow: &&FlowOutcome| flow.completion.map_or(end, |time| time.as_secs_f64());
        Self {
            seed,
            rate,
            efficiency: over(rate, ideal(matrix, point, network)),
            delay: over(tested.iter().map(delay).fold(0.0, f64::max), rtt),
            wait: over(wait, rtt),
            overflow: lost(&tested),
            retransmitted: of_sent(&tested, |flow| flow.retransmits),
            share: over(mean(tested.iter().map(goodput)), fair),
            others: mean(others.iter().map(goodput)),
            others_overflow: lost(&others),
            utilization: over(
                bits(&outcome.flows.iter().collect::<Vec<_>>()) / seconds,
                capacity,
            ),
            jain: jain(tested.iter().map(goodput)),
            jain_in_windows: windows(WINDOW).mean_jain(),
            settled: sampled.then(|| fine.settled().unwrap_or(end - last)),
            completion: mean(tested.iter().map(completion)),
            timeouts: tested.iter().map(|flow| flow.timeouts).sum(),
            packets: outcome.delivered_packets,
            stopped: stopped.then_some(seconds),
        }
    }

    /// The mean of each measure over runs; `None` without runs. The seed is 0. `stopped` is the mean
    /// over those that were stopped.
    pub fn mean(runs: &[Self]) -> Option<Self> {
        let n = runs.len();
        if n == 0 {
            return None;
        }
        let of = |get: fn(&Self) -> f64| mean(runs.iter().map(get));
        let of_some = |get: fn(&Self) -> Option<f64>| {
            let some: Vec<f64> = runs.iter().filter_map(get).collect();
            (some.len() == n).then(|| mean(some.into_iter()))
        };
        let stopped: Vec<f64> = runs.iter().filter_map(|m| m.stopped).collect();
        Some(Self {
            seed: 0,
            rate: of(|m| m.rate),
            efficiency: of(|m| m.efficiency),
            delay: of(|m| m.delay),
            wait: of(|m| m.wait),
            overflow: of(|m| m.overflow),
            retransmitted: of(|m| m.retransmitted),
            share: of(|m| m.share),
            others: of(|m| m.others),
            others_overflow: of(|m| m.others_overflow),
            utilization: of(|m| m.utilization),
            jain: of(|m| m.jain),
            jain_in_windows: of_some(|m| m.jain_in_windows),
            settled: of_some(|m| m.settled),
            completion: of(|m| m.completion),
            timeouts: runs.iter().map(|m| m.timeouts).sum::<u64>() / n as u64,
            packets: runs.iter().map(|m| m.packets).sum::<u64>() / n as u64,
            stopped: (!stopped.is_empty()).then(|| mean(stopped.into_iter())),
        })
    }
}

/// The payload of a full packet, as a fraction of it.
fn payload() -> f64 {
    let TcpSettings { mss, header, .. } = TcpSettings::default();
    mss.get() as f64 / (mss + header).get() as f64
}

/// What an ideal sender delivers, bit/s.
fn ideal(matrix: &MatrixPoint, point: &Point, network: &Network) -> f64 {
    let (lost, taken) = match matrix.aim {
        Aim::Fill { lost, taken, .. } => (lost, taken),
        Aim::Own { lost, .. } => (lost, 0.0),
        Aim::Share { .. } | Aim::Completion { .. } => (0.0, 0.0),
    };
    let shares_one_link = matrix.under_test(point).iter().filter(|is| **is).count() == 1;
    let whole = match capacity(matrix, point, network).filter(|_| shares_one_link) {
        Some(own) => own,
        None => point
            .capacity()
            .map_or(0.0, |rate| rate.as_bits_per_sec() as f64),
    };
    (whole - taken).max(0.0) * payload() * (1.0 - lost)
}

/// The mean capacity of the first tested flow's path in this run, which may draw it: outages and
/// hand-overs included.
fn capacity(matrix: &MatrixPoint, point: &Point, network: &Network) -> Option<f64> {
    let first = matrix.under_test(point).iter().position(|is| *is)?;
    let route = network.flows.get(first)?.routes.first()?;
    let end = Time::ZERO + network.duration;
    let steps = network.path_capacity(route, end, SPANS)?;
    let ends = steps.iter().skip(1).map(|(at, _)| *at).chain([end]);
    let bits: f64 = steps
        .iter()
        .zip(ends)
        .map(|((from, rate), to)| rate.as_bits_per_sec() as f64 * to.since(*from).as_secs_f64())
        .sum();
    Some(bits / network.duration.as_secs_f64())
}

fn lost(flows: &[&FlowOutcome]) -> f64 {
    of_sent(flows, |flow| flow.lost.congestion())
}

fn of_sent(flows: &[&FlowOutcome], count: impl Fn(&FlowOutcome) -> u64) -> f64 {
    let sent: u64 = flows.iter().map(|flow| flow.packets_sent).sum();
    let counted: u64 = flows.iter().map(|flow| count(flow)).sum();
    over(counted as f64, sent as f64)
}

/// A quotient; 0 if the divisor is 0.
fn over(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    over(sum, n)
}
