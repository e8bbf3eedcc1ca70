//! Many flows of Whimbrel on a slow path.

use crate::*;

/// Runs that are averaged: by when the flows begin, one of them has a queue of 16 or of 200 ms. The
/// standard deviation of a run is 50 ms.
const RUNS: u64 = 48;

/// The mean delay of 19 flows that begin within 9 s of each other, at 20 Mbit/s and 85 ms one way
/// with random losses. Each has 1 Mbit/s, and at the fixed point a queue of 10.5 ms, which is all
/// but that from which on one of them would take others for the cause.
fn mean_delay(controller: &str) -> Duration {
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
    let delays = (1..=RUNS).map(|seed| {
        let outcome = run(&scenario.points()[0].network(seed));
        outcome.one_way_delay.mean.as_secs_f64()
    });
    Duration::from_secs_f64(delays.sum::<f64>() / RUNS as f64)
}

#[test]
fn flows_that_drain_together_do_not_take_each_other_for_others() {
    let delay = mean_delay("whimbrel");
    assert!(delay < ms(160.0), "{delay}");
    let without = mean_delay("whimbrel?drain=false");
    assert!(without > ms(160.0), "{without}");
}
