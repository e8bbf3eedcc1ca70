//! What holds of all experiments together.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use whimbrel_experiment::{Experiment, Library, Measure, RowSpec};

fn all() -> Vec<Experiment> {
    Library::Embedded
        .experiments("")
        .expect("the experiments can be read")
}

/// How near is near enough, by the kind of number: docs/adding-an-experiment.md.
fn tolerance(id: &str, row: &RowSpec, paper: f64) -> f64 {
    if ["fig-10", "fig-11", "fig-12"]
        .iter()
        .any(|figure| id.starts_with(&format!("tcp-nack/{figure}")))
    {
        return 0.5; // measured on radios of which the paper says nothing
    }
    if row.over.is_some() {
        return 0.25; // a gain
    }
    match row.measure {
        Measure::Share | Measure::Jain => 0.05,
        Measure::WeightedFairness => 0.01,
        Measure::Loss if paper < 2.0 => 1.0, // at most twice as much
        Measure::Loss | Measure::RecoveryTime | Measure::Refill => 0.25,
        _ => 0.1,
    }
}

/// Numbers that equations give, worked out by hand: nothing in them is open.
const WORKED_OUT: [&str; 4] = [
    "emfast/fig-3",
    "enhanced-aatp/fig-2",
    "enhanced-aatp/fig-6",
    "enhanced-aatp/table-5",
];

#[test]
fn the_same_kind_of_number_has_the_same_tolerance() {
    for experiment in all() {
        for row in &experiment.rows {
            let Some(paper) = row.paper else { continue };
            let asked = row.tolerance;
            let rule = tolerance(&experiment.id, row, paper);
            let worked_out = asked == 0.02 && WORKED_OUT.contains(&experiment.id.as_str());
            assert!(
                asked == rule || worked_out,
                "{}, {}: {asked}, not {rule}",
                experiment.id,
                row.label
            );
        }
    }
}

#[test]
fn rows_of_an_experiment_can_be_told_apart() {
    for experiment in all() {
        let mut seen = BTreeSet::new();
        for row in &experiment.rows {
            assert!(
                seen.insert((&row.label, row.paper.map(f64::to_bits))),
                "{}: two rows are called {}",
                experiment.id,
                row.label
            );
        }
    }
}

/// Every file of a paper: an experiment, or a scenario that one names or that a page shows.
#[test]
fn no_scenario_lies_about_unused() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("experiments");
    let used: BTreeSet<String> = all()
        .iter()
        .flat_map(|e| [e.id.clone(), e.scenario_id.clone()])
        .collect();
    let pages: String = files(&root.join("docs"), "md")
        .iter()
        .map(|page| std::fs::read_to_string(page).expect("a page"))
        .collect();
    for file in files(&folder, "toml") {
        let name = file
            .strip_prefix(&folder)
            .expect("in it")
            .display()
            .to_string();
        let id = name.trim_end_matches(".toml");
        assert!(
            used.contains(id)
                || !name.contains('/')
                || pages.contains(&format!("experiments/{name}")),
            "nothing uses experiments/{name}"
        );
    }
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|e| e == ending) {
            found.push(path);
        }
    }
    found
}
