//! `--list`.

use super::*;
use std::path::Path;

#[test]
fn the_list_has_claims_and_run_times() {
    let place = Place::new();
    place.write("paper/s.toml", SCENARIO);
    place.write(
        "paper/fig-2.toml",
        &EXPERIMENT.replacen("tolerance", "scenario = \"s.toml\"\ntolerance", 1),
    );
    place.write(
        "paper/fig-3.toml",
        &EXPERIMENT.replacen("tolerance", "scenario = \"s.toml\"\ntolerance", 1),
    );
    place.write("seconds.toml", "\"paper/s\" = 12.5\n");
    // Experiments beyond the paper come last, whatever their names.
    let beyond = format!("{EXPERIMENT}{SCENARIO}").replace("A paper\"", "A paper\"\nbeyond = true");
    place.write("paper/a.toml", &beyond);
    let list = place.json("--list");
    assert_eq!(list[3]["id"], "paper/a");
    assert_eq!([&list[2]["beyond"], &list[3]["beyond"]], [false, true]);
    let seconds: Vec<&Value> = list.iter().map(|one| &one["seconds"]).collect();
    assert_eq!(
        seconds,
        [
            &Value::Null,
            &Value::from(12.5),
            &Value::from(12.5),
            &Value::Null
        ]
    );
    assert_eq!(list[2]["scenario"], "paper/s");
    let shown = place.run("--list");
    assert!(shown.starts_with("A paper\n"), "{shown}");
    assert_contains(
        &shown,
        &[
            "?",
            "12.5",
            "(12.5)",
            "Experiments: 4. Total run time: 13 s, and 2 scenarios have no known run time (?).",
        ],
    );
    assert!(
        shown.lines().all(|line| line.chars().count() <= 130),
        "{shown}"
    );
    place.write("seconds.toml", "\"paper/s\" = \"long\"\n");
    let output = place.output(&["--list"]);
    assert!(fails(&output, 2).contains("seconds.toml: "));
}

#[test]
fn the_built_in_experiments_are_listed_everywhere() {
    let list = |folder: &Path| {
        let keep = tempfile::tempdir().expect("a folder");
        let output = command()
            .args(words("reproduce --list --json --keep"))
            .arg(keep.path())
            .current_dir(folder)
            .output();
        let mut all = list_of(&stdout(&output.expect("the command runs")));
        // Missing traces are named by their paths, which begin with the folder of the library.
        for experiment in &mut all {
            for trace in experiment["missing_traces"].as_array_mut().expect("a list") {
                let path = trace.as_str().expect("a path");
                let (_, below) = path.rsplit_once("experiments/").expect("in the library");
                *trace = Value::from(below);
            }
        }
        all
    };
    let here = list(Path::new("."));
    assert!(here.iter().any(|one| one["id"] == "cerl/fig-3.5"));
    // In a folder without experiments, the built-in ones are listed.
    assert_eq!(list(Path::new("/")), here);
}
