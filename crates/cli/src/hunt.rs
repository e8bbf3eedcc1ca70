//! `whimbrel hunt`: searches for the path on which an algorithm does worst.

use crate::failure::BadInput;
use crate::print;
use crate::svg::svg_file;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use whimbrel_cc::Spec;
use whimbrel_study::atomic_file;
use whimbrel_study::count;
use whimbrel_study::hunt::text::{list, text};
use whimbrel_study::hunt::{
    Request, Target, USUAL, USUAL_EVALUATIONS, USUAL_FRESH, USUAL_SEEDS, check_save, draw, hunt,
    save, save_set,
};
use whimbrel_study::provenance;
use whimbrel_watch::Bar;

/// Search for the path on which an algorithm does worst
///
/// Tries paths of many families, guided by the results, for the one on which NAME has the lowest
/// score of `whimbrel rank` over that of the best of --against. What is found is confirmed with
/// fresh seeds, made as simple as possible, explained, and can be saved as points for `rank`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  whimbrel hunt cubic
  whimbrel hunt whimbrel --against bbr,bbr3,cubic,copa --evaluations 3000
  whimbrel hunt copa --families cellular,way-back --report copa.html
  whimbrel hunt bbr --finds 3 --save weak && whimbrel rank --points weak
  whimbrel hunt --classifier cerl
  whimbrel hunt --draw 24 --save drawn && whimbrel rank --points drawn
  whimbrel hunt --list

The search runs random paths of each family first, then CMA-ES from the worst;
after every three rounds the better half of the families is left out. A path on
which the best of the others has less than 0.2 counts as no weakness. The same
seed finds the same on any number of threads, unless --minutes ends the search.

`searched` is the worst ratio in the search, which is partly luck; `ratio` is of
the same path with seeds that the search has not used, and its 95 % interval. A
weakness is a ratio below 0.9. A simpler path keeps three quarters of it.

--classifier hunts for wrong decisions between random loss and congestion: the
ratio is the balanced accuracy (0.5: no better than a fixed answer).

--json prints {name, against, evaluations, out_of_time, families: [{family,
path, evaluations, searched, ratio, low, high, seed_count}], finds: [{family,
path, from, point, sentences, scenario, ratio, low, high, seed_count}]}.")]
pub struct HuntArgs {
    /// The algorithm; see `whimbrel controllers`
    #[arg(value_name = "NAME", required_unless_present_any = ["classifier", "list", "draw"])]
    name: Option<Spec>,
    /// The algorithms of which the best is the measure
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAMES",
        default_value = USUAL,
        conflicts_with = "classifier"
    )]
    against: Vec<Spec>,
    /// Hunt for wrong decisions of this loss classifier instead
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    classifier: Option<String>,
    /// Only these families of paths
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    families: Vec<String>,
    /// Number of paths to try; the search ends with the round in which it is reached
    #[arg(long, value_name = "N", default_value_t = USUAL_EVALUATIONS, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    evaluations: u32,
    /// End the search with the round in which so many minutes have passed
    #[arg(long, value_name = "MINUTES", value_parser = minutes)]
    minutes: Option<Duration>,
    /// Decides which paths are tried
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Runs of each path in the search
    #[arg(long, value_name = "N", default_value_t = USUAL_SEEDS, value_parser = clap::value_parser!(u32).range(1..=100))]
    seeds: u32,
    /// Runs of each path that is confirmed, with fresh seeds
    #[arg(long, value_name = "N", default_value_t = USUAL_FRESH, value_parser = clap::value_parser!(u32).range(1..=100))]
    fresh: u32,
    /// Number of families of which the worst path is made simpler and explained
    #[arg(long, value_name = "N", default_value_t = 1)]
    finds: usize,
    /// Save what is found: a folder of points for `rank --points`, or FILE.toml for the worst
    #[arg(long, value_name = "DIR|FILE.toml")]
    save: Option<PathBuf>,
    /// Write an HTML page with windows, rates, round-trip times and queues over time
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Draw the worst path: windows, rates, round-trip times and queues over time
    #[arg(long, value_name = "FILE.svg", value_parser = svg_file)]
    plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Number of threads [default: all cores]; does not change the results
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Print the families with the ranges of what varies, and exit
    #[arg(long)]
    list: bool,
    /// Instead of a search: draw N paths of each family evenly from its ranges, and --save them
    #[arg(
        long,
        value_name = "N",
        requires = "save",
        conflicts_with_all = [
            "name", "against", "classifier", "evaluations", "minutes", "seeds", "fresh", "finds",
            "report", "plot", "threads", "json", "list",
        ],
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    draw: Option<u32>,
}

/// Reads a time in minutes.
fn minutes(text: &str) -> Result<Duration, String> {
    let minutes: f64 = text.trim().parse().map_err(|error| format!("{error}"))?;
    match minutes > 0.0 && minutes < 1e6 {
        true => Ok(Duration::from_secs_f64(minutes * 60.0)),
        false => Err("must be above 0 and below a million".to_owned()),
    }
}

/// Searches, and prints what was found.
pub fn run(args: &HuntArgs) -> anyhow::Result<ExitCode> {
    let begin = Instant::now();
    if args.list {
        return print::text(list());
    }
    if let (Some(number), Some(folder)) = (args.draw, &args.save) {
        let points = draw(&args.families, number, args.seed)?;
        save_set(folder, &points)?;
        let all = count(points.len() as u64, "path");
        let (folder, seed) = (folder.display(), args.seed);
        return print::text(format!(
            "{all}, seed {seed}, saved to {folder}\nwhimbrel rank --points {folder}\n"
        ));
    }
    let target = match (&args.name, &args.classifier) {
        (Some(name), _) => Target::algorithm(name, &args.against)?,
        (None, Some(name)) => Target::classifier(name)?,
        (None, None) => return Err(BadInput::new("name an algorithm or --classifier").into()),
    };
    // Not after hours of search that a file cannot be written.
    for path in args.report.iter().chain(&args.plot) {
        atomic_file::check(path)?;
    }
    if let Some(path) = &args.save {
        check_save(path)?;
    }
    let request = Request {
        families: args.families.clone(),
        evaluations: args.evaluations,
        time: args.minutes,
        seed: args.seed,
        seeds: args.seeds,
        fresh: args.fresh,
        finds: args.finds.max(1),
        threads: args.threads,
        ..Request::new(target)
    };
    let found = hunt(&request, &Bar::new())?;
    if let Some(path) = &args.save {
        save(path, &found.finds)?;
    }
    if args.report.is_some() || args.plot.is_some() {
        let figures = found.figures(args.threads, &Bar::new())?;
        if let Some(path) = &args.plot {
            let worst: Vec<_> = figures.iter().take(1).flatten().cloned().collect();
            atomic_file::write_text(path, &whimbrel_report::svg(&worst))?;
        }
        if let Some(path) = &args.report {
            let page = found.page(figures, provenance::of_page(begin));
            atomic_file::write_page(path, &page)?;
        }
    }
    let shown = || {
        let text = text(&found, args.save.as_deref());
        format!("{text}{:.1} s\n", begin.elapsed().as_secs_f64())
    };
    print::result(args.json, || found.json(), shown)
}
