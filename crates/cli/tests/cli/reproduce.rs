//! `whimbrel reproduce`: what it prints and writes, and what becomes of stored results. The tests
//! of `study::reproduce` check verdicts, lists, reports and artifacts.

use super::support::*;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// CERL and NewReno under random loss.
const EXPERIMENT: &str = concat!(
    r#"
[experiment]
paper = "A paper"
place = "Fig 1"
claim = "CERL is faster than NewReno on a lossy link"
measure = "total goodput"
[[experiment.row]]
label = "{over}"
where = { "flow.controller" = "cerl" }
over = { "flow.controller" = "newreno" }
above = 50
"#,
    include_str!("../../../study/src/testing/lossy.toml")
);

/// A folder with experiments, and a folder with stored results.
struct Folders(TempDir);

impl Folders {
    /// With the experiment `paper/fig-1`.
    fn new() -> Self {
        let folders = Self(folder());
        folders.write("fig-1", EXPERIMENT);
        folders
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes an experiment of the paper.
    fn write(&self, name: &str, text: &str) {
        let paper = self.at("experiments/paper");
        fs::create_dir_all(&paper).expect("a folder");
        fs::write(paper.join(format!("{name}.toml")), text).expect("a file");
    }

    /// A command that reproduces these experiments.
    fn complete(&self, mut command: Command, args: &str) -> Command {
        command
            .args(words("reproduce --experiments experiments --keep keep"))
            .args(words(args))
            .current_dir(self.0.path());
        command
    }

    fn output(&self, args: &str) -> Output {
        let output = self.complete(command(), args).output();
        output.expect("the command runs")
    }

    fn json(&self, args: &str) -> Vec<Value> {
        list(&json(&self.output(&format!("{args} --json")))).to_vec()
    }
}

#[test]
fn results_are_printed_stored_listed_and_written() {
    let folders = Folders::new();
    let shown = stdout(&folders.output("--report a/report --artifact artifact --threads 1"));
    assert_contains(
        &shown,
        &[
            "paper/fig-1\nA paper\nFig 1\nClaim: CERL is faster",
            "holds: 1 of 1 right",
            "whimbrel reproduce paper/fig-1 --print-scenario",
            "Report: a/report/index.html\nArtifact: artifact/artifact.json\n",
        ],
    );
    assert!(!shown.contains('\u{1b}'), "no color without a terminal");
    let results = fs::read_to_string(folders.at("a/report/results.json")).expect("written");
    let all = folders.json("paper");
    assert!(all[0]["kept"].is_string());
    assert_eq!(list(&parse(&results))[0]["rows"], all[0]["rows"]);
    assert!(folders.json("paper --again")[0]["kept"].is_null());
    assert!(folders.json("paper --seeds 1")[0]["kept"].is_null());
    let listed = folders.json("--list");
    assert_eq!(listed[0]["verdict"], "holds");
    let table = stdout(&folders.output("--list"));
    assert_eq!(stdout(&folders.output("all --list")), table);
    assert!(table.starts_with("A paper\n"), "{table}");
    // The printed file is a scenario, and so is the file itself.
    let printed = stdout(&folders.output("paper/fig-1 --print-scenario"));
    assert_contains(&printed, &["fig-1.toml\n", EXPERIMENT]);
    stdout(&piped("sim -", &printed));
    let file = folders.at("experiments/paper/fig-1.toml");
    stdout(&command().arg("sim").arg(file).output().expect("it runs"));
    // A mistake is reported before any run.
    folders.write(
        "fig-2",
        &EXPERIMENT.replace("total goodput", "total goodputs"),
    );
    assert_contains(
        &fails(&folders.output(""), 2),
        &["did you mean `total goodput`?"],
    );
    assert_contains(
        &fails(&folders.output("papre"), 2),
        &["did you mean `paper`?"],
    );
}

#[test]
fn an_experiment_without_its_trace_is_left_out_with_a_note() {
    let folders = Folders::new();
    let traced = EXPERIMENT.replace("\"10 Mbit/s\"", "{ trace = \"../../traces/a.txt\" }");
    folders.write("fig-2", &traced);
    let output = folders.output("paper --json");
    assert!(output.status.success());
    assert_eq!(list(&parse(&text(&output.stdout))).len(), 1);
    let note = text(&output.stderr);
    assert!(note.starts_with("note: paper/fig-2 is not run:"), "{note}");
    assert_contains(
        &fails(&folders.output("paper/fig-2"), 2),
        &["paper/fig-2 is not run"],
    );
}

#[test]
fn the_built_in_experiments_are_listed_everywhere() {
    let listed = |folder: &Path| {
        let keep = super::support::folder();
        let output = command()
            .args(words("reproduce --list --json --keep"))
            .arg(keep.path())
            .current_dir(folder)
            .output();
        let all = json(&output.expect("the command runs"));
        let mut all = list(&all).to_vec();
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
    let here = listed(Path::new("."));
    assert!(here.iter().any(|one| one["id"] == "cerl/fig-3.5"));
    // In a folder without experiments, the built-in ones are listed.
    assert_eq!(listed(Path::new("/")), here);
}

#[test]
fn a_killed_command_keeps_its_finished_results() {
    let folders = Folders::new();
    // A week of simulated time, which outlasts the first experiment.
    folders.write("fig-2", &EXPERIMENT.replace("20 s", "600000 s"));
    let mut child = folders
        .complete(command(), "")
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    lines
        .find(|line| line.as_ref().expect("a line").starts_with("holds: "))
        .expect("the first experiment's verdict")
        .expect("a line");
    child.kill().expect("SIGKILL");
    child.wait().expect("it ends");
    let results = folders.json("paper/fig-1");
    assert!(results[0]["kept"].is_string(), "{results:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn another_program_runs_experiments_again() {
    let folders = Folders::new();
    folders.json("");
    // The same program with an additional byte at the end.
    let other = folders.at("whimbrel");
    fs::copy(env!("CARGO_BIN_EXE_whimbrel"), &other).expect("a copy");
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(&other)
        .expect("a file");
    std::io::Write::write_all(&mut file, b"x").expect("written");
    drop(file);
    let output = folders.complete(Command::new(&other), "--json").output();
    let output = output.expect("the command runs");
    assert_eq!(json(&output)[0]["kept"], Value::Null);
    assert!(folders.json("")[0]["kept"].is_string());
}

#[test]
fn results_are_printed_even_if_they_cannot_be_stored() {
    let folders = Folders::new();
    fs::write(folders.at("keep"), "a file").expect("written");
    let output = folders.output("");
    assert!(output.status.success());
    let warning = text(&output.stderr);
    assert!(
        warning.starts_with("warning: cannot store results: cannot write to "),
        "{warning}"
    );
    assert!(text(&output.stdout).contains("holds: 1 of 1 right"));
    // The list needs no stored results.
    stdout(&folders.output("--list"));
}

#[test]
fn an_unwritable_report_fails_before_any_run() {
    let folders = Folders::new();
    // The run would take hours.
    folders.write("fig-1", &EXPERIMENT.replace("20 s", "600000 s"));
    fs::write(folders.at("file"), "").expect("written");
    let error = fails(&folders.output("--report file/report"), 1);
    assert_contains(&error, &["cannot write to file/report"]);
    fs::create_dir(folders.at("site")).expect("a folder");
    fs::write(folders.at("site/index.html"), "Home").expect("written");
    let error = fails(&folders.output("--report site"), 2);
    assert_contains(&error, &["index.html", "not a page of Whimbrel"]);
    let error = fails(&folders.output("--seeds 0"), 2);
    assert_contains(&error, &["--seeds", "0 is not in 1..=100000"]);
}
