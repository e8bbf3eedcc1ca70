//! Tests of NACKs at a sender.

use super::*;
use crate::network::{Recovery, TcpSettings};
use crate::packet::{Block, Flags};
use crate::seed::Draw;
use proptest::prelude::*;
use std::ops::Range;
use whimbrel_cc::connection::RecoveryStage;
use whimbrel_net::DropCause;
use whimbrel_units::Bytes;

const MSS: u64 = 1448;

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(1_000 + ms)
}

/// A NewReno sender with ten segments in flight since 0 ms and an RTT of 100 ms.
fn sender(nack: Nack, recovery: Recovery) -> Sender {
    let settings = TcpSettings {
        recovery,
        ..TcpSettings::default()
    };
    let newreno = "newreno".parse().expect("registered");
    let mut sender = Sender::new(&newreno, None, &settings, nack, Draw::of(1, 0));
    sender.on_handshake(Some(Duration::from_millis(100)));
    assert_eq!(leave(&mut sender, at(0)), (0..10).collect::<Vec<_>>());
    sender
}

/// All segments that are sent now.
fn leave(sender: &mut Sender, now: Time) -> Vec<u32> {
    std::iter::from_fn(|| sender.next_one(now).map(|sent| sent.seg)).collect()
}

/// An acknowledgment with one SACK block arrives, for a segment that was sent 100 ms before.
fn ack(sender: &mut Sender, now: Time, ack: u32, sacked: Range<u32>) -> Vec<u32> {
    echoing(sender, now, now - Duration::from_millis(100), ack, sacked)
}

/// The same for a segment that was sent at `echo`.
fn echoing(sender: &mut Sender, now: Time, echo: Time, ack: u32, sacked: Range<u32>) -> Vec<u32> {
    let mut packet = packet(now, echo, ack);
    packet.sacks[0] = Block {
        start: sacked.start,
        end: sacked.end,
    };
    sender.on_ack(now, &packet);
    leave(sender, now)
}

fn packet(now: Time, echo: Time, ack: u32) -> Packet {
    Packet {
        at: now,
        sent: now,
        echo,
        path_id: 0,
        seg: 0,
        ack,
        size: 52,
        hop: 0,
        flags: Flags::BACKWARD,
        sacks: [Block::default(); 3],
    }
}

/// A NACK arrives that echoes the current time, as for the last transmission.
fn tell(sender: &mut Sender, now: Time, seg: u32) {
    sender.on_nack(now, &packet(now, now, seg));
}

fn nack(sender: &mut Sender, now: Time, seg: u32) -> Vec<u32> {
    tell(sender, now, seg);
    leave(sender, now)
}

/// cwnd, ssthresh and flight in segments.
fn state(sender: &Sender) -> (u64, Option<u64>, u64) {
    let ssthresh = sender.controller.ssthresh();
    (
        sender.controller.cwnd().get() / MSS,
        ssthresh.map(|bytes| bytes.get() / MSS),
        sender.in_flight().get() / MSS,
    )
}

fn counts(sender: &Sender) -> (u64, u64, u64) {
    let counts = sender.nacks().expect("NACKs are on");
    (counts.accepted, counts.refused, counts.resent)
}

const ALL: [Recovery; 3] = [Recovery::NewReno, Recovery::Sack, Recovery::Rack];

#[test]
fn a_nacked_segment_is_retransmitted_without_any_reduction() {
    for recovery in ALL {
        let mut sender = sender(Nack::On, recovery);
        assert_eq!(nack(&mut sender, at(100), 3), [3], "{recovery:?}");
        assert_eq!(state(&sender), (10, None, 10));
        assert_eq!(counts(&sender), (1, 0, 1));
        assert_eq!(sender.counters.retransmits, 1);
    }
}

#[test]
fn an_implausible_nack_has_no_effect() {
    let mut sender = sender(Nack::On, Recovery::Sack);
    assert_eq!(nack(&mut sender, at(49), 3), [], "too soon for an answer");
    ack(&mut sender, at(100), 1, 2..3);
    let before = state(&sender);
    // 0 is acknowledged; 2 has arrived, so a NACK for 1 is too late; 30 was not sent.
    for seg in [0, 1, 2, 30, u32::MAX] {
        assert_eq!(nack(&mut sender, at(110), seg), [], "{seg}");
    }
    assert_eq!(nack(&mut sender, at(110), 3), [3]);
    assert_eq!(
        nack(&mut sender, at(159), 3),
        [],
        "it was just retransmitted"
    );
    assert_eq!(nack(&mut sender, at(210), 3), [3], "it was corrupted again");
    assert_eq!((state(&sender), counts(&sender)), (before, (2, 7, 2)));
}

#[test]
fn a_spurious_timeout_leaves_no_lost_segment_unqueued() {
    let mut sender = sender(Nack::On, Recovery::Rack);
    assert_eq!(nack(&mut sender, at(100), 3), [3]);
    sender.on_timer(at(5_000));
    assert_eq!(leave(&mut sender, at(5_000)), [0]);
    // The original arrives late: nothing was lost.
    let sent = echoing(&mut sender, at(5_001), at(0), 1, 0..0);
    assert_eq!(sender.counters.episodes.spurious, 1);
    assert_eq!(
        sender.board.lost(),
        0,
        "a lost segment in no queue would never be retransmitted"
    );
    assert!(sent.iter().all(|seg| *seg >= 10), "{sent:?}");
}

#[test]
fn a_sender_with_nacks_off_ignores_them() {
    let mut sender = sender(Nack::Off, Recovery::Rack);
    assert_eq!(nack(&mut sender, at(100), 3), []);
    assert_eq!(state(&sender), (10, None, 10));
    assert_eq!(sender.nacks(), None);
}

#[test]
fn without_sack_each_duplicate_of_a_nacked_hole_lets_one_leave() {
    let mut sender = sender(Nack::On, Recovery::NewReno);
    assert_eq!(nack(&mut sender, at(100), 0), [0]);
    for duplicate in 1..10 {
        let sent = ack(&mut sender, at(100 + duplicate), 0, 0..0);
        assert_eq!(sent, [9 + duplicate as u32]);
    }
    // Segment 0 fills the hole. Slow start counts two of the ten acknowledged segments. 10 to
    // 18 are in flight.
    assert_eq!(ack(&mut sender, at(200), 10, 0..0), [19, 20, 21]);
    assert_eq!(state(&sender), (12, None, 12));
    assert_eq!(sender.episodes.stage(), RecoveryStage::Open);
}

#[test]
fn surplus_duplicates_inflate_for_one_round_trip_only() {
    let mut sender = sender(Nack::On, Recovery::NewReno);
    nack(&mut sender, at(100), 0);
    // Twelve duplicates, although nine segments are beyond the hole: segments 10 to 21 leave.
    for duplicate in 1..13 {
        ack(&mut sender, at(100 + duplicate), 0, 0..0);
    }
    assert_eq!(sender.board.next(), 22);
    ack(&mut sender, at(200), 10, 0..0);
    // Twelve of the window and three surplus ones.
    assert_eq!(state(&sender), (12, None, 15));
    ack(&mut sender, at(203), 22, 0..0);
    let (window, _, flight) = state(&sender);
    assert_eq!((window, flight), (14, 14));
}

#[test]
fn with_sack_the_window_grows_by_data_beyond_a_nacked_hole() {
    for recovery in [Recovery::Sack, Recovery::Rack] {
        let mut sender = sender(Nack::On, recovery);
        assert_eq!(nack(&mut sender, at(100), 0), [0]);
        for (duplicate, sent) in [(1, [10, 11]), (2, [12, 13]), (3, [14, 15])] {
            // One segment replaces the delivered one; one is the growth of slow start.
            let all = ack(&mut sender, at(100 + duplicate), 0, 1..1 + duplicate as u32);
            assert_eq!(all, sent, "{recovery:?}");
        }
        assert_eq!(state(&sender), (13, None, 13));
        assert_eq!(sender.episodes.stage(), RecoveryStage::Open);
    }
}

#[test]
fn unsuppressed_duplicates_halve_the_window() {
    for recovery in ALL {
        let mut sender = sender(Nack::Unsuppressed, recovery);
        sender.note_drop(0, at(0), DropCause::Random);
        assert_eq!(nack(&mut sender, at(100), 0), [0]);
        let mut sent = Vec::new();
        for duplicate in 1..10 {
            let sacked = 1..1 + duplicate as u32;
            sent.extend(ack(&mut sender, at(100 + duplicate), 0, sacked));
        }
        assert_eq!(state(&sender).1, Some(5), "{recovery:?}");
        assert_eq!(sender.counters.episodes.episodes, 1);
        assert!(!sent.contains(&0), "{recovery:?}: {sent:?}");
        ack(&mut sender, at(200), 10, 0..0);
        assert_eq!(state(&sender).0, 5);
    }
}

#[test]
fn a_lost_segment_next_to_a_corrupted_one_halves_the_window() {
    // 0 arrives corrupted and 4 is lost; 1 to 3 and 5 to 9 arrive.
    for recovery in [Recovery::Sack, Recovery::Rack] {
        let mut sender = sender(Nack::On, recovery);
        assert_eq!(nack(&mut sender, at(100), 0), [0]);
        ack(&mut sender, at(101), 0, 1..4);
        assert_eq!(sender.counters.episodes.episodes, 0);
        ack(&mut sender, at(102), 0, 5..8);
        // Slow start grew the window by 2 for the first three; the flight was 12 when the loss
        // of 4 was detected.
        assert_eq!(
            (sender.counters.episodes.episodes, state(&sender).1),
            (1, Some(6)),
            "{recovery:?}"
        );
    }
}

#[test]
fn without_sack_a_loss_is_detected_after_the_nacked_hole_is_filled() {
    let mut sender = sender(Nack::On, Recovery::NewReno);
    nack(&mut sender, at(100), 0);
    // The duplicates for 1 to 3 and 5 to 9 let 10 to 17 leave.
    for duplicate in 1..9 {
        ack(&mut sender, at(100 + duplicate), 0, 0..0);
    }
    // 0 has arrived, 4 is missing. 4 to 17 are not acknowledged; 5 of them have arrived. Slow
    // start has grown the window to 12.
    assert_eq!(ack(&mut sender, at(200), 4, 0..0), [18, 19, 20]);
    assert_eq!(state(&sender).0, 12);
    assert_eq!(ack(&mut sender, at(201), 4, 0..0).len(), 1);
    assert_eq!(ack(&mut sender, at(202), 4, 0..0).len(), 1);
    assert_eq!(sender.counters.episodes.episodes, 0);
    // The third duplicate: 4 is retransmitted, and ssthresh is half of twelve.
    assert!(ack(&mut sender, at(203), 4, 0..0).contains(&4));
    assert_eq!(
        (sender.counters.episodes.episodes, state(&sender).1),
        (1, Some(6))
    );
}

#[test]
fn rack_detects_the_loss_of_a_retransmission_for_a_nack() {
    let mut sender = sender(Nack::On, Recovery::Rack);
    nack(&mut sender, at(100), 0);
    ack(&mut sender, at(101), 0, 1..10);
    assert_eq!(sender.counters.episodes.episodes, 0);
    // Segments that were sent at 101 ms, after the retransmission of 0, have arrived; 0 has
    // not.
    ack(&mut sender, at(201), 0, 1..13);
    assert_eq!(sender.counters.episodes.episodes, 1);
}

#[test]
fn other_modes_need_the_timer_if_that_retransmission_is_lost() {
    for recovery in [Recovery::NewReno, Recovery::Sack] {
        let mut sender = sender(Nack::On, recovery);
        nack(&mut sender, at(100), 0);
        for duplicate in 1..10 {
            ack(&mut sender, at(100 + duplicate), 0, 1..1 + duplicate as u32);
        }
        ack(&mut sender, at(300), 0, 1..15);
        assert_eq!(
            (sender.counters.episodes.episodes, state(&sender).1),
            (0, None)
        );
        // The minimum timeout is one second after the retransmission.
        assert_eq!(sender.deadline(at(300)), at(1100), "{recovery:?}");
        sender.on_timer(at(1100));
        assert_eq!(leave(&mut sender, at(1100)), [0]);
        assert_eq!(
            (state(&sender).0, sender.counters.episodes.timeouts),
            (1, 1)
        );
    }
}

#[test]
fn a_nack_for_an_earlier_transmission_is_ignored() {
    let mut sender = sender(Nack::On, Recovery::Sack);
    assert_eq!(nack(&mut sender, at(100), 3), [3]);
    for (echo, sent) in [(at(0), vec![]), (at(100), vec![3])] {
        sender.on_nack(at(250), &packet(at(250), echo, 3));
        assert_eq!(leave(&mut sender, at(250)), sent);
    }
}

#[test]
fn without_sack_duplicates_reveal_that_a_nack_is_too_late() {
    let mut sender = sender(Nack::On, Recovery::NewReno);
    // One segment beyond the hole at 0 has arrived: it may be 1, so a NACK for 2 is plausible.
    ack(&mut sender, at(101), 0, 0..0);
    assert_eq!(nack(&mut sender, at(101), 0), []);
    assert_eq!(nack(&mut sender, at(101), 1), []);
    assert_eq!(nack(&mut sender, at(101), 2), [2]);
}

#[test]
fn after_a_detected_false_nack_none_is_accepted() {
    // Retransmitted at 100 ms; an acknowledgment 1 ms later is for the original.
    let mut sender = sender(Nack::On, Recovery::Rack);
    nack(&mut sender, at(100), 3);
    ack(&mut sender, at(101), 5, 0..0);
    assert_eq!(sender.nacks().expect("NACKs are on").mistaken, 1);
    assert_eq!(nack(&mut sender, at(150), 7), []);
    assert_eq!(counts(&sender), (1, 1, 1));
}

#[test]
fn with_a_long_queue_the_echoed_time_reveals_a_false_nack() {
    // An RTT of 260 ms: more than the minimum RTT after segment 0 was retransmitted at 150 ms.
    for (echo, mistaken) in [(at(0), 1), (at(150), 0)] {
        let mut sender = sender(Nack::On, Recovery::Rack);
        nack(&mut sender, at(150), 0);
        echoing(&mut sender, at(260), echo, 1, 0..0);
        assert_eq!(sender.nacks().expect("NACKs are on").mistaken, mistaken);
    }
}

#[test]
fn a_paced_sender_sends_a_nacked_segment_next() {
    let settings = TcpSettings {
        pacing: Some(1.25),
        initial_window: 40,
        ..TcpSettings::default()
    };
    let newreno = "newreno".parse().expect("registered");
    let mut sender = Sender::new(&newreno, None, &settings, Nack::On, Draw::of(1, 0));
    sender.on_handshake(Some(Duration::from_millis(100)));
    // 1.25 windows of 40 packets per 100 ms, the first 10 ms at once: three packets of 1500
    // bytes, then one every 2.07 ms.
    assert_eq!(leave(&mut sender, at(0)), [0, 1, 2]);
    for step in 1..50 {
        leave(&mut sender, at(2 * step));
    }
    // Paced slow start grows the window to 50, with room for twenty; 10 ms of it are four
    // packets.
    assert_eq!(ack(&mut sender, at(200), 10, 0..0), [40, 41, 42, 43]);
    tell(&mut sender, at(200), 12);
    tell(&mut sender, at(200), 11);
    assert_eq!(leave(&mut sender, at(200)), []);
    let sent = (201..206).flat_map(|now| leave(&mut sender, at(now)));
    assert_eq!(sent.collect::<Vec<_>>(), [12, 11, 44]);
}

/// An event of a sender.
#[derive(Debug, Clone)]
enum Event {
    Nack(u32),
    Ack(u32, u32, u32),
    Timer,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (0u32..60).prop_map(Event::Nack),
        1 => any::<u32>().prop_map(Event::Nack),
        4 => (0u32..6, 0u32..30, 0u32..6).prop_map(|(ack, gap, sacked)| Event::Ack(ack, gap, sacked)),
        1 => Just(Event::Timer),
    ]
}

proptest! {
    /// No NACK changes the window or the flight, and the retransmissions for NACKs are bounded
    /// by the data that arrives. The scoreboard is checked with each acknowledgment.
    #[test]
    fn nacks_change_no_window_and_stay_within_the_allowance(
        events in prop::collection::vec((event(), 0u64..80), 1..200),
        mode in 0usize..3,
        suppressed in any::<bool>(),
    ) {
        let nack = if suppressed { Nack::On } else { Nack::Unsuppressed };
        let mut sender = sender(nack, ALL[mode]);
        let mut now = at(0);
        for (event, wait) in events {
            now += Duration::from_millis(wait);
            let una = sender.board.una();
            match event {
                Event::Nack(ahead) => {
                    let before = state(&sender);
                    tell(&mut sender, now, una.wrapping_add(ahead));
                    prop_assert_eq!((state(&sender).0, state(&sender).1), (before.0, before.1));
                    let owed = counts(&sender).0 - counts(&sender).2;
                    prop_assert_eq!(state(&sender).2 + owed, before.2);
                    let sent = sender.next_one(now);
                    prop_assert!(owed == 0 || sent.is_some_and(|sent| sent.seg == una + ahead));
                    prop_assert!(owed == 0 || state(&sender) == before);
                    leave(&mut sender, now);
                }
                Event::Ack(advance, gap, sacked) => {
                    let next = sender.board.next();
                    let acked = (una + advance).min(next);
                    let start = (acked + 1 + gap).min(next);
                    ack(&mut sender, now, acked, start..(start + sacked).min(next));
                }
                Event::Timer => {
                    sender.on_timer(now);
                    leave(&mut sender, now);
                }
            }
        }
        let arrived = sender.rate.delivered().get() / MSS;
        prop_assert!(counts(&sender).2 <= 10 + arrived / 2);
        prop_assert!(sender.controller.cwnd() >= Bytes::new(MSS));
    }
}
