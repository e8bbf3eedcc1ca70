//! Behaviour of a TCP connection on paths that can be calculated by hand. The path has 10 Mbit/s
//! and 50 ms each way unless a test says otherwise: a full packet of 1500 bytes takes 1.2 ms, a SYN
//! of 52 bytes 41.6 us, so data may leave 100.0832 ms after the start, and the k-th segment of the
//! first flight has left the link 1.2 ms x k later. Outages of a fraction of a millisecond drop
//! exactly the segments that a test selects.

mod crowd;
mod fades;
mod flows;
mod records;
mod recovery;
mod start;
mod throughput;

use std::path::Path;
use whimbrel_net::{Delay, LinkSpec, Outage, QueueLimit, Schedule, ServiceSpec};
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::{
    FlowOutcome, FlowSpec, LinkId, NamedLink, Network, Outcome, Recovery, Route, Streams, TcpFlow,
    TcpSettings, Traffic, UdpFlow, run,
};
use whimbrel_units::{Bytes, Duration, Probability, Rate, Time};

const MSS: u64 = 1448;
/// When data may leave, in milliseconds.
const HANDSHAKE: f64 = 100.0832;
/// Transmission time of a full packet in milliseconds.
const PACKET: f64 = 1.2;
/// Base RTT in milliseconds.
const RTT: f64 = 100.0;

fn ms(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1000.0)
}

fn at(when: f64) -> Time {
    Time::ZERO + ms(when)
}

fn mbit(rate: u64) -> ServiceSpec {
    ServiceSpec::Rate(Schedule::constant(Rate::from_bits_per_sec(
        rate * 1_000_000,
    )))
}

fn link(name: &str) -> NamedLink {
    let spec = LinkSpec {
        service: mbit(10),
        delay: Delay::constant(ms(50.0)),
        ..LinkSpec::default()
    };
    NamedLink {
        name: name.into(),
        spec,
        on_channel: None,
        helped: None,
    }
}

/// One flow of this number of segments over the path.
fn path(segments: u64, recovery: Recovery) -> Network {
    let tcp = TcpFlow {
        controller: "newreno".parse().expect("registered"),
        size: Some(Bytes::new(segments * MSS)),
        two_way: false,
        streams: Streams::default(),
        settings: TcpSettings {
            recovery,
            ..TcpSettings::default()
        },
    };
    Network {
        links: vec![link("there"), link("back")],
        channels: Vec::new(),
        destinations: Vec::new(),
        flows: vec![flow(Traffic::Tcp(tcp))],
        duration: Duration::from_secs(100),
        seed: 1,
        sample: None,
    }
}

fn flow(traffic: Traffic) -> FlowSpec {
    FlowSpec {
        host: None,
        name: "flow".into(),
        routes: vec![Route {
            forward: vec![LinkId(0)],
            backward: vec![LinkId(1)],
        }],
        start: Time::ZERO,
        stop: None,
        traffic,
    }
}

/// Drops packets that leave the first link within 0.3 ms of these times.
fn drop_at(network: &mut Network, times: &[f64]) {
    network.links[0].spec.loss.outages = times
        .iter()
        .map(|t| Outage {
            from: at(t - 0.3),
            to: at(t + 0.3),
        })
        .collect();
}

/// When the k-th segment (from 1) of the first flight leaves the link.
fn leaves(k: u32) -> f64 {
    HANDSHAKE + PACKET * f64::from(k)
}

fn tcp(network: &mut Network) -> &mut TcpFlow {
    match &mut network.flows[0].traffic {
        Traffic::Tcp(tcp) => tcp,
        Traffic::Aatp(_) | Traffic::Udp(_) => panic!("the first flow is TCP"),
    }
}

fn play(network: &Network) -> (Outcome, FlowOutcome) {
    let outcome = run(network);
    let flow = outcome.flows[0].clone();
    (outcome, flow)
}

fn completion(flow: &FlowOutcome) -> f64 {
    flow.completion.expect("it completes").as_millis_f64()
}

const ALL: [Recovery; 3] = [Recovery::NewReno, Recovery::Sack, Recovery::Rack];
