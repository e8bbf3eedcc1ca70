//! `[[experiment.figure]]`: how it is read, and what the figures of an experiment show.

use super::read;
use crate::drawing::{Kind, Of};
use crate::{Experiment, Library, Measure};
use whimbrel_report::figure::{Figure, Plot};
use whimbrel_report::figures::{Delays, Look, choose};
use whimbrel_sim::scenario::{ScenarioError, Setting};
use whimbrel_sim::sweep;

/// An experiment with this figure.
fn read_figure(figure: &str) -> Result<Experiment, ScenarioError> {
    read(&format!(
        "[[experiment.row]]\nlabel = \"A\"\nabove = 0\n[[experiment.figure]]\n{figure}\n"
    ))
}

fn kind(figure: &str) -> Kind {
    let experiment = read_figure(&format!("title = \"T\"\n{figure}")).expect("an experiment");
    experiment.drawings[0].kind.clone()
}

#[test]
fn a_figure_shows_the_experiments_measure_by_default() {
    let of = |figure: &str| match kind(figure) {
        Kind::Lines { x, y } => (x, y.measure, y.series),
        other => panic!("{other:?}"),
    };
    let loss = "link.L.loss".to_owned();
    let found = of("kind = \"lines\"\nx = \"link.L.loss\"");
    assert_eq!(found, (loss.clone(), Measure::named("jain"), None));
    let found = of(
        "kind = \"lines\"\nx = \"link.L.loss\"\ny = \"total goodput\"\nseries = \"flow.controller\"",
    );
    assert_eq!(found, (loss, Measure::named("total goodput"), None));
}

#[test]
fn panels_and_distributions_are_chosen_by_name() {
    let time = kind("kind = \"time\"\nshow = [\"queue\", \"ack spacing\"]");
    assert_eq!(time, Kind::Time(vec![Look::Queue, Look::AckSpacing], None));
    assert_eq!(
        kind("kind = \"time\""),
        Kind::Time(Look::USUAL.to_vec(), None)
    );
    let cdf = kind("kind = \"cdf\"\nx = \"delay\"");
    assert_eq!(cdf, Kind::Cdf(Of::Delays(Delays::OneWay), None));
}

#[test]
fn only_points_that_a_figure_selects_need_samples() {
    let sampled = |figure: &str| {
        let experiment = read_figure(figure).expect("an experiment");
        let scenario = experiment.scenario(&[]).expect("a scenario");
        let points = scenario.points().iter();
        points
            .filter(|point| experiment.needs_samples(point))
            .count()
    };
    assert_eq!(sampled("title = \"T\"\nkind = \"time\""), 0);
    let at = "where = { \"link.L.loss\" = \"2 %\", \"flow.controller\" = [\"cerl\", \"cubic\"] }";
    assert_eq!(sampled(&format!("title = \"T\"\nkind = \"time\"\n{at}")), 2);
    assert_eq!(
        sampled(&format!("title = \"T\"\nkind = \"tradeoff\"\n{at}")),
        0
    );
}

#[test]
fn mistakes_in_figures_name_the_nearest_word() {
    let refused = |figure: &str| read_figure(figure).expect_err("wrong").to_string();
    let wrong = [
        ("title = \"T\"\nkind = \"line\"", "did you mean `lines`?"),
        (
            "title = \"T\"\nkind = \"time\"\nshows = []",
            "did you mean `show`?",
        ),
        (
            "title = \"T\"\nkind = \"time\"\nshow = [\"cwmd\"]",
            "did you mean `cwnd`?",
        ),
        (
            "title = \"T\"\nkind = \"cdf\"\nx = \"rrt\"",
            "did you mean `rtt`?",
        ),
        (
            "title = \"T\"\nkind = \"lines\"\nx = \"link.L.los\"",
            "did you mean `link.L.loss`?",
        ),
        ("title = \"T\"\nkind = \"lines\"", "x"),
        ("kind = \"tradeoff\"", "title"),
        (
            "title = \"T\"\nkind = \"lines\"\nx = \"link.L.loss\"\ny = \"total goodputs\"",
            "did you mean `total goodput`?",
        ),
        (
            "title = \"T\"\nkind = \"lines\"\nx = \"link.L.loss\"\ny = \"mean cwnd\"",
            "needs samples",
        ),
    ];
    for (figure, right) in wrong {
        let error = refused(figure);
        assert!(
            error.contains(right) && error.contains("a.toml:"),
            "{error}"
        );
    }
}

/// The figures of an experiment after a run of the points that its figures over time need (all
/// points if they are few), with one seed and 400 samples.
fn drawn(id: &str) -> Vec<Figure> {
    let all = Library::Embedded.experiments(id).expect("built in");
    let experiment = all.iter().find(|e| e.id == id).expect("its id");
    let seeds = Setting::new("run.seeds", "1");
    let scenario = experiment.scenario(&[seeds]).expect("a scenario");
    let all = scenario.points().len() <= 4;
    let mut few = choose::few(
        &scenario,
        |point| all || experiment.needs_samples(point),
        |_| 0.0,
    );
    few.set_sample(few.points()[0].duration() / 400);
    let runs = sweep::run_all(&sweep::jobs(few.points()), None, || {}).expect("threads");
    experiment.figures(&experiment.assess(&runs).rows, &runs, &runs)
}

fn series(figure: &Figure, panel: usize) -> Vec<&str> {
    let Plot::Panels { panels, .. } = &figure.plot else {
        panic!("{}", figure.title)
    };
    panels[panel]
        .series
        .iter()
        .map(|s| s.label.as_str())
        .collect()
}

#[test]
fn the_files_own_figures_come_first_and_show_what_it_states() {
    let all = drawn("emfast/fig-4");
    assert_eq!(all[0].id, "emfast/fig-4/time");
    assert_eq!(
        all[0].title,
        "Spacing of acknowledgments, FAST and MFAST alone"
    );
    let controllers = ["fast?alpha=6&every=2", "mfast?alpha=6&every=2"];
    assert_eq!(series(&all[0], 0), controllers);
    assert_eq!(series(&all[0], 1), controllers);

    let shares = drawn("enhanced-aatp/fig-9-two-flows");
    let titles: Vec<&str> = shares.iter().take(2).map(|f| f.title.as_str()).collect();
    let expected = ["priority 1", "priority 8"];
    for (title, at) in titles.iter().zip(expected) {
        assert!(
            title.starts_with("Fig 9 a to d") && title.ends_with(at),
            "{title}"
        );
    }
    assert_eq!(series(&shares[1], 0), ["first", "second"]);
    // The second has 89 % in the end, as in the paper.
    let Plot::Panels { panels, .. } = &shares[1].plot else {
        panic!("panels")
    };
    let [_, last] = panels[0].series[1].points.last().expect("some");
    assert!((last - 89.0).abs() < 4.5, "{last}");
    // The default figures include the same figure: it appears only once.
    let same = shares.iter().filter(|f| f.plot == shares[1].plot).count();
    assert_eq!(same, 1);
    let mut ids: Vec<&str> = shares.iter().map(|f| f.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), shares.len());
}

#[test]
fn sequence_numbers_show_the_point_of_the_paper() {
    let all = drawn("cerl/fig-4.28");
    assert_eq!(all[0].title, "Sequence numbers, 1 % lost");
    let labels = series(&all[0], 0);
    assert!(
        labels.contains(&"cerl-plus-printed")
            && labels.contains(&"newreno beside cerl-plus-printed"),
        "{labels:?}"
    );
}

#[test]
fn numbers_are_compared_by_unit_and_controller() {
    let experiment = read(
        "tolerance = \"5 %\"\n[[experiment.row]]\nlabel = \"A\"\nwhere = { \"flow.controller\" = \"cerl\" }\npaper = 1\n\
         [[experiment.row]]\nlabel = \"B\"\nflows = \"cubic\"\npaper = 2\n[[experiment.row]]\nlabel = \"C\"\nmeasure = \"loss\"\npaper = 3\n\
         [[experiment.figure]]\ntitle = \"J\"\nkind = \"lines\"\nx = \"link.L.loss\"\nwhere = { \"flow.controller\" = [\"cubic\", \"cerl\"] }\n",
    )
    .expect("an experiment");
    let short = [
        "link.L.rate=1 Mbit/s",
        "link.L.delay=10 ms",
        "run.duration=2 s",
    ];
    let short: Vec<Setting> = short
        .iter()
        .map(|s| s.parse().expect("a setting"))
        .collect();
    let scenario = experiment.scenario(&short).expect("a scenario");
    let runs = sweep::run_all(&sweep::jobs(scenario.points()), None, || {}).expect("threads");
    let all = experiment.figures(&experiment.assess(&runs).rows, &runs, &runs);
    assert_eq!(series(&all[0], 0), ["cubic", "cerl"]);
    let beside: Vec<(&str, Vec<Option<&str>>)> = all
        .iter()
        .filter_map(|figure| match &figure.plot {
            Plot::Beside { value, rows } => {
                let protocols = rows.iter().map(|row| row.protocol.as_deref());
                Some((value.unit.as_str(), protocols.collect()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        beside,
        [("", vec![Some("cerl"), Some("cubic")]), ("%", vec![None])]
    );
}
