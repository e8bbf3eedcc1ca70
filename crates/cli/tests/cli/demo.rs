//! Everything together: a real file, from `send` to `serve`, through `link`, beside the simulator.
//! Where the system allows no namespaces, only the prediction is tested.

use super::support::*;
use serde_json::Value;

/// The JSON of a race, which may print warnings.
fn raced(args: &str) -> Value {
    let output = whimbrel(args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    parse(&text(&output.stdout))
}

#[test]
fn a_real_file_crosses_an_emulated_path_under_every_controller() {
    let json = raced(
        "demo --json --size 300kB --rate 20Mbit/s --rtt 10ms --loss 0.5% --controllers newreno,cubic,cerl?A=0.6",
    );
    let contestants = json["contestants"].as_array().expect("a list");
    assert_eq!(contestants.len(), 3);
    for c in contestants {
        let name = &c["controller"];
        assert_eq!(c["bytes"].as_u64(), Some(300_000), "{name}");
        let predicted = c["predicted"]["goodput_bps"].as_f64().expect("a number");
        // 300 kB in slow start from 10 segments take four or more round trips of 10 ms.
        assert!((1e6..20e6).contains(&predicted), "{name}: {predicted}");
        if let Some(why) = c["not_measured"].as_str() {
            println!("skipped: {name} was not measured: {why}");
            continue;
        }
        let measured = &c["measured"];
        assert!(
            measured["goodput_bps"].as_f64().expect("a number") > 0.0,
            "{name}"
        );
        assert_eq!(
            measured["blake3"].as_str().map(str::len),
            Some(64),
            "{name}"
        );
        // Every packet but the last of 1452 bytes at most.
        assert!(
            measured["sent_packets"].as_u64().expect("a number") > 200,
            "{name}"
        );
    }
}

#[test]
fn the_kernels_algorithm_races_ours_over_the_kernels_tcp() {
    let json = raced(
        "demo --tcp --json --size 300kB --rate 20Mbit/s --rtt 10ms --loss 0.5% --controllers reno,cerl",
    );
    assert_eq!(json["transport"], "tcp");
    let contestants = json["contestants"].as_array().expect("a list");
    let whose: Vec<&Value> = contestants.iter().map(|c| &c["implementation"]).collect();
    // Every kernel has Reno, and none has CERL.
    assert_eq!(whose, ["kernel", "whimbrel"]);
    for c in contestants {
        assert!(c["predicted"]["goodput_bps"].as_f64() > Some(1e6), "{c}");
        if let Some(why) = c["not_measured"].as_str() {
            assert!(!why.contains('\n'), "{why}");
            println!("skipped: {} was not measured: {why}", c["controller"]);
            continue;
        }
        let measured = &c["measured"];
        assert!(measured["goodput_bps"].as_f64() > Some(0.0), "{c}");
        assert_eq!(measured["blake3"].as_str().map(str::len), Some(64), "{c}");
        // 300 kB are 208 segments of at most 1448 bytes.
        assert!(measured["sent_packets"].as_u64() >= Some(208), "{c}");
    }
}

#[test]
fn each_controller_gets_a_file_that_takes_about_the_time_asked_for() {
    let json = raced("demo --json --time 2s --rate 20Mbit/s --rtt 40ms --loss 1%");
    let contestants = json["contestants"].as_array().expect("a list");
    let number = |value: &Value| value.as_f64().expect("a number");
    let bytes: Vec<f64> = contestants.iter().map(|c| number(&c["bytes"])).collect();
    assert!(
        bytes.len() == 4 && bytes[1..].iter().all(|more| *more > 2.0 * bytes[0]),
        "BBR, CERL and Whimbrel's own send more than CUBIC: {bytes:?}"
    );
    for (c, bytes) in contestants.iter().zip(bytes) {
        let seconds = bytes * 8.0 / number(&c["predicted"]["goodput_bps"]);
        assert!(
            (1.0..4.0).contains(&seconds),
            "{}: {seconds} s",
            c["controller"]
        );
        assert!(c["warnings"].is_array());
    }
}

#[test]
fn a_race_without_a_file_or_a_rate_is_refused_with_what_to_write() {
    all_refused(
        "",
        &[
            ("demo --size 0B", "8 MiB"),
            ("demo --rate 0bit/s", "50 Mbit/s"),
            ("demo --time 0s", "45 s"),
        ],
    );
}
