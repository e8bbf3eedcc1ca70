//! Helpers on links, and TCP-DCR: what they are for, and what they cannot do.

use std::path::Path;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::{FlowOutcome, run};

/// A flow over a wired link of 40 ms and a wireless one of 5 ms that loses packets, 20 Mbit/s.
/// `wired` and `wireless` are further keys of the links, `order` their order in the route.
fn flow(controller: &str, wired: &str, wireless: &str, order: &str) -> FlowOutcome {
    flow_with("", controller, wired, wireless, order)
}

/// The same with further keys of the run.
fn flow_with(
    run_keys: &str,
    controller: &str,
    wired: &str,
    wireless: &str,
    order: &str,
) -> FlowOutcome {
    let text = format!(
        "[link.wired]\nrate = \"20 Mbit/s\"\ndelay = \"40 ms\"\nqueue = \"150 packets\"\n{wired}\n\
         [link.air]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"150 packets\"\n{wireless}\n\
         [[flow]]\nroute = [{order}]\ncontroller = \"{controller}\"\n\
         [run]\nduration = \"60 s\"\n{run_keys}"
    );
    let scenario = Scenario::parse(&text, Path::new("helper.toml")).expect("a scenario");
    run(&scenario.points()[0].network(1)).flows.remove(0)
}

/// Goodput in Mbit/s.
fn goodput(flow: &FlowOutcome) -> f64 {
    flow.goodput.as_bits_per_sec() as f64 / 1e6
}

const DOWN: &str = "\"wired\", \"air\"";
const UP: &str = "\"air\", \"wired\"";
const LOSS: &str = "loss = { random = 0.01 }";

#[test]
fn snoop_hides_the_losses_of_its_link_and_not_those_before_it() {
    let snoop = format!("helper = \"snoop\"\n{LOSS}");
    let alone = goodput(&flow("newreno", "", LOSS, DOWN));
    let helped = goodput(&flow("newreno", "", &snoop, DOWN));
    let before = goodput(&flow("newreno", LOSS, "helper = \"snoop\"", DOWN));
    assert!(alone < 4.0, "{alone}");
    assert!(helped > 15.0, "{helped}");
    assert!(before < 4.0, "{before}");
}

#[test]
fn loss_notification_helps_a_sender_that_heeds_it() {
    let eln = format!("helper = \"eln\"\n{LOSS}");
    // The mark names the first hole, and NewReno's recovery repairs one hole at a time.
    let reno = |controller, air| flow_with("recovery = \"newreno\"", controller, "", air, UP);
    let deaf = goodput(&reno("newreno", &eln));
    let heeds = goodput(&reno("newreno+eln", &eln));
    let unhelped = goodput(&reno("newreno+eln", LOSS));
    assert!(heeds > 3.0 * deaf, "{heeds} {deaf}");
    assert!(unhelped < 1.5 * deaf, "{unhelped} {deaf}");
}

#[test]
fn without_losses_helpers_change_nothing() {
    for (helper, order) in [
        ("\"snoop\"", DOWN),
        ("\"eln\"", UP),
        ("{ freeze = \"200 ms\" }", DOWN),
    ] {
        let key = format!("helper = {helper}");
        let (plain, helped) = (
            flow("newreno", "", "", order),
            flow("newreno", "", &key, order),
        );
        // The start's overflow is not the helpers', and Snoop may time an acknowledgment otherwise.
        let ratio = goodput(&helped) / goodput(&plain);
        assert!((ratio - 1.0).abs() < 0.001, "{helper} {ratio}");
        assert_eq!(plain.retransmits, helped.retransmits, "{helper}");
    }
}

/// Their packets use the fields of a segment otherwise, or have no acknowledgments.
#[test]
fn helpers_leave_flows_alone_that_are_not_tcp() {
    let flows = [
        "controller = \"aatp\"",
        "controller = \"enhanced-aatp\"",
        "kind = \"udp\"\nrate = \"5 Mbit/s\"\npacket = \"500 B\"",
        "controller = \"newreno\"\nstreams = 4",
    ];
    let lost = "random = 0.01, outages = [[\"1 s\", \"1.5 s\"]]";
    for flow in flows {
        let outcome = |helper: &str| {
            let text = format!(
                "[link.air]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nloss = {{ {lost} }}\n\
                 {helper}\n[[flow]]\nroute = [\"air\"]\n{flow}\n[run]\nduration = \"5 s\""
            );
            let scenario = Scenario::parse(&text, Path::new("helper.toml")).expect("a scenario");
            let flow = run(&scenario.points()[0].network(1)).flows.remove(0);
            (flow.delivered, flow.packets_sent, flow.lost)
        };
        let alone = outcome("");
        for helper in ["\"snoop\"", "\"eln\"", "{ freeze = \"200 ms\" }"] {
            assert_eq!(
                outcome(&format!("helper = {helper}")),
                alone,
                "{helper} {flow}"
            );
        }
    }
}

#[test]
fn what_a_helper_does_is_the_same_whether_a_run_is_sampled_or_not() {
    for (helper, order) in [
        ("\"snoop\"", DOWN),
        ("\"eln\"", UP),
        ("{ freeze = \"200 ms\" }", DOWN),
    ] {
        let key = format!("helper = {helper}\n{LOSS}");
        let of = |run_keys| {
            let flow = flow_with(run_keys, "newreno", "", &key, order);
            (flow.delivered, flow.packets_sent, flow.retransmits)
        };
        assert_eq!(of(""), of("sample = \"1 s\""), "{helper}");
    }
}

#[test]
fn a_frozen_sender_goes_on_where_it_was() {
    let outages =
        "loss = { outages = [[\"10 s\", \"14 s\"], [\"20 s\", \"24 s\"], [\"30 s\", \"34 s\"]] }";
    let frozen = format!("helper = {{ freeze = \"200 ms\" }}\n{outages}");
    let late = format!("helper = {{ freeze = \"20 ms\" }}\n{outages}");
    let [alone, early, late] = [outages, &frozen, &late].map(|air| flow("newreno", "", air, DOWN));
    assert!(
        goodput(&early) > 1.02 * goodput(&alone),
        "{} {}",
        goodput(&early),
        goodput(&alone)
    );
    assert_eq!(early.timeouts, 0);
    assert!(alone.timeouts > 3);
    // Warned later than a round trip before, it loses what is in flight.
    assert!(late.retransmits > early.retransmits);
}

#[test]
fn a_delayed_response_waits_for_the_repair_of_a_link_that_does_not_keep_the_order() {
    // Packets overtake each other by up to 30 ms, twice a second.
    let steps: Vec<String> = (0..118)
        .map(|i| {
            format!(
                "[\"{} ms\", \"{} ms\"]",
                500 * i,
                if i % 2 == 0 { 5 } else { 35 }
            )
        })
        .collect();
    let air = format!("keep_order = false\nreordered = [{}]", steps.join(", "));
    let air = air.replace("reordered", "delay");
    let text = |controller: &str| {
        let text = format!(
            "[link.air]\nrate = \"20 Mbit/s\"\nqueue = \"150 packets\"\n{air}\n\
             [[flow]]\nroute = [\"air\"]\ncontroller = \"{controller}\"\n\
             [run]\nduration = \"60 s\"\n"
        );
        let scenario = Scenario::parse(&text, Path::new("dcr.toml")).expect("a scenario");
        run(&scenario.points()[0].network(1)).flows.remove(0)
    };
    let (newreno, dcr) = (text("newreno"), text("tcp-dcr"));
    assert!(dcr.retransmits <= newreno.retransmits);
    assert!(goodput(&dcr) >= goodput(&newreno));
    // A real loss costs it no less than NewReno.
    let (newreno, dcr) = (
        flow("newreno", "", LOSS, DOWN),
        flow("tcp-dcr", "", LOSS, DOWN),
    );
    assert!(goodput(&dcr) < 1.2 * goodput(&newreno));
}
