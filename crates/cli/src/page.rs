//! `--report FILE.html` of `sim` and `compare`: an HTML page with the results of a scenario.

use crate::atomic_file;
use crate::origin::Origin;
use crate::provenance;
use crate::runs::{run_first_seeds, sampled};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;
use whimbrel_report::figures;
use whimbrel_report::page::{Fact, Report, Section, Source};
use whimbrel_sim::scenario::document::Document;
use whimbrel_sim::scenario::{Point, Scenario};
use whimbrel_sim::sweep::Run;

/// Writes the page of finished runs. If the scenario sets no samples, runs a few points once more
/// with samples.
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
        "" => "Simulation results".to_owned(),
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
    atomic_file::write(path, |to| whimbrel_report::html(&report, to))
}

/// The few points of a scenario that figures show over time, and those that `also` selects, with
/// samples; `None` if the scenario itself sets samples.
pub fn over_time(scenario: &Scenario, also: impl Fn(&Point) -> bool) -> Option<Scenario> {
    let is_sampled = scenario
        .points()
        .iter()
        .all(|point| point.sample().is_some());
    (!is_sampled).then(|| sampled(&figures::choose::few(scenario, also)))
}

/// The provenance of a page: command, version, cores, and the time since `begin`.
pub fn made(begin: Instant) -> Vec<Fact> {
    let mut made = vec![
        Fact::new("command", provenance::command()),
        Fact::new("version", provenance::VERSION),
    ];
    if let Ok(cores) = std::thread::available_parallelism() {
        made.push(Fact::new("cores", cores.to_string()));
    }
    let seconds = begin.elapsed().as_secs_f64();
    made.push(Fact::new("run time", format!("{seconds:.1} s")));
    made
}

/// The settings of the scenario, and the seeds of its runs.
fn facts(origin: &Origin<'_>, scenario: &Scenario) -> Vec<Fact> {
    // The text was parsed before, so this succeeds.
    let document = Document::parse(origin.text, origin.path).ok();
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
