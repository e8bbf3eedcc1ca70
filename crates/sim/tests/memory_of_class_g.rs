//! The short transfers of the matrix (class G) with a memory of the path: right, stale by a factor
//! of ten, and of another path. The table in docs/careful-resume.md is what the first test prints:
//! `cargo test -p whimbrel-sim --test memory_of_class_g -- --nocapture`.

use std::path::Path;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::{FlowOutcome, run};
use whimbrel_units::{Duration, Rate};

const POINTS: usize = 12;
const SEEDS: u64 = 8;

/// A point of the matrix.
struct Point {
    name: String,
    /// Its scenario, without the heading that says how it is scored.
    scenario: String,
    rate: Rate,
    rtt: Duration,
}

/// What the tested flows of a point did, the sum over all and over seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Result {
    /// Time to complete, mean, s.
    seconds: f64,
    /// Packets retransmitted, the others' included.
    retransmits: u64,
    /// Bytes that the other flows delivered.
    others: u64,
}

/// The text of a key in a file, the first one.
fn value<'a>(text: &'a str, key: &str) -> &'a str {
    let after = text.split(&format!("\n{key} = \"")).nth(1).expect(key);
    after.split('"').next().expect("a text")
}

impl Point {
    fn read(number: usize) -> Self {
        let name = format!("g{number:02}");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/matrix");
        let text = std::fs::read_to_string(folder.join(format!("{name}.toml"))).expect("a point");
        let (heading, scenario) = text.split_once("\n[link.").expect("a link");
        Self {
            rtt: value(heading, "rtt").parse().expect("a time"),
            rate: value(scenario, "rate").parse().expect("a rate"),
            scenario: format!("[link.{scenario}"),
            name,
        }
    }

    /// A memory of `times` the BDP and `stretch` times the RTT.
    fn memory(&self, times: f64, stretch: f64) -> String {
        let bdp = self.rate.bytes_in(self.rtt).mul_f64(times).get();
        let rtt = self.rtt.mul_f64(stretch);
        format!("saved_path = {{ cwnd = \"{bdp} B\", rtt = \"{rtt}\" }}\n")
    }

    fn play(&self, controller: &str, memory: &str) -> Result {
        let tested = format!("name = \"t\"\ncontroller = \"{controller}\"\n{memory}");
        let text = self.scenario.replace("name = \"t\"\n", &tested);
        let scenario = Scenario::parse(&text, Path::new("point.toml"));
        let scenario = scenario.unwrap_or_else(|e| panic!("{e}"));
        let runs = (1..=SEEDS).map(|seed| run(&scenario.points()[0].network(seed)).flows);
        let flows: Vec<FlowOutcome> = runs.flatten().collect();
        let tested = |flow: &&FlowOutcome| flow.name.name.starts_with('t');
        let times = flows.iter().filter(tested).map(|flow| {
            let time = flow.completion.expect("it completes");
            time.as_secs_f64()
        });
        let times: Vec<f64> = times.collect();
        Result {
            seconds: times.iter().sum::<f64>() / times.len() as f64,
            retransmits: flows.iter().map(|flow| flow.retransmits).sum(),
            others: flows
                .iter()
                .filter(|flow| !tested(flow))
                .map(|flow| flow.delivered.get())
                .sum(),
        }
    }
}

#[test]
fn a_right_memory_is_sooner_and_a_wrong_one_costs_little() {
    let (mut gained, mut wrong) = (0, Vec::new());
    for point in (1..=POINTS).map(Point::read) {
        for controller in ["cubic", "whimbrel"] {
            let play = |memory: &str| point.play(controller, memory);
            let without = play("");
            let right = play(&point.memory(1.0, 1.0));
            let stale = play(&point.memory(10.0, 1.0));
            let other = play(&point.memory(10.0, 4.0));
            let name = &point.name;
            println!(
                "| {name} | {controller} | {:.2} | {:.2} | {:.2} | {:.2} | {} | {} | {} |",
                without.seconds,
                right.seconds,
                stale.seconds,
                other.seconds,
                without.retransmits,
                right.retransmits,
                stale.retransmits,
            );
            gained += u32::from(right.seconds < 0.9 * without.seconds);
            let mut check = |what: &str, holds: bool| {
                if !holds {
                    wrong.push(format!("{name} {controller}: {what}"));
                }
            };
            // A loss in the jump is congestion for all algorithms: with 1 % of random loss (g05)
            // and beside two long flows (g12) that costs one that tells losses apart.
            check("right", right.seconds <= 1.25 * without.seconds);
            check("stale", stale.seconds <= 1.25 * without.seconds);
            check("of another path", other == without);
            let keep = |with: &Result| with.others as f64 >= 0.95 * without.others as f64;
            check("what the others keep", keep(&right) && keep(&stale));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(gained >= 10, "a tenth sooner in {gained} cases");
}
