//! `whimbrel model`.

use super::support::*;
use serde_json::Value;

#[test]
fn formulas_are_compared_with_the_simulator() {
    let folder = folder();
    let path = path_in(&folder, "a.svg");
    let short = "model --points 2 --from '0.5 %' --to '5 %' --duration 60s";
    let all = json(&whimbrel(&format!("{short} --json --plot '{path}'")));
    // 5 Mbit/s and 70 ms: 29 packets of 1500 B in flight and one in service; RTT 72.4 ms.
    assert_eq!(all["path"]["pipe_packets"], 30);
    assert_eq!(all["path"]["buffer_packets"], 30);
    let points = list(&all["points"]);
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
    let simulated = list(&reno["simulated"]);
    assert_eq!(simulated.len(), 3);
    for share in simulated {
        let share = share.as_f64().expect("a number");
        assert!((0.08..0.25).contains(&share), "{share}");
    }
    assert_eq!(points[3]["pftk"], Value::Null, "PFTK describes Reno");
    // Half a percent corrupted, and 52 bytes of 1500 are headers: NACKs report all but one packet
    // in 5770.
    let nack = &points[4];
    assert_eq!(nack["controller"], "tcp-nack");
    let minimum = nack["chain"].as_f64().expect("a number");
    for share in list(&nack["simulated"]) {
        let share = share.as_f64().expect("a number");
        assert!(minimum > 0.95 && share > 0.95, "{minimum} {share}");
    }

    let shown = stdout(&whimbrel(short));
    assert_contains(
        &shown,
        &["the link holds 30 packets", "westwood", "tcp-nack", "PFTK"],
    );
    let svg = std::fs::read_to_string(path).expect("a picture");
    assert_contains(&svg, &["<svg", "<path", "tcp-nack-westwood", "Mathis"]);
}

#[test]
fn the_printed_scenario_can_be_run() {
    let shown = stdout(&whimbrel("model --seeds 0 --points 1"));
    assert_eq!(shown.matches(" 0.010 ").count(), 4, "{shown}");
    let scenario = stdout(&whimbrel("model --print-scenario --points 2"));
    let run = ["sim", "-", "--set", "run.duration=5 s", "--json"];
    let all = json(&piped(&run, &scenario));
    assert_eq!(
        all["runs"][0]["parameters"]["link.L.loss.corrupt"],
        "0.01 %"
    );
}

#[test]
fn paths_outside_the_models_are_refused() {
    let small = "minimum window of the model is 2";
    all_refused(
        "",
        &[
            ("model --seeds 0 --from '0 %'", "between 0 % and 100 %"),
            (
                "model --seeds 0 --from '5 %' --to '1 %'",
                "the first one not above the last one",
            ),
            ("model --seeds 0 --rate '10 Gbit/s'", "at most 2048"),
            ("model --seeds 0 --rate '0 bit/s'", "needs a rate"),
            ("model --seeds 0 --rtt '0 s' --buffer 0", small),
        ],
    );
}
