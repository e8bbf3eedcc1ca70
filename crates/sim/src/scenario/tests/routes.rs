//! `route`, `routes` and `back`.

use super::*;
use crate::network::LinkId;
use whimbrel_net::QueueLimit;
use whimbrel_units::Bytes;

#[test]
fn a_flow_with_several_routes_has_own_copies_on_each() {
    let scenario = Scenario::parse(SEVERAL, Path::new("a.toml")).expect("a scenario");
    let [reno, lia] = scenario.points() else {
        panic!("two points");
    };
    assert_eq!(lia.controllers(), ["lia", "cubic"]);
    // Five paths share 30 Mbit/s: three share 20 on `wifi`, two share 10 on `lte`.
    assert_eq!(reno.capacity(), Some(Rate::from_bits_per_sec(30_000_000)));
    let network = lia.network(1);
    let names: Vec<Vec<Vec<String>>> = network
        .flows
        .iter()
        .map(|flow| {
            let called = |links: &[LinkId]| -> Vec<String> {
                let name = |id: &LinkId| network.links[id.0 as usize].name.to_string();
                links.iter().map(name).collect()
            };
            let ways = flow.routes.iter().flat_map(|r| [&r.forward, &r.backward]);
            ways.map(|way| called(way)).collect()
        })
        .collect();
    assert_eq!(
        names[1],
        [
            vec!["access*[2.1]", "wifi"],
            vec!["wifi (reverse)", "access*[2.1] (reverse)"],
            vec!["access*[2.2]", "lte"],
            vec!["lte (reverse)", "access*[2.2] (reverse)"],
        ]
    );
    assert_eq!(names[2], [["wifi"], ["wifi (reverse)"]]);
    // 10 Mbit/s x 80 ms.
    let lte = network
        .links
        .iter()
        .find(|link| link.name == "lte".into())
        .expect("there");
    assert_eq!(lte.spec.queue, QueueLimit::Bytes(Bytes::new(100_000)));
}

#[test]
fn routes_with_one_entry_equal_route() {
    let one = r#"
[link.L]
rate = "8 Mbit/s"
delay = "10 ms"
queue = "1 bdp"
loss = "1 %"
[[flow]]
ROUTE
[run]
duration = "5 s"
"#;
    let outcome = |route: &str| {
        let scenario = Scenario::parse(&one.replace("ROUTE", route), Path::new("a.toml"));
        crate::run(&scenario.expect("a scenario").points()[0].network(1))
    };
    let plain = outcome("route = [\"L\"]");
    assert_eq!(outcome("routes = [[\"L\"]]"), plain);
    assert!(plain.flows[0].paths.is_empty());
}

#[test]
fn back_uses_links_in_their_written_direction() {
    let network = network(
        "[link.up]\n[link.down]\n[[flow]]\ncount = 2\nroute = [\"down\"]\nback = [\"up\", \"down\"]\n",
    );
    assert_eq!(names(&network), ["down", "up"]);
    assert_eq!(network.flows[1].routes[0].backward, [LinkId(1), LinkId(0)]);
    assert_eq!(network.flows[0].name.to_string(), "cubic #1");
}
