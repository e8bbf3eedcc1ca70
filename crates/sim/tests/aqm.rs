//! TCP over queues with active queue management, and the response of a sender to marks. The path
//! has 10 Mbit/s and 50 ms each way: a full packet of 1500 bytes takes 1.2 ms, 83 of them fill the
//! path, and data may leave 100.0832 ms after the start.

use whimbrel_net::{AqmSetting, Delay, LinkSpec, Outage, QueueLimit, Schedule, ServiceSpec};
use whimbrel_sim::{
    FlowOutcome, FlowSpec, LinkId, LinkOutcome, NamedLink, Network, Outcome, Recovery, Route,
    Streams, TcpFlow, TcpSettings, Traffic, run,
};
use whimbrel_units::{Bytes, Duration, Rate, Time};

const MSS: u64 = 1448;
const HANDSHAKE: f64 = 100.0832;
const PACKET: f64 = 1.2;
const ALL: [Recovery; 3] = [Recovery::NewReno, Recovery::Sack, Recovery::Rack];

fn ms(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1000.0)
}

fn link(name: &str, aqm: &str, queue: QueueLimit) -> NamedLink {
    let rate = Rate::from_bits_per_sec(10_000_000);
    let service = ServiceSpec::Rate(Schedule::constant(rate));
    let setting: AqmSetting = aqm.parse().expect("queue management");
    let managed = setting.resolve(&service, ms(100.0), Bytes::new(1500));
    NamedLink {
        name: name.into(),
        spec: LinkSpec {
            aqm: managed.expect("it fits"),
            service,
            delay: Delay::constant(ms(50.0)),
            queue,
            ..LinkSpec::default()
        },
        on_channel: None,
        helped: None,
    }
}

/// Flows of `segments` segments each (endless if 0) over a path with this queue in the forward
/// direction.
fn path(controller: &str, aqm: &str, flows: u64, segments: u64, recovery: Recovery) -> Network {
    let tcp = TcpFlow {
        controller: controller.parse().expect("registered"),
        size: (segments > 0).then(|| Bytes::new(segments * MSS)),
        two_way: false,
        streams: Streams::default(),
        settings: TcpSettings {
            recovery,
            ecn: Some(true),
            ..TcpSettings::default()
        },
    };
    let flow = |i| FlowSpec {
        host: None,
        name: format!("flow {i}").into(),
        routes: vec![Route {
            forward: vec![LinkId(0)],
            backward: vec![LinkId(1)],
        }],
        start: Time::ZERO + ms(37.0 * i as f64),
        stop: None,
        traffic: Traffic::Tcp(tcp.clone()),
    };
    Network {
        links: vec![
            link("there", aqm, QueueLimit::Unlimited),
            link("back", "none", QueueLimit::Unlimited),
        ],
        channels: Vec::new(),
        destinations: Vec::new(),
        flows: (0..flows).map(flow).collect(),
        duration: Duration::from_secs(60),
        seed: 1,
        sample: None,
    }
}

fn without_ecn(mut network: Network) -> Network {
    for flow in &mut network.flows {
        if let Traffic::Tcp(tcp) = &mut flow.traffic {
            tcp.settings.ecn = Some(false);
        }
    }
    network
}

fn play(network: &Network) -> (Outcome, FlowOutcome, LinkOutcome) {
    let outcome = run(network);
    let (flow, link) = (outcome.flows[0].clone(), outcome.links[0].clone());
    (outcome, flow, link)
}

#[test]
fn packets_that_find_a_queue_are_marked_and_cause_one_response() {
    for recovery in ALL {
        // Ten packets at once: the first is in service, the k-th finds k - 2 waiting; 7 to 10 find
        // more than 4. The eleventh leaves with the first acknowledgment, so the others are
        // acknowledged before it arrives.
        let network = path("newreno", "mark?threshold=4 packets", 1, 11, recovery);
        let (_, flow, link) = play(&network);
        assert_eq!((flow.marked, link.counters.marked), (4, 4));
        // Two acknowledgments echo them: for 7 and 8, and for 9 and 10.
        assert_eq!(flow.mark_episodes, 1);
        assert_eq!((flow.loss_episodes, flow.retransmits), (0, 0));
        let (_, unable, _) = play(&without_ecn(network));
        assert_eq!((unable.marked, unable.mark_episodes), (0, 0));
    }
}

#[test]
fn a_mark_halves_the_flight_without_retransmissions() {
    for recovery in ALL {
        // Acknowledgments for 2, 4 and 6 allow windows of 12, 14 and 16; the one for 8 echoes the
        // first mark, with 16 in flight: at 100.1 + 8*1.2 + 50 + 50.04 = 209.8 ms.
        let mut network = path("newreno", "mark?threshold=4 packets", 1, 0, recovery);
        network.sample = Some(ms(1.0));
        network.duration = ms(215.0);
        let (_, flow, _) = play(&network);
        let before = &flow.samples[208];
        assert_eq!((before.ssthresh, before.cwnd), (None, Bytes::new(16 * MSS)));
        let after = &flow.samples[210];
        assert_eq!(after.ssthresh, Some(Bytes::new(8 * MSS)));
        assert_eq!(after.cwnd, Bytes::new(8 * MSS));
        assert_eq!((flow.mark_episodes, flow.retransmits), (1, 0));
    }
}

#[test]
fn with_sack_one_packet_leaves_for_two_after_a_mark() {
    let sent = |recovery| {
        let mut network = path("newreno", "mark?threshold=4 packets", 1, 0, recovery);
        // At 209.8 ms 22 are sent, 16 of them in flight. The acknowledgment for 10 arrives at 212.2
        // ms.
        network.duration = ms(213.0);
        let (_, flow, _) = play(&network);
        flow.packets_sent
    };
    // 8 are allowed: one is sent for two delivered, and another one for the next two.
    assert_eq!(sent(Recovery::Sack), 24);
    assert_eq!(sent(Recovery::Rack), 24);
    assert_eq!(sent(Recovery::NewReno), 22);
}

#[test]
fn a_loss_after_a_mark_in_the_same_window_does_not_reduce_again() {
    for recovery in ALL {
        // As above, and segment 12 is lost: it leaves after ten packets and 11, for which it waits
        // 14.4 ms.
        let mut network = path("newreno", "mark?threshold=4 packets", 1, 40, recovery);
        let acknowledged = HANDSHAKE + 2.0 * PACKET + 100.04;
        let leaves = acknowledged + 2.0 * PACKET;
        let spec = &mut network.links[0].spec;
        spec.loss.outages = vec![Outage {
            from: Time::ZERO + ms(leaves - 0.3),
            to: Time::ZERO + ms(leaves + 0.3),
        }];
        let (_, flow, _) = play(&network);
        assert_eq!(flow.lost.outage, 1, "{recovery:?}");
        assert_eq!((flow.loss_episodes, flow.timeouts), (0, 0), "{recovery:?}");
        assert_eq!(flow.retransmits, 1, "{recovery:?}");
        assert!(flow.mark_episodes >= 1);
        assert!(flow.completion.is_some());
    }
}

#[test]
fn newreno_over_red_with_ecn_loses_nothing_and_keeps_a_short_queue() {
    // Above an average of 200 all packets would be dropped; the slow starts of all flows stay below
    // it.
    let red = "red?min=20 packets&max=100 packets&weight=0.02";
    for recovery in ALL {
        let (outcome, flow, link) = play(&path("newreno", red, 4, 0, recovery));
        let lost: u64 = outcome.flows.iter().map(|f| f.lost.total()).sum();
        assert_eq!(lost + link.counters.early, 0, "{recovery:?}");
        assert!(flow.marked > 0 && flow.mark_episodes > 10);
        // Each of four windows of about 25 gets one mark per 25^2/1.5 = 400 packets: pb = 1/800,
        // which RED has at an average of 20 + 80/800*10 = 21. Halving makes the queue oscillate
        // below it.
        assert!(
            (10.0..25.0).contains(&link.mean_queue),
            "{}",
            link.mean_queue
        );
        assert!(link.utilisation > 0.9, "{}", link.utilisation);
        // Without ECN RED drops about as many packets as it marked.
        let plain = run(&without_ecn(path("newreno", red, 4, 0, recovery)));
        let dropped = plain.links[0].counters.early;
        let marked = link.counters.marked;
        assert!(
            (marked / 2..marked * 2).contains(&dropped),
            "{dropped} {marked}"
        );
        assert_eq!(plain.flows.iter().map(|f| f.marked).sum::<u64>(), 0);
        let early: u64 = plain.flows.iter().map(|f| f.lost.early).sum();
        assert_eq!(early, dropped);
    }
}

#[test]
fn cubic_keeps_a_5_ms_queue_with_codel_and_a_full_one_without() {
    // One bandwidth-delay product: 125 kB, 100 ms.
    let bdp = QueueLimit::Bytes(Bytes::new(125_000));
    let over = |aqm, ecn| {
        let mut network = path("cubic", aqm, 1, 0, Recovery::Rack);
        network.links[0].spec.queue = bdp;
        let network = if ecn { network } else { without_ecn(network) };
        let (_, _, link) = play(&network);
        link
    };
    let droptail = over("none", true);
    assert!(droptail.mean_wait > ms(50.0), "{}", droptail.mean_wait);
    assert!(droptail.counters.longest_wait > ms(95.0));
    for ecn in [false, true] {
        let codel = over("codel", ecn);
        assert!(codel.mean_wait < ms(8.0), "{}", codel.mean_wait);
        assert!(codel.utilisation > 0.8, "{}", codel.utilisation);
        let c = &codel.counters;
        // Slow start overflows the queue before one interval of CoDel has passed.
        assert_eq!(c.early > 5, !ecn, "{c:?}");
        assert_eq!(c.marked > 5, ecn, "{c:?}");
        assert_eq!(
            c.offered,
            codel.came_out + codel.in_transit + c.early + c.queue_overflow
        );
    }
}

#[test]
fn early_drops_count_as_congestion_for_loss_classifiers() {
    let network = without_ecn(path("cerl", "codel", 4, 0, Recovery::Rack));
    let outcome = run(&network);
    for flow in &outcome.flows {
        assert!(flow.lost.early > 0 && flow.lost.total() == flow.lost.early);
        let c = flow.discrimination.expect("CERL tells losses apart");
        assert_eq!(c.random_as_congestion + c.random_as_random, 0);
        assert!(c.congestion_as_congestion + c.congestion_as_random > 0);
    }
}

#[test]
fn marks_are_not_classified() {
    let network = path("cerl", "mark?threshold=20 packets", 1, 0, Recovery::Rack);
    let (_, flow, _) = play(&network);
    assert!(flow.mark_episodes > 10);
    let c = flow.discrimination.expect("CERL tells losses apart");
    assert_eq!((c.accuracy(), c.spurious, flow.loss_episodes), (None, 0, 0));
}

#[test]
fn a_controller_that_ignores_marks_is_queried_once_per_window() {
    // BBR (version 1) ignores marks. 60 s are at most 600 round trips.
    for recovery in ALL {
        let network = path("bbr", "mark?threshold=2 packets", 1, 0, recovery);
        let (_, flow, link) = play(&network);
        assert!(flow.marked > 1000, "{}", flow.marked);
        assert!(
            (50..=600).contains(&flow.mark_episodes),
            "{}",
            flow.mark_episodes
        );
        assert!(link.utilisation > 0.9, "{}", link.utilisation);
        let (_, unable, _) = play(&without_ecn(network));
        assert_eq!(
            flow.delivered, unable.delivered,
            "its window is not reduced"
        );
    }
}

#[test]
fn both_ends_of_a_two_way_flow_respond_to_marks() {
    let mut network = path(
        "newreno",
        "mark?threshold=10 packets",
        1,
        20_000,
        Recovery::Rack,
    );
    network.links[1] = link("back", "codel", QueueLimit::Unlimited);
    if let Traffic::Tcp(tcp) = &mut network.flows[0].traffic {
        tcp.two_way = true;
    }
    let (outcome, flow, there) = play(&network);
    let back = &outcome.links[1].counters;
    assert!(there.counters.marked > 0 && back.marked > 0);
    assert_eq!(flow.marked, there.counters.marked + back.marked);
    assert!(flow.completion.is_some());
}
