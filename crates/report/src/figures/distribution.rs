//! Cumulative distributions of delays of packets and messages, and of goodput and completion times
//! of flows.

use super::over_time::series;
use super::setting::{Setting, middle, settings};
use super::shown::{beside, shown};
use crate::figure::{Axis, Figure, Form, Panel, Plot, Series};
use crate::thin::{Point, shorten};
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{Distribution, Distributions, FlowOutcome, FlowSpec, Traffic};

/// Minimum number of flows of a distribution.
const LEAST: usize = 5;
/// If the ratio of the maximum to the minimum is larger, the axis is logarithmic.
const WIDE: f64 = 20.0;
/// Maximum number of steps of a line.
const STEPS: usize = 400;

/// What is distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delays {
    /// Round-trip times, one for each sample.
    Rtt,
    /// One-way delays of data packets.
    OneWay,
    /// Latencies of messages.
    Messages,
}

impl Delays {
    fn of(self, all: &Distributions) -> &Distribution {
        match self {
            Self::Rtt => &all.rtt,
            Self::OneWay => &all.one_way_delay,
            Self::Messages => &all.message_latency,
        }
    }

    /// Id, title, axis and what is counted.
    const fn words(self) -> [&'static str; 4] {
        match self {
            Self::Rtt => ["rtt-cdf", "Round-trip times", "RTT", "RTT samples"],
            Self::OneWay => ["delay-cdf", "One-way delays", "one-way delay", "packets"],
            Self::Messages => ["message-cdf", "Latency of messages", "latency", "messages"],
        }
    }
}

/// The distributions of a setting's sampled flows with its first seed. `None` if there are none.
pub fn delays(setting: &Setting<'_>, of: Delays) -> Option<Figure> {
    let all = shown(setting)?;
    let [id, title, axis, counted] = of.words();
    let mut lines: Vec<Series> = Vec::new();
    for s in &all.shown {
        // The distributions of a connection cover all its paths.
        let label = match s.path {
            Some(_) => beside(s.run, s.protocol),
            None => s.label.clone(),
        };
        let known = lines.iter().any(|line| line.label == label);
        let Some(distributions) = s.flow.distributions.as_ref().filter(|_| !known) else {
            continue;
        };
        let place = |(share, delay): &(u32, whimbrel_units::Duration)| {
            [delay.as_millis_f64(), f64::from(*share) * 1e-4]
        };
        let places: Vec<Point> = of.of(distributions).quantiles.iter().map(place).collect();
        if !places.is_empty() {
            lines.push(series(Some(s.protocol), &label, Form::Line, level(places)));
        }
    }
    (!lines.is_empty()).then(|| {
        let caption = format!(
            "The fraction of the {counted} with at most this value. {}",
            all.chosen
        );
        let x = axis_of(axis, "ms", &lines);
        cdf(id, setting.titled(title), caption, x, counted, lines)
    })
}

/// The distributions of goodput and completion time over all flows and seeds of the middle setting,
/// if there are enough flows.
pub fn of_flows(runs: &[&Run<'_>]) -> Vec<Figure> {
    let all = settings(runs);
    let Some(setting) = middle(&all) else {
        return Vec::new();
    };
    let goodput =
        |f: &FlowOutcome, _: &FlowSpec| Some(Some(f.goodput.as_bits_per_sec() as f64 * 1e-6));
    let completion = |f: &FlowOutcome, spec: &FlowSpec| match f.completion {
        Some(span) => Some(Some(span.as_secs_f64())),
        None => has_end(spec).then_some(None),
    };
    let figures = [
        flows(
            setting,
            "goodput-cdf",
            "Goodput of flows",
            ("goodput", "Mbit/s"),
            &goodput,
        ),
        flows(
            setting,
            "completion-cdf",
            "Completion times",
            ("done in", "s"),
            &completion,
        ),
    ];
    figures.into_iter().flatten().collect()
}

fn flows(
    setting: &Setting<'_>,
    id: &str,
    title: &str,
    (axis, unit): (&str, &str),
    of: &dyn Fn(&FlowOutcome, &FlowSpec) -> Option<Option<f64>>,
) -> Option<Figure> {
    let mut all: Vec<Group> = Vec::new();
    for run in &setting.runs {
        let network = run.point.network(run.seed);
        for (flow, spec) in run.outcome.flows.iter().zip(&network.flows) {
            let (Some(protocol), Some(value)) = (&flow.controller, of(flow, spec)) else {
                continue;
            };
            let label = beside(run, protocol);
            let known = all.iter().position(|group| group.label == label);
            let known = known.unwrap_or_else(|| {
                all.push(Group {
                    label,
                    protocol: protocol.clone(),
                    flows: 0,
                    values: Vec::new(),
                });
                all.len() - 1
            });
            all[known].flows += 1;
            all[known].values.extend(value);
        }
    }
    all.retain(|group| group.flows >= LEAST);
    let missing = all.iter().filter(|group| group.values.len() < group.flows);
    let missing = missing.map(|group| {
        let (some, all) = (group.values.len(), group.flows);
        format!("{some} of {all} of {}", group.label)
    });
    let missing: Vec<String> = missing.collect();
    all.retain(|group| !group.values.is_empty());
    let line = |group: &mut Group| {
        group.values.sort_by(f64::total_cmp);
        let steps = steps(&group.values, group.flows);
        series(Some(&group.protocol), &group.label, Form::Steps, steps)
    };
    let lines: Vec<Series> = all.iter_mut().map(line).collect();
    (!lines.is_empty()).then(|| {
        let mut caption =
            "The fraction of the flows with at most this value, over all flows and seeds."
                .to_owned();
        if !missing.is_empty() {
            caption += &format!(" Not all completed: {}.", missing.join(", "));
        }
        let x = axis_of(axis, unit, &lines);
        cdf(id, setting.titled(title), caption, x, "flows", lines)
    })
}

/// The flows of a line.
struct Group {
    label: String,
    protocol: String,
    /// How many there are.
    flows: usize,
    /// The values of those that have one.
    values: Vec<f64>,
}

/// Whether a flow has so much data that it completes in a run that is long enough.
fn has_end(flow: &FlowSpec) -> bool {
    match &flow.traffic {
        Traffic::Tcp(tcp) => match &tcp.streams.messages {
            Some(messages) => messages.count.is_some(),
            None => tcp.size.is_some(),
        },
        Traffic::Aatp(aatp) => aatp.size.is_some(),
        Traffic::Udp(_) => false,
    }
}

/// The cumulative distribution of values in order, with a step at each value or at some of them. Of
/// the `n` items some may have no value: the last step is below 100 % then.
fn steps(values: &[f64], n: usize) -> Vec<Point> {
    let count = values.len();
    let each = count.div_ceil(STEPS);
    let last = |i: usize| (i + 1).is_multiple_of(each) || i + 1 == count;
    let step =
        |(i, value): (usize, &f64)| last(i).then(|| [*value, 100.0 * (i + 1) as f64 / n as f64]);
    let begin = values.first().map(|least| [*least, 0.0]);
    begin
        .into_iter()
        .chain(values.iter().enumerate().filter_map(step))
        .collect()
}

/// The points without those between the first and the last of equal values.
fn level(places: Vec<Point>) -> Vec<Point> {
    let same = |i: usize, j: usize| places.get(j).is_some_and(|p| p[0] == places[i][0]);
    let needed = |i: usize| i == 0 || !same(i, i - 1) || !same(i, i + 1);
    (0..places.len())
        .filter(|i| needed(*i))
        .map(|i| places[i])
        .collect()
}

fn axis_of(label: &str, unit: &str, lines: &[Series]) -> Axis {
    let values = || lines.iter().flat_map(|line| &line.points).map(|p| p[0]);
    let least = values().fold(f64::INFINITY, f64::min);
    Axis {
        log: least > 0.0 && values().fold(0.0, f64::max) > WIDE * least,
        ..Axis::new(label, unit)
    }
}

fn cdf(
    id: &str,
    title: String,
    caption: String,
    x: Axis,
    counted: &str,
    series: Vec<Series>,
) -> Figure {
    shorten(Figure {
        id: id.to_owned(),
        title,
        caption,
        plot: Plot::Panels {
            x,
            panels: vec![Panel {
                y: Axis::new(format!("fraction of the {counted}"), "%"),
                series,
            }],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_steps_at_each_value() {
        let found = steps(&[1.0, 2.0, 2.0, 7.0], 4);
        let expected = [
            [1.0, 0.0],
            [1.0, 25.0],
            [2.0, 50.0],
            [2.0, 75.0],
            [7.0, 100.0],
        ];
        assert_eq!(found, expected);
        let many: Vec<f64> = (0..10_000).map(f64::from).collect();
        let found = steps(&many, many.len());
        assert!(found.len() <= STEPS + 2);
        assert_eq!(found.last(), Some(&[9999.0, 100.0]));
    }

    #[test]
    fn what_does_not_change_needs_two_places() {
        let flat = vec![[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [3.0, 3.0], [3.0, 4.0]];
        assert_eq!(
            level(flat),
            [[1.0, 0.0], [1.0, 2.0], [3.0, 3.0], [3.0, 4.0]]
        );
    }
}
