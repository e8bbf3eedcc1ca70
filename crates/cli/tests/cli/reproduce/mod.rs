//! `whimbrel reproduce` with short experiments: the verdicts, the stored results, and the reports.

mod list;
mod report;
mod stored;
mod verdicts;

use super::support::*;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use tempfile::TempDir;

/// CERL and NewReno under random loss.
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

/// A folder with experiments, and a folder with stored results.
struct Place(TempDir);

impl Place {
    /// With the experiment `paper/fig-1`.
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

    fn command(&self, args: &(impl Arguments + ?Sized)) -> Command {
        let mut command = super::support::command();
        command
            .arg("reproduce")
            .arg("--experiments")
            .arg(self.at("experiments"))
            .arg("--keep")
            .arg(self.at("keep"))
            .args(args.words());
        command
    }

    fn output(&self, args: &(impl Arguments + ?Sized)) -> Output {
        self.command(args).output().expect("the command runs")
    }

    fn run(&self, args: &(impl Arguments + ?Sized)) -> String {
        stdout(&self.output(args))
    }

    fn json(&self, args: &str) -> Vec<Value> {
        list_of(&self.run(&format!("{args} --json")))
    }

    /// The files of the stored results.
    fn stored(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.at("keep/reproduced")).expect("a folder");
        entries.map(|entry| entry.expect("one").path()).collect()
    }
}

/// The results without their times.
fn timeless(all: &[Value]) -> Vec<Value> {
    let mut all = all.to_vec();
    for result in &mut all {
        let result = result.as_object_mut().expect("an object");
        result.remove("seconds").expect("seconds");
        result.remove("kept").expect("a time, or null");
    }
    all
}

/// A list of JSON objects.
fn list_of(text: &str) -> Vec<Value> {
    serde_json::from_str(text).expect("JSON")
}
