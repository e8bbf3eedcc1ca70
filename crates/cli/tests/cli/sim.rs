//! `whimbrel sim`. The tests of `report` check what JSON and tables have.

use super::support::*;
use serde_json::Value;

/// Three flows over a lossy link.
const SCENARIO: &str = r#"
[link.L]
rate = "8 Mbit/s"
delay = "50 ms"
queue = "50 packets"
[[flow]]
count = 3
route = ["L"]
start = "0 s .. 1 s"
[run]
duration = "5 s"
seeds = 2
[sweep]
"link.L.loss" = ["0 %", "1 %"]
"flow.controller" = ["newreno", "cerl"]
"#;

#[test]
fn every_run_is_in_the_json_and_the_table_and_flags_override_the_file() {
    let all = json(&piped("sim - --json --set 'run.sample=500 ms'", SCENARIO));
    let runs = list(&all["runs"]);
    assert_eq!(runs.len(), 2 * 2 * 2);
    assert!(!list(&runs[0]["flows"][2]["samples"]).is_empty());
    let table = stdout(&piped("sim -", SCENARIO));
    assert_eq!(table.lines().count(), 3 + 4, "{table}");
    let one = stdout(&piped("sim - --seeds 1 --set 'link.L.loss=2 %'", SCENARIO));
    assert_eq!(one.lines().count(), 3 + 2, "{one}");
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let run = |threads: &str| {
        let line = format!("sim - --json --threads {threads}");
        let mut all = json(&piped(&line, SCENARIO));
        for run in all["runs"].as_array_mut().expect("a list") {
            run["wall_s"] = Value::Null;
        }
        all
    };
    assert_eq!(run("1"), run("2"));
}

/// Two AATP flows to one destination node, and a UDP flow.
const SHARED_NODE: &str = include_str!("../../../report/tests/shared_node.toml");

#[test]
fn a_picture_shows_the_shares_of_a_node() {
    let folder = folder();
    let path = path_in(&folder, "a.svg");
    stdout(&piped(&format!("sim - --plot '{path}'"), SHARED_NODE));
    let svg = std::fs::read_to_string(path).expect("a picture");
    assert_contains(
        &svg,
        &[
            "Shares at L",
            "enhanced-aatp #2",
            "weighted fairness",
            "pacing rate",
        ],
    );
    assert!(!svg.contains("udp #3"), "it has no share");
}
