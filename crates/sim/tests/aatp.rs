//! Behaviour of an AATP connection on paths that can be calculated by hand: 10 Mbit/s and 50 ms
//! each way. A full packet of 1500 bytes takes 1.2 ms and carries 1429 bytes; an opening of 40
//! bytes takes 0.032 ms, its answer of 49 bytes 0.0392 ms, the confirmation of a train (54 bytes)
//! 0.0432 ms.

use whimbrel_cc::fairness::{Adapter, Priority};
use whimbrel_net::{Delay, LinkSpec, Outage, QueueLimit, Schedule, ServiceSpec};
use whimbrel_sim::{
    AatpFlow, AatpOutcome, AatpSettings, Destination, FlowOutcome, FlowSpec, LinkId, NamedLink,
    Network, Outcome, Route, Traffic, run,
};
use whimbrel_units::{Bytes, Duration, Probability, Rate, Time};

const PAYLOAD: u64 = 1429;
const CAPACITY: Rate = Rate::from_bits_per_sec(10_000_000);
/// Opening and answer; then ten trains of 2 to 20 packets, 110 in total, each one round trip
/// including its confirmation.
const HANDSHAKE: f64 = 0.032 + 0.0392 + 100.0;
const SET_UP: f64 = HANDSHAKE + 110.0 * 1.2 + 10.0 * (100.0 + 0.0432);

fn ms(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1000.0)
}

fn at(when: f64) -> Time {
    Time::ZERO + ms(when)
}

fn link(name: &str) -> NamedLink {
    let spec = LinkSpec {
        service: ServiceSpec::Rate(Schedule::constant(CAPACITY)),
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

/// One flow of this number of full packets (endless if 0) over the path.
fn path(controller: &str, packets: u64) -> Network {
    Network {
        links: vec![link("there"), link("back")],
        channels: Vec::new(),
        destinations: vec![Destination {
            name: "node".to_owned(),
            is_copy: false,
            adapter: Adapter::default(),
            bandwidth: None,
        }],
        flows: vec![flow(controller, packets)],
        duration: Duration::from_secs(60),
        seed: 1,
        sample: None,
    }
}

fn flow(controller: &str, packets: u64) -> FlowSpec {
    FlowSpec {
        host: None,
        name: "flow".into(),
        routes: vec![Route {
            forward: vec![LinkId(0)],
            backward: vec![LinkId(1)],
        }],
        start: Time::ZERO,
        stop: None,
        traffic: Traffic::Aatp(AatpFlow {
            controller: controller.parse().expect("registered"),
            size: (packets > 0).then(|| Bytes::new(packets * PAYLOAD)),
            priority: Priority::LOWEST,
            destination: 0,
            settings: AatpSettings::default(),
        }),
    }
}

fn aatp(network: &mut Network, index: usize) -> &mut AatpFlow {
    match &mut network.flows[index].traffic {
        Traffic::Aatp(aatp) => aatp,
        Traffic::Tcp(_) | Traffic::Udp(_) => panic!("the flow is AATP"),
    }
}

/// An outage of a link between these times in ms.
fn outage(network: &mut Network, link: usize, from: f64, to: f64) {
    network.links[link].spec.loss.outages.push(Outage {
        from: at(from),
        to: at(to),
    });
}

fn play(network: &Network) -> (Outcome, FlowOutcome, AatpOutcome) {
    let outcome = run(network);
    let flow = outcome.flows[0].clone();
    let aatp = flow.aatp.clone().expect("an AATP flow");
    (outcome, flow, aatp)
}

fn near(found: Duration, expected_ms: f64) {
    let found = found.as_millis_f64();
    assert!(
        (found - expected_ms).abs() < 0.01,
        "{found} ms, not {expected_ms} ms"
    );
}

#[test]
fn ten_trains_measure_the_path_in_ten_round_trips() {
    let (_, flow, aatp) = play(&path("enhanced-aatp", 1));
    assert_eq!(aatp.bandwidth, CAPACITY);
    near(aatp.set_up.expect("set up"), SET_UP);
    near(flow.completion.expect("it completes"), SET_UP + 1.2 + 50.0);
    assert_eq!(flow.delivered, Bytes::new(PAYLOAD));
}

#[test]
fn a_burst_is_paced_at_four_fifths_of_the_bandwidth() {
    // 8 Mbit/s: one packet every 1.5 ms; 60 packets fit in the first burst.
    let (outcome, flow, _) = play(&path("enhanced-aatp", 60));
    near(
        flow.completion.expect("it completes"),
        SET_UP + 59.0 * 1.5 + 1.2 + 50.0,
    );
    assert_eq!((flow.packets_sent, flow.retransmits), (60, 0));
    assert_eq!(flow.sent_on_wire, Bytes::new(60 * 1500));
    // Paced packets never wait in the queue; those of the trains do.
    assert_eq!(outcome.links[0].counters.most_waiting, 19);
    near(flow.one_way_delay.max, 51.2);
}

#[test]
fn a_known_bandwidth_needs_no_trains() {
    let mut network = path("enhanced-aatp", 1);
    network.destinations[0].bandwidth = Some(CAPACITY);
    let (_, flow, aatp) = play(&network);
    near(aatp.set_up.expect("set up"), HANDSHAKE);
    near(flow.completion.expect("it completes"), HANDSHAKE + 51.2);
}

#[test]
fn a_last_packet_may_be_short() {
    let mut network = path("enhanced-aatp", 1);
    aatp(&mut network, 0).size = Some(Bytes::new(PAYLOAD + 100));
    let (_, flow, _) = play(&network);
    assert_eq!(flow.delivered, Bytes::new(PAYLOAD + 100));
    assert_eq!(flow.sent_on_wire, Bytes::new(1500 + 171));
}

#[test]
fn missing_packets_are_retransmitted_once() {
    let mut network = path("enhanced-aatp", 1000);
    // Packets 10 to 19 of the data: the k-th (from 0) leaves the link at SET_UP + 1.5 k + 1.2.
    let leaves = |k: f64| SET_UP + 1.5 * k + 1.2;
    outage(&mut network, 0, leaves(10.0) - 0.3, leaves(19.0) + 0.3);
    let (_, flow, aatp) = play(&network);
    assert_eq!(flow.lost.outage, 10);
    assert_eq!((flow.packets_sent, flow.retransmits), (1010, 10));
    assert_eq!(flow.delivered, Bytes::new(1000 * PAYLOAD));
    assert_eq!((flow.loss_episodes, flow.timeouts), (1, 0));
    // The burst was not stretched and no loss was due to the queue: keeping the rate was right.
    let judged = flow.discrimination.expect("it tells losses apart");
    assert_eq!((judged.random_as_random, judged.accuracy()), (1, Some(1.0)));
    assert_eq!(aatp.breaks, 0);
}

#[test]
fn a_sender_continues_in_an_outage_and_retransmits_all_after_it() {
    let mut quiet = path("enhanced-aatp", 4000);
    let (_, before, _) = play(&quiet);
    for link in [0, 1] {
        outage(&mut quiet, link, 3000.0, 5000.0);
    }
    let (_, flow, _) = play(&quiet);
    // Two seconds at 8 Mbit/s or more are at least 1333 packets.
    assert!(flow.lost.outage > 1333, "{:?}", flow.lost);
    assert_eq!(
        flow.retransmits, flow.lost.outage,
        "each lost packet is retransmitted once"
    );
    // One decision for the burst that the outage cut short, one for the twenty that followed.
    assert_eq!(flow.loss_episodes, 2);
    assert_eq!(flow.delivered, Bytes::new(4000 * PAYLOAD));
    // The cost is the outage and the missed growth of the rate: less than one round trip more.
    let cost = flow.completion.expect("done") - before.completion.expect("done");
    assert!((2.0..2.2).contains(&cost.as_secs_f64()), "{cost}");
}

#[test]
fn a_lost_report_is_repeated_without_retransmissions() {
    let mut network = path("enhanced-aatp", 1000);
    // Only the reverse direction fails, for the reports of three bursts.
    outage(&mut network, 1, 2000.0, 2300.0);
    let (outcome, flow, _) = play(&network);
    assert!(outcome.links[1].counters.outage >= 3);
    assert_eq!((flow.packets_sent, flow.retransmits), (1000, 0));
    assert_eq!(flow.timeouts, 0);
}

#[test]
fn the_controller_is_notified_of_bursts_in_order() {
    let mut network = path("enhanced-aatp", 1000);
    let all = play(&network).2.bursts;
    // 1000 packets in bursts of 67 to 83.
    assert!((13..=15).contains(&all), "{all}");
    // The reports of three bursts, one round trip apart, are lost; they are repeated with or after
    // that of the fourth.
    outage(&mut network, 1, 2000.0, 2300.0);
    let reported = play(&network).2.bursts;
    assert!((1..=3).contains(&(all - reported)), "{reported} of {all}");
}

#[test]
fn losing_the_end_of_a_burst_does_not_lengthen_the_rtt() {
    let mut network = path("enhanced-aatp", 300);
    // The last seven of the 67 packets of the first burst are lost: the receiver reports when the
    // second burst begins.
    let leaves = |k: f64| SET_UP + 1.5 * k + 1.2;
    outage(&mut network, 0, leaves(60.0) - 0.3, leaves(66.0) + 0.3);
    let (_, flow, _) = play(&network);
    assert_eq!(flow.lost.outage, 7);
    // One packet, 100 ms, and a SACK of 110 to 118 bytes.
    near(flow.rtt.max, 1.2 + 100.0 + 118.0 * 8e-4);
}

#[test]
fn acknowledgments_travel_on_data() {
    let (outcome, flow, aatp) = play(&path("enhanced-aatp", 1000));
    // An opening and ten trains; at the end of the data, the ACKs of the last bursts and the end
    // message.
    let others = outcome.links[0].counters.offered - flow.packets_sent - 111;
    assert!(aatp.bursts > 10 && others <= 4, "{others}");
    // Both ends measure the round trip, (12) and (13).
    // The run ends before the last ACK arrives.
    assert_eq!(aatp.receiver_rtt.count, aatp.bursts - 1);
    // The receiver's measurement includes the wait for the next data packet: at most 1.5 ms.
    let least = 100.0 + 0.088 + 1.2;
    let range = aatp.receiver_rtt.min.as_millis_f64()..=aatp.receiver_rtt.max.as_millis_f64();
    assert!(
        *range.start() > least && *range.end() < least + 1.5,
        "{range:?}"
    );
}

#[test]
fn a_missing_packet_does_not_delay_others() {
    let mut network = path("enhanced-aatp", 0);
    let leaves = |k: f64| SET_UP + 1.5 * k + 1.2;
    outage(&mut network, 0, leaves(10.0) - 0.3, leaves(19.0) + 0.3);
    // The 40th packet has just arrived, and nothing was retransmitted yet.
    network.duration = ms(leaves(39.0) + 50.1);
    let (_, flow, _) = play(&network);
    assert_eq!(flow.delivered, Bytes::new(30 * PAYLOAD));
}

#[test]
fn a_node_forgets_a_flow_that_has_ended() {
    let mut network = path("enhanced-aatp", 500);
    network.flows.push(flow("enhanced-aatp", 0));
    network.duration = Duration::from_secs(20);
    network.sample = Some(Duration::from_secs(1));
    let outcome = run(&network);
    let flows: Vec<u32> = outcome.destinations[0]
        .samples
        .iter()
        .map(|s| s.flows)
        .collect();
    assert_eq!(flows[1], 2);
    assert_eq!(flows.last(), Some(&1));
    assert!(outcome.flows[0].completion.is_some());
}

#[test]
fn the_end_of_the_data_is_retransmitted_without_a_report() {
    let mut network = path("enhanced-aatp", 60);
    // The last 20 of 60 packets are lost, and no later burst would reveal it.
    let leaves = |k: f64| SET_UP + 1.5 * k + 1.2;
    outage(&mut network, 0, leaves(40.0) - 0.3, leaves(59.0) + 0.3);
    let (_, flow, _) = play(&network);
    assert_eq!(flow.retransmits, 20);
    assert_eq!(flow.delivered, Bytes::new(60 * PAYLOAD));
    // All packets are lost: only the timer of the sender can detect it.
    let mut network = path("enhanced-aatp", 60);
    outage(&mut network, 0, leaves(0.0) - 0.3, leaves(59.0) + 0.3);
    let (_, flow, _) = play(&network);
    assert_eq!((flow.retransmits, flow.timeouts), (60, 1));
    assert_eq!(flow.delivered, Bytes::new(60 * PAYLOAD));
}

#[test]
fn the_circuit_breaker_stops_and_restarts_a_sender() {
    let mut network = path("enhanced-aatp", 4000);
    for link in [0, 1] {
        outage(&mut network, link, 3000.0, 13_000.0);
    }
    let endless = play(&network).1;
    aatp(&mut network, 0).settings.circuit_breaker = Some(Duration::from_secs(3));
    let (_, flow, aatp) = play(&network);
    assert_eq!(aatp.breaks, 1);
    // Ten round trips and one second are shorter than the configured 3 s: 2 s of packets, not 10.
    let (sent, all) = (flow.lost.outage as f64, endless.lost.outage as f64);
    assert!((0.18..0.25).contains(&(sent / all)), "{sent} of {all}");
    // It probes once per second, and measures the path again.
    let done = flow.completion.expect("it completes").as_secs_f64();
    let without = endless.completion.expect("it completes").as_secs_f64();
    assert!(
        done < without + 1.0 + SET_UP / 1000.0,
        "{done} s, {without} s"
    );
    assert_eq!(flow.delivered, Bytes::new(4000 * PAYLOAD));
}

#[test]
fn only_a_new_estimate_follows_a_path_that_became_faster() {
    let rates = |every: Option<Duration>| {
        let mut network = path("enhanced-aatp", 0);
        let steps = vec![
            (Time::ZERO, CAPACITY),
            (at(10_000.0), Rate::from_bits_per_sec(40_000_000)),
        ];
        network.links[0].spec.service =
            ServiceSpec::Rate(Schedule::steps(steps).expect("in order"));
        aatp(&mut network, 0).settings.reestimate = every;
        let (_, flow, aatp) = play(&network);
        (flow.goodput.as_bits_per_sec() as f64 / 1e6, aatp.bandwidth)
    };
    let (fixed, known) = rates(None);
    assert_eq!(known, CAPACITY);
    assert!(fixed < 10.0, "{fixed}");
    let (followed, known) = rates(Some(Duration::from_secs(1)));
    assert!(
        known.as_bits_per_sec().abs_diff(40_000_000) < 400_000,
        "{known}"
    );
    assert!(followed > 2.5 * fixed, "{followed} after {fixed}");
}

#[test]
fn a_flow_that_stops_delivers_what_it_sent() {
    let mut network = path("enhanced-aatp", 0);
    network.flows[0].stop = Some(at(5000.0));
    network.links[0].spec.loss.random = Probability::new(0.02).expect("a probability");
    let (outcome, flow, _) = play(&network);
    assert!(
        outcome.duration < Duration::from_secs(7),
        "{}",
        outcome.duration
    );
    let fresh = flow.packets_sent - flow.retransmits;
    assert_eq!(flow.delivered, Bytes::new(fresh * PAYLOAD));
}

#[test]
fn a_flow_that_stops_before_it_is_set_up_sends_nothing() {
    let mut network = path("enhanced-aatp", 0);
    network.flows[0].stop = Some(at(500.0));
    let (outcome, flow, _) = play(&network);
    assert_eq!((flow.packets_sent, flow.delivered), (0, Bytes::ZERO));
    assert_eq!(outcome.duration, ms(500.0));
}

#[test]
fn three_flows_share_by_priority_and_reuse_what_one_leaves() {
    let mut network = path("enhanced-aatp", 0);
    network.duration = Duration::from_secs(120);
    network.sample = Some(Duration::from_secs(1));
    network.links[0].spec.queue = QueueLimit::Packets(170);
    for (index, (priority, start)) in [(2, 0.0), (4, 5000.0), (6, 10_000.0)].iter().enumerate() {
        if index > 0 {
            network.flows.push(flow("enhanced-aatp", 0));
        }
        network.flows[index].start = at(*start);
        aatp(&mut network, index).priority = Priority::new(*priority).expect("1 to 8");
    }
    network.flows[2].stop = Some(at(80_000.0));
    let outcome = run(&network);
    let share = |index: usize, from: u64, to: u64| {
        let sum = |flow: &FlowOutcome| -> f64 {
            let within = |s: &&whimbrel_sim::FlowSample| {
                (from..to).contains(&(s.at.as_nanos() / 1_000_000_000))
            };
            let samples = flow.samples.iter().filter(within);
            samples.map(|s| s.rate.as_bits_per_sec() as f64).sum()
        };
        100.0 * sum(&outcome.flows[index]) / outcome.flows.iter().map(sum).sum::<f64>()
    };
    for (index, (all, without)) in [(16.7, 33.3), (33.3, 66.7), (50.0, 0.0)].iter().enumerate() {
        let (before, after) = (share(index, 50, 80), share(index, 100, 120));
        assert!(
            (before - all).abs() < 3.0,
            "flow {index}: {before} %, not {all} %"
        );
        assert!(
            (after - without).abs() < 3.0,
            "flow {index}: {after} %, not {without} %"
        );
    }
    let last = outcome.destinations[0].samples.last().expect("sampled");
    assert_eq!(last.flows, 2);
    assert!(last.fairness > 0.99, "{}", last.fairness);
}

#[test]
fn aatp_without_enhancement_slows_down_for_every_loss() {
    let goodput = |controller: &str| {
        let mut network = path(controller, 0);
        network.links[0].spec.loss.random = Probability::new(0.01).expect("a probability");
        let (_, flow, _) = play(&network);
        flow.goodput.as_bits_per_sec() as f64 / 1e6
    };
    let (plain, enhanced) = (goodput("aatp"), goodput("enhanced-aatp"));
    // At 1 % loss nearly every burst of 67 packets has a loss and causes a reduction.
    assert!(plain < 0.6 * enhanced, "{plain} of {enhanced} Mbit/s");
}
