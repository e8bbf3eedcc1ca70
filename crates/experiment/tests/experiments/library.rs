//! Properties of all experiments together.

use super::root;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use whimbrel_experiment::{Experiment, Library, RowSpec};

fn all() -> Vec<Experiment> {
    Library::Embedded
        .experiments("")
        .expect("the experiments can be read")
}

/// The tolerance for each kind of number, as docs/adding-an-experiment.md states it.
fn tolerance(id: &str, row: &RowSpec, paper: f64) -> f64 {
    if ["fig-10", "fig-11", "fig-12"]
        .iter()
        .any(|figure| id.starts_with(&format!("tcp-nack/{figure}")))
    {
        return 0.5; // measured on radios that the paper does not describe
    }
    if row.over.is_some() || row.minus.is_some() {
        return 0.25; // a gain, or a difference
    }
    match row.measure.name() {
        "share" | "jain" => 0.05,
        "weighted fairness" => 0.01,
        "loss" if paper < 2.0 => 1.0, // at most twice as much
        "loss" | "recovery time" | "refill" | "rate refill" => 0.25,
        _ => 0.1,
    }
}

/// Experiments with numbers computed from equations: nothing in them is open to interpretation.
const COMPUTED: [&str; 3] = [
    "emfast/fig-3",
    "enhanced-aatp/fig-2-equations",
    "enhanced-aatp/table-5",
];

#[test]
fn the_same_kind_of_number_has_the_same_tolerance() {
    for experiment in all() {
        for row in &experiment.rows {
            let Some(paper) = row.paper else { continue };
            let actual = row.tolerance;
            let rule = tolerance(&experiment.id, row, paper);
            let computed = actual == 0.02 && COMPUTED.contains(&experiment.id.as_str());
            assert!(
                actual == rule || computed,
                "{}, {}: {actual}, not {rule}",
                experiment.id,
                row.label
            );
        }
    }
}

#[test]
fn rows_of_an_experiment_have_different_labels() {
    for experiment in all() {
        let mut seen = BTreeSet::new();
        for row in &experiment.rows {
            assert!(
                seen.insert((&row.label, row.paper.map(f64::to_bits))),
                "{}: two rows have the label {}",
                experiment.id,
                row.label
            );
        }
    }
}

/// Every file is an experiment, a scenario that an experiment uses or a page shows, or a point of
/// a matrix, which `whimbrel rank` reads.
#[test]
fn every_scenario_file_is_used() {
    let root = root();
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
                || id.starts_with("matrix/")
                || id.starts_with("matrix2/")
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
