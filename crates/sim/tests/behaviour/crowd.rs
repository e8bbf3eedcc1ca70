//! Many flows of Whimbrel on a slow path.

use crate::*;

/// The longest mean delay of six runs of 19 flows that begin within 9 s of each other, at 20 Mbit/s
/// and 85 ms one way with random losses. Each has 1 Mbit/s, and at the fixed point a queue of 10.5
/// ms, which is all but that from which on one of them would take others for the cause.
fn longest_delay(controller: &str) -> Duration {
    let text = format!(
        r#"
        [link.L]
        rate = "20 Mbit/s"
        delay = "85 ms"
        queue = "3.4 bdp"
        loss = "0.231 %"

        [[flow]]
        route = ["L"]
        controller = "{controller}"
        count = 19
        start = "0 s .. 9 s"

        [run]
        duration = "60 s"
        "#
    );
    let scenario = Scenario::parse(&text, Path::new("crowd.toml")).expect("a scenario");
    let delays = (1..=6).map(|seed| {
        let outcome = run(&scenario.points()[0].network(seed));
        outcome.one_way_delay.mean
    });
    delays.max().expect("runs")
}

#[test]
fn flows_that_drain_together_do_not_take_each_other_for_others() {
    let delay = longest_delay("whimbrel");
    assert!(delay < ms(110.0), "{delay}");
    let without = longest_delay("whimbrel?kin=false");
    assert!(without > ms(140.0), "{without}");
}
