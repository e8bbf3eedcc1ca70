//! Every algorithm of the registry over whole connections in virtual time, and what the sources of
//! the newer ones promise.

use crate::endpoint::testing::{
    Network, Path, add_endless, client_config, server_config, settings, transport,
};
use crate::{Factory, Monitor, SharedNode};
use bytes::Bytes as Data;
use whimbrel_cc::fairness::Priority;
use whimbrel_cc::registry::CONTROLLERS;
use whimbrel_net::{Aqm, Mark, QueueUnit, Schedule, ServiceSpec};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Flow control windows of these paths, bytes.
const WINDOW: u32 = 16 << 20;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn kbits(n: u64) -> Rate {
    Rate::from_bits_per_sec(n * 1000)
}

/// A path of so many kbit/s, one-way delay in ms and room for so many packets.
fn path(rate: u64, delay: u64, packets: u64) -> Path {
    Path::symmetric(kbits(rate), ms(delay), Bytes::new(packets * 1480))
}

fn with_loss(mut path: Path, loss: &str) -> Path {
    path.forth.loss.random = loss.parse().expect("a probability");
    path
}

fn add(network: &mut Network, spec: &str, seed: u64) -> Monitor {
    add_endless(network, spec, seed, &settings(WINDOW))
}

/// Mbit/s that one connection alone delivers from `from` to `to` seconds.
fn alone(path: &Path, spec: &str, from: u64, to: u64) -> f64 {
    let mut network = Network::new(path, 1);
    let monitor = add(&mut network, spec, 1);
    network.run_until(Time::ZERO + ms(from * 1000));
    let before = monitor.snapshot().state.delivered.get();
    network.run_until(Time::ZERO + ms(to * 1000));
    let bytes = monitor.snapshot().state.delivered.get() - before;
    bytes as f64 * 8e-6 / (to - from) as f64
}

/// 10 Mbit/s, 40 ms, a buffer of one BDP.
fn plain() -> Path {
    path(10_000, 20, 34)
}

#[test]
fn every_algorithm_fills_a_path_over_quic() {
    let layered = ["vegas+ccafr", "fast+ccafr", "copa+ccafr", "rta?ecn=true"];
    for spec in CONTROLLERS.iter().map(|entry| entry.name).chain(layered) {
        let rate = alone(&plain(), spec, 2, 8);
        assert!((8.0..9.9).contains(&rate), "{spec}: {rate} Mbit/s");
    }
}

/// NSDI 2015, Fig 7, and NSDI 2018: PCC keeps most of a link that loses 1 % of the packets.
#[test]
fn pcc_keeps_most_of_a_link_with_random_losses_over_quic() {
    let lossy = with_loss(plain(), "1 %");
    for spec in ["allegro", "vivace"] {
        let rate = alone(&lossy, spec, 2, 12);
        assert!(rate > 7.5, "{spec}: {rate} Mbit/s");
    }
    let reno = alone(&lossy, "newreno", 2, 12);
    assert!(reno < 4.5, "{reno} Mbit/s");
}

/// Jersey takes a loss for random if no router has marked packets.
#[test]
fn jersey_keeps_its_window_for_random_losses_over_quic() {
    let rate = alone(&with_loss(plain(), "1 %"), "jersey", 2, 12);
    assert!(rate > 9.0, "{rate} Mbit/s");
}

/// A response that waits for a round trip costs nothing where nothing is reordered.
#[test]
fn a_delayed_response_costs_little_over_quic() {
    let lossy = with_loss(plain(), "1 %");
    let [dcr, reno] = ["tcp-dcr", "newreno"].map(|spec| alone(&lossy, spec, 2, 30));
    assert!((dcr / reno - 1.0).abs() < 0.15, "{dcr} and {reno} Mbit/s");
}

/// Santa Cruz counts the queue of the way there by the receiver's times of arrival, of which QUIC
/// reports a sample. Acknowledgments without one do not count: taken by their RTT, they left it
/// 0.5 Mbit/s. On a slow way back samples are few, and it leaves some of the link.
#[test]
fn santa_cruz_counts_by_the_times_of_arrival_over_quic() {
    for (back, least) in [(10_000, 9.0), (200, 6.5), (100, 4.0)] {
        let mut slow = plain();
        slow.back.service = ServiceSpec::Rate(Schedule::constant(kbits(back)));
        let rate = alone(&slow, "santa-cruz", 2, 12);
        assert!(rate > least, "{back} kbit/s back: {rate} Mbit/s");
    }
}

/// draft-irtf-iccrg-ledbat-plus-plus section 1: a background flow gives way. The buffer holds
/// 200 ms, more than its target of 60 ms.
#[test]
fn ledbat_gives_way_to_cubic_over_quic() {
    let mut network = Network::new(&path(10_000, 20, 170), 1);
    let background = add(&mut network, "ledbat-plus-plus", 1);
    network.run_until(Time::ZERO + ms(8_000));
    let other = add(&mut network, "cubic", 2);
    network.run_until(Time::ZERO + ms(14_000));
    let delivered = |monitor: &Monitor| monitor.snapshot().state.delivered.get();
    let before = [&background, &other].map(delivered);
    network.run_until(Time::ZERO + ms(34_000));
    let after = [&background, &other].map(delivered);
    let [own, theirs] = [0, 1].map(|i| (after[i] - before[i]) as f64);
    let share = own / (own + theirs);
    assert!(share < 0.1, "{share}");
    assert!(
        (own + theirs) * 8e-6 / 20.0 > 8.5,
        "together {}",
        own + theirs
    );
}

/// TCP-RTA section 3.2: the round trip of the handshake selects the first algorithm. Each end knows
/// it, so nothing has to be agreed upon.
#[test]
fn rta_begins_by_the_round_trip_of_the_handshake_over_quic() {
    for (delay, hybla) in [(25, false), (450, true)] {
        let mut network = Network::new(&path(10_000, delay, 760), 1);
        let monitor = add(&mut network, "rta", 1);
        network.run_until(Time::ZERO + ms(8 * delay));
        let phase = monitor.snapshot().state.phase;
        assert_eq!(phase.contains("Hybla"), hybla, "{delay} ms: {phase}");
    }
    let satellite = path(10_000, 450, 760);
    let [rta, reno] = ["rta", "rta-newreno"].map(|spec| alone(&satellite, spec, 0, 30));
    assert!(rta > 1.03 * reno, "{rta} and {reno} Mbit/s");
}

/// TCP-RTA section 6: "in tandem with ECN". Its own slow start queues for more than 800 ms at this
/// router, which marks from 100 packets on: without looking at marks that is a satellite.
#[test]
fn with_marks_rta_takes_its_own_queue_for_no_satellite_over_quic() {
    let mut marking = path(2_000, 25, 1000);
    marking.forth.aqm = Some(Aqm::Mark(Mark {
        threshold: 100.0,
        unit: QueueUnit::Packets,
        weight: 1.0,
        packet_time: ms(6),
    }));
    for (spec, mistaken) in [("rta", true), ("rta?ecn=true", false)] {
        let mut network = Network::new(&marking, 1);
        let monitor = add(&mut network, spec, 1);
        let mut seen = false;
        for half_second in 1..40 {
            network.run_until(Time::ZERO + ms(500 * half_second));
            let phase = monitor.snapshot().state.phase;
            seen |= phase.contains("Hybla") || phase == "hand-over";
        }
        assert_eq!(seen, mistaken, "{spec}");
    }
}

/// Messages of 1 kB, one each 20 ms, over so many streams in turn. Returns how long each took, ms.
fn messages(path: &Path, spec: &str, streams: usize, seconds: u64) -> Vec<f64> {
    const MESSAGE: usize = 1000;
    let mut network = Network::new(path, 1);
    let of = |spec: &str| Factory::for_endpoint(spec.parse().expect("registered")).seed(1);
    let client = of(spec).client(
        client_config(transport()),
        settings(WINDOW),
        Priority::LOWEST,
    );
    let server = of("newreno").server(
        server_config(transport()),
        settings(WINDOW),
        SharedNode::default(),
    );
    let (client, server) = network.connect(client, server);
    let timer = network.timer();
    let sent = std::rc::Rc::new(std::cell::RefCell::new(vec![Vec::new(); streams]));
    let took = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let begun = network.now();
    let (at, times) = (timer.clone(), sent.clone());
    network.spawn(async move {
        let mut all = Vec::new();
        for _ in 0..streams {
            let mut stream = client.open_uni().await.expect("open");
            // Streams are accepted in the order in which they are opened.
            stream.write_all(&[0]).await.expect("written");
            all.push(stream);
        }
        for number in 0..seconds * 50 {
            at.sleep_until(begun + ms(20 * number)).await;
            let stream = number as usize % streams;
            times.borrow_mut()[stream].push(at.now());
            all[stream]
                .write_chunk(Data::from(vec![7; MESSAGE]))
                .await
                .ok();
        }
    });
    for _ in 0..streams {
        let (at, times, took, server) = (timer.clone(), sent.clone(), took.clone(), server.clone());
        network.spawn(async move {
            let mut stream = server.accept_uni().await.expect("opened");
            let number = stream.id().index() as usize;
            let mut buffer = [0; MESSAGE];
            stream.read_exact(&mut buffer[..1]).await.expect("open");
            let mut message = 0;
            while stream.read_exact(&mut buffer).await.is_ok() {
                let begun = times.borrow()[number][message];
                took.borrow_mut()
                    .push(at.now().since(begun).as_secs_f64() * 1e3);
                message += 1;
            }
        });
    }
    network.run_until(begun + ms(1000 * seconds));
    took.take()
}

/// EMFAST's sections 1 and 5.3: a loss on one stream does not hold up the messages of others.
#[test]
fn several_streams_deliver_messages_sooner_over_quic() {
    let path = with_loss(path(10_000, 50, 85), "1 %");
    for spec in ["sctp", "mfast", "emfast"] {
        let [one, eight] = [1, 8].map(|streams| {
            let took = messages(&path, spec, streams, 60);
            assert!(took.len() > 2900, "{spec}: {} of 3000", took.len());
            took.iter().sum::<f64>() / took.len() as f64
        });
        assert!(eight < one - 2.0, "{spec}: {eight} and {one} ms");
    }
}
