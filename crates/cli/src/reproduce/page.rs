//! What came of experiments as a page: a section for each, under its paper.

use super::text::{duration, rows, when};
use super::told::Told;
use crate::page::made;
use std::time::Instant;
use whimbrel_cc::Spec;
use whimbrel_cc::registry::Code;
use whimbrel_experiment::Verdict;
use whimbrel_report::page::{Column, Fact, Finding, Report, Section, Source, Table};

/// The page of what took since `begin`.
pub fn page(all: &[Told<'_>], begin: Instant) -> Report {
    let (title, summary) = match all {
        [one] => (format!("{} again", one.id), String::new()),
        _ => ("The papers' figures again".to_owned(), summary(all)),
    };
    Report {
        title,
        summary,
        made: made(begin),
        sections: all.iter().map(section).collect(),
    }
}

fn summary(all: &[Told<'_>]) -> String {
    let count = |verdict| all.iter().filter(|told| told.verdict == verdict).count();
    format!(
        "Of {} experiments {} hold, {} hold in part, and {} do not hold.",
        all.len(),
        count(Verdict::Holds),
        count(Verdict::InPart),
        count(Verdict::DoesNotHold)
    )
}

fn section(told: &Told<'_>) -> Section {
    let (heads, right, lines) = rows(&told.rows);
    let column = |(name, number): (String, bool)| Column { name, number };
    let names = [
        "what",
        "unit",
        "paper",
        "measured",
        "differs by",
        "right if",
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
    let note = told.note.map(|note| format!("Read as: {note}"));
    Section {
        id: told.id.to_owned(),
        title: told.id.to_owned(),
        group: told.paper.to_owned(),
        text: note.into_iter().collect(),
        facts: facts(told),
        finding: Some(Finding {
            place: told.place.to_owned(),
            claim: told.claim.to_owned(),
            verdict: told.verdict.to_string(),
            reason: told.reason.clone(),
        }),
        tables: vec![Table {
            caption: "The paper's numbers and ours, mean ± standard deviation over the seeds"
                .to_owned(),
            columns: named.zip(right).map(column).collect(),
            rows: lines,
        }],
        figures: told.figures.clone(),
        sources: sources(told),
    }
}

fn facts(told: &Told<'_>) -> Vec<Fact> {
    let settings = told.experiment.settings().into_iter();
    let mut facts: Vec<Fact> = settings
        .map(|(name, value)| Fact::new(name, value))
        .collect();
    facts.push(Fact::new("run time", duration(told.seconds)));
    if let Some(at) = told.kept {
        facts.push(Fact::new("run at", when(at)));
    }
    facts.push(Fact::new(
        "run it again",
        format!("whimbrel reproduce {} --again", told.id),
    ));
    facts
}

/// Its files but for traces, which nobody reads, and the code of all that takes part.
fn sources(told: &Told<'_>) -> Vec<Source> {
    let mut all = Vec::new();
    for file in told.files {
        let Some(name) = file.name.as_ref().filter(|name| name.ends_with(".toml")) else {
            continue;
        };
        let own = name.trim_end_matches(".toml") == told.id;
        all.push(Source {
            title: if own { "experiment" } else { "scenario" }.to_owned(),
            path: format!("experiments/{name}"),
            text: file.text.to_string(),
        });
    }
    for name in told.experiment.controllers() {
        // Its scenario was read: it names what there is.
        let Ok(spec) = name.parse::<Spec>() else {
            continue;
        };
        let law = spec.entry();
        add_code(law.name, law.code, &mut all);
        if let Some(discriminator) = spec.classifier() {
            add_code(discriminator.name, discriminator.code, &mut all);
        }
    }
    all
}

/// Its files, but for those that are there already.
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
