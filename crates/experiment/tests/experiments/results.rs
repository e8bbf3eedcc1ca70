//! docs/results.md and the summary in README.md have the current experiments. `make results` writes
//! them.

use super::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use whimbrel_experiment::{Experiment, Library};

const BEGIN: &str = "<!-- summary: written by `make results` -->\n";
const END: &str = "\n<!-- /summary -->";

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).expect(name)
}

fn summary(text: &str) -> &str {
    let (_, rest) = text.split_once(BEGIN).expect("a summary begins");
    rest.split_once(END).expect("and ends").0
}

/// The cells of the lines of a Markdown table, without its heads.
fn cells(table: &str) -> Vec<Vec<&str>> {
    let lines = table.lines().filter(|line| line.starts_with("| "));
    lines
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .filter(|cells: &Vec<&str>| !["paper", "experiment"].contains(&cells[0]))
        .collect()
}

/// The verdict of every experiment in docs/results.md, by its id.
fn verdicts(results: &str) -> BTreeMap<String, String> {
    let (_, lines) = results.split_once(END).expect("a summary");
    let verdict = |cells: Vec<&str>| {
        let id = cells[0]
            .trim_start_matches('[')
            .split(']')
            .next()
            .expect("an id");
        assert_eq!(cells[0], format!("[{id}](../experiments/{id}.toml)"));
        (id.to_owned(), cells[3].to_owned())
    };
    cells(lines).into_iter().map(verdict).collect()
}

#[test]
fn the_results_are_those_of_the_current_experiments() {
    let library = Library::Folder(root().join("experiments"));
    let experiments = library.experiments("").expect("experiments");
    let id = |one: &Experiment| one.id.clone();
    let ids: BTreeSet<String> = experiments.iter().map(id).collect();
    let results: BTreeSet<String> = verdicts(&read("docs/results.md")).into_keys().collect();
    let hint = "run `make results`";
    // An experiment that needs a trace has a result only on a machine that has the trace.
    let needs_trace = |one: &&Experiment| !one.missing_traces.is_empty();
    let optional = experiments.iter().filter(needs_trace);
    let optional: BTreeSet<String> = optional.map(id).collect();
    let missing: Vec<_> = ids
        .difference(&results)
        .filter(|id| !optional.contains(*id))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/results.md has no {missing:?}: {hint}"
    );
    let gone: Vec<_> = results.difference(&ids).collect();
    assert!(
        gone.is_empty(),
        "docs/results.md has {gone:?}, which do not exist: {hint}"
    );
}

#[test]
fn the_summary_counts_the_results_and_is_in_the_readme() {
    let results = read("docs/results.md");
    let verdicts = verdicts(&results);
    let count = |verdict: &str| verdicts.values().filter(|v| *v == verdict).count();
    let counted = [
        verdicts.len(),
        count("holds"),
        count("in part"),
        count("does not hold"),
        count("contradicts itself"),
        count("undecided") + count("cannot be decided"),
    ];
    let table = cells(summary(&results));
    let (papers, totals) = table.split_at(table.len() - 2);
    assert_eq!(
        [totals[0][0], totals[1][0]],
        ["all of the papers", "all beyond them"]
    );
    // Both totals add up to the verdicts below, and the lines of the papers to the totals.
    for (column, counted) in counted.iter().enumerate() {
        let number = |cells: &Vec<&str>| cells[column + 1].parse::<usize>().expect("a number");
        let sum = |lines: &[Vec<&str>]| lines.iter().map(number).sum::<usize>();
        assert_eq!(sum(totals), *counted, "column {column}");
        assert_eq!(sum(papers), *counted, "column {column}");
    }
    let readme = read("README.md");
    assert_eq!(summary(&readme).replace("](docs/", "]("), summary(&results));
}
