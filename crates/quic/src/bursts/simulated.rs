//! Bursts over whole connections in virtual time: handshake, trains, bursts, reports, node.

use crate::endpoint::Connection;
use crate::endpoint::testing::{Network, Path, client_config, server_config, transport};
use crate::{Factory, Monitor, SharedNode, Snapshot};
use bytes::Bytes as Data;
use noq_proto::{PathId, TransportConfig, VarInt};
use whimbrel_cc::fairness::Priority;
use whimbrel_net::{Delay, DelayTrace};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// A transfer, and the network that carries it.
struct Transfer {
    network: Network,
    monitor: Monitor,
    node: SharedNode,
}

fn mbits(n: u64) -> Rate {
    Rate::from_bits_per_sec(n * 1_000_000)
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Windows for the paths of these tests.
fn windows() -> TransportConfig {
    let mut transport = transport();
    let window = VarInt::from_u32(16 << 20);
    transport
        .send_window(16 << 20)
        .stream_receive_window(window)
        .receive_window(window);
    transport
}

impl Transfer {
    /// Sends `bytes` by `spec` over `path`; nothing has run yet but the handshake.
    fn new(spec: &str, path: &Path, seed: u64, bytes: usize) -> Self {
        let mut network = Network::new(path, seed);
        let node = SharedNode::default();
        let sending = Factory::for_endpoint(spec.parse().expect("registered")).seed(seed);
        let monitor = sending.monitor();
        let receiving = Factory::for_endpoint("newreno".parse().expect("registered")).seed(seed);
        let client = sending.client(client_config(transport()), windows(), Priority::LOWEST);
        let server = receiving.server(server_config(transport()), windows(), node.clone());
        let (client, server) = network.connect(client, server);
        server.admit(Priority::HIGHEST);
        send(&mut network, client, server, bytes);
        Self {
            network,
            monitor,
            node,
        }
    }

    /// Runs to its end and returns how long it took, in seconds; `None` if longer than `most`.
    fn run(&mut self, most: u64) -> Option<f64> {
        let begun = self.network.now();
        let done = self.network.run_tasks(begun + Duration::from_secs(most));
        let took = self.network.now().since(begun).as_secs_f64();
        done.then_some(took)
    }

    fn snapshot(&self) -> Snapshot {
        self.monitor.snapshot()
    }
}

fn send(network: &mut Network, client: Connection, server: Connection, bytes: usize) {
    network.spawn(async move {
        let mut stream = client.open_uni().await.expect("open");
        let data = Data::from(vec![7; bytes]);
        stream.write_chunk(data).await.expect("written");
        stream.finish().expect("open");
        assert_eq!(stream.stopped().await, Ok(None));
        client.close(VarInt::from_u32(0), b"done");
    });
    network.spawn(async move {
        let mut stream = server.accept_uni().await.expect("opened");
        let data = stream.read_to_end(bytes).await.expect("complete");
        assert_eq!(data.len(), bytes);
        server.closed().await;
    });
}

/// 50 Mbit/s, 20 ms there and back, a buffer of 125 kB.
fn path() -> Path {
    Path::symmetric(mbits(50), ms(10), Bytes::new(125_000))
}

#[test]
fn trains_measure_the_path_and_bursts_fill_it() {
    let mut transfer = Transfer::new("enhanced-aatp", &path(), 1, 20_000_000);
    let took = transfer.run(60).expect("complete");
    let bursts = transfer.snapshot().bursts.expect("bursts");
    let measured = bursts.bandwidth.as_bits_per_sec() as f64 / 1e6;
    assert!((49.0..51.0).contains(&measured), "{measured} Mbit/s");
    assert_eq!(bursts.priority, Some(1));
    assert!(!bursts.lumps, "{bursts:?}");
    // 20 MB at 80 % of 50 Mbit/s are 4 s, at all of it 3.2 s; ten trains take 0.2 s and more.
    assert!((3.3..4.6).contains(&took), "{took} s");
    assert_eq!(transfer.node.members(std::time::Instant::now()).1, 1.0);
    let forth = transfer.network.forth();
    assert!(forth.sent - forth.arrived < 10, "{forth:?}");
}

/// The path with fades of `fade` ms in both directions, one each 2 s from 1.5 s on.
fn fading(count: u64, fade: u64) -> Path {
    let mut path = path();
    for n in 0..count {
        let from = Time::ZERO + ms(1500 + n * (2000 + fade));
        let outage = whimbrel_net::Outage {
            from,
            to: from + ms(fade),
        };
        path.forth.loss.outages.push(outage);
        path.back.loss.outages.push(outage);
    }
    path
}

#[test]
fn a_look_at_the_controller_is_no_move() {
    let mut network = Network::new(&path(), 1);
    let sending = Factory::for_endpoint("enhanced-aatp".parse().expect("registered"));
    let receiving = Factory::for_endpoint("newreno".parse().expect("registered"));
    let client = sending.client(client_config(transport()), windows(), Priority::LOWEST);
    let server = receiving.server(server_config(transport()), windows(), SharedNode::default());
    let (client, server) = network.connect(client, server);
    server.admit(Priority::HIGHEST);
    send(&mut network, client.clone(), server, 20_000_000);
    let begun = network.now();
    while network.unfinished() > 0 && network.now() < begun + ms(20_000) {
        network.run_until(network.now() + ms(100));
        let controller = client.congestion_state(PathId::ZERO);
        assert!(controller.is_none_or(|controller| controller.window() > 0));
    }
    // As without a look.
    let took = network.now().since(begun).as_secs_f64();
    assert!(took < 4.7, "{took} s");
}

#[test]
fn a_peer_gets_no_higher_priority_than_it_is_admitted_with() {
    for (wanted, admitted, granted) in [(8, 3, 3), (2, 3, 2)] {
        let priority = |n| Priority::new(n).expect("from 1 to 8");
        let mut network = Network::new(&path(), 1);
        let sending = Factory::for_endpoint("enhanced-aatp".parse().expect("registered"));
        let receiving = Factory::for_endpoint("newreno".parse().expect("registered"));
        let client = sending.client(client_config(transport()), windows(), priority(wanted));
        let node = SharedNode::default();
        let server = receiving.server(server_config(transport()), windows(), node);
        let (_client, server) = network.connect(client, server);
        server.admit(priority(admitted));
        network.run_until(network.now() + ms(1000));
        let bursts = sending.monitor().snapshot().bursts.expect("bursts");
        assert_eq!(bursts.priority, Some(granted));
    }
}

#[test]
fn random_losses_are_told_from_congestion() {
    for (loss, most) in [("0.1 %", 4.2), ("1 %", 4.7), ("5 %", 9.0)] {
        for seed in 0..5 {
            let mut path = path();
            path.forth.loss.random = loss.parse().expect("a probability");
            path.back.loss.random = loss.parse().expect("a probability");
            let mut transfer = Transfer::new("enhanced-aatp", &path, seed, 20_000_000);
            let took = transfer.run(60).expect("complete");
            assert!(took < most, "{loss}, seed {seed}: {took} s");
            let verdicts = transfer
                .snapshot()
                .episodes
                .verdicts
                .expect("it classifies");
            let all = verdicts.random + verdicts.congestion;
            assert!(
                all > 5 && verdicts.congestion * 20 <= all,
                "{loss}, {verdicts:?}"
            );
        }
    }
}

#[test]
fn a_fade_costs_its_own_length_and_less_than_a_second() {
    for spec in ["enhanced-aatp", "cubic", "bbr"] {
        let alone = Transfer::new(spec, &path(), 1, 20_000_000).run(60);
        let alone = alone.expect("complete");
        for (count, fade) in [(1, 500), (3, 500), (1, 1500), (1, 5000), (1, 9000)] {
            let mut transfer = Transfer::new(spec, &fading(count, fade), 1, 20_000_000);
            let took = transfer.run(120).expect("complete");
            // A shorter transfer does not see all fades.
            let met = ((took - 1.5) / (2.0 + fade as f64 / 1000.0)).ceil();
            let fades = met.min(count as f64) * fade as f64 / 1000.0;
            let over = took - alone - fades;
            assert!(
                over < met.min(count as f64),
                "{spec}, {count} of {fade} ms: {over} s over"
            );
        }
    }
}

/// A receiver probes a silent path too, for what it has in flight. If that raised the sender's
/// window, BBR would wait in PROBE_RTT for ever until only four packets are in flight.
#[test]
fn probes_of_the_peer_leave_the_window_alone() {
    let mut transfer = Transfer::new("bbr", &fading(4, 1500), 1, 150_000_000);
    let took = transfer.run(60).expect("complete");
    // 24 s at the link's rate, and 6 s of fades.
    assert!((30.0..36.0).contains(&took), "{took} s");
}

#[test]
fn a_halted_sender_probes_and_goes_on_at_its_rate() {
    let mut transfer = Transfer::new("enhanced-aatp", &fading(1, 5000), 1, 20_000_000);
    transfer.run(60).expect("complete");
    let snapshot = transfer.snapshot();
    let bursts = snapshot.bursts.expect("bursts");
    assert_eq!(bursts.halts, 1);
    assert_eq!(snapshot.episodes.verdicts.map(|v| v.congestion), Some(0));
    // 1.2 s of bursts before it halts, at 3750 packets a second, and four probes a second.
    let forth = transfer.network.forth();
    assert!(forth.sent - forth.arrived < 5000, "{forth:?}");
}

#[test]
fn after_a_change_of_network_the_path_is_measured_again() {
    let mut transfer = Transfer::new("enhanced-aatp", &path(), 1, 20_000_000);
    transfer.network.run_until(Time::ZERO + ms(2000));
    assert_ne!(transfer.snapshot().state.phase, "measuring");
    transfer.network.change_client_network();
    transfer.network.run_until(Time::ZERO + ms(2100));
    assert_eq!(transfer.snapshot().state.phase, "measuring");
    let took = transfer.run(60).expect("complete");
    assert!(took < 4.5, "{took} s");
}

/// The mean rates at which two flows with these priorities arrive, from 5 to 15 s, Mbit/s, and the
/// weighted fairness of the node at the end.
fn shares(first: Priority, second: Priority) -> ([f64; 2], f64) {
    let mut network = Network::new(&path(), 1);
    let node = SharedNode::default();
    let receiving = Factory::for_endpoint("newreno".parse().expect("registered")).seed(1);
    let mut monitors = Vec::new();
    for priority in [first, second] {
        let own = Factory::for_endpoint("enhanced-aatp".parse().expect("registered")).seed(1);
        monitors.push(own.monitor());
        let client = own.client(client_config(transport()), windows(), priority);
        let server = receiving.server(server_config(transport()), windows(), node.clone());
        let (client, server) = network.connect(client, server);
        server.admit(Priority::HIGHEST);
        send(&mut network, client, server, 200_000_000);
    }
    let delivered = |monitors: &[Monitor]| -> Vec<f64> {
        let bits = |m: &Monitor| m.snapshot().state.delivered.get() as f64 * 8.0;
        monitors.iter().map(bits).collect()
    };
    network.run_until(Time::ZERO + ms(5000));
    let before = delivered(&monitors);
    network.run_until(Time::ZERO + ms(15_000));
    let after = delivered(&monitors);
    let rate = |n: usize| (after[n] - before[n]) / 10e6;
    let fairness = node.members(std::time::Instant::now()).1;
    ([rate(0), rate(1)], fairness)
}

#[test]
fn a_node_divides_its_bandwidth_by_priority() {
    for (first, second) in [(1, 1), (1, 8), (4, 2)] {
        let of = |p: u8| Priority::new(p).expect("1 to 8");
        let ([one, other], fairness) = shares(of(first), of(second));
        let share = one / (one + other);
        let fair = f64::from(first) / f64::from(first + second);
        assert!((share - fair).abs() < 0.05, "{first}-{second}: {share}");
        assert!(one + other > 40.0, "{first}-{second}: {one} {other} Mbit/s");
        assert!(fairness > 0.95, "{first}-{second}: WF {fairness}");
    }
}

#[test]
fn a_stranger_gets_no_answer_and_still_makes_progress() {
    // The server never admits the client: its requests use the initial window.
    let mut network = Network::new(&path(), 1);
    let factory = |spec: &str| Factory::for_endpoint(spec.parse().expect("registered")).seed(1);
    let node = SharedNode::default();
    let client = factory("enhanced-aatp");
    let client = client.client(client_config(transport()), windows(), Priority::HIGHEST);
    let server = factory("newreno").server(server_config(transport()), windows(), node.clone());
    let (client, server) = network.connect(client, server);
    send(&mut network, client, server, 100_000);
    assert!(network.run_tasks(Time::ZERO + ms(3000)));
    assert!(node.members(std::time::Instant::now()).0.is_empty());
}

#[test]
fn classifiers_by_jitter_know_when_packets_arrived() {
    for spec in ["cubic+ltd", "newreno+jitter-or-level"] {
        let mut path = path();
        path.forth.loss.random = "1 %".parse().expect("a probability");
        let mut transfer = Transfer::new(spec, &path, 1, 20_000_000);
        let took = transfer.run(60).expect("complete");
        let verdicts = transfer
            .snapshot()
            .episodes
            .verdicts
            .expect("it classifies");
        let all = verdicts.random + verdicts.congestion;
        assert!(verdicts.random * 10 > all * 9, "{spec}: {verdicts:?}");
        // CUBIC alone needs half a minute.
        assert!(took < 6.0, "{spec}: {took} s");
    }
}

#[test]
fn marks_cost_no_packets_of_their_own() {
    let mut transfer = Transfer::new("newreno+ltd", &path(), 1, 2_000_000);
    transfer.network.record();
    transfer.run(60).expect("complete");
    // Ten more seconds without data.
    let end = transfer.network.now() + ms(10_000);
    transfer.network.run_until(end);
    let packets = transfer.network.take_packets();
    let small = |forth: bool| {
        packets
            .iter()
            .filter(move |p| p.forth == forth && p.size < 100)
    };
    let data = packets.iter().filter(|p| p.forth && p.size > 1000).count();
    assert!(data > 1370, "{data} packets of data");
    assert!(small(true).count() < 40, "{} without", small(true).count());
    // An acknowledgment for two packets, and a report in it.
    let answers = small(false).count();
    assert!(answers < data * 3 / 4, "{answers} answers to {data}");
}

#[test]
fn any_path_is_survived() {
    for seed in 0..60 {
        // Numbers of no particular order, from the seed.
        let pick = |salt: u64, range: u64| {
            let mixed = (seed * 31 + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed >> 33) % range
        };
        let rate = 1 << pick(1, 8);
        let delay = 1 + pick(2, 150);
        let buffer = 3000 + pick(3, 200_000);
        let mut path = Path::symmetric(mbits(rate), ms(delay), Bytes::new(buffer));
        for (link, salt) in [(&mut path.forth, 4), (&mut path.back, 5)] {
            let loss = format!("{} %", pick(salt, 6));
            link.loss.random = loss.parse().expect("a probability");
            for n in 0..pick(6, 4) {
                let from = Time::ZERO + ms(1000 + n * 4000);
                let to = from + ms(pick(7, 3000));
                link.loss.outages.push(whimbrel_net::Outage { from, to });
            }
        }
        let spec = ["enhanced-aatp", "aatp", "cubic+ltd"][seed as usize % 3];
        let mut transfer = Transfer::new(spec, &path, seed, 300_000);
        let took = transfer.run(300);
        let s = transfer.snapshot();
        assert!(
            took.is_some(),
            "{spec}, seed {seed}, {rate} Mbit/s, {delay} ms: {s:?}"
        );
    }
}

/// The path with 1 % random loss and a delay that changes each 0.1 ms by up to `noise` us.
fn noisy(noise: u64, seed: u64) -> Path {
    let mut path = path();
    path.forth.loss.random = "1 %".parse().expect("a probability");
    let mut state = seed;
    let delays = (0..100_000).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ms(10) + Duration::from_micros((state >> 33) % (noise + 1))
    });
    let trace = DelayTrace::new(delays.collect()).expect("values");
    path.forth.delay = Delay::recorded(Duration::from_micros(100), trace).expect("an interval");
    path
}

#[test]
fn the_noise_floor_keeps_noise_from_deciding() {
    // Share of the losses that are taken for congestion, with 200 us of noise on bursts of 20 ms.
    let mistaken = |spec: &str| {
        let mut transfer = Transfer::new(spec, &noisy(200, 1), 1, 20_000_000);
        transfer.run(120).expect("complete");
        let verdicts = transfer
            .snapshot()
            .episodes
            .verdicts
            .expect("it classifies");
        verdicts.congestion as f64 / (verdicts.congestion + verdicts.random) as f64
    };
    let (with, without) = (
        mistaken("enhanced-aatp"),
        mistaken("enhanced-aatp?noise_floor=false"),
    );
    assert!(with < 0.1, "{with}");
    assert!(without > 0.2 && without > 4.0 * with, "{without}");
}
