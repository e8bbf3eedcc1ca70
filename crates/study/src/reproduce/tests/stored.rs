//! Stored results: what is reused, and what runs again.

use super::*;

#[test]
fn finished_experiments_are_not_run_again() {
    let folders = Folders::new();
    folders.write(
        "paper/fig-2.toml",
        &format!("{EXPERIMENT}{SCENARIO}").replace("2 %", "1 %"),
    );
    // As after an interruption behind the first experiment.
    let first = folders.json("paper/fig-1");
    assert_eq!(first[0]["kept"], Value::Null);
    let both = folders.json("");
    assert!(both[0]["kept"].is_string() && both[1]["kept"].is_null());
    assert_eq!(both[0]["seconds"], first[0]["seconds"]);
    assert_eq!(timeless(&both[..1]), timeless(&first));
    let shown = folders.text("");
    assert_eq!(shown.matches("stored result of 2").count(), 2, "{shown}");
    assert_contains(&shown, &["; --again runs it again)"]);
    // The list shows their verdicts, too.
    let (list, _) = folders.list("");
    assert_eq!(
        [&list[0]["verdict"], &list[0]["kept"]],
        [&Value::from("does not hold"), &both[0]["kept"]]
    );
    assert_eq!(list[0]["seconds"], first[0]["seconds"]);

    let again = folders.results(&Request {
        again: true,
        ..folders.request("")
    });
    assert!(again.iter().all(|one| one["kept"].is_null()));
    assert_eq!(timeless(&again), timeless(&both));
}

#[test]
fn stale_and_damaged_results_are_not_used() {
    let folders = Folders::new();
    let fresh = folders.json("");
    let with_seeds = |seeds| {
        let request = Request {
            seeds,
            ..folders.request("")
        };
        folders.results(&request)[0]["kept"].is_string()
    };
    let is_stored = || with_seeds(None);
    assert!(is_stored());
    // Other seeds, and the same again.
    assert!(!with_seeds(Some(1)));
    assert!(with_seeds(Some(1)) && is_stored());
    // Truncated.
    for path in folders.stored() {
        let bytes = fs::read(&path).expect("a file");
        fs::write(&path, &bytes[..bytes.len() / 2]).expect("written");
    }
    let anew = folders.json("");
    assert_eq!(anew[0]["kept"], Value::Null);
    assert_eq!(timeless(&anew), timeless(&fresh));
    // The scenario in another file, and a change of that file.
    let shared = EXPERIMENT.replace(
        "[[experiment.row]]",
        "scenario = \"s.toml\"\n[[experiment.row]]",
    );
    let shared = shared.replacen(
        "scenario = \"s.toml\"\n[[experiment.row]]\nlabel = \"CERL's",
        "[[experiment.row]]\nlabel = \"CERL's",
        1,
    );
    folders.write("paper/s.toml", SCENARIO);
    folders.write("paper/fig-1.toml", &shared);
    assert!(!is_stored() && is_stored());
    folders.write("paper/s.toml", &SCENARIO.replace("2 %", "3 %"));
    assert!(!is_stored() && is_stored());
    // A change of the claim.
    folders.write("paper/fig-1.toml", &shared.replace("faster", "quicker"));
    assert!(!is_stored() && is_stored());
}
