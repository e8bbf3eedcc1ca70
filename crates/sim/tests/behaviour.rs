//! What a connection must do on paths simple enough to work out by hand. The path is 10 Mbit/s and 50 ms each
//! way unless a test says otherwise: a full packet of 1500 bytes takes 1.2 ms, a SYN of 52 bytes 41.6 us, so
//! data may leave 100.0832 ms after the start, and the k-th segment of the first flight has left the link
//! 1.2 ms x k later. Outages of a fraction of a millisecond drop exactly the segments that a test wants gone.

use std::path::Path;
use whimbrel_net::{Delay, LinkSpec, Outage, QueueLimit, Schedule, ServiceSpec};
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::{
    FlowOutcome, FlowSpec, LinkId, NamedLink, Network, Outcome, Recovery, Route, Streams, TcpFlow,
    TcpSettings, Traffic, UdpFlow, run,
};
use whimbrel_units::{Bytes, Duration, Probability, Rate, Time};

const MSS: u64 = 1448;
/// When data may leave, and how long a packet takes, in milliseconds.
const HANDSHAKE: f64 = 100.0832;
const PACKET: f64 = 1.2;
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
        name: name.to_owned(),
        spec,
        on_channel: None,
    }
}

/// One flow of so many segments over the path there and back.
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
        name: "flow".to_owned(),
        routes: vec![Route {
            forward: vec![LinkId(0)],
            backward: vec![LinkId(1)],
        }],
        start: Time::ZERO,
        stop: None,
        traffic,
    }
}

/// Drops what leaves the first link within 0.3 ms of these times.
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

#[test]
fn an_initial_window_takes_a_handshake_ten_packets_and_a_one_way_delay() {
    for recovery in ALL {
        let (outcome, flow) = play(&path(10, recovery));
        let expected = HANDSHAKE + 10.0 * PACKET + 50.0;
        assert!(
            (completion(&flow) - expected).abs() < 0.01,
            "{}",
            completion(&flow)
        );
        assert_eq!((flow.packets_sent, flow.retransmits), (10, 0));
        assert_eq!(flow.delivered, Bytes::new(10 * MSS));
        assert_eq!(
            outcome.duration,
            flow.completion.expect("done"),
            "the run ends with its flow"
        );
    }
}

#[test]
fn slow_start_needs_two_more_round_trips_for_seventy_segments() {
    // Windows of 10, 20, 40: the last of 70 segments leaves with the third flight.
    let (_, flow) = play(&path(70, Recovery::Rack));
    let rounds = (completion(&flow) - HANDSHAKE - 50.0) / RTT;
    assert!((2.0..3.0).contains(&rounds), "{rounds} round trips");
}

#[test]
fn a_lost_syn_costs_the_initial_timeout_of_one_second() {
    let mut network = path(10, Recovery::Rack);
    drop_at(&mut network, &[0.0]);
    let (_, flow) = play(&network);
    let expected = 1000.0 + HANDSHAKE + 10.0 * PACKET + 50.0;
    assert!(
        (completion(&flow) - expected).abs() < 0.01,
        "{}",
        completion(&flow)
    );
}

#[test]
fn one_lost_segment_is_repaired_in_a_round_trip_without_a_timeout() {
    for recovery in ALL {
        let mut network = path(10, recovery);
        let (_, clean) = play(&network);
        drop_at(&mut network, &[leaves(1)]);
        let (_, flow) = play(&network);
        assert_eq!(
            (flow.retransmits, flow.timeouts, flow.loss_episodes),
            (1, 0, 1),
            "{recovery:?}"
        );
        let cost = completion(&flow) - completion(&clean);
        assert!(
            (0.9 * RTT..1.1 * RTT).contains(&cost),
            "{recovery:?}: {cost} ms"
        );
    }
}

/// Episodes, timeouts and completion of 60 segments of which these of the first flight of 20 are lost, without SACK.
fn repairs(controller: &str, lost: &[u32]) -> (u64, u64, f64) {
    let mut network = path(60, Recovery::NewReno);
    let times: Vec<f64> = lost.iter().map(|k| leaves(*k)).collect();
    drop_at(&mut network, &times);
    let tcp = tcp(&mut network);
    tcp.controller = controller.parse().expect("registered");
    tcp.settings = TcpSettings {
        initial_window: 20,
        ack_every: 1,
        limited_transmit: false,
        ..tcp.settings
    };
    let (_, flow) = play(&network);
    (flow.loss_episodes, flow.timeouts, completion(&flow))
}

#[test]
fn reno_halves_for_each_of_two_holes_and_times_out_at_three_as_fall_and_floyd_saw() {
    // K. Fall, S. Floyd, "Simulation-based Comparisons of Tahoe, Reno, and SACK TCP", CCR 26(3), 1996: figures 2 to 4.
    // By hand: 14 duplicates inflate 10 to 24 segments, so 4 new ones leave; the first new ACK ends the recovery, and those 4
    // make three duplicates for the second hole. With a window of 5 nothing new leaves for the third.
    for (controller, holes, expected) in [
        ("reno", [5].as_slice(), (1, 0)),
        ("reno", &[5, 10], (2, 0)),
        ("reno", &[5, 10, 15], (2, 1)),
        ("newreno", &[5, 10, 15], (1, 0)),
        ("tahoe", &[5, 10, 15], (1, 0)),
    ] {
        let (episodes, timeouts, _) = repairs(controller, holes);
        assert_eq!((episodes, timeouts), expected, "{controller} {holes:?}");
    }
}

#[test]
fn tahoe_starts_again_from_one_segment_where_reno_goes_on_with_half() {
    // After the hole is filled 20 of 60 segments are there. Reno goes on with 10 a round trip and more: 4 round trips.
    // Tahoe with 1, 2, 4, 8, then from ssthresh 10 on: 6.
    let (_, _, reno) = repairs("reno", &[5]);
    let (_, _, tahoe) = repairs("tahoe", &[5]);
    let round_trips = (tahoe - reno) / 100.0;
    assert!((1.5..3.5).contains(&round_trips), "{round_trips}");
}

#[test]
fn three_holes_cost_newreno_a_round_trip_each_and_sack_one_for_all() {
    let lost = [leaves(2), leaves(4), leaves(6)];
    let time = |recovery| {
        let mut network = path(40, recovery);
        drop_at(&mut network, &lost);
        let (_, flow) = play(&network);
        assert_eq!((flow.retransmits, flow.timeouts), (3, 0), "{recovery:?}");
        completion(&flow)
    };
    let (newreno, sack, rack) = (
        time(Recovery::NewReno),
        time(Recovery::Sack),
        time(Recovery::Rack),
    );
    let extra = (newreno - sack) / RTT;
    assert!(
        (1.5..3.0).contains(&extra),
        "{extra} round trips more than SACK"
    );
    assert!((rack - sack).abs() < RTT, "RACK {rack} ms, SACK {sack} ms");
}

#[test]
fn a_lost_tail_costs_a_timeout_unless_a_probe_finds_it() {
    let time = |probe| {
        let mut network = path(10, Recovery::Rack);
        tcp(&mut network).settings.tail_loss_probe = probe;
        drop_at(&mut network, &[leaves(10)]);
        let (_, flow) = play(&network);
        (completion(&flow), flow.timeouts)
    };
    let (with, timeouts) = time(true);
    assert_eq!(timeouts, 0);
    // The ninth segment's acknowledgment waits 40 ms for the tenth; then two smoothed round trips, 200 ms for an
    // acknowledgment that may be delayed (RFC 8985 section 7.2, one segment in flight), half a round trip.
    let expected = leaves(9) + 140.0 + 2.0 * 107.0 + 200.0 + 50.0;
    assert!(
        (with - expected).abs() < 30.0,
        "{with} ms, {expected} expected"
    );
    let (without, timeouts) = time(false);
    assert_eq!(timeouts, 1);
    assert!(
        without > HANDSHAKE + 1000.0,
        "{without} ms: the timeout's floor is a second"
    );
}

#[test]
fn a_lost_retransmission_costs_sack_a_timeout_and_rack_none() {
    // The fourth segment's acknowledgment, with one SACK block 64 bytes long, is the third duplicate: the
    // retransmission leaves the sender then, and the link a packet's time later.
    let third = leaves(4) + 50.0 + 0.0512 + 50.0;
    for (recovery, expected) in [(Recovery::Sack, 1), (Recovery::Rack, 0)] {
        let mut network = path(400, recovery);
        drop_at(&mut network, &[leaves(1)]);
        let (_, once) = play(&network);
        assert_eq!((once.retransmits, once.timeouts), (1, 0), "{recovery:?}");
        drop_at(&mut network, &[leaves(1), third + PACKET]);
        let (_, twice) = play(&network);
        assert_eq!(twice.lost.outage, 2, "{recovery:?}");
        assert_eq!(twice.timeouts, expected, "{recovery:?}");
        assert!(
            recovery != Recovery::Rack || twice.retransmits == 2,
            "{recovery:?}"
        );
    }
}

#[test]
fn a_timeout_that_a_longer_path_caused_is_taken_back() {
    // The path grows by 1.5 s: nothing is lost, the timer fires all the same, and the echoed timestamp of
    // the original tells (RFC 3522).
    let mut network = path(2000, Recovery::Rack);
    let steps = vec![(Time::ZERO, ms(50.0)), (at(600.0), ms(1550.0))];
    network.links[0].spec.delay = Delay::steps(Schedule::steps(steps).expect("in order"));
    let (_, flow) = play(&network);
    assert!(flow.timeouts >= 1, "{flow:?}");
    assert!(flow.spurious >= 1, "{flow:?}");
    assert_eq!(flow.lost.total(), 0);
}

#[test]
fn a_shorter_path_reorders_and_nothing_is_lost_for_long() {
    let mut network = path(2000, Recovery::Rack);
    let steps = vec![(Time::ZERO, ms(50.0)), (at(600.0), ms(20.0))];
    network.links[0].spec.delay = Delay::steps(Schedule::steps(steps).expect("in order"));
    let (_, flow) = play(&network);
    assert_eq!(flow.timeouts, 0);
    assert_eq!(flow.delivered, Bytes::new(2000 * MSS));
}

#[test]
fn a_lone_segment_is_acknowledged_when_the_delay_timer_says_so() {
    let mut network = path(11, Recovery::Rack);
    tcp(&mut network).settings.initial_window = 1;
    tcp(&mut network).settings.ack_delay = ms(200.0);
    let (_, flow) = play(&network);
    // The first segment waits alone for the timer.
    let expected = 2.0 * 50.0 + PACKET + 0.0416 + 200.0;
    assert!(
        (flow.rtt.max.as_millis_f64() - expected).abs() < 0.01,
        "{}",
        flow.rtt.max
    );
}

#[test]
fn the_receive_window_bounds_the_rate() {
    let mut network = path(100_000, Recovery::Rack);
    tcp(&mut network).size = None;
    tcp(&mut network).settings.receive_window = Bytes::new(40 * MSS);
    let (_, flow) = play(&network);
    // 40 segments each RTT, which is 100 ms, a packet's time and an ACK's.
    let expected = 40.0 * MSS as f64 * 8.0 / (0.1 + 0.001_241_6);
    let got = flow.goodput.as_bits_per_sec() as f64;
    assert!((got / expected - 1.0).abs() < 0.03, "{got} for {expected}");
    assert_eq!(flow.lost.total(), 0);
}

#[test]
fn one_bdp_of_queue_keeps_the_link_full_under_halving() {
    let mut network = path(1, Recovery::Rack);
    tcp(&mut network).size = None;
    network.links[0].spec.queue = QueueLimit::Bytes(Bytes::new(125_000));
    let (outcome, flow) = play(&network);
    assert!(
        outcome.links[0].utilisation > 0.98,
        "{}",
        outcome.links[0].utilisation
    );
    assert!(flow.lost.queue_overflow > 0, "it did find the limit");
    assert_eq!(flow.timeouts, 0);
}

#[test]
fn a_slow_start_that_overflows_the_queue_loses_each_excess_once() {
    // 83.3 packets travel and 83 wait, one more is being sent: 167 fit. Slow start sends two for one that arrives, and the
    // first drop is noticed when the 167 before it have arrived: 334 are in flight then, and 167 of them are lost.
    // While these come to light, one is sent for one that arrives, and nothing more is lost.
    // ssthresh is 0.7*334 = 234. Then the flight grows to that, two for one, and 67 more do not fit.
    // Acknowledgments of two and three duplicates before the loss is believed make it some packets more.
    let lost_by = |seconds: f64| {
        let mut network = path(100_000, Recovery::Rack);
        network.links[0].spec.queue = QueueLimit::Packets(83);
        tcp(&mut network).controller = "cubic?hystart=false".parse().expect("registered");
        network.duration = ms(seconds * 1000.0);
        let (_, flow) = play(&network);
        assert_eq!(flow.timeouts, 0);
        flow.lost.queue_overflow
    };
    // The first drop is noticed at about 0.82 s, and a round trip with a full queue takes 0.2 s.
    let first = lost_by(1.0);
    assert!((165..=172).contains(&first), "{first}");
    let both = lost_by(1.3);
    assert!((232..=240).contains(&both), "{both}");
}

#[test]
fn newreno_under_random_loss_gets_what_the_square_root_law_says() {
    // M. Mathis et al. 1997: rate = MSS/RTT * sqrt(3/2 / p), for an acknowledgment-counting sender whose
    // losses cost no timeouts.
    for p in [0.0005, 0.002, 0.01] {
        let mut network = path(1, Recovery::Rack);
        tcp(&mut network).size = None;
        network.links[0].spec.service = mbit(1000);
        network.links[0].spec.loss.random = Probability::new(p).expect("a probability");
        network.duration = Duration::from_secs(2000);
        let (_, flow) = play(&network);
        let expected = MSS as f64 * 8.0 / 0.1 * (1.5 / p).sqrt();
        let ratio = flow.goodput.as_bits_per_sec() as f64 / expected;
        assert!((0.8..1.15).contains(&ratio), "{ratio} at {p}");
    }
}

#[test]
fn verdicts_are_counted_against_the_causes_of_the_drops() {
    let mut network = path(1, Recovery::Rack);
    tcp(&mut network).size = None;
    tcp(&mut network).controller = "cerl".parse().expect("registered");
    network.links[0].spec.queue = QueueLimit::Bytes(Bytes::new(125_000));
    network.links[0].spec.loss.random = Probability::new(0.001).expect("a probability");
    let (_, flow) = play(&network);
    let c = flow.discrimination.expect("CERL tells losses apart");
    let judged = c.congestion_as_congestion
        + c.congestion_as_random
        + c.random_as_congestion
        + c.random_as_random
        + c.spurious;
    assert_eq!(judged, flow.loss_episodes);
    assert!(flow.lost.queue_overflow > 0 && flow.lost.random > 0);
    assert!(
        c.congestion_as_congestion > 0 && c.random_as_random > 0,
        "{c:?}"
    );
    // One bottleneck with a queue of 1 BDP is the path CERL is made for.
    assert!(c.accuracy().is_some_and(|a| a > 0.8), "{c:?}");
}

#[test]
fn data_both_ways_carries_the_acknowledgments_and_all_of_it_arrives() {
    let mut network = path(2000, Recovery::Rack);
    tcp(&mut network).two_way = true;
    // Less than the path holds: nothing queues, nothing is lost.
    tcp(&mut network).settings.receive_window = Bytes::new(40 * MSS);
    let (outcome, flow) = play(&network);
    assert_eq!(flow.delivered, Bytes::new(2 * 2000 * MSS));
    for link in &outcome.links {
        assert!(
            link.counters.delivered >= 2000,
            "{}: {:?}",
            link.name,
            link.counters
        );
        // 1000 acknowledgments are owed; most travel on data.
        assert!(
            link.counters.delivered < 2500,
            "{}: {:?}",
            link.name,
            link.counters
        );
    }
}

#[test]
fn datagrams_keep_their_rate_and_lose_what_does_not_fit() {
    let udp = |rate: u64| {
        Traffic::Udp(UdpFlow {
            rate: Rate::from_bits_per_sec(rate * 1_000_000),
            packet: Bytes::new(1000),
            on_off: None,
        })
    };
    for (rate, share) in [(2, 1.0), (20, 0.5)] {
        let mut network = path(1, Recovery::Rack);
        network.flows = vec![flow(udp(rate))];
        network.links[0].spec.queue = QueueLimit::Packets(10);
        network.duration = Duration::from_secs(10);
        let (_, flow) = play(&network);
        let arrived = flow.delivered.get() as f64 / flow.sent_on_wire.get() as f64;
        assert!(
            (arrived / share - 1.0).abs() < 0.01,
            "{rate} Mbit/s: {arrived}"
        );
    }
}

#[test]
fn a_flow_that_stops_sends_no_more_and_what_it_sent_arrives() {
    let mut network = path(1, Recovery::Rack);
    tcp(&mut network).size = None;
    network.links[0].spec.queue = QueueLimit::Bytes(Bytes::new(125_000));
    network.flows[0].stop = Some(at(2000.0));
    let (outcome, flow) = play(&network);
    assert!(
        outcome.duration < Duration::from_secs(3),
        "{}",
        outcome.duration
    );
    assert_eq!(
        flow.delivered.get(),
        (flow.packets_sent - flow.retransmits) * MSS
    );
}

#[test]
fn equal_flows_share_equally() {
    let mut network = path(1, Recovery::Rack);
    tcp(&mut network).size = None;
    network.links[0].spec.queue = QueueLimit::Bytes(Bytes::new(125_000));
    let first = network.flows[0].clone();
    network.flows = (0..4)
        .map(|i| FlowSpec {
            start: at(137.0 * f64::from(i)),
            ..first.clone()
        })
        .collect();
    network.duration = Duration::from_secs(300);
    let outcome = run(&network);
    assert!(outcome.jain() > 0.95, "{}", outcome.jain());
    assert!(outcome.links[0].utilisation > 0.95);
}

/// A sampled run settles nothing ahead. Starts are apart, because what happens in the same nanosecond has no order.
#[test]
fn ends_that_send_and_receive_do_the_same_ahead_of_events_as_in_their_turn() {
    let text = r#"
        link.access = { rate = "1 Mbit/s", delay = "10 ms", queue = "20 packets" }
        link.L = { rate = "2.5 Mbit/s", delay = "30 ms", queue = "10 packets", loss = "2 %", reverse = { loss = "same" } }
        run = { duration = "60 s", recovery = "newreno" }
        [[flow]]
        count = 4
        controller = "cerl"
        two_way = true
        start = "0 s .. 5 s"
        route = ["access*", "L", "access*"]
    "#;
    let scenario = Scenario::parse(text, Path::new("")).expect("a scenario");
    for seed in 1..=5 {
        let network = scenario.points()[0].network(seed);
        let ahead = run(&network);
        // Its first sample would come when the run is over.
        let mut in_turn = run(&Network {
            sample: Some(Duration::from_secs(1000)),
            ..network
        });
        // Which are noted where samples are taken.
        for flow in &mut in_turn.flows {
            assert!(flow.episodes.len() > 5);
            flow.episodes.clear();
            assert!(flow.distributions.take().is_some());
        }
        assert!(4 * ahead.events < 3 * in_turn.events, "{}", ahead.events);
        assert_eq!(ahead.flows, in_turn.flows);
        // Timers and decisions on losses are what must not be run ahead of.
        assert!(ahead.flows.iter().any(|flow| flow.timeouts > 0));
        assert!(ahead.flows.iter().all(|flow| flow.loss_episodes > 5));
    }
}

#[test]
fn an_episode_is_noted_from_the_third_duplicate_until_all_sent_before_it_is_acknowledged() {
    let mut network = path(40, Recovery::NewReno);
    network.sample = Some(ms(10.0));
    network.links[0].spec.loss.drops = vec![at(leaves(3))];
    let (_, flow) = play(&network);
    let [episode] = flow.episodes.as_slice() else {
        panic!("{:?}", flow.episodes)
    };
    // Segments 4 to 6 make the duplicates; an acknowledgment of 52 bytes takes 0.0416 ms.
    let third = leaves(6) + 50.0 + 0.0416 + 50.0;
    assert!(
        (episode.at.as_secs_f64() * 1e3 - third).abs() < 0.001,
        "{episode:?}"
    );
    // Segments 1 and 2 were acknowledged at once: 12 segments were allowed, and 12 under way besides what limited transmit sent.
    assert_eq!(episode.cwnd, Bytes::new(12 * MSS));
    assert_eq!(episode.in_flight, Bytes::new(12 * MSS));
    assert!(episode.reduced && !episode.timeout);
    // Two segments that limited transmit sent are before the hole's in the queue; all is acknowledged with it.
    let ended = episode.ended.expect("it ends").as_secs_f64() * 1e3;
    assert!(
        (ended - third - (3.0 * PACKET + 100.0416)).abs() < 0.001,
        "{ended}"
    );
    // Window 6 after it: the samples show the law's window, not what recovery adds to it.
    let during = flow.samples.iter().filter(|s| {
        let ms = s.at.as_secs_f64() * 1e3;
        ms > third && ms < ended
    });
    let windows: Vec<u64> = during.map(|s| s.cwnd.get() / MSS).collect();
    assert_eq!(windows, vec![6; windows.len()]);
    assert!(windows.len() > 5);
    network.sample = None;
    assert_eq!(play(&network).1.episodes, []);
}

#[test]
fn a_timeout_is_an_episode_that_goes_on_while_the_path_is_dark() {
    let mut network = path(10_000, Recovery::Rack);
    network.sample = Some(ms(100.0));
    network.duration = Duration::from_secs(15);
    network.links[0].spec.loss.outages = vec![Outage {
        from: at(1000.0),
        to: at(90_000.0),
    }];
    let (_, flow) = play(&network);
    let timeouts: Vec<_> = flow.episodes.iter().filter(|e| e.timeout).collect();
    assert_eq!(timeouts.len() as u64, flow.timeouts);
    assert!(timeouts.len() >= 2, "{timeouts:?}");
    assert!(timeouts.iter().all(|e| e.ended.is_none() && e.reduced));
    assert_eq!(
        flow.episodes.len() as u64,
        flow.timeouts + flow.loss_episodes
    );
}

#[test]
fn acknowledgments_of_a_full_link_are_spaced_as_the_packets_that_passed_it() {
    for (ack_every, spacing) in [(1, PACKET), (2, 2.0 * PACKET)] {
        let mut network = path(100_000, Recovery::Rack);
        tcp(&mut network).settings.ack_every = ack_every;
        network.sample = Some(ms(777.0));
        network.duration = Duration::from_secs(5);
        let (_, flow) = play(&network);
        let samples: Vec<_> = flow.samples.iter().skip(2).collect();
        assert!(samples.len() > 3);
        for sample in samples {
            let found = sample.ack_spacing.expect("there were two").as_millis_f64();
            assert!((found - spacing).abs() < 1e-5, "{found}");
        }
        // 10 Mbit/s from 0.15 s to the end: what was put on the wire is that and what waits.
        let last = flow.samples.last().expect("sampled");
        assert!(last.sent.get() as f64 > 10e6 / 8.0 * (last.at.as_secs_f64() - 0.6));
        assert!(last.sent <= flow.sent_on_wire);
    }
}
