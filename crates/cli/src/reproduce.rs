//! `whimbrel reproduce`: the papers' experiments, the paper's numbers beside ours.

use crate::failure::BadInput;
use crate::play::run_all;
use anyhow::Context;
use serde::Serialize;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use whimbrel_experiment::{Experiment, JudgedRow, Judgement, Library, LibraryError, Verdict};
use whimbrel_sim::scenario::Setting;
use whimbrel_sim::sweep;

/// Run the papers' experiments again
///
/// Each is a file experiments/PAPER/NAME.toml: a scenario, and the paper's claim and numbers. Prints the
/// paper's numbers beside ours, and whether the claim holds.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  whimbrel reproduce --list
  whimbrel reproduce cerl/fig-3.5
  whimbrel reproduce cerl            everything of that paper
  whimbrel reproduce --json          everything")]
pub struct ReproduceArgs {
    /// Which: a name, or the beginning of several [default: all]
    #[arg(default_value = "", hide_default_value = true)]
    id: String,
    /// Only list what there is
    #[arg(long)]
    list: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Where the experiments are [default: a folder `experiments` here or above, else those built in]
    #[arg(long, value_name = "DIR")]
    experiments: Option<PathBuf>,
    /// Runs of each combination, over the experiment's own number: less is faster and less certain
    #[arg(long, value_name = "N")]
    seeds: Option<u32>,
    /// Run on so many threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

/// One experiment as JSON tells it.
#[derive(Serialize)]
struct Told<'a> {
    id: &'a str,
    paper: &'a str,
    place: &'a str,
    claim: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    verdict: Verdict,
    reason: String,
    rows: Vec<JudgedRow>,
    /// What its runs took; experiments that share a scenario share them.
    seconds: f64,
}

/// Runs them.
pub fn run(args: ReproduceArgs) -> anyhow::Result<ExitCode> {
    let library = match &args.experiments {
        Some(folder) => Library::Folder(folder.clone()),
        None => Library::nearest(&std::env::current_dir().context("cannot tell where I am")?),
    };
    let found = library.experiments(&args.id).map_err(|error| match error {
        LibraryError::Wrong(error) => anyhow::Error::new(error),
        other => anyhow::Error::new(BadInput::new(other)),
    })?;
    if args.list {
        return list(&found, args.json);
    }
    let mut out = io::stdout().lock();
    let mut all = Vec::new();
    for group in by_scenario(&found) {
        let told = reproduce(&group, &args)?;
        if args.json {
            all.extend(told);
        } else {
            // Each as soon as it is done: all together take minutes.
            for told in &told {
                write!(out, "{}", text(told))?;
            }
            out.flush()?;
        }
    }
    if args.json {
        all.sort_by_key(|told| told.id);
        serde_json::to_writer_pretty(&mut out, &all).map_err(io::Error::from)?;
        writeln!(out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Experiments in order, those together that share a scenario.
fn by_scenario(found: &[Experiment]) -> Vec<Vec<&Experiment>> {
    let mut groups: Vec<Vec<&Experiment>> = Vec::new();
    for experiment in found {
        let same = |group: &&mut Vec<&Experiment>| group[0].scenario_id == experiment.scenario_id;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(experiment),
            None => groups.push(vec![experiment]),
        }
    }
    groups
}

/// Runs the scenario that these experiments share, and judges each by it.
fn reproduce<'a>(group: &[&'a Experiment], args: &ReproduceArgs) -> anyhow::Result<Vec<Told<'a>>> {
    let begin = Instant::now();
    let seeds = args.seeds.map(|n| Setting {
        key: "run.seeds".to_owned(),
        value: n.to_string(),
    });
    let Some(first) = group.first() else {
        return Ok(Vec::new());
    };
    let scenario = first.scenario(seeds.as_slice())?;
    let runs = run_all(&sweep::jobs(scenario.points()), args.threads)?;
    let seconds = begin.elapsed().as_secs_f64();
    let tell = |experiment: &&'a Experiment| told(experiment, experiment.judge(&runs), seconds);
    Ok(group.iter().map(tell).collect())
}

fn told(experiment: &Experiment, judgement: Judgement, seconds: f64) -> Told<'_> {
    let Experiment {
        id,
        paper,
        place,
        claim,
        note,
        ..
    } = experiment;
    Told {
        id,
        paper,
        place,
        claim,
        note: note.as_deref(),
        verdict: judgement.verdict,
        reason: judgement.reason,
        rows: judgement.rows,
        seconds,
    }
}

fn text(told: &Told<'_>) -> String {
    let heads = ["", "", "paper", "measured", "right if", ""].map(str::to_owned);
    let line = |row: &JudgedRow| {
        let measured = match (row.measured, row.measured_stddev) {
            (Some(mean), Some(sd)) => format!("{mean:.2} ± {sd:.2}"),
            (Some(mean), None) => format!("{mean:.2}"),
            (None, _) => "-".to_owned(),
        };
        let paper = row.paper.map_or(String::new(), |paper| paper.to_string());
        let right = match row.right {
            Some(true) => "right",
            Some(false) => "wrong",
            None => "",
        };
        vec![
            row.label.clone(),
            row.unit.to_owned(),
            paper,
            measured,
            row.asked.clone(),
            right.to_owned(),
        ]
    };
    let lines: Vec<Vec<String>> = told.rows.iter().map(line).collect();
    let table = whimbrel_report::plain(&heads, &[false, false, true, true, true, false], &lines);
    let note = told
        .note
        .map_or(String::new(), |note| format!("Read as: {note}\n"));
    format!(
        "{}\n{}\n{}\nClaim: {}\n{note}{table}{}: {} ({:.1} s)\n\n",
        told.id, told.paper, told.place, told.claim, told.verdict, told.reason, told.seconds
    )
}

fn list(found: &[Experiment], json: bool) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    if json {
        let told = |e: &Experiment| serde_json::json!({ "id": e.id, "paper": e.paper, "place": e.place, "claim": e.claim });
        serde_json::to_writer_pretty(&mut out, &found.iter().map(told).collect::<Vec<_>>())
            .map_err(io::Error::from)?;
        writeln!(out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let width = found.iter().map(|e| e.id.len()).max().unwrap_or(0);
    for experiment in found {
        writeln!(out, "{:width$}  {}", experiment.id, experiment.claim)?;
        writeln!(
            out,
            "{:width$}  {}; {}",
            "", experiment.place, experiment.paper
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
