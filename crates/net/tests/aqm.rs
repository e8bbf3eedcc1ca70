//! Queue management on whole links.

mod common;

use common::{at_rate, mbit, ms, us};
use std::sync::Arc;
use whimbrel_net::{
    Aqm, CoDel, CodelLink, DropCause, Fate, Link, LinkSpec, Mark, QueueLimit, QueueUnit, Red,
    ServiceSpec, Trace,
};
use whimbrel_units::{Bytes, Duration, Probability, Time};

const EARLY: Fate = Fate::Dropped(DropCause::Early);

/// Everything is chosen from three waiting packets on; 12 Mbit/s take 1 ms for a packet of 1500
/// bytes.
fn harsh() -> LinkSpec {
    LinkSpec {
        aqm: Some(Aqm::Red(Red {
            min: 3.0,
            max: 3.0,
            unit: QueueUnit::Packets,
            max_p: Probability::ONE,
            weight: 1.0,
            gentle: false,
            packet: Bytes::new(1500),
            packet_time: Duration::from_millis(1),
        })),
        ..at_rate(mbit(12))
    }
}

#[test]
fn red_counts_waiting_packets_and_not_the_one_in_service() {
    let mut link = Link::new(&harsh(), 1);
    // One in service, three wait; the fifth finds three.
    let fates: Vec<bool> = (0..6)
        .map(|_| link.offer(ms(0), 1500, false) == EARLY)
        .collect();
    assert_eq!(fates, [false, false, false, false, true, true]);
    assert_eq!(link.counters().early, 2);
    assert_eq!(link.counters().admitted(), 4);
    // A millisecond later one more has begun.
    assert_ne!(link.offer(ms(1), 1500, false), EARLY);
    assert_eq!(link.offer(ms(1), 1500, false), EARLY);
}

#[test]
fn a_full_queue_overflows_whatever_red_decides() {
    let spec = LinkSpec {
        queue: QueueLimit::Packets(2),
        ..harsh()
    };
    let mut link = Link::new(&spec, 1);
    for _ in 0..3 {
        link.offer(ms(0), 1500, true);
    }
    assert_eq!(
        link.offer(ms(0), 1500, true),
        Fate::Dropped(DropCause::QueueOverflow)
    );
    assert_eq!(link.counters().early, 0);
}

#[test]
fn a_long_idle_time_resets_the_average_and_a_short_one_does_not() {
    // A weight of a half, both thresholds at 2. A burst finds 0, 0, 1, 2, 3 packets: averages 0, 0,
    // 0.5, 1.25, 2.125.
    let mut spec = harsh();
    if let Some(Aqm::Red(red)) = &mut spec.aqm {
        (red.min, red.max, red.weight) = (2.0, 2.0, 0.5);
    }
    let passed = |link: &mut Link, at: Time| {
        let fates = (0..5).map(|_| link.offer(at, 1500, false));
        fates.filter(|fate| *fate != EARLY).count()
    };
    let mut link = Link::new(&spec, 1);
    assert_eq!(passed(&mut link, ms(0)), 4);
    // They are served by 4 ms. Ten idle milliseconds leave a thousandth of 2.125.
    assert_eq!(passed(&mut link, ms(14)), 4);
    // 2.125 again at 18 ms. With no idle time, averages of 1.06, 0.53, 0.77, 1.38, and then 2.19 as
    // before.
    assert_eq!(passed(&mut link, ms(18)), 4);
    // With a weight of a sixteenth the second burst finds the average that the first one left.
    if let Some(Aqm::Red(red)) = &mut spec.aqm {
        (red.min, red.max, red.weight) = (0.5, 0.5, 0.0625);
    }
    // 0, 0, 0.06, 0.18, 0.36; four idle packets' times leave 0.28: 0.26, 0.24, 0.29, 0.40, and 0.56
    // for the fifth.
    let mut slow = Link::new(&spec, 1);
    assert_eq!(passed(&mut slow, ms(0)), 5);
    let mut soon = slow.clone();
    assert_eq!(passed(&mut soon, ms(9)), 4);
    // After a hundred packets' times the average is zero.
    assert_eq!(passed(&mut slow, ms(105)), 5);
}

#[test]
fn marks_do_not_depend_on_random_loss() {
    let mark = Mark {
        threshold: 1.0,
        unit: QueueUnit::Packets,
        weight: 1.0,
        packet_time: Duration::from_millis(1),
    };
    let spec = LinkSpec {
        aqm: Some(Aqm::Mark(mark)),
        ..at_rate(mbit(12))
    };
    let mut link = Link::new(&spec, 1);
    let marks: Vec<bool> = (0..5)
        .map(|_| {
            matches!(
                link.offer(ms(0), 1500, true),
                Fate::Delivered { marked: true, .. }
            )
        })
        .collect();
    assert_eq!(marks, [false, false, false, true, true]);
    assert_eq!(link.counters().marked, 2);
}

fn rfc(mtu: u64) -> CoDel {
    CoDel {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        mtu: Bytes::new(mtu),
    }
}

/// Twice what the link carries: a packet each half of a millisecond into 1 ms each. Gives the fates
/// in order.
fn overload(link: &mut CodelLink, packets: u64, ect: bool) -> Vec<Fate> {
    let mut left = Vec::new();
    for i in 0..packets {
        assert!(link.offer(us(500 * i), 1500, ect, &mut left));
    }
    left
}

#[test]
fn codel_drops_first_one_interval_after_waits_exceed_the_target() {
    // The k-th packet (from 0) comes at k/2 ms. Until the first drop it is taken from the queue at
    // k ms, having waited k/2: 5 ms is reached by the tenth, at 10 ms. So packet 110, taken at 110
    // ms, is the first to be dropped, and 111 goes at once. The next is due at 210 ms, and every
    // packet from 111 on is taken one millisecond sooner: it is 211.
    let mut link = CodelLink::new(&at_rate(mbit(12)), rfc(1500), 1);
    let fates = overload(&mut link, 440, false);
    let dropped: Vec<usize> = (0..fates.len()).filter(|i| fates[*i] == EARLY).collect();
    assert_eq!(dropped, [110, 211]);
    assert_eq!(
        fates[111],
        Fate::Delivered {
            at: ms(111),
            corrupted: None,
            marked: false
        },
        "it took the place of the one before it"
    );
    // By 219.5 ms those due by 219 ms have been taken, two of which were dropped.
    assert_eq!(fates.len(), 222);
    assert_eq!(link.counters().early, 2);
}

#[test]
fn codel_marks_ecn_capable_packets_instead_of_dropping_them() {
    let mut link = CodelLink::new(&at_rate(mbit(12)), rfc(1500), 1);
    let fates = overload(&mut link, 440, true);
    let marked = |fate: &Fate| matches!(fate, Fate::Delivered { marked: true, .. });
    let marks: Vec<usize> = (0..fates.len()).filter(|i| marked(&fates[*i])).collect();
    assert_eq!(marks, [110, 210]);
    assert_eq!((link.counters().early, link.counters().marked), (0, 2));
}

#[test]
fn later_arrivals_decide_a_packet_s_fate() {
    // Two packets wait for a second while a trace has no opportunity. If nothing comes behind the
    // second, it is taken with an empty queue behind it, and nothing begins; if two more come, the
    // first one taken starts the clock.
    let trace = Arc::new(Trace::parse("1000\n1200\n1400\n1600\n1800\n").expect("a trace"));
    let spec = LinkSpec {
        service: ServiceSpec::Trace(trace),
        ..LinkSpec::default()
    };
    let run = |later: u32| {
        let mut link = CodelLink::new(&spec, rfc(1500), 1);
        let mut left = Vec::new();
        for at in [ms(0), ms(1)] {
            link.offer(at, 1504, false, &mut left);
        }
        for _ in 0..later {
            link.offer(ms(500), 1504, false, &mut left);
        }
        link.advance(ms(2_000), &mut left);
        left
    };
    assert!(!run(0).contains(&EARLY));
    // Taken at 1000 with three behind it (the clock starts), at 1200 the second is dropped: the
    // same packet.
    assert_eq!(run(2)[1], EARLY);
}

#[test]
fn a_packet_larger_than_the_buffer_is_dropped_and_others_pass() {
    let spec = LinkSpec {
        queue: QueueLimit::Packets(1),
        ..at_rate(mbit(12))
    };
    let mut link = CodelLink::new(&spec, rfc(1500), 1);
    let mut left = Vec::new();
    let taken: Vec<bool> = (0..3)
        .map(|_| link.offer(ms(0), 1500, false, &mut left))
        .collect();
    assert_eq!(taken, [true, true, false]);
    assert_eq!(link.next(), Some(ms(1)));
    assert_eq!(link.backlog().packets, 1);
    link.advance(ms(1), &mut left);
    assert_eq!((left.len(), link.next()), (2, None));
    assert_eq!(link.counters().queue_overflow, 1);
}
