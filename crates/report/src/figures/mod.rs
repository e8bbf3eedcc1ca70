//! Figures of runs.
//!
//! [`figures()`] returns all that apply to any runs. The parts of this module return each of them
//! alone, of chosen runs, so that an experiment can have the figures of its paper.
//!
//! Runs that differ only in their controllers are a [setting](Setting): within one, behaviour over
//! time is comparable. A sweep has too many settings to show all of them over time, so some are
//! chosen, and captions say which.

pub mod choose;
mod confusion;
mod distribution;
mod events;
mod heat_maps;
mod measured;
mod over_time;
mod plot;
mod race;
mod response;
mod sequence;
mod series;
mod setting;
mod shares;
mod shown;
mod sweep;
mod swept;
#[cfg(test)]
mod tests;
mod tradeoff;

pub use confusion::confusion;
pub use distribution::{Delays, delays, of_flows};
pub use heat_maps::{HeatAxis, HeatMap, heat_maps};
pub use measured::measured;
pub use over_time::{Look, over_time};
pub use plot::plot;
pub use race::{Racer, race};
pub use response::{Response, response};
pub use sequence::sequence;
pub use setting::{Setting, evenly, is_called, is_controller, settings};
pub use shares::shares;
pub use sweep::{Cell, Measured, heat, lines};
pub use swept::Swept;
pub use tradeoff::tradeoff;

use crate::figure::{Axis, Figure, Plot};
use setting::middle;
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{Confusion, FlowOutcome};

/// At most this many settings are shown over time.
const SETTINGS: usize = 3;
/// At most this many algorithms share a figure over time, if there are more.
const TOGETHER: usize = 4;
/// At most this many keys of a sweep have a figure of their own.
const KEYS: usize = 4;

/// All figures that apply to these runs. Those over time are of `sampled`, which are some of the
/// runs with samples.
pub fn figures(runs: &[Run<'_>], sampled: &[Run<'_>]) -> Vec<Figure> {
    let mut all = unnumbered(runs, sampled);
    number(&mut all);
    all
}

/// The same, but ids may repeat: for callers that put other figures in front and then call
/// [`number`].
pub fn unnumbered(runs: &[Run<'_>], sampled: &[Run<'_>]) -> Vec<Figure> {
    let runs: Vec<&Run<'_>> = runs.iter().collect();
    let sampled: Vec<&Run<'_>> = sampled.iter().collect();
    // What a sweep is about comes first.
    let mut all = sweeps(&runs);
    let with_time = evenly(settings(&sampled), SETTINGS);
    for setting in &with_time {
        all.extend(over_time_in_parts(setting));
    }
    for setting in &with_time {
        all.extend(shares(setting));
    }
    all.extend(tradeoff(&runs));
    if let Some(setting) = middle(&with_time) {
        all.extend(sequence(setting));
        all.extend(
            [Delays::Rtt, Delays::OneWay, Delays::Messages]
                .map(|of| delays(setting, of))
                .into_iter()
                .flatten(),
        );
    }
    all.extend(of_flows(&runs));
    all.extend(confusion(&runs));
    all
}

/// Figures over time: of many algorithms one for each few, because many lines in one panel cannot
/// be read. All parts have the same algorithms' colours.
fn over_time_in_parts(setting: &Setting<'_>) -> Vec<Figure> {
    let points: Vec<&[&Run<'_>]> = setting
        .runs
        .chunk_by(|a, b| std::ptr::eq(a.point, b.point))
        .collect();
    if points.len() <= TOGETHER + 2 {
        return over_time(setting, &Look::USUAL).into_iter().collect();
    }
    let count = points.len();
    let part = |(i, runs): (usize, &[&[&'_ Run<'_>]])| {
        let part = Setting {
            runs: runs.concat(),
            ..setting.clone()
        };
        let mut figure = over_time(&part, &Look::USUAL)?;
        let (first, last) = (i * TOGETHER + 1, i * TOGETHER + runs.len());
        figure.title += &format!(", {first} to {last} of {count}");
        Some(figure)
    };
    points
        .chunks(TOGETHER)
        .enumerate()
        .filter_map(part)
        .collect()
}

/// Whether a figure shows single runs over time, so that it may leave algorithms out.
pub fn is_over_time(figure: &Figure) -> bool {
    matches!(&figure.plot, Plot::Panels { x, .. } if x.label == "time" && x.unit == "s")
}

/// Figures over each key of the sweep, and over the first two together.
fn sweeps(runs: &[&Run<'_>]) -> Vec<Figure> {
    let keys = Swept::of(runs);
    let usual = [goodput(runs), delay(runs), loss(runs)];
    let usual: Vec<&Measured> = usual.iter().flatten().collect();
    let decided = [balanced(runs)];
    let decided: Vec<&Measured> = decided.iter().flatten().collect();
    let mut all = Vec::new();
    for key in keys.iter().take(KEYS) {
        for measured in [&usual, &decided] {
            all.extend(lines(key, &keys, measured));
        }
    }
    if let [x, y, ..] = keys.as_slice() {
        let used = utilization(runs).or_else(|| goodput(runs));
        let measured = used.iter().chain(decided);
        all.extend(measured.filter_map(|measured| heat(x, y, &keys, measured)));
    }
    all
}

/// The total goodput of the flows with a controller, in Mbit/s.
fn goodput(runs: &[&Run<'_>]) -> Option<Measured> {
    let of = |run: &Run<'_>, flows: &[&FlowOutcome]| Some(together(run, flows));
    Measured::of_flows(Axis::new("goodput", "Mbit/s"), runs, of)
}

/// The same relative to the capacity of the links.
fn utilization(runs: &[&Run<'_>]) -> Option<Measured> {
    let of = |run: &Run<'_>, flows: &[&FlowOutcome]| {
        let capacity = run.point.capacity()?.as_bits_per_sec() as f64 * 1e-6;
        (capacity > 0.0).then(|| 100.0 * together(run, flows) / capacity)
    };
    Measured::of_flows(Axis::new("utilization", "%"), runs, of)
}

/// The total goodput over the run, in Mbit/s.
fn together(run: &Run<'_>, flows: &[&FlowOutcome]) -> f64 {
    let delivered: f64 = flows.iter().map(|f| f.delivered.get() as f64).sum();
    delivered * 8e-6 / run.outcome.duration.as_secs_f64().max(1e-9)
}

/// The 95th percentile of the one-way delay, mean over the flows, in milliseconds.
fn delay(runs: &[&Run<'_>]) -> Option<Measured> {
    let of = |_: &Run<'_>, flows: &[&FlowOutcome]| mean_delay_p95(flows);
    let name = "95th percentile of the one-way delay";
    Measured::of_flows(Axis::new(name, "ms"), runs, of)
}

fn mean_delay_p95(flows: &[&FlowOutcome]) -> Option<f64> {
    let measured = flows.iter().filter(|f| f.one_way_delay.count > 0);
    let all: Vec<f64> = measured
        .map(|f| f.one_way_delay.p95.as_millis_f64())
        .collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// Packets lost for any cause, of those sent, in percent.
fn loss(runs: &[&Run<'_>]) -> Option<Measured> {
    let of = |_: &Run<'_>, flows: &[&FlowOutcome]| {
        let sent: u64 = flows.iter().map(|f| f.packets_sent).sum();
        let lost: u64 = flows.iter().map(|f| f.lost.total()).sum();
        (sent > 0).then(|| 100.0 * lost as f64 / sent as f64)
    };
    Measured::of_flows(Axis::new("packets lost", "%"), runs, of)
}

/// The balanced accuracy of the classification of losses, in percent.
fn balanced(runs: &[&Run<'_>]) -> Option<Measured> {
    let of = |_: &Run<'_>, flows: &[&FlowOutcome]| {
        let mut all = Confusion::default();
        flows
            .iter()
            .filter_map(|f| f.discrimination)
            .for_each(|decisions| all += decisions);
        all.balanced_accuracy().map(|part| 100.0 * part)
    };
    Measured::of_flows(Axis::new("balanced accuracy", "%"), runs, of)
}

/// Makes ids unique: appends a number to those that repeat.
pub fn number(figures: &mut [Figure]) {
    let mut used: Vec<String> = Vec::new();
    for figure in figures {
        let base = figure.id.clone();
        let mut n = 1;
        while used.contains(&figure.id) {
            n += 1;
            figure.id = format!("{base}-{n}");
        }
        used.push(figure.id.clone());
    }
}
