//! Utilization, throughput and fairness over a whole run.

use crate::*;

#[test]
fn a_buffer_of_one_bdp_keeps_the_link_full_despite_halving() {
    let mut network = path(1, Recovery::Rack);
    tcp(&mut network).size = None;
    network.links[0].spec.queue = QueueLimit::Bytes(Bytes::new(125_000));
    let (outcome, flow) = play(&network);
    assert!(
        outcome.links[0].utilisation > 0.98,
        "{}",
        outcome.links[0].utilisation
    );
    assert!(flow.lost.queue_overflow > 0, "the queue overflowed");
    assert_eq!(flow.timeouts, 0);
}

#[test]
fn a_slow_start_overflow_loses_each_excess_segment_once() {
    // 83.3 packets are in propagation, 83 wait and one is in transmission: 167 fit. Slow start
    // sends two for each delivered one, and the first drop is detected when the 167 before it have
    // arrived: 334 are in flight then, and 167 of them are lost. While these losses are detected,
    // one is sent for each delivered one, and no more are lost. ssthresh is 0.7*334 = 234. Then the
    // flight grows to that, two for one, and 67 more do not fit. The duplicates before the loss is
    // detected add a few packets.
    let lost_by = |seconds: f64| {
        let mut network = path(100_000, Recovery::Rack);
        network.links[0].spec.queue = QueueLimit::Packets(83);
        tcp(&mut network).controller = "cubic?hystart=false".parse().expect("registered");
        network.duration = ms(seconds * 1000.0);
        let (_, flow) = play(&network);
        assert_eq!(flow.timeouts, 0);
        flow.lost.queue_overflow
    };
    // The first drop is detected at about 0.82 s, and a round trip with a full queue takes 0.2 s.
    let first = lost_by(1.0);
    assert!((165..=172).contains(&first), "{first}");
    let both = lost_by(1.3);
    assert!((232..=240).contains(&both), "{both}");
}

#[test]
fn newreno_under_random_loss_follows_the_square_root_formula() {
    // M. Mathis et al. 1997: rate = MSS/RTT * sqrt(3/2 / p), for an acknowledgment-counting sender
    // whose losses cause no timeouts.
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
fn equal_flows_share_equally() {
    let mut network = path(1, Recovery::Rack);
    tcp(&mut network).size = None;
    network.links[0].spec.queue = QueueLimit::Bytes(Bytes::new(125_000));
    let first = network.flows[0].clone();
    network.flows = (0..4)
        .map(|i| FlowSpec {
            host: None,
            start: at(137.0 * f64::from(i)),
            ..first.clone()
        })
        .collect();
    network.duration = Duration::from_secs(300);
    let outcome = run(&network);
    assert!(outcome.jain() > 0.95, "{}", outcome.jain());
    assert!(outcome.links[0].utilisation > 0.95);
}
