//! A scenario from its runs to the table, figures, pages and files that show them.

use crate::page::{self, Subject};
use crate::runs::{run_all, run_first_seeds, sampled};
use crate::saved::{Saving, Wanted};
use crate::single_run::{self, Selection};
use crate::table_rows::table_rows;
use crate::trace_file::TraceFile;
use crate::{BadInput, Error, Observer, atomic_file, provenance};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;
use whimbrel_report::Row;
use whimbrel_report::figures::{self, Look};
use whimbrel_report::page::Fact;
use whimbrel_report::trace::Vantage;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::sweep::{self, Job, Run};

/// Makes an observer for each piece of work.
pub type Observers<'a> = dyn Fn() -> Box<dyn Observer> + 'a;

/// What is written of the runs.
#[derive(Debug, Clone)]
pub struct Outputs {
    /// Every run is wanted, because they are printed as JSON.
    pub json: bool,
    /// Number of threads; `None`: one for each core.
    pub threads: Option<NonZeroUsize>,
    /// A picture of windows, rates, RTTs and queues over time.
    pub plot: Option<PathBuf>,
    /// The picture has the spacing of acknowledgments, too.
    pub plot_spacing: bool,
    /// A page with the table and figures.
    pub report: Option<PathBuf>,
    /// Tables for other tools.
    pub save: Wanted,
    /// One run packet by packet.
    pub traces: Vec<TraceFile>,
    /// The end of the flows at which the traces are taken.
    pub trace_at: Vantage,
}

impl Outputs {
    /// Whether an output is wanted that needs every run.
    pub fn need_all_runs(&self) -> bool {
        self.json || self.report.is_some() || self.save.any()
    }

    /// Refuses a file that several outputs would have.
    fn check_distinct(&self) -> Result<(), BadInput> {
        let tables = self.save.save.iter().map(|table| &table.path);
        let all = self.report.iter().chain(&self.plot).chain(tables);
        let all = all.chain(&self.save.iperf3).map(PathBuf::as_path);
        let all: Vec<&Path> = all.chain(self.traces.iter().map(TraceFile::path)).collect();
        atomic_file::check_distinct(&all)
    }

    /// The run to trace, if one is to be traced.
    fn traced<'a>(
        &self,
        scenario: &'a Scenario,
        selection: Selection,
    ) -> Result<Option<Job<'a>>, Error> {
        if self.traces.is_empty() {
            return Ok(None);
        }
        let job = single_run::only(scenario, selection, "trace")?;
        for file in &self.traces {
            atomic_file::check(file.path())?;
        }
        Ok(Some(job))
    }
}

/// How to run a scenario, and what to print of it.
pub trait Presentation {
    /// Runs the points with their seeds, or with as many as are needed. Runs come in the order of
    /// the points, then of the seeds.
    ///
    /// # Errors
    /// If threads cannot be started, or an observer stops it.
    fn run<'a>(
        &self,
        scenario: &'a Scenario,
        outputs: &Outputs,
        observers: &Observers<'_>,
    ) -> Result<Vec<Run<'a>>, Error>;

    /// The rows of the table, in its order; those of an algorithm that must not share a network say
    /// so ([`Row::harmful`]).
    fn rows(&self, runs: &[Run<'_>]) -> Vec<Row>;

    /// What qualifies the table, in sentences.
    fn notes(&self, rows: &[Row]) -> Vec<String>;

    /// The text to print.
    fn text(&self, runs: &[Run<'_>]) -> String;
}

/// Every point with every seed, as a table.
#[derive(Debug, Clone, Copy)]
pub struct EveryRun;

impl Presentation for EveryRun {
    fn run<'a>(
        &self,
        scenario: &'a Scenario,
        outputs: &Outputs,
        observers: &Observers<'_>,
    ) -> Result<Vec<Run<'a>>, Error> {
        let jobs = sweep::jobs(scenario.points());
        run_all(&jobs, outputs.threads, &*observers())
    }

    fn rows(&self, runs: &[Run<'_>]) -> Vec<Row> {
        table_rows(None, runs)
    }

    fn notes(&self, _: &[Row]) -> Vec<String> {
        Vec::new()
    }

    fn text(&self, runs: &[Run<'_>]) -> String {
        whimbrel_report::table(&whimbrel_report::rows(runs))
    }
}

/// Runs a scenario, and writes the files that are wanted. Whether they can be written is checked
/// first.
///
/// # Errors
/// If a file cannot be written or the scenario does not fit it, threads cannot be started, or an
/// observer stops it.
pub fn present<'a>(
    scenario: &'a Scenario,
    subject: &Subject<'_>,
    selection: Selection,
    outputs: &Outputs,
    how: &impl Presentation,
    observers: &Observers<'_>,
) -> Result<Vec<Run<'a>>, Error> {
    let begin = Instant::now();
    outputs.check_distinct()?;
    for path in outputs.report.iter().chain(&outputs.plot) {
        atomic_file::check(path)?;
    }
    let traced = outputs.traced(scenario, selection)?;
    let saving = Saving::open(&outputs.save, scenario, selection)?;
    let runs = how.run(scenario, outputs, observers)?;
    if let Some(path) = &outputs.plot {
        let svg = draw(scenario, subject.title, outputs, observers)?;
        atomic_file::write_text(path, &svg)?;
    }
    if let Some(path) = &outputs.report {
        let rows = how.rows(&runs);
        let results = page::Results {
            notes: how.notes(&rows),
            rows,
            runs: &runs,
        };
        let threads = outputs.threads;
        let mut page = page::page(scenario, subject, &results, threads, &*observers())?;
        page.made = provenance::of_page(begin);
        atomic_file::write_page(path, &page)?;
    }
    let mut made = provenance::of_file();
    made.push(Fact::new("scenario", subject.text));
    saving.write(
        scenario,
        &runs,
        subject.title,
        &made,
        outputs.threads,
        &*observers(),
    )?;
    if let Some(job) = &traced {
        let network = job.point.network(job.seed);
        for file in &outputs.traces {
            file.write(&network, outputs.trace_at)?;
        }
    }
    Ok(runs)
}

/// Draws each point from another run of its first seed, with samples. The printed results have no
/// samples that the scenario does not set.
fn draw(
    scenario: &Scenario,
    title: &str,
    outputs: &Outputs,
    observers: &Observers<'_>,
) -> Result<String, Error> {
    let sampled = sampled(scenario);
    let runs = run_first_seeds(&sampled, outputs.threads, &*observers())?;
    let mut looks = Look::USUAL.to_vec();
    looks.extend(outputs.plot_spacing.then_some(Look::AckSpacing));
    let figures = figures::plot(title, &runs, &looks);
    if figures.is_empty() {
        let why = "needs a flow with a congestion controller, but the scenario has none";
        return Err(BadInput::in_argument("plot", why).into());
    }
    Ok(whimbrel_report::svg(&figures))
}
