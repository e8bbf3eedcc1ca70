//! Points, scores and league tables, against numbers computed by hand.

use std::collections::BTreeSet;
use std::path::Path;
use whimbrel_rank::score::{References, kept, score, within};
use whimbrel_rank::{
    Aim, Class, League, Library, MatrixPoint, Measures, Runs, Task, Version, run_tasks,
};
use whimbrel_sim::scenario::document::Document;
use whimbrel_sim::{FlowOutcome, LossCounts, Outcome, Summary};
use whimbrel_units::{Bytes, Duration, Rate};

/// 50 Mbit/s, 100 ms.
const POINT: &str = r#"
[point]
class = "A"
claim = "A full link."
flows = ["t"]
score = "fill"
rtt = "100 ms"
goal = 0.9
queue = 0.25
lost = "1 %"
[link.L]
rate = "10 Mbit/s"
delay = "50 ms"
queue = "1 bdp"
loss = "1 %"
[[flow]]
name = "t"
route = ["L"]
[run]
duration = "10 s"
"#;

fn read(text: &str) -> Result<MatrixPoint, String> {
    let document = Document::parse(text, Path::new("p.toml")).map_err(|e| e.to_string())?;
    MatrixPoint::read("p", text, document).map_err(|e| e.to_string())
}

fn point(text: &str) -> MatrixPoint {
    read(text).expect("a point")
}

#[test]
fn a_point_is_read() {
    let point = point(POINT);
    assert_eq!((point.class, point.flows.len()), (Class::A, 1));
    let expected = Aim::Fill {
        goal: 0.9,
        queue: 0.25,
        lost: 0.01,
        taken: 0.0,
        overflow: None,
    };
    assert_eq!(point.aim, expected);
    assert!(point.references().is_empty());
    let scenario = point.scenario("bbr", 3).expect("a scenario");
    assert_eq!(scenario.points()[0].controllers(), ["bbr"]);
    assert_eq!(scenario.points()[0].seeds(), [1, 2, 3]);
}

#[test]
fn mistakes_in_a_point_name_the_line_and_the_nearest_word() {
    for (from, to, why) in [
        (
            "class = \"A\"",
            "class = \"Z\"",
            "p.toml:3: point.class: unknown class `Z`",
        ),
        (
            "goal = 0.9",
            "gaol = 0.9",
            "p.toml:8: point: unknown key `gaol`, did you mean `goal`?",
        ),
        (
            "goal = 0.9",
            "goal = 2",
            "p.toml:8: point.goal: must be from 0.01 to 1, not 2",
        ),
        (
            "\"fill\"",
            "\"full\"",
            "p.toml:6: point.score: unknown score `full`, did you mean `fill`?",
        ),
        (
            "[\"t\"]\nscore",
            "[\"u\"]\nscore",
            "p.toml:5: point.flows: unknown flow `u`",
        ),
        (
            "rtt = \"100 ms\"\n",
            "",
            "p.toml:2: point: `rtt` is missing",
        ),
        (
            "\"fill\"",
            "\"share\"",
            "p.toml:9: point: unknown key `queue`",
        ),
        (
            "loss = \"1 %\"",
            "los = \"1 %\"",
            "p.toml:15: link.L: unknown key `los`",
        ),
        (
            "[run]",
            "[sweep]\n\"link.L.loss\" = [0, \"1 %\"]\n[run]",
            "a point of the matrix is one path",
        ),
    ] {
        let error = read(&POINT.replacen(from, to, 1)).expect_err(why);
        assert!(error.contains(why), "expected {why}\nfound {error}");
    }
}

#[test]
fn a_share_needs_a_neighbour() {
    let shares = POINT
        .replace("\"fill\"", "\"share\"")
        .replace("queue = 0.25\nlost = \"1 %\"\n", "");
    let error = read(&shares).expect_err("alone");
    assert!(error.contains("`share` needs a flow with a controller that is not under test"));
    let two = format!("{shares}[[flow]]\nname = \"o\"\ncontroller = \"bbr\"\nroute = [\"L\"]\n");
    let two = point(&two);
    assert_eq!(two.neighbour.as_deref(), Some("bbr"));
    assert_eq!(two.references(), ["bbr", "cubic"]);
}

#[test]
fn filling_half_of_the_goal_at_four_times_the_delay_scores_by_the_formula() {
    let measures = Measures {
        efficiency: 0.45,
        delay: 1.0,
        ..Measures::default()
    };
    let found = score(&point(POINT), &measures, &References::default(), 0.0);
    assert!((found - 0.5 * within(1.0, 0.25)).abs() < 1e-12, "{found}");
    // Five packets take half an RTT: twice that.
    let found = score(&point(POINT), &measures, &References::default(), 0.5);
    assert!((found - 0.5 * within(1.0, 0.5)).abs() < 1e-12, "{found}");
}

#[test]
fn harm_is_measured_against_the_neighbours_own_kind() {
    let shares = POINT
        .replace("\"fill\"", "\"share\"")
        .replace("queue = 0.25\nlost = \"1 %\"\n", "");
    let text = format!("{shares}[[flow]]\nname = \"o\"\ncontroller = \"bbr\"\nroute = [\"L\"]\n");
    let point = point(&text);
    let others = |others: f64| Measures {
        others,
        share: 1.0,
        utilization: 1.0,
        ..Measures::default()
    };
    let references = References {
        own_kind: Some(others(5e6)),
        cubic: Some(others(4e6)),
        bbr: None,
    };
    // They keep 2 of 5; CUBIC leaves 4 of 5, of which 0.8 is enough: 0.64.
    let mine = others(2e6);
    assert_eq!(kept(&mine, &references), Some(0.4));
    let found = score(&point, &mine, &references, 0.0);
    assert!((found - 0.4 / 0.64).abs() < 1e-12, "{found}");
    let found = score(&point, &others(3.3e6), &references, 0.0);
    assert_eq!(found, 1.0);
}

#[test]
fn a_flow_that_fills_the_link_scores_one_and_cubic_less() {
    let point = point(POINT);
    let tasks: Vec<Task<'_>> = ["bbr", "cubic"]
        .map(|name| Task::new(&point, name, 2).expect("runs"))
        .into();
    let runs = run_tasks(&tasks, None, |_, _| true).expect("threads");
    let again = run_tasks(&tasks, std::num::NonZeroUsize::new(1), |_, _| true).expect("threads");
    assert_eq!(runs, again, "the number of threads does not matter");
    let of = |i: usize| runs[i][0];
    // 10 Mbit/s x 1448/1500 x 0.99: at most 9.56 Mbit/s.
    assert!((0.8..1.0).contains(&of(0).efficiency), "{:?}", of(0));
    assert!(of(0).rate < 9.56e6 && of(1).efficiency < of(0).efficiency);
    let named: Runs = tasks
        .iter()
        .zip(&runs)
        .map(|(task, runs)| (("p".to_owned(), task.controller.clone()), runs.clone()))
        .collect();
    let library = Library {
        version: "9".to_owned(),
        points: vec![point.clone()],
    };
    let names = ["cubic".to_owned(), "bbr".to_owned()];
    let league = League::new(&library, &names, &named);
    let order: Vec<&str> = league.table.iter().map(|s| s.controller.as_str()).collect();
    assert_eq!(order, ["bbr", "cubic"]);
    let best = &league.table[0];
    assert_eq!(best.classes[&Class::A], best.all);
    assert_eq!(league.oracle().expect("cells").all.mean, best.all.mean);
}

#[test]
fn the_matrix_can_be_read_and_has_every_class() {
    let classes = |library: &Library| -> BTreeSet<Class> {
        library.points.iter().map(|point| point.class).collect()
    };
    let first = Library::matrix(Version::One).expect("a matrix");
    assert_eq!(first.version, "1");
    assert_eq!(classes(&first), Class::ALL[..7].iter().copied().collect());
    let library = Library::matrix(Version::Two).expect("a matrix");
    assert_eq!(library.version, "2");
    assert_eq!(classes(&library), Class::ALL.into_iter().collect());
    let texts = |library: &Library| -> BTreeSet<String> {
        library
            .points
            .iter()
            .map(|point| point.text.clone())
            .collect()
    };
    assert!(
        texts(&library).is_superset(&texts(&first)),
        "scores stay comparable"
    );
    for point in &library.points {
        assert!(
            point.id.to_uppercase().starts_with(point.class.letter()),
            "{}",
            point.id
        );
        assert!(point.claim.ends_with('.'), "{}: {}", point.id, point.claim);
        for name in ["cubic", "enhanced-aatp"] {
            point.scenario(name, 1).expect(&point.id);
        }
    }
}

#[test]
fn a_folder_of_points_is_read_and_errors_say_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = Library::folder(folder.path())
        .expect_err("empty")
        .to_string();
    assert!(
        error.contains("write scenario files *.toml with a table [point]"),
        "{error}"
    );
    std::fs::write(folder.path().join("mine.toml"), POINT).expect("written");
    std::fs::write(folder.path().join("notes.txt"), "x").expect("written");
    let library = Library::folder(folder.path()).expect("a point");
    assert_eq!(
        (library.version.as_str(), library.points[0].id.as_str()),
        ("0", "mine")
    );
    std::fs::write(folder.path().join("b.toml"), "[link.L]\n").expect("written");
    let error = Library::folder(folder.path())
        .expect_err("no point")
        .to_string();
    assert!(error.contains("b.toml:1: `point` is missing"), "{error}");
}

#[test]
fn a_run_that_was_stopped_is_counted_though_others_were_not() {
    let point = point(POINT);
    let run = |stopped| Measures {
        efficiency: 0.5,
        stopped,
        ..Measures::default()
    };
    let all = vec![run(None), run(Some(1.0)), run(Some(2.0))];
    let runs = Runs::from([(("p".to_owned(), "jersey".to_owned()), all)]);
    let library = Library {
        version: String::new(),
        points: vec![point],
    };
    let league = League::new(&library, &["jersey".to_owned()], &runs);
    let cell = league.cell("jersey", "p").expect("a cell");
    assert_eq!((cell.stopped, cell.mean.stopped), (2, Some(1.5)));
}

#[test]
fn a_transfer_that_nobody_completes_meets_no_goal() {
    let text = POINT
        .replace("\"fill\"", "\"completion\"")
        .replace("goal = 0.9\nqueue = 0.25\nlost = \"1 %\"\n", "")
        .replace("route = [\"L\"]", "route = [\"L\"]\nsize = \"1 GB\"");
    let point = point(&text);
    let took = |completion| Measures {
        completion,
        ..Measures::default()
    };
    let score = |own, cubic, bbr| {
        let references = References {
            cubic: Some(took(cubic)),
            bbr: Some(took(bbr)),
            own_kind: None,
        };
        score(&point, &took(own), &references, 0.0)
    };
    // The run has 10 s.
    assert_eq!(score(10.0, 10.0, 10.0), 0.0);
    assert_eq!(score(9.0, 10.0, 10.0), 1.0);
    assert!((score(10.0, 10.0, 5.0) - 0.525).abs() < 1e-12);
    // So it is when it runs.
    let task = Task::new(&point, "cubic", 1).expect("runs");
    let runs = run_tasks(&[task], None, |_, _| true).expect("threads");
    assert_eq!(runs[0][0].completion, 10.0);
}

#[test]
fn a_point_names_its_file_and_what_its_traces_say() {
    let matrix = Library::matrix(Version::Two).expect("a matrix");
    let path = |id: &str| {
        let found = matrix.points.iter().find(|point| point.id == id);
        found.expect(id).path.display().to_string()
    };
    assert_eq!(path("a01"), "experiments/matrix/a01.toml");
    assert_eq!(path("h01"), "experiments/matrix2/h01.toml");
    assert!(matrix.points.iter().all(|point| point.traces().is_none()));
    let folder = tempfile::tempdir().expect("a folder");
    let text = POINT.replace("\"10 Mbit/s\"", "{ trace = \"r.trace\" }");
    std::fs::write(folder.path().join("mine.toml"), text).expect("written");
    let mut traces = BTreeSet::new();
    for trace in ["1\n", "1\n2\n"] {
        std::fs::write(folder.path().join("r.trace"), trace).expect("written");
        let library = Library::folder(folder.path()).expect("a point");
        traces.insert(library.points[0].traces().expect("a trace"));
    }
    assert_eq!(traces.len(), 2, "another content has another hash");
}

/// What a run of 10 s over 10 Mbit/s showed of two flows under test and a neighbour, by hand.
#[test]
fn the_measures_of_a_run_are_those_of_its_flows() {
    let text = POINT
        .replace("\"fill\"", "\"share\"")
        .replace("queue = 0.25\nlost = \"1 %\"\n", "")
        .replace("name = \"t\"", "name = \"t\"\ncount = 2");
    let text = format!("{text}[[flow]]\nname = \"o\"\ncontroller = \"cubic\"\nroute = [\"L\"]\n");
    let point = point(&text);
    let scenario = point.scenario("bbr", 1).expect("a scenario");
    let of_scenario = &scenario.points()[0];
    let network = of_scenario.network(1);
    let flow = |mbits: u64, p95: u64| FlowOutcome {
        controller: Some("bbr".to_owned()),
        active: Duration::from_secs(10),
        delivered: Bytes::new(mbits * 1_250_000),
        goodput: Rate::from_bits_per_sec(mbits * 1_000_000),
        packets_sent: 1000,
        retransmits: 30,
        lost: LossCounts {
            queue_overflow: 10,
            random: 90,
            ..LossCounts::default()
        },
        one_way_delay: Summary {
            count: 900,
            min: Duration::from_millis(50),
            p95: Duration::from_millis(p95),
            ..Summary::default()
        },
        ..FlowOutcome::default()
    };
    let outcome = Outcome {
        duration: Duration::from_secs(10),
        flows: vec![flow(2, 60), flow(1, 90), flow(4, 150)],
        links: Vec::new(),
        destinations: Vec::new(),
        events: 0,
        delivered_packets: 2700,
        one_way_delay: Summary::default(),
    };
    let found = Measures::of(&point, of_scenario, &network, &outcome, 7);
    let near = |found: f64, expected: f64| {
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    };
    let payload = 1448.0 / 1500.0;
    near(found.rate, 3e6);
    // Of 10 Mbit/s with headers; a fair share is a third of it.
    near(found.efficiency, 0.3 / payload);
    near(found.share, 1.5 / (10.0 * payload / 3.0));
    near(found.utilization, 0.7 / payload);
    near(found.others, 4e6);
    // The worse of 10 and 40 ms, in round trips of 100 ms; the neighbour's is not theirs.
    near(found.delay, 0.4);
    // What the path lost at random was not dropped by queues.
    near(found.overflow, 0.01);
    near(found.others_overflow, 0.01);
    near(found.retransmitted, 0.03);
    near(found.jain, 9.0 / 10.0);
    assert_eq!((found.seed, found.packets, found.stopped), (7, 2700, None));
    // References are means over the seeds.
    let runs = [1.0, 2.0, 6.0].map(|others| Measures {
        others,
        ..Measures::default()
    });
    let all = Runs::from([(("p".to_owned(), "cubic".to_owned()), runs.to_vec())]);
    let references = References::of(&point, &all);
    near(references.cubic.expect("runs").others, 3.0);
    near(references.own_kind.expect("runs").others, 3.0);
    assert_eq!(references.bbr, None);
}
