//! `--report FILE.html` of `sim` and `compare`: what the runs of a scenario show, as a page.

use crate::aside;
use crate::made;
use crate::one_run::Fix;
use crate::play::{run_first_seeds, sampled};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;
use whimbrel_report::figures;
use whimbrel_report::page::{Fact, Report, Section, Source};
use whimbrel_sim::scenario::document::Document;
use whimbrel_sim::scenario::{Point, Scenario};
use whimbrel_sim::sweep::Run;

/// Where a scenario comes from.
pub struct Origin<'a> {
    /// What stands above what comes of it.
    pub title: &'a str,
    /// How its file is called.
    pub path: &'a Path,
    /// What the file says.
    pub text: &'a str,
    /// How a value is given that makes a sweep one run.
    pub fix: Fix,
}

/// Writes the page of runs that are done. Runs a few of them once more with samples, if the scenario has none of its own.
pub fn write(
    path: &Path,
    scenario: &Scenario,
    origin: &Origin<'_>,
    runs: &[Run<'_>],
    threads: Option<NonZeroUsize>,
    begin: Instant,
) -> anyhow::Result<()> {
    let few = over_time(scenario, |_| false);
    let again = match &few {
        Some(few) => run_first_seeds(few, threads)?,
        None => Vec::new(),
    };
    let sampled = if few.is_some() { &again } else { runs };
    let title = match origin.title {
        "" => "What the runs show".to_owned(),
        title => title.to_owned(),
    };
    let section = Section {
        id: "runs".to_owned(),
        title: "Runs".to_owned(),
        group: String::new(),
        text: Vec::new(),
        facts: facts(origin, scenario),
        finding: None,
        tables: vec![whimbrel_report::page_table(
            "Mean ± standard deviation over the seeds",
            &whimbrel_report::rows(runs),
        )],
        figures: figures::figures(runs, sampled),
        sources: vec![Source {
            title: "scenario".to_owned(),
            path: origin.path.display().to_string(),
            text: origin.text.to_owned(),
        }],
    };
    let report = Report {
        title,
        summary: String::new(),
        made: made(begin),
        sections: vec![section],
    };
    aside::write(path, |to| whimbrel_report::html(&report, to))
}

/// The few points of a scenario that are shown over time, and those that are `wanted` besides, sampled; `None` if its runs are
/// sampled anyway.
pub fn over_time(scenario: &Scenario, wanted: impl Fn(&Point) -> bool) -> Option<Scenario> {
    let by_itself = scenario
        .points()
        .iter()
        .all(|point| point.sample().is_some());
    (!by_itself).then(|| sampled(&figures::choose::few(scenario, wanted)))
}

/// How it was made.
pub fn made(begin: Instant) -> Vec<Fact> {
    let mut made = vec![
        Fact::new("command", made::command()),
        Fact::new("version", made::VERSION),
    ];
    if let Ok(cores) = std::thread::available_parallelism() {
        made.push(Fact::new("cores", cores.to_string()));
    }
    let seconds = begin.elapsed().as_secs_f64();
    made.push(Fact::new("run time", format!("{seconds:.1} s")));
    made
}

/// What the scenario sets, and with which seeds it was run.
fn facts(origin: &Origin<'_>, scenario: &Scenario) -> Vec<Fact> {
    // It was read before.
    let document = Document::parse(origin.text, origin.path).ok();
    let settings = document.iter().flat_map(Document::settings);
    let mut facts: Vec<Fact> = settings
        .map(|(name, value)| Fact::new(name, value))
        .collect();
    let seeds = scenario.points().first().map_or(&[][..], Point::seeds);
    let all: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let said = match seeds {
        [first, .., last] if last - first + 1 == seeds.len() as u64 => format!("{first} to {last}"),
        _ => all.join(", "),
    };
    facts.push(Fact::new("seeds", said));
    facts
}
