//! `streams`, `messages` and `interleave`.

use super::*;
use crate::network::{Messages, Streams};
use whimbrel_units::Bytes;

#[test]
fn streams_and_messages_are_read_in_every_notation() {
    let scenario = Scenario::parse(MESSAGES, Path::new("a.toml")).expect("a scenario");
    let network = scenario.points()[1].network(1);
    let streams = network.flows.iter().map(|flow| match &flow.traffic {
        Traffic::Tcp(tcp) => tcp.streams,
        Traffic::Aatp(_) | Traffic::Udp(_) => panic!("all are TCP"),
    });
    let short = Messages {
        min_size: Bytes::new(1000),
        max_size: Bytes::new(20_000),
        every: Duration::from_millis(10),
        exponential: false,
        count: None,
    };
    let table = Messages {
        min_size: Bytes::new(2000),
        max_size: Bytes::new(2000),
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
fn algorithms_published_with_streams_have_eight_by_default() {
    let count = |lines: &str| {
        let text = format!("[link.L]\n[[flow]]\n{lines}\n");
        let scenario = Scenario::parse(&text, Path::new("a.toml")).expect("a scenario");
        match &scenario.points()[0].network(1).flows[0].traffic {
            Traffic::Tcp(tcp) => tcp.streams.count,
            Traffic::Aatp(_) | Traffic::Udp(_) => panic!("it is TCP"),
        }
    };
    for (controller, expected) in [
        ("mfast", 8),
        ("emfast", 8),
        ("sctp", 8),
        ("fast", 1),
        ("cubic", 1),
    ] {
        let flow = |more: &str| format!("controller = \"{controller}\"\n{more}");
        assert_eq!(count(&flow("route = [\"L\"]")), expected, "{controller}");
        assert_eq!(count(&flow("route = [\"L\"]\nstreams = 3")), 3);
        // These flows can have one stream only.
        assert_eq!(count(&flow("route = [\"L\"]\ntwo_way = true")), 1);
        assert_eq!(count(&flow("routes = [[\"L\"], [\"L\"]]")), 1);
    }
}
