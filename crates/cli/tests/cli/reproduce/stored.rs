//! Stored results: what is reused, and what runs again.

use super::*;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn finished_experiments_are_not_run_again() {
    let place = Place::new();
    place.write(
        "paper/fig-2.toml",
        &format!("{EXPERIMENT}{SCENARIO}").replace("2 %", "1 %"),
    );
    // As after an interruption behind the first experiment.
    let first = place.json("paper/fig-1");
    assert_eq!(first[0]["kept"], Value::Null);
    let both = place.json("");
    assert!(both[0]["kept"].is_string() && both[1]["kept"].is_null());
    assert_eq!(both[0]["seconds"], first[0]["seconds"]);
    assert_eq!(timeless(&both[..1]), timeless(&first));
    let shown = place.run("");
    assert_eq!(shown.matches("stored result of 2").count(), 2, "{shown}");
    assert_contains(&shown, &["; --again runs it again)"]);
    // The list shows their verdicts, too.
    let list = place.json("--list");
    assert_eq!(
        [&list[0]["verdict"], &list[0]["kept"]],
        [&Value::from("does not hold"), &both[0]["kept"]]
    );
    assert_eq!(list[0]["seconds"], first[0]["seconds"]);

    let again = place.json("--again");
    assert!(again.iter().all(|one| one["kept"].is_null()));
    assert_eq!(timeless(&again), timeless(&both));
}

#[test]
fn a_killed_command_keeps_its_finished_results() {
    let place = Place::new();
    // A week of simulated time, which outlasts the first experiment.
    let long = SCENARIO.replace("20 s", "600000 s");
    place.write("paper/fig-2.toml", &format!("{EXPERIMENT}{long}"));
    let mut command = place.command("");
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    lines
        .find(|line| {
            line.as_ref()
                .expect("a line")
                .starts_with("does not hold: ")
        })
        .expect("the first experiment's verdict")
        .expect("a line");
    child.kill().expect("SIGKILL");
    child.wait().expect("it ends");
    let results = place.json("paper/fig-1");
    assert!(results[0]["kept"].is_string(), "{results:?}");
}

#[test]
fn stale_and_damaged_results_are_not_used() {
    let place = Place::new();
    let fresh = place.json("");
    let is_stored = |args: &str| place.json(args)[0]["kept"].is_string();
    assert!(is_stored(""));
    // Other seeds, and the same again.
    assert!(!is_stored("--seeds 1"));
    assert!(is_stored("--seeds 1") && is_stored(""));
    // Truncated.
    for path in place.stored() {
        let bytes = fs::read(&path).expect("a file");
        fs::write(&path, &bytes[..bytes.len() / 2]).expect("written");
    }
    let anew = place.json("");
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
    place.write("paper/s.toml", SCENARIO);
    place.write("paper/fig-1.toml", &shared);
    assert!(!is_stored("") && is_stored(""));
    place.write("paper/s.toml", &SCENARIO.replace("2 %", "3 %"));
    assert!(!is_stored("") && is_stored(""));
    // A change of the claim.
    place.write("paper/fig-1.toml", &shared.replace("faster", "quicker"));
    assert!(!is_stored("") && is_stored(""));
}

#[cfg(target_os = "linux")]
#[test]
fn another_program_runs_experiments_again() {
    let place = Place::new();
    place.json("");
    // The same program with an additional byte at the end.
    let other = place.at("whimbrel");
    fs::copy(env!("CARGO_BIN_EXE_whimbrel"), &other).expect("a copy");
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(&other)
        .expect("a file");
    std::io::Write::write_all(&mut file, b"x").expect("written");
    drop(file);
    let output = Command::new(&other)
        .args(words("reproduce --json --experiments"))
        .arg(place.at("experiments"))
        .arg("--keep")
        .arg(place.at("keep"))
        .output()
        .expect("the command runs");
    assert_eq!(json(&output)[0]["kept"], Value::Null);
    assert!(place.json("")[0]["kept"].is_string());
}

#[test]
fn results_are_printed_even_if_they_cannot_be_stored() {
    let place = Place::new();
    fs::write(place.at("keep"), "a file").expect("written");
    let output = place.output("");
    assert!(output.status.success());
    let warning = text(&output.stderr);
    assert!(
        warning.starts_with("warning: cannot store results: cannot write to "),
        "{warning}"
    );
    assert!(text(&output.stdout).contains("does not hold: 1 of 2 right"));
    // The list needs no stored results.
    place.run("--list");
}
