//! `whimbrel reproduce`: runs the papers' experiments and compares the papers' numbers with the
//! measured ones.

use crate::print;
use crate::rank::writable_cache;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use whimbrel_study::atomic_file;
use whimbrel_study::cache::{Cache, REPRODUCED};
use whimbrel_study::provenance;
use whimbrel_study::reproduce::{self, Plan, Request, list, text};
use whimbrel_watch::Bar;

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
  whimbrel reproduce cerl --report out           a paper, with its figures in
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
files of the experiments below experiments/. The folder of an artifact has the
same files without run times and dates, and artifact.json: the program's
version, its compiler and the BLAKE3 of its Cargo.lock, the command, the seeds
of each scenario, and the BLAKE3 of each file.

--json prints a list of objects with id, paper, beyond (the claim is ours, not
the paper's), place, claim, verdict (\"holds\", \"in part\", \"does not hold\",
\"contradicts itself\", \"cannot be decided\" or \"undecided\"), reason, scenario,
rows (label, unit, paper, measured, measured_stddev, difference, asks: \"number\",
\"order\" or \"nothing\", right: true, false or null, seeds_to_decide, ...),
seconds, and kept: the time of a stored result, else null.")]
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
    /// Write inputs, outputs, seeds, versions and a page with figures, without times: a second run
    /// writes the same bytes
    #[arg(long, value_name = "DIR", conflicts_with_all = ["list", "print_scenario"])]
    artifact: Option<PathBuf>,
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
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    seeds: Option<u32>,
    /// Number of threads [default: all cores]; does not change the results
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

/// Lists, prints or runs the experiments. Prints each result as soon as it is known, because all
/// experiments together take minutes.
pub fn run(args: ReproduceArgs) -> anyhow::Result<ExitCode> {
    let begin = Instant::now();
    let all = args.ids.iter().any(|id| id == "all");
    let request = Request {
        ids: if all { Vec::new() } else { args.ids },
        experiments: args.experiments,
        seeds: args.seeds,
        again: args.again && !args.list,
        threads: args.threads,
    };
    let found = request.find()?;
    if args.print_scenario {
        return print::text(text::files(&found)?);
    }
    if args.list {
        let cache = Cache::open(args.keep.as_deref(), REPRODUCED).ok();
        let plan = request.plan(found, cache.as_ref())?;
        let Plan {
            tasks, expected, ..
        } = &plan;
        let table = || list::table(tasks, expected);
        return print::result(args.json, || list::json(tasks, expected), table);
    }
    let bar = Bar::new();
    let found = found.runnable(&bar)?;
    for folder in args.report.iter().chain(&args.artifact) {
        atomic_file::check_folder(folder)?;
        // The page replaces no other's.
        atomic_file::check(&folder.join("index.html"))?;
    }
    let cache = writable_cache(args.keep.as_deref(), REPRODUCED);
    let plan = request.plan(found, cache.as_ref())?;
    let all = reproduce::reproduce(&plan, cache.as_ref(), &bar, |results| {
        if args.json {
            return Ok(());
        }
        bar.suspend(|| {
            let mut out = anstream::stdout().lock();
            for result in results {
                write!(out, "{}", text::experiment(result))?;
            }
            out.flush()
        })
    })?;
    drop(bar);
    let mut out = anstream::stdout().lock();
    if args.json {
        reproduce::json(&all, &mut out)?;
    } else {
        write!(out, "{}", text::end(&all))?;
    }
    out.flush()?;
    if let Some(folder) = &args.report {
        reproduce::write_folder(folder, &all, provenance::of_page(begin))?;
        if !args.json {
            writeln!(out, "Report: {}", folder.join(reproduce::PAGE).display())?;
        }
    }
    if let Some(folder) = &args.artifact {
        reproduce::write_artifact(folder, &all, plan.seeds.as_ref())?;
        if !args.json {
            writeln!(
                out,
                "Artifact: {}",
                folder.join(reproduce::MANIFEST).display()
            )?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
