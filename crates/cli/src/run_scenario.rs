//! Runs a scenario and shows its results: the common part of `sim` and `compare`.

use crate::packet_trace::TraceArgs;
use crate::save::SaveArgs;
use crate::svg::svg_file;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use whimbrel_sim::scenario::Scenario;
use whimbrel_study::Observer;
use whimbrel_study::page::Subject;
use whimbrel_study::presentation::{Outputs, Presentation, present};
use whimbrel_study::single_run::Selection;
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

/// A progress bar for a piece of work.
pub fn bar() -> Box<dyn Observer> {
    Box::new(Bar::new())
}

/// Runs a scenario, prints its results or JSON, and writes the requested files.
pub fn run_scenario(
    scenario: &Scenario,
    subject: &Subject<'_>,
    selection: Selection,
    args: &OutputArgs,
    how: &impl Presentation,
) -> anyhow::Result<()> {
    let outputs = Outputs {
        json: args.json,
        threads: args.threads,
        plot: args.plot.clone(),
        plot_spacing: args.plot_spacing,
        report: args.report.clone(),
        save: args.save.wanted()?,
        traces: args.trace.files.clone(),
        trace_at: args.trace.at.into(),
    };
    let runs = present(scenario, subject, selection, &outputs, how, &bar)?;
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
