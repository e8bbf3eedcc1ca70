//! `whimbrel reproduce`: runs the papers' experiments and compares the papers' numbers with the
//! measured ones.

mod group;
mod list;
mod page;
mod report;
mod result;
mod task;
mod text;

use crate::cache::{Cache, REPRODUCED};
use crate::failure::BadInput;
use crate::presets;
use crate::progress::Bar;
use crate::runs::observer;
use crate::sim::seeds_setting;
use anyhow::Context;
use group::{Group, announce};
use report::Report;
use result::ExperimentResult;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use task::{Task, learn, tasks};
pub use text::bold;
use whimbrel_experiment::{Experiment, Library, LibraryError};
use whimbrel_sim::scenario::Setting;

/// Reproduce the papers' experiments
///
/// An experiment is a file experiments/PAPER/NAME.toml: a scenario, and the paper's claim and
/// numbers. Prints the paper's numbers, the measured ones, their differences, and whether the claim
/// holds. Finished results are stored: after an interruption the same command continues where it
/// stopped.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  whimbrel reproduce --list                      list experiments and run times
  whimbrel reproduce cerl/fig-3.5                run one experiment
  whimbrel reproduce cerl/fig-4 emfast/table-1   a chapter, and one experiment
  whimbrel reproduce cerl --report out           a paper, and a page with figures:
                                                 out/index.html
  whimbrel reproduce                             all experiments

From a paper's figure to its reproduction, its scenario and the code:
  whimbrel reproduce cerl/fig-3.5
  whimbrel reproduce cerl/fig-3.5 --print-scenario
  whimbrel controllers cerl --code

Results are stored in $XDG_CACHE_HOME/whimbrel or ~/.cache/whimbrel, and are
reused only while the program, the experiment's files and the settings are the
same. The difference from the paper is in % of the paper's number; for numbers
in % it is in percentage points.

The folder of a report has index.html (one page, which needs no other file),
results.json (the output of --json), results.csv (a line for each row), and the
files of the experiments below experiments/.

--json prints a list of objects with id, paper, beyond (the claim is ours, not
the paper's), place, claim, verdict (\"holds\", \"in part\", \"does not hold\",
\"contradicts itself\" or \"undecided\"), reason, scenario, rows (label, unit, paper, measured,
measured_stddev, difference, asks: \"number\", \"order\" or \"nothing\", right: true,
false or null, seeds_to_decide, ...), seconds, and kept: the time of a stored
result, else null.")]
pub struct ReproduceArgs {
    /// Ids, or the words that ids begin with [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Only list the experiments, with their claims and run times
    #[arg(long)]
    list: bool,
    /// Only print the files: the experiment, and its scenario if that is another file
    #[arg(long, conflicts_with_all = ["list", "json"])]
    print_scenario: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write a page with figures, the results as JSON and CSV, and the files of the experiments
    #[arg(long, value_name = "DIR", conflicts_with_all = ["list", "print_scenario"])]
    report: Option<PathBuf>,
    /// Run experiments again whose results are stored
    #[arg(long)]
    again: bool,
    /// Folder of stored results [default: whimbrel in the user's cache folder]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Folder of the experiments [default: `experiments` here or above, else the built-in ones]
    #[arg(long, value_name = "DIR")]
    experiments: Option<PathBuf>,
    /// Number of runs of each combination; overrides the experiment
    #[arg(long, value_name = "N")]
    seeds: Option<u32>,
    /// Number of threads [default: all cores]; does not change the results
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

/// Lists, prints or runs the experiments.
pub fn run(args: ReproduceArgs) -> anyhow::Result<ExitCode> {
    let library = library(&args)?;
    let found = find(&library, &args.ids)?;
    if args.print_scenario {
        return print_files(&library, &found);
    }
    let seeds = args.seeds.map(seeds_setting);
    let mut expected = library.seconds().map_err(failed)?;
    if args.list {
        let cache = Cache::open(args.keep.as_deref(), REPRODUCED).ok();
        let tasks = tasks(&library, found, cache.as_ref(), seeds.as_ref()).map_err(failed)?;
        learn(&mut expected, &tasks);
        list::print(&tasks, &expected, args.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let found = runnable(found)?;
    let report = args.report.as_deref().map(Report::begin).transpose()?;
    let cache = match Cache::open_to_write(args.keep.as_deref(), REPRODUCED) {
        Ok(cache) => Some(cache),
        Err(error) => {
            eprintln!("warning: cannot store results: {error:#}");
            None
        }
    };
    let mut tasks = tasks(&library, found, cache.as_ref(), seeds.as_ref()).map_err(failed)?;
    learn(&mut expected, &tasks);
    if args.again {
        tasks.iter_mut().for_each(|task| task.cached = None);
    }
    let results = reproduce(&tasks, &expected, cache.as_ref(), seeds.as_ref(), &args)?;
    if let Some(report) = report {
        report.write(&results)?;
        if !args.json {
            let mut out = anstream::stdout().lock();
            writeln!(out, "Report: {}", report.page().display())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What [`run`] prints with `--json`. Nothing is stored: the key of a stored result is the command's
/// own program.
///
/// # Errors
/// As the command.
pub fn as_json(args: &ReproduceArgs) -> anyhow::Result<serde_json::Value> {
    let library = library(args)?;
    let found = runnable(find(&library, &args.ids)?)?;
    let seeds = args.seeds.map(seeds_setting);
    let expected = library.seconds().map_err(failed)?;
    let tasks = tasks(&library, found, None, seeds.as_ref()).map_err(failed)?;
    let groups = Group::all(&tasks);
    let observer = observer();
    announce(&groups, &expected, &*observer);
    let mut all = Vec::new();
    for group in &groups {
        all.extend(group.reproduce(None, seeds.as_ref(), args.threads, &expected, &*observer)?);
    }
    all.sort_by_key(|result| result::place(result.experiment));
    Ok(serde_json::to_value(all)?)
}

fn library(args: &ReproduceArgs) -> anyhow::Result<Library> {
    match &args.experiments {
        Some(folder) => Ok(Library::Folder(folder.clone())),
        None => {
            let here = std::env::current_dir().context("cannot find the current directory")?;
            Ok(Library::nearest(&here))
        }
    }
}

/// The experiments that the names match, each once, in order.
fn find(library: &Library, names: &[String]) -> anyhow::Result<Vec<Experiment>> {
    let everything = [String::new()];
    let names = if names.is_empty() { &everything } else { names };
    let mut found = BTreeMap::new();
    for name in names {
        for experiment in library.experiments(name).map_err(failed)? {
            found.insert(result::place(&experiment), experiment);
        }
    }
    Ok(found.into_values().collect())
}

/// The experiments whose traces are on this machine. A note on stderr names the others.
fn runnable(found: Vec<Experiment>) -> anyhow::Result<Vec<Experiment>> {
    let (runnable, incomplete): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|experiment| experiment.missing_traces.is_empty());
    let reasons: Vec<String> = incomplete.iter().map(missing).collect();
    if runnable.is_empty() && !reasons.is_empty() {
        return Err(BadInput::new(reasons.join("\n")).into());
    }
    for reason in reasons {
        eprintln!("note: {reason}");
    }
    Ok(runnable)
}

/// The missing traces of an experiment, in one line.
fn missing(experiment: &Experiment) -> String {
    let paths = experiment.missing_traces.iter();
    let paths: Vec<String> = paths
        .map(|path| plain(path).display().to_string())
        .collect();
    format!(
        "{} is not run: it needs a trace that is not in this repository: {} \
         (see docs/low-orbit.md)",
        experiment.id,
        paths.join(", ")
    )
}

/// A path without `FOLDER/..`, for the reader.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        let above = part == Component::ParentDir;
        if !(above && plain.file_name().is_some() && plain.pop()) {
            plain.push(part);
        }
    }
    plain
}

fn failed(error: LibraryError) -> anyhow::Error {
    match error {
        LibraryError::Wrong(error) => anyhow::Error::new(error),
        other => anyhow::Error::new(BadInput::new(other)),
    }
}

/// Runs the experiments without a stored result. Prints each result as soon as it is known, because
/// all experiments together take minutes.
fn reproduce<'a>(
    tasks: &'a [Task],
    expected: &BTreeMap<String, f64>,
    cache: Option<&Cache>,
    seeds: Option<&Setting>,
    args: &ReproduceArgs,
) -> anyhow::Result<Vec<ExperimentResult<'a>>> {
    let groups = Group::all(tasks);
    let bar = Bar::new();
    announce(&groups, expected, &bar);
    let mut all = Vec::new();
    for group in &groups {
        let results = group.reproduce(cache, seeds, args.threads, expected, &bar)?;
        if !args.json {
            bar.suspend(|| {
                let mut out = anstream::stdout().lock();
                for result in &results {
                    write!(out, "{}", text::experiment(result))?;
                }
                out.flush()
            })?;
        }
        all.extend(results);
    }
    drop(bar);
    all.sort_by_key(|result| result::place(result.experiment));
    let mut out = anstream::stdout().lock();
    if args.json {
        result::json(&all, &mut out)?;
    } else {
        write!(out, "{}", text::end(&all))?;
    }
    out.flush()?;
    Ok(all)
}

/// Prints the files, each with its path. Traces are long, so only their lengths are printed.
fn print_files(library: &Library, found: &[Experiment]) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    let mut printed = Vec::new();
    for experiment in found {
        for file in library.files(experiment).map_err(failed)? {
            if printed.contains(&file.path) {
                continue;
            }
            let path = file.path.display();
            if file.path.extension().is_some_and(|e| e == "toml") {
                writeln!(out, "# {path}\n{}", file.text)?;
                presets::explain(&mut out, &file.text)?;
            } else {
                writeln!(
                    out,
                    "# The trace {path} has {} lines",
                    file.text.lines().count()
                )?;
            }
            printed.push(file.path);
        }
    }
    Ok(ExitCode::SUCCESS)
}
