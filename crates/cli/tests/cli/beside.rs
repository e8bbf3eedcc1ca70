//! `whimbrel compare` beside neighbours, and over a recorded rate.

use super::support::*;
use serde_json::Value;
use std::fs;

const SHORT: &str = "compare --rate 8Mbit/s --rtt 40ms --loss 0% --duration 6s";

fn run(more: &str) -> String {
    stdout(&whimbrel(&format!("{SHORT} {more}")))
}

/// Goodput of the flows of one run whose names begin so, bit/s of the whole run.
fn delivered(run: &Value, tested: bool) -> f64 {
    let flows = list(&run["flows"]).iter();
    let wanted = flows.filter(|flow| (flow["name"] == "tested") == tested);
    wanted
        .map(|flow| number(flow, "/delivered_bytes") * 8.0 / 6.0)
        .sum()
}

#[test]
fn neighbours_have_a_column_beside_the_flows_under_test() {
    let flags = "--controllers bbr,vegas --neighbours cubic:2 --seeds 2";
    let text = run(flags);
    let heading = text.split("\n\n").next().expect("a heading");
    assert!(
        heading
            .replace('\n', " ")
            .contains("1 flow beside 2 cubic flows, 6s"),
        "{text}"
    );
    // The neighbours' own algorithm is there, and keeps all beside itself.
    let row = |name: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.starts_with(name));
        let cells = line.expect(name).replace(" ± ", "±");
        cells.split_whitespace().map(str::to_owned).collect()
    };
    let mean = |cell: &String| -> f64 {
        let mean = cell.split('±').next().expect("a number");
        mean.parse().expect("a number")
    };
    assert_eq!(row("cubic")[3], "100");
    let json = parse(&run(&format!("{flags} --json")));
    let runs = list(&json["runs"]);
    let of = |name: &str, tested: bool| {
        let all = runs
            .iter()
            .filter(|run| run["parameters"]["flow.tested.controller"] == name);
        let all: Vec<f64> = all.map(|run| delivered(run, tested)).collect();
        assert_eq!(all.len(), 2, "{name}: a run for each seed");
        all.iter().sum::<f64>() / 2.0
    };
    for name in ["bbr", "vegas"] {
        let [_, own, neighbours, kept] = &row(name)[..4] else {
            panic!("four cells");
        };
        assert!((mean(own) - of(name, true) * 1e-6).abs() < 0.01, "{text}");
        let beside = of(name, false);
        assert!((mean(neighbours) - beside * 1e-6).abs() < 0.01, "{text}");
        let part = 100.0 * beside / of("cubic", false);
        assert!((mean(kept) - part).abs() <= 0.51, "{kept} {part}\n{text}");
    }
    // Vegas gives way to CUBIC.
    assert!(of("vegas", true) < of("cubic", true));
    let page = folder();
    let path = path_in(&page, "a.html");
    run(&format!("{flags} --report '{path}'"));
    let html = fs::read_to_string(path).expect("a page");
    assert_contains(&html, &["neighbours, Mbit/s", "they keep, %"]);
}

#[test]
fn neighbours_of_two_kinds_have_no_kind_to_compare_with() {
    let flags = "--controllers cubic --neighbours bbr,newreno:2";
    let text = run(&format!("{flags} --seeds 1"));
    assert!(
        text.replace('\n', " ")
            .contains("1 flow beside one bbr flow and 2 newreno flows"),
        "{text}"
    );
    assert!(
        text.contains("neighbours") && !text.contains("they keep"),
        "{text}"
    );
    // What is swept of streams concerns the flows under test only.
    let printed = run(&format!("{flags} --streams 1,8 --print-scenario"));
    assert_contains(
        &printed,
        &[
            "name = \"tested\"",
            "\"flow.tested.controller\" = [\"cubic\"]",
            "\"flow.tested.streams\" = [1, 8]",
            "controller = \"newreno\"\ncount = 2",
        ],
    );
    let sim = stdout(&piped("sim -", &printed));
    assert!(
        sim.contains("bbr") && sim.contains("newreno"),
        "all flows: {sim}"
    );
}

#[test]
fn a_recorded_rate_is_the_path() {
    let folder = folder();
    let path = path_in(&folder, "a.down");
    // A packet of 1504 bytes each 4 ms: 3 Mbit/s.
    let trace: String = (1..=250).map(|i| format!("{}\n", 4 * i)).collect();
    fs::write(&path, trace).expect("written");
    let flags = format!("compare --rate-trace '{path}' --rtt 40ms --loss 0%");
    let text = stdout(&whimbrel(&format!("{flags} --controllers cubic --seeds 1")));
    let row = text.lines().find(|line| line.starts_with("cubic"));
    let cells: Vec<&str> = row.expect("a row").split_whitespace().collect();
    let goodput: f64 = cells[1].parse().expect("a number");
    assert!((2.6..3.0).contains(&goodput), "{text}");
    assert!(text.starts_with("rate of ") && text.contains("a.down"));
    let error = refused("compare --rate-trace none.down", "");
    assert_contains(&error, &["--rate-trace", "none.down"]);
    let error = refused(&format!("{flags} --rate 1Mbit/s"), "");
    assert_contains(&error, &["cannot be used with"]);
}

#[test]
fn wrong_neighbours_name_what_to_write() {
    for (value, says) in [
        ("cubic:0", "from 1 to 1000; write e.g. `cubic:2`"),
        ("cubic:x", "from 1 to 1000; write e.g. `cubic:2`"),
        ("cubik:2", "did you mean `cubic`?"),
    ] {
        for command in ["compare", "advise --rate 1Mbit/s --rtt 9ms"] {
            let error = refused(&format!("{command} --neighbours {value}"), "");
            assert_contains(&error, &["--neighbours", says]);
        }
    }
}
