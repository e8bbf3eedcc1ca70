//! What `compare` prints: the path in one line, the table with the best first, and notes.

use super::scenario::scenario;
use super::{CompareArgs, title};
use crate::failure::BadInput;
use crate::neighbours::{self, REFERENCE, TOLERABLE};
use crate::play::{Play, PlayArgs};
use crate::runs::{Progress, first_seeds, run_all};
use crate::tested::{MARK, Tested, controller, goodput, table_rows};
use crate::transports::{Transport, carriers};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use whimbrel_cc::Spec;
use whimbrel_report::{Interval, Row, fill};
use whimbrel_sim::scenario::{Point, Scenario};
use whimbrel_sim::sweep::{self, Job, Run};

/// The relative half-width of a confidence interval that needs no further runs.
const SURE: f64 = 0.02;
/// Seeds of the runs beside a neighbour.
const SEEDS_BESIDE: u32 = 2;
/// A relative difference between two transports that is worth a word.
const MATTERS: f64 = 0.2;

/// How `compare` runs and prints.
pub struct Comparison<'a> {
    args: &'a CompareArgs,
    tested: Option<Tested>,
    /// The controllers that leave a neighbour less than is tolerable, and what they leave.
    harmful: BTreeMap<String, f64>,
    /// What each controller delivers over the other transport with the first seed, and over this
    /// one, bit/s. Empty if other values are swept than the controller.
    other: OnceCell<BTreeMap<String, [f64; 2]>>,
}

impl<'a> Comparison<'a> {
    /// Measures first what each controller of the scenario does to a neighbour.
    ///
    /// # Errors
    /// If threads cannot be started.
    pub fn new(args: &'a CompareArgs, scenario: &Scenario) -> anyhow::Result<Self> {
        let names = scenario.points().iter().filter_map(controller);
        let names: BTreeSet<String> = names.collect();
        let names: Vec<String> = names.into_iter().collect();
        let threads = args.play.threads;
        let cubic = "cubic".parse().map_err(BadInput::new)?;
        let all = neighbours::beside(&REFERENCE, &cubic, &names, SEEDS_BESIDE, threads)?;
        let left = names
            .into_iter()
            .zip(all)
            .map(|(name, beside)| (name, beside.kept));
        Ok(Self {
            args,
            tested: args.tested(),
            harmful: left.filter(|(_, kept)| *kept < TOLERABLE).collect(),
            other: OnceCell::new(),
        })
    }

    /// Runs each controller once over the other transport, beside its first run in `runs`.
    fn compare_transports(&self, runs: &[Run<'_>]) -> anyhow::Result<BTreeMap<String, [f64; 2]>> {
        let mut first: BTreeMap<String, f64> = BTreeMap::new();
        for run in runs.iter().filter(|run| run.seed == 1) {
            let Some(name) = controller(run.point) else {
                return Ok(BTreeMap::new());
            };
            if first.insert(name, self.goodput(run)).is_some() {
                return Ok(BTreeMap::new());
            }
        }
        first.retain(|name, _| !self.harmful.contains_key(name));
        let text = scenario(self.args, self.args.transport.other());
        let mut other = Scenario::parse(&text, Path::new("compare"))?;
        other.retain(|point| controller(point).is_some_and(|name| first.contains_key(&name)));
        let runs = run_all(&first_seeds(&other), self.args.play.threads)?;
        let both = runs.iter().filter_map(|run| {
            let name = controller(run.point)?;
            let here = *first.get(&name)?;
            Some((name, [self.goodput(run), here]))
        });
        Ok(both.collect())
    }

    /// Whether a point needs no further runs.
    fn is_done(&self, point: &Point, runs: &[Run<'_>]) -> bool {
        let harms = |name: String| self.harmful.contains_key(&name);
        self.is_sure(runs) || !runs.is_empty() && controller(point).is_some_and(harms)
    }

    /// Whether further runs would hardly change the mean of the goodput.
    fn is_sure(&self, runs: &[Run<'_>]) -> bool {
        let values: Vec<f64> = runs.iter().map(|run| self.goodput(run)).collect();
        let interval = Interval::of(&values);
        let half = interval.and_then(|interval| Some((interval.mean, interval.half_width?)));
        half.is_some_and(|(mean, half)| half <= SURE * mean)
    }

    /// The goodput of the flows under test, bit/s.
    fn goodput(&self, run: &Run<'_>) -> f64 {
        goodput(self.tested.as_ref(), run)
    }
}

impl Play for Comparison<'_> {
    fn run<'s>(&self, scenario: &'s Scenario, args: &PlayArgs) -> anyhow::Result<Vec<Run<'s>>> {
        if args.needs_all_runs() {
            return run_all(&sweep::jobs(scenario.points()), args.threads);
        }
        let points = scenario.points();
        let mut done: Vec<Vec<Run<'_>>> = points.iter().map(|_| Vec::new()).collect();
        let most = points
            .iter()
            .map(|point| point.seeds().len())
            .max()
            .unwrap_or(0);
        let progress = Progress::new(points.len() * most, "runs");
        for round in 0..most {
            let next: Vec<(usize, Job<'_>)> = points
                .iter()
                .enumerate()
                .filter(|(i, point)| !self.is_done(point, &done[*i]))
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
            let runs = sweep::run_while(&jobs, args.threads, || progress.done())?;
            for ((point, _), run) in next.iter().zip(runs) {
                done[*point].push(run);
            }
        }
        let runs: Vec<Run<'_>> = done.into_iter().flatten().collect();
        let other = self.compare_transports(&runs)?;
        let _ = self.other.set(other);
        Ok(runs)
    }

    fn rows(&self, runs: &[Run<'_>]) -> Vec<Row> {
        let mut rows = table_rows(self.tested.as_ref(), runs);
        for row in &mut rows {
            if self.harmful.contains_key(&row.controller) {
                row.controller += MARK;
            }
        }
        rows
    }

    fn notes(&self, rows: &[Row]) -> Vec<String> {
        let other = self.other.get().filter(|other| !other.is_empty());
        harm(&self.harmful)
            .into_iter()
            .chain(carried(rows))
            .chain(other.map(|other| transports(self.args.transport, other)))
            .collect()
    }

    fn text(&self, runs: &[Run<'_>]) -> String {
        let rows = self.rows(runs);
        let mut text = format!("{}\n\n", fill(&heading(self.args, runs), ", "));
        text += &whimbrel_report::table(&rows);
        text += "\n";
        for note in self.notes(&rows) {
            text += &fill(&note, " ");
            text += "\n";
        }
        text
    }
}

/// What all runs have in common.
fn heading(args: &CompareArgs, runs: &[Run<'_>]) -> String {
    let flows = match args.flows {
        1 => "1 flow".to_owned(),
        n => format!("{n} flows"),
    };
    let beside: Vec<String> = args.neighbours.iter().map(ToString::to_string).collect();
    let flows = match beside.is_empty() {
        true => flows,
        false => format!("{flows} beside {}", beside.join(" and ")),
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

/// Which algorithms must not share a network, and why.
fn harm(harmful: &BTreeMap<String, f64>) -> Option<String> {
    let each = harmful
        .iter()
        .map(|(name, kept)| format!("{name} {:.0} %", kept * 100.0));
    (!harmful.is_empty()).then(|| {
        format!(
            "! must not share a network: beside it, a CUBIC flow keeps less than {:.0} % of what \
             it has beside another CUBIC ({}, {}, 1 BDP, no random loss): {}",
            TOLERABLE * 100.0,
            REFERENCE.rate.trim_matches('"'),
            REFERENCE.rtt,
            each.collect::<Vec<_>>().join(", ")
        )
    })
}

/// Which transports carry the algorithms, a sentence for each kind.
fn carried(rows: &[Row]) -> Vec<String> {
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
    let sentence = |(carrier, names): (String, Vec<&str>)| {
        let what = match carrier.as_str() {
            "send" => "Over `whimbrel send` only:",
            "send, tcp" => "Over `whimbrel send` and `whimbrel tcp`:",
            _ => "Over `whimbrel send`, `whimbrel tcp` and in the Linux kernel (so for nginx):",
        };
        format!("{what} {}", names.join(", "))
    };
    by_carrier.into_iter().map(sentence).collect()
}

/// What the other transport would change.
fn transports(here: Transport, other: &BTreeMap<String, [f64; 2]>) -> String {
    let matters = |[there, here]: &[f64; 2]| (there / here.max(1.0) - 1.0).abs() > MATTERS;
    let words = here.other().words();
    let mut few: Vec<(&String, &[f64; 2])> =
        other.iter().filter(|(_, both)| matters(both)).collect();
    few.sort_by(|a, b| b.1[1].total_cmp(&a.1[1]));
    if few.is_empty() {
        let percent = MATTERS * 100.0;
        return format!("The same within {percent:.0} % over {words} (first seed).");
    }
    let show = |(name, [there, here]): &(&String, &[f64; 2])| {
        let (there, here) = (there * 1e-6, here * 1e-6);
        format!("{name} {there:.1} instead of {here:.1}")
    };
    let few: Vec<String> = few.iter().map(show).collect();
    format!("Over {words} (first seed, Mbit/s): {}", few.join(", "))
}
