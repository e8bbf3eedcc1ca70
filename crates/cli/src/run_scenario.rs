//! Runs a scenario and shows its results: the common part of `sim` and `compare`.

use crate::atomic_file;
use crate::failure::BadInput;
use crate::packet_trace::TraceArgs;
use crate::save::SaveArgs;
use crate::svg::svg_file;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Instant;
use whimbrel_report::Row;
use whimbrel_report::figures::{self, Look};
use whimbrel_report::page::Fact;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::sweep::{self, Run};
use whimbrel_study::page::{self, Subject};
use whimbrel_study::provenance;
use whimbrel_study::runs::{run_all, run_first_seeds, sampled};
use whimbrel_study::saved::Saving;
use whimbrel_study::single_run::Selection;
use whimbrel_study::table_rows::table_rows;
use whimbrel_watch::Bar;

/// How to run a scenario, and how to show its results.
#[derive(clap::Args)]
pub struct OutputArgs {
    /// Print JSON: every run with every flow, in base units
    #[arg(long)]
    pub json: bool,
    /// Number of threads [default: all cores]; does not change the results
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Draw congestion window, rate, RTT and queue over time
    ///
    /// Shows one flow of each controller, from the first seed, and its losses if they are few. Each
    /// setting of a sweep has a figure; of more than eight settings, eight have one. If several AATP
    /// flows share a destination node, shows their shares, too.
    #[arg(long, value_name = "FILE.svg", value_parser = svg_file)]
    plot: Option<PathBuf>,
    /// Add the spacing of acknowledgments to --plot
    #[arg(long, requires = "plot")]
    plot_spacing: bool,
    /// Write an HTML page with the table and figures
    ///
    /// The page needs no other file. Its figures show windows, rates, round-trip times and queues
    /// over time, throughput against delay, results over the sweep, distributions, shares, and
    /// decisions on losses.
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    save: SaveArgs,
    #[command(flatten)]
    trace: TraceArgs,
}

impl OutputArgs {
    /// Whether an output is wanted that needs every run.
    pub fn needs_all_runs(&self) -> bool {
        self.json || self.report.is_some() || self.save.any()
    }
}

/// How to run a scenario, and what to print of it.
pub trait Presentation {
    /// Plays the points with their seeds, or with as many as are needed. Runs come in the order of
    /// the points, then of the seeds.
    ///
    /// # Errors
    /// If threads cannot be started.
    fn run<'a>(&self, scenario: &'a Scenario, args: &OutputArgs) -> anyhow::Result<Vec<Run<'a>>>;

    /// The rows of the table, in its order; those of an algorithm that must not share a network say
    /// so ([`Row::harmful`]).
    fn rows(&self, runs: &[Run<'_>]) -> Vec<Row>;

    /// What qualifies the table, in sentences.
    fn notes(&self, rows: &[Row]) -> Vec<String>;

    /// The text to print.
    fn text(&self, runs: &[Run<'_>]) -> String;
}

/// Every point with every seed, as a table.
pub struct EveryRun;

impl Presentation for EveryRun {
    fn run<'a>(&self, scenario: &'a Scenario, args: &OutputArgs) -> anyhow::Result<Vec<Run<'a>>> {
        let jobs = sweep::jobs(scenario.points());
        Ok(run_all(&jobs, args.threads, &Bar::new())?)
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

/// Runs a scenario, prints its results or JSON, and writes the requested files.
pub fn run_scenario(
    scenario: &Scenario,
    subject: &Subject<'_>,
    selection: Selection,
    args: &OutputArgs,
    how: &impl Presentation,
) -> anyhow::Result<()> {
    let begin = Instant::now();
    for path in args.report.iter().chain(&args.plot) {
        atomic_file::check(path)?;
    }
    let traced = args.trace.check(scenario, selection)?;
    let wanted = args.save.wanted();
    let saving = Saving::open(&wanted, scenario, selection)?;
    let runs = how.run(scenario, args)?;
    if let Some(path) = &args.plot {
        let svg = draw(scenario, subject.title, args)?;
        atomic_file::write_text(path, &svg)?;
    }
    if let Some(path) = &args.report {
        let rows = how.rows(&runs);
        let results = page::Results {
            notes: how.notes(&rows),
            rows,
            runs: &runs,
        };
        let mut page = page::page(scenario, subject, &results, args.threads, &Bar::new())?;
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
        args.threads,
        &Bar::new(),
    )?;
    if let Some(job) = &traced {
        args.trace.write(job)?;
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    if args.json {
        whimbrel_report::json(&runs, &mut out)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", how.text(&runs))?;
    }
    out.flush()?;
    Ok(())
}

/// Draws each point from another run of its first seed, with samples. The printed results have no
/// samples that the scenario does not set.
fn draw(scenario: &Scenario, title: &str, args: &OutputArgs) -> anyhow::Result<String> {
    let sampled = sampled(scenario);
    let runs = run_first_seeds(&sampled, args.threads, &Bar::new())?;
    let mut looks = Look::USUAL.to_vec();
    looks.extend(args.plot_spacing.then_some(Look::AckSpacing));
    let figures = figures::plot(title, &runs, &looks);
    if figures.is_empty() {
        return Err(BadInput::new(
            "--plot needs a flow with a congestion controller, but the scenario has none",
        )
        .into());
    }
    Ok(whimbrel_report::svg(&figures))
}
