//! `whimbrel judge`: compares decisions on losses with their true causes, and measures what
//! mistakes cost.

use crate::compare::choice;
use crate::failure::BadInput;
use crate::print;
use crate::sim::{read, seeds_setting, setting};
use crate::svg::svg_file;
use serde_json::json;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use whimbrel_sim::scenario::document::Document;
use whimbrel_sim::scenario::{Setting, Written};
use whimbrel_study::atomic_file;
use whimbrel_study::controllers::Choice;
use whimbrel_study::judge::{BUILT_IN_GRID, Request, controllers, figures, text};
use whimbrel_watch::Bar;

/// Judge decisions between random loss and congestion
///
/// Runs algorithms that distinguish random loss from congestion over a grid of paths, and counts
/// their decisions by the true causes of the losses. Measures what the mistakes cost: the same
/// paths run again with the same seeds while the algorithm knows the true causes.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct JudgeArgs {
    /// A scenario file, `-` for stdin; its sweep is the grid [default: a built-in one, see --show]
    #[arg(value_name = "SCENARIO.toml")]
    scenario: Option<PathBuf>,
    /// Algorithms that the judged flows run in turn instead of their own, or `all`
    ///
    /// By default, all algorithms that distinguish random loss from congestion run on the built-in
    /// grid; on another grid, those that the file names.
    #[arg(long, value_delimiter = ',', value_parser = choice("--controllers"))]
    controllers: Vec<Written<Choice>>,
    /// The judged flow, by name or number from 0
    ///
    /// By default, the flows whose controller distinguishes random loss from congestion are judged.
    #[arg(long, value_name = "FLOW")]
    flow: Option<String>,
    /// Number of runs of each cell of the grid, with seeds 1 to N; overrides the file
    #[arg(long, value_name = "N")]
    seeds: Option<u32>,
    /// Override a value of the file and remove its key from the sweep; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    settings: Vec<Setting>,
    /// Number of threads [default: all cores]; does not change the results
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Print JSON: every cell of the grid with its decisions and costs
    #[arg(long)]
    json: bool,
    /// Draw the mistakes over the grid
    #[arg(long, value_name = "FILE.svg", value_parser = svg_file)]
    picture: Option<PathBuf>,
    /// Print the scenario file of the built-in grid and exit
    #[arg(
        long,
        conflicts_with_all = [
            "scenario", "controllers", "flow", "seeds", "settings", "json", "picture",
        ]
    )]
    show: bool,
}

const HELP: &str = "\
Examples:
  whimbrel judge                       all such algorithms, on the built-in grid
  whimbrel judge --controllers cerl,cubic+cerl --seeds 10
  whimbrel judge --set link.L.loss='1 %' --picture mistakes.svg
  whimbrel judge --show > mine.toml    a grid of your own
  whimbrel judge mine.toml --controllers all

Judged flows:
  By default these are the flows of the file whose controller distinguishes
  random loss from congestion. With --controllers, these flows run each named
  algorithm in turn; if the file has no such flow, its only flow with a
  controller does, or the flow that --flow chooses. All other flows are
  neighbours.

Decisions:
  A loss is congestion if a queue dropped any of the packets that were missing
  when the controller decided, else random. Decisions after which no packet
  proved lost are counted separately. Marks (ECN) are not losses.
  right     fraction of right decisions; misleading where one kind of loss is
            rare
  balanced  mean of the fractions of random losses and of congestion that were
            recognized; always giving the same answer results in 50 %

Costs of mistakes:
  The same runs with a controller that knows the true causes (in a scenario:
  `oracle = \"random\"`, `\"congestion\"` or `\"everything\"`). Differences are taken
  for each seed, with their 95 % interval over the seeds; a difference whose
  interval includes 0 is not significant. Correcting one kind of mistake changes
  the number of losses and the number of mistakes of the other kind, so the two
  differences do not add up. With both, the controller does its best with
  perfect knowledge. Controllers of AATP cannot use an oracle: their decisions
  are counted, but their costs are not measured.";

/// Runs the grid.
pub fn run(args: JudgeArgs) -> anyhow::Result<ExitCode> {
    if args.show {
        return print::text(BUILT_IN_GRID);
    }
    let (scenario, path) = match &args.scenario {
        Some(path) => read(path)?,
        None => (BUILT_IN_GRID.to_owned(), PathBuf::from("<built-in grid>")),
    };
    let mut settings = args.settings;
    if let Some(seeds) = args.seeds {
        settings.push(seeds_setting(seeds));
    }
    let document = Document::parse(&scenario, &path)?;
    let request = Request {
        document: &document,
        settings: &settings,
        controllers: controllers(&args.controllers, args.scenario.is_none())?,
        flow: args.flow.as_deref(),
        threads: args.threads,
    };
    // Not after the runs that a file cannot be written.
    if let Some(path) = &args.picture {
        atomic_file::check(path)?;
    }
    let judged = request.run(&Bar::new())?;
    if let Some(path) = &args.picture {
        let figures = figures(&judged).ok_or_else(|| {
            BadInput::new("--picture shows mistakes over a grid: the scenario needs a [sweep]")
        })?;
        atomic_file::write_text(path, &whimbrel_report::svg(&figures))?;
    }
    let value = || json!({ "scenario": path.display().to_string(), "judged": judged });
    print::result(args.json, value, || text(&judged))
}
