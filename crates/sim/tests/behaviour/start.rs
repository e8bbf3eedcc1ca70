//! The start of a connection, and the acknowledgment of its first segments.

use crate::*;

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
fn a_single_segment_is_acknowledged_by_the_delay_timer() {
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
    // 40 segments per RTT: 100 ms plus the transmission of a packet and of an ACK.
    let expected = 40.0 * MSS as f64 * 8.0 / (0.1 + 0.001_241_6);
    let got = flow.goodput.as_bits_per_sec() as f64;
    assert!((got / expected - 1.0).abs() < 0.03, "{got} for {expected}");
    assert_eq!(flow.lost.total(), 0);
}

/// The time in which 62 segments arrive, from a window of two.
fn time_of_62(change: impl Fn(&mut TcpSettings)) -> f64 {
    let mut network = path(62, Recovery::Rack);
    let settings = &mut tcp(&mut network).settings;
    settings.initial_window = 2;
    change(settings);
    completion(&play(&network).1)
}

#[test]
fn growth_for_acknowledgments_is_slower_only_if_they_are_delayed() {
    // 2 + 4 + 8 + 16 + 32 segments take five round trips.
    let each = time_of_62(|s| s.ack_every = 1);
    let per_ack = |s: &mut TcpSettings| s.growth = whimbrel_cc::Growth::Acknowledgments;
    let same = time_of_62(|s| {
        s.ack_every = 1;
        per_ack(s);
    });
    assert_eq!(same, each);
    // With an acknowledgment for two segments a round trip adds half: 2, 3, 4 or 5, 6 or 7, ...
    let delayed = time_of_62(per_ack);
    assert!(delayed > each + 2.0 * RTT, "{delayed} {each}");
    // Quick acknowledgments of the whole transfer make up for it.
    let quick = time_of_62(|s| {
        s.quick_acks = 62;
        per_ack(s);
    });
    assert_eq!(quick, each);
    // Of the first two round trips only: 2, 4, 8, then 4 ACKs of two: 12, 18.
    let some = time_of_62(|s| {
        s.quick_acks = 6;
        per_ack(s);
    });
    assert!(some > each && some < delayed, "{each} {some} {delayed}");
}
