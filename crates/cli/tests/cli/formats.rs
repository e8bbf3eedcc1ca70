//! Results in other tools' formats.

use super::support::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A flow that ends, a flow that does not, and names that need quotes.
const SCENARIO: &str = r#"
[link.L]
rate = "8 Mbit/s"
delay = "20 ms"
queue = "30 packets"
[[flow]]
name = "a, \"b\" ü"
route = ["L"]
[[flow]]
controller = "newreno+cerl"
route = ["L"]
size = "100 kB"
[run]
duration = "4 s"
seeds = 3
[sweep]
"link.L.loss" = ["0 %", "1 %"]
"#;

/// A folder with the scenario.
fn with_scenario() -> TempDir {
    let folder = folder();
    fs::write(folder.path().join("path.toml"), SCENARIO).expect("written");
    folder
}

type Rows = Vec<BTreeMap<String, String>>;

fn csv(path: &Path) -> Rows {
    let mut reader = csv::Reader::from_path(path).expect("there");
    reader
        .deserialize()
        .map(|row| row.expect("a row"))
        .collect()
}

#[test]
fn saved_tables_have_the_same_values_as_json() {
    let folder = with_scenario();
    let sim = |flags: &str| whimbrel_in(folder.path(), &format!("sim path.toml {flags}"));
    let plain = stdout(&sim(""));
    let saving = "--save flows.csv --save samples=samples.csv --interval '500 ms' --threads 2";
    assert_eq!(stdout(&sim(saving)), plain);
    let flows = csv(&folder.path().join("flows.csv"));
    let printed = json(&sim("--json"));
    let runs = printed["runs"].as_array().expect("a list");
    let all = runs.iter().flat_map(|run| {
        let flows = run["flows"].as_array().expect("a list");
        flows.iter().map(move |flow| (run, flow))
    });
    let all: Vec<_> = all.collect();
    assert_eq!((flows.len(), all.len()), (12, 12));
    for (row, (run, flow)) in flows.iter().zip(all) {
        assert_eq!(row["seed"], run["seed"].to_string());
        assert_eq!(
            Some(row["link.L.loss"].as_str()),
            run["parameters"]["link.L.loss"].as_str()
        );
        let ratio = if row["link.L.loss"] == "1 %" {
            "0.01"
        } else {
            "0"
        };
        assert_eq!(row["link.L.loss_ratio"], ratio);
        assert_eq!(Some(row["flow"].as_str()), flow["name"].as_str());
        assert_eq!(row["goodput_bps"], flow["goodput_bps"].to_string());
        assert_eq!(row["lost_random"], flow["lost"]["random"].to_string());
        let p95: f64 = row["rtt_ms_p95"].parse().expect("a number");
        assert_eq!(Some(p95), flow["rtt_ms"]["p95"].as_f64());
        assert_eq!(
            row["completion_s"].parse().ok(),
            flow["completion_s"].as_f64()
        );
    }
    // Eight samples of the first flow.
    let samples = csv(&folder.path().join("samples.csv"));
    let first = samples
        .iter()
        .filter(|row| row["run"] == "0" && row["flow"] == "a, \"b\" ü");
    let times: Vec<f64> = first
        .map(|row| row["at_s"].parse().expect("a number"))
        .collect();
    assert_eq!(times, [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]);
    // The same file on one thread.
    assert_eq!(stdout(&sim("--save again.csv --threads 1")), plain);
    let bytes = |name: &str| fs::read(folder.path().join(name)).expect("there");
    assert_eq!(bytes("again.csv"), bytes("flows.csv"));
    assert_eq!(
        fs::read_dir(folder.path()).expect("a folder").count(),
        4,
        "nothing else is left"
    );
}

#[cfg(feature = "parquet")]
#[test]
fn a_parquet_file_has_the_command_and_the_scenario() {
    let folder = with_scenario();
    let args = words("sim path.toml --save flows.parquet");
    let plain = stdout(&whimbrel_in(folder.path(), &args[..2]));
    assert_eq!(stdout(&whimbrel_in(folder.path(), &args)), plain);
    let parquet = fs::read(folder.path().join("flows.parquet")).expect("there");
    assert_eq!(
        (&parquet[..4], &parquet[parquet.len() - 4..]),
        (&b"PAR1"[..], &b"PAR1"[..])
    );
    let holds = |text: &str| {
        parquet
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    };
    assert!(holds("sim path.toml --save flows.parquet"), "the command");
    assert!(holds("rate = \"8 Mbit/s\""), "the scenario");
}

#[cfg(feature = "parquet")]
#[test]
fn scores_are_saved_as_parquet() {
    let folder = folder();
    let args = "rank --controllers cubic --only a01 --seeds 2 --keep kept \
                --save scores=scores.parquet --save runs.parquet";
    stdout(&whimbrel_in(folder.path(), args));
    for (file, column) in [("scores", "seed_count"), ("runs", "jain_in_windows")] {
        let parquet = fs::read(folder.path().join(format!("{file}.parquet"))).expect("there");
        let holds = |text: &str| {
            let mut windows = parquet.windows(text.len());
            windows.any(|window| window == text.as_bytes())
        };
        assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
        assert!(holds(column) && holds("matrix version"), "{file}");
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_refuses_to_write_it() {
    let folder = with_scenario();
    let args = words("sim path.toml --save flows.parquet");
    let error = fails(&whimbrel_in(folder.path(), &args), 2);
    assert!(error.contains("this build has no Parquet; write .csv, or build with `make full`"));
}

#[test]
fn wrong_files_to_save_are_refused_before_any_run() {
    let folder = with_scenario();
    let path = folder.path();
    // The runs would take hours.
    let long = "compare --duration '10 h' --rate '10 Gbit/s'";
    for (flags, status, says) in [
        ("--save a.cvs", 2, "did you mean .csv?"),
        ("--save a.txt", 2, ".csv and .parquet"),
        ("--save flow=a.csv", 2, "did you mean `flows`?"),
        ("--save no/a.csv", 1, "cannot write no/a.csv"),
        ("--save a.csv --save runs=a.csv", 2, "saved twice"),
        ("--plot a.svg --report a.svg", 2, "a.svg is saved twice"),
        ("--save a.csv --interval '1 s'", 2, "--save samples=FILE"),
        (
            "--save samples=a.csv --interval '1 ms'",
            2,
            "choose a longer interval",
        ),
        (
            "--iperf3 a.json",
            2,
            "needs one run, but the scenario has 6 combinations",
        ),
    ] {
        let error = fails(&whimbrel_in(path, &format!("{long} {flags}")), status);
        assert_contains(&error, &[says]);
    }
    // So are pictures. These runs would take hours, too.
    for line in [
        "judge --set 'run.duration=10 h' --picture no/a.svg",
        "model --duration '1000 h' --plot no/a.svg",
        "demo --size '1 TB' --picture no/a.svg",
    ] {
        let error = fails(&whimbrel_in(path, line), 1);
        assert_contains(&error, &["cannot write no/a.svg"]);
    }
    assert_eq!(
        fs::read_dir(path).expect("a folder").count(),
        1,
        "only the scenario"
    );
}

#[test]
fn a_run_in_iperf3s_format_has_intervals_that_add_up() {
    let folder = with_scenario();
    let args = words("sim path.toml --set 'link.L.loss=1 %' --iperf3 run.json");
    stdout(&whimbrel_in(folder.path(), &args));
    let text = fs::read_to_string(folder.path().join("run.json")).expect("there");
    let test = parse(&text);
    let intervals = test["intervals"].as_array().expect("a list");
    assert_eq!(intervals.len(), 4);
    let sum = |name: &str| {
        intervals
            .iter()
            .map(|i| i["sum"][name].as_u64())
            .sum::<Option<u64>>()
    };
    for name in ["bytes", "retransmits"] {
        assert_eq!(sum(name), test["end"]["sum_sent"][name].as_u64(), "{name}");
    }
    // The same run as the first seed of the table.
    let printed = words("sim path.toml --set 'link.L.loss=1 %' --seeds 1 --json");
    let printed = json(&whimbrel_in(folder.path(), &printed));
    for (place, flow) in printed["runs"][0]["flows"]
        .as_array()
        .expect("a list")
        .iter()
        .enumerate()
    {
        let sender = &test["end"]["streams"][place]["sender"];
        assert_eq!(sender["bytes"], flow["delivered_bytes"]);
        assert_eq!(sender["retransmits"], flow["retransmits"]);
        assert_eq!(test["start"]["connected"][place]["flow"], flow["name"]);
    }
    for name in ["timestamp", "system_info"] {
        assert!(test["start"].get(name).is_none(), "{name} of a simulation");
    }
}

#[test]
fn a_transfer_has_intervals_and_logs_at_both_ends() {
    let folder = with_scenario();
    let path = folder.path();
    fs::write(path.join("data"), vec![7; 4_000_000]).expect("written");
    let logged = "--listen 127.0.0.1:0 --once --qlog served --qlog-limit '16 MB'";
    let mut server = Server::start(path, logged);
    let listening = server.listening.clone();
    let send = format!(
        "send data {} --identity id --json --interval '5 ms' --qlog sent --controller newreno",
        server.address
    );
    let summary = json(&whimbrel_in(path, &send));
    while server.event().is_some() {}
    server.child.wait().expect("it ends");
    let intervals = summary["intervals"].as_array().expect("a list");
    assert!(intervals.len() > 1);
    let part = |name: &'static str| intervals.iter().map(move |i| i["streams"][0][name].clone());
    let bytes: u64 = part("bytes").filter_map(|bytes| bytes.as_u64()).sum();
    assert!(bytes >= 4_000_000, "{bytes}");
    let ends: Vec<_> = part("end").collect();
    assert!(
        part("start")
            .skip(1)
            .eq(ends[..ends.len() - 1].iter().cloned())
    );
    assert!(part("pmtu").all(|mtu| mtu.as_u64().is_some_and(|mtu| (1228..=9000).contains(&mtu))));
    let last = &intervals[intervals.len() - 1]["streams"][0];
    assert_eq!(last["snd_cwnd"], summary["cwnd_bytes"]);
    for logs in ["sent", "served"] {
        let mut files = fs::read_dir(path.join(logs)).expect("a folder");
        let log = files.next().expect("a file").expect("an entry").path();
        assert!(files.next().is_none(), "one connection");
        let text = fs::read_to_string(log).expect("UTF-8");
        let records: Vec<Value> = text.split('\u{1e}').skip(1).map(parse).collect();
        let named = |name: &str| records.iter().filter(|r| r["name"] == name).count();
        assert!(named("quic:packet_sent") > 10 && named("quic:packet_received") > 10);
        assert!(named("quic:recovery_metrics_updated") > 0);
        let token = listening["token_file"].as_str().expect("a path");
        let token = fs::read_to_string(path.join(token)).expect("the token");
        assert!(!text.contains(token.trim()), "the token is not logged");
        assert!(
            text.len() <= 1_000_000 || logs == "sent",
            "a sixteenth of 16 MB"
        );
    }
    let full = words("serve in --identity id --qlog served --qlog-limit '1 kB'");
    assert!(fails(&whimbrel_in(path, &full), 1).contains("raise --qlog-limit"));
}
