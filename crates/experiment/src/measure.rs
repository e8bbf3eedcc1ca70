//! What can be measured of a run.

use std::str::FromStr;
use whimbrel_sim::FlowOutcome;
use whimbrel_sim::scenario::fields::unknown;
use whimbrel_sim::sweep::Run;

/// A quantity of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Goodput of all flows together, over the run.
    TotalGoodput,
    /// Mean over the flows of each one's goodput while it was active.
    MeanFlowGoodput,
    /// Jain's index of the flows' goodput.
    Jain,
    /// Data packets lost for any cause, over data packets sent.
    Loss,
    /// Mean of all RTT samples.
    RttMean,
    /// 95th percentile of the RTT, mean over the flows.
    RttP95,
    /// Mean one-way delay of the data packets.
    DelayMean,
    /// 95th percentile of the one-way delay, mean over the flows.
    DelayP95,
    /// Mean wait in the queue that was longest.
    QueueDelay,
    /// Mean time from a flow's start to its completion; nothing if one did not complete.
    CompletionTime,
    /// Data packets sent again.
    Retransmits,
    /// Times a retransmission timer fired.
    Timeouts,
    /// Share of right decisions on losses.
    Accuracy,
}

/// All measures, as they are written and with their units.
const ALL: [(&str, &str, Measure); 13] = [
    ("total goodput", "Mbit/s", Measure::TotalGoodput),
    ("mean flow goodput", "Mbit/s", Measure::MeanFlowGoodput),
    ("jain", "", Measure::Jain),
    ("loss", "%", Measure::Loss),
    ("rtt mean", "ms", Measure::RttMean),
    ("rtt p95", "ms", Measure::RttP95),
    ("delay mean", "ms", Measure::DelayMean),
    ("delay p95", "ms", Measure::DelayP95),
    ("queue delay", "ms", Measure::QueueDelay),
    ("completion time", "s", Measure::CompletionTime),
    ("retransmits", "packets", Measure::Retransmits),
    ("timeouts", "", Measure::Timeouts),
    ("accuracy", "%", Measure::Accuracy),
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
    /// Its unit; empty if it has none.
    pub fn unit(self) -> &'static str {
        ALL.iter()
            .find(|(.., measure)| *measure == self)
            .map_or("", |(_, unit, _)| unit)
    }

    /// Its value in a run, of the flows whose controller or name is `flows`, or of all; `None` if the run has none.
    pub fn of(self, run: &Run<'_>, flows: Option<&str>) -> Option<f64> {
        let outcome = &run.outcome;
        let chosen: Vec<&FlowOutcome> = outcome
            .flows
            .iter()
            .filter(|flow| flows.is_none_or(|name| is_called(flow, name)))
            .collect();
        if chosen.is_empty() {
            return None;
        }
        let sum =
            |what: fn(&FlowOutcome) -> u64| chosen.iter().map(|f| what(f)).sum::<u64>() as f64;
        let mean = |what: &dyn Fn(&FlowOutcome) -> Option<f64>| {
            let values: Option<Vec<f64>> = chosen.iter().map(|f| what(f)).collect();
            values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
        };
        let percent = |part: f64, whole: f64| (whole > 0.0).then(|| 100.0 * part / whole);
        match self {
            Self::TotalGoodput => {
                let seconds = outcome.duration.as_secs_f64();
                (seconds > 0.0).then(|| sum(|f| f.delivered.get()) * 8e-6 / seconds)
            }
            Self::MeanFlowGoodput => mean(&|f| Some(f.goodput.as_bits_per_sec() as f64 * 1e-6)),
            Self::Jain => Some(jain(&chosen)),
            Self::Loss => percent(sum(|f| f.lost.total()), sum(|f| f.packets_sent)),
            Self::RttMean => {
                let weighted: f64 = chosen
                    .iter()
                    .map(|f| f.rtt.mean.as_millis_f64() * f.rtt.count as f64)
                    .sum();
                let count = sum(|f| f.rtt.count);
                (count > 0.0).then(|| weighted / count)
            }
            Self::RttP95 => mean(&|f| (f.rtt.count > 0).then(|| f.rtt.p95.as_millis_f64())),
            Self::DelayMean => {
                let weighted = |f: &&FlowOutcome| {
                    f.one_way_delay.mean.as_millis_f64() * f.one_way_delay.count as f64
                };
                let count = sum(|f| f.one_way_delay.count);
                (count > 0.0).then(|| chosen.iter().map(weighted).sum::<f64>() / count)
            }
            Self::DelayP95 => {
                mean(&|f| (f.one_way_delay.count > 0).then(|| f.one_way_delay.p95.as_millis_f64()))
            }
            Self::QueueDelay => outcome
                .links
                .iter()
                .map(|l| l.mean_wait.as_millis_f64())
                .reduce(f64::max),
            Self::CompletionTime => mean(&|f| f.completion.map(|span| span.as_secs_f64())),
            Self::Retransmits => Some(sum(|f| f.retransmits)),
            Self::Timeouts => Some(sum(|f| f.timeouts)),
            Self::Accuracy => {
                let told = || chosen.iter().filter_map(|f| f.discrimination);
                let right: u64 = told()
                    .map(|d| d.congestion_as_congestion + d.random_as_random)
                    .sum();
                let wrong: u64 = told()
                    .map(|d| d.congestion_as_random + d.random_as_congestion)
                    .sum();
                percent(right as f64, (right + wrong) as f64)
            }
        }
    }
}

/// `cerl` is the controller of some flows; `web` the name of `web` or `web #3`.
fn is_called(flow: &FlowOutcome, name: &str) -> bool {
    let own = flow
        .name
        .split_once(" #")
        .map_or(flow.name.as_str(), |(own, _)| own);
    own == name || flow.controller.as_deref() == Some(name)
}

fn jain(flows: &[&FlowOutcome]) -> f64 {
    let rates = || flows.iter().map(|f| f.goodput.as_bits_per_sec() as f64);
    let squares: f64 = rates().map(|r| r * r).sum();
    if squares == 0.0 {
        1.0
    } else {
        rates().sum::<f64>().powi(2) / (flows.len() as f64 * squares)
    }
}
