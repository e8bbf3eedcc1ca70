//! Every decision on a loss held against the truth, and what the mistakes cost.
//!
//! A simulator knows why each packet was dropped. A law that tells random loss from congestion is run over a grid of paths
//! (a scenario's sweep), and each of its verdicts is counted by what the loss really was: [`Judged::decisions`].
//!
//! What its mistakes cost is found by running the same paths with the same seeds again while the law is told the truth
//! ([`Oracle`]): of random loss only, of congestion only, of both. The difference to the run in which it judged by itself is
//! an [`Effect`], taken for each seed between runs that differ in nothing else, with its confidence interval over the
//! seeds. Over the whole grid a seed's number is the mean over all cells, so that seeds are what is independent.
//!
//! **What a difference is not.** Correcting one kind of mistake changes the window, and with it how many losses of each kind
//! there are to judge and how often the other mistake is made. So the effects of the two do not add up to that of
//! correcting both. Told everything, a law does the best that it can do with perfect knowledge, which need not be good:
//! what it does with a right verdict is its own.
//!
//! The oracle speaks to laws that TCP carries. Of AATP's the decisions are judged, not the costs.

mod effect;
mod heat;
mod plan;

pub use effect::{Effect, Whose};
pub use plan::{Plan, discriminating};

use crate::window::average;
use serde::Serialize;
use whimbrel_report::{confusion, parameters, short_names};
use whimbrel_sim::scenario::Parameter;
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{Confusion, Oracle};

/// Of what a law is told the truth, in the order in which it is run; first as it judges by itself.
pub const ORACLES: [Oracle; 4] = [
    Oracle::Nothing,
    Oracle::Random,
    Oracle::Congestion,
    Oracle::Everything,
];

/// A cell in which fewer decisions were made is not called one of the worst: a few mistakes may be chance.
const LEAST_DECISIONS: u64 = 30;

/// One law, judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// The law, as it was chosen.
    pub controller: String,
    /// How many runs there were of each cell and oracle.
    pub seeds: usize,
    /// All decisions that it made by its own judgement. Where it errs badly it decides often: few cells may make most of
    /// them.
    #[serde(serialize_with = "confusion")]
    pub decisions: Confusion,
    /// The same with each cell counting alike.
    pub cell_means: Means,
    /// What it does to the flows, in the mean over the cells, and what telling it the truth changes.
    pub effects: Vec<Effect>,
    /// The decisions by each swept key.
    pub axes: Vec<Axis>,
    /// The decisions and effects of each cell, in the sweep's order.
    pub cells: Vec<Cell>,
}

/// One swept key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// As in `[sweep]`.
    pub key: String,
    /// As people are shown it: `loss` for `link.L.loss`.
    pub name: String,
    /// Its values in order.
    pub values: Vec<AxisValue>,
}

/// One value of a swept key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AxisValue {
    /// As it is written.
    pub value: String,
    /// All decisions in the cells that have it.
    #[serde(serialize_with = "confusion")]
    pub decisions: Confusion,
    /// The same with each cell counting alike.
    pub cell_means: Means,
}

/// Shares in which each cell counts alike, however often was decided in it: means over the cells in which there was
/// anything to have a share of. From 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Means {
    /// Of the decisions that were right.
    pub accuracy: Option<f64>,
    /// Of the random losses that were taken for congestion.
    pub random_mistaken: Option<f64>,
    /// Of the congestion that was taken for random loss.
    pub congestion_mistaken: Option<f64>,
    /// 1 less the mean of the two before.
    pub balanced_accuracy: Option<f64>,
}

impl Means {
    fn of<'a>(cells: impl Iterator<Item = &'a Cell> + Clone) -> Self {
        let mean = |share: fn(&Confusion) -> Option<f64>| {
            average(cells.clone().filter_map(|cell| share(&cell.decisions)))
        };
        let random_mistaken = mean(Confusion::random_mistaken);
        let congestion_mistaken = mean(Confusion::congestion_mistaken);
        let both = random_mistaken.zip(congestion_mistaken);
        Self {
            accuracy: mean(Confusion::accuracy),
            random_mistaken,
            congestion_mistaken,
            balanced_accuracy: both.map(|(random, congestion)| 1.0 - (random + congestion) / 2.0),
        }
    }
}

/// One combination of the sweep's values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// The values; keys that have one value only are left out.
    #[serde(serialize_with = "parameters")]
    pub parameters: Vec<Parameter>,
    /// The decisions of all its runs in which the law judged by itself.
    #[serde(serialize_with = "confusion")]
    pub decisions: Confusion,
    /// As [`Judged::effects`], of this cell.
    pub effects: Vec<Effect>,
}

/// A kind of mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// Random loss was taken for congestion: the flow pays for it.
    RandomForCongestion,
    /// Congestion was taken for random loss: the others, and everybody's delay, pay for it.
    CongestionForRandom,
}

impl Mistake {
    /// How often it could have been made, and how often it was.
    pub fn count(self, decisions: &Confusion) -> (u64, u64) {
        match self {
            Self::RandomForCongestion => (decisions.random(), decisions.random_as_congestion),
            Self::CongestionForRandom => (decisions.congestion(), decisions.congestion_as_random),
        }
    }

    /// Its share of the decisions in which it could have been made; `None` if there were none.
    pub fn share(self, decisions: &Confusion) -> Option<f64> {
        match self {
            Self::RandomForCongestion => decisions.random_mistaken(),
            Self::CongestionForRandom => decisions.congestion_mistaken(),
        }
    }
}

impl Judged {
    /// The cells in which it makes this mistake most often, the worst first; only those with at least 30 decisions in
    /// which it could, and in which it was made.
    pub fn worst(&self, mistake: Mistake) -> Vec<&Cell> {
        let known = |cell: &&Cell| {
            let (could, made) = mistake.count(&cell.decisions);
            could >= LEAST_DECISIONS && made > 0
        };
        let mut worst: Vec<&Cell> = self.cells.iter().filter(known).collect();
        let share = |cell: &Cell| mistake.share(&cell.decisions).unwrap_or_default();
        worst.sort_by(|a, b| share(b).total_cmp(&share(a)));
        worst
    }

    /// Of all runs of a law: for each cell its parameters and, for each oracle that could be asked, the runs of all seeds.
    fn of(controller: &str, cells: Vec<(Vec<Parameter>, Vec<&[Run<'_>]>)>) -> Self {
        let mut measured = Vec::new();
        let mut judged: Vec<Cell> = Vec::new();
        let mut seeds = usize::MAX;
        for (parameters, told) in cells {
            let own = told.first().copied().unwrap_or_default();
            seeds = seeds.min(own.len());
            let values = effect::measure(controller, &told);
            judged.push(Cell {
                parameters,
                decisions: decisions(controller, own),
                effects: effect::effects(&[&values]),
            });
            measured.push(values);
        }
        keep_swept(&mut judged);
        Self {
            controller: controller.to_owned(),
            seeds: if judged.is_empty() { 0 } else { seeds },
            decisions: sum(judged.iter()),
            cell_means: Means::of(judged.iter()),
            effects: effect::effects(&measured.iter().collect::<Vec<_>>()),
            axes: axes(&judged),
            cells: judged,
        }
    }
}

/// What a law decided in these runs.
fn decisions(controller: &str, runs: &[Run<'_>]) -> Confusion {
    let mut all = Confusion::default();
    let flows = runs.iter().flat_map(|run| &run.outcome.flows);
    for flow in flows.filter(|flow| flow.controller.as_deref() == Some(controller)) {
        all += flow.discrimination.unwrap_or_default();
    }
    all
}

fn sum<'a>(cells: impl Iterator<Item = &'a Cell>) -> Confusion {
    let mut all = Confusion::default();
    for cell in cells {
        all += cell.decisions;
    }
    all
}

/// Leaves out the keys that have the same value in all cells: they tell no cell from another.
fn keep_swept(cells: &mut [Cell]) {
    let Some(first) = cells.first().map(|cell| cell.parameters.clone()) else {
        return;
    };
    let swept = |p: &Parameter, cells: &[Cell]| {
        cells.iter().any(|cell| {
            let mut same = cell.parameters.iter().filter(|q| q.key == p.key);
            same.any(|q| q.value != p.value)
        })
    };
    let keys: Vec<String> = first
        .iter()
        .filter(|p| swept(p, cells))
        .map(|p| p.key.clone())
        .collect();
    for cell in cells {
        cell.parameters.retain(|p| keys.contains(&p.key));
    }
}

fn axes(cells: &[Cell]) -> Vec<Axis> {
    let Some(first) = cells.first() else {
        return Vec::new();
    };
    let keys: Vec<&str> = first.parameters.iter().map(|p| p.key.as_str()).collect();
    let axis = |(i, (key, name)): (usize, (&&str, String))| {
        let value = |cell: &Cell| {
            let p = cell.parameters.get(i);
            p.map(|p| p.value.to_string()).unwrap_or_default()
        };
        let mut known: Vec<String> = Vec::new();
        for here in cells.iter().map(value) {
            if !known.contains(&here) {
                known.push(here);
            }
        }
        let of_value = |here: String| {
            let cells = cells.iter().filter(|cell| value(cell) == here);
            AxisValue {
                decisions: sum(cells.clone()),
                cell_means: Means::of(cells.clone()),
                value: here.clone(),
            }
        };
        let values = known.into_iter().map(of_value).collect();
        Axis {
            key: (*key).to_owned(),
            name,
            values,
        }
    };
    let named = keys.iter().zip(short_names(&keys));
    named.enumerate().map(axis).collect()
}

#[cfg(test)]
mod tests;
