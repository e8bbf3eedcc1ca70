//! The generated low-orbit path: deterministic, in order, within its capacity, and with statistics
//! in stated bands.

use proptest::prelude::*;
use whimbrel_net::{
    Delay, DelayTrace, Fate, Link, LinkSpec, LowOrbit, LowOrbitDirection, PathStatistics,
    QueueLimit, Schedule, ServiceSpec, Trace,
};
use whimbrel_units::{Bytes, Duration, Rate, Time};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn link(direction: &LowOrbitDirection) -> LinkSpec {
    LinkSpec {
        service: ServiceSpec::Rate(direction.rate.clone()),
        delay: direction.delay.clone(),
        queue: QueueLimit::Unlimited,
        ..LinkSpec::default()
    }
}

/// Statistics of the default path over two minutes.
fn statistics(seed: u64) -> PathStatistics {
    let length = Duration::from_secs(120);
    let path = LowOrbit::default().draw(length, seed).expect("a path");
    let service = ServiceSpec::Rate(path.forward.rate);
    PathStatistics::of(&service, &path.forward.delay, &path.reverse.delay, length).expect("a rate")
}

#[test]
fn a_seed_decides_the_whole_path() {
    let draw = |seed| {
        LowOrbit::default()
            .draw(Duration::from_secs(60), seed)
            .expect("a path")
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    assert_ne!(draw(1).forward.rate, draw(1).reverse.rate);
}

#[test]
fn a_longer_path_begins_like_a_shorter_one() {
    let draw = |seconds| {
        LowOrbit::default()
            .draw(Duration::from_secs(seconds), 7)
            .expect("a path")
            .forward
    };
    let (short, long) = (draw(40), draw(80));
    for t in (0..39_000).map(|t| Time::ZERO + ms(t)) {
        assert_eq!(short.delay.at(t), long.delay.at(t));
    }
    let same = short.rate.all().len() - 2;
    assert_eq!(short.rate.all()[..same], long.rate.all()[..same]);
}

#[test]
fn both_directions_hand_over_at_the_same_times() {
    let path = LowOrbit::default()
        .draw(Duration::from_secs(100), 3)
        .expect("a path");
    let holds = |direction: &LowOrbitDirection| -> Vec<Time> {
        let steps = direction.rate.all().iter();
        steps
            .filter(|(_, rate)| *rate == Rate::ZERO)
            .map(|(at, _)| *at)
            .collect()
    };
    let forward = holds(&path.forward);
    assert_eq!(forward, holds(&path.reverse));
    assert!((6..=7).contains(&forward.len()));
    assert!(
        forward
            .windows(2)
            .all(|pair| pair[1].since(pair[0]) == Duration::from_secs(15))
    );
}

#[test]
fn a_satellite_has_a_rate_and_a_jitter_of_its_own_for_each_direction() {
    let path = LowOrbit {
        fading: 0.0,
        ..LowOrbit::default()
    };
    let drawn = path.draw(Duration::from_secs(100), 3).expect("a path");
    let (forward, reverse) = (drawn.forward.rate.all(), drawn.reverse.rate.all());
    let same = forward.iter().zip(reverse).filter(|(a, b)| a == b).count();
    // The holds alone.
    assert!(same <= 7, "{same} of {} steps", forward.len());
    let differs = |t: &u64| {
        let at = Time::ZERO + ms(10) * *t;
        drawn.forward.delay.at(at) != drawn.reverse.delay.at(at)
    };
    assert!((0..1000).filter(differs).count() > 990);
}

#[test]
fn a_hold_keeps_packets_waiting_and_drops_none() {
    let path = LowOrbit::default()
        .draw(Duration::from_secs(40), 5)
        .expect("a path");
    let steps = path.forward.rate.all();
    let hold = steps.iter().position(|(_, rate)| *rate == Rate::ZERO);
    let hold = hold.expect("a hand-over");
    let (begin, end) = (steps[hold].0, steps[hold + 1].0);
    let mut link = Link::new(&link(&path.forward), 1);
    for i in 0..10 {
        let offered = begin + ms(1) * i;
        let Fate::Delivered { at, .. } = link.offer(offered, 1500, false) else {
            panic!("packet {i} was dropped");
        };
        assert!(at > end, "packet {i} came out during the hold");
        assert!(at < end + ms(30), "packet {i} waited on");
    }
}

#[test]
fn statistics_are_within_the_stated_bands() {
    // Means over 20 paths; docs/simulate.md has them beside those of the recorded path.
    let all: Vec<PathStatistics> = (1..=20).map(statistics).collect();
    let mean =
        |value: fn(&PathStatistics) -> f64| all.iter().map(value).sum::<f64>() / all.len() as f64;
    let bands: [(&str, f64, f64, f64); 9] = [
        ("median capacity", mean(|s| s.capacity.median), 46.0, 54.0),
        ("5th percentile", mean(|s| s.capacity.p5), 32.0, 42.0),
        ("95th percentile", mean(|s| s.capacity.p95), 58.0, 70.0),
        ("fading", mean(|s| s.fading), 0.08, 0.12),
        ("median RTT", mean(|s| s.rtt.median), 20.0, 22.5),
        ("mean hold", mean(|s| s.hold.mean), 90.0, 110.0),
        ("interval", mean(|s| s.interval.mean), 14.9, 15.1),
        ("capacity jump", mean(|s| s.capacity_jump.mean), 6.0, 11.0),
        ("RTT jump", mean(|s| s.rtt_jump.mean), 1.5, 3.5),
    ];
    for (name, value, min, max) in bands {
        assert!((min..=max).contains(&value), "{name}: {value}");
    }
    for s in &all {
        assert!(s.hold.max <= 141.0 && s.hold.p5 >= 59.0, "{:?}", s.hold);
    }
}

#[test]
fn statistics_of_a_known_trace_are_exact() {
    // One 1504-byte opportunity each ms for 1 s, then 100 ms without, then two each ms for 1 s.
    let first = (1..=1000).map(|t| format!("{t}\n"));
    let second = (1101..=2100).map(|t| format!("{t}\n{t}\n"));
    let trace = Trace::parse(&first.chain(second).collect::<String>()).expect("a trace");
    let delays = (0..210).map(|i| if i < 105 { "10\n" } else { "14\n" });
    let delays = DelayTrace::parse(&delays.collect::<String>()).expect("delays");
    let delay = Delay::recorded(ms(10), delays).expect("intervals");
    let service = ServiceSpec::Trace(trace.into());
    let s = PathStatistics::of(&service, &delay, &delay, ms(2100)).expect("a rate");
    assert_eq!((s.hold.count, s.hold.max), (1, 100.0));
    assert!((s.capacity_jump.max - 12.032).abs() < 0.1, "{s:?}");
    assert_eq!(s.rtt_jump.max, 8.0);
    assert_eq!(s.jitter, 0.0);
}

#[test]
fn parameters_out_of_range_are_refused() {
    let refused = |change: fn(&mut LowOrbit)| {
        let mut path = LowOrbit::default();
        change(&mut path);
        path.draw(Duration::from_secs(1), 1).expect_err("refused")
    };
    assert!(refused(|p| p.rate = Rate::ZERO).contains("rate"));
    assert!(refused(|p| p.hold = (ms(2), ms(1))).contains("minimum"));
    assert!(refused(|p| p.interval = ms(140)).contains("interval"));
    assert!(refused(|p| p.spread = 1.0).contains("spread"));
    assert!(refused(|p| p.fading = -0.1).contains("fading"));
    assert!(refused(|p| p.jitter = Duration::MAX).contains("delay"));
    let day = Duration::from_secs(24 * 3600 + 1);
    assert!(LowOrbit::default().draw(day, 1).is_err());
}

fn paths() -> impl Strategy<Value = LowOrbit> {
    let rates = (1_u64..200_000_000, 1_u64..200_000_000);
    let times = (200_u64..20_000, 0_u64..100, 0_u64..99, 0_u64..50, 0_u64..50);
    let parts = (0.0..0.99, 0.0..0.99);
    (rates, times, parts, 0_u64..20).prop_map(|(rates, times, parts, jitter)| LowOrbit {
        rate: Rate::from_bits_per_sec(rates.0),
        reverse_rate: Rate::from_bits_per_sec(rates.1),
        interval: ms(times.0),
        hold: (ms(times.1), ms(times.1 + times.2)),
        spread: parts.0,
        fading: parts.1,
        ground: ms(times.3),
        space: (ms(times.4), ms(times.4 + 4)),
        jitter: ms(jitter),
    })
}

proptest! {
    #[test]
    fn packets_keep_their_order_and_the_capacity_is_never_exceeded(
        path in paths(), seed: u64, gaps in prop::collection::vec(0_u64..20_000_000, 1..200),
    ) {
        let drawn = path.draw(Duration::from_secs(5), seed).expect("a path");
        let peak = path.peak_rates()[0];
        let peak = peak.max(Rate::from_bits_per_sec(1));
        prop_assert!(drawn.forward.rate.all().iter().all(|(_, rate)| *rate <= peak));
        let spec = link(&drawn.forward);
        prop_assert!(spec.delay.keeps_order());
        let mut link = Link::new(&spec, seed);
        let (mut now, mut last) = (Time::ZERO, Time::ZERO);
        for gap in gaps {
            now += Duration::from_nanos(gap);
            match link.offer(now, 1500, false) {
                Fate::Delivered { at, .. } => {
                    prop_assert!(at >= last && at >= now + spec.delay.minimum());
                    last = at;
                }
                other => prop_assert!(false, "{other:?}"),
            }
            // What has left so far is not more than the link could carry until then.
            if last < Time::MAX {
                let capacity = spec.service.capacity(last).expect("a rate");
                // Each step's capacity is rounded down to whole bytes.
                let rounding = Bytes::new(drawn.forward.rate.all().len() as u64);
                let served = link.counters().served_bytes;
                prop_assert!(served <= capacity + rounding, "{served} of {capacity}");
            }
        }
    }

    #[test]
    fn delays_stay_within_their_parts(path in paths(), seed: u64) {
        let drawn = path.draw(Duration::from_secs(3), seed).expect("a path");
        let (min, max) = (path.ground + path.space.0, path.ground + path.space.1 + path.jitter);
        for direction in [&drawn.forward, &drawn.reverse] {
            for t in 0..300 {
                let delay = direction.delay.at(Time::ZERO + ms(10) * t);
                prop_assert!(min <= delay && delay <= max);
            }
            prop_assert!(Schedule::steps(direction.rate.all().to_vec()).is_ok());
        }
    }
}
