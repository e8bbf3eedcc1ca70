//! Connections whose client moves: to another address, away from every network, behind a NAT.

use super::Connection;
use super::testing::{Network, Path, client_config, server_config, transport};
use crate::{Factory, SharedNode};
use bytes::Bytes as Data;
use noq_proto::TransportConfig;
use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use whimbrel_cc::fairness::Priority;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// 10 Mbit/s and a round trip of 40 ms.
fn path() -> Path {
    let rate = Rate::from_bits_per_sec(10_000_000);
    Path::symmetric(rate, Duration::from_millis(20), Bytes::new(100_000))
}

/// A connection is lost after three minutes of silence.
fn patient() -> TransportConfig {
    let mut transport = transport();
    let idle = std::time::Duration::from_secs(180).try_into();
    transport.max_idle_timeout(Some(idle.expect("in range")));
    transport
}

fn network(seed: u64) -> (Network, Connection, Connection) {
    let mut network = Network::new(&path(), seed);
    let factory = |controller: &str| {
        Factory::for_endpoint(controller.parse().expect("registered")).seed(seed)
    };
    let client = factory("cubic").client(client_config(patient()), patient(), Priority::LOWEST);
    let node = SharedNode::default();
    let server = factory("cubic").server(server_config(patient()), patient(), node);
    let (client, server) = network.connect(client, server);
    (network, client, server)
}

/// Sends `bytes` on one stream. The cell has the time at which all had arrived.
fn transfer(
    network: &mut Network,
    ends: &(Connection, Connection),
    bytes: usize,
) -> Rc<Cell<Time>> {
    let (client, server) = ends.clone();
    network.spawn(async move {
        let mut stream = client.open_uni().await.expect("open");
        let data = Data::from(vec![7; bytes]);
        stream.write_chunk(data).await.expect("written");
        stream.finish().expect("open");
        assert_eq!(stream.stopped().await, Ok(None));
    });
    let arrived = Rc::new(Cell::new(Time::ZERO));
    let (at, timer) = (Rc::clone(&arrived), network.timer());
    network.spawn(async move {
        let mut stream = server.accept_uni().await.expect("opened");
        let data = stream.read_to_end(bytes).await.expect("complete");
        assert_eq!(data.len(), bytes);
        at.set(timer.now());
    });
    arrived
}

fn address(number: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, number, 1], 4433))
}

#[test]
fn a_transfer_survives_twenty_changes_of_the_local_address() {
    let (mut network, client, server) = network(1);
    let begun = network.now();
    let ends = (client, server);
    let arrived = transfer(&mut network, &ends, 12_500_000);
    // 10 s without changes.
    for number in 0..20 {
        network.run_until(begun + Duration::from_millis(450 * (number + 1)));
        network.move_client(Some(address(number as u8 + 1)), true);
    }
    assert!(network.run_tasks(begun + Duration::from_secs(60)));
    assert_eq!(ends.1.remote_address(), Some(address(20)));
    assert_eq!(ends.0.local_ip(), Some(address(20).ip()));
    let took = arrived.get().since(begun).as_secs_f64();
    // What was in flight is lost at each change: at most a round trip and the time to notice.
    assert!((10.0..16.0).contains(&took), "{took} s");
}

#[test]
fn a_transfer_goes_on_at_once_after_two_minutes_without_a_network() {
    for (seed, new) in [(1, address(0)), (2, address(7))] {
        let (mut network, client, server) = network(seed);
        network.move_client(Some(address(0)), true);
        let ends = (client, server);
        let arrived = transfer(&mut network, &ends, 1_250_000);
        let begun = network.now();
        network.run_until(begun + Duration::from_millis(500));
        network.move_client(None, true);
        let back = begun + Duration::from_secs(120) + Duration::from_millis(777);
        network.run_until(back);
        assert_eq!(arrived.get(), Time::ZERO);
        // The same address, or another one.
        network.move_client(Some(new), true);
        assert!(network.run_tasks(back + Duration::from_secs(30)));
        // Half a second of the second was left to send. On another path the window starts again.
        let took = arrived.get().since(back).as_secs_f64();
        assert!(took < 2.0, "{new}: {took} s");
    }
}

#[test]
fn a_nat_that_gives_another_port_costs_nothing() {
    let (mut network, client, server) = network(1);
    let begun = network.now();
    let ends = (client, server);
    let arrived = transfer(&mut network, &ends, 2_500_000);
    for number in 0..4 {
        network.run_until(begun + Duration::from_millis(400 * (number + 1)));
        network.rebind_client(5000 + number as u16);
    }
    assert!(network.run_tasks(begun + Duration::from_secs(60)));
    let took = arrived.get().since(begun).as_secs_f64();
    assert!((2.0..4.0).contains(&took), "{took} s");
}

#[test]
fn a_change_that_concerns_no_connection_changes_nothing() {
    let run = |noise: bool| {
        let (mut network, client, server) = network(3);
        network.record();
        let begun = network.now();
        let arrived = transfer(&mut network, &(client, server), 500_000);
        for number in 1..5 {
            network.run_until(begun + Duration::from_millis(50 * number));
            if noise {
                // An interface came that no route to the server uses.
                network.move_client(Some(SocketAddr::from(([10, 0, 0, 1], 4433))), true);
            }
        }
        assert!(network.run_tasks(begun + Duration::from_secs(60)));
        (arrived.get(), network.take_packets())
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn a_sleeping_host_probes_its_peer_when_it_wakes() {
    let (mut network, client, server) = network(1);
    let begun = network.now();
    let ends = (client, server);
    transfer(&mut network, &ends, 10_000);
    assert!(network.run_tasks(begun + Duration::from_secs(5)));
    network.run_until(begun + Duration::from_secs(20));
    network.record();
    network.wake_client();
    network.run_until(network.now() + Duration::from_millis(100));
    let packets = network.take_packets();
    assert!(packets.iter().any(|p| p.forth), "{packets:?}");
    assert!(packets.iter().any(|p| !p.forth), "answered: {packets:?}");
}
