//! Algorithms on paths whose delay jitters.

use std::path::Path;
use whimbrel_sim::run;
use whimbrel_sim::scenario::Scenario;

/// Seconds of a run.
const DURATION: f64 = 20.0;

/// The fraction of the capacity that a flow of this algorithm has on a link of `rate` Mbit/s and 50
/// ms, whose delay to the receiver jitters by 30 ms on average.
fn utilization(controller: &str, rate: f64, loss: &str, seed: u64) -> f64 {
    over((25, 30), controller, rate, loss, seed)
}

/// The same over a path of this delay each way and this jitter, ms.
fn over((delay, jitter): (u64, u64), controller: &str, rate: f64, loss: &str, seed: u64) -> f64 {
    let text = format!(
        "[link.L]\nrate = \"{rate} Mbit/s\"\nqueue = \"1 bdp\"\nloss = \"{loss}\"\n\
         delay = {{ base = \"{delay} ms\", jitter = \"{jitter} ms\" }}\n\
         reverse = {{ delay = \"{delay} ms\" }}\n\
         [[flow]]\nroute = [\"L\"]\ncontroller = \"{controller}\"\n\
         [run]\nduration = \"{DURATION} s\"\n"
    );
    let scenario = Scenario::parse(&text, Path::new("jitter.toml")).expect("a scenario");
    let outcome = run(&scenario.points()[0].network(seed));
    let bits = 8.0 * outcome.flows[0].delivered.get() as f64;
    bits / DURATION / (rate * 1e6 * 1448.0 / 1500.0)
}

#[test]
fn whimbrel_does_not_starve_on_a_path_that_jitters_by_30_ms() {
    for seed in 1..=3 {
        let (slow, fast) = (
            utilization("whimbrel", 10.0, "0 %", seed),
            utilization("whimbrel", 50.0, "0 %", seed),
        );
        assert!(slow > 0.6, "10 Mbit/s, seed {seed}: {slow}");
        assert!(fast > 0.4, "50 Mbit/s, seed {seed}: {fast}");
    }
}

#[test]
fn whimbrel_needs_its_sense_of_noise_there() {
    let blind = utilization("whimbrel?noise=false", 10.0, "0 %", 1);
    assert!(blind < 0.3, "{blind}");
}

#[test]
fn random_loss_on_a_path_that_jitters_does_not_starve_whimbrel() {
    let shared = utilization("whimbrel", 10.0, "1 %", 1);
    assert!(shared > 0.5, "{shared}");
}

/// Jitter delays all packets of a quarter of a round trip now and then. That ended each growth, and
/// a long path was filled by 8 to 10 % in a round trip: 4 of 100 Mbit/s in 20 s.
#[test]
fn whimbrel_fills_a_satellite_path_that_jitters() {
    let mean = (1..=3)
        .map(|seed| over((250, 20), "whimbrel", 100.0, "0 %", seed))
        .sum::<f64>()
        / 3.0;
    assert!(mean > 0.15, "{mean}");
}
