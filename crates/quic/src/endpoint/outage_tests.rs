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

/// Seconds of a transfer of `bytes`.
fn seconds(controller: &str, gaps: &[Gap], bytes: usize) -> f64 {
    let (mut network, client, server) = network(controller, gaps);
    let begun = network.now();
    network.spawn(async move {
        for _ in 0..bytes / CHUNK {
            let mut stream = client.open_uni().await.expect("open");
            stream.write_chunk(Data::from(vec![7; CHUNK])).await.ok();
        }
        // Kept open until all has arrived.
        client.closed().await;
    });
    network.spawn(async move {
        for _ in 0..bytes / CHUNK {
            let mut stream = server.accept_uni().await.expect("opened");
            stream.read_to_end(CHUNK).await.expect("complete");
        }
        server.close(VarInt::from_u32(0), b"");
    });
    assert!(network.run_tasks(begun + Duration::from_secs(300)));
    network.now().since(begun).as_secs_f64()
}

/// Fades of 0.5 to 3 s, as on a satellite link in rain.
const FADES: [Gap; 8] = [
    (3000, 4000),
    (7000, 9000),
    (12_000, 12_500),
    (15_000, 18_000),
    (22_000, 24_000),
    (30_000, 31_000),
    (36_000, 38_000),
    (45_000, 48_000),
];

/// 20 s of data, and 11.5 s of fades in the first 38 s. The rest is the way back to the old rate:
/// by RFC 9002 section 7.6 the window is two packets after an outage, and ssthresh is the
/// algorithm's part of what was in flight, including what the first acknowledgment covers.
#[test]
fn a_fade_costs_its_length_and_the_way_back_to_the_old_rate() {
    for (controller, at_most) in [
        ("cubic", 53.0),
        ("cubic+cerl-plus", 47.0),
        ("bbr", 37.0),
        ("whimbrel", 45.0),
    ] {
        let took = seconds(controller, &FADES, 25_000_000);
        assert!((31.0..at_most).contains(&took), "{controller}: {took} s");
    }
}

/// A probe leaves within a quarter of a second after the end, and its answer takes a round trip.
#[test]
fn a_path_that_is_back_is_used_after_a_probe_and_a_round_trip() {
    let long = [(52_000, 60_000)];
    let gaps = [&FADES[..], &long].concat();
    for controller in ["cubic+cerl-plus", "bbr", "whimbrel"] {
        for (gap, wait) in gaps.iter().zip(waits(controller, &gaps)) {
            assert!(wait < 380.0, "{controller}: {wait} ms after {gap:?}");
        }
    }
}
