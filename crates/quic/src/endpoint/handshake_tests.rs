//! Handshakes with classical and with post-quantum keys, in virtual time.

use super::Connection;
use super::testing::{Network, Path, client_config_with, server_config_with, transport};
use crate::key_exchange::{AcceptedGroups, provider};
use crate::{Factory, SharedNode};
use noq_proto::crypto::rustls::HandshakeData;
use rustls::NamedGroup;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
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
        let sent = |packet: &&super::testing::Packet| !packet.forth && packet.sent < validated;
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
