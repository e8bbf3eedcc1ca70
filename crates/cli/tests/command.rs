//! The command as people and programs use it: real processes, their output and exit status.

use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Ten flows over a lossy link, short.
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

fn whimbrel(args: &[&str]) -> Output {
    piped(args, "")
}

fn piped(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_whimbrel"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    // A command that does not read its input may be gone by now.
    let _ = child
        .stdin
        .take()
        .expect("piped")
        .write_all(input.as_bytes());
    child.wait_with_output().expect("the command ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(
        text(&output.stderr),
        "",
        "nothing on stderr when all is well and nobody looks"
    );
    text(&output.stdout)
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&stdout(output)).expect("JSON")
}

/// Runs the command on input that is wrong: status 2, nothing on stdout.
fn refused(args: &[&str], input: &str) -> String {
    let output = piped(args, input);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    assert_eq!(text(&output.stdout), "");
    error
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("whimbrel-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("a file");
        path.to_str().expect("UTF-8").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn json_has_every_run_with_every_flow() {
    let all = json(&piped(&["sim", "-", "--json"], SCENARIO));
    let runs = all["runs"].as_array().expect("a list");
    assert_eq!(runs.len(), 2 * 2 * 2);
    let run = &runs[7];
    assert_eq!(run["parameters"]["link.L.loss"], "1 %");
    assert_eq!(run["parameters"]["flow.0.controller"], "cerl");
    assert_eq!(run["parameters"]["controller"], "cerl, cubic");
    assert_eq!(run["seed"], 2);
    assert_eq!(run["duration_s"], 5.0);
    let number = |value: &Value, path: &str| {
        value
            .pointer(path)
            .and_then(Value::as_f64)
            .unwrap_or_else(|| panic!("no number {path} in {value}"))
    };
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
    let flows = run["flows"].as_array().expect("a list");
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
    // 100 kB over a path of 100 ms cannot take less than a round trip and a bit.
    assert!(number(&flows[3], "/completion_s") > 0.2);
    // The base RTT of the ten-flow part: 2 x (10 + 50 + 10) ms.
    assert!(number(&flows[0], "/rtt_ms/min") >= 140.0);
}

#[test]
fn the_same_bits_on_one_thread_and_on_two() {
    let run = |threads: &str| {
        let mut all = json(&piped(
            &["sim", "-", "--json", "--threads", threads],
            SCENARIO,
        ));
        for run in all["runs"].as_array_mut().expect("a list") {
            run["wall_s"] = Value::Null;
        }
        all
    };
    assert_eq!(run("1"), run("2"));
}

#[test]
fn compare_prints_the_scenario_that_sim_runs() {
    let flags = [
        "compare",
        "--rate",
        "10Mbit/s",
        "--loss",
        "0.5%,1%",
        "--rtt",
        "33ms",
        "--flows",
        "2",
        "--duration",
        "3s",
    ];
    let with = |more: &[&'static str]| whimbrel(&[&flags[..], more].concat());
    let scenario = stdout(&with(&["--print-scenario"]));
    let runs = |all: Value| {
        let runs = all["runs"].as_array().expect("a list").clone();
        runs.into_iter()
            .map(|run| run["flows"].clone())
            .collect::<Vec<_>>()
    };
    let piped = runs(json(&piped(&["sim", "-", "--json"], &scenario)));
    assert_eq!(piped, runs(json(&with(&["--json"]))));
    // Two losses, three seeds, five algorithms.
    assert_eq!(piped.len(), 2 * 3 * 5);
}

#[test]
fn streams_and_messages_can_be_compared_under_all_laws_that_tcp_carries() {
    let flags = ["--messages", "20 kB every 10 ms", "--streams", "1,8"];
    let printed = |more: &[&'static str]| {
        stdout(&whimbrel(
            &[&["compare", "--print-scenario"], &flags[..], more].concat(),
        ))
    };
    let usual = printed(&[]);
    for line in [
        "messages = \"20 kB every 10 ms\"",
        "\"flow.streams\" = [1, 8]",
        "\"flow.controller\" = [\"newreno\", \"cubic\", \"bbr\", \"cerl\"]",
    ] {
        assert!(usual.lines().any(|l| l == line), "no {line} in\n{usual}");
    }
    let all = printed(&["--controllers", "all"]);
    assert!(all.contains("\"lia\"") && !all.contains("aatp"), "{all}");
    let run = ["--duration", "2s", "--seeds", "1", "--controllers", "bbr"];
    let table = stdout(&whimbrel(&[&["compare"], &flags[..], &run].concat()));
    assert!(
        table.contains("msg p99") && table.contains("blocked"),
        "{table}"
    );
}

#[test]
fn all_algorithms_can_be_compared() {
    let printed = ["compare", "--print-scenario", "--controllers"];
    let scenario = |controllers| stdout(&whimbrel(&[&printed[..], &[controllers]].concat()));
    let all = scenario("all");
    let listed = json(&whimbrel(&["controllers", "--json"]));
    let controllers = listed.as_array().expect("a list").iter();
    for controller in controllers.filter(|c| c["kind"] == "controller") {
        assert!(all.contains(&controller["name"].to_string()), "{all}");
    }
    assert!(scenario("all,cubic+cerl").contains("\"cubic+cerl\""));
}

#[test]
fn a_table_has_a_row_for_each_controller_of_each_point() {
    let table = stdout(&piped(&["sim", "-"], SCENARIO));
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
    // Two lines of heads, one below them, and 2 x 2 points of two controllers.
    assert_eq!(lines.len(), 3 + 8, "{table}");
    assert!(table.contains('±'));
    let one = stdout(&piped(
        &["sim", "-", "--seeds", "1", "--set", "link.L.loss=2 %"],
        SCENARIO,
    ));
    assert_eq!(one.lines().count(), 3 + 4, "{one}");
    assert!(!one.contains('±'));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let folder = Folder::new("wrong");
    let file = folder.write("a.toml", &SCENARIO.replace("queue", "queu"));
    assert_eq!(
        refused(&["sim", &file], ""),
        format!("error: {file}:8: link.L: unknown key `queu`, did you mean `queue`?\n")
    );
    assert!(
        refused(&["sim", "-"], "[[flow]]\nroute = [\"L\"]\n")
            .starts_with("error: <stdin>:2: flow.route: unknown link `L`")
    );
    assert!(refused(&["sim", "no/such.toml"], "").starts_with("error: cannot read no/such.toml: "));
    assert!(
        refused(&["sim", "-", "--set", "link.L.rate=fast"], SCENARIO)
            .contains("--set link.L.rate=fast: link.L.rate: ")
    );
    assert!(
        refused(&["sim", "-", "--set", "rate"], SCENARIO).contains("must be written key=value")
    );
    assert!(refused(&["compare", "--controllers", "cubik"], "").contains("did you mean `cubic`?"));
    assert!(refused(&["compare", "--rate", "8 mbits"], "").contains("did you mean `Mbit/s`?"));
    for command in [
        ["send", "FILE", "HOST", "--controller", "enhanced-aatp"],
        [
            "demo",
            "--size",
            "1MB",
            "--controllers",
            "cubic,enhanced-aatp",
        ],
    ] {
        assert!(
            refused(&command, "")
                .contains("`enhanced-aatp` is carried by AATP, which exists in the simulator")
        );
    }
    assert!(
        refused(&["compare", "--queue", "1 bpd"], "")
            .contains("link.L.queue: `1 bpd` is not a queue")
    );
    assert!(
        refused(&["compare", "--messages", "20 kB each 10 ms"], "")
            .contains("flow.messages: `20 kB each 10 ms` are no messages")
    );
    assert!(refused(&["compare", "--threads", "0"], "").contains("--threads"));
    assert!(refused(&["simulate"], "").contains("'sim'"));
    // Right input, but the machine refuses: status 1.
    let output = whimbrel(&[
        "compare",
        "--duration",
        "1s",
        "--seeds",
        "1",
        "--plot",
        "/no/such/folder/a.svg",
    ]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("cannot write /no/such/folder/a.svg"));
}

#[test]
fn a_reader_who_leaves_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_whimbrel"))
        .args(["compare", "--duration", "1s", "--seeds", "20", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(text(&output.stderr), "");
    assert!(output.status.success());
}

#[test]
fn a_picture_is_drawn_and_the_results_are_the_same() {
    let folder = Folder::new("picture");
    let path = folder.0.join("a.svg");
    let plain = [
        "compare",
        "--duration",
        "3s",
        "--seeds",
        "2",
        "--controllers",
        "cubic,cerl",
    ];
    let drawn = stdout(&whimbrel(
        &[&plain[..], &["--plot", path.to_str().expect("UTF-8")]].concat(),
    ));
    assert_eq!(drawn, stdout(&whimbrel(&plain)));
    let svg = std::fs::read_to_string(path).expect("a picture");
    for word in [
        "<svg",
        "cubic",
        "cerl",
        "congestion window",
        "50 Mbit/s, RTT 100 ms, queue 1 bdp, loss 1 %",
    ] {
        assert!(svg.contains(word), "no {word}");
    }
}

/// Two AATP flows that one node receives, and a third flow beside them.
const SHARED_NODE: &str = r#"
[link.L]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "1 bdp"
[[flow]]
controller = "enhanced-aatp"
priority = 1
route = ["L"]
[[flow]]
controller = "enhanced-aatp"
priority = 3
route = ["L"]
[[flow]]
kind = "udp"
rate = "1 Mbit/s"
route = ["L"]
[run]
duration = "10 s"
"#;

#[test]
fn marks_and_early_drops_are_shown_where_there_are_any() {
    let scenario = "[link.L]\nrate = \"8 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"1 bdp\"\n[[flow]]\nroute = [\"L\"]\n\
                    [run]\nduration = \"5 s\"\necn = false\n[sweep]\n\"link.L.aqm\" = [\"none\", \"codel\"]\n";
    let marking = scenario.replace("ecn = false", "ecn = true");
    let head = |scenario: &str| stdout(&piped(&["sim", "-"], scenario));
    assert!(head(&marking).contains("marked"), "{}", head(&marking));
    assert!(!head(scenario).contains("marked"), "{}", head(scenario));
    let all = json(&piped(&["sim", "-", "--json"], &marking));
    let (plain, codel) = (&all["runs"][0], &all["runs"][1]);
    for path in [
        "/flows/0/marked",
        "/flows/0/mark_episodes",
        "/links/0/marked",
    ] {
        assert_eq!(plain.pointer(path), None, "{path}");
        let number = codel.pointer(path).and_then(Value::as_u64);
        assert!(number.is_some_and(|n| n > 0), "{path}: {number:?}");
    }
    let all = json(&piped(&["sim", "-", "--json"], scenario));
    let early = |path: &str| all["runs"][1].pointer(path).and_then(Value::as_u64);
    assert!(early("/links/0/lost/early").is_some_and(|n| n > 0));
    assert_eq!(early("/flows/0/lost/early"), early("/links/0/lost/early"));
}

#[test]
fn aatp_flows_and_their_node_stand_in_json() {
    let sampled = ["sim", "-", "--json", "--set", "run.sample=100 ms"];
    let all = json(&piped(&sampled, SHARED_NODE));
    let run = &all["runs"][0];
    let priorities: Vec<&Value> = run["flows"]
        .as_array()
        .expect("a list")
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
    let last = run["flows"][0]["samples"]
        .as_array()
        .expect("a list")
        .last();
    assert!(last.expect("samples")["pacing_rate_bps"].is_u64());

    let node = &run["destinations"][0];
    assert_eq!(node["name"], "L");
    let fairness = node["mean_fairness"].as_f64().expect("a number");
    assert!((0.5..=1.0).contains(&fairness), "{fairness}");
    assert_eq!(node["samples"][50]["flows"], 2);
    assert!(run["flows"][0]["lost"]["contention"].is_u64());
    assert!(
        json(&piped(&sampled[..3], SHARED_NODE))["runs"][0]["destinations"][0]
            .get("samples")
            .is_none()
    );
}

#[test]
fn a_picture_shows_how_a_node_was_shared() {
    let folder = Folder::new("shares");
    let path = folder.0.join("a.svg");
    let plot = ["sim", "-", "--plot", path.to_str().expect("UTF-8")];
    stdout(&piped(&plot, SHARED_NODE));
    let svg = std::fs::read_to_string(path).expect("a picture");
    for words in [
        "Shares at L",
        "enhanced-aatp #2",
        "weighted fairness",
        "pacing rate",
    ] {
        assert!(svg.contains(words), "no {words}");
    }
    assert!(!svg.contains("udp #3"), "it shares nothing");
}

#[test]
fn series_stand_in_json_when_they_are_asked_for() {
    let args = ["sim", "-", "--json", "--set", "run.sample=500 ms"];
    let all = json(&piped(&args, SCENARIO));
    let samples = all["runs"][0]["flows"][3]["samples"]
        .as_array()
        .expect("a list");
    assert!(!samples.is_empty() && samples[0]["cwnd_bytes"].is_u64());
    assert!(
        json(&piped(&args[..3], SCENARIO))["runs"][0]["flows"][3]
            .get("samples")
            .is_none()
    );
}

#[test]
fn controllers_say_where_they_come_from_and_what_can_be_set() {
    let all = json(&whimbrel(&["controllers", "--json"]));
    let cerl = all
        .as_array()
        .expect("a list")
        .iter()
        .find(|c| c["name"] == "cerl")
        .expect("CERL");
    assert!(
        cerl["citation"]
            .as_str()
            .expect("a string")
            .contains("El-Ocla")
    );
    assert_eq!(cerl["parameters"][0]["name"], "A");
    assert_eq!(cerl["parameters"][0]["default"], 0.55);
    assert_eq!(
        (&cerl["kind"], &cerl["carried_by"]),
        (
            &Value::from("controller"),
            &serde_json::json!(["tcp", "quic"])
        )
    );
    let of_kind = |name: &str, kind: &str| {
        let mut entries = all.as_array().expect("a list").iter();
        entries.any(|c| c["name"] == name && c["kind"] == kind)
    };
    assert!(of_kind("cerl", "discriminator"));
    assert!(of_kind("enhanced-aatp", "controller"));
    let shown = stdout(&whimbrel(&["controllers"]));
    for words in [
        "?A=0.55  (0 to 1)",
        "carried by AATP, in the simulator only",
        "with a plus, as in cubic+cerl",
    ] {
        assert!(shown.contains(words), "no {words} in\n{shown}");
    }
}

#[test]
fn every_command_has_help_with_examples() {
    let help = stdout(&whimbrel(&["--help"]));
    for command in [
        "controllers",
        "sim",
        "compare",
        "judge",
        "model",
        "reproduce",
    ] {
        assert!(help.contains(command), "{help}");
        let own = stdout(&whimbrel(&[command, "--help"]));
        assert!(
            own.contains(&format!("whimbrel {command}")) && own.contains("--json"),
            "{own}"
        );
    }
}

#[test]
fn theory_stands_beside_the_simulator() {
    let folder = Folder::new("model");
    let path = folder.0.join("a.svg");
    let short = [
        "model",
        "--points",
        "2",
        "--from",
        "0.5 %",
        "--to",
        "5 %",
        "--duration",
        "60s",
    ];
    let all = json(&whimbrel(
        &[
            &short[..],
            &["--json", "--plot", path.to_str().expect("UTF-8")],
        ]
        .concat(),
    ));
    // 5 Mbit/s and 70 ms: 29 packets of 1500 B under way and one in service; RTT 72.4 ms.
    assert_eq!(all["path"]["pipe_packets"], 30);
    assert_eq!(all["path"]["buffer_packets"], 30);
    let points = all["points"].as_array().expect("a list");
    assert_eq!(points.len(), 4 * 2);
    let reno = &points[1];
    assert_eq!(
        (&reno["controller"], &reno["packet_error"]),
        (&"reno".into(), &0.05.into())
    );
    let number = |key: &str| reno[key].as_f64().expect("a number");
    // 1.31/sqrt(0.05) = 5.86 packets each RTT, of 30.17.
    assert!((number("mathis") - 0.194).abs() < 0.001);
    assert!(number("equation") < number("chain") && number("chain") < number("mathis"));
    let simulated = reno["simulated"].as_array().expect("a list");
    assert_eq!(simulated.len(), 3);
    for share in simulated {
        let share = share.as_f64().expect("a number");
        assert!((0.08..0.25).contains(&share), "{share}");
    }
    assert_eq!(points[3]["pftk"], Value::Null, "PFTK is of Reno");
    // Half a percent corrupted, of which 52 bytes in 1500 are headers: NACK hears of all but one packet in 5 770.
    let nack = &points[4];
    assert_eq!(nack["controller"], "tcp-nack");
    let least = nack["chain"].as_f64().expect("a number");
    for share in nack["simulated"].as_array().expect("a list") {
        let share = share.as_f64().expect("a number");
        assert!(least > 0.95 && share > 0.95, "{least} {share}");
    }

    let shown = stdout(&whimbrel(&short));
    for words in ["the link holds 30 packets", "westwood", "tcp-nack", "PFTK"] {
        assert!(shown.contains(words), "no {words} in\n{shown}");
    }
    let svg = std::fs::read_to_string(path).expect("a picture");
    for word in ["<svg", "<circle", "tcp-nack-westwood", "Mathis"] {
        assert!(svg.contains(word), "no {word}");
    }
}

#[test]
fn theory_alone_needs_no_runs_and_the_scenario_can_be_run() {
    let shown = stdout(&whimbrel(&["model", "--seeds", "0", "--points", "1"]));
    assert_eq!(shown.matches(" 0.010 ").count(), 4, "{shown}");
    let scenario = stdout(&whimbrel(&["model", "--print-scenario", "--points", "2"]));
    let run = ["sim", "-", "--set", "run.duration=5 s", "--json"];
    let all = json(&piped(&run, &scenario));
    assert_eq!(
        all["runs"][0]["parameters"]["link.L.loss.corrupt"],
        "0.01 %"
    );
}

#[test]
fn what_no_model_can_be_asked_is_refused() {
    for (args, words) in [
        (&["--from", "0 %"][..], "between 0 % and 100 %"),
        (&["--from", "5 %", "--to", "1 %"], "--from not above --to"),
        (&["--rate", "10 Gbit/s"], "at most 2048"),
        (&["--rate", "0 bit/s"], "needs a rate"),
        (&["--rtt", "0 s", "--buffer", "0"], "least window is 2"),
    ] {
        let error = refused(&[&["model", "--seeds", "0"], args].concat(), "");
        assert!(error.contains(words), "{error}");
    }
}

/// CERL and what it competes with, on four paths.
const GRID: &str = r#"
[link.L]
rate = "5 Mbit/s"
delay = "20 ms"
[[flow]]
name = "mine"
controller = "cerl"
route = ["L"]
[[flow]]
name = "others"
controller = "newreno"
route = ["L"]
start = "0 s .. 1 s"
[run]
duration = "10 s"
seeds = 3
[sweep]
"link.L.loss" = ["0 %", "2 %"]
"link.L.queue" = ["1 bdp", "4 bdp"]
"flow.others.count" = [0, 2]
"#;

#[test]
fn judging_counts_each_verdict_and_what_mistakes_cost() {
    let all = json(&piped(&["judge", "-", "--json"], GRID));
    assert_eq!(all["scenario"], "<stdin>");
    let judged = all["judged"].as_array().expect("a list");
    assert_eq!(judged.len(), 1);
    let law = &judged[0];
    assert_eq!(
        (&law["controller"], &law["seeds"]),
        (&Value::from("cerl"), &Value::from(3))
    );
    let number = |value: &Value, path: &str| {
        let found = value.pointer(path).and_then(Value::as_f64);
        found.unwrap_or_else(|| panic!("no number {path} in {value}"))
    };
    let cells = law["cells"].as_array().expect("a list");
    assert_eq!(cells.len(), 8);
    assert_eq!(
        cells[7]["parameters"],
        serde_json::json!({ "link.L.loss": "2 %", "link.L.queue": "4 bdp", "flow.others.count": 2 })
    );
    // The verdicts are those of the runs that `sim` shows, cell by cell.
    let runs = json(&piped(&["sim", "-", "--json"], GRID));
    let runs = runs["runs"].as_array().expect("a list");
    for (cell, runs) in cells.iter().zip(runs.chunks(3)) {
        for kind in [
            "congestion_as_congestion",
            "congestion_as_random",
            "random_as_congestion",
            "random_as_random",
            "spurious",
        ] {
            let of_run =
                |run: &Value| number(&run["flows"][0]["discrimination"], &format!("/{kind}"));
            let sum: f64 = runs.iter().map(of_run).sum();
            assert_eq!(number(cell, &format!("/decisions/{kind}")), sum, "{cell}");
        }
    }
    let decisions: f64 = cells
        .iter()
        .map(|c| number(c, "/decisions/random_as_random"))
        .sum();
    assert_eq!(number(law, "/decisions/random_as_random"), decisions);
    assert_eq!(law["axes"][0]["name"], "loss");
    assert_eq!(law["axes"][2]["name"], "others");
    assert!(number(&law["axes"][0]["values"][1], "/decisions/random_as_random") > 100.0);
    // Nothing is lost at random where the link loses nothing: being told of random loss changes nothing there.
    let goodput = |cell: usize| &law["cells"][cell]["effects"][0];
    assert_eq!(goodput(0)["quantity"], "goodput");
    assert_eq!(number(goodput(0), "/told_random/mean"), 0.0);
    assert!(number(law, "/effects/0/told_everything/half_width") > 0.0);
    // Alone there are no neighbours; in the mean over the grid they are those of the cells that have some.
    let has_neighbours = |value: &Value| {
        let mut effects = value["effects"].as_array().expect("a list").iter();
        effects.any(|e| e["whose"] == "neighbours")
    };
    assert!(!has_neighbours(&cells[0]) && has_neighbours(&cells[1]) && has_neighbours(law));
}

#[test]
fn judging_gives_the_same_bits_on_one_thread_and_on_two() {
    let run = |threads| {
        json(&piped(
            &["judge", "-", "--json", "--threads", threads],
            GRID,
        ))
    };
    assert_eq!(run("1"), run("2"));
}

#[test]
fn judging_says_who_errs_where_and_draws_it() {
    let folder = Folder::new("judge");
    let path = folder.0.join("a.svg");
    let picture = ["--picture", path.to_str().expect("UTF-8")];
    let chosen = ["judge", "-", "--controllers", "newreno+ltd,enhanced-aatp"];
    let shown = stdout(&piped(&[&chosen[..], &picture].concat(), GRID));
    for words in [
        "newreno+ltd\n8 cells x 3 seeds: ",
        "random loss",
        "balanced",
        "told of",
        "dropped by queues",
        "neighbours' goodput",
        "4 bdp",
        "Congestion taken for random loss, most often at\n  loss ",
        // AATP's cannot be told, and say so.
        "what it costs is not known",
    ] {
        assert!(shown.contains(words), "no {words} in\n{shown}");
    }
    let svg = std::fs::read_to_string(path).expect("a picture");
    for words in [
        "Random loss taken for congestion",
        "Congestion taken for random loss",
        "newreno+ltd, ",
        "enhanced-aatp, ",
        "others 2",
        "4 bdp",
    ] {
        assert!(svg.contains(words), "no {words}");
    }
    // One seed says how much, but not how sure that is.
    let one = stdout(&piped(&["judge", "-", "--seeds", "1"], GRID));
    assert!(
        one.contains("8 cells x 1 seed:") && !one.contains('±'),
        "{one}"
    );
}

#[test]
fn the_built_in_grid_is_a_scenario_to_start_from() {
    let grid = stdout(&whimbrel(&["judge", "--show"]));
    let short = [
        "--set",
        "run.duration=1 s",
        "--seeds",
        "1",
        "--json",
        "--controllers",
        "cerl",
    ];
    let built_in = json(&whimbrel(&[&["judge"], &short[..]].concat()));
    let piped = json(&piped(&[&["judge", "-"], &short[..]].concat(), &grid));
    assert_eq!(built_in["judged"], piped["judged"]);
    assert_eq!(built_in["scenario"], "<built-in grid>");
    // Four rates of loss, three loads, three queues, three round-trip times.
    let cells = built_in["judged"][0]["cells"].as_array().expect("a list");
    assert_eq!(cells.len(), 4 * 3 * 3 * 3);
    // Without names, all that discriminate are judged, in the order of the table.
    let all = [
        "judge",
        "--set",
        "run.duration=100 ms",
        "--seeds",
        "1",
        "--json",
    ];
    let one_cell = [
        "link.L.loss=1 %",
        "link.L.delay=1 ms",
        "link.L.queue=1 bdp",
        "flow.neighbours.count=0",
    ];
    let one_cell: Vec<&str> = one_cell.iter().flat_map(|set| ["--set", set]).collect();
    let all = json(&whimbrel(&[&all[..], &one_cell].concat()));
    let names: Vec<&str> = all["judged"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|law| law["controller"].as_str())
        .collect();
    for name in ["cerl", "enhanced-aatp", "newreno+ltd"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(!names.contains(&"newreno") && !names.contains(&"newreno+cerl"));
}

#[test]
fn judging_what_cannot_be_judged_is_refused_with_the_nearest_right_word() {
    for (args, words) in [
        (&["--controllers", "cerk"][..], "did you mean `cerl`?"),
        (
            &["--controllers", "newreno"],
            "`newreno` does not tell random loss from congestion",
        ),
        (&["--flow", "mime"], "did you mean `mine`?"),
        (&["--set", "link.L.los=1 %"], "did you mean `loss`?"),
        (&["--seeds", "0"], "run.seeds: "),
        (
            &["--set", "flow.mine.controller=cubic"],
            "--controllers cerl,cubic+cerl",
        ),
        (&["--show"], "--show"),
    ] {
        let error = refused(&[&["judge", "-"], args].concat(), GRID);
        assert!(error.contains(words), "{args:?}: {error}");
    }
    let (no_sweep, _) = GRID.split_once("[sweep]").expect("a sweep");
    let error = refused(&["judge", "-", "--picture", "a.svg"], no_sweep);
    assert!(error.contains("the scenario needs a [sweep]"), "{error}");
    assert!(
        refused(&["judge", "no/such.toml"], "").starts_with("error: cannot read no/such.toml: ")
    );
}
