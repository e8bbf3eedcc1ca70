//! Goodput where datagrams overtake each other, in virtual time.

use super::Connection;
use super::testing::{Network, Path, Reordering, client_config, server_config, transport};
use crate::{Factory, SharedNode, tolerate_reordering};
use bytes::Bytes as Data;
use noq_proto::{TransportConfig, VarInt};
use std::cell::Cell;
use std::rc::Rc;
use whimbrel_cc::fairness::Priority;
use whimbrel_units::{Bytes, Duration, Probability, Rate, Time};

/// 20 Mbit/s and a round trip of 40 ms; a buffer of one BDP.
const RATE: u64 = 20_000_000;
const RTT: Duration = Duration::from_millis(40);

/// What the path does to datagrams.
#[derive(Debug, Clone, Copy, Default)]
struct Faults {
    loss: f64,
    share: f64,
    detour: Duration,
}

fn config(change: impl Fn(&mut TransportConfig)) -> TransportConfig {
    let mut config = transport();
    let window = VarInt::from_u32(16 << 20);
    config.stream_receive_window(window).receive_window(window);
    config.send_window(16 << 20);
    change(&mut config);
    config
}

/// Megabits a second of a transfer of `seconds`.
fn goodput(
    controller: &str,
    faults: Faults,
    seconds: u64,
    change: impl Fn(&mut TransportConfig),
) -> f64 {
    let rate = Rate::from_bits_per_sec(RATE);
    let mut path = Path::symmetric(rate, RTT / 2, Bytes::new(RATE / 8 / 25));
    path.forth.loss.random = Probability::new(faults.loss).expect("below 1");
    let mut network = Network::new(&path, 5);
    let factory = |name: &str| Factory::for_endpoint(name.parse().expect("registered")).seed(5);
    let transport = config(change);
    let client = factory(controller);
    let client = client.client(
        client_config(transport.clone()),
        transport.clone(),
        Priority::LOWEST,
    );
    let node = SharedNode::default();
    let server = factory("cubic").server(server_config(transport.clone()), transport, node);
    let (client, server) = network.connect(client, server);
    network.reorder(Reordering {
        share: faults.share,
        detour: faults.detour,
        state: 7,
    });
    let arrived = stream(&mut network, client, server);
    let begun = network.now();
    network.run_until(begun + Duration::from_secs(seconds));
    arrived.get() as f64 * 8e-6 / network.now().since(begun).as_secs_f64()
}

/// Sends without an end. The cell counts the bytes that were read in order.
fn stream(network: &mut Network, client: Connection, server: Connection) -> Rc<Cell<usize>> {
    network.spawn(async move {
        let mut stream = client.open_uni().await.expect("open");
        let data = Data::from(vec![7; 64 << 10]);
        while stream.write_chunk(data.clone()).await.is_ok() {}
    });
    let arrived = Rc::new(Cell::new(0));
    let count = Rc::clone(&arrived);
    network.spawn(async move {
        let mut stream = server.accept_uni().await.expect("opened");
        while let Ok(Some(data)) = stream.read_chunk(usize::MAX).await {
            count.set(count.get() + data.len());
        }
    });
    arrived
}

const NONE: Faults = Faults {
    loss: 0.0,
    share: 0.0,
    detour: Duration::ZERO,
};

/// Prints what each threshold costs and gains: the source of the choice.
#[test]
#[ignore = "a measurement"]
fn thresholds() {
    let cases = [
        ("clean", NONE),
        ("1 % loss", Faults { loss: 0.01, ..NONE }),
        (
            "50 %, 2 ms",
            Faults {
                share: 0.5,
                detour: Duration::from_millis(2),
                ..NONE
            },
        ),
        (
            "50 %, RTT/4",
            Faults {
                share: 0.5,
                detour: RTT / 4,
                ..NONE
            },
        ),
        (
            "50 %, RTT/2",
            Faults {
                share: 0.5,
                detour: RTT / 2,
                ..NONE
            },
        ),
        (
            "50 %, RTT/4, 1 %",
            Faults {
                share: 0.5,
                detour: RTT / 4,
                loss: 0.01,
            },
        ),
    ];
    let thresholds = [
        ("3, 9/8", 3, 1.125),
        ("3, 5/4", 3, 1.25),
        ("many, 9/8", u32::MAX / 2, 1.125),
        ("many, 5/4", u32::MAX / 2, 1.25),
        ("many, 3/2", u32::MAX / 2, 1.5),
    ];
    for controller in ["cubic", "cubic+cerl-plus", "bbr", "whimbrel"] {
        println!("{controller}");
        for (name, faults) in cases {
            print!("{name:20}");
            for (_, packets, time) in thresholds {
                let rate = goodput(controller, faults, 10, |config| {
                    config.packet_threshold(packets).time_threshold(time);
                });
                print!(" {rate:8.1}");
            }
            println!();
        }
    }
    println!("{:?}", thresholds.map(|(name, ..)| name));
}

#[test]
fn packets_that_overtake_each_other_cost_no_more_than_a_tenth() {
    let half = Faults {
        share: 0.5,
        detour: RTT / 4,
        ..NONE
    };
    for controller in ["cubic", "cubic+cerl-plus", "whimbrel"] {
        let set = tolerate_reordering;
        let (calm, reordered) = (
            goodput(controller, NONE, 6, set),
            goodput(controller, half, 6, set),
        );
        assert!(
            reordered > 0.9 * calm,
            "{controller}: {reordered} of {calm} Mbit/s"
        );
        // What RFC 9002 recommends to begin with.
        let usual = goodput(controller, half, 6, |_| ());
        assert!(usual < 0.7 * calm, "{controller}: {usual} of {calm} Mbit/s");
    }
}

#[test]
fn tolerance_costs_little_where_packets_are_lost() {
    let lossy = Faults { loss: 0.01, ..NONE };
    for controller in ["cubic", "cubic+cerl-plus", "bbr", "whimbrel"] {
        let (usual, tolerant) = (
            goodput(controller, lossy, 10, |_| ()),
            goodput(controller, lossy, 10, tolerate_reordering),
        );
        assert!(
            tolerant > 0.85 * usual,
            "{controller}: {tolerant} of {usual} Mbit/s"
        );
    }
}

/// A packet is repaired 9/4 round trips after it was sent; a repair may be lost itself.
#[test]
fn losses_hold_data_up_for_a_few_round_trips() {
    let rate = Rate::from_bits_per_sec(RATE);
    let mut path = Path::symmetric(rate, RTT / 2, Bytes::new(RATE / 8 / 25));
    path.forth.loss.random = Probability::new(0.02).expect("below 1");
    let mut network = Network::new(&path, 3);
    let transport = config(tolerate_reordering);
    let factory = Factory::for_endpoint("copa".parse().expect("registered")).seed(5);
    let client = factory.client(
        client_config(transport.clone()),
        transport.clone(),
        Priority::LOWEST,
    );
    let node = SharedNode::default();
    let server = factory.server(server_config(transport.clone()), transport, node);
    let (client, server) = network.connect(client, server);
    let arrived = stream(&mut network, client, server);
    let (mut last, mut longest) = (network.now(), Duration::ZERO);
    let end = network.now() + Duration::from_secs(5);
    let mut before = 0;
    while network.now() < end {
        network.run_until(network.now() + Duration::from_millis(1));
        if arrived.get() > before {
            before = arrived.get();
            longest = longest.max(network.now().since(last));
            last = network.now();
        }
    }
    assert!(longest < RTT * 5, "{longest}");
    assert!(last > Time::ZERO && before > 0);
}
