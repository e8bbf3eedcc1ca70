//! Departure times compared with hand calculation.

mod common;

use common::{at_rate, delivered, mbit, ms, serving, us};
use whimbrel_net::{Delay, Link, Schedule, ServiceSpec};
use whimbrel_units::{Bytes, Duration, Rate, Time};

#[test]
fn a_1500_byte_packet_takes_12_us_at_1_gbit() {
    let mut link = Link::new(&at_rate(mbit(1000)), 1);
    assert_eq!(delivered(&mut link, us(0), 1500), us(12));
}

#[test]
fn packets_that_arrive_together_leave_one_after_another() {
    // 1 Mbit/s: 1500 B take 12 ms, 40 B take 320 us.
    let mut link = Link::new(&at_rate(mbit(1)), 1);
    assert_eq!(delivered(&mut link, ms(0), 1500), ms(12));
    assert_eq!(delivered(&mut link, ms(0), 1500), ms(24));
    assert_eq!(delivered(&mut link, ms(5), 40), us(24_320));
    // After an idle time the next packet is served on arrival.
    assert_eq!(delivered(&mut link, ms(100), 1500), ms(112));
    let counters = link.counters();
    assert_eq!(counters.waited, Duration::from_millis(12 + 19));
    assert_eq!(counters.longest_wait, Duration::from_millis(19));
    assert_eq!(counters.most_waiting, 2);
    assert_eq!(counters.busy, Duration::from_micros(24_320 + 12_000));
    assert_eq!(counters.served_bytes, Bytes::new(4540));
}

#[test]
fn propagation_comes_after_service() {
    let mut spec = at_rate(mbit(8));
    spec.delay = Delay::constant(Duration::from_millis(50));
    let mut link = Link::new(&spec, 1);
    assert_eq!(delivered(&mut link, ms(0), 1000), ms(51));
    assert_eq!(delivered(&mut link, ms(0), 1000), ms(52));
}

#[test]
fn a_link_without_a_rate_only_delays() {
    let mut spec = serving(ServiceSpec::Unlimited);
    spec.delay = Delay::constant(Duration::from_millis(7));
    let mut link = Link::new(&spec, 1);
    for _ in 0..3 {
        assert_eq!(delivered(&mut link, ms(1), u32::MAX), ms(8));
    }
    assert_eq!(link.counters().waited, Duration::ZERO);
}

#[test]
fn small_packets_do_not_exceed_the_rate_by_rounding() {
    // 66 B at 100 Gbit/s take 5.28 ns: a hundred of them 528 ns, not 500.
    let mut link = Link::new(&at_rate(mbit(100_000)), 1);
    let last = (0..100).map(|_| delivered(&mut link, us(0), 66)).max();
    assert_eq!(last, Some(Time::from_nanos(528)));
    // Two sizes in turn: 66 + 77 B are 11.44 ns, fifty pairs 572 ns.
    let mut link = Link::new(&at_rate(mbit(100_000)), 1);
    let last = (0..100)
        .map(|i| delivered(&mut link, us(0), if i % 2 == 0 { 66 } else { 77 }))
        .max();
    assert_eq!(last, Some(Time::from_nanos(572)));
}

#[test]
fn a_rate_step_applies_within_a_packet() {
    // 1 Mbit/s for 6 ms carries half of 1500 B; 2 Mbit/s the other half in 3 ms.
    let steps = vec![
        (ms(0), mbit(1)),
        (ms(6), mbit(2)),
        (ms(20), Rate::ZERO),
        (ms(30), mbit(1)),
    ];
    let schedule = Schedule::steps(steps).expect("in order");
    let mut link = Link::new(&serving(ServiceSpec::Rate(schedule.clone())), 1);
    assert_eq!(delivered(&mut link, ms(0), 1500), ms(9));
    // 2 Mbit/s: 6 ms each.
    assert_eq!(delivered(&mut link, ms(0), 1500), ms(15));
    // 4 ms carry 1000 B; nothing moves from 20 to 30 ms; the remaining 500 B take 4 ms.
    assert_eq!(delivered(&mut link, ms(16), 1500), ms(34));
    // Capacity: 6 ms x 1 + 14 ms x 2 + 5 ms x 1 Mbit/s = 39 kbit.
    let spec = ServiceSpec::Rate(schedule);
    assert_eq!(spec.capacity(ms(35)), Some(Bytes::new(39_000 / 8)));
    assert_eq!(spec.capacity(ms(25)), Some(Bytes::new(34_000 / 8)));
}

#[test]
fn a_packet_that_arrives_while_the_rate_is_zero_waits_for_the_next_step() {
    let steps = vec![(ms(0), Rate::ZERO), (ms(10), mbit(1))];
    let spec = serving(ServiceSpec::Rate(Schedule::steps(steps).expect("in order")));
    let mut link = Link::new(&spec, 1);
    assert_eq!(delivered(&mut link, ms(0), 0), ms(10));
    assert_eq!(delivered(&mut link, ms(1), 1500), ms(22));
}

#[test]
fn at_rate_zero_for_ever_a_packet_never_leaves() {
    let mut link = Link::new(&at_rate(Rate::ZERO), 1);
    assert_eq!(delivered(&mut link, ms(0), 40), Time::MAX);
    assert_eq!(delivered(&mut link, ms(9), 40), Time::MAX);
    assert_eq!(link.backlog(ms(9)).packets, 1);
}

#[test]
fn a_delay_step_down_lets_packets_overtake() {
    let mut spec = serving(ServiceSpec::Unlimited);
    let steps = vec![
        (ms(0), Duration::from_millis(300)),
        (ms(10), Duration::from_millis(25)),
    ];
    spec.delay = Delay::steps(Schedule::steps(steps).expect("in order"));
    let mut link = Link::new(&spec, 1);
    assert!(!link.keeps_order());
    assert_eq!(delivered(&mut link, ms(9), 100), ms(309));
    assert_eq!(delivered(&mut link, ms(10), 100), ms(35));
}

#[test]
fn the_delay_is_the_one_in_force_when_the_last_bit_left() {
    // Arrives before the step, leaves at 12 ms, after it.
    let mut spec = at_rate(mbit(1));
    let steps = vec![
        (ms(0), Duration::from_millis(300)),
        (ms(10), Duration::from_millis(25)),
    ];
    spec.delay = Delay::steps(Schedule::steps(steps).expect("in order"));
    assert_eq!(delivered(&mut Link::new(&spec, 1), ms(0), 1500), ms(37));
}

#[test]
fn extreme_numbers_saturate_at_never() {
    let slow = Rate::from_bits_per_sec(1);
    for spec in [
        at_rate(slow),
        at_rate(Rate::from_bits_per_sec(u64::MAX)),
        serving(ServiceSpec::Rate(
            Schedule::steps(vec![(ms(0), slow), (Time::MAX, mbit(1))]).expect("in order"),
        )),
    ] {
        let mut spec = spec;
        spec.delay = Delay::constant(Duration::MAX);
        let mut link = Link::new(&spec, 1);
        for now in [Time::ZERO, ms(1), Time::from_nanos(u64::MAX - 1), Time::MAX] {
            for size in [0, 1, 1500, u32::MAX] {
                assert_eq!(delivered(&mut link, now, size), Time::MAX);
                let _ = link.backlog(now);
            }
        }
    }
    // 1 bit/s: 4 GB take 34 years and a thousand times that do not fit 64 bits of nanoseconds.
    let mut link = Link::new(&at_rate(slow), 1);
    for _ in 0..3 {
        delivered(&mut link, ms(0), 1500);
    }
    assert_eq!(
        delivered(&mut link, ms(0), 1500),
        Time::from_nanos(48_000_000_000_000)
    );
    for _ in 0..1000 {
        delivered(&mut link, ms(0), u32::MAX);
    }
    assert_eq!(delivered(&mut link, ms(0), 1), Time::MAX);
}
