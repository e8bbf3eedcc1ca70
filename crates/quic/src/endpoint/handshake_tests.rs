//! Handshakes with classical and with post-quantum keys, in virtual time.

use super::Connection;
use super::testing::{Network, Packet, Path, client_config_with, server_config_with, transport};
use crate::key_exchange::{AcceptedGroups, provider};
use crate::{Factory, SharedNode};
use noq_proto::crypto::rustls::HandshakeData;
use rustls::NamedGroup;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::rc::Rc;
use whimbrel_cc::fairness::Priority;
use whimbrel_units::{Bytes, Duration, Rate, Time};

fn hybrid() -> CryptoProvider {
    CryptoProvider::clone(&provider(AcceptedGroups::Any))
}

/// A network of 20 Mbit/s with this RTT, and this random loss in both directions.
fn network(rtt: Duration, loss: &str, seed: u64) -> Network {
    let rate = Rate::from_bits_per_sec(20_000_000);
    let mut path = Path::symmetric(rate, rtt / 2, Bytes::new(1_000_000));
    path.forth.loss.random = loss.parse().expect("a probability");
    path.back.loss.random = loss.parse().expect("a probability");
    Network::new(&path, seed)
}

fn connect(
    network: &mut Network,
    client: CryptoProvider,
    server: CryptoProvider,
) -> Option<(Connection, Connection)> {
    let factory = || Factory::for_endpoint("cubic".parse().expect("registered")).seed(1);
    let client = client_config_with(client, transport());
    let client = factory().client(client, transport(), Priority::LOWEST);
    let server = server_config_with(server, transport());
    let server = factory().server(server, transport(), SharedNode::default());
    network.try_connect(client, server).ok()
}

fn group(connection: &Connection) -> Option<NamedGroup> {
    let data = connection.handshake_data()?.downcast::<HandshakeData>();
    data.ok()?.negotiated_key_exchange_group
}

#[test]
fn two_new_ends_agree_on_the_hybrid_and_others_on_x25519() {
    for (client, server, expected) in [
        (hybrid(), hybrid(), NamedGroup::X25519MLKEM768),
        (hybrid(), default_provider(), NamedGroup::X25519),
        (default_provider(), hybrid(), NamedGroup::X25519),
    ] {
        let mut network = network(Duration::from_millis(100), "0 %", 1);
        let ends = connect(&mut network, client, server).expect("a common group");
        assert_eq!(
            (group(&ends.0), group(&ends.1)),
            (Some(expected), Some(expected))
        );
        // Another hello would cost a round trip.
        let took = network.now().since(Time::ZERO).as_millis_f64();
        assert!((150.0..165.0).contains(&took), "{took} ms");
    }
    let only = CryptoProvider::clone(&provider(AcceptedGroups::PostQuantum));
    for (client, server) in [
        (only.clone(), default_provider()),
        (default_provider(), only),
    ] {
        let mut network = network(Duration::from_millis(100), "0 %", 1);
        assert!(connect(&mut network, client, server).is_none());
    }
}

/// RFC 9000 section 8: three times what has arrived, until the client's address is proved by its
/// Handshake packet.
#[test]
fn a_server_sends_three_times_what_arrived_at_most() {
    for seed in 0..50 {
        let mut network = network(Duration::from_millis(600), "20 %", seed);
        network.record();
        connect(&mut network, hybrid(), hybrid());
        let packets = network.take_packets();
        // The client's first answer to a flight of the server needs a round trip.
        let validated = Time::ZERO + Duration::from_millis(600);
        let sent = |packet: &&Packet| !packet.forth && packet.sent < validated;
        for packet in packets.iter().filter(sent) {
            let arrived = packets
                .iter()
                .filter(|p| p.forth && p.arrives.is_some_and(|at| at <= packet.sent));
            let arrived: usize = arrived.map(|p| p.size).sum();
            let so_far = packets.iter().filter(|p| !p.forth && p.sent <= packet.sent);
            let so_far: usize = so_far.map(|p| p.size).sum();
            assert!(so_far <= 3 * arrived, "seed {seed}: {so_far} of {arrived}");
        }
    }
}

/// The client's first flight is two datagrams instead of one, so each is needed.
#[test]
fn the_first_flight_of_two_datagrams_is_repaired() {
    let seeds = 0..200;
    let times = |provider: fn() -> CryptoProvider| {
        let time = |seed| {
            let mut network = network(Duration::from_millis(600), "20 %", seed);
            connect(&mut network, provider(), provider())?;
            Some(network.now().since(Time::ZERO).as_secs_f64())
        };
        let mut times: Vec<f64> = seeds.clone().filter_map(time).collect();
        times.sort_by(f64::total_cmp);
        times
    };
    let (classical, hybrid) = (times(default_provider), times(hybrid));
    let at = |times: &[f64], share: f64| times[(share * (times.len() - 1) as f64) as usize];
    for (name, times) in [("x25519", &classical), ("X25519MLKEM768", &hybrid)] {
        println!(
            "{name}: {} of {}; median {:.2} s, 95 % {:.2} s, at most {:.2} s",
            times.len(),
            seeds.clone().count(),
            at(times, 0.5),
            at(times, 0.95),
            at(times, 1.0),
        );
    }
    assert_eq!(hybrid.len(), 200);
    // Five datagrams must arrive instead of three, and each loss costs a timeout of a second.
    let slower = at(&hybrid, 0.95) - at(&classical, 0.95);
    assert!(slower < 3.0, "{slower} s");
}

/// RFC 9000 section 10.2.3: who closes in the handshake says so in each packet number space that
/// has keys, and then no more, whatever the other end still sends.
#[test]
fn who_closes_in_the_handshake_says_so_and_is_silent() {
    let factory = || Factory::for_endpoint("cubic".parse().expect("registered")).seed(1);
    let rate = Rate::from_bits_per_sec(200_000);
    let path = Path::symmetric(rate, Duration::from_millis(50), Bytes::new(1_000_000));
    for (closes, segments) in [(0, 1), (0, 64), (1, 1), (1, 64)] {
        let mut spoke = 0;
        for step in 1..=100 {
            let at = Time::ZERO + Duration::from_millis(5 * step);
            let mut network = Network::new(&path, step);
            let (client, server) = network.endpoints();
            let (client, server) = (client.clone(), server.clone());
            for end in [&client, &server] {
                let segments = NonZeroUsize::new(segments).expect("known");
                end.shared().call(|core| core.set_max_segments(segments));
            }
            let config = client_config_with(hybrid(), transport());
            let config = factory().client(config, transport(), Priority::LOWEST);
            let to = server.local_addr().expect("known");
            let attempt = client.connect(config, to, "server").expect("valid");
            let config = server_config_with(hybrid(), transport());
            let config = factory().server(config, transport(), SharedNode::default());
            let ends = Rc::new(RefCell::new([Some(attempt), None]));
            let accepted = Rc::clone(&ends);
            network.spawn(async move {
                let incoming = server.accept().await.expect("open");
                let attempt = incoming.accept_with(config).expect("a first packet");
                accepted.borrow_mut()[1] = Some(attempt);
            });
            network.record();
            network.run_until(at);
            let Some(attempt) = ends.borrow_mut()[closes].take() else {
                continue;
            };
            let before = network.take_packets();
            drop(attempt);
            network.run_until(at);
            let said = network.take_packets();
            assert!(said.len() <= 3, "end {closes} at {at:?}: {said:?}");
            spoke += usize::from(!said.is_empty());
            network.run_until(at + Duration::from_secs(30));
            let after = network.take_packets();
            let own = |packet: &&Packet| packet.forth == (closes == 0);
            let more = after.iter().filter(own).count();
            let others = before.iter().chain(&after).filter(|packet| !own(packet));
            let arrived = others.filter(|packet| packet.arrives > Some(at)).count();
            assert!(
                more <= 3 * arrived,
                "end {closes} at {at:?}: {more} for {arrived}"
            );
            assert!(after.len() < 60, "end {closes} at {at:?}: {}", after.len());
        }
        assert!(spoke > 50, "end {closes}: {spoke}");
    }
}
