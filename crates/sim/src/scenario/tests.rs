//! What people write, what becomes of it, and what they are told when it is wrong.

use super::*;
use crate::network::{AatpFlow, AatpSettings, LinkId, Messages, OnChannel, Recovery, Streams};
use proptest::prelude::*;
use std::fmt::Write as _;
use whimbrel_net::{
    Aggregation, Aqm, CoDel, Delay, DelayTrace, GilbertElliott, QueueLimit, QueueUnit, ServiceSpec,
    Side, WifiSpec,
};
use whimbrel_units::{Bytes, Probability, Time};

/// The example of the project's design page, word for word.
const DESIGN: &str = r#"
[link.access]                    # a '*' in a route gives each flow its own copy
rate = "1 Mbit/s"
delay = "10 ms"
[link.L]
rate = "8 Mbit/s"                # or { trace = "starlink.down" } in mahimahi's format
delay = "50 ms"                  # or a schedule: [["0 s", "25 ms"], ["5 s", "300 ms"]]
queue = "50 packets"             # or bytes, or "1 bdp"
loss = "1 %"                     # or a table of any of: random = "1 %", corrupt = "1 %", outages = [["4 s", "5 s"]], gilbert-elliott = {...}
[[flow]]
count = 10                       # 1 when left out
controller = "cerl"              # or "cerl?A=0.6"
route = ["access*", "L", "access*"]
start = "0 s .. 5 s"             # drawn evenly for each flow; 0 s when left out
size = "1 GB"                    # endless when left out
[run]
recovery = "rack"              # or "sack", "newreno"; may also stand in a flow
duration = "100 s"
seeds = 10
[sweep]
"link.L.loss" = ["0 %", "0.1 %", "1 %", "5 %"]
"flow.controller" = ["newreno", "cubic", "cerl"]
"#;

/// Fades, a Wi-Fi access and flows of all kinds that share a node.
const SHARED: &str = r#"
[link.core]
rate = "148.608 Mbit/s"
delay = "10 ms"
queue = "1 bdp"
aqm = { kind = "red", min = "20 kB", max_p = 0.05, gentle = false }
loss = { gilbert-elliott = { good = "10 s", bad = "20 ms" }, random_outages = { count = 5, length = "2 s", within = ["5 s", "60 s"] } }
[link.home]
wifi = { rate = "300 Mbit/s" }
reverse = { loss = { gilbert-elliott = { p = "1 %", r = "20 %", bad_loss = "50 %" } } }
[[flow]]
kind = "aatp"
priority = 8
destination = "client"
route = ["home*", "core"]
[[flow]]
count = 3
controller = "cubic"
route = ["core", "home"]
[[flow]]
kind = "udp"
rate = "20 Mbit/s"
route = ["core"]
[destination.client]
gamma = 4
bandwidth = "100 Mbit/s"
[run]
timer = "2 ms"
circuit_breaker = "3 s"
reestimate = "off"
[sweep]
"flow.1.controller" = ["enhanced-aatp", "cubic"]
"destination.client.beta" = [0, 0.05]
"link.home.wifi.rate" = ["6.5 Mbit/s"]
"#;

/// The least that is a scenario.
const LEAST: &str = "[link.L]\n[[flow]]\nroute = [\"L\"]\n";

fn parse(text: &str) -> Scenario {
    Scenario::parse(text, Path::new("scenario.toml"))
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn error(text: &str) -> String {
    Scenario::parse(text, Path::new("scenario.toml"))
        .expect_err(text)
        .to_string()
}

fn network(text: &str) -> Network {
    parse(text).points()[0].network(1)
}

fn link<'a>(network: &'a Network, name: &str) -> &'a whimbrel_net::LinkSpec {
    let found = network.links.iter().find(|link| link.name == name);
    &found
        .unwrap_or_else(|| panic!("no {name} in {:?}", names(network)))
        .spec
}

fn names(network: &Network) -> Vec<&str> {
    network
        .links
        .iter()
        .map(|link| link.name.as_str())
        .collect()
}

#[test]
fn a_flow_may_be_written_that_there_is_none_of() {
    // So that a sweep can begin without neighbours. The queue is the same with and without them.
    let text = "[link.L]\nrate = \"8 Mbit/s\"\ndelay = \"50 ms\"\nqueue = \"1 bdp\"\n\
                [[flow]]\ncontroller = \"cerl\"\nroute = [\"L\"]\n\
                [[flow]]\nname = \"others\"\ncontroller = \"newreno\"\nroute = [\"L\"]\n\
                [sweep]\n\"flow.others.count\" = [0, 2]\n";
    let scenario = parse(text);
    let [alone, beside] = scenario.points() else {
        panic!("two points");
    };
    let flows = |point: &Point| point.network(1).flows.len();
    assert_eq!((flows(alone), flows(beside)), (1, 3));
    assert_eq!(alone.controllers(), ["cerl"]);
    assert_eq!(beside.controllers(), ["cerl", "newreno"]);
    assert_eq!(alone.flows()[1].count, 0);
    assert_eq!(alone.capacity(), beside.capacity());
    let queue = |point: &Point| link(&point.network(1), "L").queue;
    assert_eq!(queue(alone), queue(beside));
    let none = text.replace("[sweep]", "[sweep]\n\"flow.0.count\" = [0]");
    assert!(error(&none).ends_with("there is no flow: every `count` is 0"));
}

#[test]
fn the_flows_of_one_controller_are_told_the_truth_and_no_others() {
    let text = LEAST.to_owned()
        + "controller = \"cerl?A=0.50\"\n[[flow]]\nroute = [\"L\"]\ncontroller = \"cerl\"\n\
           [run]\noracle = \"congestion\"\n";
    let told = parse(&text).points()[0].told("cerl?A=0.5", Oracle::Random);
    let oracle = |flow: &crate::FlowSpec| match &flow.traffic {
        Traffic::Tcp(tcp) => Some(tcp.settings.oracle),
        _ => None,
    };
    let oracles: Vec<_> = told.network(1).flows.iter().map(oracle).collect();
    assert_eq!(oracles, [Some(Oracle::Random), Some(Oracle::Congestion)]);
}

#[test]
fn the_designs_example_is_twelve_points_of_ten_flows() {
    let scenario = parse(DESIGN);
    assert_eq!(scenario.points().len(), 4 * 3);
    let point = &scenario.points()[4];
    let parameters: Vec<String> = point
        .parameters()
        .iter()
        .map(|p| format!("{}={}", p.key, p.value))
        .collect();
    assert_eq!(parameters, ["link.L.loss=0.1 %", "flow.controller=cubic"]);
    assert_eq!(point.controllers(), ["cubic"]);
    assert_eq!(point.seeds(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    // 10 x 1 Mbit/s meet 8 Mbit/s.
    assert_eq!(point.capacity(), Some("8 Mbit/s".parse().expect("a rate")));

    let network = point.network(3);
    assert_eq!(network.flows.len(), 10);
    // Both directions of L, and of two access links per flow.
    assert_eq!(network.links.len(), 2 + 10 * 4);
    assert_eq!(network.duration, Duration::from_secs(100));
    let flow = &network.flows[2];
    assert_eq!(flow.name, "cubic #3");
    let called = |ids: &[LinkId]| -> Vec<&str> {
        ids.iter()
            .map(|id| network.links[id.0 as usize].name.as_str())
            .collect()
    };
    assert_eq!(
        called(&flow.routes[0].forward),
        ["access*[3.1]", "L", "access*[3.2]"]
    );
    assert_eq!(
        called(&flow.routes[0].backward),
        [
            "access*[3.2] (reverse)",
            "L (reverse)",
            "access*[3.1] (reverse)"
        ]
    );
    let Traffic::Tcp(tcp) = &flow.traffic else {
        panic!("TCP")
    };
    assert_eq!(tcp.settings.recovery, Recovery::Rack);
    assert_eq!(tcp.size, Some(Bytes::new(1_000_000_000)));
    assert_eq!(link(&network, "L").queue, QueueLimit::Packets(50));
}

/// Two connections over two routes each, beside a flow with one.
const SEVERAL: &str = r#"
[link.access]
rate = "100 Mbit/s"
[link.wifi]
rate = "20 Mbit/s"
delay = "15 ms"
queue = "100 packets"
[link.lte]
rate = "10 Mbit/s"
delay = "40 ms"
queue = "1 bdp"
[[flow]]
count = 2
routes = [["access*", "wifi"], ["access*", "lte"]]
[[flow]]
name = "alone"
route = ["wifi"]
[run]
duration = "30 s"
[sweep]
"flow.0.controller" = ["newreno", "lia"]
"#;

#[test]
fn a_flow_with_several_routes_has_them_all_and_links_of_its_own_on_each() {
    let scenario = Scenario::parse(SEVERAL, Path::new("a.toml")).expect("a scenario");
    let [reno, lia] = scenario.points() else {
        panic!("two points");
    };
    assert_eq!(lia.controllers(), ["lia", "cubic"]);
    // Five paths share 30 Mbit/s of links: 20 among the three on `wifi`, 10 among the two on `lte`.
    assert_eq!(reno.capacity(), Some(Rate::from_bits_per_sec(30_000_000)));
    let network = lia.network(1);
    let names: Vec<Vec<Vec<&str>>> = network
        .flows
        .iter()
        .map(|flow| {
            let called = |links: &[LinkId]| -> Vec<&str> {
                let name = |id: &LinkId| network.links[id.0 as usize].name.as_str();
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
    // 10 Mbit/s for a round trip of 80 ms.
    let lte = network
        .links
        .iter()
        .find(|link| link.name == "lte")
        .expect("there");
    assert_eq!(lte.spec.queue, QueueLimit::Bytes(Bytes::new(100_000)));
}

/// Streams and messages in all ways to write them.
const MESSAGES: &str = r#"
[link.L]
rate = "8 Mbit/s"
delay = "10 ms"
[[flow]]
name = "short"
route = ["L"]
streams = 8
messages = "1 kB .. 20 kB every 10 ms"
[[flow]]
name = "table"
route = ["L"]
interleave = false
messages = { size = "20 kB", every = "5 ms", exponential = true, count = 7 }
[[flow]]
name = "bulk"
route = ["L"]
streams = 3
size = "1 MB"
[run]
duration = "1 s"
[sweep]
"flow.table.messages.size" = ["1 kB", "2 kB"]
"#;

#[test]
fn streams_and_messages_are_what_was_written() {
    let scenario = Scenario::parse(MESSAGES, Path::new("a.toml")).expect("a scenario");
    let network = scenario.points()[1].network(1);
    let streams = network.flows.iter().map(|flow| match &flow.traffic {
        Traffic::Tcp(tcp) => tcp.streams,
        Traffic::Aatp(_) | Traffic::Udp(_) => panic!("all are TCP"),
    });
    let short = Messages {
        least: Bytes::new(1000),
        greatest: Bytes::new(20_000),
        every: Duration::from_millis(10),
        exponential: false,
        count: None,
    };
    let table = Messages {
        least: Bytes::new(2000),
        greatest: Bytes::new(2000),
        every: Duration::from_millis(5),
        exponential: true,
        count: Some(7),
    };
    let expected = [
        (8, true, Some(short)),
        (1, false, Some(table)),
        (3, true, None),
    ];
    for (found, (count, interleave, messages)) in streams.zip(expected) {
        let expected = Streams {
            count,
            interleave,
            messages,
        };
        assert_eq!(found, expected);
    }
    let outcome = crate::run(&network);
    let bulk = &outcome.flows[2];
    assert_eq!((bulk.streams.len(), bulk.messages.as_ref()), (3, None));
    let table = outcome.flows[1].messages.as_ref().expect("messages");
    assert_eq!((table.arrived, table.delivered), (7, 7));
}

#[test]
fn laws_that_were_published_with_streams_have_eight_of_them_unless_told_otherwise() {
    let count = |lines: &str| {
        let text = format!("[link.L]\n[[flow]]\n{lines}\n");
        let scenario = Scenario::parse(&text, Path::new("a.toml")).expect("a scenario");
        match &scenario.points()[0].network(1).flows[0].traffic {
            Traffic::Tcp(tcp) => tcp.streams.count,
            Traffic::Aatp(_) | Traffic::Udp(_) => panic!("it is TCP"),
        }
    };
    for (law, expected) in [
        ("mfast", 8),
        ("emfast", 8),
        ("sctp", 8),
        ("fast", 1),
        ("cubic", 1),
    ] {
        let flow = |more: &str| format!("controller = \"{law}\"\n{more}");
        assert_eq!(count(&flow("route = [\"L\"]")), expected, "{law}");
        assert_eq!(count(&flow("route = [\"L\"]\nstreams = 3")), 3);
        // Where there can be one only.
        assert_eq!(count(&flow("route = [\"L\"]\ntwo_way = true")), 1);
        assert_eq!(count(&flow("routes = [[\"L\"], [\"L\"]]")), 1);
    }
}

#[test]
fn one_route_of_routes_is_a_route() {
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
fn starts_are_drawn_by_the_seed_alone() {
    let scenario = parse(DESIGN);
    let starts = |point: usize, seed| -> Vec<Time> {
        scenario.points()[point]
            .network(seed)
            .flows
            .iter()
            .map(|f| f.start)
            .collect()
    };
    assert_eq!(
        starts(0, 1),
        starts(7, 1),
        "the same for every point: pairs of runs differ in one thing"
    );
    assert_ne!(starts(0, 1), starts(0, 2));
    let mut drawn: Vec<Time> = (1..=100).flat_map(|seed| starts(0, seed)).collect();
    drawn.sort();
    assert!(
        drawn[0] < Time::from_nanos(50_000_000) && drawn[999] <= Time::from_nanos(5_000_000_000)
    );
    let median = drawn[500].as_secs_f64();
    assert!((2.25..2.75).contains(&median), "{median}");
}

#[test]
fn loss_is_of_the_written_direction_and_outages_of_both() {
    let text = "[link.L]\nloss = { random = \"1 %\", corrupt = \"2 %\", outages = [[\"4 s\", \"5 s\"]] }\n\
                [[flow]]\nroute = [\"L\"]\n";
    let plain = network(text);
    assert_eq!(link(&plain, "L").loss.random.get(), 0.01);
    assert_eq!(link(&plain, "L").loss.corrupt.get(), 0.02);
    let reverse = &link(&plain, "L (reverse)").loss;
    assert!(reverse.random.is_zero() && reverse.corrupt.is_zero());
    assert_eq!(reverse.outages, link(&plain, "L").loss.outages);

    let noise = text.replace("corrupt = \"2 %\"", "bit_errors = 1e-6");
    assert_eq!(link(&network(&noise), "L").loss.bit_errors.get(), 1e-6);

    let written = network(&text.replace(
        "[[flow]]",
        "[link.L.reverse]\nloss = 0.03\nqueue = \"9 packets\"\n[[flow]]",
    ));
    let reverse = link(&written, "L (reverse)");
    assert_eq!(reverse.loss.random.get(), 0.03);
    assert_eq!(reverse.loss.outages.len(), 1);
    assert_eq!(reverse.queue, QueueLimit::Packets(9));
    assert_eq!(link(&written, "L").queue, QueueLimit::Unlimited);

    let same = network(&text.replace("[[flow]]", "reverse = { loss = \"same\" }\n[[flow]]"));
    assert_eq!(link(&same, "L (reverse)").loss, link(&same, "L").loss);
    assert_eq!(link(&same, "L (reverse)").loss.random.get(), 0.01);
}

#[test]
fn losses_in_bursts_are_written_by_time_or_by_packet() {
    let text = |loss: &str| {
        format!(
            "[link.L]\nloss = {{ random = \"1 %\", gilbert-elliott = {loss} }}\n[[flow]]\nroute = [\"L\"]\n"
        )
    };
    let share = |p: f64| Probability::new(p).expect("a probability");
    let by_time = network(&text("{ good = \"9 s\", bad = \"500 ms\" }"));
    let loss = &link(&by_time, "L").loss;
    assert_eq!(loss.random, share(0.01));
    let expected = GilbertElliott::ByTime {
        good: Duration::from_secs(9),
        bad: Duration::from_millis(500),
        good_loss: Probability::ZERO,
        bad_loss: Probability::ONE,
    };
    assert_eq!(loss.gilbert_elliott, Some(expected));
    let reverse = &link(&by_time, "L (reverse)").loss;
    assert_eq!(reverse.gilbert_elliott, None, "of the written direction");

    let by_packet = network(&text(
        "{ p = \"1 %\", r = 0.2, bad_loss = \"50 %\", good_loss = \"2 %\" }",
    ));
    let expected = GilbertElliott::ByPacket {
        p: share(0.01),
        r: share(0.2),
        bad_loss: share(0.5),
        good_loss: share(0.02),
    };
    assert_eq!(link(&by_packet, "L").loss.gilbert_elliott, Some(expected));
}

#[test]
fn outages_are_drawn_for_each_seed_and_strike_both_directions() {
    let text = "[link.L]\nloss = { outages = [[\"70 s\", \"71 s\"]], random_outages = { count = 3, length = \"1 s\", \
                within = [\"10 s\", \"20 s\"] } }\n[link.M]\nloss = { random_outages = { count = 3, length = \"1 s\" } }\n\
                [[flow]]\ncount = 2\nroute = [\"L\", \"M*\"]\n[run]\nduration = \"100 s\"\n";
    let outages = |text: &str, seed: u64, name: &str| {
        let network = parse(text).points()[0].network(seed);
        link(&network, name).loss.outages.clone()
    };
    let drawn = outages(text, 1, "L");
    assert_eq!(drawn.len(), 4, "with the written one");
    let second = |s: u64| Time::ZERO + Duration::from_secs(s);
    assert_eq!((drawn[0].from, drawn[0].to), (second(70), second(71)));
    for outage in &drawn[1..] {
        assert!(second(10) <= outage.from && outage.to <= second(20));
        assert_eq!(outage.to.since(outage.from), Duration::from_secs(1));
    }
    assert_eq!(drawn, outages(text, 1, "L (reverse)"));
    assert_ne!(drawn, outages(text, 2, "L"));
    let copy = outages(text, 1, "M*[1]");
    assert_eq!(copy, outages(text, 1, "M*[1] (reverse)"));
    assert_ne!(copy, outages(text, 1, "M*[2]"), "each copy has its own");
    // In all 100 s, not in the 10 s that were written for L.
    let spread = |seed| outages(text, seed, "M*[1]").into_iter();
    assert!((1..=20).flat_map(spread).any(|o| o.from > second(80)));
    // What is written of one link does not move another's.
    let other = text.replace(
        "count = 3, length = \"1 s\", within",
        "count = 2, length = \"1 s\", within",
    );
    assert_eq!(outages(&other, 1, "L").len(), 3);
    assert_eq!(copy, outages(&other, 1, "M*[1]"));

    let reverse = |loss: &str| {
        text.replace(
            "[link.M]",
            &format!("reverse = {{ loss = {loss} }}\n[link.M]"),
        )
    };
    let kept = reverse("\"1 %\"");
    assert_eq!(drawn, outages(&kept, 1, "L (reverse)"));
    let none = reverse("{ random_outages = { count = 0, length = \"1 s\" } }");
    assert_eq!(outages(&none, 1, "L (reverse)").len(), 1);
    let own = reverse(
        "{ random_outages = { count = 3, length = \"1 s\", within = [\"10 s\", \"20 s\"] } }",
    );
    assert_ne!(drawn, outages(&own, 1, "L (reverse)"));
    assert_eq!(drawn, outages(&own, 1, "L"));
}

#[test]
fn a_queue_in_bdp_takes_the_greatest_rate_and_the_greatest_base_rtt() {
    let text = r#"
        [link.near]
        delay = "10 ms"
        [link.far]
        delay = [["0 s", "20 ms"], ["5 s", "30 ms"]]
        reverse = { delay = "40 ms" }
        [link.L]
        rate = [["0 s", "8 Mbit/s"], ["9 s", "16 Mbit/s"]]
        delay = "10 ms"
        queue = "2 bdp"
        [[flow]]
        route = ["near", "L"]
        [[flow]]
        route = ["far", "L"]
        "#;
    // 16 Mbit/s x (30 + 10 + 10 + 40) ms x 2.
    assert_eq!(
        link(&network(text), "L").queue,
        QueueLimit::Bytes(Bytes::new(360_000))
    );
    // Never less than a packet: 1448 + 52 bytes.
    let tiny = network(&text.replace("2 bdp", "0 bdp"));
    assert_eq!(link(&tiny, "L").queue, QueueLimit::Bytes(Bytes::new(1500)));
    assert_eq!(
        link(&tiny, "L (reverse)").queue,
        QueueLimit::Bytes(Bytes::new(1500))
    );
    // A way back of its own counts instead of the mirrored route: 16 Mbit/s x (30 + 10 + 10) ms x 2.
    let back = network(&text.replace(
        "route = [\"far\", \"L\"]",
        "route = [\"far\", \"L\"]\nback = [\"near\"]",
    ));
    assert_eq!(
        link(&back, "L").queue,
        QueueLimit::Bytes(Bytes::new(200_000))
    );
}

#[test]
fn a_way_back_uses_links_as_written() {
    let network = network(
        "[link.up]\n[link.down]\n[[flow]]\ncount = 2\nroute = [\"down\"]\nback = [\"up\", \"down\"]\n",
    );
    assert_eq!(names(&network), ["down", "up"]);
    assert_eq!(network.flows[1].routes[0].backward, [LinkId(1), LinkId(0)]);
    assert_eq!(network.flows[0].name, "cubic #1");
}

#[test]
fn a_flows_own_settings_win_over_the_runs() {
    let network = network(
        "[link.L]\n[[flow]]\nname = \"a\"\nroute = [\"L\"]\nmss = \"1000 B\"\n[[flow]]\nroute = [\"L\"]\n\
         [run]\nmss = \"1460 B\"\nrecovery = \"newreno\"\nack_every = 1\n",
    );
    let settings = |flow: usize| match &network.flows[flow].traffic {
        Traffic::Tcp(tcp) => tcp.settings,
        _ => panic!("TCP"),
    };
    assert_eq!(settings(0).mss, Bytes::new(1000));
    assert_eq!(settings(1).mss, Bytes::new(1460));
    assert_eq!(
        (settings(0).recovery, settings(0).ack_every),
        (Recovery::NewReno, 1)
    );
    assert_eq!(network.flows[0].name, "a");
}

#[test]
fn datagrams_in_bursts() {
    let text = "[link.L]\nrate = \"10 Mbit/s\"\n[[flow]]\nkind = \"udp\"\nroute = [\"L\"]\nrate = \"4 Mbit/s\"\n\
                on = \"1 s\"\noff = \"3 s\"\nexponential = true\nstop = \"5 s\"\n";
    let network = network(text);
    let Traffic::Udp(udp) = &network.flows[0].traffic else {
        panic!("UDP")
    };
    assert_eq!(udp.packet, Bytes::new(1500));
    assert!(udp.on_off.expect("bursts").exponential);
    assert_eq!(
        network.flows[0].stop,
        Some(Time::ZERO + Duration::from_secs(5))
    );
    // A quarter of the time at 4 Mbit/s.
    assert_eq!(
        parse(text).points()[0].capacity(),
        Some("1 Mbit/s".parse().expect("a rate"))
    );
}

#[test]
fn sweeps_set_what_was_not_written_and_reach_single_flows() {
    let text = format!(
        "{LEAST}name = \"web\"\n[[flow]]\nroute = [\"L\"]\n[[flow]]\nkind = \"udp\"\nrate = \"1 Mbit/s\"\nroute = [\"L\"]\n\
         [sweep]\n\"link.L.reverse.delay\" = [\"1 ms\"]\n\"flow.web.controller\" = [\"cerl\"]\n\
         \"flow.1.size\" = [\"1 MB\"]\n\"flow.recovery\" = [\"sack\"]\n\"run.duration\" = [\"3 s\"]\n\"flow.count\" = [2, 3]\n"
    );
    let scenario = parse(&text);
    assert_eq!(scenario.points().len(), 2);
    let network = scenario.points()[1].network(1);
    assert_eq!(network.flows.len(), 9);
    assert_eq!(network.duration, Duration::from_secs(3));
    assert_eq!(
        link(&network, "L (reverse)").delay.least(),
        Duration::from_millis(1)
    );
    let Traffic::Tcp(web) = &network.flows[0].traffic else {
        panic!("TCP")
    };
    let Traffic::Tcp(other) = &network.flows[3].traffic else {
        panic!("TCP")
    };
    assert_eq!(
        (web.controller.to_string().as_str(), web.size),
        ("cerl", None)
    );
    assert_eq!(
        (other.controller.to_string().as_str(), other.size),
        ("cubic", Some(Bytes::new(1_000_000)))
    );
    assert_eq!(web.settings.recovery, Recovery::Sack);
}

/// All AATP flows of a network.
fn aatp(network: &Network) -> Vec<&AatpFlow> {
    let flows = network.flows.iter();
    flows
        .filter_map(|flow| match &flow.traffic {
            Traffic::Aatp(aatp) => Some(aatp),
            _ => None,
        })
        .collect()
}

/// Each flow and the node that receives it.
fn receivers(network: &Network) -> Vec<&str> {
    let all = aatp(network).into_iter();
    all.map(|flow| network.destinations[flow.destination].name.as_str())
        .collect()
}

#[test]
fn the_controller_decides_which_transport_carries_a_flow() {
    let text = format!(
        "{LEAST}mss = \"8948 B\"\nrecovery = \"sack\"\npriority = 4\nsize = \"1 GB\"\n\
         [sweep]\n\"flow.controller\" = [\"cubic\", \"enhanced-aatp\"]\n"
    );
    let scenario = parse(&text);
    let points = scenario.points();
    let Traffic::Tcp(tcp) = &points[0].network(1).flows[0].traffic else {
        panic!("TCP")
    };
    assert_eq!(tcp.settings.recovery, Recovery::Sack);
    let network = points[1].network(1);
    let flow = aatp(&network)[0];
    assert_eq!(points[1].controllers(), ["enhanced-aatp"]);
    assert_eq!(network.flows[0].name, "enhanced-aatp #1");
    assert_eq!(flow.priority.get(), 4);
    assert_eq!(flow.size, tcp.size);
    // As large on the wire as TCP's: 8948 bytes of data, 52 of headers.
    assert_eq!(flow.settings.packet, Bytes::new(9000));
    assert!(points[0].network(1).destinations.is_empty());
}

#[test]
fn aatp_is_as_in_the_paper_unless_something_is_written() {
    let network = network(&format!("{LEAST}kind = \"aatp\"\n"));
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
fn a_flows_own_aatp_settings_win_over_the_runs() {
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
fn flows_that_end_on_the_same_link_share_a_node_and_own_copies_have_their_own() {
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
    assert_eq!(network.destinations.len(), 5, "the TCP flow makes none");
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
fn destinations_can_be_swept_where_nothing_is_written_of_them() {
    let text = format!(
        "{LEAST}controller = \"enhanced-aatp\"\n[sweep]\n\"destination.L.gamma\" = [0, 2.5]\n\
         \"flow.priority\" = [1, 8]\n"
    );
    let scenario = parse(&text);
    assert_eq!(scenario.points().len(), 4);
    let last = scenario.points()[3].network(1);
    assert_eq!(last.destinations[0].adapter.gamma, 2.5);
    assert_eq!(aatp(&last)[0].priority.get(), 8);
}

/// What manages a link's queue on an empty path of 100 ms, with packets of 1500 bytes.
fn managed(lines: &str, name: &str) -> Option<Aqm> {
    let text = format!(
        "[link.L]\nrate = \"12 Mbit/s\"\ndelay = \"50 ms\"\n{lines}\n[[flow]]\nroute = [\"L\"]\n"
    );
    link(&network(&text), name).aqm
}

#[test]
fn queue_management_is_a_word_or_a_table() {
    let codel = |target| {
        Some(Aqm::CoDel(CoDel {
            target: Duration::from_millis(target),
            interval: Duration::from_millis(100),
            mtu: Bytes::new(1500),
        }))
    };
    assert_eq!(managed("", "L"), None);
    assert_eq!(managed("aqm = \"none\"", "L"), None);
    assert_eq!(managed("aqm = \"codel\"", "L"), codel(5));
    assert_eq!(managed("aqm = \"codel?target=7 ms\"", "L"), codel(7));
    let table = "aqm = { kind = \"codel\", target = \"7 ms\" }";
    assert_eq!(managed(table, "L"), codel(7));
    let table = "aqm = { kind = \"red\", min = \"5 packets\", max = \"20 packets\", max_p = 0.05, weight = 0.002, \
                 gentle = false }";
    let Some(Aqm::Red(red)) = managed(table, "L") else {
        panic!("{:?}", managed(table, "L"))
    };
    assert_eq!((red.min, red.max, red.max_p.get()), (5.0, 20.0, 0.05));
    assert_eq!((red.weight, red.gentle), (0.002, false));
    assert_eq!(red.packet_time, Duration::from_millis(1));
    // 0.1 of 12 Mbit/s x 100 ms.
    let Some(Aqm::Mark(mark)) = managed("aqm = { kind = \"mark\", threshold = \"0.1 bdp\" }", "L")
    else {
        panic!("no marks")
    };
    assert_eq!((mark.threshold, mark.unit), (15_000.0, QueueUnit::Bytes));
}

#[test]
fn the_mirrored_queue_is_managed_alike_for_its_own_rate_unless_it_is_said() {
    let thresholds = |lines, name| match managed(lines, name) {
        Some(Aqm::Red(red)) => Some((red.min, red.max)),
        _ => None,
    };
    let both = "aqm = \"red\"";
    assert_eq!(thresholds(both, "L (reverse)"), Some((5.0, 15.0)));
    // 2.5 ms of 120 Mbit/s are 25 packets.
    let fast = "aqm = \"red\"\nreverse = { rate = \"120 Mbit/s\" }";
    assert_eq!(thresholds(fast, "L"), Some((5.0, 15.0)));
    assert_eq!(thresholds(fast, "L (reverse)"), Some((25.0, 75.0)));
    let one = "aqm = \"red\"\nreverse = { aqm = \"none\" }";
    assert_eq!(thresholds(one, "L (reverse)"), None);
    let other = "reverse = { aqm = \"codel\" }";
    assert_eq!(managed(other, "L"), None);
    assert!(matches!(managed(other, "L (reverse)"), Some(Aqm::CoDel(_))));
}

#[test]
fn queue_management_can_be_swept_on_links_of_their_own() {
    let text = "[link.access]\nrate = \"1 Mbit/s\"\naqm = { kind = \"red\" }\n[[flow]]\ncount = 2\nroute = [\"access*\"]\n\
                [run]\necn = true\nduration = \"3 s\"\n[sweep]\n\"link.access.aqm.max_p\" = [0.1, \"2 %\"]\n";
    let scenario = parse(text);
    let of = |point: usize| {
        let network = scenario.points()[point].network(1);
        ["access*[1]", "access*[2]"].map(|name| match link(&network, name).aqm {
            Some(Aqm::Red(red)) => red.max_p.get(),
            other => panic!("{other:?}"),
        })
    };
    assert_eq!((of(0), of(1)), ([0.1; 2], [0.02; 2]));
    let kinds = text.replace(
        "\"link.access.aqm.max_p\" = [0.1, \"2 %\"]",
        "\"link.access.aqm\" = [\"none\", \"codel\", \"mark\"]",
    );
    let kinds = parse(&kinds);
    let marked = |point: usize| {
        let outcome = crate::run(&kinds.points()[point].network(1));
        outcome.flows.iter().map(|flow| flow.marked).sum::<u64>()
    };
    assert_eq!(marked(0), 0);
    assert!(marked(1) > 0 && marked(2) > 0);
}

#[test]
fn a_wifi_link_is_one_channel_of_two_directions() {
    let text = "[link.L]\nwifi = \"65 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"2 bdp\"\n\
        reverse = { queue = \"9 packets\" }\n\
        [link.up]\nwifi = { rate = \"6.5 Mbit/s\" }\n\
        [[flow]]\nroute = [\"up*\", \"L\"]\n[[flow]]\nroute = [\"up*\", \"L\"]\n";
    let network = network(text);
    let expected = [
        "up*[1]",
        "up*[1] (reverse)",
        "L",
        "L (reverse)",
        "up*[2]",
        "up*[2] (reverse)",
    ];
    assert_eq!(names(&network), expected);
    let on = |channel, side| Some(OnChannel { channel, side });
    for (i, link) in network.links.iter().enumerate() {
        let side = [Side::Forward, Side::Reverse][i % 2];
        assert_eq!(link.on_channel, on(i / 2, side), "{}", link.name);
    }
    let rates: Vec<u64> = network
        .channels
        .iter()
        .map(|channel| channel.rate().as_bits_per_sec())
        .collect();
    assert_eq!(rates, [6_500_000, 65_000_000, 6_500_000]);
    // 65 Mbit/s x 10 ms x 2.
    assert_eq!(
        link(&network, "L").queue,
        QueueLimit::Bytes(Bytes::new(162_500))
    );
    assert_eq!(link(&network, "L (reverse)").queue, QueueLimit::Packets(9));
    // 28 packets of 1500 bytes and what frames them fit into the 5.484 ms that an access may take at 65 Mbit/s, and
    // less than a tenth goes to preambles, back-off and answers.
    let one = text.replace("up*\", \"", "");
    let capacity = parse(&one).points()[0].capacity().expect("a limit");
    let share = capacity.as_bits_per_sec() as f64 / 65e6;
    assert!((0.85..1.0).contains(&share), "{share}");
    // Each of two flows meets its own 6.5 Mbit/s first.
    let capacity = parse(text).points()[0].capacity().expect("a limit");
    let share = capacity.as_bits_per_sec() as f64 / 13e6;
    assert!((0.85..1.0).contains(&share), "{share}");
}

#[test]
fn a_wifi_channel_can_be_set_in_all_its_parts() {
    let channel = |wifi: &str| {
        let text = format!("[link.L]\nwifi = {wifi}\n[[flow]]\nroute = [\"L\"]\n");
        network(&text).channels[0].clone()
    };
    let usual = channel("\"300 Mbit/s\"");
    assert_eq!(usual, channel("{ rate = \"300 Mbit/s\" }"));
    assert_eq!(usual.aggregation, Some(Aggregation::MOST));
    let all = channel(
        "{ rate = \"300 Mbit/s\", aggregation = { frames = 16 }, longest = \"2 ms\", frame_loss = \"1 %\", rts_cts = true, \
         aifsn = 2, cw_min = 31, cw_max = 63, retry_limit = 4 }",
    );
    let expected = WifiSpec {
        mode: usual.mode,
        aggregation: Some(Aggregation {
            bytes: 65_535,
            frames: 16,
        }),
        longest: Duration::from_millis(2),
        frame_loss: Probability::new(0.01).expect("a probability"),
        rts_cts: true,
        aifsn: 2,
        cw_min: 31,
        cw_max: 63,
        retry_limit: 4,
    };
    assert_eq!(all, expected);
    let single = channel("{ rate = \"300 Mbit/s\", aggregation = false }");
    assert_eq!(single.aggregation, None);
}

#[test]
fn a_wifi_channel_has_two_directions_even_if_flows_pass_one() {
    let text = "[link.up]\n[link.L]\nwifi = \"65 Mbit/s\"\n\
        [[flow]]\ntwo_way = true\nroute = [\"L\"]\nback = [\"up\"]\n";
    let one = network(text);
    assert_eq!(names(&one), ["L", "L (reverse)", "up"]);
    assert_eq!(one.channels.len(), 1);
    let own = network(&text.replace("[\"L\"]", "[\"L*\"]"));
    assert_eq!(names(&own), ["L*[1]", "L*[1] (reverse)", "up"]);
    // Both ways over the channel share what it carries.
    let both = text.replace("back = [\"up\"]\n", "");
    let there = both.replace("two_way = true\n", "");
    let capacity = |text| parse(text).points()[0].capacity();
    assert_eq!(capacity(&both), capacity(&there));
}

#[test]
fn all_that_can_be_written_goes_together() {
    let scenario = parse(SHARED);
    assert_eq!(scenario.points().len(), 4);
    let network = scenario.points()[1].network(1);
    assert_eq!(receivers(&network), ["client", "home", "home", "home"]);
    assert_eq!(
        scenario.points()[3].controllers(),
        ["enhanced-aatp", "cubic"]
    );
    // The first flow's own copy and the shared one, both at the swept rate.
    let rates: Vec<u64> = network
        .channels
        .iter()
        .map(|channel| channel.rate().as_bits_per_sec())
        .collect();
    assert_eq!(rates, [6_500_000, 6_500_000]);
    assert_eq!(link(&network, "home (reverse)").loss.outages, []);
    assert!(
        link(&network, "home (reverse)")
            .loss
            .gilbert_elliott
            .is_some()
    );
    assert_eq!(link(&network, "core (reverse)").loss.outages.len(), 5);
}

#[test]
fn settings_win_over_the_file_and_take_a_key_out_of_the_sweep() {
    let document = || Document::parse(DESIGN, Path::new("scenario.toml")).expect("TOML");
    let set = |text: &str| -> Setting { text.parse().expect("key=value") };
    let settings = [
        set("link.L.loss=2 %"),
        set("run.seeds=[7, 9]"),
        set("flow.0.count=3"),
    ];
    let scenario = Scenario::from_document(document(), &settings).expect("a scenario");
    assert_eq!(scenario.points().len(), 3);
    let network = scenario.points()[0].network(7);
    assert_eq!(network.flows.len(), 3);
    assert_eq!(link(&network, "L").loss.random.get(), 0.02);
    assert_eq!(scenario.points()[0].seeds(), [7, 9]);

    let fail = |text: &str| {
        Scenario::from_document(document(), &[set(text)])
            .expect_err(text)
            .to_string()
    };
    assert_eq!(
        fail("link.M.loss=2 %"),
        "--set link.M.loss=2 %: link.M.loss: unknown link `M`; known: `access`, `L`"
    );
    assert_eq!(
        fail("link.L.loss=2 percent"),
        "--set link.L.loss=2 percent: link.L.loss: `2 percent` is not a probability: unknown unit `percent`, the units are %; write e.g. `1 %`"
    );
    assert!("no equals sign".parse::<Setting>().is_err());
}

#[test]
fn traces_are_looked_for_beside_the_scenario() {
    let folder = std::env::temp_dir().join(format!("whimbrel-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("t"), "0\n1\n2\n").expect("a trace");
    let text = "[link.L]\nrate = { trace = \"t\" }\nqueue = \"1 bdp\"\n[[flow]]\nroute = [\"L\"]\n";
    let path = folder.join("scenario.toml");
    let scenario = Scenario::parse(text, &path).expect("a scenario");
    assert!(matches!(
        link(&scenario.points()[0].network(1), "L").service,
        ServiceSpec::Trace(_)
    ));
    let fail = |name: &str| {
        let text = text.replace("\"t\"", &format!("{name:?}"));
        Scenario::parse(&text, &path)
            .expect_err("no trace")
            .to_string()
    };
    assert!(fail("u").contains("cannot read the trace"), "{}", fail("u"));
    assert!(
        fail("/dev/zero").ends_with("the trace /dev/zero is not a file"),
        "{}",
        fail("/dev/zero")
    );
    std::fs::write(folder.join("bad"), "0\n1\nx\n").expect("a file");
    assert!(
        fail("bad").ends_with("bad: line 3: `x` is not a whole number of milliseconds"),
        "{}",
        fail("bad")
    );
    std::fs::remove_dir_all(&folder).expect("ours");
}

#[test]
fn a_recorded_delay_is_shared_and_keeps_its_order_unless_it_is_said() {
    let folder = std::env::temp_dir().join(format!("whimbrel-delay-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("d"), "10\n20.5\n11.5\n").expect("a trace");
    let text = "[link.L]\nrate = \"8 Mbit/s\"\ndelay = { trace = \"d\", every = \"10 ms\" }\nqueue = \"1 bdp\"\n\
                reverse = { delay = \"1 ms\" }\n[[flow]]\nroute = [\"L\"]\n";
    let path = folder.join("scenario.toml");
    let read = |text: &str| Scenario::parse(text, &path).map(|s| s.points()[0].network(1));
    let network = read(text).expect("a scenario");
    let forward = link(&network, "L");
    let row = DelayTrace::parse("10\n20.5\n11.5").expect("a trace");
    let recorded = Delay::recorded(Duration::from_millis(10), row).expect("intervals");
    assert_eq!(forward.delay, recorded);
    // 8 Mbit/s x (the mean of 14 ms + 1 ms).
    assert_eq!(forward.queue, QueueLimit::Bytes(Bytes::new(15_000)));
    let free = read(&text.replace("queue", "keep_order = false\nqueue")).expect("a scenario");
    assert_eq!(link(&free, "L").delay, recorded.in_order(false));
    let refused = |text: &str| read(text).expect_err("wrong").to_string();
    std::fs::write(folder.join("bad"), "10\n\n11\n").expect("a file");
    let found = refused(&text.replace("\"d\"", "\"bad\""));
    assert!(
        found.ends_with("bad: line 2: `` is not a delay in milliseconds, from 0 to an hour"),
        "{found}"
    );
    let found = refused(&text.replace("10 ms", "0 s"));
    assert!(
        found.ends_with(
            "link.L.delay.every: a delay must hold for longer than zero before the next"
        ),
        "{found}"
    );
    std::fs::remove_dir_all(&folder).expect("ours");
}

#[test]
fn steps_of_a_delay_may_repeat_in_one_line() {
    let text = "[link.L]\nrate = \"8 Mbit/s\"\ndelay = { every = \"15 s\", steps = [\"25 ms\", \"40 ms\"] }\n\
                queue = \"1 bdp\"\n[[flow]]\nroute = [\"L\"]\n";
    let steps = [25, 40].map(Duration::from_millis).to_vec();
    let row = DelayTrace::new(steps).expect("two");
    let cycle = Delay::cycle(Duration::from_secs(15), row).expect("steps");
    let plain = network(text);
    for name in ["L", "L (reverse)"] {
        assert_eq!(link(&plain, name).delay, cycle);
        // 8 Mbit/s x 80 ms, the greatest.
        assert_eq!(
            link(&plain, name).queue,
            QueueLimit::Bytes(Bytes::new(80_000))
        );
    }
    let kept = network(&text.replace("queue", "keep_order = true\nqueue"));
    for name in ["L", "L (reverse)"] {
        assert_eq!(link(&kept, name).delay, cycle.clone().in_order(true));
    }
}

#[test]
fn exactly_one_packet_of_the_written_direction_is_lost_at_each_instant() {
    let text = "[link.L]\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nloss = { drops = [\"2 s\", \"4 s\"] }\n\
                [[flow]]\nroute = [\"L\"]\nreceive_window = \"30 kB\"\n[run]\nduration = \"6 s\"\n";
    let plain = network(text);
    let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
    assert_eq!(link(&plain, "L").loss.drops, [at(2), at(4)]);
    assert_eq!(link(&plain, "L (reverse)").loss.drops, []);
    let flow = &crate::run(&plain).flows[0];
    assert_eq!((flow.lost.random, flow.lost.total()), (2, 2));
    assert_eq!((flow.retransmits, flow.loss_episodes), (2, 2));
    let back = text.replace("[[flow]]", "reverse = { loss = \"same\" }\n[[flow]]");
    assert_eq!(
        link(&network(&back), "L (reverse)").loss.drops,
        [at(2), at(4)]
    );
}

/// Each mistake, and exactly what is said of it.
#[test]
fn mistakes_name_file_line_key_and_the_nearest_right_word() {
    let several = |lines: &str| format!("[link.L]\n[[flow]]\n{lines}\n");
    let with =
        |line: &str| format!("[link.L]\nrate = \"8 Mbit/s\"\n{line}\n[[flow]]\nroute = [\"L\"]\n");
    let flow = |line: &str| format!("[link.L]\n[[flow]]\nroute = [\"L\"]\n{line}\n");
    let run = |line: &str| format!("{LEAST}[run]\n{line}\n");
    let sweep = |line: &str| format!("{LEAST}[sweep]\n{line}\n");
    let cases: &[(String, &str)] = &[
        (
            flow("stream = 8"),
            "scenario.toml:4: flow: unknown key `stream`, did you mean `streams`?",
        ),
        (
            flow("streams = 0"),
            "scenario.toml:4: flow.streams: must be from 1 to 65535, not 0",
        ),
        (
            several("routes = [[\"L\"], [\"L\"]]\nstreams = 2"),
            "scenario.toml:4: flow.streams: a flow with several `routes` or with `two_way` has one stream; leave one of them out",
        ),
        (
            flow("two_way = true\nstreams = 2"),
            "scenario.toml:5: flow.streams: a flow with several `routes` or with `two_way` has one stream; leave one of them out",
        ),
        (
            flow("two_way = true\nmessages = \"1 kB every 1 s\""),
            "scenario.toml:4: flow.two_way: a flow with `messages` sends one way only",
        ),
        (
            flow("size = \"1 MB\"\nmessages = \"1 kB every 1 s\""),
            "scenario.toml:5: flow.messages: a flow has either `size` or `messages`",
        ),
        (
            flow("streams = 2\ninterleave = false"),
            "scenario.toml:5: flow.interleave: only messages can be sent one after the other: write `messages` too",
        ),
        (
            flow("messages = \"1 kB\""),
            "scenario.toml:4: flow.messages: `1 kB` are no messages; write e.g. `20 kB every 10 ms`, or a table with `size` and `every`",
        ),
        (
            flow("messages = \"2 kB .. 1 kB every 1 s\""),
            "scenario.toml:4: flow.messages: the sizes from 2 kB to 1 kB end before they begin",
        ),
        (
            flow("messages = { size = \"0 B .. 1 kB\", every = \"1 s\" }"),
            "scenario.toml:4: flow.messages: a message has at least one byte",
        ),
        (
            flow("messages = { size = \"1 kB\" }"),
            "scenario.toml:4: flow.messages: `every` is missing; write e.g. `every = \"10 ms\"`",
        ),
        (
            flow("messages = { size = \"1 kB\", every = \"0 s\" }"),
            "scenario.toml:4: flow.messages: the time from one message to the next must not be zero",
        ),
        (
            flow("messages = { size = \"1 kB\", every = \"1 s\", exponentially = true }"),
            "scenario.toml:4: flow.messages: unknown key `exponentially`, did you mean `exponential`?",
        ),
        (
            flow("messages = { size = \"4 GB\", every = \"1 s\", count = 1000 }"),
            "scenario.toml:4: flow.messages: 1000 messages of 4 GB could be more than 2^31 segments of 1.448 kB",
        ),
        (
            flow("messages = \"1 B every 1 ns\""),
            "scenario.toml:1: 60000000001 messages of all flows are more than 10000000",
        ),
        (
            flow("count = 100\nstreams = 65535"),
            "scenario.toml:1: 6553500 streams of all flows are more than 1000000",
        ),
        (
            flow("controller = \"enhanced-aatp\"\nmessages = \"1 kB every 1 s\""),
            "scenario.toml:5: flow.messages: `enhanced-aatp` is carried by AATP, which has one stream of bulk data",
        ),
        (
            flow("controller = \"enhanced-aatp\"\nstreams = 3"),
            "scenario.toml:5: flow.streams: `enhanced-aatp` is carried by AATP, which has one stream of bulk data",
        ),
        (
            several("kind = \"udp\"\nrate = \"1 Mbit/s\"\nroute = [\"L\"]\nstreams = 2"),
            "scenario.toml:6: flow.streams: a flow of kind `udp` has no `streams`: that is for kind `tcp`",
        ),
        (
            several("routes = [[\"L\"], [\"L\"]]\ntwo_way = true"),
            "scenario.toml:4: flow.two_way: a flow with `routes` sends one way only",
        ),
        (
            several("routes = [[\"L\"], [\"L\"]]\nroute = [\"L\"]"),
            "scenario.toml:4: flow.route: a flow has either `route` or `routes`",
        ),
        (
            several("routes = [[\"L\"], [\"L\"]]\ncontroller = \"enhanced-aatp\""),
            "scenario.toml:3: flow.routes: only a TCP flow can have several routes, and this one is `aatp`: write `route`",
        ),
        (
            several("routes = [[\"L\"], [\"L\"]]\nkind = \"udp\"\nrate = \"1 Mbit/s\""),
            "scenario.toml:3: flow.routes: only a TCP flow can have several routes, and this one is `udp`: write `route`",
        ),
        (
            several("routes = [\"L\"]"),
            "scenario.toml:3: flow.routes: must be a list, not a string",
        ),
        (
            several("routes = []"),
            "scenario.toml:3: flow.routes: a flow has 1 to 8 routes, not 0",
        ),
        (
            several("routes = [[\"L\"], [\"M\"]]"),
            "scenario.toml:3: flow.routes: unknown link `M`; known: `L`",
        ),
        (
            several("routes = [[\"L\"], [\"L\"]]\nback = [[\"L\"]]"),
            "scenario.toml:4: flow.back: with `routes` it is a list of as many routes, 2, not 1",
        ),
        (
            with("los = \"1 %\""),
            "scenario.toml:3: link.L: unknown key `los`, did you mean `loss`?",
        ),
        (
            with("aqm = \"codle\""),
            "scenario.toml:3: link.L.aqm: unknown queue management `codle`, did you mean `codel`?",
        ),
        (
            with("aqm = { kind = \"rad\" }"),
            "scenario.toml:3: link.L.aqm.kind: unknown queue management `rad`, did you mean `red`?",
        ),
        (
            with("aqm = { min = \"5 packets\" }"),
            "scenario.toml:3: link.L.aqm: `kind` is missing; write e.g. `kind = \"red\"`",
        ),
        (
            with("aqm = { kind = \"red\", weigth = 1 }"),
            "scenario.toml:3: link.L.aqm: unknown key `weigth`, did you mean `weight`?",
        ),
        (
            with("aqm = { kind = \"red\", gentle = 1 }"),
            "scenario.toml:3: link.L.aqm.gentle: must be true or false, not `1`",
        ),
        (
            with("aqm = { kind = \"red\", min = \"5\" }"),
            "scenario.toml:3: link.L.aqm.min: `5` is not a queue; write e.g. `50 packets`, `64 kB`, `1 bdp` or `unlimited`",
        ),
        (
            with("aqm = { kind = \"red\", min = \"5 packets\", max = \"9 kB\" }"),
            "scenario.toml:3: link.L.aqm: `min` and `max` must both be in packets, or both in bytes or `bdp`",
        ),
        (
            LEAST.replace("[link.L]", "[link.L]\naqm = \"mark?threshold=1 bdp\""),
            "scenario.toml:2: link.L.aqm: a threshold in `bdp` needs the link's `rate`; write one, or the threshold in packets or bytes",
        ),
        (
            LEAST.replace(
                "[link.L]",
                "[link.L]\nwifi = \"65 Mbit/s\"\naqm = \"codel\"",
            ),
            "scenario.toml:3: link.L.aqm: the queues of a Wi-Fi link are DropTail: write `aqm` on a link with a `rate`, e.g. one behind it",
        ),
        (
            LEAST.replace(
                "[link.L]",
                "[link.L]\nwifi = \"65 Mbit/s\"\nreverse = { aqm = \"red\" }",
            ),
            "scenario.toml:3: link.L.reverse.aqm: the queues of a Wi-Fi link are DropTail: write `aqm` on a link with a `rate`, e.g. one behind it",
        ),
        (
            with("loss = \"1 percent\""),
            "scenario.toml:3: link.L.loss: `1 percent` is not a probability: unknown unit `percent`, the units are %; write e.g. `1 %`",
        ),
        (
            with("loss = { gilbert-eliott = {} }"),
            "scenario.toml:3: link.L.loss: unknown key `gilbert-eliott`, did you mean `gilbert-elliott`?",
        ),
        (
            with("loss = { gilbert-elliott = { god = \"1 s\" } }"),
            "scenario.toml:3: link.L.loss.gilbert-elliott: unknown key `god`, did you mean `good`?",
        ),
        (
            with("loss = { gilbert-elliott = { good = \"1 s\", r = 0.2 } }"),
            "scenario.toml:3: link.L.loss.gilbert-elliott: needs either the mean times `good` and `bad` that the channel stays so, e.g. `{ good = \"10 s\", bad = \"0.5 s\" }`, or the chances `p` and `r` that it turns bad and good again with a packet, e.g. `{ p = \"1 %\", r = \"20 %\" }`",
        ),
        (
            with("loss = { gilbert-elliott = { p = \"1 %\", r = 2 } }"),
            "scenario.toml:3: link.L.loss.gilbert-elliott.r: 2 is no probability: it must lie in 0 to 1 (0 % to 100 %)",
        ),
        (
            with("loss = { random_outages = { count = 3 } }"),
            "scenario.toml:3: link.L.loss.random_outages: `length` is missing; write e.g. `length = \"0.5 s\"`",
        ),
        (
            with("loss = { random_outages = { count = 61, length = \"1 s\" } }"),
            "scenario.toml:3: link.L.loss.random_outages: 61 outages of 1 s do not fit into 60 s",
        ),
        (
            with(
                "loss = { random_outages = { count = 1, length = \"1 s\", within = [\"9 s\", \"9 s\"] } }",
            ),
            "scenario.toml:3: link.L.loss.random_outages: 1 outages of 1 s do not fit into 0 s",
        ),
        (
            with("loss = { random_outages = { count = 1, length = \"1 s\", within = \"9 s\" } }"),
            "scenario.toml:3: link.L.loss.random_outages.within: must be a list, not a string",
        ),
        (
            with("loss = { random_outages = { count = 1, length = \"0 s\" } }"),
            "scenario.toml:3: link.L.loss.random_outages: outages must be longer than zero",
        ),
        (
            with("loss = { random_outages = { count = -1, length = \"1 s\" } }"),
            "scenario.toml:3: link.L.loss.random_outages.count: must be from 0 to 100000, not -1",
        ),
        (
            with("loss = { outages = [[\"5 s\", \"4 s\"]] }"),
            "scenario.toml:3: link.L.loss.outages: an outage from 5 s to 4 s has no length",
        ),
        (
            with("loss = { outages = [[\"1 s\", \"4 s\"], [\"3 s\", \"5 s\"]] }"),
            "scenario.toml:3: link.L.loss.outages: outages must be in order of time and must not overlap",
        ),
        (
            with("loss = { drops = [\"5 s\", \"5 s\"] }"),
            "scenario.toml:3: link.L.loss.drops: drops must be in order of time, each later than the one before",
        ),
        (
            with("loss = { drops = \"5 s\" }"),
            "scenario.toml:3: link.L.loss.drops: must be a list, not a string",
        ),
        (
            with("loss = { drop = [\"5 s\"] }"),
            "scenario.toml:3: link.L.loss: unknown key `drop`, did you mean `drops`?",
        ),
        (
            with("keep_order = \"yes\""),
            "scenario.toml:3: link.L.keep_order: must be true or false, not a string",
        ),
        (
            with("delay = { every = \"15 s\" }"),
            "scenario.toml:3: link.L.delay: needs either `steps` that repeat, e.g. `{ every = \"15 s\", steps = [\"25 ms\", \"40 ms\"] }`, \
             or a recorded `trace`, e.g. `{ every = \"10 ms\", trace = \"delay.txt\" }`",
        ),
        (
            with("delay = { steps = [\"15 ms\"] }"),
            "scenario.toml:3: link.L.delay: `every` is missing; write e.g. `every = \"10 ms\"`",
        ),
        (
            with("delay = { every = \"15 s\", steps = [] }"),
            "scenario.toml:3: link.L.delay.steps: needs at least one delay",
        ),
        (
            with("delay = { every = \"15 s\", steps = [\"5\"] }"),
            "scenario.toml:3: link.L.delay.steps: `5` is not a time: its unit is missing; write e.g. `50 ms`",
        ),
        (
            with("delay = 50"),
            "scenario.toml:3: link.L.delay: `50` is not a time: its unit is missing; write e.g. `50 ms`",
        ),
        (
            with("delay = [[\"1 s\", \"5 ms\"]]"),
            "scenario.toml:3: link.L.delay: the first step of a schedule must begin at 0 s",
        ),
        (
            with("delay = [[\"0 s\"]]"),
            "scenario.toml:3: link.L.delay: must be a pair, not a list of 1; write e.g. `[\"5 s\", \"50 ms\"]`",
        ),
        (
            with("delay = []"),
            "scenario.toml:3: link.L.delay: a schedule needs at least one step",
        ),
        (
            with("queue = \"50 pakets\""),
            "scenario.toml:3: link.L.queue: `50 pakets` is not a queue; write e.g. `50 packets`, `64 kB`, `1 bdp` or `unlimited`",
        ),
        (
            with("queue = \"1.5 packets\""),
            "scenario.toml:3: link.L.queue: `1.5 packets` is not a queue; write e.g. `50 packets`, `64 kB`, `1 bdp` or `unlimited`",
        ),
        (
            with("queue = \"-1 bdp\""),
            "scenario.toml:3: link.L.queue: `-1 bdp` is not a queue; write e.g. `50 packets`, `64 kB`, `1 bdp` or `unlimited`",
        ),
        (
            with("queue = 50"),
            "scenario.toml:3: link.L.queue: `50` is not a queue; write e.g. `50 packets`, `64 kB`, `1 bdp` or `unlimited`",
        ),
        (
            with("reverse = { los = 0 }"),
            "scenario.toml:3: link.L.reverse: unknown key `los`, did you mean `loss`?",
        ),
        (
            flow("qqq = 1"),
            "scenario.toml:4: flow: unknown key `qqq`; known: `name`, `kind`, `count`, ",
        ),
        (
            LEAST.replace("[link.L]", "[link.L]\nqueue = \"1 bdp\""),
            "scenario.toml:2: link.L.queue: a queue in `bdp` needs the link's `rate`; write one, or the queue in packets or bytes",
        ),
        (
            LEAST.replace("[link.L]", "[link.L]\nrate = \"0 bit/s\""),
            "scenario.toml:2: link.L.rate: a rate must be greater than zero; for a link that is down for a while write e.g. `loss = { outages = [[\"4 s\", \"5 s\"]] }`",
        ),
        (
            LEAST.replace("[link.L]", "[link.L]\nrate = { trac = \"t\" }"),
            "scenario.toml:2: link.L.rate: unknown key `trac`, did you mean `trace`?",
        ),
        (
            LEAST.replace("\"L\"", "\"M\""),
            "scenario.toml:3: flow.route: unknown link `M`; known: `L`",
        ),
        (
            LEAST.replace("[\"L\"]", "[]"),
            "scenario.toml:3: flow.route: a route has 1 to 64 links, not 0",
        ),
        (
            LEAST.replace("[[flow]]", "[flow]"),
            "scenario.toml:2: flow: flows are a list: write [[flow]], with two brackets",
        ),
        (
            "[link.L]\n".to_owned(),
            "scenario.toml:1: there is no flow; write e.g. [[flow]] with `route = [\"L\"]`",
        ),
        (
            "[link.L]\n[[flow]]\n".to_owned(),
            "scenario.toml:2: flow: `route` is missing; write e.g. `route = [\"L\"]`",
        ),
        (
            flow("controller = \"cubik\""),
            "scenario.toml:4: flow.controller: unknown controller `cubik`, did you mean `cubic`?",
        ),
        (
            flow("controller = [\"cubic\", \"cerl\"]"),
            "scenario.toml:4: flow.controller: must be a string, not a list; to try several values, write `\"flow.controller\" = [\"cubic\", \"cerl\"]` under [sweep]",
        ),
        (
            flow("start = \"5 s .. 1 s\""),
            "scenario.toml:4: flow.start: the span from 5 s to 1 s ends before it begins",
        ),
        (
            flow("start = \"0 s .. 5 s\"\nstop = \"3 s\""),
            "scenario.toml:2: flow: the flow could stop (3 s) before it starts (5 s)",
        ),
        (
            flow("size = \"0 B\""),
            "scenario.toml:4: flow.size: a flow must have something to send; leave `size` out for an endless one",
        ),
        (
            flow("size = \"8000 TB\""),
            "scenario.toml:4: flow.size: 8000000 GB are more than 2^31 segments of 1.448 kB; write less, or a greater `mss`",
        ),
        (
            flow("count = 100001"),
            "scenario.toml:4: flow.count: must be from 0 to 100000, not 100001",
        ),
        (
            flow("count = 0"),
            "scenario.toml:1: there is no flow: every `count` is 0",
        ),
        (
            flow("count = 1.5"),
            "scenario.toml:4: flow.count: must be a whole number from 0 to 100000, not 1.5",
        ),
        (
            flow("kind = \"udp4\""),
            "scenario.toml:4: flow.kind: unknown kind of flow `udp4`, did you mean `udp`?",
        ),
        (
            flow("rate = \"1 Mbit/s\""),
            "scenario.toml:4: flow.rate: a flow of kind `tcp` has no `rate`: that is for kind `udp`",
        ),
        (
            flow("kind = \"tcp\"\ncontroller = \"enhanced-aatp\""),
            "scenario.toml:5: flow.controller: `enhanced-aatp` lives on reports on bursts: write `kind = \"aatp\"`, or leave `kind` out",
        ),
        (
            flow("kind = \"aatp\"\ncontroller = \"cubic\""),
            "scenario.toml:5: flow.controller: `cubic` lives on acknowledgments: write `kind = \"tcp\"`, or leave `kind` out",
        ),
        (
            flow("kind = \"tcp\"\npriority = 2"),
            "scenario.toml:5: flow.priority: a flow of kind `tcp` has no `priority`: that is for kind `aatp`",
        ),
        (
            flow("kind = \"aatp\"\nrecovery = \"sack\""),
            "scenario.toml:5: flow.recovery: a flow of kind `aatp` has no `recovery`: that is for kind `tcp`",
        ),
        (
            flow("kind = \"udp\"\nrate = \"1 Mbit/s\"\ndestination = \"L\""),
            "scenario.toml:6: flow.destination: a flow of kind `udp` has no `destination`: that is for kind `aatp`",
        ),
        (
            flow("controller = \"enhanced-aatp\"\nrate = \"1 Mbit/s\""),
            "scenario.toml:5: flow.rate: a flow of kind `aatp` has no `rate`: that is for kind `udp`",
        ),
        (
            flow("controller = \"enhanced-aatp\"\ntwo_way = true"),
            "scenario.toml:5: flow.two_way: `enhanced-aatp` is carried by AATP, which sends one way only",
        ),
        (
            flow("controller = \"enhanced-aatp\"\nmss = \"64 B\""),
            "scenario.toml:2: flow: an AATP packet (`mss` and `header`) must be at least 128 B, not 116 B",
        ),
        (
            flow("kind = \"aatp\"\nsize = \"8000 TB\""),
            "scenario.toml:5: flow.size: 8000000 GB are more than 2^31 segments of 1.429 kB; write less, or a greater `mss`",
        ),
        (
            flow("kind = \"atp\""),
            "scenario.toml:4: flow.kind: unknown kind of flow `atp`, did you mean `aatp`?",
        ),
        (
            flow("priority = 9"),
            "scenario.toml:4: flow.priority: must be from 1 to 8, not 9",
        ),
        (
            flow("kind = \"aatp\"\npriorty = 2"),
            "scenario.toml:5: flow: unknown key `priorty`, did you mean `priority`?",
        ),
        (
            flow("timer = \"0 s\""),
            "scenario.toml:4: flow.timer: must be from 1 us to 10 s, not 0 s",
        ),
        (
            flow("circuit_breaker = \"1 ms\""),
            "scenario.toml:4: flow.circuit_breaker: must be from 10 ms to 3600 s, or `off`, not 1 ms",
        ),
        (
            run("reestimate = \"2 h\""),
            "scenario.toml:5: run.reestimate: must be from 10 ms to 3600 s, or `off`, not 7200 s",
        ),
        (
            flow("destination = \"L*\""),
            "scenario.toml:4: flow.destination: a destination's name must not be empty or end in `*`, which stands for own copies",
        ),
        (
            flow("destination = \"client\"\n[destination.clint]"),
            "scenario.toml:5: destination.clint: unknown destination `clint`, did you mean `client`?",
        ),
        (
            flow("kind = \"tcp\"\n[destination.L]"),
            "scenario.toml:5: destination.L: unknown destination `L`: there is none",
        ),
        (
            flow("[destination.L]\ngama = 5"),
            "scenario.toml:5: destination.L: unknown key `gama`, did you mean `gamma`?",
        ),
        (
            flow("[destination.L]\nbeta = -1"),
            "scenario.toml:5: destination.L.beta: must be from 0 to 1, not -1",
        ),
        (
            flow("[destination.L]\nbandwidth = \"0 bit/s\""),
            "scenario.toml:5: destination.L.bandwidth: a bandwidth must be greater than zero; leave it out to have it estimated",
        ),
        (
            with("wifi = \"65 Mbit/s\""),
            "scenario.toml:2: link.L.rate: a link has a `rate` or is `wifi`, not both: the rate of Wi-Fi is `wifi`'s",
        ),
        (
            LEAST.replace(
                "[link.L]",
                "[link.L]\nwifi = \"6.5 Mbit/s\"\nreverse = { rate = \"1 Mbit/s\" }",
            ),
            "scenario.toml:3: link.L.reverse.rate: both directions of a Wi-Fi link share one channel: its rate is `wifi`'s",
        ),
        (
            LEAST.replace("[link.L]", "[link.L]\nwifi = \"0 bit/s\""),
            "scenario.toml:2: link.L.wifi: 802.11n has no rate of 0 bit/s; the nearest are 6.5 Mbit/s",
        ),
        (
            LEAST.replace(
                "[link.L]",
                "[link.L]\nwifi = { rate = \"65 Mbit/s\", cw_max = 7 }",
            ),
            "scenario.toml:2: link.L.wifi: `cw_max` (7) must be at least `cw_min` (15)",
        ),
        (
            LEAST.replace(
                "[link.L]",
                "[link.L]\nwifi = { rate = \"65 Mbit/s\", aggregation = 3 }",
            ),
            "scenario.toml:2: link.L.wifi.aggregation: must be true, false or a table, not a number; write e.g. `{ frames = 16 }`",
        ),
        (
            LEAST.replace(
                "[link.L]",
                "[link.L]\nwifi = { rate = \"65 Mbit/s\", aggregation = { frames = 65 } }",
            ),
            "scenario.toml:2: link.L.wifi.aggregation.frames: must be from 1 to 64, not 65",
        ),
        (
            LEAST.replace(
                "[link.L]",
                "[link.L]\nwifi = { rate = \"65 Mbit/s\", longest = \"1 s\" }",
            ),
            "scenario.toml:2: link.L.wifi.longest: must be from 100 us to 10 ms, not 1 s",
        ),
        (
            LEAST.replace("[link.L]", "[link.L]\nwifi = { frame_loss = \"1 %\" }"),
            "scenario.toml:2: link.L.wifi: `rate` is missing; write e.g. `rate = \"65 Mbit/s\"`",
        ),
        (
            LEAST.replace("[link.L]", "[link.L]\nwifi = { rat = 1 }"),
            "scenario.toml:2: link.L.wifi: unknown key `rat`, did you mean `rate`?",
        ),
        (
            flow("kind = \"udp\"\nmss = \"1 kB\""),
            "scenario.toml:5: flow.mss: a flow of kind `udp` has no `mss`: that is for kind `tcp`",
        ),
        (
            flow("kind = \"udp\""),
            "scenario.toml:2: flow: `rate` is missing; write e.g. `rate = \"1 Mbit/s\"`",
        ),
        (
            flow("kind = \"udp\"\nrate = \"1 Mbit/s\"\non = \"1 s\""),
            "scenario.toml:2: flow: a flow that sends in bursts needs both `on` and `off`",
        ),
        (
            flow("recovery = \"rac\""),
            "scenario.toml:4: flow.recovery: unknown recovery `rac`, did you mean `rack`?",
        ),
        (
            flow("mss = \"10 B\""),
            "scenario.toml:4: flow.mss: must be from 64 B to 64 kB, not 10 B",
        ),
        (
            flow("min_rto = \"2 min\""),
            "scenario.toml:2: flow: `min_rto` (120 s) must be greater than zero and at most `max_rto` (60 s)",
        ),
        (
            flow("name = \"count\""),
            "scenario.toml:2: flow: `count` cannot name a flow: a sweep would take it for a key",
        ),
        (
            run("durations = \"1 s\""),
            "scenario.toml:5: run: unknown key `durations`, did you mean `duration`?",
        ),
        (
            run("duration = \"0 s\""),
            "scenario.toml:5: run.duration: must be greater than zero",
        ),
        (
            run("seeds = 0"),
            "scenario.toml:5: run.seeds: must be from 1 to 100000, not 0",
        ),
        (
            run("seeds = [1, 2, 1]"),
            "scenario.toml:5: run.seeds: seed 1 stands twice: it would give the same run twice",
        ),
        (
            run("seeds = [1]\nseed = 2"),
            "scenario.toml:5: run.seeds: `seed` has no meaning beside a list of `seeds`",
        ),
        (
            run("sample = \"1 us\""),
            "scenario.toml:1: a `sample` every 1 us gives 180000000 samples in a run, more than 20000000; sample less often",
        ),
        (
            run("seeds = 100000\n[sweep]\n\"link.L.loss\" = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]"),
            "scenario.toml:1: points times seeds are more than 1000000 runs",
        ),
        (
            sweep("\"link.M.loss\" = [\"1 %\"]"),
            "scenario.toml:5: link.M.loss: unknown link `M`; known: `L`",
        ),
        (
            sweep("\"link.L.los\" = [\"1 %\"]"),
            "scenario.toml:5: link.L.los: unknown key `los`, did you mean `loss`?",
        ),
        (
            sweep("\"link.L.loss.random\" = [\"1 %\"]\n\"link.L.loss\" = [\"2 %\", \"x\"]"),
            "scenario.toml:6: link.L.loss: `x` is not a probability: it must begin with a number; write e.g. `1 %`",
        ),
        (
            sweep("\"flow.contoller\" = [\"cubic\"]"),
            "scenario.toml:5: flow.contoller: unknown key or flow `contoller`, did you mean `controller`?",
        ),
        (
            sweep("\"flow.1.controller\" = [\"cubic\"]"),
            "scenario.toml:5: flow.1.controller: there is no flow 1: the first is 0, the last 0",
        ),
        (
            sweep("\"flow.packet\" = [\"1 kB\"]"),
            "scenario.toml:5: flow.packet: no flow can have `packet`",
        ),
        (
            sweep("\"flow.controller.x\" = [1]").replace("route", "controller = \"cubic\"\nroute"),
            "scenario.toml:6: flow.controller.x: `controller` is a string, so it has no `x`",
        ),
        (
            sweep("\"run.recoveri\" = [\"sack\"]"),
            "scenario.toml:5: run.recoveri: unknown key `recoveri`, did you mean `recovery`?",
        ),
        (
            sweep("\"destination.L.gama\" = [1]"),
            "scenario.toml:5: destination.L.gama: unknown key `gama`, did you mean `gamma`?",
        ),
        (
            sweep("\"destination.M.gamma\" = [1]"),
            "scenario.toml:5: destination.M: unknown destination `M`; known: `L`",
        ),
        (
            sweep("\"destination.L\" = [1]"),
            "scenario.toml:5: destination.L: a whole destination cannot be set; write e.g. `destination.L.bandwidth`",
        ),
        (
            sweep("\"flow.timer\" = [\"1 ms\"]").replace("route", "kind = \"tcp\"\nroute"),
            "scenario.toml:6: flow.timer: no flow can have `timer`",
        ),
        (
            sweep("\"lonk.L.loss\" = [0]"),
            "scenario.toml:5: lonk.L.loss: unknown key `lonk`, did you mean `link`?",
        ),
        (
            sweep("link.L.loss = [0]"),
            "scenario.toml:5: sweep.link: write the whole key in quotes: `\"link.…\" = […]`",
        ),
        (
            sweep("\"link.L.loss\" = []"),
            "scenario.toml:5: sweep.link.L.loss: needs at least one value",
        ),
        (
            sweep("\"link.L.loss\" = 0"),
            "scenario.toml:5: sweep.link.L.loss: must be a list of values, not a number",
        ),
        (
            sweep("\"flow.controller\" = [\"cubic\",\n\"cerl?B=1\"]"),
            "scenario.toml:6: flow.controller: unknown parameter of `cerl` `B`",
        ),
        (
            format!("flows = 1\n{LEAST}"),
            "scenario.toml:1: unknown key `flows`, did you mean `flow`?",
        ),
        (
            "[link.L\n".to_owned(),
            "scenario.toml:1: this is not TOML: ",
        ),
        (
            LEAST.replace("[link.L]", "link = 5"),
            "scenario.toml:1: link: must be a table, not a number",
        ),
    ];
    let mut wrong = String::new();
    for (text, expected) in cases {
        let found = error(text);
        // The registry lists all it knows behind some of its errors: the beginning is ours.
        let open = expected.ends_with(": ")
            || expected.contains("parameter of")
            || expected.contains("cubik")
            || expected.contains("qqq");
        if !(found == *expected || open && found.starts_with(expected)) {
            let _ = write!(wrong, "\nexpected {expected}\nfound    {found}\nin\n{text}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in ".*") {
        let _ = Scenario::parse(&text, Path::new("a.toml"));
    }

    /// Tokens of the language in any order get further than arbitrary text does.
    #[test]
    fn arbitrary_tokens_never_panic(tokens in prop::collection::vec(prop::sample::select(vec![
        "[link.L]\n", "[[flow]]\n", "[flow]\n", "[run]\n", "[sweep]\n", "rate = ", "delay = ", "queue = ", "loss = ", "reverse = ",
        "wifi = ", "kind = ", "\"aatp\"", "controller = ", "\"enhanced-aatp\"", "priority = ", "destination = ", "timer = ", "reestimate = ",
        "[destination.L]\n", "gamma = ", "bandwidth = ", "\"destination.L.beta\" = ",
        "streams = ", "messages = ", "interleave = ", "every = ", "\"1 B every 1 s\"",
        "route = ", "routes = ", "start = ", "stop = ", "size = ", "mss = ", "seeds = ", "sample = ", "duration = ", "\"flow.controller\" = ",
        "\"link.L.loss\" = ", "\"flow.0.count\" = ", "\"L\"", "\"L*\"", "[\"L\"]", "\"1 bdp\"", "\"0 s\"", "\"1e9 s\"", "\"1 bit/s\"", "[", "]",
        ", ", "{ trace = \"/\" }", "{ every = \"1 ms\", steps = [\"2 ms\", \"1 ms\"] }", "{ drops = [\"1 s\"] }", "keep_order = ", "{ random = 1 }", "{", "}", "1", "-1", "nan", "9223372036854775807", "\"9 Gbit/s\"",
        "\"0 s .. 9 s\"", "\"1 B\"", "\"9007199 GB\"", "\"cerl?A=1\"", "true", "1979-05-27", "\n",
    ]), 0..40)) {
        if let Ok(scenario) = Scenario::parse(&tokens.concat(), Path::new("a.toml")) {
            let _ = scenario.points()[0].network(0);
        }
    }

    #[test]
    fn a_mutilated_scenario_never_panics(
        whole in prop::sample::select(vec![DESIGN, SHARED, SEVERAL, MESSAGES]),
        cut in any::<prop::sample::Index>(),
        len in 0_usize..40,
        insert in "[ -~\n]{0,6}",
    ) {
        let cut = cut.index(whole.len());
        let end = (cut + len).min(whole.len());
        if whole.is_char_boundary(cut) && whole.is_char_boundary(end) {
            let text = format!("{}{insert}{}", &whole[..cut], &whole[end..]);
            if let Ok(scenario) = Scenario::parse(&text, Path::new("a.toml"))
                && let Some(point) = scenario.points().last()
            {
                let _ = (point.capacity(), point.network(u64::MAX));
            }
        }
    }

    #[test]
    fn arbitrary_settings_never_panic(
        key in "(link|flow|destination|run|sweep)?[.]?[A-Za-z0-9.\"*]{0,12}",
        value in "[ -~]{0,12}",
        base in prop::sample::select(vec![DESIGN, SHARED, LEAST, "flow = []", ""]),
    ) {
        let document = Document::parse(base, Path::new("a.toml")).expect("TOML");
        let _ = Scenario::from_document(document, &[Setting { key, value }]);
    }
}
