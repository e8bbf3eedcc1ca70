//! A Wi-Fi channel under traffic: what one station alone gets, what two share, what acknowledgments cost.

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

/// Flows over one channel, given whether each sends forward.
fn channel(wifi: WifiSpec, flows: &[(Traffic, bool)]) -> Network {
    let link = |name: &str, side| NamedLink {
        name: name.to_owned(),
        spec: LinkSpec {
            service: ServiceSpec::Unlimited,
            delay: Delay::constant(Duration::from_micros(1)),
            queue: QueueLimit::Packets(500),
            ..LinkSpec::default()
        },
        on_channel: Some(OnChannel { channel: 0, side }),
    };
    let ways = [vec![LinkId(0)], vec![LinkId(1)]];
    let flow = |(i, (traffic, forward)): (usize, &(Traffic, bool))| FlowSpec {
        name: format!("flow {i}"),
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

/// More than any channel of the tests carries.
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
fn one_station_alone_gets_what_back_off_and_frames_leave() {
    for rate in [6.5, 65.0, 300.0] {
        let expected = wifi(rate).saturation(PACKET).as_bits_per_sec() as f64 / 1e6;
        let got = goodputs(&channel(wifi(rate), &[(flood(), true)]))[0];
        assert!(
            (got / expected - 1.0).abs() < 0.005,
            "{got} of {expected} at {rate}"
        );
        // The air carries no more than its rate, and far less once overhead is paid.
        assert!(got < 0.96 * rate, "{got} of {rate}");
    }
}

#[test]
fn two_stations_share_one_channel_evenly_and_have_no_more_than_one() {
    let alone = goodputs(&channel(wifi(65.0), &[(flood(), true)]))[0];
    let both = goodputs(&channel(wifi(65.0), &[(flood(), true), (flood(), false)]));
    assert!((both[0] / both[1] - 1.0).abs() < 0.05, "{both:?}");
    assert!(both[0] + both[1] < 1.02 * alone, "{both:?}, {alone} alone");
}

#[test]
fn acknowledgments_take_their_part_of_the_channel() {
    let tcp = Traffic::Tcp(TcpFlow {
        controller: "newreno".parse().expect("registered"),
        size: None,
        two_way: false,
        streams: Streams::default(),
        settings: TcpSettings::default(),
    });
    // Frame by frame, each ACK of 52 bytes costs an access of its own: preamble, back-off and answer cost it as
    // much as a packet of data. One ACK for two packets: about 2/3 of what a flood gets in accesses.
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
    // Aggregated, forty of them cost one.
    let flooded = goodputs(&channel(wifi(65.0), &[(flood(), true)]))[0];
    let got = wire * goodputs(&channel(wifi(65.0), &[(tcp, true)]))[0];
    assert!(got / flooded > 0.9, "{got} of {flooded}");
}
