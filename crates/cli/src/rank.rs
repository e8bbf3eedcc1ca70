//! `whimbrel rank`: scores algorithms on a matrix of paths, and prints a league table.

use crate::print;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use whimbrel_rank::{Class, Version};
use whimbrel_study::atomic_file;
use whimbrel_study::cache::{Cache, Kind, RANKED};
use whimbrel_study::controllers::Choice;
use whimbrel_study::provenance;
use whimbrel_study::rank::{Request, Table, USUAL, USUAL_SEEDS, class, file_to_save, rank, text};
use whimbrel_study::table_file::{self, TableFile};
use whimbrel_watch::Bar;

/// Score algorithms on a matrix of paths
///
/// The matrix is a public set of scenario files (experiments/matrix) in classes. Every
/// algorithm runs at every point with several seeds. A score is from 0 to 1; 1 means that the goal
/// of the point is met. docs/ranking.md states the formulas.
#[derive(clap::Args)]
#[command(after_help = "\
Classes:
  A random loss       B fades           C changing paths   D sharing
  E corruption        F noise           G short transfers
With --matrix 2 also:
  H cellular paths    I several bottlenecks  J busy way back
  K churn             L flicker         M mixtures

Examples:
  whimbrel rank
  whimbrel rank --controllers cubic,bbr,cubic+cerl --seeds 3
  whimbrel rank --controllers bbr --classes D --seeds 1 --detail   is it fair?
  whimbrel rank --controllers all --save league.json --report league.html
  whimbrel rank --controllers cerl?A=0.7 --known league.json
                                        beside results of an earlier command
  whimbrel rank --classes F --report f.html --curves
  whimbrel rank --points my-points      points of your own

The interval below each score is the 95 % confidence interval over the seeds
(Student's t). `best at each` is the mean of the best score at each point.

Finished runs are stored in $XDG_CACHE_HOME/whimbrel or ~/.cache/whimbrel and
reused while the program, the point and the seeds are the same: after an
interruption the same command continues where it stopped.

--json prints {version, points: [{id, class, claim}], table: [{algorithm, all,
classes}], scores: [{algorithm, point, seed_count, score, low, high}]}. --save
writes what every run measured, and --save scores=FILE.csv the scores as rows.")]
pub struct RankArgs {
    /// Algorithms, or `all`; see `whimbrel controllers`
    #[arg(long, value_delimiter = ',', default_value = USUAL)]
    controllers: Vec<Choice>,
    /// Number of runs of each algorithm at each point
    #[arg(long, default_value_t = USUAL_SEEDS, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// Only points of these classes, e.g. `A,D`
    #[arg(long, value_delimiter = ',', value_parser = class, value_name = "LETTERS")]
    classes: Vec<Class>,
    /// Only points whose names begin with one of these words, e.g. `a0,d13`
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    only: Vec<String>,
    /// Version of the matrix: 1, or 2, which has more classes
    #[arg(long, default_value = "1", value_name = "N", conflicts_with = "points")]
    matrix: Version,
    /// Folder of points of your own instead of the matrix
    #[arg(long, value_name = "DIR")]
    points: Option<PathBuf>,
    /// Also print what was measured at every point
    #[arg(long)]
    detail: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Save results as JSON, CSV or Parquet, chosen by the extension; may be repeated
    ///
    /// FILE alone saves what every run measured, runs of references included; as JSON it is the
    /// file for --known. scores=FILE saves the score of each algorithm at each point, as CSV or
    /// Parquet. docs/reference/formats.md lists the columns.
    #[arg(long = "save", value_name = "[TABLE=]FILE.json|.csv|.parquet", value_parser = save)]
    saves: Vec<TableFile<Table>>,
    /// Add the results of an earlier `--save FILE.json`, of the same points
    #[arg(long, value_name = "FILE.json")]
    known: Option<PathBuf>,
    /// Write an HTML page with heat maps
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// With --report: also draw the two best algorithms, CUBIC and BBR over time at every point
    #[arg(long, requires = "report")]
    curves: bool,
    /// Run again what is stored
    #[arg(long)]
    again: bool,
    /// Folder of stored results [default: whimbrel in the user's cache folder]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Number of threads [default: all cores]; does not change the results
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

/// Reads the value of `--save`.
fn save(text: &str) -> Result<TableFile<Table>, String> {
    let is_json = text.starts_with("scores=") && text.ends_with(".json");
    file_to_save(text).map_err(|why| match is_json {
        true => format!("{why}; --json prints them as JSON"),
        false => why,
    })
}

/// Runs what is not known, and prints the table.
pub fn run(args: RankArgs) -> anyhow::Result<ExitCode> {
    let begin = Instant::now();
    let saving = table_file::open(&args.saves)?;
    if let Some(path) = &args.report {
        atomic_file::check(path)?;
    }
    let request = Request {
        controllers: args.controllers,
        seeds: args.seeds,
        classes: args.classes,
        only: args.only,
        matrix: args.matrix,
        points: args.points,
        known: args.known,
        again: args.again,
        threads: args.threads,
    };
    let cache = writable_cache(args.keep.as_deref(), RANKED);
    let ranking = rank(&request, cache.as_ref(), &Bar::new())?;
    for (save, file) in saving {
        ranking.save(save, file, provenance::of_file())?;
    }
    if let Some(path) = &args.report {
        let curves = match args.curves {
            true => ranking.curves(args.threads, &Bar::new())?,
            false => Vec::new(),
        };
        let page = ranking.page(curves, provenance::of_page(begin));
        atomic_file::write_page(path, &page)?;
    }
    let shown = || {
        let mut shown = text::table(&ranking, args.seeds);
        if args.detail {
            shown += &format!("\n{}{}", text::fairness(&ranking), text::detail(&ranking));
        }
        format!("{shown}{:.1} s\n", begin.elapsed().as_secs_f64())
    };
    print::result(args.json, || ranking.json(), shown)
}

/// A cache for results; without one, which has a warning, nothing is stored.
pub fn writable_cache(folder: Option<&Path>, kind: Kind) -> Option<Cache> {
    let cache = Cache::open_to_write(folder, kind);
    cache
        .inspect_err(|error| {
            print::note(format_args!(
                "warning: cannot store results: {}",
                error.text()
            ));
        })
        .ok()
}
