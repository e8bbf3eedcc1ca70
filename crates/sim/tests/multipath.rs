//! Behaviour of a connection over several paths, on paths that can be calculated by hand.

use whimbrel_net::{Delay, LinkSpec, LossSpec, Outage, QueueLimit, Schedule, ServiceSpec};
use whimbrel_sim::{
    FlowOutcome, FlowSpec, LinkId, NamedLink, Network, PathChoice, Recovery, Route, Streams,
    TcpFlow, TcpSettings, Traffic, run,
};
use whimbrel_units::{Bytes, Duration, Probability, Rate, Time};

const MSS: u64 = 1448;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn mbit(rate: u64) -> ServiceSpec {
    ServiceSpec::Rate(Schedule::constant(Rate::from_bits_per_sec(
        rate * 1_000_000,
    )))
}

/// A path whose links have this service, half of this RTT each, and a buffer of `queue` bytes.
fn path(service: ServiceSpec, rtt: u64, queue: u64) -> LinkSpec {
    LinkSpec {
        service,
        delay: Delay::constant(Duration::from_micros(rtt * 500)),
        queue: QueueLimit::Bytes(Bytes::new(queue)),
        ..LinkSpec::default()
    }
}

/// One flow over these paths, each with one link per direction.
fn network(controller: &str, size: Option<u64>, paths: &[LinkSpec]) -> Network {
    let link = |name: String, spec: &LinkSpec| NamedLink {
        name: name.into(),
        spec: spec.clone(),
        on_channel: None,
        helped: None,
    };
    let both = |(i, spec): (usize, &LinkSpec)| {
        let back = LinkSpec {
            loss: LossSpec {
                random: Probability::ZERO,
                ..spec.loss.clone()
            },
            ..spec.clone()
        };
        [
            link(format!("there {i}"), spec),
            link(format!("back {i}"), &back),
        ]
    };
    let routes = 0..paths.len() as u32;
    Network {
        links: paths.iter().enumerate().flat_map(both).collect(),
        channels: Vec::new(),
        destinations: Vec::new(),
        flows: vec![flow(controller, size, routes.map(route).collect())],
        duration: Duration::from_secs(60),
        seed: 1,
        sample: None,
    }
}

fn route(path: u32) -> Route {
    Route {
        forward: vec![LinkId(2 * path)],
        backward: vec![LinkId(2 * path + 1)],
    }
}

fn flow(controller: &str, size: Option<u64>, routes: Vec<Route>) -> FlowSpec {
    FlowSpec {
        host: None,
        name: controller.into(),
        routes,
        start: Time::ZERO,
        stop: None,
        traffic: Traffic::Tcp(TcpFlow {
            controller: controller.parse().expect("registered"),
            size: size.map(Bytes::new),
            two_way: false,
            streams: Streams::default(),
            settings: TcpSettings::default(),
        }),
    }
}

fn settings(network: &mut Network) -> &mut TcpSettings {
    match &mut network.flows[0].traffic {
        Traffic::Tcp(tcp) => &mut tcp.settings,
        Traffic::Aatp(_) | Traffic::Udp(_) => panic!("the first flow is TCP"),
    }
}

fn play(network: &Network) -> FlowOutcome {
    let flow = run(network).flows.swap_remove(0);
    let brought: Bytes = flow.paths.iter().map(|path| path.brought).sum();
    if flow.completion.is_some() && flow.paths.len() > 1 {
        assert_eq!(brought, flow.delivered, "all arrived data was delivered");
    }
    flow
}

fn completion_ms(flow: &FlowOutcome) -> f64 {
    flow.completion.expect("it completes").as_millis_f64()
}

fn mbits(rate: Rate) -> f64 {
    rate.as_bits_per_sec() as f64 * 1e-6
}

/// The time of a file of this size over the paths under a scheduler, milliseconds.
fn time_of(size: u64, paths: &[LinkSpec], scheduler: PathChoice) -> f64 {
    let mut network = network("cubic", Some(size), paths);
    settings(&mut network).scheduler = scheduler;
    completion_ms(&play(&network))
}

#[test]
fn with_ecf_a_slow_path_does_not_delay_the_end() {
    let (fast, slow) = (path(mbit(50), 30, 187_500), path(mbit(2), 600, 150_000));
    let both = [fast.clone(), slow];
    for size in [200_000, 2_000_000, 12_000_000] {
        let alone = time_of(size, std::slice::from_ref(&fast), PathChoice::Ecf);
        let ecf = time_of(size, &both, PathChoice::Ecf);
        assert!(ecf < alone * 1.02, "{ecf} ms, {alone} ms alone");
    }
    // Who sends wherever there is room waits for the slow path, which is open after 600 ms.
    let alone = time_of(12_000_000, std::slice::from_ref(&fast), PathChoice::MinRtt);
    let min_rtt = time_of(12_000_000, &both, PathChoice::MinRtt);
    assert!(min_rtt > alone * 1.1, "{min_rtt} ms, {alone} ms alone");
}

#[test]
fn with_ecf_unequal_paths_add_up() {
    let paths = [path(mbit(50), 30, 187_500), path(mbit(20), 600, 1_500_000)];
    let mut network = network("cubic", None, &paths);
    settings(&mut network).scheduler = PathChoice::Ecf;
    let goodput = mbits(play(&network).goodput);
    assert!(goodput > 0.9 * 70.0 * 1448.0 / 1500.0, "{goodput}");
}

/// 10 Mbit/s and 100 ms, with a queue of one bandwidth-delay product.
fn usual() -> LinkSpec {
    path(mbit(10), 100, 125_000)
}

#[test]
fn two_equal_paths_carry_twice_as_much_as_one() {
    let one = play(&network("newreno", None, &[usual()]));
    let two = play(&network("newreno", None, &[usual(), usual()]));
    // A packet of 1500 bytes carries 1448: at most 9.653 Mbit/s on a path of 10 Mbit/s.
    let (one, two) = (mbits(one.goodput), mbits(two.goodput));
    assert!(one > 9.4 && one < 9.654, "{one}");
    assert!((two / one - 2.0).abs() < 0.02, "{two} beside {one}");
}

#[test]
fn each_path_has_its_own_window_rtt_and_losses() {
    let slow = path(mbit(2), 300, 75_000);
    let outcome = play(&network("newreno", None, &[usual(), slow]));
    let [fast, slow] = outcome.paths.as_slice() else {
        panic!("two paths");
    };
    assert_eq!(
        (fast.route.as_str(), slow.route.as_str()),
        ("there 0", "there 1")
    );
    // 100 ms plus 1.2 ms of transmission; 300 ms plus twice the 0.208 ms of a SYN of 52 bytes. The
    // SYN of the first path, sent at time 0, gives no sample.
    let least = |path: &whimbrel_sim::PathOutcome| path.rtt.min.as_millis_f64();
    assert!((least(fast) - 101.2).abs() < 0.1, "{}", least(fast));
    assert!((least(slow) - 300.416).abs() < 0.001, "{}", least(slow));
    assert!(mbits(fast.goodput) > 9.0 && mbits(slow.goodput) > 1.5 && mbits(slow.goodput) < 1.94);
    assert_eq!(outcome.lost.total(), fast.lost.total() + slow.lost.total());
    assert_eq!(outcome.packets_sent, fast.packets_sent + slow.packets_sent);
    assert!(fast.lost.queue_overflow > 0 && slow.lost.queue_overflow > 0);
}

/// A path of 200 ms opens the connection and one of 10 ms joins. Only propagation takes time, and
/// every segment is acknowledged. There are 40 segments, 10 in an initial window.
///
/// At 200 ms the slow path is established and takes 0 to 9. At 210 ms the fast path is established
/// too. With an unlimited receive window it takes 10 to 19, and at 220 ms, with a doubled window,
/// 20 to 39, which arrive at 225 ms. The segments of the slow path arrive last, at 300 ms.
///
/// With a receive window of 15 segments it takes 10 to 14 at 210 ms and is blocked: 0 is missing
/// until 300 ms, and its Data ACK arrives at 400 ms. The first nine of those ten ACKs make room for
/// one segment each, the tenth for six, since 10 to 14 have arrived. The fast path is preferred and
/// takes 15 to 24, its full window; the slow path takes the rest, 25 to 29. At 410 ms 15 to 24 are
/// acknowledged, and the fast path takes 30 to 39. They arrive at 415 ms and wait for 25 to 29,
/// which arrive at 500 ms.
#[test]
fn a_slow_path_blocks_a_fast_one_when_the_receive_window_is_small() {
    let mut network = network(
        "newreno",
        Some(40 * MSS),
        &[200, 10].map(|rtt| path(ServiceSpec::Unlimited, rtt, 1_000_000)),
    );
    settings(&mut network).ack_every = 1;
    let free = play(&network);
    assert_eq!(completion_ms(&free), 300.0);
    settings(&mut network).receive_window = Bytes::new(15 * MSS);
    let blocked = play(&network);
    assert_eq!(completion_ms(&blocked), 500.0);
    let sent: Vec<u64> = blocked.paths.iter().map(|path| path.packets_sent).collect();
    assert_eq!(sent, [15, 25]);
    assert_eq!(blocked.retransmits, 0);
}

#[test]
fn the_path_with_the_minimum_rtt_is_preferred() {
    // 20 segments: the fast path, which opens the connection, sends 10 at 10 ms. They are
    // acknowledged at 20 ms, long before the slow path is established at 10 + 200 ms: no data is
    // left for it.
    let paths = [10, 200].map(|rtt| path(ServiceSpec::Unlimited, rtt, 1_000_000));
    let outcome = play(&network("newreno", Some(20 * MSS), &paths));
    assert_eq!(completion_ms(&outcome), 25.0);
    assert_eq!(outcome.paths[1].packets_sent, 0);
}

#[test]
fn a_permanent_failure_of_a_path_does_not_stop_the_flow() {
    for dead in [0, 1] {
        for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
            let mut network = network("newreno", Some(5_000_000), &[usual(), usual()]);
            settings(&mut network).recovery = recovery;
            for link in &mut network.links[2 * dead..][..2] {
                link.spec.loss.outages = vec![Outage {
                    from: Time::ZERO + ms(1500),
                    to: Time::MAX,
                }];
            }
            let outcome = play(&network);
            assert_eq!(outcome.delivered, Bytes::new(5_000_000));
            // By 1.5 s both paths have carried at most 1.3 s at 9.65 Mbit/s: 3.1 MB. The other path
            // alone needs at least (5 - 3.1)*8/9.65 = 1.5 s for the rest. The stuck data waits for
            // a timer of about 1 s while the other path sends on, so the flow completes before one
            // with that path only.
            let took = completion_ms(&outcome);
            network.flows[0].routes.remove(dead);
            let alone = completion_ms(&play(&network));
            assert!(
                (3000.0..alone).contains(&took),
                "{recovery:?} {took} {alone}"
            );
            let (stuck, carries) = (&outcome.paths[dead], &outcome.paths[1 - dead]);
            assert!(stuck.timeouts > 0 && stuck.lost.outage > 0);
            assert!(carries.reinjected > 0 && stuck.reinjected == 0);
            assert_eq!(outcome.reinjected, carries.reinjected);
        }
    }
}

#[test]
fn a_path_that_is_never_established_has_no_effect() {
    let mut network = network("newreno", Some(1_000_000), &[usual(), usual()]);
    network.links[2].spec.loss.outages = vec![Outage {
        from: Time::ZERO,
        to: Time::MAX,
    }];
    let outcome = play(&network);
    assert_eq!(outcome.paths[1].packets_sent, 0);
    network.flows[0].routes.pop();
    assert_eq!(outcome.completion, play(&network).completion);
}

#[test]
fn a_path_that_recovers_is_used_again() {
    let mut network = network("newreno", Some(20_000_000), &[usual(), usual()]);
    for link in &mut network.links[..2] {
        link.spec.loss.outages = vec![Outage {
            from: Time::ZERO + ms(2000),
            to: Time::ZERO + ms(4000),
        }];
    }
    let outcome = play(&network);
    assert_eq!(outcome.delivered, Bytes::new(20_000_000));
    // 16.6 s at 9.65 Mbit/s on one path; 8.3 s on both paths.
    assert!(
        completion_ms(&outcome) < 13_000.0,
        "{}",
        completion_ms(&outcome)
    );
    let share = outcome.paths[0].brought.get() as f64 / 20e6;
    assert!(share > 0.25, "{share}");
}

#[test]
fn all_data_arrives_in_order_over_lossy_paths_of_different_length() {
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        for window in [1 << 30, 60 * MSS, MSS] {
            let mut paths = [path(mbit(10), 10, 50_000), path(mbit(5), 400, 50_000)];
            paths[0].loss.random = Probability::new(0.02).expect("a probability");
            paths[1].loss.random = Probability::new(0.05).expect("a probability");
            // 400 segments and 123 bytes.
            let size = 400 * MSS + 123;
            let mut network = network("newreno", Some(size), &paths);
            network.duration = Duration::from_secs(3600);
            settings(&mut network).recovery = recovery;
            settings(&mut network).receive_window = Bytes::new(window);
            let outcome = play(&network);
            assert_eq!(outcome.delivered, Bytes::new(size), "{recovery:?} {window}");
            assert!(outcome.completion.is_some());
            assert!(outcome.lost.random > 0 && outcome.retransmits > 0);
        }
    }
}

#[test]
fn a_stopped_flow_delivers_all_sent_data_and_ends() {
    let mut network = network("newreno", None, &[usual(), path(mbit(2), 300, 75_000)]);
    network.flows[0].stop = Some(Time::ZERO + ms(5000));
    let outcome = run(&network);
    let flow = &outcome.flows[0];
    let new = flow.packets_sent - flow.retransmits - flow.reinjected;
    assert_eq!(flow.delivered.get(), new * MSS);
    // Queues of 100 and 300 ms, and losses at the end to repair.
    let after = outcome.duration.as_millis_f64() - 5000.0;
    assert!((50.0..3000.0).contains(&after), "{after}");
}

#[test]
fn runs_on_different_threads_are_identical() {
    let mut paths = [path(mbit(10), 20, 50_000), path(mbit(5), 100, 50_000)];
    paths[0].loss.random = Probability::new(0.01).expect("a probability");
    let mut network = network("lia", None, &paths);
    network.duration = Duration::from_secs(10);
    network.sample = Some(ms(100));
    let here = run(&network);
    // The second path is established at 20 + 100 ms.
    let samples = |path: usize| here.flows[0].paths[path].samples.len();
    assert_eq!((samples(0), samples(1)), (100, 99));
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| run(&network))).collect();
        for there in runs {
            assert_eq!(there.join().expect("no panic"), here);
        }
    });
}

/// The goodput of a connection with two subflows over one link, relative to a NewReno flow on that
/// link.
fn beside_newreno(controller: &str) -> f64 {
    let mut network = network(controller, None, &[usual()]);
    let twice = vec![route(0), route(0)];
    network.flows = vec![
        flow(controller, None, twice),
        flow("newreno", None, vec![route(0)]),
    ];
    network.duration = Duration::from_secs(600);
    let outcome = run(&network);
    mbits(outcome.flows[0].goodput) / mbits(outcome.flows[1].goodput)
}

#[test]
fn coupled_paths_take_the_share_of_one_flow_on_a_common_link() {
    // Losses hit the paths at random, so the shares vary.
    let uncoupled = beside_newreno("newreno");
    assert!((1.6..2.4).contains(&uncoupled), "{uncoupled}");
    let coupled = beside_newreno("lia");
    assert!((0.7..1.3).contains(&coupled), "{coupled}");
}

#[test]
fn coupled_separate_paths_carry_at_least_as_much_as_the_best() {
    let mut paths = [path(mbit(10), 100, 125_000), path(mbit(4), 40, 20_000)];
    for loss in [0.0, 0.001] {
        paths[0].loss.random = Probability::new(loss).expect("a probability");
        let alone = paths
            .clone()
            .map(|path| mbits(play(&network("newreno", None, &[path])).goodput));
        let both = mbits(play(&network("lia", None, &paths)).goodput);
        let best = alone[0].max(alone[1]);
        assert!(both > best, "{both} beside {alone:?}");
        assert!(
            both <= 1.02 * (alone[0] + alone[1]),
            "{both} beside {alone:?}"
        );
    }
}
