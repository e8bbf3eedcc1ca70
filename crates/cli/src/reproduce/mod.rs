//! `whimbrel reproduce`: the papers' experiments, the paper's numbers beside ours.

mod group;
mod keep;
mod list;
mod page;
mod progress;
mod report;
mod text;
mod told;

use crate::failure::BadInput;
use anyhow::Context;
use group::Group;
use keep::Keep;
use progress::Progress;
use report::Report;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use told::{Reproduced, Told};
use whimbrel_experiment::{Experiment, File, Library, LibraryError};
use whimbrel_sim::scenario::Setting;

/// Run the papers' experiments again
///
/// Each is a file experiments/PAPER/NAME.toml: a scenario, and the paper's claim and numbers. Prints the paper's numbers beside
/// ours, how far they are apart, and whether the claim holds. What is finished is kept: after an interruption the same command
/// goes on where it was.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  whimbrel reproduce --list                             what there is, and how long it takes
  whimbrel reproduce cerl/fig-3.5                       one
  whimbrel reproduce cerl/fig-4 emfast/table-1          all of a chapter, and one more
  whimbrel reproduce cerl --report out                  all of a paper, and a page with its figures: out/index.html
  whimbrel reproduce                                    everything

From a paper's figure to ours, to its scenario, to the code:
  whimbrel reproduce cerl/fig-3.5
  whimbrel reproduce cerl/fig-3.5 --print-scenario
  whimbrel controllers cerl --code

Results are kept in $XDG_CACHE_HOME/whimbrel or ~/.cache/whimbrel, and are used again only as long as the program, the experiment's \
files and the settings are the same. The difference from the paper is in % of the paper's number; of numbers that are in % it is \
in points.

A report's folder has index.html (one page, which needs no other file), results.json (what --json prints), results.csv (a line for \
each row), and below experiments/ the files that were run.

--json prints a list of objects with id, paper, place, claim, verdict (\"holds\", \"in part\" or \"does not hold\"), reason, scenario, rows \
(label, unit, paper, measured, measured_stddev, difference, ...), seconds, and when it was kept, if it was.")]
pub struct ReproduceArgs {
    /// Which: ids, or the words that several begin with [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Only list what there is, with what it shows and the seconds it takes
    #[arg(long)]
    list: bool,
    /// Only print the files that it is made of: the experiment, and its scenario if that is another's too
    #[arg(long, conflicts_with_all = ["list", "json"])]
    print_scenario: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write a page with figures, the results as JSON and CSV, and the files that were run
    #[arg(long, value_name = "DIR", conflicts_with_all = ["list", "print_scenario"])]
    report: Option<PathBuf>,
    /// Run also what is kept
    #[arg(long)]
    again: bool,
    /// Where results are kept [default: whimbrel in the user's cache]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Where the experiments are [default: a folder `experiments` here or above, else those built in]
    #[arg(long, value_name = "DIR")]
    experiments: Option<PathBuf>,
    /// Runs of each combination, over the experiment's own number: less is faster and less certain
    #[arg(long, value_name = "N")]
    seeds: Option<u32>,
    /// Run on so many threads [default: all cores]; results are the same on any number
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

/// An experiment that is asked for, and what is known of it before it is run.
struct Task {
    experiment: Experiment,
    files: Vec<File>,
    key: Option<keep::Key>,
    kept: Option<Reproduced>,
}

/// Runs them.
pub fn run(args: ReproduceArgs) -> anyhow::Result<ExitCode> {
    let library = match &args.experiments {
        Some(folder) => Library::Folder(folder.clone()),
        None => Library::nearest(&std::env::current_dir().context("cannot tell where I am")?),
    };
    let found = find(&library, &args.ids)?;
    if args.print_scenario {
        return print_files(&library, &found);
    }
    let seeds = args.seeds.map(|n| Setting {
        key: "run.seeds".to_owned(),
        value: n.to_string(),
    });
    let mut expected = library.seconds().map_err(failed)?;
    if args.list {
        let keep = Keep::of(args.keep.as_deref()).ok();
        let tasks = tasks(&library, found, keep.as_ref(), seeds.as_ref())?;
        learn(&mut expected, &tasks);
        list::print(&tasks, &expected, args.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let found = runnable(found)?;
    let report = args.report.as_deref().map(Report::begin).transpose()?;
    let keep = match Keep::to_write(args.keep.as_deref()) {
        Ok(keep) => Some(keep),
        Err(error) => {
            eprintln!("warning: results are not kept: {error:#}");
            None
        }
    };
    let mut tasks = tasks(&library, found, keep.as_ref(), seeds.as_ref())?;
    learn(&mut expected, &tasks);
    if args.again {
        tasks.iter_mut().for_each(|task| task.kept = None);
    }
    let told = reproduce(&tasks, &expected, keep.as_ref(), seeds.as_ref(), &args)?;
    if let Some(report) = report {
        report.write(&told)?;
        if !args.json {
            let mut out = anstream::stdout().lock();
            writeln!(out, "The report: {}", report.page().display())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What people ask for, each once, in the order of their names.
fn find(library: &Library, asked: &[String]) -> anyhow::Result<Vec<Experiment>> {
    let everything = [String::new()];
    let asked = if asked.is_empty() { &everything } else { asked };
    let mut found = BTreeMap::new();
    for asked in asked {
        for experiment in library.experiments(asked).map_err(failed)? {
            found.insert(told::place(&experiment), experiment);
        }
    }
    Ok(found.into_values().collect())
}

/// The experiments whose traces are here; says on standard error which ones are left out.
fn runnable(found: Vec<Experiment>) -> anyhow::Result<Vec<Experiment>> {
    let (runnable, lacking): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|experiment| experiment.missing_traces.is_empty());
    let reasons: Vec<String> = lacking.iter().map(needs).collect();
    if runnable.is_empty() && !reasons.is_empty() {
        return Err(BadInput::new(reasons.join("\n")).into());
    }
    for reason in reasons {
        eprintln!("note: {reason}");
    }
    Ok(runnable)
}

/// Which traces an experiment needs that are not here, in one line.
fn needs(experiment: &Experiment) -> String {
    let missing = experiment.missing_traces.iter();
    let missing: Vec<String> = missing
        .map(|path| plain(path).display().to_string())
        .collect();
    format!(
        "{} is not run: it needs a trace that is not in this repository: {} (see docs/low-orbit.md)",
        experiment.id,
        missing.join(", ")
    )
}

/// A path without `FOLDER/..`, for people.
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

fn tasks(
    library: &Library,
    found: Vec<Experiment>,
    keep: Option<&Keep>,
    seeds: Option<&Setting>,
) -> anyhow::Result<Vec<Task>> {
    let task = |experiment: Experiment| {
        let files = library.files(&experiment).map_err(failed)?;
        let key = keep.map(|keep| keep.key(&experiment.id, &files, seeds));
        let kept = keep
            .zip(key.as_ref())
            .and_then(|(keep, key)| keep.read(key));
        Ok(Task {
            experiment,
            files,
            key,
            kept,
        })
    };
    found.into_iter().map(task).collect()
}

/// What ran here took as long as it did.
fn learn(expected: &mut BTreeMap<String, f64>, tasks: &[Task]) {
    for task in tasks {
        if let Some(kept) = &task.kept {
            expected.insert(task.experiment.scenario_id.clone(), kept.seconds);
        }
    }
}

/// Runs what is not kept, and tells of each as soon as it is known: all together take minutes.
fn reproduce<'a>(
    tasks: &'a [Task],
    expected: &BTreeMap<String, f64>,
    keep: Option<&Keep>,
    seeds: Option<&Setting>,
    args: &ReproduceArgs,
) -> anyhow::Result<Vec<Told<'a>>> {
    let groups = Group::all(tasks);
    let progress = Progress::new(&groups, expected);
    let mut all = Vec::new();
    for group in &groups {
        let told = group.reproduce(keep, seeds, args.threads, &progress)?;
        if !args.json {
            progress.aside(|| {
                let mut out = anstream::stdout().lock();
                for told in &told {
                    write!(out, "{}", text::experiment(told))?;
                }
                out.flush()
            })?;
        }
        all.extend(told);
    }
    drop(progress);
    all.sort_by_key(|told| told::place(told.experiment));
    let mut out = anstream::stdout().lock();
    if args.json {
        told::json(&all, &mut out)?;
    } else {
        write!(out, "{}", text::end(&all))?;
    }
    out.flush()?;
    Ok(all)
}

/// The files as they are, each below the path where it lies. Traces are long: they are only named.
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
