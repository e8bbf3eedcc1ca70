//! Runs as JSON and as a table.

use serde_json::Value;
use std::path::Path;
use whimbrel_report::{json, rows, table_within};
use whimbrel_sim::scenario::document::Document;
use whimbrel_sim::scenario::{Scenario, Setting};
use whimbrel_sim::sweep::{self, Run};

/// Three TCP flows and a short one over a lossy link.
const SCENARIO: &str = r#"
[link.access]
rate = "1 Mbit/s"
delay = "10 ms"
[link.L]
rate = "8 Mbit/s"
delay = "50 ms"
queue = "50 packets"
[[flow]]
count = 3
route = ["access*", "L", "access*"]
start = "0 s .. 1 s"
[[flow]]
controller = "cubic"
route = ["L"]
size = "100 kB"
[run]
duration = "5 s"
seeds = 2
[sweep]
"link.L.loss" = ["0 %", "1 %"]
"flow.0.controller" = ["newreno", "cerl"]
"#;

/// Runs a scenario with settings such as `run.seeds=1`, and shows the runs.
fn of_runs<T>(text: &str, settings: &[&str], show: impl FnOnce(&[Run<'_>]) -> T) -> T {
    let document = Document::parse(text, Path::new("test")).expect("TOML");
    let setting = |text: &&str| text.parse::<Setting>().expect("a setting");
    let settings: Vec<Setting> = settings.iter().map(setting).collect();
    let scenario = Scenario::from_document(document, &settings).expect("a scenario");
    let jobs = sweep::jobs(scenario.points());
    show(&sweep::run_while(&jobs, None, || true).expect("runs"))
}

/// The runs as JSON.
fn runs_of(text: &str, settings: &[&str]) -> Vec<Value> {
    let bytes = of_runs(text, settings, |runs| {
        let mut bytes = Vec::new();
        json(runs, &mut bytes).expect("written");
        bytes
    });
    let all: Value = serde_json::from_slice(&bytes).expect("JSON");
    list(&all["runs"]).to_vec()
}

/// The runs as a table.
fn table_of(text: &str, settings: &[&str]) -> String {
    of_runs(text, settings, |runs| table_within(&rows(runs), None))
}

fn number(value: &Value, path: &str) -> f64 {
    let found = value.pointer(path).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number {path} in {value}"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

#[test]
fn json_has_every_run_and_flow() {
    let runs = runs_of(SCENARIO, &[]);
    assert_eq!(runs.len(), 2 * 2 * 2);
    let run = &runs[7];
    assert_eq!(run["parameters"]["link.L.loss"], "1 %");
    assert_eq!(run["parameters"]["flow.0.controller"], "cerl");
    assert_eq!(run["parameters"]["controller"], "cerl, cubic");
    assert_eq!(run["seed"], 2);
    assert_eq!(run["duration_s"], 5.0);
    for path in [
        "/wall_s",
        "/delivered_packets",
        "/total/goodput_bps",
        "/total/throughput_bps",
        "/total/jain",
        "/total/loss_ratio",
        "/total/delay_ms/min",
        "/total/delay_ms/mean",
        "/total/delay_ms/p95",
    ] {
        assert!(number(run, path) > 0.0, "{path}");
    }
    let flows = list(&run["flows"]);
    assert_eq!(flows.len(), 4);
    for flow in flows {
        for path in [
            "/goodput_bps",
            "/throughput_bps",
            "/retransmits",
            "/rtt_ms/min",
            "/rtt_ms/mean",
            "/rtt_ms/p95",
            "/one_way_delay_ms/min",
            "/one_way_delay_ms/mean",
            "/one_way_delay_ms/p95",
        ] {
            number(flow, path);
        }
        assert!(number(flow, "/throughput_bps") >= number(flow, "/goodput_bps"));
    }
    assert_eq!(flows[0]["controller"], "cerl");
    assert!(flows[0]["discrimination"]["random_as_random"].is_u64());
    assert_eq!(flows[0]["completion_s"], Value::Null);
    assert_eq!(flows[3]["controller"], "cubic");
    assert_eq!(flows[3]["discrimination"], Value::Null);
    // 100 kB over a path of 100 ms take more than two round trips.
    assert!(number(&flows[3], "/completion_s") > 0.2);
    // The base RTT of the first flows: 2 x (10 + 50 + 10) ms.
    assert!(number(&flows[0], "/rtt_ms/min") >= 140.0);
}

#[test]
fn a_table_has_a_row_for_each_controller_of_each_point() {
    let table = table_of(SCENARIO, &[]);
    let lines: Vec<&str> = table.lines().collect();
    for head in [
        "loss",
        "controller",
        "flows",
        "goodput",
        "share",
        "RTT p95",
        "Jain",
        "done in",
    ] {
        assert!(lines[0].contains(head), "no {head} in\n{table}");
    }
    // Two lines of heads, a separator, and 2 x 2 points with two controllers each.
    assert_eq!(lines.len(), 3 + 8, "{table}");
    assert!(table.contains('±'));
    let one = table_of(SCENARIO, &["run.seeds=1", "link.L.loss=2 %"]);
    assert_eq!(one.lines().count(), 3 + 4, "{one}");
    assert!(!one.contains('±'));
}

#[test]
fn json_has_samples_if_the_scenario_sets_them() {
    let sampled = runs_of(SCENARIO, &["run.sample=500 ms"]);
    let samples = list(&sampled[0]["flows"][3]["samples"]);
    assert!(!samples.is_empty() && samples[0]["cwnd_bytes"].is_u64());
    let plain = &runs_of(SCENARIO, &[])[0]["flows"][3];
    assert!(plain.get("samples").is_none());
}

#[test]
fn marks_and_early_drops_are_shown_if_there_are_any() {
    let scenario = "[link.L]\nrate = \"8 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"1 bdp\"\n\
                    [[flow]]\nroute = [\"L\"]\n[run]\nduration = \"5 s\"\necn = false\n[sweep]\n\"link.L.aqm\" = [\"none\", \"codel\"]\n";
    let marking = scenario.replace("ecn = false", "ecn = true");
    let head = |scenario: &str| table_of(scenario, &[]);
    assert!(head(&marking).contains("marked"), "{}", head(&marking));
    assert!(!head(scenario).contains("marked"), "{}", head(scenario));
    let runs = runs_of(&marking, &[]);
    let (plain, codel) = (&runs[0], &runs[1]);
    for path in [
        "/flows/0/marked",
        "/flows/0/mark_episodes",
        "/links/0/marked",
    ] {
        assert_eq!(plain.pointer(path), None, "{path}");
        let number = codel.pointer(path).and_then(Value::as_u64);
        assert!(number.is_some_and(|n| n > 0), "{path}: {number:?}");
    }
    let runs = runs_of(scenario, &[]);
    let early = |path: &str| runs[1].pointer(path).and_then(Value::as_u64);
    assert!(early("/links/0/lost/early").is_some_and(|n| n > 0));
    assert_eq!(early("/flows/0/lost/early"), early("/links/0/lost/early"));
}

/// Two AATP flows to one destination node, and a UDP flow.
const SHARED_NODE: &str = include_str!("shared_node.toml");

#[test]
fn json_has_aatp_flows_and_their_node() {
    let run = &runs_of(SHARED_NODE, &["run.sample=100 ms"])[0];
    let priorities: Vec<&Value> = list(&run["flows"])
        .iter()
        .map(|flow| &flow["priority"])
        .collect();
    assert_eq!(priorities, [&Value::from(1), &Value::from(3), &Value::Null]);
    let aatp = &run["flows"][0]["aatp"];
    let states = aatp["states"].as_object().expect("an object");
    let bursts: u64 = states.values().filter_map(Value::as_u64).sum();
    assert_eq!(aatp["bursts"].as_u64(), Some(bursts));
    assert!(bursts > 100, "{aatp}");
    assert_eq!(aatp["breaks"], 0);
    assert!(aatp["set_up_s"].as_f64().expect("a number") >= 0.02);
    assert!(aatp["receiver_rtt_ms"]["min"].as_f64().expect("a number") >= 20.0);
    let bandwidth = aatp["bandwidth_bps"].as_f64().expect("a number");
    assert!((10e6..=20e6).contains(&bandwidth), "{bandwidth}");
    assert_eq!(run["flows"][2]["aatp"], Value::Null);
    let last = list(&run["flows"][0]["samples"]).last();
    assert!(last.expect("samples")["pacing_rate_bps"].is_u64());

    let node = &run["destinations"][0];
    assert_eq!(node["name"], "L");
    let fairness = node["mean_fairness"].as_f64().expect("a number");
    assert!((0.5..=1.0).contains(&fairness), "{fairness}");
    assert_eq!(node["samples"][50]["flows"], 2);
    assert!(run["flows"][0]["lost"]["contention"].is_u64());
    let plain = &runs_of(SHARED_NODE, &[])[0]["destinations"][0];
    assert!(plain.get("samples").is_none());
}
