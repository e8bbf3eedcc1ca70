//! What is written down of the experiments (docs/results.md, README.md; by `make results`) is of the experiments that there are.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

const BEGIN: &str = "<!-- summary: written by `make results` -->\n";
const END: &str = "\n<!-- /summary -->";

fn read(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(name)).expect(name)
}

fn summary(text: &str) -> &str {
    let (_, rest) = text.split_once(BEGIN).expect("a summary begins");
    rest.split_once(END).expect("and ends").0
}

/// The cells of a Markdown table's lines, without its heads.
fn cells(table: &str) -> Vec<Vec<&str>> {
    let lines = table.lines().filter(|line| line.starts_with("| "));
    lines
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .filter(|cells: &Vec<&str>| !["paper", "experiment"].contains(&cells[0]))
        .collect()
}

/// Of every experiment in docs/results.md the verdict, by its id.
fn verdicts(results: &str) -> BTreeMap<String, String> {
    let (_, lines) = results.split_once(END).expect("a summary");
    let told = |cells: Vec<&str>| {
        let id = cells[0]
            .trim_start_matches('[')
            .split(']')
            .next()
            .expect("an id");
        assert_eq!(cells[0], format!("[{id}](../experiments/{id}.toml)"));
        (id.to_owned(), cells[3].to_owned())
    };
    cells(lines).into_iter().map(told).collect()
}

#[test]
fn every_experiment_has_a_result_and_no_other() {
    let output = Command::new(env!("CARGO_BIN_EXE_whimbrel"))
        .args(["reproduce", "--list", "--json"])
        .output()
        .expect("the command runs");
    let list: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    let id = |told: &Value| told["id"].as_str().expect("a string").to_owned();
    let ids: BTreeSet<String> = list.iter().map(id).collect();
    let told: BTreeSet<String> = verdicts(&read("docs/results.md")).into_keys().collect();
    let hint = "run `make results`";
    // An experiment that needs a trace has a result only on a machine that has the trace.
    let needs_trace = |one: &&Value| !one["missing_traces"].as_array().expect("a list").is_empty();
    let optional: BTreeSet<String> = list.iter().filter(needs_trace).map(id).collect();
    let missing: Vec<_> = ids
        .difference(&told)
        .filter(|id| !optional.contains(*id))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/results.md lacks {missing:?}: {hint}"
    );
    let gone: Vec<_> = told.difference(&ids).collect();
    assert!(gone.is_empty(), "docs/results.md has {gone:?}: {hint}");
}

#[test]
fn the_summary_counts_what_the_results_say_and_the_readme_says_the_same() {
    let results = read("docs/results.md");
    let verdicts = verdicts(&results);
    let count = |verdict: &str| {
        verdicts
            .values()
            .filter(|v| *v == verdict)
            .count()
            .to_string()
    };
    let counted = [
        "all".to_owned(),
        verdicts.len().to_string(),
        count("holds"),
        count("in part"),
        count("does not hold"),
    ];
    let table = cells(summary(&results));
    let all = table.last().expect("a line for all");
    assert_eq!(all[..5], counted);
    // Each paper has a line, and they add up.
    for (column, total) in counted.iter().enumerate().skip(1) {
        let number = |cells: &Vec<&str>| cells[column].parse::<usize>().expect("a number");
        let sum: usize = table[..table.len() - 1].iter().map(number).sum();
        assert_eq!(sum.to_string(), *total, "column {column}");
    }
    let readme = read("README.md");
    assert_eq!(summary(&readme).replace("](docs/", "]("), summary(&results));
}
