//! What runs show, as figures.
//!
//! [`figures()`] gives those that say something, whatever the runs were made for. The parts of this module give each of them
//! alone, of chosen runs, so that an experiment can ask for what its paper shows.
//!
//! Runs that differ in nothing but their controllers are a [setting](Setting): what happens over time is comparable within one,
//! and a page that showed all of them would hold hundreds of pictures. So some are chosen, and captions say which.

pub mod choose;
mod confusion;
mod distribution;
mod over_time;
mod sequence;
mod setting;
mod shares;
mod shown;
mod sweep;
mod swept;
#[cfg(test)]
mod tests;
mod thin;
mod tradeoff;

pub use confusion::confusion;
pub use distribution::{Delays, delays, of_flows};
pub use over_time::{Look, over_time};
pub use sequence::sequence;
pub use setting::{Setting, evenly, is_called, is_controller, settings};
pub use shares::shares;
pub use sweep::{Cell, Measured, heat, lines};
pub use swept::Swept;
pub use tradeoff::tradeoff;

use crate::figure::{Axis, Figure};
use setting::middle;
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{Confusion, FlowOutcome};

/// So many settings are shown over time.
const SETTINGS: usize = 3;
/// So many keys of a sweep have a figure of their own.
const KEYS: usize = 4;

/// What these runs show: of all of them, and over time of `sampled`, which are some of them with samples.
pub fn figures(runs: &[Run<'_>], sampled: &[Run<'_>]) -> Vec<Figure> {
    let mut all = unnumbered(runs, sampled);
    number(&mut all);
    all
}

/// The same, but some may be called alike: for those who put figures of their own before them.
pub fn unnumbered(runs: &[Run<'_>], sampled: &[Run<'_>]) -> Vec<Figure> {
    let runs: Vec<&Run<'_>> = runs.iter().collect();
    let sampled: Vec<&Run<'_>> = sampled.iter().collect();
    let mut all = Vec::new();
    let with_time = evenly(settings(&sampled), SETTINGS);
    for setting in &with_time {
        all.extend(over_time(setting, &Look::USUAL));
    }
    for setting in &with_time {
        all.extend(shares(setting));
    }
    all.extend(tradeoff(&runs));
    all.extend(sweeps(&runs));
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

/// What changes over each key of the sweep, and over the first two at once.
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
        let share = share(runs).or_else(|| goodput(runs));
        let measured = share.iter().chain(decided);
        all.extend(measured.filter_map(|measured| heat(x, y, &keys, measured)));
    }
    all
}

/// What flows with a controller delivered together, in Mbit/s.
fn goodput(runs: &[&Run<'_>]) -> Option<Measured> {
    let of = |run: &Run<'_>, flows: &[&FlowOutcome]| Some(together(run, flows));
    Measured::of_flows(Axis::new("goodput", "Mbit/s"), runs, of)
}

/// The same, over what the links could carry.
fn share(runs: &[&Run<'_>]) -> Option<Measured> {
    let of = |run: &Run<'_>, flows: &[&FlowOutcome]| {
        let capacity = run.point.capacity()?.as_bits_per_sec() as f64 * 1e-6;
        (capacity > 0.0).then(|| 100.0 * together(run, flows) / capacity)
    };
    Measured::of_flows(Axis::new("share of the capacity", "%"), runs, of)
}

/// Mbit/s over the run.
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

/// The balanced accuracy of decisions on losses, in percent.
fn balanced(runs: &[&Run<'_>]) -> Option<Measured> {
    let of = |_: &Run<'_>, flows: &[&FlowOutcome]| {
        let mut all = Confusion::default();
        flows
            .iter()
            .filter_map(|f| f.discrimination)
            .for_each(|told| all += told);
        all.balanced_accuracy().map(|share| 100.0 * share)
    };
    Measured::of_flows(Axis::new("balanced accuracy", "%"), runs, of)
}

/// Gives figures that would be called alike a number each.
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
