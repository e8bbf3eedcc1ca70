//! What `compare` prints: the path in one line, the table with the best first, and notes.

use super::{CompareArgs, title};
use crate::neighbours::{self, REFERENCE, TOLERABLE};
use crate::runs::Progress;
use crate::transports::{Transport, carriers};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::num::NonZeroUsize;
use whimbrel_cc::Spec;
use whimbrel_report::{Interval, Row};
use whimbrel_sim::scenario::{Point, Scenario};
use whimbrel_sim::sweep::{self, Job, Run};

/// The relative half-width of a confidence interval that needs no further runs.
const SURE: f64 = 0.02;
/// Seeds of the runs beside a neighbour.
const SEEDS_BESIDE: u32 = 2;
/// The mark of algorithms that must not share a network.
const MARK: &str = " !";
/// The width that lines of notes have at most.
const WIDTH: usize = 80;

/// Runs the scenario and prints the table.
pub fn print(args: &CompareArgs, scenario: &Scenario) -> anyhow::Result<()> {
    let threads = args.play.threads;
    let runs = run_until_sure(scenario, threads)?;
    let mut rows = whimbrel_report::rows(&runs);
    sort(&mut rows);
    let harmful = harmful(&rows, threads)?;
    for row in &mut rows {
        if harmful.contains_key(&row.controller) {
            row.controller += MARK;
        }
    }
    let mut text = format!("{}\n", fill(&heading(args, &runs), ", "));
    text.push('\n');
    text += &whimbrel_report::table(&rows);
    text += &notes(args, &rows, &harmful);
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// What all runs have in common.
fn heading(args: &CompareArgs, runs: &[Run<'_>]) -> String {
    let flows = match args.flows {
        1 => "1 flow".to_owned(),
        n => format!("{n} flows"),
    };
    let count = |point: &Point| {
        runs.iter()
            .filter(|run| std::ptr::eq(run.point, point))
            .count()
    };
    let counts: Vec<usize> = runs.iter().map(|run| count(run.point)).collect();
    let (least, most) = (counts.iter().min().copied(), counts.iter().max().copied());
    let seeds = match (least.unwrap_or(0), most.unwrap_or(0)) {
        (1, 1) => "1 seed".to_owned(),
        (least, most) if least == most => format!("{most} seeds"),
        (least, most) => format!("{least} to {most} seeds"),
    };
    let path = title(args);
    let parts = [
        path,
        flows,
        args.duration.clone(),
        seeds,
        format!("recovery {}", args.recovery),
        args.transport.words().to_owned(),
    ];
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

/// Plays each point with one seed after the other until its goodput is known well enough, or no
/// seed is left. Runs come in the order of the points, then of the seeds.
fn run_until_sure(
    scenario: &Scenario,
    threads: Option<NonZeroUsize>,
) -> Result<Vec<Run<'_>>, sweep::ThreadsError> {
    let points = scenario.points();
    let mut done: Vec<Vec<Run<'_>>> = points.iter().map(|_| Vec::new()).collect();
    let most = points
        .iter()
        .map(|point| point.seeds().len())
        .max()
        .unwrap_or(0);
    let progress = Progress::new(points.len() * most, "runs");
    for round in 0..most {
        let open = |of: &[Run<'_>]| !is_sure(of);
        let next: Vec<(usize, Job<'_>)> = points
            .iter()
            .enumerate()
            .filter(|(i, _)| open(&done[*i]))
            .filter_map(|(i, point)| {
                Some((
                    i,
                    Job {
                        point,
                        seed: *point.seeds().get(round)?,
                    },
                ))
            })
            .collect();
        let jobs: Vec<Job<'_>> = next.iter().map(|(_, job)| *job).collect();
        let runs = sweep::run_all(&jobs, threads, || progress.done())?;
        for ((point, _), run) in next.iter().zip(runs) {
            done[*point].push(run);
        }
    }
    Ok(done.into_iter().flatten().collect())
}

/// Whether further runs would hardly change the mean of the goodput.
fn is_sure(runs: &[Run<'_>]) -> bool {
    let goodput = |run: &Run<'_>| run.outcome.goodput().as_bits_per_sec() as f64;
    let values: Vec<f64> = runs.iter().map(goodput).collect();
    let interval = Interval::of(&values);
    let half = interval.and_then(|interval| Some((interval.mean, interval.half_width?)));
    half.is_some_and(|(mean, half)| half <= SURE * mean)
}

/// The rows of each combination of the other swept values, the highest goodput first. A row of a
/// path follows that of its flows.
fn sort(rows: &mut [Row]) {
    let others = |row: &Row| -> Vec<String> {
        let other = row.parameters.iter().filter(|p| p.key != "flow.controller");
        other.map(|p| format!("{}={}", p.key, p.value)).collect()
    };
    let mut order: Vec<Vec<String>> = Vec::new();
    for row in rows.iter() {
        let key = others(row);
        if !order.contains(&key) {
            order.push(key);
        }
    }
    let place = |row: &Row| {
        order
            .iter()
            .position(|key| *key == others(row))
            .unwrap_or(0)
    };
    rows.sort_by(|a, b| {
        place(a)
            .cmp(&place(b))
            .then(b.goodput.mean.total_cmp(&a.goodput.mean))
    });
}

/// The controllers that leave a neighbour less than is tolerable, and what they leave.
fn harmful(rows: &[Row], threads: Option<NonZeroUsize>) -> anyhow::Result<BTreeMap<String, f64>> {
    let mut names: Vec<String> = rows.iter().map(|row| row.controller.clone()).collect();
    names.sort();
    names.dedup();
    let all = neighbours::beside(&REFERENCE, "cubic", &names, SEEDS_BESIDE, threads)?;
    let left = names
        .into_iter()
        .zip(all)
        .map(|(name, beside)| (name, beside.kept));
    Ok(left.filter(|(_, kept)| *kept < TOLERABLE).collect())
}

fn notes(args: &CompareArgs, rows: &[Row], harmful: &BTreeMap<String, f64>) -> String {
    let mut text = String::new();
    let mut note = |words: String, at: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{}", fill(&words, at));
    };
    if !harmful.is_empty() {
        let each = harmful
            .iter()
            .map(|(name, kept)| format!("{name} {:.0} %", kept * 100.0));
        note(
            format!(
                "! must not share a network: beside it, a CUBIC flow keeps less than {:.0} % of \
                 what it has beside another CUBIC ({}, {}, 1 BDP, no random loss): {}",
                TOLERABLE * 100.0,
                REFERENCE.rate.trim_matches('"'),
                REFERENCE.rtt,
                each.collect::<Vec<_>>().join(", ")
            ),
            " ",
        );
    }
    let mut by_carrier: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for row in rows {
        let name = row.controller.trim_end_matches(MARK);
        if let Ok(spec) = name.parse::<Spec>() {
            let carrier = carriers(&spec);
            let carrier = carrier.split(" (").next().unwrap_or_default().to_owned();
            let names = by_carrier.entry(carrier).or_default();
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    for (carrier, names) in by_carrier {
        let what = match carrier.as_str() {
            "send" => "Only `whimbrel send` runs",
            "send, tcp" => "`whimbrel send` and `whimbrel tcp` run",
            _ => "`whimbrel send`, `whimbrel tcp` and the Linux kernel (so nginx) run",
        };
        note(format!("{what} {}", names.join(", ")), " ");
    }
    if args.transport == Transport::Quic {
        note(
            "Over TCP, which does not pace, algorithms that set no rate lose more in bursts: \
             --transport tcp."
                .to_owned(),
            " ",
        );
    }
    text
}

/// Breaks a text into lines of at most [`WIDTH`], after `at`; no word is broken.
pub fn fill(text: &str, at: &str) -> String {
    let mut lines: Vec<String> = vec![String::new()];
    for (i, part) in text.split(at).enumerate() {
        let Some(line) = lines.last_mut() else {
            break;
        };
        if i == 0 || line.is_empty() {
            line.push_str(part);
        } else if line.chars().count() + at.len() + part.chars().count() <= WIDTH - at.len() {
            line.push_str(at);
            line.push_str(part);
        } else {
            line.push_str(at.trim_end());
            lines.push(part.to_owned());
        }
    }
    lines.join("\n")
}
