//! An experiment: a paper's claim, the scenario that tests it, and the numbers to compare.

use crate::drawing::Drawing;
use crate::measure::{Measure, Period};
use crate::selection::Selection;
use std::path::PathBuf;
use whimbrel_sim::scenario::document::{Document, Value};
use whimbrel_sim::scenario::{Point, Scenario, ScenarioError, Setting};

/// An experiment of a paper.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// `PAPER/NAME`, from the location of its file.
    pub id: String,
    /// The paper, in one line.
    pub paper: String,
    /// The claim is ours: the paper makes none there.
    pub beyond: bool,
    /// Where in the paper: figure or table, and section.
    pub place: String,
    /// What the paper claims, in one sentence.
    pub claim: String,
    /// Why the paper's own numbers exclude each other, with the arithmetic, if they do: the verdict
    /// is then [`ClaimVerdict::ContradictsItself`](crate::ClaimVerdict::ContradictsItself).
    pub contradiction: Option<String>,
    /// What the paper does not say and the result depends on, if that leaves the claim without a
    /// test: the verdict is then
    /// [`ClaimVerdict::CannotBeDecided`](crate::ClaimVerdict::CannotBeDecided).
    pub undecidable: Option<String>,
    /// How open points of the paper were interpreted.
    pub note: Option<String>,
    /// The numbers that are measured and compared.
    pub rows: Vec<RowSpec>,
    /// The figures that the experiment file defines.
    pub drawings: Vec<Drawing>,
    /// Id of the file with its scenario: its own file or another one. Experiments with the same
    /// scenario can share its runs.
    pub scenario_id: String,
    /// The recorded traces that its scenario names and that are not on this machine. While one is
    /// missing, the experiment cannot run.
    pub missing_traces: Vec<PathBuf>,
    pub(crate) document: Document,
}

/// One number: of the paper, or with a bound that tests the claim.
#[derive(Debug, Clone)]
pub struct RowSpec {
    /// What the number is, for the reader.
    pub label: String,
    /// What is measured.
    pub measure: Measure,
    /// The flows it covers, by controller or name; all if `None`.
    pub flows: Option<String>,
    /// The period of the run it covers; the whole run if `None`.
    pub period: Option<Period>,
    /// The points of the sweep it covers.
    pub at: Selection,
    /// If given, the number is the gain over these points, in percent.
    pub over: Option<Selection>,
    /// If given, the number is the difference to these points, in the measure's unit.
    pub minus: Option<Selection>,
    /// With `over`: the gain is computed at each of these points and then combined. `None`: it is
    /// the gain of the mean over all points.
    pub across: Option<Across>,
    /// The paper's number, in the row's unit.
    pub paper: Option<f64>,
    /// Tolerated difference from the paper's number, as a fraction of it.
    pub tolerance: f64,
    /// The number must be above this bound.
    pub above: Option<f64>,
    /// The number must be below this bound.
    pub below: Option<f64>,
}

/// The points of a row at which gains are computed one by one, and how they are combined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Across {
    /// The key of the sweep.
    pub key: String,
    /// Its values; at least one.
    pub values: Vec<String>,
    /// How the gains are combined.
    pub take: Take,
}

/// How gains at several points are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// Their mean, for each seed.
    Mean,
    /// Those of the point whose mean over the seeds is the largest.
    Maximum,
}

impl Experiment {
    /// Whether a file defines an experiment: it has a table `[experiment]`.
    pub(crate) fn is_one(document: &Document) -> bool {
        matches!(&document.root.value, Value::Table(root) if root.get("experiment").is_some())
    }

    /// Its scenario, with `settings` that override the file.
    ///
    /// # Errors
    /// If a setting is wrong, or a trace is missing.
    pub fn scenario(&self, settings: &[Setting]) -> Result<Scenario, ScenarioError> {
        Scenario::from_document(self.document.clone(), settings)
    }

    /// The settings of its scenario as they are written: a name and a line for each link, flow and
    /// so on, in the order of the file.
    pub fn settings(&self) -> Vec<(String, String)> {
        self.document.settings()
    }

    /// The controllers of its scenario, as the scenario names them, in the order of their first
    /// appearance.
    pub fn controllers(&self) -> Vec<String> {
        // The scenario was checked when the experiment was read.
        let scenario = self.scenario(&[]).ok();
        let mut all: Vec<String> = Vec::new();
        for point in scenario.iter().flat_map(|scenario| scenario.points()) {
            for name in point.controllers() {
                if !all.contains(&name) {
                    all.push(name);
                }
            }
        }
        all
    }

    /// Whether one of its figures shows this point over time, so that the point must be run with
    /// samples.
    pub fn needs_samples(&self, point: &Point) -> bool {
        let mut drawings = self.drawings.iter();
        drawings.any(|drawing| drawing.needs_samples(point))
    }
}
