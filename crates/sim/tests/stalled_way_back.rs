//! Algorithms on a path whose reverse direction stalls, so that acknowledgments arrive late.

use std::path::Path;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::{FlowOutcome, run};
use whimbrel_units::Time;

/// What the path carries without headers, bit/s.
const CAPACITY: f64 = 10e6 * 1448.0 / 1500.0;

/// A flow on a link of 10 Mbit/s and 50 ms with a large buffer. Its reverse direction stalls for 3
/// s from 20 s on, and for 0.3 s each two seconds from 40 s on.
fn flow(controller: &str) -> FlowOutcome {
    let stalls = (0..10).map(|i| 40.0 + 2.0 * f64::from(i));
    let short = stalls.map(|at| {
        let end = at + 0.3;
        format!(", [\"{at} s\", \"1 kbit/s\"], [\"{end:.1} s\", \"2 Mbit/s\"]")
    });
    let short: String = short.collect();
    let text = format!(
        "[link.L]\nrate = \"10 Mbit/s\"\ndelay = \"25 ms\"\nqueue = \"1000 packets\"\n\
         reverse = {{ rate = [[\"0 s\", \"2 Mbit/s\"], [\"20 s\", \"1 kbit/s\"], \
         [\"23 s\", \"2 Mbit/s\"]{short}] }}\n\
         [[flow]]\nroute = [\"L\"]\ncontroller = \"{controller}\"\n\
         [run]\nduration = \"60 s\"\nsample = \"100 ms\"\n"
    );
    let scenario = Scenario::parse(&text, Path::new("stall.toml")).expect("a scenario");
    run(&scenario.points()[0].network(1)).flows.remove(0)
}

/// The mean utilization from one time to another, s.
fn utilization(flow: &FlowOutcome, from: f64, to: f64) -> f64 {
    let delivered = |at: f64| {
        let mut samples = flow.samples.iter();
        let sample = samples.find(|s| s.at.since(Time::ZERO).as_secs_f64() >= at - 1e-6);
        sample.expect("sampled").delivered.get() as f64
    };
    8.0 * (delivered(to) - delivered(from)) / (to - from) / CAPACITY
}

#[test]
fn whimbrel_fills_the_path_again_within_a_second_of_a_stall_of_the_way_back() {
    let flow = flow("whimbrel");
    assert!(utilization(&flow, 10.0, 20.0) > 0.95, "before the stall");
    let after = utilization(&flow, 24.0, 28.0);
    assert!(after > 0.95, "{after}");
}

#[test]
fn stalls_of_the_way_back_that_return_cost_whimbrel_little_more_than_they_last() {
    // A window lasts for 50 of the 300 ms, which are 0.125 of the time.
    let flow = flow("whimbrel");
    let between = utilization(&flow, 41.0, 59.5);
    assert!(between > 0.75, "{between}");
}

/// Three uploads fill a way back of 0.3 Mbit/s, so that acknowledgments wait for 2 s. The window
/// grew by a packet in each of these round trips, and carried 0.11 of the capacity.
#[test]
fn whimbrel_fills_a_path_whose_acknowledgments_wait_behind_uploads() {
    let text = "[link.down]\nrate = \"2 Mbit/s\"\ndelay = \"40 ms\"\nqueue = \"2 bdp\"\n\
                [link.up]\nrate = \"275 kbit/s\"\ndelay = \"40 ms\"\nqueue = \"70 packets\"\n\
                [[flow]]\nroute = [\"down\"]\nback = [\"up\"]\ncontroller = \"whimbrel\"\n\
                [[flow]]\nroute = [\"up\"]\nback = [\"down\"]\ncontroller = \"cubic\"\ncount = 3\n\
                start = \"2 s\"\n[run]\nduration = \"30 s\"\n";
    let scenario = Scenario::parse(text, Path::new("upload.toml")).expect("a scenario");
    let goodput = |seed| {
        let outcome = run(&scenario.points()[0].network(seed));
        outcome.flows[0].goodput.as_bits_per_sec() as f64
    };
    let mean = (1..=3).map(goodput).sum::<f64>() / 3.0;
    assert!(mean > 0.5 * 2e6, "{mean} bit/s");
}
