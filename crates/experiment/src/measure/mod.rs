//! Measures: the quantities of a run that experiments compare.
//!
//! Each measure is one row of a table, with its name, unit, need for samples and function. The
//! tables are grouped by topic. A measure covers the whole run or, where the samples of the run's
//! time series allow it, a [`Period`] of the run.
//!
//! "On the wire" includes headers and retransmissions. A flow is active from its start to its end.
//! Data that the far end of a two-way flow sends counts as if it went the same way.

mod decisions;
mod definition;
mod delay;
mod fairness;
mod losses;
mod messages;
mod nacks;
mod path;
mod period;
mod rates;
mod recovery;
mod theory;
mod view;
mod windows;

#[cfg(test)]
mod tests;

pub use period::Period;
pub(crate) use period::average;
pub(crate) use view::View;

use definition::{Definition, Samples};
use std::str::FromStr;
use whimbrel_sim::scenario::fields::unknown;
use whimbrel_sim::sweep::Run;

/// All measures, in the order in which messages list them.
const TABLES: &[&[Definition]] = &[
    rates::MEASURES,
    fairness::MEASURES,
    windows::MEASURES,
    recovery::MEASURES,
    losses::MEASURES,
    delay::MEASURES,
    decisions::MEASURES,
    messages::MEASURES,
    nacks::MEASURES,
    theory::MEASURES,
];

/// A quantity of a run. Two measures are equal if they have the same name.
#[derive(Debug, Clone, Copy)]
pub struct Measure(&'static Definition);

impl PartialEq for Measure {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Measure {}

impl FromStr for Measure {
    type Err = String;

    /// Finds a measure by its name. The error names the nearest one.
    fn from_str(text: &str) -> Result<Self, String> {
        let found = definitions().find(|definition| definition.name == text);
        let names = definitions().map(|definition| definition.name);
        found
            .map(Self)
            .ok_or_else(|| unknown("measure", text, names))
    }
}

impl Measure {
    /// Finds a measure by a name that the source code states: an unknown name fails to compile
    /// in a constant.
    ///
    /// # Panics
    /// If no measure has this name.
    pub(crate) const fn named(name: &str) -> Self {
        let mut table = 0;
        while table < TABLES.len() {
            let mut row = 0;
            while row < TABLES[table].len() {
                if same(TABLES[table][row].name, name) {
                    return Self(&TABLES[table][row]);
                }
                row += 1;
            }
            table += 1;
        }
        panic!("unknown measure")
    }

    /// The name that experiment files use.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The unit of its values; empty if they have none.
    pub fn unit(self) -> &'static str {
        self.0.unit
    }

    /// Checks that it can be restricted to a period of the run.
    ///
    /// # Errors
    /// If it cannot. The message names the measures that can.
    pub fn check_period(self) -> Result<(), String> {
        if self.0.samples != Samples::Never {
            return Ok(());
        }
        let can = definitions()
            .filter(|definition| definition.samples != Samples::Never)
            .map(|definition| format!("`{}`", definition.name));
        Err(format!(
            "applies only to measures that can be restricted to a part of the run: {}",
            can.collect::<Vec<_>>().join(", ")
        ))
    }

    /// Whether it needs a run that was sampled over time.
    pub fn needs_samples(self, period: Option<Period>) -> bool {
        match self.0.samples {
            Samples::Never => false,
            Samples::InPeriod => period.is_some(),
            Samples::Always => true,
        }
    }

    /// Its value in a run: over the flows whose controller or name is `flows` (all if `None`), in
    /// a period (the whole run if `None`). `None` if the run has no such value.
    pub fn of(self, run: &Run<'_>, flows: Option<&str>, period: Option<Period>) -> Option<f64> {
        self.of_view(&View::new(run, flows, period)?)
    }

    /// Its value over the flows and the period of a view.
    pub(crate) fn of_view(self, view: &View<'_>) -> Option<f64> {
        (self.0.value)(view)
    }
}

fn definitions() -> impl Iterator<Item = &'static Definition> + Clone {
    TABLES.iter().copied().flatten()
}

/// Whether two strings are equal, at compile time.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}
