//! What an experiment shows: the paper's numbers beside ours, and what its runs show by themselves.

use crate::{Experiment, JudgedRow};
use whimbrel_report::figure::{Axis, BesideRow, Figure, Plot};
use whimbrel_sim::sweep::Run;

impl Experiment {
    /// Its figures, of the rows that its runs were [judged](Self::judge) by, of the runs, and of `sampled`: some of them over
    /// time.
    pub fn figures(
        &self,
        rows: &[JudgedRow],
        runs: &[Run<'_>],
        sampled: &[Run<'_>],
    ) -> Vec<Figure> {
        let mut all: Vec<Figure> = self.beside(rows).into_iter().collect();
        all.extend(whimbrel_report::figures(runs, sampled));
        all
    }

    /// The rows that have a number of the paper's, if there are any.
    fn beside(&self, rows: &[JudgedRow]) -> Option<Figure> {
        let rows: Vec<BesideRow> = rows
            .iter()
            .filter(|row| row.paper.is_some())
            .map(|row| BesideRow {
                label: row.label.clone(),
                protocol: None,
                paper: row.paper,
                measured: row.measured,
                spread: row.measured_stddev,
            })
            .collect();
        (!rows.is_empty()).then(|| Figure {
            id: format!("{}/beside", self.id),
            title: "The paper's numbers beside ours".to_owned(),
            caption: format!("{}. Bars: standard deviation over the seeds.", self.place),
            plot: Plot::Beside {
                value: Axis::default(),
                rows,
            },
        })
    }
}
