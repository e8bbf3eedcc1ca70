//! Tests of the whole controller, on a packet-level bottleneck.

use crate::interface::{Ack, AtSending, Controller, Loss, Signal, Verdict};
use crate::testing::{ACK, Bottleneck, MSS, built, loss, segments, timeout};
use whimbrel_units::{Bytes, Duration, Rate, Time};

const MS: Duration = Duration::from_millis(1);
const RTT: Duration = Duration::from_millis(40);

/// A path with room for this many packets, and a flow of 40 ms for each controller.
fn path(mbit: u64, room: usize, controllers: &[&str]) -> Bottleneck {
    let mut path = Bottleneck::new(Rate::from_bits_per_sec(mbit * 1_000_000), room);
    for controller in controllers {
        path.add(built(controller, 10), RTT);
    }
    path
}

/// Fractions of the bottleneck's capacity over `seconds`, and the mean queue, packets.
fn shares(path: &mut Bottleneck, seconds: u64) -> (Vec<f64>, f64) {
    let before: Vec<u64> = path.flows.iter().map(|f| f.delivered).collect();
    let span = Duration::from_secs(seconds);
    let (mean, _) = path.run(span);
    let capacity = path.rate.as_bits_per_sec() as f64;
    let rates = path.flows.iter().zip(before);
    let shares = rates
        .map(|(f, before)| f.rate_since(before, span).as_bits_per_sec() as f64 / capacity)
        .collect();
    (shares, mean)
}

fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    sum * sum / (shares.len() as f64 * shares.iter().map(|s| s * s).sum::<f64>())
}

#[test]
fn one_flow_fills_the_path_with_the_queue_of_the_fixed_point() {
    // q*C = a*sqrt(C) packets: 0.1*sqrt(1250) = 3.5 at 10 Mbit/s, 11 at 100, and the one that is
    // in transmission.
    for (mbit, queue) in [(10, 3.5), (100, 11.2)] {
        let mut path = path(mbit, 2000, &["whimbrel?drain=false"]);
        path.run(Duration::from_secs(5));
        let (shares, mean) = shares(&mut path, 5);
        assert!(shares[0] > 0.99, "{mbit} Mbit/s: {shares:?}");
        assert!(
            (queue - 1.0..queue + 3.0).contains(&mean),
            "{mbit} Mbit/s: {mean}"
        );
    }
}

#[test]
fn startup_finds_the_rate_without_a_flood() {
    // 500 packets fill 100 Mbit/s at 40 ms. Doubling finds them in six rounds.
    let mut path = path(100, 2000, &["whimbrel"]);
    let (_, most) = path.run(MS * 600);
    assert_eq!(path.flows[0].controller.phase(), "default");
    assert!(most < 500, "a BDP: {most}");
    let (shares, _) = shares(&mut path, 1);
    assert!(shares[0] > 0.97, "{shares:?}");
}

#[test]
fn startup_takes_no_batch_for_a_queue() {
    // A satellite passes on each 8 ms what has arrived. The first packet of each batch waited for
    // nearly all of that: more than the queue that ends startup, and the only sample of a quarter
    // of a round trip.
    let mut path = path(100, 2000, &["whimbrel"]);
    path.slot = MS * 8;
    let (_, most) = path.run(MS * 700);
    assert!(most < 500, "a BDP: {most}");
    let (shares, _) = shares(&mut path, 1);
    assert!(shares[0] > 0.9, "{shares:?}");
}

#[test]
fn random_losses_cost_what_is_lost() {
    for loss in [0.01, 0.05] {
        let mut path = path(50, 250, &["whimbrel"]);
        path.loss = loss;
        path.run(Duration::from_secs(5));
        let (shares, mean) = shares(&mut path, 10);
        assert!(shares[0] > 0.96 * (1.0 - loss), "{loss}: {shares:?}");
        assert!(mean < 25.0, "{loss}: {mean}");
    }
}

#[test]
fn flows_of_different_rtts_approach_equal_shares() {
    let mut path = path(100, 250, &[]);
    for rtt in [20, 50, 100] {
        path.add(built("whimbrel", 10), MS * rtt);
    }
    path.run(Duration::from_secs(40));
    let (shares, mean) = shares(&mut path, 40);
    assert!(jain(&shares) > 0.85, "{shares:?}");
    assert!(mean < 100.0, "{mean}");
}

#[test]
fn late_flows_learn_the_base_rtt_in_a_drain() {
    let mut path = path(50, 500, &["whimbrel"]);
    for _ in 0..3 {
        path.run(Duration::from_secs(3));
        path.add(built("whimbrel", 10), RTT);
    }
    path.run(Duration::from_secs(15));
    let (shares, mean) = shares(&mut path, 20);
    assert!(jain(&shares) > 0.95, "{shares:?}");
    assert!(shares.iter().sum::<f64>() > 0.95, "{shares:?}");
    assert!(mean < 60.0, "{mean}");
}

#[test]
fn rates_are_in_proportion_to_priorities() {
    let of = |weight| format!("whimbrel?priority={weight}");
    let mut path = path(50, 500, &[&of(1), &of(2), &of(8)]);
    path.run(Duration::from_secs(20));
    let (shares, _) = shares(&mut path, 40);
    for (share, weight) in shares.iter().zip([1.0, 2.0, 8.0]) {
        let expected = weight / 11.0;
        assert!((share / expected - 1.0).abs() < 0.1, "{shares:?}");
    }
}

#[test]
fn beside_a_flow_that_fills_the_queue_it_competes() {
    for other in ["newreno", "cubic"] {
        for (sense, range) in [("true", 0.25..0.7), ("false", 0.0..0.2)] {
            let whimbrel = format!("whimbrel?elasticity={sense}");
            let mut path = path(50, 250, &[&whimbrel, other]);
            path.run(Duration::from_secs(15));
            let (shares, _) = shares(&mut path, 45);
            assert!(range.contains(&shares[0]), "{other} {sense}: {shares:?}");
            assert!(shares[0] + shares[1] > 0.9, "{other} {sense}: {shares:?}");
        }
    }
}

#[test]
fn in_a_short_buffer_it_leaves_cubic_its_share() {
    // 34 packets: 8 ms, which is less than the queue of 15 flows of its own.
    let mut path = path(50, 34, &["whimbrel", "cubic"]);
    path.run(Duration::from_secs(15));
    let (shares, _) = shares(&mut path, 45);
    assert!(shares[1] > 0.2, "{shares:?}");
    assert!(shares[0] + shares[1] > 0.8, "{shares:?}");
}

#[test]
fn it_keeps_a_short_queue_again_when_the_other_has_ended() {
    let mut path = path(50, 250, &["whimbrel", "cubic"]);
    path.run(Duration::from_secs(20));
    assert_eq!(path.flows[0].controller.phase(), "compete");
    path.flows[1].has_data = false;
    path.run(Duration::from_secs(45));
    let (shares, mean) = shares(&mut path, 10);
    assert!(shares[0] > 0.95, "{shares:?}");
    assert!(mean < 30.0, "{mean}");
}

#[test]
fn the_first_trial_is_at_the_next_full_second() {
    let mut path = path(50, 250, &["whimbrel", "cubic"]);
    let mut entered = Vec::new();
    let mut last = "";
    for ms in 0..30_000 {
        path.run(MS);
        let phase = path.flows[0].controller.phase();
        if phase != last && ["compete", "trial"].contains(&phase) {
            entered.push((ms, phase));
        }
        last = phase;
    }
    // CUBIC's queue outlives the trials. The clock shows zero at the beginning.
    let first = entered.iter().position(|(_, phase)| *phase == "trial");
    let first = first.expect("a trial");
    let (began, phase) = entered[first - 1];
    assert_eq!(phase, "compete");
    let (tried, _) = entered[first];
    assert!(tried - began < 1000 + 3 * 60, "{entered:?}");
    // The stroke is found with the next acknowledgment.
    assert!(tried % 1000 < 100, "{entered:?}");
    let later = entered[first + 1..].iter();
    for (tried, _) in later.filter(|(_, phase)| *phase == "trial") {
        assert!(tried % 5000 < 100, "{entered:?}");
    }
}

/// Flows that began one after the other compete, because of CUBIC. Thirty seconds after its end:
/// how many still do, and the mean queue, packets.
fn after_cubic(controller: &str) -> (usize, f64) {
    let mut path = path(50, 500, &["cubic"]);
    for _ in 0..6 {
        path.add(built(controller, 10), RTT);
        path.run(MS * 2700);
    }
    let competing = |path: &Bottleneck| {
        let flows = path.flows.iter().skip(1);
        let phases = flows.map(|flow| flow.controller.phase());
        phases.filter(|phase| *phase == "compete").count()
    };
    // CUBIC's window must grow first.
    let most = (0..80).any(|_| {
        path.run(MS * 500);
        competing(&path) >= 4
    });
    assert!(most, "{}", competing(&path));
    path.flows[0].has_data = false;
    path.run(Duration::from_secs(30));
    let (_, mean) = shares(&mut path, 10);
    (competing(&path), mean)
}

#[test]
fn flows_that_took_each_other_for_others_return_together() {
    let (competing, queue) = after_cubic("whimbrel");
    assert!(competing == 0 && queue < 60.0, "{competing}, {queue}");
}

#[test]
fn a_large_flow_gives_way_to_small_ones() {
    // 200 ms, so that the rule alone would take a minute.
    let jain_of = |controller: &str| {
        let mut path = Bottleneck::new(Rate::from_bits_per_sec(150_000_000), 2500);
        for _ in 0..3 {
            path.add(built(controller, 10), RTT * 5);
            path.run(Duration::from_secs(4));
        }
        path.run(Duration::from_secs(8));
        jain(&shares(&mut path, 10).0)
    };
    let jain = jain_of("whimbrel");
    assert!(jain > 0.9, "{jain}");
}

#[test]
fn a_longer_path_is_filled_at_once() {
    for (sense, min) in [("true", 0.9), ("false", 0.0)] {
        let mut path = path(20, 500, &[&format!("whimbrel?path={sense}")]);
        path.run(Duration::from_secs(10));
        path.flows[0].delay = MS * 500;
        // Ten of the new round trips.
        path.run(MS * 5000);
        let (shares, _) = shares(&mut path, 2);
        assert!(shares[0] > min, "{sense}: {shares:?}");
    }
}

#[test]
fn a_faster_path_is_found_and_a_slower_one_too() {
    let mut path = path(10, 500, &["whimbrel"]);
    path.run(Duration::from_secs(5));
    path.rate = Rate::from_bits_per_sec(100_000_000);
    path.run(MS * 1000);
    let (up, _) = shares(&mut path, 1);
    assert!(up[0] > 0.9, "{up:?}");
    path.rate = Rate::from_bits_per_sec(10_000_000);
    path.run(MS * 1000);
    let (down, mean) = shares(&mut path, 1);
    // The queue of the slower path was worth a drain, which falls into this second.
    assert!(down[0] > 0.93 && mean < 50.0, "{down:?} {mean}");
}

#[test]
fn after_an_outage_the_window_returns_with_the_first_acknowledgment() {
    let mut path = path(50, 250, &["whimbrel"]);
    path.run(Duration::from_secs(3));
    let mut controller = path.flows[0].controller.clone();
    let before = segments(&*controller);
    controller.on_timeout(&timeout(&*controller, path.now));
    assert_eq!(segments(&*controller), 1.0);
    controller.on_ack(&crate::Ack {
        now: path.now + MS * 1000,
        rtt: None,
        acked: Bytes::new(MSS),
        ..ACK
    });
    let after = segments(&*controller);
    assert!(after > 0.9 * before, "{before} {after}");
}

#[test]
fn a_spurious_timeout_is_undone() {
    let mut path = path(50, 250, &["whimbrel"]);
    path.run(Duration::from_secs(3));
    let mut controller = path.flows[0].controller.clone();
    let before = controller.cwnd();
    controller.on_timeout(&timeout(&*controller, path.now));
    controller.on_spurious(path.now);
    assert_eq!(controller.cwnd(), before);
}

#[test]
fn a_loss_at_a_short_queue_is_random_and_a_mark_is_congestion() {
    let mut path = path(50, 250, &["whimbrel"]);
    path.run(Duration::from_secs(3));
    let mut controller = path.flows[0].controller.clone();
    let before = controller.cwnd();
    let response = controller.on_loss(&loss(&*controller, path.now));
    assert_eq!(
        (response.reduced, response.verdict),
        (false, Some(Verdict::Random))
    );
    assert_eq!(controller.cwnd(), before);
    let mark = Loss {
        signal: Signal::Ecn,
        lost_order: 1_000_000,
        next_order: 1_000_001,
        ..loss(&*controller, path.now)
    };
    let response = controller.on_loss(&mark);
    assert_eq!(
        (response.reduced, response.verdict),
        (true, Some(Verdict::Congestion))
    );
    let left = controller.cwnd().get() as f64 / before.get() as f64;
    assert!((left - 0.85).abs() < 0.01, "{left}");
}

#[test]
fn the_simulators_truth_overrides_its_judgement() {
    let mut path = path(50, 250, &["whimbrel"]);
    path.run(Duration::from_secs(3));
    for (truth, reduced) in [(Verdict::Random, false), (Verdict::Congestion, true)] {
        let mut controller = path.flows[0].controller.clone();
        let event = Loss {
            lost_order: 1_000_000,
            truth: Some(truth),
            ..loss(&*controller, Time::ZERO)
        };
        assert_eq!(controller.on_loss(&event).reduced, reduced, "{truth:?}");
    }
}

#[test]
fn the_acknowledgment_of_an_earlier_packet_is_no_short_round_trip() {
    // An outage took the acknowledgments of packets that had arrived. They are sent again, and what
    // answers the first of them is taken for answers to the second, after 36 ms.
    let mut path = path(50, 250, &["whimbrel"]);
    path.run(Duration::from_secs(3));
    let flow = &mut path.flows[0];
    let sent = path.now;
    path.now += MS * 35;
    for _ in 0..4 {
        let newest = AtSending {
            sent,
            in_flight: Bytes::new(100 * MSS),
            delivered: Bytes::new(flow.delivered * MSS),
            lost: Bytes::ZERO,
            app_limited: false,
            retransmitted: true,
        };
        path.now += MS;
        flow.controller.on_ack(&Ack {
            now: path.now,
            rtt: Some(RTT),
            srtt: RTT,
            min_rtt: RTT,
            delivered: newest.delivered,
            newest: Some(newest),
            ..ACK
        });
    }
    let (shares, _) = shares(&mut path, 4);
    assert!(shares[0] > 0.95, "{shares:?}");
}
