//! The results of experiments as an HTML page: a section for each, grouped by paper.

use super::result::{ExperimentResult, paper_title};
use super::words::{duration, rows, when};
use whimbrel_cc::Spec;
use whimbrel_cc::registry::Code;
use whimbrel_experiment::{Asks, ClaimVerdict, Count};
use whimbrel_report::page::{Column, Fact, Finding, Page, Section, Source, Table};

/// Whether the page has what differs from run to run: run times and dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// It has.
    Shown,
    /// It does not.
    LeftOut,
}

/// The page; `made` says how the results were made.
pub fn page(all: &[ExperimentResult<'_>], made: Vec<Fact>, times: Times) -> Page {
    let (title, summary) = match all {
        [one] => (format!("{}, reproduced", one.id), String::new()),
        _ => ("The papers' figures, reproduced".to_owned(), summary(all)),
    };
    Page {
        title,
        summary,
        made,
        sections: all.iter().map(|result| section(result, times)).collect(),
    }
}

fn summary(all: &[ExperimentResult<'_>]) -> String {
    let of_papers = || all.iter().filter(|result| !result.beyond);
    let count = |verdict| {
        of_papers()
            .filter(|result| result.verdict == verdict)
            .count()
    };
    let rows = || of_papers().flat_map(|one| &one.rows).map(|row| &row.row);
    format!(
        "Of {} claims of papers, {} hold, {} hold in part, {} do not hold, and {} contradict \
         themselves; the others are undecided, or cannot be decided. Right are {} of \
         the papers' numbers and {} of their orders. Beyond the papers there are {} more claims.",
        of_papers().count(),
        count(ClaimVerdict::Holds),
        count(ClaimVerdict::InPart),
        count(ClaimVerdict::DoesNotHold),
        count(ClaimVerdict::ContradictsItself),
        Count::of(rows(), Asks::Number),
        Count::of(rows(), Asks::Order),
        all.len() - of_papers().count(),
    )
}

fn section(result: &ExperimentResult<'_>, times: Times) -> Section {
    let (heads, right, lines) = rows(&result.rows);
    let column = |(name, number): (String, bool)| Column { name, number };
    let names = [
        "what",
        "unit",
        "paper",
        "measured",
        "difference",
        "expected",
        "verdict",
    ];
    let heads = heads.into_iter().zip(names);
    let named = heads.map(|(head, name)| {
        if head.is_empty() {
            name.to_owned()
        } else {
            head
        }
    });
    let note = result.note.map(|note| format!("Interpretation: {note}"));
    Section {
        id: result.id.to_owned(),
        title: result.id.to_owned(),
        group: paper_title(result.paper, result.beyond),
        text: note.into_iter().collect(),
        facts: facts(result, times),
        finding: Some(Finding {
            place: result.place.to_owned(),
            claim: result.claim.to_owned(),
            verdict: result.verdict.to_string(),
            reason: result.reason.clone(),
        }),
        tables: vec![Table {
            caption: "The paper's numbers and the measured ones, \
                      mean ± standard deviation over the seeds"
                .to_owned(),
            columns: named.zip(right).map(column).collect(),
            rows: lines,
        }],
        figures: result.figures.clone(),
        sources: sources(result),
    }
}

fn facts(result: &ExperimentResult<'_>, times: Times) -> Vec<Fact> {
    let settings = result.experiment.settings().into_iter();
    let mut facts: Vec<Fact> = settings
        .map(|(name, value)| Fact::new(name, value))
        .collect();
    if times == Times::Shown {
        facts.push(Fact::new("run time", duration(result.seconds)));
        if let Some(at) = result.cached {
            facts.push(Fact::new("run at", when(at)));
        }
    }
    facts.push(Fact::new(
        "to run it again",
        format!("whimbrel reproduce {} --again", result.id),
    ));
    facts
}

/// Its files without traces, and the code of its controllers.
fn sources(result: &ExperimentResult<'_>) -> Vec<Source> {
    let mut all = Vec::new();
    for file in result.files {
        let Some(name) = file.name.as_ref().filter(|name| name.ends_with(".toml")) else {
            continue;
        };
        let own = name.trim_end_matches(".toml") == result.id;
        all.push(Source {
            title: if own { "experiment" } else { "scenario" }.to_owned(),
            path: format!("experiments/{name}"),
            text: file.text.to_string(),
        });
    }
    for name in result.experiment.controllers() {
        // The scenario was checked, so this succeeds.
        let Ok(spec) = name.parse::<Spec>() else {
            continue;
        };
        let entry = spec.entry();
        add_code(entry.name, entry.code, &mut all);
        if let Some(classifier) = spec.classifier() {
            add_code(classifier.name, classifier.code, &mut all);
        }
        if let Some(layer) = spec.layer() {
            add_code(layer.name, layer.code, &mut all);
        }
    }
    all
}

/// Adds the files of an algorithm that are not in the list yet.
fn add_code(name: &str, code: &[Code], to: &mut Vec<Source>) {
    for (i, file) in code.iter().enumerate() {
        if to.iter().any(|source| source.path == file.path) {
            continue;
        }
        let title = match file.path.rsplit('/').next() {
            Some(part) if i > 0 => format!("{name}: {part}"),
            _ => format!("algorithm {name}"),
        };
        to.push(Source {
            title,
            path: file.path.to_owned(),
            text: file.text.to_owned(),
        });
    }
}
