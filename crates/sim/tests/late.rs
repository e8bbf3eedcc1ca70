//! A flow that begins on a path whose queue another flow never lets become empty.

use std::path::Path;
use whimbrel_sim::run;
use whimbrel_sim::scenario::Scenario;

/// The part of 200 Mbit/s, over 40 ms and a buffer of 1 BDP, that a flow of Whimbrel has in 30 s if
/// it begins 0.3 s after a flow of `other`, at the end of whose slow start.
fn part(other: &str) -> f64 {
    let text = format!(
        r#"
        [link.L]
        rate = "200 Mbit/s"
        delay = "20 ms"
        queue = "1 bdp"

        [[flow]]
        route = ["L"]
        controller = "whimbrel"
        start = "0.3 s"

        [[flow]]
        route = ["L"]
        controller = "{other}"

        [run]
        duration = "30 s"
        "#
    );
    let scenario = Scenario::parse(&text, Path::new("late.toml")).expect("a scenario");
    let outcome = run(&scenario.points()[0].network(1));
    8.0 * outcome.flows[0].delivered.get() as f64 / 30.0 / 200e6
}

#[test]
fn whimbrel_that_never_sees_the_empty_path_competes() {
    for other in ["cubic", "newreno"] {
        let part = part(other);
        assert!(part > 0.1, "{other}: {part}");
    }
}
