//! Two-way flows, UDP flows and stopped flows.

use crate::*;

#[test]
fn two_way_data_carries_acknowledgments_and_arrives() {
    let mut network = path(2000, Recovery::Rack);
    tcp(&mut network).two_way = true;
    // Less than one BDP: no queue, no loss.
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
        // 1000 acknowledgments are due; most are carried by data packets.
        assert!(
            link.counters.delivered < 2500,
            "{}: {:?}",
            link.name,
            link.counters
        );
    }
}

#[test]
fn udp_keeps_its_rate_and_loses_the_excess() {
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
fn a_stopped_flow_sends_no_more_and_delivers_its_data() {
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

/// A sampled run uses no lookahead. Flows start at different times, because events in the same
/// nanosecond have no defined order.
#[test]
fn two_way_flows_behave_the_same_with_and_without_lookahead() {
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
        // Its first sample would be taken after the end of the run.
        let mut in_turn = run(&Network {
            sample: Some(Duration::from_secs(1000)),
            ..network
        });
        // Episodes and distributions are recorded only in sampled runs.
        for flow in &mut in_turn.flows {
            assert!(flow.episodes.len() > 5);
            flow.episodes.clear();
            assert!(flow.distributions.take().is_some());
        }
        assert!(4 * ahead.events < 3 * in_turn.events, "{}", ahead.events);
        assert_eq!(ahead.flows, in_turn.flows);
        // Lookahead must not change timers and decisions about losses.
        assert!(ahead.flows.iter().any(|flow| flow.timeouts > 0));
        assert!(ahead.flows.iter().all(|flow| flow.loss_episodes > 5));
    }
}
