//! Decisions on losses, and their costs, on paths that can be worked out by hand.

use super::effect;
use super::result::{axes, keep_swept, sum};
use super::*;
use std::path::Path;
use whimbrel_cc::Spec;
use whimbrel_sim::scenario::document::Document;
use whimbrel_sim::scenario::{Parameter, ParameterValue, Setting};
use whimbrel_sim::sweep::run_all;
use whimbrel_sim::{Confusion, Oracle};

/// 10 Mbit/s and 50 ms each way: a packet of 1500 bytes takes 1.2 ms, and 83 fill the path.
const PATH: &str = r#"
[link.L]
rate = "10 Mbit/s"
delay = "50 ms"
[[flow]]
route = ["L"]
controller = "cerl"
[run]
duration = "10 s"
seeds = 2
ack_every = 1
"#;

fn document(text: &str) -> Document {
    Document::parse(text, Path::new("a.toml")).expect("TOML")
}

fn specs(controllers: &[&str]) -> Vec<Spec> {
    let spec = |text: &&str| text.parse().expect("a controller");
    controllers.iter().map(spec).collect()
}

fn plan(text: &str, controllers: &[&str], flow: Option<&str>) -> Result<Plan, String> {
    let plan = Plan::new(&document(text), &[], &specs(controllers), flow);
    plan.map_err(|error| error.to_string())
}

fn judge(text: &str, controllers: &[&str], flow: Option<&str>) -> Vec<Judged> {
    let plan = plan(text, controllers, flow).expect("a plan");
    plan.judge(&run_all(&plan.jobs(), None, || {}).expect("threads"))
}

fn effect<'a>(judged: &'a Judged, quantity: &str) -> &'a Effect {
    let mut effects = judged.effects.iter();
    effects.find(|e| e.quantity == quantity).expect("measured")
}

/// The receive window allows 20 packets in flight, a quarter of what the path holds: no queue, 1.2
/// ms between packets, and a round trip of 101.24 ms, the first one from 100.08 ms on. So the 48th
/// round trip begins at 4959.7 ms and its packets leave until 4983.7 ms: an outage of 1.2 ms hits
/// one of them. With A = 0 every loss is congestion: when the third packet after the loss reveals
/// it, 18 are in flight, the window falls to 9 and grows by 1 each round trip, so in the eleven
/// round trips that follow 11 + 10 + ... + 1 = 66 packets fewer leave. With the oracle the window
/// stays.
#[test]
fn a_random_loss_mistaken_for_congestion_costs_window() {
    let text = PATH.replace(
        "[[flow]]",
        "loss = { outages = [[\"4.9711 s\", \"4.9723 s\"]] }\n[[flow]]",
    ) + "receive_window = \"28960 B\"\n";
    let judged = judge(&text, &["cerl?A=0", "cerl"], None);
    let [blind, cerl] = judged.as_slice() else {
        panic!("two controllers");
    };
    let one = |random_as_congestion, random_as_random| Confusion {
        random_as_congestion,
        random_as_random,
        // These algorithms do not grade their decisions: a wrong one costs 1.
        squared_error: random_as_congestion as f64,
        ..Confusion::default()
    };
    // Two seeds, one loss each.
    assert_eq!(blind.decisions, one(2, 0));
    let goodput = effect(blind, "goodput");
    let increase = goodput.told_random.expect("measured");
    let packets = increase.mean * 1e6 * 10.0 / (8.0 * 1448.0);
    assert!((packets - 66.0).abs() < 0.5, "{packets}");
    assert!(increase.is_certain());
    // There was no congestion, so the full oracle equals the oracle of random loss.
    assert_eq!(goodput.told_congestion.expect("measured").mean, 0.0);
    assert_eq!(goodput.told_everything, goodput.told_random);

    // CERL itself is right: the queue of the first flights was longer than that of 20 packets
    // 1.2 ms apart.
    assert_eq!(cerl.decisions, one(0, 2));
    let none = |e: &Effect| e.told_everything.expect("measured").mean == 0.0;
    assert!(cerl.effects.iter().all(none));
    // 20 packets of 1448 bytes each 101.2 ms are 2.289 Mbit/s; slow start and the repair cost some.
    assert!((2.15..2.289).contains(&effect(cerl, "goodput").own));
}

/// Alone with a queue of 20 packets, every loss is an overflow of the queue. With A = 1 a loss is
/// congestion only if the round trip just before it was the longest of all, which is rare. So the
/// window seldom falls and the queue is full, 20 x 1.2 = 24 ms. With the oracle of congestion it is
/// NewReno: the window falls from 103 packets to 52, and the path holds 83, so that the queue is
/// empty three fifths of the time and grows to 20 in the rest: 4 ms on average, or a little more.
#[test]
fn congestion_mistaken_for_random_loss_costs_a_standing_queue() {
    let text = PATH
        .replace("[[flow]]", "queue = \"20 packets\"\n[[flow]]")
        .replace("\"10 s\"", "\"60 s\"");
    let judged = judge(&text, &["cerl?A=1"], None);
    let d = judged[0].decisions;
    assert_eq!(d.random(), 0);
    assert!(
        d.congestion_as_random > 9 * d.congestion_as_congestion,
        "{d:?}"
    );
    let queue = effect(&judged[0], "queue");
    let increase = queue.told_congestion.expect("measured");
    assert!((20.0..24.1).contains(&queue.own), "{queue:?}");
    assert!(
        (3.0..8.0).contains(&(queue.own + increase.mean)),
        "{queue:?}"
    );
    assert_eq!(queue.told_everything, Some(increase));
    assert_eq!(queue.told_random.expect("measured").mean, 0.0);
    let dropped = effect(&judged[0], "dropped by queues");
    assert!(dropped.told_congestion.expect("measured").mean < 0.0);
    // There are no other flows to pay.
    assert!(
        judged[0]
            .effects
            .iter()
            .all(|e| e.scope != Scope::Neighbours)
    );
}

#[test]
fn differences_are_taken_by_seed_between_means_over_cells() {
    // Seeds differ widely; the oracle of random loss adds 3 in one cell and 1 in the other with
    // every seed.
    let by_oracle = |own: [f64; 3], more: f64| {
        let random = own.map(|x| x + more).to_vec();
        vec![own.to_vec(), random, own.to_vec(), vec![0.0, 0.0, 0.0]]
    };
    let cell = |own, more| {
        let mut values: effect::Values = vec![None; 6];
        values[0] = Some(by_oracle(own, more));
        values
    };
    let (a, b) = (cell([10.0, 20.0, 60.0], 3.0), cell([0.0, 50.0, 10.0], 1.0));
    let effects = effect::effects(&[&a, &b]);
    assert_eq!(effects.len(), 1, "a quantity that no cell has is left out");
    let goodput = &effects[0];
    // Means over the cells 5, 35, 35.
    assert_eq!(goodput.own, 25.0);
    let random = goodput.increase(Oracle::Random).expect("measured");
    assert_eq!((random.mean, random.half_width), (2.0, Some(0.0)));
    assert!(random.is_certain());
    // -5, -35, -35: mean -25, standard deviation sqrt(300), t of two degrees of freedom 4.303.
    let all = goodput.increase(Oracle::Everything).expect("measured");
    let half = all.half_width.expect("three seeds");
    assert!((half - 4.303 * 10.0).abs() < 0.01, "{half}");
    assert!(!all.is_certain());
}

fn cell(loss: &str, queue: i64, decisions: Confusion) -> Cell {
    let parameter = |key: &str, value| Parameter {
        key: key.to_owned(),
        value,
    };
    Cell {
        parameters: vec![
            parameter("link.L.loss", ParameterValue::Text(loss.to_owned())),
            parameter("flow.controller", ParameterValue::Text("cerl".to_owned())),
            parameter("flow.others.count", ParameterValue::Integer(queue)),
        ],
        decisions,
        effects: Vec::new(),
    }
}

/// Random loss only in 100 and 10000 decisions, a tenth and a half of them wrong; congestion only
/// in 40, all wrong.
fn three_cells() -> Judged {
    let random = |all: u64, mistaken: u64| Confusion {
        random_as_congestion: mistaken,
        random_as_random: all - mistaken,
        ..Confusion::default()
    };
    let congestion = Confusion {
        congestion_as_random: 40,
        ..Confusion::default()
    };
    let mut cells = vec![
        cell("1 %", 0, random(100, 10)),
        cell("1 %", 8, random(10_000, 5000)),
        cell("0 %", 8, congestion),
        cell("0 %", 0, Confusion::default()),
    ];
    keep_swept(&mut cells);
    Judged {
        controller: "cerl".to_owned(),
        seeds: 1,
        decisions: sum(cells.iter()),
        cell_means: Means::of(cells.iter()),
        effects: Vec::new(),
        axes: axes(&cells),
        cells,
    }
}

#[test]
fn a_cell_with_many_decisions_dominates_the_sum_not_the_mean() {
    let judged = three_cells();
    // 5010 of 10100, and a tenth and a half.
    assert_eq!(judged.decisions.random_mistaken(), Some(5010.0 / 10_100.0));
    assert_eq!(judged.cell_means.random_mistaken, Some(0.3));
    assert_eq!(judged.cell_means.congestion_mistaken, Some(1.0));
    let balanced = judged.cell_means.balanced_accuracy.expect("both kinds");
    assert!((balanced - 0.35).abs() < 1e-12);
    // 90, 50 and 0 %: the cell without decisions does not count.
    let accuracy = judged.cell_means.accuracy.expect("decisions");
    assert!((accuracy - 1.4 / 3.0).abs() < 1e-12);
}

#[test]
fn axes_are_the_keys_that_distinguish_cells() {
    let judged = three_cells();
    let names: Vec<&str> = judged.axes.iter().map(|axis| axis.name.as_str()).collect();
    assert_eq!(names, ["loss", "others"]);
    let values = &judged.axes[0].values;
    assert_eq!(
        (values[0].value.as_str(), values[1].value.as_str()),
        ("1 %", "0 %")
    );
    assert_eq!(values[0].decisions.random(), 10_100);
    assert_eq!(values[0].cell_means.random_mistaken, Some(0.3));
    assert_eq!(values[1].cell_means.random_mistaken, None);
    assert_eq!(judged.axes[1].values[1].decisions.congestion(), 40);
}

#[test]
fn the_worst_cells_have_the_highest_rate_of_a_mistake() {
    let judged = three_cells();
    let worst = judged.worst(Mistake::RandomForCongestion);
    let random: Vec<u64> = worst.iter().map(|cell| cell.decisions.random()).collect();
    assert_eq!(random, [10_000, 100]);
    assert_eq!(judged.worst(Mistake::CongestionForRandom).len(), 1);
    // 29 decisions could be chance.
    let mut few = judged;
    few.cells[2].decisions.congestion_as_random = 29;
    assert!(few.worst(Mistake::CongestionForRandom).is_empty());
}

#[test]
fn a_map_has_the_first_key_from_left_to_right() {
    let map = three_cells().heat(Mistake::RandomForCongestion);
    // Loss 1 % and 0 % from left to right; no other flow and eight other flows downwards.
    assert_eq!(map.cells, [Some(0.1), None, Some(0.5), None]);
    assert_eq!(map.axes[0].values, ["1 %", "0 %"]);
    assert_eq!(map.axes[3].values.len(), 1);
}

#[test]
fn every_classifying_controller_is_found_once() {
    let all: Vec<String> = classifying().iter().map(Spec::to_string).collect();
    for name in [
        "cerl",
        "enhanced-aatp",
        "newreno+ltd",
        "newreno+jitter-or-level",
    ] {
        assert_eq!(
            all.iter().filter(|known| *known == name).count(),
            1,
            "{all:?}"
        );
    }
    for name in ["newreno", "cubic", "aatp", "newreno+cerl"] {
        assert!(!all.iter().any(|known| known == name), "{all:?}");
    }
}

/// The judged controllers, with the number of their cells.
fn cells(plan: &Plan) -> Vec<(String, usize)> {
    let jobs = plan.jobs();
    let runs = run_all(&jobs, None, || {}).expect("threads");
    let judged = plan.judge(&runs).into_iter();
    judged
        .map(|one| (one.controller, one.cells.len()))
        .collect()
}

const TWO: &str = r#"
[link.L]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "1 bdp"
[[flow]]
name = "mine"
route = ["L"]
controller = "cubic"
[[flow]]
name = "theirs"
route = ["L"]
controller = "newreno"
[[flow]]
kind = "udp"
rate = "1 Mbit/s"
route = ["L"]
[run]
duration = "100 ms"
[sweep]
"link.L.loss" = ["0 %", "1 %", "2 %"]
"#;

#[test]
fn without_names_the_scenarios_own_controllers_are_judged() {
    let swept =
        TWO.to_owned() + "\"flow.mine.controller\" = [\"cubic\", \"cerl\", \"cubic+ltd\"]\n";
    let plan = plan(&swept, &[], None).expect("a plan");
    let expected = [("cerl".to_owned(), 3), ("cubic+ltd".to_owned(), 3)];
    assert_eq!(cells(&plan), expected);
}

#[test]
fn named_controllers_replace_that_of_the_classifying_flow() {
    let swept = TWO.to_owned() + "\"flow.0.controller\" = [\"cubic\", \"cerl\"]\n";
    let plan = plan(&swept, &["cubic+cerl"], None).expect("a plan");
    assert_eq!(cells(&plan), [("cubic+cerl".to_owned(), 3)]);
    let controllers = plan.jobs()[0].point.controllers();
    assert_eq!(controllers, ["cubic+cerl", "newreno"]);
}

#[test]
fn a_flow_can_be_chosen_by_name_or_number() {
    for flow in ["theirs", "1"] {
        let plan = plan(TWO, &["cerl"], Some(flow)).expect("a plan");
        assert_eq!(plan.jobs()[0].point.controllers(), ["cubic", "cerl"]);
    }
}

#[test]
fn settings_override_the_file_but_not_the_named_controllers() {
    let setting = |text: &str| text.parse::<Setting>().expect("a setting");
    let settings = [
        setting("link.L.loss=1 %"),
        setting("flow.mine.controller=bbr"),
    ];
    let plan = Plan::new(&document(TWO), &settings, &specs(&["cerl"]), Some("mine"));
    let plan = plan.expect("a plan");
    assert_eq!(cells(&plan), [("cerl".to_owned(), 1)]);
}

#[test]
fn a_flow_beside_one_with_the_same_controller_is_not_judged_with_it() {
    let both = TWO.replace("\"newreno\"", "\"cerl\"");
    assert_ne!(both, TWO);
    let error = plan(&both, &["cubic+cerl", "cerl"], Some("mine")).expect_err("the same");
    let expected = "the flow `theirs`, which is not judged, has `cerl`, too";
    assert!(error.contains(expected), "{error}");
    // Written otherwise it can be told apart, and other controllers can be judged beside it.
    plan(&both, &["cubic+cerl", "cerl?A=0.55"], Some("mine")).expect("a plan");
}

#[test]
fn impossible_choices_are_errors() {
    for (controllers, flow, more, expected) in [
        (
            &[][..],
            None,
            "",
            "no flow has a controller that distinguishes random loss from congestion",
        ),
        (
            &["cerl"],
            None,
            "",
            "choose the flow to judge: mine, theirs",
        ),
        (
            &["cerl"],
            Some("their"),
            "",
            "unknown flow with a controller `their`, did you mean `theirs`?",
        ),
        (
            &["cubic"],
            Some("mine"),
            "",
            "`cubic` does not distinguish random loss from congestion",
        ),
        (
            &["cerl"],
            Some("mine"),
            "\"run.oracle\" = [\"nothing\"]\n",
            "a.toml:22: sweep.run.oracle: every oracle is run anyway",
        ),
    ] {
        let text = TWO.to_owned() + more;
        let error = plan(&text, controllers, flow).expect_err("wrong");
        assert!(error.contains(expected), "{error}");
    }
}
