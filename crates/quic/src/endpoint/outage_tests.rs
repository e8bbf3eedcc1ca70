//! Transfers over a path with outages, in virtual time.

use super::Connection;
use super::testing::{Network, Path, client_config, server_config, transport};
use crate::{Factory, SharedNode, tolerate_reordering};
use bytes::Bytes as Data;
use noq_proto::VarInt;
use whimbrel_cc::fairness::Priority;
use whimbrel_net::Outage;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// 10 Mbit/s, a round trip of 100 ms, a buffer of one BDP.
const RATE: u64 = 10_000_000;
const RTT: Duration = Duration::from_millis(100);
/// Bytes of each stream.
const CHUNK: usize = 256 << 10;

/// An outage of both directions: when it begins and ends, milliseconds.
type Gap = (u64, u64);

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn network(controller: &str, gaps: &[Gap]) -> (Network, Connection, Connection) {
    let rate = Rate::from_bits_per_sec(RATE);
    let mut path = Path::symmetric(rate, RTT / 2, Bytes::new(RATE / 8 / 10));
    for (from, to) in gaps {
        let outage = Outage {
            from: at(*from),
            to: at(*to),
        };
        path.forth.loss.outages.push(outage);
        path.back.loss.outages.push(outage);
    }
    let mut config = transport();
    config.receive_window(VarInt::from_u32(16 << 20));
    // The server has to extend it, and so has something to send beside acknowledgments.
    config.stream_receive_window(VarInt::from_u32(CHUNK as u32 / 2));
    config.send_window(16 << 20);
    tolerate_reordering(&mut config);
    let mut network = Network::new(&path, 3);
    let factory = |name: &str| Factory::for_endpoint(name.parse().expect("registered")).seed(3);
    let client = factory(controller).client(
        client_config(config.clone()),
        config.clone(),
        Priority::LOWEST,
    );
    let node = SharedNode::default();
    let server = factory("cubic").server(server_config(config.clone()), config, node);
    let (client, server) = network.connect(client, server);
    (network, client, server)
}

/// How long after the end of each outage the client hears of the server, ms.
fn waits(controller: &str, gaps: &[Gap]) -> Vec<f64> {
    let (mut network, client, server) = network(controller, gaps);
    network.record();
    network.spawn(async move {
        // On one stream, losses would leave more gaps than noq permits.
        while let Ok(mut stream) = client.open_uni().await {
            stream.write_chunk(Data::from(vec![7; CHUNK])).await.ok();
        }
    });
    network.spawn(async move {
        while let Ok(mut stream) = server.accept_uni().await {
            stream.read_to_end(CHUNK).await.ok();
        }
    });
    let last = gaps.last().expect("an outage").1;
    network.run_until(at(last + 3000));
    let packets = network.take_packets();
    let first_after = |end: Time| {
        let heard = packets.iter().filter(|packet| !packet.forth);
        // What was under way before the outage does not count.
        heard
            .filter(|packet| packet.sent >= end)
            .filter_map(|packet| packet.arrives)
            .min()
    };
    let wait = |(_, end): &Gap| {
        let end = at(*end);
        first_after(end).map_or(f64::MAX, |at| at.since(end).as_millis_f64())
    };
    gaps.iter().map(wait).collect()
}

/// A probe leaves within a quarter of a second after the end, and its answer takes a round trip.
#[test]
fn a_path_that_is_back_is_used_after_a_probe_and_a_round_trip() {
    let gaps = [
        (3000, 4000),
        (7000, 9000),
        (12_000, 12_500),
        (15_000, 18_000),
        (22_000, 24_000),
        (30_000, 31_000),
        (36_000, 38_000),
        (45_000, 48_000),
        (52_000, 60_000),
    ];
    for controller in ["cubic+cerl-plus", "bbr", "whimbrel"] {
        for (gap, wait) in gaps.iter().zip(waits(controller, &gaps)) {
            assert!(wait < 380.0, "{controller}: {wait} ms after {gap:?}");
        }
    }
}
