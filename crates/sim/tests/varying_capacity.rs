//! The algorithm `whimbrel` on paths whose capacity changes within a round trip, as a radio's does.

use std::path::Path;
use whimbrel_sim::run;
use whimbrel_sim::scenario::Scenario;

/// Rates of a radio, drawn evenly by their logarithm, Mbit/s.
const RADIO: [f64; 120] = [
    4.68, 2.65, 0.34, 0.76, 1.61, 8.82, 7.94, 2.24, 0.32, 5.3, 1.45, 2.51, 4.09, 3.09, 1.77, 8.66,
    1.24, 1.27, 6.95, 0.62, 0.9, 6.41, 0.38, 6.56, 3.89, 1.48, 0.86, 5.34, 8.63, 0.51, 1.75, 2.27,
    1.88, 1.02, 0.53, 2.6, 5.99, 0.39, 0.7, 6.17, 5.57, 3.47, 0.33, 4.31, 11.09, 11.93, 3.99, 0.36,
    6.7, 0.67, 3.25, 10.06, 4.15, 0.49, 0.88, 8.87, 0.52, 2.85, 1.38, 0.54, 2.98, 0.35, 0.45, 1.22,
    0.39, 0.37, 2.5, 4.64, 7.66, 0.49, 1.47, 0.96, 2.75, 1.83, 9.57, 1.19, 0.37, 3.93, 0.52, 3.08,
    1.94, 8.62, 2.32, 2.96, 0.79, 2.3, 0.77, 4.78, 2.02, 0.49, 0.71, 1.18, 4.54, 0.58, 4.17, 3.36,
    0.41, 3.53, 0.42, 0.48, 2.68, 0.72, 7.62, 1.77, 0.99, 5.66, 0.33, 4.35, 0.37, 0.52, 10.05, 3.7,
    0.68, 0.46, 10.85, 3.49, 6.19, 0.5, 3.01, 1.11,
];

/// Goodput of each flow, Mbit/s, mean of three seeds: on a link whose rate is the next one of
/// these, Mbit/s, each `step` seconds, again and again for a minute.
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

/// A buffer of 200 packets holds 0.2 to 8 s. Drains and trials of three round trips took most of
/// the time, and the flow had 2 % of a fair share; now it has 30 %.
#[test]
fn whimbrel_competes_where_the_queue_of_others_lasts_for_seconds() {
    let link = "delay = \"50 ms\"\nqueue = \"200 packets\"";
    let flows = "[[flow]]\nroute = [\"L\"]\ncontroller = \"whimbrel\"\nstart = \"1 s\"\n\
                 [[flow]]\nroute = [\"L\"]\ncontroller = \"cubic\"";
    let shared = goodputs(&RADIO, 0.5, link, flows);
    let share = 2.0 * shared[0] / (shared[0] + shared[1]);
    assert!((0.15..1.2).contains(&share), "{share}: {shared:?}");
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
