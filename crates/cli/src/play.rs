//! Running a scenario and showing what came of it: what `sim` and `compare` share.

use crate::aside;
use crate::failure::BadInput;
use crate::page::{self, Origin};
use crate::save::{SaveArgs, Saving};
use crate::trace::TraceArgs;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use whimbrel_report::figures::{self, Look};
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::sweep::{self, Job, Run};

/// How many samples a picture's curves have.
const PICTURE_SAMPLES: u64 = 1000;
/// Work that takes less is over before a bar could be read.
const PATIENCE: Duration = Duration::from_secs(1);

/// How to run, and how to show it.
#[derive(clap::Args)]
pub struct PlayArgs {
    /// Print JSON: every run with every flow, in base units
    #[arg(long)]
    json: bool,
    /// Run on so many threads [default: all cores]; results are the same on any number
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Draw congestion window, rate, RTT and queue over time: one flow per controller, first seed, losses marked where they
    /// are few; and the shares of several AATP flows at the destination that receives them
    #[arg(long, value_name = "FILE.svg", value_parser = svg_file)]
    plot: Option<PathBuf>,
    /// Add the time between acknowledgments to --plot
    #[arg(long, requires = "plot")]
    plot_spacing: bool,
    /// Write a page with the table and figures, which needs nothing but a browser: windows, rates, round trips and queues over
    /// time, throughput against delay, what changes over the sweep, distributions, shares, decisions on losses
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    #[command(flatten)]
    save: SaveArgs,
    #[command(flatten)]
    trace: TraceArgs,
}

/// The file of `--plot` and `--picture`, which write SVG.
pub fn svg_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension() {
        Some(ending) if !ending.eq_ignore_ascii_case("svg") => {
            let named = path.with_extension("svg");
            Err(format!(
                "pictures are SVG; name the file {}",
                named.display()
            ))
        }
        _ => Ok(path),
    }
}

/// Runs all points with all seeds; prints a table or JSON, draws, and writes the files that are asked for.
pub fn play(scenario: &Scenario, origin: &Origin<'_>, args: &PlayArgs) -> anyhow::Result<()> {
    let begin = Instant::now();
    for path in args.report.iter().chain(&args.plot) {
        aside::check(path)?;
    }
    let traced = args.trace.check(scenario, origin.fix)?;
    let saving = Saving::open(&args.save, scenario, origin.fix)?;
    let runs = run_all(&sweep::jobs(scenario.points()), args.threads)?;
    if let Some(path) = &args.plot {
        let svg = draw(scenario, origin.title, args)?;
        aside::write(path, |to| to.write_all(svg.as_bytes()))?;
    }
    if let Some(path) = &args.report {
        page::write(path, scenario, origin, &runs, args.threads, begin)?;
    }
    saving.write(scenario, &runs, origin, args.threads)?;
    if let Some(job) = &traced {
        args.trace.write(job)?;
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    if args.json {
        whimbrel_report::json(&runs, &mut out)?;
        writeln!(out)?;
    } else {
        write!(
            out,
            "{}",
            whimbrel_report::table(&whimbrel_report::rows(&runs))
        )?;
    }
    out.flush()?;
    Ok(())
}

/// Runs all jobs. A bar on stderr shows how far it is, if it lasts and somebody looks.
pub fn run_all<'a>(
    jobs: &[Job<'a>],
    threads: Option<NonZeroUsize>,
) -> anyhow::Result<Vec<Run<'a>>> {
    let progress = Progress::new(jobs.len(), "runs");
    Ok(sweep::run_all(jobs, threads, || progress.done())?)
}

/// A bar on stderr, if the work lasts and somebody looks; it goes when this does.
pub struct Progress {
    bar: ProgressBar,
    begin: Instant,
}

impl Progress {
    /// Of so many pieces of work, called so.
    pub fn new(pieces: usize, name: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(pieces as u64), ProgressDrawTarget::hidden());
        let template = format!("{{pos}}/{{len}} {name} {{wide_bar}} {{eta}} left");
        // The template is ours and tested: if it were wrong, the bar would look plain.
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        let begin = Instant::now();
        Self { bar, begin }
    }

    /// A piece is done.
    pub fn done(&self) {
        self.bar.inc(1);
        let lasts = self.begin.elapsed() > PATIENCE;
        if self.bar.is_hidden() && lasts && io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The same points, sampled as often as a picture can show.
pub fn sampled(scenario: &Scenario) -> Scenario {
    let mut sampled = scenario.clone();
    if let Some(longest) = sampled.points().iter().map(|point| point.duration()).max() {
        let interval = longest / PICTURE_SAMPLES;
        sampled.set_sample(interval.max(whimbrel_units::Duration::from_millis(1)));
    }
    sampled
}

/// Runs each point with its first seed.
pub fn run_first_seeds(
    scenario: &Scenario,
    threads: Option<NonZeroUsize>,
) -> anyhow::Result<Vec<Run<'_>>> {
    run_all(&first_seeds(scenario), threads)
}

/// Each point with its first seed.
pub fn first_seeds(scenario: &Scenario) -> Vec<Job<'_>> {
    let first = |point| -> Option<Job<'_>> {
        let point: &whimbrel_sim::scenario::Point = point;
        point.seeds().first().map(|&seed| Job { point, seed })
    };
    scenario.points().iter().filter_map(first).collect()
}

/// Each point once more with its first seed, sampled: the results that are printed stay free of samples
/// that nobody asked for.
fn draw(scenario: &Scenario, title: &str, args: &PlayArgs) -> anyhow::Result<String> {
    let sampled = sampled(scenario);
    let runs = run_first_seeds(&sampled, args.threads)?;
    let mut looks = Look::USUAL.to_vec();
    looks.extend(args.plot_spacing.then_some(Look::AckSpacing));
    let figures = figures::plot(title, &runs, &looks);
    if figures.is_empty() {
        return Err(BadInput::new("no flow has a congestion controller: --plot shows none").into());
    }
    Ok(whimbrel_report::svg(&figures))
}
