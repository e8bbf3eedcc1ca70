//! The decisions of a controller over the grid, and what its mistakes cost.

use super::effect::{self, Effect};
use crate::measure::average;
use serde::Serialize;
use whimbrel_report::{confusion, parameters, short_names};
use whimbrel_sim::Confusion;
use whimbrel_sim::scenario::Parameter;
use whimbrel_sim::sweep::Run;

/// Minimum number of decisions in a cell among the worst: a few mistakes may be chance.
const MIN_DECISIONS: u64 = 30;

/// The results of one controller.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// The controller, as it was named.
    pub controller: String,
    /// The number of runs of each cell and oracle.
    pub seeds: usize,
    /// All decisions that it made by itself. A controller that errs badly decides often, so a few
    /// cells may contribute most of them.
    #[serde(serialize_with = "confusion")]
    pub decisions: Confusion,
    /// The same with equal weight for each cell.
    pub cell_means: Means,
    /// What it does to the flows, averaged over the cells, and what the oracles change.
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
    /// For the reader: `loss` for `link.L.loss`.
    pub name: String,
    /// Its values in order.
    pub values: Vec<AxisValue>,
}

/// One value of a swept key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AxisValue {
    /// The value as it is written.
    pub value: String,
    /// All decisions in the cells with this value.
    #[serde(serialize_with = "confusion")]
    pub decisions: Confusion,
    /// The same with equal weight for each cell.
    pub cell_means: Means,
}

/// Fractions with equal weight for each cell, from 0 to 1: means over the cells that have the
/// fraction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Means {
    /// Decisions that were right.
    pub accuracy: Option<f64>,
    /// Random losses that were mistaken for congestion.
    pub random_mistaken: Option<f64>,
    /// Congestion that was mistaken for random loss.
    pub congestion_mistaken: Option<f64>,
    /// 1 minus the mean of the two before.
    pub balanced_accuracy: Option<f64>,
    /// The Brier score.
    pub brier: Option<f64>,
}

impl Means {
    /// Over these cells.
    pub(super) fn of<'a>(cells: impl Iterator<Item = &'a Cell> + Clone) -> Self {
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
            brier: mean(Confusion::brier),
        }
    }
}

/// One combination of the sweep's values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// The values; keys with only one value are left out.
    #[serde(serialize_with = "parameters")]
    pub parameters: Vec<Parameter>,
    /// The decisions of all its runs without an oracle.
    #[serde(serialize_with = "confusion")]
    pub decisions: Confusion,
    /// As [`Judged::effects`], for this cell.
    pub effects: Vec<Effect>,
}

/// A kind of mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// Random loss was mistaken for congestion: the flow itself pays.
    RandomForCongestion,
    /// Congestion was mistaken for random loss: the other flows pay, and the delay grows for all.
    CongestionForRandom,
}

impl Mistake {
    /// How often it could have been made, and how often it was made.
    pub fn count(self, decisions: &Confusion) -> (u64, u64) {
        match self {
            Self::RandomForCongestion => (decisions.random(), decisions.random_as_congestion),
            Self::CongestionForRandom => (decisions.congestion(), decisions.congestion_as_random),
        }
    }

    /// How often it was made, as a fraction of the decisions in which it could have been made;
    /// `None` if there were none.
    pub fn share(self, decisions: &Confusion) -> Option<f64> {
        match self {
            Self::RandomForCongestion => decisions.random_mistaken(),
            Self::CongestionForRandom => decisions.congestion_mistaken(),
        }
    }
}

impl Judged {
    /// The cells in which it makes this mistake, the worst first. Cells with fewer than 30
    /// decisions in which it could make the mistake are left out.
    pub fn worst(&self, mistake: Mistake) -> Vec<&Cell> {
        let known = |cell: &&Cell| {
            let (could, made) = mistake.count(&cell.decisions);
            could >= MIN_DECISIONS && made > 0
        };
        let mut worst: Vec<&Cell> = self.cells.iter().filter(known).collect();
        let share = |cell: &Cell| mistake.share(&cell.decisions).unwrap_or_default();
        worst.sort_by(|a, b| share(b).total_cmp(&share(a)));
        worst
    }

    /// From all runs of a controller: for each cell its parameters and, for each oracle that it can
    /// use, the runs of all seeds.
    pub(super) fn of(controller: &str, cells: Vec<(Vec<Parameter>, Vec<&[Run<'_>]>)>) -> Self {
        let mut measured = Vec::new();
        let mut judged: Vec<Cell> = Vec::new();
        let mut seeds = usize::MAX;
        for (parameters, by_oracle) in cells {
            let own = by_oracle.first().copied().unwrap_or_default();
            seeds = seeds.min(own.len());
            let values = effect::measure(controller, &by_oracle);
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

/// The decisions of a controller in these runs.
fn decisions(controller: &str, runs: &[Run<'_>]) -> Confusion {
    let mut all = Confusion::default();
    let flows = runs.iter().flat_map(|run| &run.outcome.flows);
    for flow in flows.filter(|flow| flow.controller.as_deref() == Some(controller)) {
        all += flow.discrimination.unwrap_or_default();
    }
    all
}

/// All decisions in these cells.
pub(super) fn sum<'a>(cells: impl Iterator<Item = &'a Cell>) -> Confusion {
    let mut all = Confusion::default();
    for cell in cells {
        all += cell.decisions;
    }
    all
}

/// Leaves out the keys with the same value in all cells: they distinguish no cells.
pub(super) fn keep_swept(cells: &mut [Cell]) {
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

/// The swept keys and their values.
pub(super) fn axes(cells: &[Cell]) -> Vec<Axis> {
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
