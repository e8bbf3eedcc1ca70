//! Many flows of Whimbrel on a path that has little room for each.

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
    let delay = |outcome: Outcome| outcome.one_way_delay.mean.as_secs_f64();
    Duration::from_secs_f64(mean(&text, RUNS, delay))
}

/// The mean of a value over so many runs of a scenario.
fn mean(text: &str, runs: u64, value: impl Fn(Outcome) -> f64) -> f64 {
    let scenario = Scenario::parse(text, Path::new("crowd.toml")).expect("a scenario");
    let values = (1..=runs).map(|seed| value(run(&scenario.points()[0].network(seed))));
    values.sum::<f64>() / runs as f64
}

#[test]
fn flows_that_drain_together_do_not_take_each_other_for_others() {
    let delay = mean_delay("whimbrel");
    assert!(delay < ms(200.0), "{delay}");
    let without = mean_delay("whimbrel?drain=false");
    assert!(without > ms(215.0), "{without}");
}

/// 20 flows at 20 Mbit/s and an RTT of 10 ms, with a buffer of a BDP: 1.7 packets on the path for
/// each flow and as many in the buffer, which is always full. A flow that begins takes the full
/// buffer for the path, and its losses for the channel's.
#[test]
fn flows_on_a_buffer_that_is_always_full_have_equal_shares() {
    let text = r#"
        [link.L]
        rate = "20 Mbit/s"
        delay = "5 ms"
        queue = "1 bdp"

        [[flow]]
        route = ["L"]
        controller = "whimbrel"
        count = 20
        start = "0 s .. 5 s"

        [run]
        duration = "60 s"
        "#;
    let fairness = mean(text, 6, |outcome| outcome.jain());
    assert!(fairness > 0.95, "Jain's index: {fairness}");
}
