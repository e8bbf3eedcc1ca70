//! How a comparison is shown: the path in one line, the table with the best first, and notes.

use super::text::{carried, harm, heading, transports};
use super::{Comparison, Request};
use crate::Error;
use crate::presentation::{Observers, Outputs, Presentation};
use crate::runs::run_all;
use crate::table_rows::table_rows;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use whimbrel_report::{Row, fill};
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::sweep::{self, Run};

/// A comparison that is run and shown.
pub struct Shown<'a> {
    request: &'a Request,
    comparison: Comparison,
    /// What each controller delivers over the other transport with the first seed, and over this
    /// one, bit/s.
    other: OnceCell<BTreeMap<String, [f64; 2]>>,
}

impl<'a> Shown<'a> {
    /// Measures first what each controller of the scenario does to a neighbour.
    ///
    /// # Errors
    /// If threads cannot be started, or an observer stops it.
    pub fn new(
        request: &'a Request,
        scenario: &Scenario,
        threads: Option<NonZeroUsize>,
        observers: &Observers<'_>,
    ) -> Result<Self, Error> {
        let comparison = Comparison::new(request, scenario, threads, &*observers())?;
        Ok(Self {
            request,
            comparison,
            other: OnceCell::new(),
        })
    }
}

impl Presentation for Shown<'_> {
    fn run<'s>(
        &self,
        scenario: &'s Scenario,
        outputs: &Outputs,
        observers: &Observers<'_>,
    ) -> Result<Vec<Run<'s>>, Error> {
        if outputs.need_all_runs() {
            let jobs = sweep::jobs(scenario.points());
            return run_all(&jobs, outputs.threads, &*observers());
        }
        let Self {
            request,
            comparison,
            ..
        } = self;
        let runs = comparison.run(scenario, &*observers())?;
        let other = comparison.over_the_other_transport(request, &runs, &*observers())?;
        let _ = self.other.set(other);
        Ok(runs)
    }

    fn rows(&self, runs: &[Run<'_>]) -> Vec<Row> {
        let mut rows = table_rows(self.request.tested().as_ref(), runs);
        for row in &mut rows {
            row.harmful = self.comparison.harmful.contains_key(&row.controller);
        }
        rows
    }

    fn notes(&self, rows: &[Row]) -> Vec<String> {
        let other = self.other.get().filter(|other| !other.is_empty());
        harm(&self.comparison.harmful)
            .into_iter()
            .chain(carried(rows))
            .chain(other.map(|other| transports(self.request.transport, other)))
            .collect()
    }

    fn text(&self, runs: &[Run<'_>]) -> String {
        let rows = self.rows(runs);
        let mut text = format!("{}\n\n", fill(&heading(self.request, runs), ", "));
        text += &whimbrel_report::table(&rows);
        text += "\n";
        for note in self.notes(&rows) {
            text += &fill(&note, " ");
            text += "\n";
        }
        text
    }
}
