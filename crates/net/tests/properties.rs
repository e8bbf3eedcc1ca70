//! Properties of every link for any arrivals of packets.

mod common;

use common::{delivered, serving};
use proptest::prelude::*;
use std::sync::Arc;
use whimbrel_net::{
    Aqm, CoDel, CodelLink, Counters, Delay, DelayTrace, DropCause, Fate, Link, LinkSpec, LossSpec,
    Mark, Outage, QueueLimit, QueueUnit, Red, Schedule, ServiceSpec, Trace,
};
use whimbrel_units::{Bytes, Duration, Probability, Rate, Time};

fn schedule<T: Copy + std::fmt::Debug>(
    value: impl Strategy<Value = T>,
) -> impl Strategy<Value = Schedule<T>> {
    prop::collection::vec((1_u64..50_000_000, value), 1..5).prop_map(|steps| {
        let mut at = 0;
        let steps = steps.into_iter().enumerate().map(|(i, (gap, value))| {
            at += if i == 0 { 0 } else { gap };
            (Time::from_nanos(at), value)
        });
        Schedule::steps(steps.collect()).expect("in order")
    })
}

fn service() -> impl Strategy<Value = ServiceSpec> {
    let rate =
        || prop_oneof![1 => Just(0), 9 => 1_u64..200_000_000_000].prop_map(Rate::from_bits_per_sec);
    prop_oneof![
        Just(ServiceSpec::Unlimited),
        rate().prop_map(|r| ServiceSpec::Rate(Schedule::constant(r))),
        schedule(rate()).prop_map(ServiceSpec::Rate),
        prop::collection::vec(0_u64..30, 1..20).prop_map(|mut lines| {
            lines.sort_unstable();
            lines.push(31);
            let text: String = lines.iter().map(|t| format!("{t}\n")).collect();
            ServiceSpec::Trace(Arc::new(Trace::parse(&text).expect("a trace")))
        }),
    ]
}

fn unit() -> impl Strategy<Value = QueueUnit> {
    prop_oneof![Just(QueueUnit::Packets), Just(QueueUnit::Bytes)]
}

fn packet_time() -> impl Strategy<Value = Duration> {
    (0_u64..10_000_000).prop_map(Duration::from_nanos)
}

fn red() -> impl Strategy<Value = Aqm> {
    let thresholds = (0.1_f64..20.0, 1.0_f64..4.0, unit());
    let settings = (0.0_f64..=1.0, 0.0_f64..=1.0, any::<bool>(), packet_time());
    (thresholds, settings).prop_map(
        |((min, ratio, unit), (max_p, weight, gentle, packet_time))| {
            let scale = match unit {
                QueueUnit::Packets => 1.0,
                QueueUnit::Bytes => 1500.0,
            };
            Aqm::Red(Red {
                min: min * scale,
                max: min * ratio * scale,
                unit,
                max_p: Probability::new(max_p).expect("a probability"),
                weight,
                gentle,
                packet: Bytes::new(1500),
                packet_time,
            })
        },
    )
}

fn mark() -> impl Strategy<Value = Aqm> {
    (0.0_f64..20.0, unit(), 0.0_f64..=1.0, packet_time()).prop_map(
        |(threshold, unit, weight, packet_time)| {
            Aqm::Mark(Mark {
                threshold,
                unit,
                weight,
                packet_time,
            })
        },
    )
}

fn codel() -> impl Strategy<Value = CoDel> {
    (0_u64..5_000_000, 0_u64..20_000_000, 0_u64..5_000).prop_map(|(target, interval, mtu)| CoDel {
        target: Duration::from_nanos(target),
        interval: Duration::from_nanos(interval),
        mtu: Bytes::new(mtu),
    })
}

/// Plays a link with CoDel as a simulator does: at the times that it names, and when packets come.
/// Gives all fates in the order of the packets.
fn play(link: &mut CodelLink, arrivals: &[(Time, u32)], ect: impl Fn(usize) -> bool) -> Vec<Fate> {
    let mut fates = vec![None; arrivals.len()];
    let mut open = std::collections::VecDeque::new();
    let mut left = Vec::new();
    for (i, (now, size)) in arrivals.iter().enumerate() {
        while let Some(next) = link.next().filter(|next| next < now) {
            link.advance(next, &mut left);
        }
        if link.offer(*now, *size, ect(i), &mut left) {
            open.push_back(i);
        } else {
            fates[i] = Some(Fate::Dropped(DropCause::QueueOverflow));
        }
        for fate in left.drain(..) {
            let packet = open.pop_front().expect("a fate has a packet");
            fates[packet] = Some(fate);
        }
    }
    link.advance(Time::MAX, &mut left);
    for (packet, fate) in open.into_iter().zip(left) {
        fates[packet] = Some(fate);
    }
    let known = fates
        .into_iter()
        .map(|fate| fate.expect("every packet has a fate"));
    known.collect()
}

fn total(c: &Counters) -> u64 {
    c.delivered + c.queue_overflow + c.early + c.random + c.outage + c.contention
}

fn spec() -> impl Strategy<Value = LinkSpec> {
    let aqm = prop_oneof![2 => Just(None), 2 => red().prop_map(Some), 1 => mark().prop_map(Some)];
    let queue = prop_oneof![
        Just(QueueLimit::Unlimited),
        (0_u32..20).prop_map(QueueLimit::Packets),
        (0_u64..20_000).prop_map(|b| QueueLimit::Bytes(Bytes::new(b))),
    ];
    let probability = || (0.0..=1.0).prop_map(|p| Probability::new(p).expect("a probability"));
    let outage = (any::<u32>(), any::<u32>()).prop_map(|(from, to)| Outage {
        from: Time::from_nanos(from.into()),
        to: Time::from_nanos(to.into()),
    });
    let loss = (
        probability(),
        probability(),
        probability(),
        prop::collection::vec(outage, 0..3),
        prop::collection::vec((0_u64..200_000_000).prop_map(Time::from_nanos), 0..4),
    )
        .prop_map(|(random, corrupt, bit_errors, outages, drops)| LossSpec {
            random,
            corrupt,
            bit_errors,
            outages,
            drops,
            ..LossSpec::default()
        });
    let delays = || (0_u64..300_000_000).prop_map(Duration::from_nanos);
    let row =
        (1_u64..50_000_000, prop::collection::vec(delays(), 1..20)).prop_map(|(every, row)| {
            let row = DelayTrace::new(row).expect("not empty");
            Delay::recorded(Duration::from_nanos(every), row).expect("not zero")
        });
    let course = prop_oneof![schedule(delays()).prop_map(Delay::steps), row];
    let delay = (course, any::<bool>()).prop_map(|(delay, keep)| delay.in_order(keep));
    (service(), delay, queue, aqm, loss).prop_map(|(service, delay, queue, aqm, loss)| LinkSpec {
        service,
        delay,
        queue,
        aqm,
        loss,
    })
}

/// Times and sizes, in order of time.
fn arrivals() -> impl Strategy<Value = Vec<(Time, u32)>> {
    let gap = prop_oneof![2 => Just(0), 5 => 0_u64..100_000, 1 => 0_u64..50_000_000];
    prop::collection::vec((gap, 0_u32..3_000), 1..200).prop_map(|packets| {
        let mut now = 0;
        let timed = packets.into_iter().map(|(gap, size)| {
            now += gap;
            (Time::from_nanos(now), size)
        });
        timed.collect()
    })
}

proptest! {
    #[test]
    fn every_packet_is_accounted_for_once(spec in spec(), arrivals in arrivals(), seed: u64) {
        let mut link = Link::new(&spec, seed);
        let (mut delivered, mut marks) = (0, 0);
        for (i, (now, size)) in arrivals.iter().enumerate() {
            let ect = i % 2 == 0;
            if let Fate::Delivered { at, marked, .. } = link.offer(*now, *size, ect) {
                delivered += 1;
                marks += u64::from(marked);
                prop_assert!(at >= *now);
                prop_assert!(ect || !marked);
            }
        }
        let c = link.counters();
        prop_assert_eq!(c.offered, arrivals.len() as u64);
        prop_assert_eq!(c.delivered, delivered);
        prop_assert_eq!(c.offered, total(&c));
        prop_assert_eq!(c.marked, marks);
        prop_assert_eq!(c.early == 0, c.admitted() + c.queue_overflow == c.offered);
        prop_assert!(spec.aqm.is_some() || c.marked + c.early == 0);
        prop_assert!(c.corrupted <= c.delivered);
        prop_assert!(c.delivered_bytes <= c.served_bytes);
        prop_assert!(c.longest_wait <= c.waited);
        let last = arrivals.last().map_or(Time::ZERO, |(now, _)| *now);
        prop_assert!(link.backlog(last).packets <= c.most_waiting);
        let empty = link.backlog(Time::MAX);
        prop_assert_eq!((empty.packets, empty.bytes), (0, Bytes::ZERO));
    }

    #[test]
    fn the_queue_never_holds_more_than_its_limit(spec in spec(), arrivals in arrivals()) {
        let mut link = Link::new(&spec, 1);
        for (now, size) in arrivals {
            link.offer(now, size, true);
            let held = link.backlog(now);
            // One packet may always be there: the one that an idle link on a trace took, which
            // waits for its opportunity.
            match spec.queue {
                QueueLimit::Unlimited => {}
                QueueLimit::Packets(limit) => prop_assert!(held.packets <= limit.max(1)),
                QueueLimit::Bytes(limit) => prop_assert!(held.packets <= 1 || held.bytes <= limit),
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_fates(spec in spec(), arrivals in arrivals(), seed: u64) {
        let run = || {
            let mut link = Link::new(&spec, seed);
            let fates: Vec<_> = arrivals.iter().map(|(now, size)| link.offer(*now, *size, true)).collect();
            (fates, link.counters())
        };
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn packets_keep_their_order_and_never_exceed_the_capacity(
        service in service(), arrivals in arrivals(),
    ) {
        let mut link = Link::new(&serving(service.clone()), 1);
        let mut last = Time::ZERO;
        let mut bytes = 0;
        for (now, size) in arrivals {
            let at = delivered(&mut link, now, size);
            prop_assert!(at >= last);
            last = at;
            bytes += u64::from(size);
            // A departure is rounded down by less than a nanosecond, the capacity by less than a
            // byte for each step.
            if at < Time::MAX && let Some(capacity) = service.capacity(at + Duration::from_nanos(1)) {
                prop_assert!(bytes <= capacity.get() + 5, "{bytes} B of {capacity:?} by {at}");
            }
        }
    }

    /// While packets wait, the link serves at its full rate.
    #[test]
    fn work_is_conserved(bps in 1_u64..100_000_000_000, arrivals in arrivals()) {
        let rate = Rate::from_bits_per_sec(bps);
        let mut link = Link::new(&serving(ServiceSpec::Rate(Schedule::constant(rate))), 1);
        let mut busy_since = Time::ZERO;
        let mut bytes = 0_u64;
        let mut last = Time::ZERO;
        for (now, size) in arrivals {
            if now > last {
                busy_since = now;
                bytes = 0;
            }
            bytes += u64::from(size);
            last = delivered(&mut link, now, size);
            let exact = u128::from(bytes) * 8_000_000_000 / u128::from(bps);
            prop_assert_eq!(u128::from(last.since(busy_since).as_nanos()), exact);
        }
    }

    /// A schedule of equal steps serves like a constant rate.
    #[test]
    fn equal_steps_serve_like_a_constant_rate(bps in 1_u64..100_000_000_000, arrivals in arrivals(), at in 1_u64..1_000_000_000) {
        let rate = Rate::from_bits_per_sec(bps);
        let steps = vec![(Time::ZERO, rate), (Time::from_nanos(at), rate)];
        let steps = Schedule::steps(steps).expect("in order");
        let mut one = Link::new(&serving(ServiceSpec::Rate(Schedule::constant(rate))), 1);
        let mut two = Link::new(&serving(ServiceSpec::Rate(steps)), 1);
        for (now, size) in arrivals {
            prop_assert_eq!(one.offer(now, size, true), two.offer(now, size, true));
        }
    }

    #[test]
    fn extreme_times_and_sizes_do_not_panic(
        spec in spec(),
        packets in prop::collection::vec((any::<u64>(), 0_u32..2_000_000), 1..30),
    ) {
        let mut packets = packets;
        packets.sort_unstable();
        let mut link = Link::new(&spec, 1);
        for (now, size) in packets {
            link.offer(Time::from_nanos(now), size, true);
        }
    }

    #[test]
    fn with_mark_every_packet_has_the_fate_of_a_droptail_queue(
        spec in spec(), mark in mark(), arrivals in arrivals(), seed: u64,
    ) {
        let plain = LinkSpec { aqm: None, ..spec.clone() };
        let marking = LinkSpec { aqm: Some(mark), ..spec };
        let (mut plain, mut marking) = (Link::new(&plain, seed), Link::new(&marking, seed));
        for (i, (now, size)) in arrivals.into_iter().enumerate() {
            let unmarked = match marking.offer(now, size, i % 3 == 0) {
                Fate::Delivered { at, corrupted, .. } => Fate::Delivered { at, corrupted, marked: false },
                dropped @ Fate::Dropped(_) => dropped,
            };
            prop_assert_eq!(unmarked, plain.offer(now, size, false));
        }
        prop_assert_eq!(marking.counters().early, 0);
    }

    #[test]
    fn codel_accounts_for_every_packet_once_and_in_order(
        spec in spec(), codel in codel(), arrivals in arrivals(), seed: u64,
    ) {
        let mut link = CodelLink::new(&spec, codel, seed);
        let fates = play(&mut link, &arrivals, |i| i % 2 == 0);
        let count = |is: fn(&Fate) -> bool| fates.iter().filter(|fate| is(fate)).count() as u64;
        let c = *link.counters();
        prop_assert_eq!(c.offered, arrivals.len() as u64);
        prop_assert_eq!(c.offered, total(&c));
        prop_assert_eq!(c.delivered, count(|fate| matches!(fate, Fate::Delivered { .. })));
        prop_assert_eq!(c.marked, count(|fate| matches!(fate, Fate::Delivered { marked: true, .. })));
        prop_assert_eq!(c.early, count(|fate| *fate == Fate::Dropped(DropCause::Early)));
        for (i, fate) in fates.iter().enumerate() {
            if i % 2 == 0 {
                prop_assert_ne!(fate, &Fate::Dropped(DropCause::Early), "it could have been marked");
            } else {
                let marked = matches!(fate, Fate::Delivered { marked: true, .. });
                prop_assert!(!marked);
            }
        }
        if spec.delay.keeps_order() {
            let times: Vec<Time> = fates.iter().filter_map(|fate| match fate {
                Fate::Delivered { at, .. } => Some(*at),
                Fate::Dropped(_) => None,
            }).collect();
            prop_assert!(times.is_sorted());
        }
        prop_assert_eq!(link.backlog().packets, 0);
    }

    #[test]
    fn codel_without_drops_equals_droptail_to_the_nanosecond(
        spec in spec(), arrivals in arrivals(), seed: u64,
    ) {
        let plain = LinkSpec { aqm: None, ..spec };
        let content = CoDel { target: Duration::MAX, interval: Duration::MAX, mtu: Bytes::ZERO };
        let mut managed = CodelLink::new(&plain, content, seed);
        let fates = play(&mut managed, &arrivals, |_| true);
        let mut link = Link::new(&plain, seed);
        let same: Vec<Fate> = arrivals.iter().map(|(now, size)| link.offer(*now, *size, true)).collect();
        prop_assert_eq!(fates, same);
        prop_assert_eq!(*managed.counters(), link.counters());
    }

    #[test]
    fn codel_does_not_panic_at_extreme_times_and_sizes(
        spec in spec(),
        codel in codel(),
        packets in prop::collection::vec((any::<u64>(), 0_u32..2_000_000), 1..30),
    ) {
        let mut packets = packets;
        packets.sort_unstable();
        let mut link = CodelLink::new(&spec, codel, 1);
        let mut left = Vec::new();
        for (now, size) in packets {
            link.offer(Time::from_nanos(now), size, size % 2 == 0, &mut left);
        }
        link.advance(Time::MAX, &mut left);
        prop_assert_eq!(total(link.counters()), link.counters().offered);
    }
}
