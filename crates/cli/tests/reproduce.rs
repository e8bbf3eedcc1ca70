//! `whimbrel reproduce` as people and programs use it: real processes on experiments that take a moment, what is kept of
//! them, and what a report's folder holds.

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// CERL against NewReno under random loss.
const EXPERIMENT: &str = r#"
[experiment]
paper = "A paper"
place = "Fig 1"
claim = "CERL is faster than NewReno on a lossy link"
measure = "total goodput"
tolerance = "10 %"
[[experiment.row]]
label = "{over}"
where = { "flow.controller" = "cerl" }
over = { "flow.controller" = "newreno" }
above = 50
[[experiment.row]]
label = "CERL's RTT"
where = { "flow.controller" = "cerl" }
measure = "rtt mean"
paper = 1000
"#;
const SCENARIO: &str = r#"
[link.L]
rate = "10 Mbit/s"
delay = "50 ms"
queue = "1 bdp"
loss = "2 %"
[[flow]]
route = ["L"]
[run]
duration = "20 s"
seeds = 3
[sweep]
"flow.controller" = ["newreno", "cerl"]
"#;

/// A folder with experiments, one to keep results in, and room for more.
struct Place(TempDir);

impl Place {
    /// With `paper/fig-1` to begin with.
    fn new() -> Self {
        let place = Self(tempfile::tempdir().expect("a folder"));
        place.write("paper/fig-1.toml", &format!("{EXPERIMENT}{SCENARIO}"));
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.at("experiments").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_whimbrel"));
        command
            .arg("reproduce")
            .arg("--experiments")
            .arg(self.at("experiments"))
            .arg("--keep")
            .arg(self.at("keep"))
            .args(args)
            .stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> String {
        stdout(&self.command(args).output().expect("the command runs"))
    }

    fn json(&self, args: &[&str]) -> Vec<Value> {
        let args = [args, &["--json"]].concat();
        serde_json::from_str(&self.run(&args)).expect("JSON")
    }

    /// The results that are kept.
    fn kept(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.at("keep/reproduced")).expect("a folder");
        entries.map(|entry| entry.expect("one").path()).collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn stdout(output: &Output) -> String {
    let error = text(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert_eq!(error, "", "all is well and nobody looks");
    text(&output.stdout)
}

fn refused(output: &Output, status: i32) -> String {
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{error}");
    assert_eq!(text(&output.stdout), "");
    error
}

/// What does not depend on when and how fast it was run.
fn timeless(all: &[Value]) -> Vec<Value> {
    let mut all = all.to_vec();
    for told in &mut all {
        let told = told.as_object_mut().expect("an object");
        told.remove("seconds").expect("seconds");
        told.remove("kept").expect("when, or null");
    }
    all
}

#[test]
fn an_experiment_is_judged_and_told_to_people_and_to_programs() {
    let place = Place::new();
    let all = place.json(&["paper"]);
    let told = &all[0];
    assert_eq!(
        [
            &told["id"],
            &told["paper"],
            &told["place"],
            &told["scenario"]
        ],
        ["paper/fig-1", "A paper", "Fig 1", "paper/fig-1"]
    );
    assert_eq!(told["verdict"], "in part");
    assert!(
        told["reason"]
            .as_str()
            .expect("a string")
            .starts_with("1 of 2 right; wrong: CERL's RTT: "),
        "{told}"
    );
    let gain = &told["rows"][0];
    assert_eq!([&gain["label"], &gain["unit"]], ["newreno", "%"]);
    assert_eq!([&gain["paper"], &gain["difference"]], [&Value::Null; 2]);
    assert!(gain["measured"].as_f64().expect("a number") > 50.0);
    assert!(gain["measured_stddev"].as_f64().expect("a number") > 0.0);
    // 100 ms, and a little for the queue, where the paper has a second: some 90 % less.
    let rtt = &told["rows"][1];
    assert_eq!(
        [&rtt["paper"], &rtt["right"]],
        [&Value::from(1000.0), &Value::from(false)]
    );
    assert_eq!(rtt["difference_unit"], "% of the paper");
    let difference = rtt["difference"].as_f64().expect("a number");
    assert!((-90.0..-75.0).contains(&difference), "{difference}");
    assert!(told["seconds"].as_f64().expect("a number") > 0.0);

    let shown = place.run(&[]);
    for words in [
        "paper/fig-1\nA paper\nFig 1\nClaim: CERL is faster",
        "in part: 1 of 2 right",
        "differs by",
        "1000 ± 100",
        "whimbrel reproduce paper/fig-1 --print-scenario",
        "whimbrel controllers 'newreno' --code",
    ] {
        assert!(shown.contains(words), "no {words} in\n{shown}");
    }
    assert!(!shown.contains('\u{1b}'), "no colour where no terminal is");
    // The same file is a scenario.
    let sim = Command::new(env!("CARGO_BIN_EXE_whimbrel"))
        .arg("sim")
        .arg(place.at("experiments/paper/fig-1.toml"))
        .output();
    stdout(&sim.expect("the command runs"));
}

#[test]
fn what_is_asked_for_is_a_name_or_the_words_that_several_begin_with() {
    let place = Place::new();
    for name in ["fig-1-b", "fig-10", "shared"] {
        place.write(
            &format!("paper/{name}.toml"),
            &format!("{EXPERIMENT}{SCENARIO}"),
        );
    }
    place.write("paper/shared.toml", SCENARIO);
    place.write("other/fig-1.toml", &format!("{EXPERIMENT}{SCENARIO}"));
    let ids = |args: &[&str]| -> Vec<String> {
        let all = place.json(&[&["--list"], args].concat());
        let id = |told: &Value| told["id"].as_str().expect("a string").to_owned();
        all.iter().map(id).collect()
    };
    let all = [
        "other/fig-1",
        "paper/fig-1",
        "paper/fig-1-b",
        "paper/fig-10",
    ];
    assert_eq!(ids(&[]), all);
    assert_eq!(ids(&["paper/fig-1"]), all[1..2]);
    assert_eq!(ids(&["paper"]), all[1..]);
    assert_eq!(
        ids(&["paper/fig-10", "other", "paper/fig-1"]),
        [all[0], all[1], all[3]]
    );
    let error = |asked: &str| {
        let output = place.command(&[asked]).output().expect("the command runs");
        refused(&output, 2)
    };
    assert!(error("paper/fig-2").contains("unknown experiment `paper/fig-2`, did you mean `paper/fig-1`?; see `whimbrel reproduce --list`"));
    assert!(error("papre").contains("did you mean `paper`?"));
    assert!(error("paper/shared").contains("`paper/shared` is a scenario, not an experiment"));
}

#[test]
fn a_mistake_in_a_file_is_told_with_its_line_before_anything_runs() {
    let place = Place::new();
    place.write(
        "paper/fig-2.toml",
        &format!("{EXPERIMENT}{SCENARIO}").replace("rtt mean", "rtt men"),
    );
    let output = place.command(&[]).output().expect("the command runs");
    let error = refused(&output, 2);
    assert!(
        error.ends_with("paper/fig-2.toml:16: experiment.row.measure: unknown measure `rtt men`, did you mean `rtt mean`?\n"),
        "{error}"
    );
}

#[test]
fn what_is_finished_is_not_run_again() {
    let place = Place::new();
    place.write(
        "paper/fig-2.toml",
        &format!("{EXPERIMENT}{SCENARIO}").replace("2 %", "1 %"),
    );
    // What an interruption after the first leaves behind.
    let first = place.json(&["paper/fig-1"]);
    assert_eq!(first[0]["kept"], Value::Null);
    let both = place.json(&[]);
    assert!(both[0]["kept"].is_string() && both[1]["kept"].is_null());
    assert_eq!(both[0]["seconds"], first[0]["seconds"]);
    assert_eq!(timeless(&both[..1]), timeless(&first));
    let shown = place.run(&[]);
    assert_eq!(shown.matches("kept from 2").count(), 2, "{shown}");
    assert!(shown.contains("; --again runs it anew)"), "{shown}");
    // The list knows them too.
    let list = place.json(&["--list"]);
    assert_eq!(
        [&list[0]["verdict"], &list[0]["kept"]],
        [&Value::from("in part"), &both[0]["kept"]]
    );
    assert_eq!(list[0]["seconds"], first[0]["seconds"]);

    let again = place.json(&["--again"]);
    assert!(again.iter().all(|told| told["kept"].is_null()));
    assert_eq!(timeless(&again), timeless(&both));
}

#[test]
fn what_was_finished_when_it_was_killed_is_kept() {
    let place = Place::new();
    // A week, which is not over when the first is.
    let long = SCENARIO.replace("20 s", "600000 s");
    place.write("paper/fig-2.toml", &format!("{EXPERIMENT}{long}"));
    let mut command = place.command(&[]);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    lines
        .find(|line| line.as_ref().expect("a line").starts_with("in part: "))
        .expect("the first experiment's verdict")
        .expect("a line");
    child.kill().expect("SIGKILL");
    child.wait().expect("it ends");
    let told = place.json(&["paper/fig-1"]);
    assert!(told[0]["kept"].is_string(), "{told:?}");
}

#[test]
fn nothing_stale_or_broken_is_believed() {
    let place = Place::new();
    let fresh = place.json(&[]);
    let is_kept = |args: &[&str]| place.json(args)[0]["kept"].is_string();
    assert!(is_kept(&[]));
    // Other seeds, and the same again.
    assert!(!is_kept(&["--seeds", "1"]));
    assert!(is_kept(&["--seeds", "1"]) && is_kept(&[]));
    // Cut off.
    for path in place.kept() {
        let bytes = fs::read(&path).expect("a file");
        fs::write(&path, &bytes[..bytes.len() / 2]).expect("written");
    }
    let anew = place.json(&[]);
    assert_eq!(anew[0]["kept"], Value::Null);
    assert_eq!(timeless(&anew), timeless(&fresh));
    // The scenario in another file, and that file changed.
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
    assert!(!is_kept(&[]) && is_kept(&[]));
    place.write("paper/s.toml", &SCENARIO.replace("2 %", "3 %"));
    assert!(!is_kept(&[]) && is_kept(&[]));
    // Another word in the claim: who reads it must not find the old one.
    place.write("paper/fig-1.toml", &shared.replace("faster", "quicker"));
    assert!(!is_kept(&[]) && is_kept(&[]));
}

#[cfg(target_os = "linux")]
#[test]
fn another_program_runs_it_again() {
    let place = Place::new();
    place.json(&[]);
    // The same program but for a byte that nobody reads.
    let other = place.at("whimbrel");
    fs::copy(env!("CARGO_BIN_EXE_whimbrel"), &other).expect("a copy");
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(&other)
        .expect("a file");
    std::io::Write::write_all(&mut file, b"x").expect("written");
    drop(file);
    let output = Command::new(&other)
        .args(["reproduce", "--json", "--experiments"])
        .arg(place.at("experiments"))
        .arg("--keep")
        .arg(place.at("keep"))
        .output()
        .expect("the command runs");
    let told: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(told[0]["kept"], Value::Null);
    assert!(place.json(&[])[0]["kept"].is_string());
}

#[test]
fn results_are_there_even_if_they_cannot_be_kept() {
    let place = Place::new();
    fs::write(place.at("keep"), "a file").expect("written");
    let output = place.command(&[]).output().expect("the command runs");
    assert!(output.status.success());
    let warning = text(&output.stderr);
    assert!(
        warning.starts_with("warning: results are not kept: cannot write to "),
        "{warning}"
    );
    assert!(text(&output.stdout).contains("in part: 1 of 2 right"));
    // To list them needs nothing kept.
    place.run(&["--list"]);
}

#[test]
fn results_are_the_same_on_any_number_of_threads() {
    let place = Place::new();
    let on = |threads| timeless(&place.json(&["--again", "--threads", threads]));
    assert_eq!(on("1"), on("2"));
}

#[test]
fn several_end_in_a_summary_by_paper() {
    let place = Place::new();
    let right = format!("{EXPERIMENT}{SCENARIO}").replace("paper = 1000\n", "above = 100\n");
    place.write("paper/fig-2.toml", &right);
    let wrong = right
        .replace("above = 50", "below = -50")
        .replace("above = 100", "below = 100");
    place.write("other/table-1.toml", &wrong.replace("A paper", "Another"));
    let shown = place.run(&[]);
    let summary = shown.split("Summary\n").nth(1).expect("a summary");
    let lines: Vec<Vec<&str>> = summary
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    // experiments, hold, in part, do not hold
    for line in [
        &["other", "Another", "1", "0", "0", "1"][..],
        &["paper", "A", "paper", "2", "1", "1", "0"],
        &["all", "3", "1", "1", "1"],
        &[
            "other/table-1",
            "does",
            "not",
            "hold",
            "0",
            "of",
            "2",
            "right;",
        ],
        &["paper/fig-1", "in", "part", "1", "of", "2", "right;"],
        &["paper/fig-2", "holds", "2", "of", "2", "right"],
    ] {
        assert!(
            lines.iter().any(|found| found.starts_with(line)),
            "no {line:?} in\n{summary}"
        );
    }
}

#[test]
fn a_report_has_the_page_the_numbers_and_the_files_that_were_run() {
    let place = Place::new();
    place.write(
        "paper/s.toml",
        &SCENARIO.replace("\"10 Mbit/s\"", "{ trace = \"traces/t\" }"),
    );
    place.write("paper/traces/t", "1\n2\n");
    let shared = EXPERIMENT.replacen("tolerance", "scenario = \"s.toml\"\ntolerance", 1);
    place.write("paper/fig-2.toml", &shared);
    let folder = place.at("a/report");
    let folder = folder.to_str().expect("UTF-8");
    let all = place.json(&["--report", folder]);
    let read = |name: &str| fs::read_to_string(Path::new(folder).join(name)).expect(name);
    let results: Vec<Value> = serde_json::from_str(&read("results.json")).expect("JSON");
    assert_eq!(results, all);
    let csv = read("results.csv");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 1 + 2 * 2);
    assert!(lines[0].starts_with("id,place,label,unit,paper,measured,measured_stddev,difference,"));
    assert!(
        lines[2].starts_with("paper/fig-1,Fig 1,CERL's RTT,ms,1000,"),
        "{}",
        lines[2]
    );
    for name in [
        "paper/fig-1.toml",
        "paper/fig-2.toml",
        "paper/s.toml",
        "paper/traces/t",
    ] {
        let own = fs::read_to_string(place.at("experiments").join(name)).expect(name);
        assert_eq!(read(&format!("experiments/{name}")), own);
    }
    let page = read("index.html");
    for words in [
        "paper/fig-2",
        "CERL is faster than NewReno on a lossy link",
        "in part",
        "1 of 2 right; wrong: CERL",
        "experiments/paper/s.toml",
        "crates/cc/src/classifiers/cerl.rs",
        "\"kind\":\"beside\"",
    ] {
        assert!(page.contains(words), "no {words} in the page");
    }

    // The copies run as they are, and of what is kept a report can be had without running anything.
    let copies = Path::new(folder).join("experiments");
    let second = place.at("second");
    let output = Command::new(env!("CARGO_BIN_EXE_whimbrel"))
        .args(["reproduce", "--json", "--experiments"])
        .arg(&copies)
        .arg("--keep")
        .arg(place.at("keep"))
        .arg("--report")
        .arg(&second)
        .output()
        .expect("the command runs");
    let again: Vec<Value> = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert!(again.iter().all(|told| told["kept"].is_string()));
    assert_eq!(timeless(&again), timeless(&all));
    let page = fs::read_to_string(second.join("index.html")).expect("a page");
    assert!(page.contains("\"kind\":\"beside\""), "figures are kept too");
    // Nothing that was begun lies about.
    for folder in [Path::new(folder), &second, &place.at("keep/reproduced")] {
        for entry in fs::read_dir(folder).expect("a folder") {
            let name = entry.expect("one").file_name();
            assert!(!name.to_string_lossy().starts_with('.'), "{name:?}");
        }
    }
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_anything_runs() {
    let place = Place::new();
    // It would run for hours.
    place.write(
        "paper/fig-1.toml",
        &format!("{EXPERIMENT}{}", SCENARIO.replace("20 s", "600000 s")),
    );
    fs::write(place.at("file"), "").expect("written");
    let folder = place.at("file/report");
    let folder = folder.to_str().expect("UTF-8");
    let output = place
        .command(&["--report", folder])
        .output()
        .expect("the command runs");
    let error = refused(&output, 1);
    assert!(
        error.contains(&format!("cannot write to {folder}")),
        "{error}"
    );
}

#[test]
fn its_files_are_printed_as_they_are_with_where_they_lie() {
    let place = Place::new();
    place.write("paper/s.toml", SCENARIO);
    place.write(
        "paper/fig-2.toml",
        &EXPERIMENT.replacen("tolerance", "scenario = \"s.toml\"\ntolerance", 1),
    );
    let printed = place.run(&["paper/fig-2", "--print-scenario"]);
    let path = |name: &str| place.at("experiments").join(name).display().to_string();
    assert!(printed.starts_with(&format!(
        "# {}\n{}",
        path("paper/fig-2.toml"),
        EXPERIMENT.lines().next().expect("one")
    )));
    assert!(
        printed.ends_with(&format!("# {}\n{SCENARIO}\n", path("paper/s.toml"))),
        "{printed}"
    );
    // An experiment with a scenario of its own can be run as it is printed.
    let alone = place.run(&["paper/fig-1", "--print-scenario"]);
    let piped = place.at("printed.toml");
    fs::write(&piped, alone).expect("written");
    let sim = Command::new(env!("CARGO_BIN_EXE_whimbrel"))
        .arg("sim")
        .arg(piped)
        .output();
    stdout(&sim.expect("the command runs"));
}

#[test]
fn the_list_says_what_there_is_and_how_long_it_takes() {
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
    // What no paper asks stands behind what the paper has, whatever its name.
    let beyond = format!("{EXPERIMENT}{SCENARIO}").replace("A paper", "None: beyond A paper");
    place.write("paper/a.toml", &beyond);
    let list = place.json(&["--list"]);
    assert_eq!(list[3]["id"], "paper/a");
    let seconds: Vec<&Value> = list.iter().map(|told| &told["seconds"]).collect();
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
    let shown = place.run(&["--list"]);
    assert!(shown.starts_with("A paper\n"), "{shown}");
    for words in [
        "?",
        "12.5",
        "(12.5)",
        "Experiments: 4. All together take 13 s and 2 that nobody has timed (?).",
    ] {
        assert!(shown.contains(words), "no {words} in\n{shown}");
    }
    assert!(
        shown.lines().all(|line| line.chars().count() <= 130),
        "{shown}"
    );
    place.write("seconds.toml", "\"paper/s\" = \"long\"\n");
    let output = place
        .command(&["--list"])
        .output()
        .expect("the command runs");
    assert!(refused(&output, 2).contains("seconds.toml: "));
}

#[test]
fn the_experiments_are_listed_and_built_in() {
    let list = |folder: &Path| {
        let keep = tempfile::tempdir().expect("a folder");
        let output = Command::new(env!("CARGO_BIN_EXE_whimbrel"))
            .args(["reproduce", "--list", "--json", "--keep"])
            .arg(keep.path())
            .current_dir(folder)
            .output();
        let text = stdout(&output.expect("the command runs"));
        serde_json::from_str::<Vec<Value>>(&text).expect("JSON")
    };
    let here = list(Path::new("."));
    assert!(here.iter().any(|told| told["id"] == "cerl/fig-3.5"));
    // In a folder that has none, those that were built in are there all the same.
    assert_eq!(list(Path::new("/")), here);
}

#[test]
fn an_algorithm_is_shown_with_its_code() {
    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_whimbrel"))
            .arg("controllers")
            .args(args)
            .output();
        output.expect("the command runs")
    };
    let code = stdout(&run(&["cerl", "--code"]));
    assert!(
        code.starts_with("// crates/cc/src/classifiers/cerl.rs\n\n//! TCP CERL"),
        "{code}"
    );
    let both = stdout(&run(&["cubic+cerl", "--code"]));
    assert!(
        both.starts_with("// crates/cc/src/algorithms/loss/cubic.rs\n")
            && both.contains("\n// crates/cc/src/classifiers/cerl.rs\n")
    );
    let shown = stdout(&run(&["cerl?A=0.6"]));
    assert!(
        shown.contains("crates/cc/src/classifiers/cerl.rs")
            && shown.contains("?A=0.55")
            && !shown.contains("cubic "),
        "{shown}"
    );
    // A discriminator that is no law.
    assert!(stdout(&run(&["ltd"])).contains("crates/cc/src/classifiers/jitter.rs"));
    let json: Vec<Value> = serde_json::from_str(&stdout(&run(&["cerl", "--json"]))).expect("JSON");
    assert_eq!(json.len(), 1);
    assert_eq!(
        [&json[0]["name"], &json[0]["code"][0]["path"]],
        ["cerl", "crates/cc/src/classifiers/cerl.rs"]
    );
    let error = refused(&run(&["cerk"]), 2);
    assert!(
        error.contains("unknown controller `cerk`, did you mean `cerl`?"),
        "{error}"
    );
    assert!(refused(&run(&["--code"]), 2).contains("<NAME>"));
}

#[test]
fn an_experiment_without_its_trace_is_left_out_and_the_rest_runs() {
    let place = Place::new();
    let traced = SCENARIO.replace("\"10 Mbit/s\"", "{ trace = \"../../traces/a.txt\" }");
    place.write("paper/fig-2.toml", &format!("{EXPERIMENT}{traced}"));
    let output = place
        .command(&["paper", "--json"])
        .output()
        .expect("it runs");
    assert!(output.status.success());
    let all: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(all.len(), 1);
    assert_eq!(all[0]["id"], "paper/fig-1");
    let note = text(&output.stderr);
    assert!(
        note.starts_with("note: paper/fig-2 is not run: it needs a trace")
            && note.contains("traces/a.txt")
            && note.lines().count() == 1,
        "{note}"
    );
    // Alone it cannot run at all.
    let alone = place.command(&["paper/fig-2"]).output().expect("it runs");
    assert!(refused(&alone, 2).contains("paper/fig-2 is not run"));
    let list = place.run(&["--list"]);
    let line = list.lines().find(|line| line.contains("paper/fig-2"));
    assert!(
        line.is_some_and(|line| line.contains("needs a trace")),
        "{list}"
    );
    // With the trace it is an experiment like any other.
    let traces = place.at("traces");
    fs::create_dir(&traces).expect("a folder");
    fs::write(traces.join("a.txt"), "1\n2\n").expect("written");
    assert_eq!(place.json(&["paper"]).len(), 2);
}
