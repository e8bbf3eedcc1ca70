//! The results of a scenario as a page.

use crate::runs::{over_time, run_first_seeds};
use crate::table_rows::others;
use crate::under_test::{Tested, goodput};
use crate::{Error, Observer};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::Path;
use whimbrel_report::Row;
use whimbrel_report::figures;
use whimbrel_report::page::{Fact, Page, Section, Source};
use whimbrel_sim::scenario::document::Document;
use whimbrel_sim::scenario::{Point, Scenario};
use whimbrel_sim::sweep::Run;

/// What results are about.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Their title; may be empty.
    pub title: &'a str,
    /// The path of the scenario's file.
    pub path: &'a Path,
    /// The text of the file.
    pub text: &'a str,
    /// Which flows the tables are about; `None`: all.
    pub tested: Option<&'a Tested>,
}

/// What a page shows.
pub struct Results<'a> {
    /// The finished runs.
    pub runs: &'a [Run<'a>],
    /// The rows of the table.
    pub rows: Vec<Row>,
    /// What qualifies the table, in sentences.
    pub notes: Vec<String>,
}

/// The page of finished runs; how they were made is left to the caller. If the scenario sets no
/// samples, runs a few points once more with samples.
///
/// # Errors
/// If the observer stops it, or threads cannot be started.
pub fn page(
    scenario: &Scenario,
    subject: &Subject<'_>,
    Results { runs, rows, notes }: &Results<'_>,
    threads: Option<NonZeroUsize>,
    observer: &dyn Observer,
) -> Result<Page, Error> {
    let runs = *runs;
    // The best of many algorithms are drawn.
    let reached = |point: &Point| {
        let of_point = |run: &&Run<'_>| run.point.parameters() == point.parameters();
        let run = runs.iter().find(of_point);
        run.map_or(0.0, |run| goodput(subject.tested.is_some(), run))
    };
    let few = over_time(scenario, |_| false, reached);
    let again = match &few {
        Some(few) => run_first_seeds(few, threads, observer)?,
        None => Vec::new(),
    };
    let sampled = if few.is_some() { &again } else { runs };
    let title = match subject.title {
        "" => "Simulation results".to_owned(),
        title => title.to_owned(),
    };
    let mut figures = figures::figures(runs, sampled);
    // The runs over time are some of all: what is left out must be said.
    if let Some(words) = left_out(runs, sampled) {
        for figure in &mut figures {
            if figures::is_over_time(figure) {
                figure.caption += &format!(" {words}");
            }
        }
    }
    let empty = |id: &str, title: &str| Section {
        id: id.to_owned(),
        title: title.to_owned(),
        ..Section::default()
    };
    let ranking = Section {
        tables: vec![whimbrel_report::page_table(
            "Mean ± standard deviation over the seeds, the highest goodput of each path first",
            rows,
        )],
        text: notes.clone(),
        ..empty("ranking", "Ranking")
    };
    let section = Section {
        facts: facts(subject, scenario),
        figures,
        sources: vec![Source {
            title: "scenario".to_owned(),
            path: subject.path.display().to_string(),
            text: subject.text.to_owned(),
        }],
        ..empty("runs", "Runs")
    };
    Ok(Page {
        title,
        summary: summary(rows),
        made: Vec::new(),
        sections: vec![ranking, section],
    })
}

/// An algorithm is near the highest goodput from this part of it on.
const NEAR: f64 = 0.9;

/// Which algorithm has the highest goodput of those that may share a network, in a sentence; empty
/// with one algorithm.
fn summary(rows: &[Row]) -> String {
    let mut bests: Vec<&Row> = Vec::new();
    // The rows of paths repeat what their flows have.
    let whole = || rows.iter().filter(|row| row.route.is_none());
    let allowed: Vec<&Row> = whole().filter(|row| !row.harmful).collect();
    for row in allowed.iter().copied() {
        if bests.last().is_none_or(|last| others(last) != others(row)) {
            bests.push(row);
        }
    }
    let names: BTreeSet<&str> = allowed.iter().map(|row| row.controller.as_str()).collect();
    let Some(first) = bests.first().filter(|_| names.len() > 1) else {
        return String::new();
    };
    let which = match allowed.len() == whole().count() {
        true => "algorithms",
        false => "algorithms that may share a network",
    };
    let of = |row: &Row| {
        let mbit = row.goodput.mean * 1e-6;
        format!("{} ({mbit:.1} Mbit/s)", row.controller)
    };
    if bests.len() == 1 {
        let second = allowed
            .get(1)
            .map_or(String::new(), |row| format!(", then {}", of(row)));
        return format!(
            "The highest goodput of {} {which}: {}{second}.{}",
            names.len(),
            of(first),
            shortest_queue(&allowed)
        );
    }
    format!(
        "The highest goodput of {} {which} on {} paths: {}.{}",
        names.len(),
        bests.len(),
        wins(&bests),
        shortest_queue(&allowed)
    )
}

/// How often each algorithm is among these rows: `a on 2, b on 1`.
fn wins(rows: &[&Row]) -> String {
    let mut wins: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows {
        *wins.entry(row.controller.as_str()).or_default() += 1;
    }
    let mut wins: Vec<(&str, usize)> = wins.into_iter().collect();
    wins.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    let all = wins.iter().map(|(name, n)| format!("{name} on {n}"));
    all.collect::<Vec<_>>().join(", ")
}

/// Which algorithm near the highest goodput keeps the shortest queue, in a sentence; empty without
/// queues.
fn shortest_queue(allowed: &[&Row]) -> String {
    let wait = |row: &Row| row.queue_delay.as_ref().map(|wait| wait.mean);
    let calmest = allowed
        .chunk_by(|a, b| others(a) == others(b))
        .filter_map(|path| {
            let least = NEAR * path.first()?.goodput.mean;
            let near = path.iter().filter(|row| row.goodput.mean >= least);
            let waits = near.filter_map(|row| Some((*row, wait(row)?)));
            waits.min_by(|a, b| a.1.total_cmp(&b.1))
        });
    let calmest: Vec<(&Row, f64)> = calmest.collect();
    match &calmest[..] {
        [] => String::new(),
        [(row, wait)] => format!(
            " Of those within 10 % of it, {} has the shortest queue ({:.1} ms).",
            row.controller,
            wait * 1e3
        ),
        several => {
            let rows: Vec<&Row> = several.iter().map(|(row, _)| *row).collect();
            format!(
                " The shortest queue of those within 10 % of it: {}.",
                wins(&rows)
            )
        }
    }
}

/// Which algorithms are not drawn over time, in words; `None` if all are.
fn left_out(runs: &[Run<'_>], sampled: &[Run<'_>]) -> Option<String> {
    let names = |runs: &[Run<'_>]| -> BTreeSet<String> {
        runs.iter()
            .flat_map(|run| run.point.controllers())
            .collect()
    };
    let (all, drawn) = (names(runs), names(sampled));
    let missing: Vec<&str> = all.difference(&drawn).map(String::as_str).collect();
    (!missing.is_empty()).then(|| {
        format!(
            "{} of {} algorithms are drawn over time. Left out here, but not in the other figures \
             and the table: {}.",
            drawn.len(),
            all.len(),
            missing.join(", ")
        )
    })
}

/// The settings of the scenario, and the seeds of its runs.
fn facts(subject: &Subject<'_>, scenario: &Scenario) -> Vec<Fact> {
    // The text was parsed before, so this succeeds.
    let document = Document::parse(subject.text, subject.path).ok();
    let settings = document.iter().flat_map(Document::settings);
    let mut facts: Vec<Fact> = settings
        .map(|(name, value)| Fact::new(name, value))
        .collect();
    let seeds = scenario.points().first().map_or(&[][..], Point::seeds);
    let all: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let seeds = match seeds {
        [first, .., last] if last - first + 1 == seeds.len() as u64 => format!("{first} to {last}"),
        _ => all.join(", "),
    };
    facts.push(Fact::new("seeds", seeds));
    facts
}
