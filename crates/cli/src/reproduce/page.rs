//! What came of experiments as a page: a section for each, under its paper.

use super::text::{duration, rows, seconds, when};
use super::told::Told;
use std::num::NonZeroUsize;
use whimbrel_cc::Spec;
use whimbrel_experiment::Verdict;
use whimbrel_report::page::{Column, Fact, Finding, Report, Section, Source, Table};

/// The page.
pub fn page(all: &[Told<'_>]) -> Report {
    let refs: Vec<&Told<'_>> = all.iter().collect();
    let (title, summary) = match all {
        [one] => (format!("{} again", one.id), String::new()),
        _ => ("The papers' figures again".to_owned(), summary(&refs)),
    };
    Report {
        title,
        summary,
        made: made(&refs),
        sections: all.iter().map(section).collect(),
    }
}

fn summary(all: &[&Told<'_>]) -> String {
    let count = |verdict| all.iter().filter(|told| told.verdict == verdict).count();
    format!(
        "Of {} experiments {} hold, {} hold in part, and {} do not hold.",
        all.len(),
        count(Verdict::Holds),
        count(Verdict::InPart),
        count(Verdict::DoesNotHold)
    )
}

fn made(all: &[&Told<'_>]) -> Vec<Fact> {
    let mut made = vec![
        Fact::new("command", command(std::env::args())),
        Fact::new("version", concat!("whimbrel ", env!("CARGO_PKG_VERSION"))),
    ];
    if let Ok(cores) = std::thread::available_parallelism().map(NonZeroUsize::get) {
        made.push(Fact::new("cores", cores.to_string()));
    }
    made.push(Fact::new("run time", duration(seconds(all))));
    made
}

/// A command line as people would type it.
fn command(words: impl Iterator<Item = String>) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./+=:,%".contains(c);
    let quoted = |(i, word): (usize, String)| match i {
        0 => "whimbrel".to_owned(),
        _ if !word.is_empty() && word.chars().all(plain) => word,
        _ => format!("'{}'", word.replace('\'', r"'\''")),
    };
    let words: Vec<String> = words.enumerate().map(quoted).collect();
    words.join(" ")
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
        for code in spec.code() {
            if !all.iter().any(|source: &Source| source.path == code.path) {
                all.push(Source {
                    title: format!("algorithm {name}"),
                    path: code.path.to_owned(),
                    text: code.text.to_owned(),
                });
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_typed_again() {
        let words = [
            "/opt/bin/whimbrel",
            "reproduce",
            "cerl/fig-3.5",
            "--report",
            "my report",
            "it's",
            "",
        ];
        assert_eq!(
            command(words.map(str::to_owned).into_iter()),
            r"whimbrel reproduce cerl/fig-3.5 --report 'my report' 'it'\''s' ''"
        );
    }
}
