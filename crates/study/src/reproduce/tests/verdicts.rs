//! Verdicts, printed and as JSON.

use super::*;
use crate::presets;
use crate::testing::Notes;

#[test]
fn an_experiment_has_a_verdict_in_text_and_json() {
    let folders = Folders::new();
    let all = folders.json("paper");
    let result = &all[0];
    assert_eq!(
        [
            &result["id"],
            &result["paper"],
            &result["place"],
            &result["scenario"]
        ],
        ["paper/fig-1", "A paper", "Fig 1", "paper/fig-1"]
    );
    assert_eq!(
        result["verdict"], "does not hold",
        "one of two is no majority"
    );
    assert_eq!(result["beyond"], false);
    assert!(
        result["reason"]
            .as_str()
            .expect("a string")
            .starts_with("1 of 2 right; wrong: CERL's RTT: "),
        "{result}"
    );
    let gain = &result["rows"][0];
    assert_eq!([&gain["label"], &gain["unit"]], ["newreno", "%"]);
    assert_eq!([&gain["paper"], &gain["difference"]], [&Value::Null; 2]);
    assert_eq!(
        [&gain["asks"], &gain["right"]],
        [&Value::from("order"), &Value::from(true)]
    );
    assert!(gain["measured"].as_f64().expect("a number") > 50.0);
    assert!(gain["measured_stddev"].as_f64().expect("a number") > 0.0);
    // 100 ms and a little for the queue instead of 1 s: about 90 % less.
    let rtt = &result["rows"][1];
    assert_eq!(
        [&rtt["paper"], &rtt["right"], &rtt["asks"]],
        [
            &Value::from(1000.0),
            &Value::from(false),
            &Value::from("number")
        ]
    );
    assert_eq!(rtt["seeds_to_decide"], Value::Null);
    assert_eq!(rtt["difference_unit"], "% of the paper");
    let difference = rtt["difference"].as_f64().expect("a number");
    assert!((-90.0..-75.0).contains(&difference), "{difference}");
    assert!(result["seconds"].as_f64().expect("a number") > 0.0);

    let shown = folders.text("");
    assert_contains(
        &shown,
        &[
            "paper/fig-1\nA paper\nFig 1\nClaim: CERL is faster",
            "does not hold: 1 of 2 right",
            "difference",
            "1000 ± 100",
            "whimbrel reproduce paper/fig-1 --print-scenario",
            "whimbrel controllers 'newreno' --code",
        ],
    );
}

#[test]
fn experiments_are_chosen_by_id_or_its_first_words() {
    let folders = Folders::new();
    for name in ["fig-1-b", "fig-10", "shared"] {
        folders.write(
            &format!("paper/{name}.toml"),
            &format!("{EXPERIMENT}{SCENARIO}"),
        );
    }
    folders.write("paper/shared.toml", SCENARIO);
    folders.write("other/fig-1.toml", &format!("{EXPERIMENT}{SCENARIO}"));
    let ids = |args: &str| -> Vec<String> {
        let (all, _) = folders.list(args);
        let id = |one: &Value| one["id"].as_str().expect("a string").to_owned();
        all.iter().map(id).collect()
    };
    let all = [
        "other/fig-1",
        "paper/fig-1",
        "paper/fig-1-b",
        "paper/fig-10",
    ];
    assert_eq!(ids(""), all);
    assert_eq!(ids("paper/fig-1"), all[1..2]);
    assert_eq!(ids("paper"), all[1..]);
    assert_eq!(
        ids("paper/fig-10 other paper/fig-1"),
        [all[0], all[1], all[3]]
    );
    for (ids, says) in [
        (
            "paper/fig-2",
            "ids: unknown experiment `paper/fig-2`, did you mean `paper/fig-1`?",
        ),
        ("papre", "did you mean `paper`?"),
        (
            "paper/shared",
            "`paper/shared` is a scenario, not an experiment",
        ),
    ] {
        assert_contains(&folders.error(ids), &[says]);
    }
}

#[test]
fn a_mistake_in_a_file_is_reported_before_any_run() {
    let folders = Folders::new();
    folders.write(
        "paper/fig-2.toml",
        &format!("{EXPERIMENT}{SCENARIO}").replace("rtt mean", "rtt men"),
    );
    let error = folders.error("");
    assert!(
        error.ends_with(
            "paper/fig-2.toml:16: experiment.row.measure: unknown measure `rtt men`, did you mean \
             `rtt mean`?"
        ),
        "{error}"
    );
}

#[test]
fn several_experiments_end_with_a_summary_by_paper() {
    let folders = Folders::new();
    let right = format!("{EXPERIMENT}{SCENARIO}").replace("paper = 1000\n", "above = 100\n");
    folders.write("paper/fig-2.toml", &right);
    let wrong = right
        .replace("above = 50", "below = -50")
        .replace("above = 100", "below = 100");
    folders.write("other/table-1.toml", &wrong.replace("A paper", "Another"));
    let shown = folders.text("");
    let summary = shown.split("Summary\n").nth(1).expect("a summary");
    let lines: Vec<Vec<&str>> = summary
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    // experiments, hold, in part, do not hold, contradict, undecided, numbers, orders
    for line in [
        &[
            "other", "Another", "1", "0", "0", "1", "0", "0", "0", "of", "0", "0", "of", "2",
        ][..],
        &[
            "paper", "A", "paper", "2", "1", "0", "1", "0", "0", "0", "of", "1", "3", "of", "3",
        ],
        &["all", "3", "1", "0", "2"],
        &[
            "other/table-1",
            "does",
            "not",
            "hold",
            "0",
            "of",
            "2",
            "right;",
        ],
        &[
            "paper/fig-1",
            "does",
            "not",
            "hold",
            "1",
            "of",
            "2",
            "right;",
        ],
        &["paper/fig-2", "holds", "2", "of", "2", "right"],
    ] {
        assert!(
            lines.iter().any(|found| found.starts_with(line)),
            "no {line:?} in\n{summary}"
        );
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let folders = Folders::new();
    let on = |threads| {
        let request = Request {
            again: true,
            threads: NonZeroUsize::new(threads),
            ..folders.request("")
        };
        timeless(&folders.results(&request))
    };
    assert_eq!(on(1), on(2));
}

#[test]
fn experiments_without_their_traces_are_left_out() {
    let folders = Folders::new();
    let traced = SCENARIO.replace("\"10 Mbit/s\"", "{ trace = \"../../traces/a.txt\" }");
    folders.write("paper/fig-2.toml", &format!("{EXPERIMENT}{traced}"));
    let notes = Notes::default();
    let found = folders.request("paper").find().expect("found");
    let found = found.runnable(&notes).expect("one has no trace");
    let ids: Vec<&str> = found
        .experiments
        .iter()
        .map(|one| one.id.as_str())
        .collect();
    assert_eq!(ids, ["paper/fig-1"]);
    let [note] = &notes.0.into_inner().expect("no panic")[..] else {
        panic!("one note");
    };
    assert!(
        note.starts_with("note: paper/fig-2 is not run: it needs a trace")
            && note.contains("traces/a.txt")
            && note.lines().count() == 1,
        "{note}"
    );
    // Alone it is an error.
    assert_contains(&folders.error("paper/fig-2"), &["paper/fig-2 is not run"]);
    let (_, list) = folders.list("");
    let line = list.lines().find(|line| line.contains("paper/fig-2"));
    assert!(
        line.is_some_and(|line| line.contains("needs a trace")),
        "{list}"
    );
    // With the trace it runs.
    let traces = folders.at("traces");
    fs::create_dir(&traces).expect("a folder");
    fs::write(traces.join("a.txt"), "1\n2\n").expect("written");
    assert_eq!(folders.json("paper").len(), 2);
}

#[test]
fn a_row_whose_interval_includes_its_bound_is_undecided() {
    let folders = Folders::new();
    let all = folders.json("paper");
    let gain = all[0]["rows"][0]["measured"].as_f64().expect("a number");
    // The mean itself as the bound: no number of seeds decides.
    let straddling = format!("{EXPERIMENT}{SCENARIO}")
        .replace("above = 50", &format!("above = {gain}"))
        .replace("paper = 1000", "above = 100");
    folders.write("paper/fig-1.toml", &straddling);
    let all = folders.json("paper");
    let row = &all[0]["rows"][0];
    assert_eq!(
        [&row["right"], &row["asks"]],
        [&Value::Null, &Value::from("order")]
    );
    assert!(row["seeds_to_decide"].as_u64().expect("a number") > 1000);
    // A claim with an undecided row does not hold yet.
    assert_eq!(all[0]["verdict"], "undecided");
    let shown = folders.text("");
    assert_contains(&shown, &["undecided", "1 of 2 right", "undecided: 1"]);
}

#[test]
fn a_claim_whose_numbers_exclude_each_other_contradicts_itself() {
    let folders = Folders::new();
    let why = "2 over 1 is a gain of 100 %, not 115 %";
    let text = format!("{EXPERIMENT}{SCENARIO}").replace(
        "A paper\"",
        &format!("A paper\"\ncontradiction = \"{why}\""),
    );
    folders.write("paper/a.toml", &text);
    let result = &folders.json("paper/a")[0];
    assert_eq!(result["verdict"], "contradicts itself");
    let reason = result["reason"].as_str().expect("a string");
    assert!(
        reason.starts_with(&format!("{why}; 1 of 2 right")),
        "the rows are judged all the same: {reason}"
    );
    let shown = folders.text("paper/a");
    assert_contains(&shown, &["contradicts itself: 2 over 1"]);
}

#[test]
fn a_claim_that_depends_on_unknown_settings_cannot_be_decided() {
    let folders = Folders::new();
    let text = format!("{EXPERIMENT}{SCENARIO}").replace(
        "A paper\"",
        "A paper\"\nundecidable = \"no radio is described\"",
    );
    folders.write("paper/a.toml", &text);
    let result = &folders.json("paper/a")[0];
    assert_eq!(result["verdict"], "cannot be decided");
    let reason = result["reason"].as_str().expect("a string");
    assert!(
        reason.starts_with("no radio is described; 1 of 2 right"),
        "{reason}"
    );
}

#[test]
fn a_printed_scenario_says_what_its_preset_sets() {
    let folders = Folders::new();
    let text = format!("{EXPERIMENT}{SCENARIO}").replace("[run]", "[run]\npreset = \"ns-2.35\"");
    folders.write("paper/a.toml", &text);
    let found = folders.request("paper/a").find().expect("found");
    let shown = text::files(&found).expect("files");
    assert_contains(
        &shown,
        &[
            "# preset = \"ns-2.35\" sets:",
            "#   min_rto = \"200 ms\"",
            "#       Agent/TCP set minrto_ 0.2",
        ],
    );
    assert_contains(
        &presets::list().expect("a list"),
        &["ns-2.35: ns-2.35's", "linux-2.6.32: Linux", "riverbed: "],
    );
}
