//! Grids that are judged, from the request to the text and the figures.

use super::*;
use crate::Unobserved;
use crate::testing::{list, number};
use serde_json::Value;
use std::path::Path;
use whimbrel_sim::scenario::Scenario;

/// CERL and other flows, on four paths.
const GRID: &str = include_str!("../testing/grid.toml");

/// What is judged of this grid, with settings such as `run.seeds=1`.
fn judged(settings: &[&str], controllers: &[&str], threads: usize) -> Vec<Judged> {
    let document = Document::parse(GRID, Path::new("test")).expect("TOML");
    let setting = |text: &&str| text.parse::<Setting>().expect("a setting");
    let settings: Vec<Setting> = settings.iter().map(setting).collect();
    let spec = |name: &&str| name.parse::<Spec>().expect("an algorithm");
    let request = Request {
        document: &document,
        settings: &settings,
        controllers: controllers.iter().map(spec).collect(),
        flow: None,
        threads: NonZeroUsize::new(threads),
    };
    request.run(&Unobserved).expect("judged")
}

fn as_json(judged: &[Judged]) -> Value {
    serde_json::to_value(judged).expect("JSON")
}

/// The runs of the grid as JSON.
fn runs() -> Vec<Value> {
    let scenario = Scenario::parse(GRID, Path::new("test")).expect("a scenario");
    let jobs = whimbrel_sim::sweep::jobs(scenario.points());
    let runs = run_all(&jobs, None, &Unobserved).expect("runs");
    let mut bytes = Vec::new();
    whimbrel_report::json(&runs, &mut bytes).expect("written");
    let all: Value = serde_json::from_slice(&bytes).expect("JSON");
    list(&all["runs"]).to_vec()
}

fn assert_contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "no {word:?} in\n{text}");
    }
}

#[test]
fn decisions_are_counted_and_mistakes_have_costs() {
    let all = as_json(&judged(&[], &[], 2));
    let [cerl] = list(&all) else {
        panic!("one is judged: {all}");
    };
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
    for (cell, runs) in cells.iter().zip(runs().chunks(3)) {
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
fn each_figure_shows_the_mistake_of_its_title() {
    let all = judged(&["run.seeds=1"], &["newreno+ltd"], 2);
    let found = figures(&all).expect("a grid");
    let mistakes = [Mistake::RandomForCongestion, Mistake::CongestionForRandom];
    let titles = ["Random loss mistaken", "Congestion mistaken"];
    for ((figure, mistake), title) in found.iter().zip(mistakes).zip(titles) {
        assert!(figure.title.starts_with(title), "{}", figure.title);
        let whimbrel_report::figure::Plot::Heat { maps, .. } = &figure.plot else {
            panic!("maps")
        };
        let cells = maps.iter().flat_map(|map| &map.cells).flatten().copied();
        let worst = all[0].worst(mistake)[0];
        let share = mistake.share(&worst.decisions).expect("some were mistaken");
        let shown = cells.fold(0.0, f64::max);
        assert!(
            (shown / (100.0 * share) - 1.0).abs() < 1e-3,
            "{shown} {share}"
        );
    }
    let [random, congestion] = mistakes.map(|mistake| {
        let worst = all[0].worst(mistake)[0];
        mistake.share(&worst.decisions)
    });
    assert_ne!(random, congestion);
}

#[test]
fn judging_does_not_depend_on_the_number_of_threads() {
    let run = |threads| as_json(&judged(&[], &[], threads));
    assert_eq!(run(1), run(2));
}

#[test]
fn the_text_and_the_figures_show_the_mistakes() {
    let mistaken = judged(&[], &["newreno+ltd", "enhanced-aatp"], 2);
    let shown = text(&mistaken);
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
    // Each of the worst cells has its own decisions.
    let mistake = Mistake::CongestionForRandom;
    let (could, made) = mistake.count(&mistaken[0].worst(mistake)[0].decisions);
    assert_ne!(could, mistake.count(&mistaken[0].decisions).0);
    assert_contains(&shown, &[&format!(" ({made} of {could})\n")]);
    let svg = whimbrel_report::svg(&figures(&mistaken).expect("a grid"));
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
    let one = text(&judged(&["run.seeds=1"], &[], 2));
    assert!(
        one.contains("8 cells x 1 seed:") && !one.contains('±'),
        "{one}"
    );
}
