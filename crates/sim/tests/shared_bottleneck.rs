//! Connections whose paths share a bottleneck, or do not.

use std::path::Path;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::{FlowOutcome, run};

/// Two first hops of a host and the way behind them, and the flows.
fn flows(links: &str, flows: &str, seconds: u64) -> Vec<FlowOutcome> {
    flows_with("", links, flows, seconds)
}

fn flows_with(keys: &str, links: &str, flows: &str, seconds: u64) -> Vec<FlowOutcome> {
    let text = format!(
        "{links}\n{flows}\n[run]\nduration = \"{seconds} s\"\nscheduler = \"ecf\"\n\
         recovery = \"rack\"\npacing = 1.25\n{keys}"
    );
    let scenario = Scenario::parse(&text, Path::new("shared.toml")).expect("a scenario");
    run(&scenario.points()[0].network(1)).flows
}

fn mbits(flow: &FlowOutcome) -> f64 {
    flow.goodput.as_bits_per_sec() as f64 / 1e6
}

fn flow(controller: &str, routes: &str) -> String {
    format!("[[flow]]\ncontroller = \"{controller}\"\nroutes = [{routes}]\n")
}

/// A host with two interfaces, and another one, behind one line of 20 Mbit/s.
const COMMON: &str = "[link.wifi]\nrate = \"100 Mbit/s\"\ndelay = \"5 ms\"\n\
     [link.wire]\nrate = \"1 Gbit/s\"\ndelay = \"2 ms\"\n\
     [link.other]\nrate = \"1 Gbit/s\"\ndelay = \"3 ms\"\n\
     [link.line]\nrate = \"20 Mbit/s\"\ndelay = \"15 ms\"\nqueue = \"1 bdp\"\n";
const BOTH: &str = "[\"wifi\", \"line\"], [\"wire\", \"line\"]";

#[test]
fn two_paths_over_one_bottleneck_take_the_share_of_one_flow_beside_cubic() {
    let mut wrong = Vec::new();
    for controller in ["cubic", "newreno", "whimbrel?clock=false", "bbr"] {
        let beside = flow("cubic", "[\"other\", \"line\"]");
        let one = flow(controller, "[\"wire\", \"line\"]");
        let alone = mbits(&flows(COMMON, &(one + &beside), 120)[0]);
        let two = flows(COMMON, &(flow(controller, BOTH) + &beside), 120);
        let together = mbits(&two[0]);
        println!(
            "{controller}: {together:.2} of two, {alone:.2} of one, {:.2} beside",
            mbits(&two[1])
        );
        if !(0.9 * alone..=1.1 * alone).contains(&together) {
            wrong.push(format!("{controller}: {together} {alone}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn nothing_is_lost_on_separate_bottlenecks() {
    let mut wrong = Vec::new();
    let links = "[link.a]\nrate = \"20 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"1 bdp\"\n\
                 [link.b]\nrate = \"20 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"1 bdp\"\n";
    for controller in ["cubic", "newreno", "whimbrel?clock=false", "bbr"] {
        let of = |routes: &str| mbits(&flows(links, &flow(controller, routes), 120)[0]);
        let (alone, both) = (of("[\"a\"]"), of("[\"a\"], [\"b\"]"));
        println!("{controller}: {both:.2} of two, {alone:.2} of one");
        if both < 0.98 * 2.0 * alone {
            wrong.push(format!("{controller}: {both} {alone}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn debug_shared() {
    for controller in ["cubic", "newreno", "whimbrel?clock=false"] {
        let beside = flow("cubic", "[\"other\", \"line\"]");
        for routes in ["[\"wire\", \"line\"]", "[\"wifi\", \"line\"]", BOTH] {
            let flows = flows_with(
                "sample = \"1 s\"\n",
                COMMON,
                &(flow(controller, routes) + &beside),
                240,
            );
            println!(
                "{controller} {routes}: {:.2} beside {:.2}",
                mbits(&flows[0]),
                mbits(&flows[1])
            );
            for path in &flows[0].paths {
                let mut before = 0;
                let parts: Vec<f64> = path
                    .samples
                    .chunks(5)
                    .filter_map(|c| c.last())
                    .map(|s| {
                        let d = s.delivered.get();
                        let part = (d - before) as f64 * 8.0 / 5e6;
                        before = d;
                        (part * 10.0).round() / 10.0
                    })
                    .collect();
                println!("  {} {parts:?}", path.route);
            }
        }
    }
}
