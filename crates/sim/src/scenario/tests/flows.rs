//! `[[flow]]`: counts, names, starts, settings and the transport.

use super::aatp::aatp;
use super::*;
use crate::network::{LinkId, Recovery};
use whimbrel_net::QueueLimit;
use whimbrel_units::{Bytes, Time};

#[test]
fn a_flow_may_have_a_count_of_zero() {
    // A sweep can begin without cross traffic. The queue is the same with and without it.
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
    assert!(error(&none).ends_with("no flows: every `count` is 0"));
}

#[test]
fn the_example_has_twelve_points_of_ten_flows() {
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
    // Ten flows of 1 Mbit/s share 8 Mbit/s.
    assert_eq!(point.capacity(), Some("8 Mbit/s".parse().expect("a rate")));

    let network = point.network(3);
    assert_eq!(network.flows.len(), 10);
    // Two directions of L, and of two access links per flow.
    assert_eq!(network.links.len(), 2 + 10 * 4);
    assert_eq!(network.duration, Duration::from_secs(100));
    let flow = &network.flows[2];
    assert_eq!(flow.name.to_string(), "cubic #3");
    let called = |ids: &[LinkId]| -> Vec<String> {
        ids.iter()
            .map(|id| network.links[id.0 as usize].name.to_string())
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

#[test]
fn starts_depend_only_on_the_seed() {
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
        "all points have the same starts, so that they differ only in the swept value"
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
fn settings_of_a_flow_override_those_of_the_run() {
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
    assert_eq!(network.flows[0].name.to_string(), "a");
}

#[test]
fn the_controller_determines_the_transport() {
    let text = format!(
        "{MINIMAL}mss = \"8948 B\"\nrecovery = \"sack\"\npriority = 4\nsize = \"1 GB\"\n\
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
    assert_eq!(network.flows[0].name.to_string(), "enhanced-aatp #1");
    assert_eq!(flow.priority.get(), 4);
    assert_eq!(flow.size, tcp.size);
    // The same size on the wire as TCP: 8948 bytes of data, 52 of headers.
    assert_eq!(flow.settings.packet, Bytes::new(9000));
    assert!(points[0].network(1).destinations.is_empty());
}

#[test]
fn udp_flows_can_send_in_bursts() {
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
    // 4 Mbit/s for a quarter of the time.
    assert_eq!(
        parse(text).points()[0].capacity(),
        Some("1 Mbit/s".parse().expect("a rate"))
    );
}
