//! The algorithm `whimbrel` on paths whose capacity changes within a round trip, as a radio's does.

use std::path::Path;
use whimbrel_sim::run;
use whimbrel_sim::scenario::Scenario;

/// Goodput of each flow, Mbit/s, mean of three seeds: on a link whose rate is the next one of these,
/// Mbit/s, each `step` seconds, again and again for a minute.
fn goodputs(rates: &[f64], step: f64, link: &str, flows: &str) -> Vec<f64> {
    let schedule: Vec<String> = (0..(60.0 / step) as usize)
        .map(|i| {
            let (at, rate) = (i as f64 * step, rates[i % rates.len()]);
            format!("[\"{at} s\", \"{rate} Mbit/s\"]")
        })
        .collect();
    let text = format!(
        "[link.L]\nrate = [{}]\n{link}\n{flows}\n[run]\nduration = \"60 s\"\n",
        schedule.join(", ")
    );
    let scenario = Scenario::parse(&text, Path::new("varying.toml")).expect("a scenario");
    let mut sums = Vec::new();
    for seed in 1..=3 {
        let outcome = run(&scenario.points()[0].network(seed));
        sums.resize(outcome.flows.len(), 0.0);
        for (sum, flow) in sums.iter_mut().zip(&outcome.flows) {
            *sum += flow.goodput.as_bits_per_sec() as f64 / 3e6;
        }
    }
    sums
}

/// A buffer of 200 packets holds 0.2 to 6 s. Drains and trials of three round trips took most of the
/// time, and the flow had 16 % of a fair share.
#[test]
fn whimbrel_competes_where_the_queue_of_others_lasts_for_seconds() {
    let rates = [0.4, 6.0, 2.0, 11.0, 0.8, 3.0, 9.0, 1.2, 0.5, 7.0, 4.0, 1.6];
    let link = "delay = \"50 ms\"\nqueue = \"200 packets\"";
    let flows = "[[flow]]\nroute = [\"L\"]\ncontroller = \"whimbrel\"\nstart = \"1 s\"\n\
                 [[flow]]\nroute = [\"L\"]\ncontroller = \"cubic\"";
    let shared = goodputs(&rates, 1.0, link, flows);
    let share = 2.0 * shared[0] / (shared[0] + shared[1]);
    assert!((0.25..1.2).contains(&share), "{share}: {shared:?}");
}

/// Alone with an RTT of 300 ms it followed the least capacity, and used 0.56 of 12.9 Mbit/s.
#[test]
fn whimbrel_follows_a_capacity_that_varies_on_a_long_path() {
    let rates = [
        8.0, 20.0, 5.0, 14.0, 25.0, 9.0, 6.0, 18.0, 11.0, 22.0, 7.0, 15.0,
    ];
    let link = "delay = \"150 ms\"\nqueue = \"4000 packets\"";
    let flow = "[[flow]]\nroute = [\"L\"]\ncontroller = \"whimbrel\"";
    let alone = goodputs(&rates, 0.5, link, flow)[0];
    assert!(alone > 0.61 * 12.9, "{alone} Mbit/s");
}
