//! `whimbrel judge`: decisions on losses against the truth, and what mistakes cost.

mod show;

use crate::failure::BadInput;
use crate::play::run_all;
use crate::sim::read;
use anyhow::Context;
use serde::Serialize;
use std::fs;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use whimbrel_cc::Spec;
use whimbrel_experiment::decisions::{Judged, Mistake, Plan, discriminating};
use whimbrel_report::figures;
use whimbrel_sim::scenario::Setting;
use whimbrel_sim::scenario::document::Document;

/// The grid where no other is given.
const GRID: &str = include_str!("judge/grid.toml");
/// Every law that discriminates.
const EVERY: &str = "all";

/// Judge the decisions random loss or congestion against the truth
///
/// Runs algorithms that tell random loss from congestion over a grid of paths, counts their verdicts by what the
/// losses really were, and says what the mistakes cost: the same paths with the same seeds are run again
/// while the algorithm is told the truth.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct JudgeArgs {
    /// A scenario file, `-` for stdin, whose sweep is the grid [default: a built-in one, see --show]
    #[arg(value_name = "SCENARIO.toml")]
    scenario: Option<PathBuf>,
    /// Which algorithms, one after the other in place of the judged flows' own, or `all` that discriminate [default: all
    /// on the built-in grid, those that the file names on another]
    #[arg(long, value_delimiter = ',', value_parser = choice)]
    controllers: Vec<Choice>,
    /// Which of the flows of the file is judged, by name or number from 0 [default: those whose controller discriminates]
    #[arg(long, value_name = "FLOW")]
    flow: Option<String>,
    /// Runs of each cell of the grid, with seeds 1 to N; stands over the file's own
    #[arg(long, value_name = "N")]
    seeds: Option<u32>,
    /// Set a value over the file's own; takes its key out of the sweep. May be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<Setting>,
    /// Run on so many threads [default: all cores]; results are the same on any number
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Print JSON: every cell of the grid with its decisions and costs
    #[arg(long)]
    json: bool,
    /// Draw where over the grid the mistakes are made
    #[arg(long, value_name = "FILE.svg", value_parser = crate::play::svg_file)]
    picture: Option<PathBuf>,
    /// Print the built-in grid's scenario file, and run nothing
    #[arg(long, conflicts_with_all = ["scenario", "controllers", "flow", "seeds", "settings", "json", "picture"])]
    show: bool,
}

const HELP: &str = "\
Examples:
  whimbrel judge                                      all that discriminate, on the built-in grid
  whimbrel judge --controllers cerl,cubic+cerl --seeds 10
  whimbrel judge --set link.L.loss='1 %' --picture mistakes.svg
  whimbrel judge --show > mine.toml                   a grid of your own
  whimbrel judge mine.toml --controllers all

What is judged:
  Of a scenario file the flows whose controller discriminates. With --controllers these run each of the named
  ones instead; if none discriminates as the file stands, its only flow with a controller does, or the one that
  --flow says. All other flows are neighbours.

The truth:
  A loss that the controller was asked about is congestion if a queue dropped any of the packets that were found missing then,
  else random. Verdicts where nothing had been lost are shown apart. Marks (ECN) are no losses and do not count.
  right     share of the verdicts that were right; misleads where one kind of loss is rare
  balanced  mean of the shares of random losses and of congestion that were taken for what they were; 50 % is
            what always saying the same would give

What mistakes cost:
  The same runs with the controller told the truth (`oracle = \"random\"`, `\"congestion\"`, `\"everything\"` in a scenario).
  Differences are taken seed by seed, with their 95 % interval over the seeds; where it includes 0, nothing is
  certain. Correcting one kind of mistake changes how many losses there are and how often the other mistake is
  made, so the two do not add up; told of both is the best it can do with perfect knowledge. AATP's
  controllers cannot be told: their decisions are judged, not the costs.";

/// One algorithm, or all.
#[derive(Debug, Clone)]
enum Choice {
    Every,
    One(Box<Spec>),
}

fn choice(text: &str) -> Result<Choice, <Spec as FromStr>::Err> {
    match text.trim() {
        EVERY => Ok(Choice::Every),
        one => Ok(Choice::One(Box::new(one.parse()?))),
    }
}

/// What JSON tells.
#[derive(Serialize)]
struct Told<'a> {
    scenario: &'a str,
    judged: &'a [Judged],
}

/// Runs the grid.
pub fn run(args: JudgeArgs) -> anyhow::Result<ExitCode> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    if args.show {
        out.write_all(GRID.as_bytes())?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let (text, path) = match &args.scenario {
        Some(path) => read(path)?,
        None => (GRID.to_owned(), PathBuf::from("<built-in grid>")),
    };
    let mut settings = args.settings;
    if let Some(seeds) = args.seeds {
        settings.push(Setting {
            key: "run.seeds".to_owned(),
            value: seeds.to_string(),
        });
    }
    let controllers = controllers(&args.controllers, args.scenario.is_none());
    let document = Document::parse(&text, &path)?;
    let plan = Plan::new(&document, &settings, &controllers, args.flow.as_deref())?;
    let judged = plan.judge(&run_all(&plan.jobs(), args.threads)?);
    if let Some(path) = &args.picture {
        draw(&judged, path)?;
    }
    let name = path.display().to_string();
    if args.json {
        let told = Told {
            scenario: &name,
            judged: &judged,
        };
        serde_json::to_writer_pretty(&mut out, &told).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", show::text(&judged))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Each once, in order. None: those of the scenario.
fn controllers(choices: &[Choice], built_in: bool) -> Vec<Spec> {
    if choices.is_empty() && built_in {
        return discriminating();
    }
    let mut all: Vec<Spec> = Vec::new();
    for choice in choices {
        let these = match choice {
            Choice::Every => discriminating(),
            Choice::One(spec) => vec![(**spec).clone()],
        };
        for spec in these {
            if !all.contains(&spec) {
                all.push(spec);
            }
        }
    }
    all
}

fn draw(judged: &[Judged], path: &Path) -> anyhow::Result<()> {
    if judged.iter().all(|law| law.axes.is_empty()) {
        return Err(BadInput::new(
            "a picture shows mistakes over a grid: the scenario needs a [sweep]",
        )
        .into());
    }
    let figure = |(mistake, title): &(Mistake, &str)| {
        let maps: Vec<_> = judged.iter().map(|one| one.heat(*mistake)).collect();
        figures::heat_maps(title, "of the losses of this cause", &maps)
    };
    let mistakes = [
        (
            Mistake::RandomForCongestion,
            "Random loss taken for congestion",
        ),
        (
            Mistake::CongestionForRandom,
            "Congestion taken for random loss",
        ),
    ];
    let figures: Vec<_> = mistakes.iter().filter_map(figure).collect();
    let svg = whimbrel_report::svg(&figures);
    fs::write(path, svg).with_context(|| format!("cannot write {}", path.display()))
}
