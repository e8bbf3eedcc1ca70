//! `whimbrel compare`.

use super::support::*;
use serde_json::Value;

#[test]
fn compare_prints_the_scenario_that_sim_runs() {
    let flags = "compare --rate 10Mbit/s --loss 0.5%,1% --rtt 33ms --flows 2 --duration 3s";
    let with = |more: &str| whimbrel(&format!("{flags} {more}"));
    let scenario = stdout(&with("--print-scenario"));
    let runs = |all: Value| {
        let runs = list(&all["runs"]).iter().cloned();
        runs.into_iter()
            .map(|run| run["flows"].clone())
            .collect::<Vec<_>>()
    };
    let piped = runs(json(&piped("sim - --json", &scenario)));
    assert_eq!(piped, runs(json(&with("--json"))));
    // Two losses, three seeds, six algorithms.
    assert_eq!(piped.len(), 2 * 3 * 6);
}

#[test]
fn streams_and_messages_work_with_all_controllers_of_tcp() {
    let compare = "compare --messages '20 kB every 10 ms' --streams 1,8";
    let run = |more: &str| stdout(&whimbrel(&format!("{compare} {more}")));
    let usual = run("--print-scenario");
    for line in [
        "messages = \"20 kB every 10 ms\"",
        "\"flow.streams\" = [1, 8]",
        "\"flow.controller\" = [\"newreno\", \"cubic\", \"bbr\", \"cerl\", \"whimbrel\"]",
    ] {
        assert!(usual.lines().any(|l| l == line), "no {line} in\n{usual}");
    }
    let all = run("--print-scenario --controllers all");
    assert!(all.contains("\"lia\"") && !all.contains("aatp"), "{all}");
    let table = run("--duration 2s --seeds 1 --controllers bbr");
    assert_contains(&table, &["msg p99", "blocked"]);
}

#[test]
fn all_algorithms_can_be_compared() {
    let scenario = |names| {
        stdout(&whimbrel(&format!(
            "compare --print-scenario --controllers {names}"
        )))
    };
    let all = scenario("all");
    let listed = json(&whimbrel("controllers --json"));
    let controllers = list(&listed).iter();
    for controller in controllers.filter(|c| c["kind"] == "controller") {
        assert!(all.contains(&controller["name"].to_string()), "{all}");
    }
    assert!(scenario("all,cubic+cerl").contains("\"cubic+cerl\""));
}

#[test]
fn a_picture_does_not_change_the_results() {
    let folder = folder();
    let path = path_in(&folder, "a.svg");
    let plain = "compare --duration 3s --seeds 2 --controllers cubic,cerl";
    let drawn = stdout(&whimbrel(&format!("{plain} --plot '{path}'")));
    assert_eq!(drawn, stdout(&whimbrel(plain)));
    let svg = std::fs::read_to_string(path).expect("a picture");
    assert_contains(
        &svg,
        &[
            "<svg",
            "cubic",
            "cerl",
            "congestion window",
            "50 Mbit/s, RTT 100 ms, queue 1 bdp, loss 1 %",
        ],
    );
}

#[test]
fn a_picture_of_a_sweep_shows_each_of_its_values() {
    let folder = folder();
    let path = path_in(&folder, "a.svg");
    let sweep = "compare --duration 1s --seeds 1 --controllers cubic,cerl --loss 0%,1%,2%";
    stdout(&whimbrel(&format!("{sweep} --plot '{path}'")));
    let svg = std::fs::read_to_string(&path).expect("a picture");
    assert_contains(&svg, &["loss 0%<", "loss 1%<", "loss 2%<"]);
    assert_eq!(svg.matches(">congestion window (kB)<").count(), 3);
    // At most eight, the ends among them.
    let many: Vec<String> = (1..=12).map(|n| format!("{n}%")).collect();
    let sweep = sweep.replace("0%,1%,2%", &many.join(","));
    stdout(&whimbrel(&format!("{sweep} --plot '{path}'")));
    let svg = std::fs::read_to_string(&path).expect("a picture");
    assert_contains(&svg, &["loss 1%<", "loss 12%<"]);
    assert_eq!(svg.matches(">congestion window (kB)<").count(), 8);
}

#[test]
fn the_table_names_the_path_and_has_the_best_first() {
    let flags = "compare --controllers cubic,bbr,cerl-plus-printed --rate 10Mbit/s --loss 2% \
                 --duration 5s --seeds 2";
    let text = stdout(&whimbrel(flags));
    let (first, _) = text.split_once("\n\n").expect("a heading");
    let first = first.replace('\n', " ");
    let heading = "10Mbit/s, RTT 100 ms, queue 1 bdp, loss 2%, 1 flow, 5s, ";
    assert!(first.starts_with(heading), "{text}");
    assert!(first.contains("recovery rack, QUIC, paced"), "{text}");
    let line = |name: &str| {
        text.lines()
            .position(|line| line.starts_with(name))
            .expect(name)
    };
    assert!(line("bbr") < line("cubic"), "{text}");
    assert_contains(
        &text,
        &["cerl-plus-printed !", "! must not share a network"],
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 120),
        "{text}"
    );
    let tcp = stdout(&whimbrel(&format!("{flags} --transport tcp")));
    assert_contains(&tcp, &["TCP, not paced", "ver QUIC, paced"]);
}

#[test]
fn the_default_of_transfers_has_nine_tenths_of_bbr_on_a_lossy_gigabit() {
    let help = stdout(&whimbrel("send --help"));
    let default = "[default: whimbrel]";
    assert_contains(&help, &[default]);
    let all = json(&whimbrel(
        "compare --controllers bbr,whimbrel --rate 1Gbit/s --rtt 20ms --loss 1% --duration 4s \
         --seeds 1 --json",
    ));
    let goodput = |name: &str| {
        let runs = list(&all["runs"]).iter();
        let mut of = runs.filter(|run| run["parameters"]["controller"] == name);
        number(of.next().expect("it ran"), "/total/goodput_bps")
    };
    let (bbr, own) = (goodput("bbr"), goodput("whimbrel"));
    assert!(own > 0.9 * bbr, "{own} of {bbr}");
}

#[test]
fn real_transfers_stand_beside_the_simulator() {
    let folder = folder();
    let page = path_in(&folder, "real.html");
    let output = whimbrel(&format!(
        "compare --real --rate 20Mbit/s --rtt 20ms --loss 0.5% --duration 1s \
         --controllers reno,cerl,enhanced-aatp --json --report '{page}'"
    ));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json = parse(&text(&output.stdout));
    let runs = list(&json["runs"]);
    let ways: Vec<[&str; 3]> = runs
        .iter()
        .map(|run| ["controller", "transport", "implementation"].map(|k| run[k].as_str().expect(k)))
        .collect();
    // Every kernel has Reno, none has CERL; bursts need QUIC.
    assert_eq!(
        ways,
        [
            ["reno", "quic", "whimbrel"],
            ["reno", "tcp", "kernel"],
            ["cerl", "quic", "whimbrel"],
            ["cerl", "tcp", "whimbrel"],
            ["enhanced-aatp", "quic", "whimbrel"],
        ]
    );
    let html = std::fs::read_to_string(&page).expect("a page");
    assert_contains(&html, &["Real transfers beside the simulator", "real/cerl"]);
    for run in runs {
        assert!(number(run, "/simulated/goodput_bps") > 1e5, "{run}");
        assert!(number(run, "/simulated/rtt_ms") >= 20.0, "{run}");
        if let Some(why) = run["not_measured"].as_str() {
            assert!(
                !why.is_empty() && !html.contains("QUIC, simulated\"}"),
                "{run}"
            );
            println!("skipped: {why}");
            continue;
        }
        assert!(number(run, "/measured/goodput_bps") > 0.0, "{run}");
        assert!(number(run, "/measured/rtt_ms") >= 20.0, "{run}");
        assert_eq!(run["measured"]["blake3"].as_str().map(str::len), Some(64));
    }
}

#[test]
fn real_transfers_need_one_path() {
    let error = refused("compare --real --loss 0%,1%", "");
    assert!(
        error.starts_with("error: --loss: --real has one path; write one value"),
        "{error}"
    );
    assert!(refused("compare --real --flows 2", "").contains("cannot be used with"));
}
