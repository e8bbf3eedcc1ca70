//! What a controller does to its own flows and to others, and what the true causes of losses
//! change: counterfactual runs, compared seed by seed.

use crate::measure::{Measure, View};
use serde::Serialize;
use whimbrel_report::{Interval, Stat};
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{FlowOutcome, Oracle};

/// The oracles, in the order in which they are run: first none, so that the controller decides by
/// itself.
pub const ORACLES: [Oracle; 4] = [
    Oracle::Nothing,
    Oracle::Random,
    Oracle::Congestion,
    Oracle::Everything,
];

/// The flows that a quantity covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The flows whose controller is judged.
    Judged,
    /// All flows.
    All,
    /// All other flows.
    Neighbours,
}

/// A quantity that mistakes may change.
struct Quantity {
    name: &'static str,
    measure: Measure,
    scope: Scope,
}

/// The quantities that are measured.
const QUANTITIES: [Quantity; 6] = [
    Quantity {
        name: "goodput",
        measure: Measure::named("total goodput"),
        scope: Scope::Judged,
    },
    Quantity {
        name: "queue",
        measure: Measure::named("queue delay"),
        scope: Scope::All,
    },
    // The propagation delay is the same in all runs of a cell: only the queueing delay changes.
    Quantity {
        name: "delay p95",
        measure: Measure::named("delay p95"),
        scope: Scope::All,
    },
    Quantity {
        name: "dropped by queues",
        measure: Measure::named("congestion loss"),
        scope: Scope::All,
    },
    Quantity {
        name: "neighbours' goodput",
        measure: Measure::named("total goodput"),
        scope: Scope::Neighbours,
    },
    Quantity {
        name: "neighbours dropped",
        measure: Measure::named("congestion loss"),
        scope: Scope::Neighbours,
    },
];

/// One quantity, and how it changes when the controller knows the true causes of losses.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// Its name.
    pub quantity: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// The flows it covers.
    #[serde(rename = "whose")]
    pub scope: Scope,
    /// Its value with the controller's own decisions, mean over seeds and cells.
    pub own: f64,
    /// Its increase when the controller knows which losses are random: it mistakes no random loss
    /// for congestion. `None` if the controller cannot use an oracle.
    pub told_random: Option<Interval>,
    /// Its increase when the controller knows which losses are congestion: it mistakes no
    /// congestion for random loss.
    pub told_congestion: Option<Interval>,
    /// Its increase when the controller knows the cause of every loss.
    pub told_everything: Option<Interval>,
}

impl Effect {
    /// Its increase with this oracle.
    pub fn increase(&self, oracle: Oracle) -> Option<Interval> {
        match oracle {
            Oracle::Nothing => None,
            Oracle::Random => self.told_random,
            Oracle::Congestion => self.told_congestion,
            Oracle::Everything => self.told_everything,
        }
    }
}

/// One quantity in a cell, by oracle and seed; `None` if a run has no such value.
pub(super) type Values = Vec<Option<Vec<Vec<f64>>>>;

/// All quantities in the runs of one cell, given by oracle.
pub(super) fn measure(controller: &str, by_oracle: &[&[Run<'_>]]) -> Values {
    let is_judged = |flow: &FlowOutcome| flow.controller.as_deref() == Some(controller);
    let of = |quantity: &Quantity, run: &Run<'_>| {
        let view = View::of(run, None, |flow| match quantity.scope {
            Scope::Judged => is_judged(flow),
            Scope::All => true,
            Scope::Neighbours => !is_judged(flow),
        })?;
        quantity.measure.of_view(&view)
    };
    let values = |quantity| -> Option<Vec<Vec<f64>>> {
        let by_seed = |runs: &&[Run<'_>]| runs.iter().map(|run| of(quantity, run)).collect();
        by_oracle.iter().map(by_seed).collect()
    };
    QUANTITIES.iter().map(values).collect()
}

/// The effects, averaged over some cells. Quantities that no cell has are left out.
pub(super) fn effects(cells: &[&Values]) -> Vec<Effect> {
    let effect = |(i, quantity): (usize, &Quantity)| {
        let cells: Vec<_> = cells.iter().filter_map(|cell| cell[i].as_ref()).collect();
        let own = means(&cells, 0)?;
        let increase = |oracle: Oracle| {
            let at = ORACLES.iter().position(|o| *o == oracle)?;
            let corrected = means(&cells, at)?;
            let differences: Vec<f64> = corrected.iter().zip(&own).map(|(c, o)| c - o).collect();
            Interval::of(&differences)
        };
        Some(Effect {
            quantity: quantity.name,
            unit: quantity.measure.unit(),
            scope: quantity.scope,
            own: Stat::of(&own)?.mean,
            told_random: increase(Oracle::Random),
            told_congestion: increase(Oracle::Congestion),
            told_everything: increase(Oracle::Everything),
        })
    };
    QUANTITIES.iter().enumerate().filter_map(effect).collect()
}

/// For each seed, the mean over the cells with this oracle. Cells may have different seeds: the
/// index of a run counts, and indices that not all cells have are left out.
fn means(cells: &[&Vec<Vec<f64>>], oracle: usize) -> Option<Vec<f64>> {
    let values: Option<Vec<&Vec<f64>>> = cells.iter().map(|cell| cell.get(oracle)).collect();
    let values = values?;
    let seeds = values.iter().map(|seeds| seeds.len()).min()?;
    let mean = |seed| values.iter().map(|seeds| seeds[seed]).sum::<f64>() / values.len() as f64;
    Some((0..seeds).map(mean).collect())
}
