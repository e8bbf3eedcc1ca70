//! What holds for every link and every arrival of packets.

mod common;

use common::{delivered, serving};
use proptest::prelude::*;
use std::sync::Arc;
use whimbrel_net::{
    Fate, Link, LinkSpec, LossSpec, Outage, QueueLimit, Schedule, ServiceSpec, Trace,
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

fn spec() -> impl Strategy<Value = LinkSpec> {
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
        prop::collection::vec(outage, 0..3),
    )
        .prop_map(|(random, corrupt, outages)| LossSpec {
            random,
            corrupt,
            outages,
            ..LossSpec::default()
        });
    let delay = schedule((0_u64..300_000_000).prop_map(Duration::from_nanos));
    (service(), delay, queue, loss).prop_map(|(service, delay, queue, loss)| LinkSpec {
        service,
        delay,
        queue,
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
        let mut delivered = 0;
        for (now, size) in &arrivals {
            if let Fate::Delivered { at, .. } = link.offer(*now, *size) {
                delivered += 1;
                prop_assert!(at >= *now);
            }
        }
        let c = *link.counters();
        prop_assert_eq!(c.offered, arrivals.len() as u64);
        prop_assert_eq!(c.delivered, delivered);
        prop_assert_eq!(c.offered, c.delivered + c.queue_overflow + c.random + c.outage);
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
            link.offer(now, size);
            let held = link.backlog(now);
            // One packet may always be there: the one that an idle link on a trace took, which waits for
            // its opportunity.
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
            let fates: Vec<_> = arrivals.iter().map(|(now, size)| link.offer(*now, *size)).collect();
            (fates, *link.counters())
        };
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn first_in_is_first_out_and_never_faster_than_the_link(
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

    /// While something waits, the link works at its full rate.
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

    /// A schedule that never changes serves as a constant does.
    #[test]
    fn equal_steps_are_no_steps(bps in 1_u64..100_000_000_000, arrivals in arrivals(), at in 1_u64..1_000_000_000) {
        let rate = Rate::from_bits_per_sec(bps);
        let steps = vec![(Time::ZERO, rate), (Time::from_nanos(at), rate)];
        let steps = Schedule::steps(steps).expect("in order");
        let mut one = Link::new(&serving(ServiceSpec::Rate(Schedule::constant(rate))), 1);
        let mut two = Link::new(&serving(ServiceSpec::Rate(steps)), 1);
        for (now, size) in arrivals {
            prop_assert_eq!(one.offer(now, size), two.offer(now, size));
        }
    }

    #[test]
    fn nothing_panics_at_extreme_times_and_sizes(
        spec in spec(),
        packets in prop::collection::vec((any::<u64>(), 0_u32..2_000_000), 1..30),
    ) {
        let mut packets = packets;
        packets.sort_unstable();
        let mut link = Link::new(&spec, 1);
        for (now, size) in packets {
            link.offer(Time::from_nanos(now), size);
        }
    }
}
