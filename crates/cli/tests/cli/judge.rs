//! `whimbrel judge`. The tests of `study::judge` check decisions, costs, text and figures.

use super::support::*;

/// CERL and other flows, on four paths.
const GRID: &str = include_str!("../../../study/src/testing/grid.toml");

#[test]
fn a_grid_is_judged_as_json_text_and_picture() {
    let all = json(&piped("judge - --json --threads 1", GRID));
    assert_eq!(all["scenario"], "<stdin>");
    assert_eq!(list(&all["judged"][0]["cells"]).len(), 8);
    let folder = folder();
    let path = path_in(&folder, "a.svg");
    let judge = format!("judge - --controllers newreno+ltd --seeds 1 --picture '{path}'");
    let shown = stdout(&piped(&judge, GRID));
    assert_contains(&shown, &["newreno+ltd\n8 cells x 1 seed:"]);
    let svg = std::fs::read_to_string(path).expect("a picture");
    assert_contains(&svg, &["Random loss mistaken for congestion"]);
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
            (set, "error: --controllers: no flow has"),
            ("judge - --show", "--show"),
        ],
    );
    let (no_sweep, _) = GRID.split_once("[sweep]").expect("a sweep");
    let error = refused("judge - --picture a.svg", no_sweep);
    assert_contains(&error, &["the scenario needs a [sweep]"]);
    assert!(refused("judge no/such.toml", "").starts_with("error: cannot read no/such.toml: "));
}
