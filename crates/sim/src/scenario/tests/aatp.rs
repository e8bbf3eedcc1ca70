//! AATP flows and `[destination.NAME]`.

use super::*;
use crate::network::{AatpFlow, AatpSettings};
use whimbrel_units::Bytes;

/// All AATP flows of a network.
pub(super) fn aatp(network: &Network) -> Vec<&AatpFlow> {
    let flows = network.flows.iter();
    flows
        .filter_map(|flow| match &flow.traffic {
            Traffic::Aatp(aatp) => Some(aatp),
            _ => None,
        })
        .collect()
}

/// The node that receives each AATP flow, in the order of the flows.
pub(super) fn receivers(network: &Network) -> Vec<&str> {
    let all = aatp(network).into_iter();
    all.map(|flow| network.destinations[flow.destination].name.as_str())
        .collect()
}

#[test]
fn the_defaults_of_aatp_are_those_of_the_paper() {
    let network = network(&format!("{MINIMAL}kind = \"aatp\"\n"));
    let flow = aatp(&network)[0];
    assert_eq!(flow.controller.to_string(), "enhanced-aatp");
    assert_eq!((flow.priority.get(), flow.size), (1, None));
    assert_eq!(flow.settings, AatpSettings::default());
    let node = &network.destinations[0];
    assert_eq!(
        (node.adapter.gamma, node.adapter.beta, node.bandwidth),
        (5.0, 0.05, None)
    );
}

#[test]
fn aatp_settings_of_a_flow_override_those_of_the_run() {
    let network = network(
        "[link.L]\n[[flow]]\nkind = \"aatp\"\nroute = [\"L\"]\ncircuit_breaker = \"off\"\ntimer = \"2 ms\"\n\
         [[flow]]\nkind = \"aatp\"\nroute = [\"L\"]\nmss = \"948 B\"\n\
         [run]\ncircuit_breaker = \"3 s\"\nreestimate = \"5 s\"\n",
    );
    let settings: Vec<AatpSettings> = aatp(&network).iter().map(|flow| flow.settings).collect();
    let first = AatpSettings {
        packet: Bytes::new(1500),
        timer: Duration::from_millis(2),
        circuit_breaker: None,
        reestimate: Some(Duration::from_secs(5)),
    };
    let second = AatpSettings {
        packet: Bytes::new(1000),
        timer: Duration::from_millis(1),
        circuit_breaker: Some(Duration::from_secs(3)),
        reestimate: Some(Duration::from_secs(5)),
    };
    assert_eq!(settings, [first, second]);
}

#[test]
fn flows_that_end_on_the_same_link_share_a_destination() {
    let text = "[link.access]\n[link.L]\n\
        [[flow]]\nkind = \"aatp\"\ncount = 2\nroute = [\"access*\", \"L\"]\n\
        [[flow]]\nkind = \"aatp\"\ncount = 2\nroute = [\"L\", \"access*\"]\n\
        [[flow]]\nkind = \"aatp\"\nroute = [\"access\"]\n\
        [[flow]]\nkind = \"aatp\"\nroute = [\"L\"]\ndestination = \"client\"\n\
        [[flow]]\nkind = \"aatp\"\nroute = [\"access\", \"L\"]\ndestination = \"client\"\n\
        [[flow]]\nroute = [\"L\"]\n\
        [destination.client]\nbandwidth = \"10 Mbit/s\"\n\
        [destination.\"access*\"]\nbeta = 0.1\n";
    let network = network(text);
    let expected = [
        "L",
        "L",
        "access*[3]",
        "access*[4]",
        "access",
        "client",
        "client",
    ];
    assert_eq!(receivers(&network), expected);
    let node = |name: &str| {
        let found = network.destinations.iter().find(|node| node.name == name);
        found.unwrap_or_else(|| panic!("no {name}"))
    };
    assert_eq!(network.destinations.len(), 5, "the TCP flow adds none");
    assert_eq!(
        node("client").bandwidth,
        Some("10 Mbit/s".parse().expect("a rate"))
    );
    assert_eq!(
        (node("client").adapter.gamma, node("client").adapter.beta),
        (5.0, 0.05)
    );
    assert_eq!(node("access*[4]").adapter.beta, 0.1);
    assert_eq!(
        (node("access").adapter.beta, node("L").bandwidth),
        (0.05, None)
    );
}

#[test]
fn destinations_without_a_table_can_be_swept() {
    let text = format!(
        "{MINIMAL}controller = \"enhanced-aatp\"\n[sweep]\n\"destination.L.gamma\" = [0, 2.5]\n\
         \"flow.priority\" = [1, 8]\n"
    );
    let scenario = parse(&text);
    assert_eq!(scenario.points().len(), 4);
    let last = scenario.points()[3].network(1);
    assert_eq!(last.destinations[0].adapter.gamma, 2.5);
    assert_eq!(aatp(&last)[0].priority.get(), 8);
}
