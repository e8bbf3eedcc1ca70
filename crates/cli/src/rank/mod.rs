//! `whimbrel rank`: scores algorithms on a matrix of paths, and prints a league table.

mod columns;
mod curves;
mod fair;
mod file;
mod page;
mod save;
mod show;

use crate::atomic_file;
use crate::cache::{Cache, Key, RANKED};
use crate::failure::BadInput;
use crate::runs::observer;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Instant;
use whimbrel_cc::{Spec, registry};
use whimbrel_rank::{
    Class, League, Library, LibraryError, MatrixPoint, Measures, Runs, Task, play,
};

/// The name for all algorithms.
const EVERY: &str = "all";
/// The default algorithms.
const USUAL: &str = "newreno,cubic,bbr,copa,cerl,enhanced-aatp,whimbrel";

/// Score algorithms on a matrix of paths
///
/// The matrix is a public set of scenario files (experiments/matrix) in seven classes. Every
/// algorithm runs at every point with several seeds. A score is from 0 to 1; 1 means that the goal
/// of the point is met. docs/ranking-method.md states the formulas.
#[derive(clap::Args)]
#[command(after_help = "\
Classes:
  A random loss       B fades           C changing paths   D sharing
  E corruption        F noise           G short transfers

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
    #[arg(long, value_delimiter = ',', default_value = USUAL, value_parser = choice)]
    controllers: Vec<String>,
    /// Number of runs of each algorithm at each point
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// Only points of these classes, e.g. `A,D`
    #[arg(long, value_delimiter = ',', value_parser = class, value_name = "LETTERS")]
    classes: Vec<Class>,
    /// Only points whose names begin with one of these words, e.g. `a0,d13`
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    only: Vec<String>,
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
    #[arg(long = "save", value_name = "[TABLE=]FILE.json|.csv|.parquet")]
    saves: Vec<save::Save>,
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

/// Checks that the text names an algorithm, or all.
fn choice(text: &str) -> Result<String, <Spec as FromStr>::Err> {
    match text.trim() {
        EVERY => Ok(EVERY.to_owned()),
        text => text.parse::<Spec>().map(|spec| spec.to_string()),
    }
}

fn class(text: &str) -> Result<Class, String> {
    Class::of(text).ok_or_else(|| {
        let all = Class::ALL.map(|class| format!("{class} ({})", class.subject()));
        format!(
            "`{text}` is not a class; the classes are {}",
            all.join(", ")
        )
    })
}

/// Runs what is not known, and prints the table.
pub fn run(args: RankArgs) -> anyhow::Result<ExitCode> {
    let begin = Instant::now();
    let saving = save::Saving::open(&args.saves)?;
    if let Some(path) = &args.report {
        atomic_file::check(path)?;
    }
    let library = library(&args)?;
    let mut controllers = chosen(&args);
    let mut unique: BTreeSet<String> = controllers.iter().cloned().collect();
    let mut runs = Runs::new();
    if let Some(path) = &args.known {
        let (known, names) = file::read(path, &library)?;
        runs = known;
        controllers.extend(names.into_iter().filter(|name| unique.insert(name.clone())));
        // What the command names is run: an earlier program may have made the file.
        runs.retain(|(_, name), _| !args.controllers.contains(name));
    }
    let cache = match Cache::open_to_write(args.keep.as_deref(), RANKED) {
        Ok(cache) => Some(cache),
        Err(error) => {
            eprintln!("warning: cannot store results: {error:#}");
            None
        }
    };
    complete(&library, &controllers, &args, cache.as_ref(), &mut runs)?;
    let league = League::new(&library, &controllers, &runs);
    saving.write(&library, &runs, &league)?;
    if let Some(path) = &args.report {
        let curves = match args.curves {
            true => curves::sections(&library, &league, args.threads)?,
            false => Vec::new(),
        };
        page::write(path, &library, &league, curves, begin)?;
    }
    let mut out = anstream::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &show::json(&library, &league))?;
        writeln!(out)?;
    } else {
        write!(out, "{}", show::table(&library, &league, args.seeds))?;
        if args.detail {
            let asked = chosen(&args);
            write!(out, "\n{}", fair::answer(&library, &league, &asked))?;
            write!(out, "{}", show::detail(&library, &league, &asked))?;
        }
        let seconds = begin.elapsed().as_secs_f64();
        writeln!(out, "{seconds:.1} s")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The names of the algorithms, each once.
fn chosen(args: &RankArgs) -> Vec<String> {
    let mut controllers: Vec<String> = Vec::new();
    for choice in &args.controllers {
        match choice.as_str() {
            EVERY => controllers.extend(registry::controllers().iter().map(|e| e.name.to_owned())),
            one => controllers.push(one.to_owned()),
        }
    }
    let mut unique = BTreeSet::new();
    controllers.retain(|name| unique.insert(name.clone()));
    controllers
}

/// What [`run`] prints with `--json`, and under `runs` what every run measured. Nothing is stored:
/// the key of a stored result is the command's own program.
///
/// # Errors
/// As the command.
pub fn as_json(args: &RankArgs) -> anyhow::Result<serde_json::Value> {
    let library = library(args)?;
    let controllers = chosen(args);
    let mut runs = Runs::new();
    complete(&library, &controllers, args, None, &mut runs)?;
    let league = League::new(&library, &controllers, &runs);
    let mut all = show::json(&library, &league);
    all["runs"] = file::records(&library, &runs)?;
    Ok(all)
}

fn library(args: &RankArgs) -> anyhow::Result<Library> {
    let library = match &args.points {
        Some(folder) => Library::folder(folder),
        None => Library::matrix(),
    };
    let mut library = library.map_err(|error| match error {
        LibraryError::Wrong(error) => anyhow::Error::new(error),
        other => anyhow::Error::new(BadInput::new(other)),
    })?;
    let all = library.points.len();
    library.points.retain(|point| {
        let class = args.classes.is_empty() || args.classes.contains(&point.class);
        let only = args.only.is_empty() || args.only.iter().any(|word| point.id.starts_with(word));
        class && only
    });
    if library.points.is_empty() {
        return Err(BadInput::new(format!(
            "--classes and --only leave none of the {all} points; leave one of them out"
        ))
        .into());
    }
    Ok(library)
}

/// Adds the runs that are missing: of the controllers, and of the algorithms that the points refer
/// to.
fn complete(
    library: &Library,
    controllers: &[String],
    args: &RankArgs,
    cache: Option<&Cache>,
    runs: &mut Runs,
) -> anyhow::Result<()> {
    let mut tasks: Vec<(Task<'_>, Option<Key>)> = Vec::new();
    for point in &library.points {
        let names = controllers
            .iter()
            .map(String::as_str)
            .chain(point.references());
        let names: BTreeSet<&str> = names.collect();
        for name in names {
            let place = (point.id.clone(), name.to_owned());
            if runs.contains_key(&place) {
                continue;
            }
            let key = cache.map(|cache| key(cache, point, name, args.seeds));
            let stored = cache.zip(key.as_ref()).filter(|_| !args.again);
            match stored.and_then(|(cache, key)| cache.read::<Vec<Measures>>(key)) {
                Some(stored) => {
                    runs.insert(place, stored);
                }
                None => tasks.push((Task::new(point, name, args.seeds)?, key)),
            }
        }
    }
    // The longest first, so that no core waits long for the last ones.
    tasks.sort_by(|a, b| b.0.work().total_cmp(&a.0.work()));
    let (tasks, keys): (Vec<Task<'_>>, Vec<Option<Key>>) = tasks.into_iter().unzip();
    let keys: BTreeMap<(&str, &str), Option<Key>> = tasks
        .iter()
        .zip(keys)
        .map(|(task, key)| ((task.point.id.as_str(), task.controller.as_str()), key))
        .collect();
    let observer = observer();
    observer.begin(tasks.iter().map(Task::work).sum(), "runs");
    let finished: Mutex<Runs> = Mutex::default();
    play(&tasks, args.threads, |task, measures| {
        let place = (task.point.id.as_str(), task.controller.as_str());
        if let (Some(cache), Some(Some(key))) = (cache, keys.get(&place)) {
            cache.write(key, &measures, &*observer);
        }
        let place = (task.point.id.clone(), task.controller.clone());
        if let Ok(mut finished) = finished.lock() {
            finished.insert(place, measures.to_vec());
        }
        observer.done(task.work()).is_continue()
    })?;
    runs.extend(finished.into_inner().unwrap_or_default());
    Ok(())
}

fn key(cache: &Cache, point: &MatrixPoint, controller: &str, seeds: u32) -> Key {
    let parts = [
        point.text.as_bytes(),
        controller.as_bytes(),
        &seeds.to_le_bytes(),
    ];
    cache.key_of(&format!("{}-{controller}", point.id), &parts)
}
