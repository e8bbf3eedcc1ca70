//! `whimbrel judge`.

use super::support::*;
use serde_json::Value;

/// CERL and other flows, on four paths.
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
fn decisions_are_counted_and_mistakes_have_costs() {
    let all = json(&piped("judge - --json", GRID));
    assert_eq!(all["scenario"], "<stdin>");
    let judged = list(&all["judged"]);
    assert_eq!(judged.len(), 1);
    let cerl = &judged[0];
    assert_eq!(
        (&cerl["controller"], &cerl["seeds"]),
        (&Value::from("cerl"), &Value::from(3))
    );
    let cells = list(&cerl["cells"]);
    assert_eq!(cells.len(), 8);
    assert_eq!(
        cells[7]["parameters"],
        serde_json::json!({ "link.L.loss": "2 %", "link.L.queue": "4 bdp", "flow.others.count": 2 })
    );
    // The decisions are those of the runs of `sim`, cell by cell.
    let runs = json(&piped("sim - --json", GRID));
    let runs = list(&runs["runs"]);
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
    // CERL grades no confidence, so its Brier score is the fraction of wrong verdicts.
    for cell in cells.iter().filter(|c| c["decisions"]["brier"].is_number()) {
        let [brier, right] =
            ["brier", "accuracy"].map(|name| number(&cell["decisions"], &format!("/{name}")));
        assert!((brier + right - 1.0).abs() < 1e-9, "{cell}");
    }
    let decisions: f64 = cells
        .iter()
        .map(|c| number(c, "/decisions/random_as_random"))
        .sum();
    assert_eq!(number(cerl, "/decisions/random_as_random"), decisions);
    assert_eq!(cerl["axes"][0]["name"], "loss");
    assert_eq!(cerl["axes"][2]["name"], "others");
    assert!(number(&cerl["axes"][0]["values"][1], "/decisions/random_as_random") > 100.0);
    // Without random loss, the oracle of random loss changes nothing.
    let goodput = |cell: usize| &cerl["cells"][cell]["effects"][0];
    assert_eq!(goodput(0)["quantity"], "goodput");
    assert_eq!(number(goodput(0), "/told_random/mean"), 0.0);
    assert!(number(cerl, "/effects/0/told_everything/half_width") > 0.0);
    // Without other flows there is no effect on neighbours; the grid has that of the other cells.
    let has_neighbours = |value: &Value| {
        let mut effects = list(&value["effects"]).iter();
        effects.any(|e| e["whose"] == "neighbours")
    };
    assert!(!has_neighbours(&cells[0]) && has_neighbours(&cells[1]) && has_neighbours(cerl));
}

#[test]
fn judging_does_not_depend_on_the_number_of_threads() {
    let run = |threads| json(&piped(&format!("judge - --json --threads {threads}"), GRID));
    assert_eq!(run("1"), run("2"));
}

#[test]
fn the_text_and_the_picture_show_the_mistakes() {
    let folder = folder();
    let path = path_in(&folder, "a.svg");
    let judge = format!("judge - --controllers newreno+ltd,enhanced-aatp --picture '{path}'");
    let shown = stdout(&piped(&judge, GRID));
    assert_contains(
        &shown,
        &[
            "newreno+ltd\n8 cells x 3 seeds: ",
            "random loss",
            "balanced",
            "with oracle",
            "dropped by queues",
            "neighbours' goodput",
            "4 bdp",
            "Congestion mistaken for random loss, most often at\n  loss ",
            // The controllers of AATP cannot use an oracle.
            "costs not measured",
        ],
    );
    let svg = std::fs::read_to_string(path).expect("a picture");
    assert_contains(
        &svg,
        &[
            "Random loss mistaken for congestion",
            "Congestion mistaken for random loss",
            "newreno+ltd, ",
            "enhanced-aatp, ",
            "others 2",
            "4 bdp",
        ],
    );
    // One seed shows no intervals.
    let one = stdout(&piped("judge - --seeds 1", GRID));
    assert!(
        one.contains("8 cells x 1 seed:") && !one.contains('±'),
        "{one}"
    );
}

#[test]
fn the_built_in_grid_is_a_scenario_file() {
    let grid = stdout(&whimbrel("judge --show"));
    let short = "--set 'run.duration=1 s' --seeds 1 --json --controllers cerl";
    let built_in = json(&whimbrel(&format!("judge {short}")));
    let piped = json(&piped(&format!("judge - {short}"), &grid));
    assert_eq!(built_in["judged"], piped["judged"]);
    assert_eq!(built_in["scenario"], "<built-in grid>");
    // Four loss rates, three loads, three buffer sizes, three round-trip times.
    let cells = list(&built_in["judged"][0]["cells"]);
    assert_eq!(cells.len(), 4 * 3 * 3 * 3);
    // Without names, all controllers that classify losses are judged.
    let all = json(&whimbrel(
        "judge --set 'run.duration=100 ms' --seeds 1 --json --set 'link.L.loss=1 %' \
         --set 'link.L.delay=1 ms' --set 'link.L.queue=1 bdp' --set flow.neighbours.count=0",
    ));
    let names: Vec<&str> = list(&all["judged"])
        .iter()
        .filter_map(|one| one["controller"].as_str())
        .collect();
    for name in ["cerl", "enhanced-aatp", "newreno+ltd"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(!names.contains(&"newreno") && !names.contains(&"newreno+cerl"));
}

#[test]
fn what_cannot_be_judged_is_refused() {
    let indistinct = "`newreno` does not distinguish random loss from congestion";
    let set = "judge - --set flow.mine.controller=cubic";
    all_refused(
        GRID,
        &[
            ("judge - --controllers cerk", "did you mean `cerl`?"),
            ("judge - --controllers newreno", indistinct),
            ("judge - --flow mime", "did you mean `mine`?"),
            ("judge - --set 'link.L.los=1 %'", "did you mean `loss`?"),
            ("judge - --seeds 0", "run.seeds: "),
            (set, "--controllers cerl,cubic+cerl"),
            ("judge - --show", "--show"),
        ],
    );
    let (no_sweep, _) = GRID.split_once("[sweep]").expect("a sweep");
    let error = refused("judge - --picture a.svg", no_sweep);
    assert_contains(&error, &["the scenario needs a [sweep]"]);
    assert!(refused("judge no/such.toml", "").starts_with("error: cannot read no/such.toml: "));
}
