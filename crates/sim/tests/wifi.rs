//! A Wi-Fi channel under load: the throughput of one station, of two, and the cost of
//! acknowledgments.

use whimbrel_net::{Delay, LinkSpec, QueueLimit, ServiceSpec, Side, WifiSpec};
use whimbrel_sim::{
    FlowSpec, LinkId, NamedLink, Network, OnChannel, Route, Streams, TcpFlow, TcpSettings, Traffic,
    UdpFlow, run,
};
use whimbrel_units::{Bytes, Duration, Rate, Time};

const PACKET: Bytes = Bytes::new(1500);

fn mbit(rate: f64) -> Rate {
    Rate::from_bits_per_sec((rate * 1e6) as u64)
}

/// Flows over one channel; each with whether it sends in the forward direction.
fn channel(wifi: WifiSpec, flows: &[(Traffic, bool)]) -> Network {
    let link = |name: &str, side| NamedLink {
        name: name.into(),
        spec: LinkSpec {
            service: ServiceSpec::Unlimited,
            delay: Delay::constant(Duration::from_micros(1)),
            queue: QueueLimit::Packets(500),
            ..LinkSpec::default()
        },
        on_channel: Some(OnChannel { channel: 0, side }),
        helped: None,
    };
    let ways = [vec![LinkId(0)], vec![LinkId(1)]];
    let flow = |(i, (traffic, forward)): (usize, &(Traffic, bool))| FlowSpec {
        host: None,
        name: format!("flow {i}").into(),
        routes: vec![Route {
            forward: ways[usize::from(!forward)].clone(),
            backward: ways[usize::from(*forward)].clone(),
        }],
        start: Time::ZERO,
        stop: None,
        traffic: traffic.clone(),
    };
    Network {
        links: vec![link("there", Side::Forward), link("back", Side::Reverse)],
        channels: vec![wifi],
        destinations: Vec::new(),
        flows: flows.iter().enumerate().map(flow).collect(),
        duration: Duration::from_secs(10),
        seed: 1,
        sample: None,
    }
}

/// More traffic than any channel of these tests can carry.
fn flood() -> Traffic {
    Traffic::Udp(UdpFlow {
        rate: mbit(700.0),
        packet: PACKET,
        on_off: None,
    })
}

fn goodputs(network: &Network) -> Vec<f64> {
    let outcome = run(network);
    let goodput = |f: &whimbrel_sim::FlowOutcome| f.goodput.as_bits_per_sec() as f64 / 1e6;
    outcome.flows.iter().map(goodput).collect()
}

fn wifi(rate: f64) -> WifiSpec {
    WifiSpec::at(mbit(rate)).expect("an 802.11n rate")
}

#[test]
fn one_station_gets_the_capacity_minus_the_mac_overhead() {
    for rate in [6.5, 65.0, 300.0] {
        let expected = wifi(rate).saturation(PACKET).as_bits_per_sec() as f64 / 1e6;
        let got = goodputs(&channel(wifi(rate), &[(flood(), true)]))[0];
        assert!(
            (got / expected - 1.0).abs() < 0.005,
            "{got} of {expected} at {rate}"
        );
        // The throughput is below the rate, and far below it with all overhead.
        assert!(got < 0.96 * rate, "{got} of {rate}");
    }
}

#[test]
fn two_stations_share_the_channel_evenly_without_a_gain() {
    let alone = goodputs(&channel(wifi(65.0), &[(flood(), true)]))[0];
    let both = goodputs(&channel(wifi(65.0), &[(flood(), true), (flood(), false)]));
    assert!((both[0] / both[1] - 1.0).abs() < 0.05, "{both:?}");
    assert!(both[0] + both[1] < 1.02 * alone, "{both:?}, {alone} alone");
}

#[test]
fn acknowledgments_use_part_of_the_channel() {
    let tcp = Traffic::Tcp(TcpFlow {
        controller: "newreno".parse().expect("registered"),
        size: None,
        two_way: false,
        streams: Streams::default(),
        settings: TcpSettings::default(),
    });
    // Without aggregation each ACK of 52 bytes needs a channel access: preamble, back-off and
    // acknowledgment frame cost as much as for a data packet. With one ACK for two packets, data
    // gets about 2/3 of the accesses.
    let single = WifiSpec {
        aggregation: None,
        ..wifi(65.0)
    };
    let flooded = goodputs(&channel(single.clone(), &[(flood(), true)]))[0];
    let wire = 1500.0 / 1448.0;
    let got = wire * goodputs(&channel(single, &[(tcp.clone(), true)]))[0];
    assert!(
        (0.65..0.85).contains(&(got / flooded)),
        "{got} of {flooded}"
    );
    // With aggregation forty ACKs need one access.
    let flooded = goodputs(&channel(wifi(65.0), &[(flood(), true)]))[0];
    let got = wire * goodputs(&channel(wifi(65.0), &[(tcp, true)]))[0];
    assert!(got / flooded > 0.9, "{got} of {flooded}");
}
