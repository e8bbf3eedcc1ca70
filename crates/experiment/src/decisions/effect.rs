//! What a law does to its own flow and to others, and what telling it the truth changes: counterfactual runs, seed by seed.

use super::ORACLES;
use crate::Measure;
use crate::view::View;
use serde::Serialize;
use whimbrel_report::{Interval, Stat};
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{FlowOutcome, Oracle};

/// Whose a quantity is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Whose {
    /// That of the flows whose law is judged.
    Judged,
    /// That of all flows.
    All,
    /// That of all other flows.
    Neighbours,
}

/// Something that mistakes may cost.
struct Quantity {
    name: &'static str,
    measure: Measure,
    whose: Whose,
}

/// What is measured.
const QUANTITIES: [Quantity; 6] = [
    Quantity {
        name: "goodput",
        measure: Measure::TotalGoodput,
        whose: Whose::Judged,
    },
    Quantity {
        name: "queue",
        measure: Measure::QueueDelay,
        whose: Whose::All,
    },
    // Propagation is the same in all runs of a cell: what changes is the queue's share.
    Quantity {
        name: "delay p95",
        measure: Measure::DelayP95,
        whose: Whose::All,
    },
    Quantity {
        name: "dropped by queues",
        measure: Measure::CongestionLoss,
        whose: Whose::All,
    },
    Quantity {
        name: "neighbours' goodput",
        measure: Measure::TotalGoodput,
        whose: Whose::Neighbours,
    },
    Quantity {
        name: "neighbours dropped",
        measure: Measure::CongestionLoss,
        whose: Whose::Neighbours,
    },
];

/// One quantity, and how it changes when a law is told the truth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// What it is.
    pub quantity: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Whose it is.
    pub whose: Whose,
    /// Its value where the law judges by itself, mean over seeds and cells.
    pub own: f64,
    /// How much more it is where the law is told of random loss: no random loss is taken for congestion. `None` where
    /// nothing can be told.
    pub told_random: Option<Interval>,
    /// ... where it is told of congestion: no congestion is taken for random loss.
    pub told_congestion: Option<Interval>,
    /// ... where it is told of both.
    pub told_everything: Option<Interval>,
}

impl Effect {
    /// How much more it is where the law is told so much.
    pub fn told(&self, oracle: Oracle) -> Option<Interval> {
        match oracle {
            Oracle::Nothing => None,
            Oracle::Random => self.told_random,
            Oracle::Congestion => self.told_congestion,
            Oracle::Everything => self.told_everything,
        }
    }
}

/// One quantity in a cell: by oracle, and by seed. `None` if some run has no such number.
pub(super) type Values = Vec<Option<Vec<Vec<f64>>>>;

/// All quantities in the runs of one cell.
pub(super) fn measure(controller: &str, told: &[&[Run<'_>]]) -> Values {
    let is_judged = |flow: &FlowOutcome| flow.controller.as_deref() == Some(controller);
    let of = |quantity: &Quantity, run: &Run<'_>| {
        let view = View::of(run, None, |flow| match quantity.whose {
            Whose::Judged => is_judged(flow),
            Whose::All => true,
            Whose::Neighbours => !is_judged(flow),
        })?;
        quantity.measure.of_view(&view)
    };
    let by_oracle = |quantity| -> Option<Vec<Vec<f64>>> {
        let by_seed = |runs: &&[Run<'_>]| runs.iter().map(|run| of(quantity, run)).collect();
        told.iter().map(by_seed).collect()
    };
    QUANTITIES.iter().map(by_oracle).collect()
}

/// The effects in the mean over some cells. Quantities that no cell has are left out.
pub(super) fn effects(cells: &[&Values]) -> Vec<Effect> {
    let effect = |(i, quantity): (usize, &Quantity)| {
        let cells: Vec<_> = cells.iter().filter_map(|cell| cell[i].as_ref()).collect();
        let own = means(&cells, 0)?;
        let told = |oracle: Oracle| {
            let at = ORACLES.iter().position(|o| *o == oracle)?;
            let told = means(&cells, at)?;
            let differences: Vec<f64> = told.iter().zip(&own).map(|(t, o)| t - o).collect();
            Interval::of(&differences)
        };
        Some(Effect {
            quantity: quantity.name,
            unit: quantity.measure.unit(),
            whose: quantity.whose,
            own: Stat::of(&own)?.mean,
            told_random: told(Oracle::Random),
            told_congestion: told(Oracle::Congestion),
            told_everything: told(Oracle::Everything),
        })
    };
    QUANTITIES.iter().enumerate().filter_map(effect).collect()
}

/// For each seed the mean over the cells, with this oracle. Cells may have seeds of their own: what counts is a run's
/// place, and places that not all cells have are left out.
fn means(cells: &[&Vec<Vec<f64>>], oracle: usize) -> Option<Vec<f64>> {
    let told: Option<Vec<&Vec<f64>>> = cells.iter().map(|cell| cell.get(oracle)).collect();
    let told = told?;
    let seeds = told.iter().map(|seeds| seeds.len()).min()?;
    let mean = |seed| told.iter().map(|seeds| seeds[seed]).sum::<f64>() / told.len() as f64;
    Some((0..seeds).map(mean).collect())
}
