//! Loss recovery: duplicates, SACK, probes, timeouts, spurious timeouts and reordering.

use crate::*;

#[test]
fn one_lost_segment_is_repaired_in_one_round_trip() {
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

/// Episodes, timeouts and completion time of 60 segments without SACK, if these segments of the
/// first flight of 20 are lost.
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
fn reno_halves_for_each_of_two_holes_and_times_out_at_three() {
    // K. Fall, S. Floyd, "Simulation-based Comparisons of Tahoe, Reno, and SACK TCP", CCR 26(3),
    // 1996: figures 2 to 4. By hand: 14 duplicates inflate 10 to 24 segments, so 4 new ones leave;
    // the first new ACK ends the recovery, and those 4 cause three duplicates for the second hole.
    // With a window of 5 no new segment leaves for the third hole.
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
fn tahoe_restarts_from_one_segment_and_reno_continues_with_half() {
    // When the hole is filled 20 of 60 segments have arrived. Reno continues with 10 or more per
    // round trip: 4 round trips. Tahoe continues with 1, 2, 4, 8, then from ssthresh 10 on: 6 round
    // trips.
    let (_, _, reno) = repairs("reno", &[5]);
    let (_, _, tahoe) = repairs("tahoe", &[5]);
    let round_trips = (tahoe - reno) / 100.0;
    assert!((1.5..3.5).contains(&round_trips), "{round_trips}");
}

#[test]
fn three_holes_cost_newreno_three_round_trips_and_sack_one() {
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
fn a_lost_tail_costs_a_timeout_unless_a_probe_detects_it() {
    let time = |probe| {
        let mut network = path(10, Recovery::Rack);
        tcp(&mut network).settings.tail_loss_probe = probe;
        drop_at(&mut network, &[leaves(10)]);
        let (_, flow) = play(&network);
        (completion(&flow), flow.timeouts)
    };
    let (with, timeouts) = time(true);
    assert_eq!(timeouts, 0);
    // The acknowledgment of the ninth segment is delayed by 40 ms; then two smoothed round trips,
    // 200 ms for a delayed acknowledgment (RFC 8985 section 7.2, one segment in flight), half a
    // round trip.
    let expected = leaves(9) + 140.0 + 2.0 * 107.0 + 200.0 + 50.0;
    assert!(
        (with - expected).abs() < 30.0,
        "{with} ms, {expected} expected"
    );
    let (without, timeouts) = time(false);
    assert_eq!(timeouts, 1);
    assert!(
        without > HANDSHAKE + 1000.0,
        "{without} ms: the minimum timeout is one second"
    );
}

#[test]
fn a_lost_retransmission_costs_sack_a_timeout_and_rack_none() {
    // The acknowledgment of the fourth segment, 64 bytes with one SACK block, is the third
    // duplicate: the retransmission leaves the sender then, and the link one packet time later.
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
fn a_spurious_timeout_after_a_delay_increase_is_undone() {
    // The delay grows by 1.5 s: nothing is lost, but the timer expires. The echoed timestamp of the
    // original reveals it (RFC 3522).
    let mut network = path(2000, Recovery::Rack);
    let steps = vec![(Time::ZERO, ms(50.0)), (at(600.0), ms(1550.0))];
    network.links[0].spec.delay = Delay::steps(Schedule::steps(steps).expect("in order"));
    let (_, flow) = play(&network);
    assert!(flow.timeouts >= 1, "{flow:?}");
    assert!(flow.spurious >= 1, "{flow:?}");
    assert_eq!(flow.lost.total(), 0);
}

#[test]
fn reordering_after_a_delay_decrease_causes_no_timeout() {
    let mut network = path(2000, Recovery::Rack);
    let steps = vec![(Time::ZERO, ms(50.0)), (at(600.0), ms(20.0))];
    network.links[0].spec.delay = Delay::steps(Schedule::steps(steps).expect("in order"));
    let (_, flow) = play(&network);
    assert_eq!(flow.timeouts, 0);
    assert_eq!(flow.delivered, Bytes::new(2000 * MSS));
}

#[test]
fn forward_acknowledgment_needs_one_sack_above_many_holes() {
    // Of ten segments the third to the eighth are lost. The last two are SACKed: two are below
    // DupThresh of RFC 6675, so only the timer remains. By forward acknowledgment everything more
    // than three segments below the highest one is lost with the first SACK of the tenth.
    let timeouts = |recovery| {
        let mut network = path(10, recovery);
        drop_at(&mut network, &[3, 4, 5, 6, 7, 8].map(leaves));
        tcp(&mut network).settings.limited_transmit = false;
        let (_, flow) = play(&network);
        (flow.timeouts, completion(&flow) < 1_000.0)
    };
    assert_eq!(timeouts(Recovery::Sack), (1, false));
    assert_eq!(timeouts(Recovery::Fack), (0, true));
}
