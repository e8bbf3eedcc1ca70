//! Streams and messages over one connection, on a path that can be calculated by hand: 10 Mbit/s
//! and 50 ms each way. A SYN of 52 bytes takes 41.6 us, so the connection is established 100.0832
//! ms after the start; a full packet of 1500 bytes takes 1.2 ms, an acknowledgment 41.6 us.

use whimbrel_cc::registry::{self};
use whimbrel_net::{Delay, LinkSpec, LossSpec, Outage, QueueLimit, Schedule, ServiceSpec};
use whimbrel_sim::{
    FlowOutcome, FlowSpec, LinkId, MessageOutcome, Messages, NamedLink, Network, Oracle, Recovery,
    Route, Streams, TcpFlow, TcpSettings, Traffic, run,
};
use whimbrel_units::{Bytes, Duration, Probability, Rate, Time};

const MSS: u64 = 1448;
const STANDS: f64 = 100.0832;
/// Transmission time of a segment, and the propagation delay, in ms.
const ONE_WAY: f64 = 51.2;

fn ms(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1000.0)
}

fn near(found: Duration, expected: f64) -> bool {
    (found.as_millis_f64() - expected).abs() < 0.001
}

/// One flow over the path.
fn network(controller: &str, streams: Streams) -> Network {
    let link = |name: &str| NamedLink {
        name: name.into(),
        spec: LinkSpec {
            service: ServiceSpec::Rate(Schedule::constant(Rate::from_bits_per_sec(10_000_000))),
            delay: Delay::constant(ms(50.0)),
            ..LinkSpec::default()
        },
        on_channel: None,
        helped: None,
    };
    let tcp = TcpFlow {
        controller: controller.parse().expect("registered"),
        size: None,
        two_way: false,
        streams,
        settings: TcpSettings::default(),
    };
    Network {
        links: vec![link("there"), link("back")],
        channels: Vec::new(),
        destinations: Vec::new(),
        flows: vec![FlowSpec {
            host: None,
            name: "flow".into(),
            routes: vec![Route {
                forward: vec![LinkId(0)],
                backward: vec![LinkId(1)],
            }],
            start: Time::ZERO,
            stop: None,
            traffic: Traffic::Tcp(tcp),
        }],
        duration: Duration::from_secs(60),
        seed: 1,
        sample: None,
    }
}

fn tcp(network: &mut Network) -> &mut TcpFlow {
    match &mut network.flows[0].traffic {
        Traffic::Tcp(tcp) => tcp,
        Traffic::Aatp(_) | Traffic::Udp(_) => panic!("the flow is TCP"),
    }
}

/// Twenty messages of one segment each, one every 10 ms.
fn twenty() -> Messages {
    Messages {
        min_size: Bytes::new(MSS),
        max_size: Bytes::new(MSS),
        every: ms(10.0),
        exponential: false,
        count: Some(20),
    }
}

fn play(network: &Network) -> (FlowOutcome, MessageOutcome) {
    let flow = run(network).flows.swap_remove(0);
    let messages = flow.messages.clone().expect("it has messages");
    (flow, messages)
}

/// Message 2 (from 0) is lost once. The oracle classifies the loss as random, so the controller
/// keeps its window, which is never full. Without SACK: three duplicate acknowledgments, for
/// messages 3, 4 and 5, cause the retransmission.
fn one_lost(streams: u32) -> (FlowOutcome, MessageOutcome) {
    let streams = Streams {
        count: streams,
        messages: Some(twenty()),
        ..Streams::default()
    };
    let mut network = network("cerl", streams);
    let settings = &mut tcp(&mut network).settings;
    settings.recovery = Recovery::NewReno;
    settings.oracle = Oracle::Everything;
    settings.initial_window = 40;
    let leaves = Time::ZERO + ms(STANDS + 20.0 + 1.2);
    network.links[0].spec.loss.outages = vec![Outage {
        from: leaves - ms(0.3),
        to: leaves + ms(0.3),
    }];
    let (flow, messages) = play(&network);
    assert_eq!((flow.lost.total(), flow.retransmits), (1, 1));
    assert_eq!((messages.arrived, messages.delivered), (20, 20));
    (flow, messages)
}

#[test]
fn a_message_takes_its_transmission_time_and_the_delay() {
    let streams = Streams {
        messages: Some(twenty()),
        ..Streams::default()
    };
    let mut network = network("newreno", streams);
    // Ten messages arrive per round trip and acknowledgments are delayed, so an initial window of
    // ten is slightly too small.
    tcp(&mut network).settings.initial_window = 40;
    let (flow, messages) = play(&network);
    assert!(near(messages.latency.min, ONE_WAY) && near(messages.latency.max, ONE_WAY));
    assert_eq!((messages.held, messages.blocked.max), (0, Duration::ZERO));
    // The last message arrives 190 ms after the first, which is there when the connection is
    // established.
    let completion = flow.completion.expect("all are delivered");
    assert!(near(completion, STANDS + 190.0 + ONE_WAY), "{completion}");
    assert_eq!(flow.delivered, Bytes::new(20 * MSS));
    assert!(
        flow.paths.is_empty(),
        "a single path is not reported as one of several"
    );
}

/// Message 2 is handed over at 120.0832 ms and is lost. Message 5, sent at 150.0832 ms, causes the
/// third duplicate at 251.3248 ms (51.2, 0.0416 and 50 ms later). Message 2 arrives at 302.5248 ms,
/// 182.4416 ms after it was handed over. Message k arrives at 151.2832 + 10 k ms: those up to 15
/// arrive earlier.
const REPAIRED: f64 = 182.4416;

#[test]
fn on_one_stream_a_lost_message_delays_all_later_ones() {
    let (flow, messages) = one_lost(1);
    assert!(
        near(messages.latency.max, REPAIRED),
        "{:?}",
        messages.latency
    );
    // Messages 3 to 15 wait for 151.2416 - 10 k ms: message 3 for 121.2416 ms, all together
    // 796.1408 ms, on average over 20 messages 39.80704 ms.
    assert_eq!(messages.held, 13);
    assert!(
        near(messages.blocked.max, 121.2416),
        "{:?}",
        messages.blocked
    );
    assert!(
        near(messages.blocked.mean, 39.80704),
        "{:?}",
        messages.blocked
    );
    assert_eq!(flow.streams.len(), 1);
}

#[test]
fn on_two_streams_only_one_waits_for_the_lost_message() {
    let (flow, messages) = one_lost(2);
    assert!(
        near(messages.latency.max, REPAIRED),
        "{:?}",
        messages.latency
    );
    // Messages 4, 6, ... 14 wait: message 4 for 111.2416 ms, all together 367.4496 ms, on average
    // over 20 messages 18.37248 ms.
    assert_eq!(messages.held, 6);
    assert!(
        near(messages.blocked.max, 111.2416),
        "{:?}",
        messages.blocked
    );
    assert!(
        near(messages.blocked.mean, 18.37248),
        "{:?}",
        messages.blocked
    );
    // Messages with odd numbers never wait. On one stream message 3 waited for 121 ms: one round
    // trip and the two messages that are needed to detect the loss.
    let [even, odd] = flow.streams.as_slice() else {
        panic!("two streams");
    };
    assert!(near(odd.latency, ONE_WAY), "{odd:?}");
    // Message 2 takes 131.2416 ms longer than the others; with the waiting ones the mean of ten is
    // 49.86912 ms.
    assert!(near(even.latency, ONE_WAY + 49.86912), "{even:?}");
    assert_eq!((even.messages, odd.messages), (10, 10));
    assert_eq!(even.delivered, Bytes::new(10 * MSS));
}

/// Endless data with 0.5 % loss and a queue of half a bandwidth-delay product.
fn lossy(controller: &str, streams: u32) -> Network {
    let streams = Streams {
        count: streams,
        ..Streams::default()
    };
    let mut network = network(controller, streams);
    network.links[0].spec.loss = LossSpec {
        random: Probability::new(0.005).expect("a probability"),
        ..LossSpec::default()
    };
    network.links[0].spec.queue = QueueLimit::Bytes(Bytes::new(62_500));
    network.duration = Duration::from_secs(20);
    network.sample = Some(ms(50.0));
    network
}

#[test]
fn several_streams_send_as_one_does_and_deliver_earlier() {
    let controllers = registry::CONTROLLERS.iter();
    for controller in controllers.filter(|entry| !entry.is_fed_bursts()) {
        for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
            let of = |streams| {
                let mut network = lossy(controller.name, streams);
                tcp(&mut network).settings.recovery = recovery;
                run(&network).flows.swap_remove(0)
            };
            let (one, eight) = (of(1), of(8));
            assert!(one.lost.total() > 0, "{}", controller.name);
            assert!(one.streams.is_empty() && eight.streams.len() == 8);
            assert!(eight.delivered >= one.delivered, "{}", controller.name);
            // Everything else is identical: windows, round trips, losses, verdicts.
            let rateless = |flow: &FlowOutcome| {
                let mut flow = flow.clone();
                flow.streams.clear();
                flow.delivered = Bytes::ZERO;
                flow.goodput = Rate::ZERO;
                for sample in &mut flow.samples {
                    (sample.rate, sample.delivered) = (Rate::ZERO, Bytes::ZERO);
                }
                flow
            };
            assert_eq!(
                rateless(&one),
                rateless(&eight),
                "{} {recovery:?}",
                controller.name
            );
        }
    }
}

#[test]
fn mfast_is_fast_with_streams() {
    // Tables 1 and 2 of the EMFAST paper have the same numbers for both.
    let of = |controller: &str, streams| {
        let mut flow = run(&lossy(controller, streams)).flows.swap_remove(0);
        flow.controller = None;
        flow
    };
    assert_eq!(of("mfast", 8), of("fast", 8));
    let (mfast, fast) = (of("mfast", 8), of("fast", 1));
    assert_eq!(mfast.sent_on_wire, fast.sent_on_wire);
    let windows = |flow: &FlowOutcome| flow.samples.iter().map(|s| s.cwnd).collect::<Vec<_>>();
    assert_eq!(windows(&mfast), windows(&fast));
}

#[test]
fn bulk_data_is_split_over_its_streams_and_delivered() {
    let mut network = lossy("newreno", 3);
    tcp(&mut network).size = Some(Bytes::new(100_001));
    let flow = run(&network).flows.swap_remove(0);
    let parts: Vec<u64> = flow.streams.iter().map(|s| s.delivered.get()).collect();
    assert_eq!(parts, [33_334, 33_334, 33_333]);
    assert!(flow.completion.is_some() && flow.messages.is_none());
    // Fewer bytes than streams: some streams have nothing to send.
    tcp(&mut network).size = Some(Bytes::new(2));
    let flow = run(&network).flows.swap_remove(0);
    assert_eq!((flow.delivered, flow.packets_sent), (Bytes::new(2), 2));
    assert!(flow.completion.is_some());
}

#[test]
fn stopped_bulk_data_ends_with_the_sent_data() {
    let mut network = lossy("newreno", 4);
    network.flows[0].stop = Some(Time::ZERO + Duration::from_secs(5));
    let outcome = run(&network);
    let flow = &outcome.flows[0];
    let segments = flow.packets_sent - flow.retransmits;
    assert_eq!(flow.delivered, Bytes::new(segments * MSS));
    assert!(
        outcome.duration < Duration::from_secs(7),
        "{}",
        outcome.duration
    );
}

#[test]
fn messages_that_arrived_before_a_stop_are_still_delivered() {
    let streams = Streams {
        count: 2,
        messages: Some(Messages {
            // 1 MB every 100 ms is 80 Mbit/s on a link of 10 Mbit/s.
            min_size: Bytes::new(1_000_000),
            max_size: Bytes::new(1_000_000),
            every: ms(100.0),
            exponential: false,
            count: None,
        }),
        ..Streams::default()
    };
    let mut network = network("newreno", streams);
    network.flows[0].stop = Some(Time::ZERO + ms(1000.0));
    let (flow, messages) = play(&network);
    // Messages arrive every 100 ms, from 100.0832 to 900.0832 ms.
    assert_eq!((messages.arrived, messages.delivered), (9, 9));
    assert_eq!(flow.delivered, Bytes::new(9_000_000));
    assert!(
        flow.active > Duration::from_secs(7),
        "9 MB take 7.2 s: {}",
        flow.active
    );
    assert_eq!(flow.completion, None, "it was stopped");
}

#[test]
fn undelivered_messages_at_the_end_of_the_run_are_counted() {
    let streams = Streams {
        messages: Some(Messages {
            count: None,
            ..twenty()
        }),
        ..Streams::default()
    };
    let mut network = network("newreno", streams);
    network.duration = ms(1000.0);
    let (flow, messages) = play(&network);
    // One message every 10 ms from 100.0832 ms on: 90 until the end. The five from 948.8 ms on are
    // not delivered.
    assert_eq!((messages.arrived, messages.delivered), (90, 85));
    assert_eq!(messages.latency.count, 85);
    assert_eq!(flow.completion, None);
}

#[test]
fn messages_arrive_at_the_same_times_with_every_controller() {
    let outcome = |controller: &str, seed| {
        let streams = Streams {
            count: 4,
            interleave: false,
            messages: Some(Messages {
                min_size: Bytes::new(1),
                max_size: Bytes::new(20_000),
                every: ms(20.0),
                exponential: true,
                count: None,
            }),
        };
        let mut network = network(controller, streams);
        network.seed = seed;
        network.flows[0].stop = Some(Time::ZERO + Duration::from_secs(30));
        let (flow, messages) = play(&network);
        (messages.arrived, flow.delivered)
    };
    let first = outcome("newreno", 1);
    // On average 1495 messages of 10 kB in 29.9 s: 4 Mbit/s.
    assert!((1300..1700).contains(&first.0), "{first:?}");
    assert_eq!(outcome("bbr", 1), first);
    assert_ne!(outcome("newreno", 2), first);
}
