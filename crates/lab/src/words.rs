//! What a run measured, as the page's table and its summary have it.

use serde::Serialize;
use std::cmp::Reverse;
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{FlowOutcome, jain};
use whimbrel_study::under_test::{TESTED, goodput};
use whimbrel_units::Rate;

/// What one run measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Numbers {
    /// Goodput of the flows of the algorithm, bit/s.
    pub goodput_bps: f64,
    /// Goodput of the neighbours, bit/s; `None` without neighbours.
    pub neighbours_bps: Option<f64>,
    /// Goodput of the algorithm over the capacity of the link; `None` if that is not limited.
    pub utilization: Option<f64>,
    /// Mean wait in the queue of the link, s.
    pub queue_delay_s: f64,
    /// 95th percentile of the RTT of the algorithm's flows, s; `None` if none was measured.
    pub rtt_p95_s: Option<f64>,
    /// Packets of the algorithm that were lost for any cause, over those sent.
    pub loss: f64,
    /// Retransmission timeouts of the algorithm's flows.
    pub timeouts: u64,
    /// Jain's index over all flows of the run; `None` for a single flow.
    pub jain: Option<f64>,
    /// Fraction of correct decisions on the causes of losses, if the algorithm decides and there
    /// were losses.
    pub accuracy: Option<f64>,
    /// Path changes that the algorithm detected, if it looks for them.
    pub path_changes: Option<u64>,
    /// The goodput of each flow by its controller, bit/s.
    pub flows: Vec<(String, f64)>,
}

impl Numbers {
    /// What this run measured. `beside`: only the flows under test are the algorithm's.
    pub fn of(run: &Run<'_>, beside: bool) -> Self {
        let outcome = &run.outcome;
        let all = || outcome.flows.iter();
        let own: Vec<&FlowOutcome> = all()
            .filter(|flow| !beside || flow.name.name == TESTED)
            .collect();
        let own_goodput = goodput(beside, run);
        let capacity = run.point.capacity().map(|rate| rate.as_bits_per_sec());
        let sent: u64 = own.iter().map(|flow| flow.packets_sent).sum();
        let lost: u64 = own.iter().map(|flow| flow.lost.total()).sum();
        let rtts: Vec<f64> = own
            .iter()
            .filter(|flow| flow.rtt.count > 0)
            .map(|flow| flow.rtt.p95.as_secs_f64())
            .collect();
        let waits = outcome.links.iter().map(|link| link.mean_wait);
        let mut decisions = whimbrel_sim::Confusion::default();
        for of_flow in own.iter().filter_map(|flow| flow.discrimination) {
            decisions += of_flow;
        }
        let right = decisions.congestion_as_congestion + decisions.random_as_random;
        let wrong = decisions.congestion_as_random + decisions.random_as_congestion;
        let changes = own.iter().filter_map(|flow| flow.path_changes);
        let goodputs = || all().map(|flow| flow.goodput.as_bits_per_sec() as f64);
        Self {
            goodput_bps: own_goodput,
            neighbours_bps: beside.then(|| goodput(false, run) - own_goodput),
            utilization: capacity
                .filter(|capacity| *capacity > 0)
                .map(|capacity| own_goodput / capacity as f64),
            queue_delay_s: waits.max().unwrap_or_default().as_secs_f64(),
            rtt_p95_s: (!rtts.is_empty()).then(|| rtts.iter().sum::<f64>() / rtts.len() as f64),
            loss: if sent == 0 {
                0.0
            } else {
                lost as f64 / sent as f64
            },
            timeouts: own.iter().map(|flow| flow.timeouts).sum(),
            jain: (outcome.flows.len() > 1).then(|| jain(goodputs())),
            accuracy: (right + wrong > 0).then(|| right as f64 / (right + wrong) as f64),
            path_changes: changes.reduce(|a, b| a + b),
            flows: all()
                .map(|flow| flow.controller.clone().unwrap_or_default())
                .zip(goodputs())
                .collect(),
        }
    }
}

/// The results in a sentence or two, for eyes and for a screen reader: the fastest first.
pub fn summary<'a>(
    all: impl Iterator<Item = (&'a str, &'a Numbers)>,
    capacity: Option<Rate>,
    beside: bool,
) -> String {
    let mut all: Vec<(&str, &Numbers)> = all.collect();
    all.sort_by_key(|(_, numbers)| Reverse(numbers.goodput_bps as u64));
    let of = capacity.map_or(String::new(), |rate| {
        format!(" of {}", rate_text(rate.as_bits_per_sec() as f64))
    });
    let one = |(name, numbers): &(&str, &Numbers)| {
        let others = match numbers.neighbours_bps {
            Some(others) if beside => format!(", its neighbours {}", rate_text(others)),
            _ => String::new(),
        };
        format!("{name} {}{others}", rate_text(numbers.goodput_bps))
    };
    let separator = if beside { "; " } else { ", " };
    let list: Vec<String> = all.iter().map(one).collect();
    let speeds = format!("{}{of}.", list.join(separator));
    let longest = all
        .iter()
        .max_by(|a, b| a.1.queue_delay_s.total_cmp(&b.1.queue_delay_s));
    let shortest = all
        .iter()
        .min_by(|a, b| a.1.queue_delay_s.total_cmp(&b.1.queue_delay_s));
    match (longest, shortest) {
        (Some(longest), Some(shortest)) if all.len() > 1 => format!(
            "{speeds} Mean wait in the queue: {} with {}, {} with {}.",
            wait_text(shortest.1.queue_delay_s),
            shortest.0,
            wait_text(longest.1.queue_delay_s),
            longest.0
        ),
        (Some((_, only)), _) => format!(
            "{speeds} Mean wait in the queue: {}.",
            wait_text(only.queue_delay_s)
        ),
        _ => speeds,
    }
}

/// A rate with three digits: `1.87 Mbit/s`.
pub fn rate_text(bps: f64) -> String {
    let (size, unit) = match bps {
        b if b >= 1e9 => (1e9, "Gbit/s"),
        b if b >= 1e6 => (1e6, "Mbit/s"),
        _ => (1e3, "kbit/s"),
    };
    let value = bps / size;
    let decimals = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

fn wait_text(seconds: f64) -> String {
    match seconds * 1e3 {
        ms if ms >= 10.0 => format!("{ms:.0} ms"),
        ms => format!("{ms:.1} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(goodput_bps: f64, queue_delay_s: f64) -> Numbers {
        Numbers {
            goodput_bps,
            neighbours_bps: None,
            utilization: None,
            queue_delay_s,
            rtt_p95_s: None,
            loss: 0.0,
            timeouts: 0,
            jain: None,
            accuracy: None,
            path_changes: None,
            flows: Vec::new(),
        }
    }

    #[test]
    fn a_summary_has_the_fastest_first_and_the_queues_extremes() {
        let (slow, fast) = (numbers(1.87e6, 0.0004), numbers(17.84e6, 0.0213));
        let all = [("cubic", &slow), ("whimbrel", &fast)];
        let rate = Rate::from_bits_per_sec(20_000_000);
        assert_eq!(
            summary(all.into_iter(), Some(rate), false),
            "whimbrel 17.8 Mbit/s, cubic 1.87 Mbit/s of 20.0 Mbit/s. Mean wait in the queue: \
             0.4 ms with cubic, 21 ms with whimbrel."
        );
    }

    #[test]
    fn a_summary_names_what_neighbours_have() {
        let one = Numbers {
            neighbours_bps: Some(5e5),
            ..numbers(9.5e6, 0.02)
        };
        let text = summary([("bbr", &one)].into_iter(), None, true);
        assert!(
            text.starts_with("bbr 9.50 Mbit/s, its neighbours 500 kbit/s."),
            "{text}"
        );
    }

    #[test]
    fn rates_have_three_digits() {
        assert_eq!(rate_text(99.96e6), "100 Mbit/s");
        assert_eq!(rate_text(9.996e6), "10.0 Mbit/s");
        assert_eq!(rate_text(1.234e9), "1.23 Gbit/s");
        assert_eq!(rate_text(0.0), "0.00 kbit/s");
    }
}
