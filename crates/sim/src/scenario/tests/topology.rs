//! Named nodes, and the links between them.

use super::*;

const SHIP: &str = "\
[link.radio]
between = [\"ship\", \"shore\"]
rate = \"20 Mbit/s\"
delay = \"300 ms\"
queue = \"1 bdp\"
[link.core]
between = [\"shore\", \"office\"]
";

fn parse(text: &str) -> Result<Topology, ScenarioError> {
    Topology::parse(text, Path::new("net.toml"))
}

fn error(text: &str) -> String {
    parse(text).map(|_| ()).expect_err("a mistake").to_string()
}

#[test]
fn nodes_come_in_the_order_of_the_file() {
    let topology = parse(SHIP).expect("a topology");
    assert_eq!(topology.nodes, ["ship", "shore", "office"]);
    let link = |name: &str, between| TopologyLink {
        name: name.to_owned(),
        between,
    };
    assert_eq!(
        topology.links,
        [link("radio", [0, 1]), link("core", [1, 2])]
    );
    // Each link is in the network, although no flow of the file passes it.
    let network = topology.scenario.points()[0].network(1);
    let names: Vec<_> = network
        .links
        .iter()
        .map(|link| link.name.to_string())
        .collect();
    assert_eq!(
        names,
        ["radio", "radio (reverse)", "core", "core (reverse)"]
    );
}

#[test]
fn a_topology_with_flows_is_a_scenario_too() {
    let text = format!("{SHIP}[[flow]]\nroute = [\"radio\", \"core\"]\n");
    let scenario = Scenario::parse(&text, Path::new("net.toml")).expect("a scenario");
    assert_eq!(scenario.points()[0].network(1).flows.len(), 1);
    assert_eq!(parse(&text).expect("a topology").nodes.len(), 3);
    let sweep = format!("{SHIP}[sweep]\n\"link.radio.between\" = [[\"ship\", \"office\"]]\n");
    let nodes = parse(&sweep).expect("a topology").nodes;
    assert_eq!(nodes, ["ship", "office", "shore"]);
}

#[test]
fn mistakes_name_line_key_and_the_nearest_node() {
    let typo = SHIP.replace("[\"shore\", \"office\"]", "[\"shor\", \"office\"]");
    let expected = "net.toml:7: link.core.between: no links lead from `ship` to `shor`, did you mean \
                    `shore`?";
    assert_eq!(error(&typo), expected);
    let one = SHIP.replace(", \"shore\"]", "]");
    assert!(
        error(&one).contains("net.toml:2: link.radio.between: must be a pair"),
        "{}",
        error(&one)
    );
    let same = SHIP.replace("\"ship\", \"shore\"", "\"ship\", \"ship\"");
    assert!(
        error(&same).ends_with("two different nodes, not `ship` twice"),
        "{}",
        error(&same)
    );
    let name = SHIP.replace("ship", "Ship 1");
    assert!(
        error(&name).contains("`Ship 1` is not a name of a node"),
        "{}",
        error(&name)
    );
    let none = SHIP.replace("between = [\"ship\", \"shore\"]\n", "");
    assert!(
        error(&none).contains("`between` is missing; write e.g. `between ="),
        "{}",
        error(&none)
    );
    let key = SHIP.replace("between", "betwen");
    assert!(
        error(&key).contains("unknown key `betwen`, did you mean `between`?"),
        "{}",
        error(&key)
    );
    assert!(
        error("").contains("no links: write e.g. [link.radio]"),
        "{}",
        error("")
    );
}
