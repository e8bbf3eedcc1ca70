//! Lists of experiments.

use super::*;

#[test]
fn the_list_has_claims_and_run_times() {
    let folders = Folders::new();
    folders.write("paper/s.toml", SCENARIO);
    folders.write(
        "paper/fig-2.toml",
        &EXPERIMENT.replacen("tolerance", "scenario = \"s.toml\"\ntolerance", 1),
    );
    folders.write(
        "paper/fig-3.toml",
        &EXPERIMENT.replacen("tolerance", "scenario = \"s.toml\"\ntolerance", 1),
    );
    folders.write("seconds.toml", "\"paper/s\" = 12.5\n");
    // Experiments beyond the paper come last, whatever their names.
    let beyond = format!("{EXPERIMENT}{SCENARIO}").replace("A paper\"", "A paper\"\nbeyond = true");
    folders.write("paper/a.toml", &beyond);
    let (list, shown) = folders.list("");
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
    folders.write("seconds.toml", "\"paper/s\" = \"long\"\n");
    let error = folders.plan("").expect_err("no number");
    assert_contains(&error.text(), &["seconds.toml: "]);
}
