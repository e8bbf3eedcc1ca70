//! Experiment files: how they are read, and what mistakes in them report.

mod figures;

use crate::{Experiment, Library, Period};
use std::path::Path;
use whimbrel_sim::scenario::ScenarioError;
use whimbrel_sim::scenario::document::Document;
use whimbrel_units::{Duration, Time};

const SCENARIO: &str = r#"
[link.L]
[[flow]]
route = ["L"]
[sweep]
"link.L.loss" = ["0 %", "1 %", "2 %"]
"flow.controller" = ["newreno", "cubic", "cerl"]
"#;

fn read(experiment: &str) -> Result<Experiment, ScenarioError> {
    let text = format!(
        "[experiment]\npaper = \"P\"\nplace = \"Q\"\nclaim = \"C\"\nmeasure = \"jain\"\n{experiment}\n{SCENARIO}"
    );
    let document = Document::parse(&text, Path::new("a.toml"))?;
    Library::Embedded.read("p/a", document)
}

#[test]
fn lists_make_rows_in_the_order_of_the_papers_numbers() {
    let experiment = read(
        "tolerance = \"5 %\"\n[[experiment.row]]\nlabel = \"CERL over {over} at {link.L.loss}\"\nwhere = { \"flow.controller\" = \"cerl\" }\n\
         over = { \"flow.controller\" = [\"newreno\", \"cubic\"] }\neach = \"link.L.loss\"\npaper = [1, 2, 3, 4, 5, 6]\n",
    )
    .expect("an experiment");
    let rows: Vec<(&str, Option<f64>)> = experiment
        .rows
        .iter()
        .map(|r| (r.label.as_str(), r.paper))
        .collect();
    assert_eq!(rows[0], ("CERL over newreno at 0 %", Some(1.0)));
    assert_eq!(rows[1], ("CERL over cubic at 0 %", Some(2.0)));
    assert_eq!(rows[5], ("CERL over cubic at 2 %", Some(6.0)));
    assert_eq!(experiment.rows[0].tolerance, 0.05);
    let scenario = experiment.scenario(&[]).expect("a scenario");
    let over = experiment.rows[1].over.as_ref().expect("a gain");
    let count = |selection: &crate::Selection| {
        scenario
            .points()
            .iter()
            .filter(|point| selection.takes(point.parameters()))
            .count()
    };
    assert_eq!((count(&experiment.rows[1].at), count(over)), (1, 1));
}

/// The rows of an experiment after short runs of its whole sweep, with two seeds.
fn assessed(rows: &str) -> Vec<crate::AssessedRow> {
    let experiment = read(rows).expect("an experiment");
    let short = [
        "link.L.rate=2 Mbit/s",
        "link.L.delay=20 ms",
        "run.duration=5 s",
        "run.seeds=2",
    ];
    let short = short.map(|setting| setting.parse().expect("a setting"));
    let scenario = experiment.scenario(&short).expect("a scenario");
    let jobs = whimbrel_sim::sweep::jobs(scenario.points());
    let runs = whimbrel_sim::sweep::run_all(&jobs, None, || {}).expect("threads");
    experiment.assess(&runs).rows
}

#[test]
fn a_difference_is_in_the_unit_of_its_measure() {
    let row = |more: &str| {
        format!(
            "[[experiment.row]]\nlabel = \"a\"\nmeasure = \"total goodput\"\nabove = 0\n\
             where = {{ \"flow.controller\" = \"cerl\", \"link.L.loss\" = \"0 %\" }}\n{more}\n"
        )
    };
    let other = "{ \"flow.controller\" = \"newreno\", \"link.L.loss\" = \"2 %\" }";
    let rows = [
        row(""),
        row("")
            .replace("\"cerl\"", "\"newreno\"")
            .replace("0 %", "2 %"),
        row(&format!("minus = {other}")),
        row(&format!("over = {other}")),
    ];
    let rows = assessed(&rows.concat());
    let [at, from, difference, gain] =
        [0, 1, 2, 3].map(|i: usize| rows[i].measured.expect("a value"));
    assert!((difference - (at - from)).abs() < 1e-9, "{difference}");
    assert_eq!(
        [rows[2].unit.as_str(), rows[3].unit.as_str()],
        ["Mbit/s", "%"]
    );
    // The gain is the mean over two seeds, so it is near that of the means.
    assert!(
        (gain - 100.0 * (at / from - 1.0)).abs() < 0.2 * gain,
        "{gain}"
    );
}

#[test]
fn a_comparison_has_one_value_of_each_key_and_one_kind() {
    let fails = |more: &str, why: &str| {
        let text = format!("[[experiment.row]]\nlabel = \"a\"\nabove = 0\n{more}\n");
        let error = read(&text).expect_err(more).to_string();
        assert!(error.contains(why), "{error}");
    };
    let over = "over = { \"flow.controller\" = \"cerl\" }\n";
    fails(
        &format!("{over}minus = {{ \"link.L.loss\" = \"0 %\" }}"),
        "either `over` or `minus`",
    );
    fails(
        "over = { \"flow.controller\" = [\"cerl\", \"cubic\"], \"link.L.loss\" = \"0 %\" }",
        "with several keys, each has one value",
    );
    fails("minus = {}", "needs a key");
}

#[test]
fn gains_across_points_are_combined_after_they_are_computed() {
    let row = |more: &str| {
        format!(
            "[[experiment.row]]\nlabel = \"\"\nmeasure = \"total goodput\"\nabove = 0\n\
             where = {{ \"flow.controller\" = \"cerl\", \"link.L.loss\" = [\"1 %\", \"2 %\"] }}\n\
             over = {{ \"flow.controller\" = \"newreno\" }}\n{more}\n"
        )
    };
    let across = |take| format!("across = \"link.L.loss\"\ntake = \"{take}\"");
    let rows = assessed(
        &[
            row("each = \"link.L.loss\""),
            row(&across("mean")),
            row(&across("maximum")),
            row(""),
        ]
        .concat(),
    );
    let values: Vec<f64> = rows.iter().filter_map(|row| row.measured).collect();
    let [one, two, mean, maximum, of_means] = values[..] else {
        panic!("{rows:?}")
    };
    assert!((one - two).abs() > 1.0, "{one} {two}");
    assert!((mean - (one + two) / 2.0).abs() < 1e-9);
    assert_eq!(maximum, one.max(two));
    // NewReno's goodput falls, so the gain of the means weighs the first point more.
    assert!((of_means - mean).abs() > 0.1, "{of_means} {mean}");
}

#[test]
fn an_order_expects_a_gain_for_each_neighboring_pair() {
    let experiment = read(
        "[[experiment.order]]\nkey = \"flow.controller\"\ngreatest_first = [\"cerl\", \"cubic\", \"newreno\"]\n\
         where = { \"link.L.loss\" = [\"1 %\", \"2 %\"] }\neach = \"link.L.loss\"\n",
    )
    .expect("an experiment");
    let labels: Vec<&str> = experiment.rows.iter().map(|r| r.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "cerl over cubic, loss 1 %",
            "cubic over newreno, loss 1 %",
            "cerl over cubic, loss 2 %",
            "cubic over newreno, loss 2 %"
        ]
    );
    assert!(experiment.rows.iter().all(|row| row.above == Some(0.0)));
}

#[test]
fn mistakes_name_file_line_key_and_the_nearest_word() {
    let row = |text: &str| format!("[[experiment.row]]\n{text}\nabove = 0");
    for (text, expected) in [
        (
            row("labl = \"\""),
            "a.toml:7: experiment.row: unknown key `labl`, did you mean `label`?",
        ),
        (
            row("label = \"\"\nmeasure = \"total goodputt\""),
            "a.toml:8: experiment.row.measure: unknown measure `total goodputt`, did you mean `total goodput`?",
        ),
        (
            row("label = \"\"\nwhere = { \"link.L.los\" = \"1 %\" }"),
            "a.toml:8: experiment.row.where.link.L.los: unknown key of the sweep `link.L.los`, did you mean `link.L.loss`?",
        ),
        (
            row("label = \"\"\nwhere = { \"flow.controller\" = \"cerk\" }"),
            "a.toml:8: experiment.row.where.flow.controller: unknown value of `flow.controller` in the sweep `cerk`, did you mean `cerl`?",
        ),
        (
            row("label = \"\"\nacross = \"link.L.loss\"\ntake = \"mean\""),
            "a.toml:8: experiment.row.across: combines gains, so the row needs `over`",
        ),
        (
            row(
                "label = \"\"\nover = { \"flow.controller\" = \"newreno\" }\nacross = \"link.L.loss\"\ntake = \"maximun\"",
            ),
            "a.toml:10: experiment.row.take: unknown value of `take` `maximun`, did you mean `maximum`?",
        ),
        (
            row("label = \"\"\ntake = \"mean\""),
            "a.toml:8: experiment.row.take: needs `across`, the key whose points are combined",
        ),
        (
            row("label = \"\"\npaper = [1, 2]"),
            "a.toml:8: experiment.row.paper: has 2 numbers for 1 row",
        ),
        (
            row("label = \"\"\npaper = 1"),
            "a.toml:8: experiment.row.paper: needs a tolerance, of the row or under [experiment]; write e.g. `tolerance = \"10 %\"`",
        ),
        (
            row("label = \"\"\npaper = nan"),
            "a.toml:8: experiment.row.paper: must be a finite number, not NaN",
        ),
        (
            row("label = \"\"\nbelow = 0"),
            "a.toml:6: experiment.row: no number is above 0 and below 0",
        ),
        (
            row("label = \"A at {link.L.los}\"\neach = \"link.L.loss\""),
            "a.toml:7: experiment.row.label: unknown placeholder of this row `link.L.los`, did you mean `link.L.loss`?",
        ),
        (
            row("label = \"A over {over}\""),
            "a.toml:7: experiment.row.label: unknown placeholder of this row `over`: no placeholder of this row is defined",
        ),
        (
            row("label = \"A over {over\""),
            "a.toml:7: experiment.row.label: has a `{` without a `}`",
        ),
        (
            row("label = \"\"\nflows = \"cerk\""),
            "a.toml:8: experiment.row.flows: unknown flow or controller of a flow `cerk`, did you mean `cerl`?",
        ),
        (
            row("label = \"\"").replace("above = 0", ""),
            "a.toml:1: experiment: no row has an expected value: give a row the paper's number (`paper = 46`) or a bound (`above = 0`), or add [[experiment.order]]",
        ),
        (
            row("label = \"\"") + "\n[link.M]\nlos = 1",
            "a.toml:10: link.M: unknown key `los`, did you mean `loss`?",
        ),
        (
            row("label = \"\"\nmeasure = \"loss\"\nfrom = \"1 s\""),
            "a.toml:9: experiment.row.from: applies only to measures that can be restricted to a part of the run: `total goodput`, \
             `mean flow goodput`, `total throughput`, `mean flow throughput`, `transmitted`, `delivered`, `sending rate`, \
             `share`, `jain`, `weighted fairness`, `convergence time`, `mean cwnd`, `greatest cwnd`, `least cwnd`, `mean ack spacing`, \
             `ack spacing jitter`, `recovery time`, `share recovery time`, `refill`, `rate refill`",
        ),
        (
            row("label = \"\"\nfrom = \"1 s\""),
            "a.toml:5: experiment.measure: needs samples; set their interval under [run]: `sample = \"100 ms\"`",
        ),
        (
            row("label = \"\"\nmeasure = \"convergence time\""),
            "a.toml:8: experiment.row.measure: needs samples; set their interval under [run]: `sample = \"100 ms\"`",
        ),
        (
            row("label = \"\"\nto = \"70 s\""),
            "a.toml:8: experiment.row.to: is after the end of the run at 60 s",
        ),
        (
            row("label = \"\"\nfrom = \"20 s\"\nto = \"20 s\""),
            "a.toml:8: experiment.row.from: `to` must be after `from`",
        ),
        (
            row("label = \"\"\nfrom = \"20 sec\""),
            "a.toml:8: experiment.row.from: `20 sec` is not a time: unknown unit `sec`, did you mean `s`?; write e.g. `50 ms`",
        ),
        (
            "scenario = \"none.toml\"".to_owned(),
            "a.toml:6: experiment.scenario: cannot read experiments/p/none.toml: entity not found",
        ),
    ] {
        let found = read(&text).expect_err("wrong").to_string();
        assert_eq!(found, expected);
    }
}

#[test]
fn a_row_can_be_restricted_to_a_period() {
    let experiment = read(
        "[[experiment.row]]\nlabel = \"\"\nabove = 0\nfrom = \"20 s\"\n\
         [[experiment.order]]\nkey = \"flow.controller\"\ngreatest_first = [\"cerl\", \"cubic\"]\nto = \"30 s\"\n\
         [run]\nsample = \"1 s\"\n",
    )
    .expect("an experiment");
    let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
    let period = |from, to| {
        Some(Period {
            from: at(from),
            to: at(to),
        })
    };
    assert_eq!(experiment.rows[0].period, period(20, 60));
    assert_eq!(experiment.rows[1].period, period(0, 30));
}

#[test]
fn an_id_matches_in_full_or_by_its_first_words() {
    let ids = |name: &str| -> Vec<String> {
        let found = Library::Embedded.experiments(name);
        let found = found.unwrap_or_default().into_iter();
        found.map(|experiment| experiment.id).collect()
    };
    // Chapter 3 has figures 3.5 to 3.21 of this kind; figure 3.1 is a drawing.
    assert!(
        ids("cerl/fig-3").len() > 10
            && ids("cerl/fig-3")
                .iter()
                .all(|id| id.starts_with("cerl/fig-3."))
    );
    assert_eq!(ids("cerl/fig-3."), ids("cerl/fig-3"));
    assert!(ids("cerl/fig-3.1").is_empty() && ids("cer").is_empty());
    assert_eq!(ids("cerl/fig-3.10"), ["cerl/fig-3.10"]);
    assert_eq!(ids("emfast/"), ids("emfast"));
}

#[test]
fn an_unknown_name_reports_the_nearest_one() {
    let error = |name| {
        let error = Library::Embedded.experiments(name).expect_err("none");
        error.to_string()
    };
    assert_eq!(
        error("emfats"),
        "unknown experiment `emfats`, did you mean `emfast`?"
    );
    assert!(error("curl/fig-3.5").contains("did you mean `cerl/fig-3.5`?"));
    // An algorithm is not a paper: the baselines and the five papers, each once.
    let cubic = error("cubic");
    assert!(
        cubic.contains("known: `baselines`, `cerl`, `emfast`, ") && cubic.len() < 160,
        "{cubic}"
    );
    let shared = error("rta/transitions");
    assert!(
        shared.starts_with("`rta/transitions` is a scenario, not an experiment: run it with `whimbrel sim experiments/rta/transitions.toml`")
            && shared.contains("rta/fig-1"),
        "{shared}"
    );
}

#[test]
fn the_files_of_an_experiment_include_its_scenario() {
    let names = |id| -> Vec<String> {
        let experiment = Library::Embedded.experiments(id).expect("one").remove(0);
        let files = Library::Embedded.files(&experiment).expect("files");
        assert!(files.iter().all(|file| !file.text.is_empty()));
        files.into_iter().filter_map(|file| file.name).collect()
    };
    assert_eq!(
        names("cerl/fig-3.5"),
        ["cerl/fig-3.5.toml", "cerl/topology-1-one-way-loss.toml"]
    );
}

/// A scenario with a recorded capacity and delay.
const TRACED: &str = r#"
[experiment]
paper = "None"
place = "None"
claim = "None"
measure = "total goodput"
[[experiment.row]]
label = "goodput"
above = 0
[link.L]
rate = { trace = "../traces/capacity.txt" }
delay = { every = "10 ms", trace = "../traces/delay.txt" }
[[flow]]
route = ["L"]
"#;

/// A library in a folder with one experiment, `paper/traced`.
fn traced() -> (tempfile::TempDir, Library) {
    let folder = tempfile::tempdir().expect("a folder");
    let paper = folder.path().join("paper");
    std::fs::create_dir(&paper).expect("a folder");
    std::fs::write(paper.join("traced.toml"), TRACED).expect("written");
    let library = Library::Folder(folder.path().to_owned());
    (folder, library)
}

#[test]
fn an_experiment_without_its_traces_can_be_read_but_not_run() {
    let (folder, library) = traced();
    let experiment = library.experiments("paper").expect("one").remove(0);
    let names = ["../traces/capacity.txt", "../traces/delay.txt"];
    let missing = names.map(|name| folder.path().join("paper").join(name));
    assert_eq!(experiment.missing_traces, missing);
    let files = library.files(&experiment).expect("files");
    assert_eq!(files.len(), 1, "only its own file");
    let error = experiment.scenario(&[]).expect_err("no trace").to_string();
    assert!(error.contains("cannot read the trace"), "{error}");
}

#[test]
fn the_files_of_an_experiment_include_its_traces() {
    let (folder, library) = traced();
    let traces = folder.path().join("traces");
    std::fs::create_dir(&traces).expect("a folder");
    std::fs::write(traces.join("capacity.txt"), "1\n2\n").expect("written");
    std::fs::write(traces.join("delay.txt"), "10\n").expect("written");
    let experiment = library.experiments("paper").expect("one").remove(0);
    assert!(experiment.missing_traces.is_empty());
    assert!(experiment.scenario(&[]).is_ok());
    let files = library.files(&experiment).expect("files");
    let texts: Vec<&str> = files.iter().skip(1).map(|file| &*file.text).collect();
    assert_eq!(texts, ["1\n2\n", "10\n"]);
}

#[test]
fn run_times_are_listed_only_for_scenarios_of_experiments() {
    let all = Library::Embedded.experiments("").expect("experiments");
    for (id, seconds) in Library::Embedded.seconds().expect("seconds") {
        assert!(
            all.iter().any(|experiment| experiment.scenario_id == id),
            "seconds.toml: no experiment has the scenario `{id}`"
        );
        assert!(seconds < 900.0, "{id} takes {seconds} seconds");
    }
}

#[test]
fn every_compiled_in_experiment_can_be_read() {
    let all = Library::Embedded.experiments("").expect("experiments");
    assert!(all.iter().any(|experiment| experiment.id == "cerl/fig-3.5"));
    let cerl = Library::Embedded.experiments("cerl/fig-3.5").expect("one");
    assert_eq!(
        cerl[0].scenario(&[]).expect("a scenario").points().len(),
        2 * 11 * 9
    );
}

#[test]
fn a_row_over_several_points_is_their_mean() {
    let rows = assessed(
        "[[experiment.row]]\nlabel = \"all\"\nwhere = { \"flow.controller\" = \"cubic\" }\n\
         measure = \"total goodput\"\nabove = 0\n\
         [[experiment.row]]\nlabel = \"{link.L.loss}\"\nwhere = { \"flow.controller\" = \"cubic\" }\n\
         each = \"link.L.loss\"\nmeasure = \"total goodput\"\n",
    );
    let measured: Vec<f64> = rows
        .iter()
        .map(|row| row.measured.expect("a value"))
        .collect();
    let [all, each @ ..] = measured.as_slice() else {
        panic!("rows")
    };
    assert_eq!(each.len(), 3);
    assert!(each[0] > each[2] + 0.05, "loss costs something: {each:?}");
    assert!(
        (all - each.iter().sum::<f64>() / 3.0).abs() < 1e-9,
        "{measured:?}"
    );
}
