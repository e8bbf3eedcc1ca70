//! The sentences of the scenes, against the simulator.

use super::*;
use crate::Numbers;
use crate::recordings::Recordings;
use crate::runs::{Event, Request};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// What each algorithm measured.
type Results = BTreeMap<String, Numbers>;

fn played(state: &State) -> Results {
    let request = Request::new(state, &Recordings::default()).expect("a request");
    let mut names = Vec::new();
    let mut all = Results::new();
    request.run(&AtomicBool::new(false), |event| {
        match event {
            Event::Begin { algorithms, .. } => names = algorithms,
            Event::Row { index, numbers } => {
                all.insert(names[index].clone(), numbers);
            }
            Event::Stopped { why } => panic!("{why}"),
            Event::Pictures { .. } | Event::End { .. } => {}
        }
        true
    });
    all
}

/// The results of a scene after these fields were changed.
fn scene(id: &str, changes: &[(&str, &str)]) -> Results {
    let scene = SCENES.iter().find(|scene| scene.id == id).expect(id);
    let mut state = scene.state().expect("a state");
    for (key, value) in changes {
        let field = match *key {
            "loss" => &mut state.loss,
            "queue" => &mut state.queue,
            "rtt" => &mut state.rtt,
            "silence" => &mut state.silence,
            other => panic!("{other}"),
        };
        (*value).clone_into(field);
    }
    played(&state)
}

fn use_of(all: &Results, name: &str) -> f64 {
    all[name].utilization.expect("a limited link")
}

fn ratio(numbers: &Numbers) -> f64 {
    numbers.goodput_bps / numbers.neighbours_bps.expect("neighbours")
}

#[test]
fn scenes_are_states_with_different_names() {
    let mut ids: Vec<&str> = SCENES.iter().map(|scene| scene.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), SCENES.len());
    for scene in SCENES {
        scene.state().expect(scene.id);
    }
}

#[test]
fn random_loss_stops_those_that_take_it_for_congestion() {
    let all = scene("random-loss", &[]);
    for name in ["newreno", "cubic"] {
        assert!(use_of(&all, name) < 0.1, "{name} {all:?}");
    }
    for name in ["cerl", "whimbrel"] {
        assert!(use_of(&all, name) > 0.8, "{name} {all:?}");
    }
    let none = scene("random-loss", &[("loss", "0 %")]);
    assert!(
        none.keys().all(|name| use_of(&none, name) > 0.9),
        "{none:?}"
    );
    let little = scene("random-loss", &[("loss", "0.1 %")]);
    assert!(use_of(&little, "newreno") < 1.0 / 3.0 && use_of(&little, "cubic") < 1.0 / 3.0);
}

#[test]
fn cerl_decides_rightly_by_the_queue() {
    let all = scene("cerl-queue", &[]);
    let cubic = all["cubic"].goodput_bps;
    for name in ["cerl", "cubic+cerl"] {
        assert!(all[name].accuracy.expect("decisions") > 0.9, "{name}");
        assert!(all[name].goodput_bps > 5.0 * cubic, "{name}");
    }
    let none = scene("cerl-queue", &[("loss", "0 %")]);
    assert_eq!(none["cerl"].accuracy, Some(1.0));
    assert_eq!(none["cerl"].goodput_bps, none["newreno"].goodput_bps);
}

#[test]
fn a_hand_over_is_noticed_or_costs_a_quarter() {
    let all = scene("hand-over", &[]);
    assert!(use_of(&all, "newreno") < 0.75, "{all:?}");
    for name in ["rta", "cubic"] {
        assert!(use_of(&all, name) > 0.9, "{name} {all:?}");
        assert!(all[name].queue_delay_s > 0.1, "{name} {all:?}");
    }
    for name in ["rta", "whimbrel"] {
        assert!(all[name].path_changes.expect("it looks") > 0, "{name}");
    }
    assert!(all["whimbrel"].queue_delay_s < 0.01);
}

#[test]
fn after_fades_those_that_remember_the_rate_carry_half_more() {
    let all = scene("fades", &[]);
    assert!(all.values().all(|numbers| numbers.timeouts > 0));
    let cubic = all["cubic"].goodput_bps;
    for name in ["bbr", "cerl", "whimbrel"] {
        assert!(all[name].goodput_bps > 1.5 * cubic, "{name} {all:?}");
    }
}

#[test]
fn bbr_takes_and_whimbrel_leaves_twice_as_much_or_more_in_a_shallow_buffer() {
    let all = scene("unfairness", &[]);
    assert!(all["cubic"].jain.expect("two flows") > 0.95);
    assert!(ratio(&all["bbr"]) > 2.0, "{all:?}");
    // Of 40 seeds the middle one has 0.42, and half are from 0.31 to 0.47.
    assert!((0.25..0.5).contains(&ratio(&all["whimbrel"])), "{all:?}");
    let deep = scene("unfairness", &[("queue", "2 bdp")]);
    assert!((0.8..1.25).contains(&ratio(&deep["bbr"])), "{deep:?}");
}

#[test]
fn a_silent_way_back_costs_all_between_two_and_five_seconds() {
    let all = scene("silent-way-back", &[]);
    let without = scene("silent-way-back", &[("silence", "")]);
    for (name, numbers) in &all {
        assert!(numbers.timeouts > 1, "{name}");
        let lost = 30.0 * (1.0 - numbers.goodput_bps / without[name].goodput_bps);
        assert!((2.0..5.0).contains(&lost), "{name}: {lost} s");
    }
}

#[test]
fn a_deep_queue_buys_waiting_only() {
    let all = scene("deep-queue", &[]);
    for (name, numbers) in &all {
        assert!(use_of(&all, name) > 0.9, "{name}");
        match name.as_str() {
            "newreno" | "cubic" => assert!(numbers.queue_delay_s > 0.2, "{name}"),
            _ => assert!(numbers.queue_delay_s < 0.01, "{name}"),
        }
    }
    let small = scene("deep-queue", &[("queue", "1 bdp")]);
    assert!(small["cubic"].queue_delay_s < 0.04);
    assert!(small["cubic"].goodput_bps > 0.99 * all["cubic"].goodput_bps);
}

#[test]
fn a_long_fat_path_is_filled_by_those_that_measure_it() {
    let all = scene("long-fat", &[]);
    assert!(use_of(&all, "newreno") < 0.25, "{all:?}");
    assert!((0.4..0.6).contains(&use_of(&all, "cubic")), "{all:?}");
    assert!(use_of(&all, "enhanced-aatp") > 0.66, "{all:?}");
    assert!(use_of(&all, "whimbrel") > 0.8, "{all:?}");
    for name in ["enhanced-aatp", "whimbrel"] {
        assert!(all[name].queue_delay_s < 0.01, "{name}");
    }
    let short = scene("long-fat", &[("rtt", "20 ms")]);
    assert!(short["newreno"].goodput_bps > 2.0 * all["newreno"].goodput_bps);
}
