//! Traces, compared with departures of mahimahi's `link_queue.cc`.

mod common;

use common::{delivered, ms, serving, us};
use proptest::prelude::*;
use std::sync::Arc;
use whimbrel_net::{Link, ServiceSpec, Trace};
use whimbrel_units::{Bytes, Duration, Rate, Time};

fn link(text: &str) -> Link {
    let trace = Arc::new(Trace::parse(text).expect("a trace"));
    Link::new(&serving(ServiceSpec::Trace(trace)), 1)
}

#[test]
fn each_line_delivers_1504_bytes() {
    let mut link = link("2\n5\n9\n");
    assert_eq!(delivered(&mut link, ms(0), 1504), ms(2));
    assert_eq!(delivered(&mut link, ms(0), 1504), ms(5));
    assert_eq!(delivered(&mut link, ms(0), 1504), ms(9));
}

#[test]
fn a_trace_repeats_from_its_last_line() {
    let mut link = link("2\n5\n9\n");
    let times: Vec<_> = (0..7).map(|_| delivered(&mut link, ms(0), 1504)).collect();
    assert_eq!(times, [2, 5, 9, 11, 14, 18, 20].map(ms));
}

#[test]
fn a_line_at_zero_coincides_with_the_end_of_the_previous_round() {
    let mut link = link("0\n4\n");
    // The opportunity at 0 has passed when the packets arrive.
    let times: Vec<_> = (0..5).map(|_| delivered(&mut link, ms(0), 1504)).collect();
    assert_eq!(times, [4, 4, 8, 8, 12].map(ms));
}

#[test]
fn each_repeated_line_is_an_opportunity() {
    let mut link = link("3\n3\n3\n10\n");
    let times: Vec<_> = (0..5).map(|_| delivered(&mut link, ms(0), 1504)).collect();
    assert_eq!(times, [3, 3, 3, 10, 13].map(ms));
}

#[test]
fn small_waiting_packets_share_an_opportunity() {
    let mut link = link("3\n10\n");
    assert_eq!(delivered(&mut link, ms(0), 500), ms(3));
    assert_eq!(delivered(&mut link, ms(1), 500), ms(3));
    assert_eq!(delivered(&mut link, us(2_999), 504), ms(3));
    assert_eq!(delivered(&mut link, us(2_999), 1), ms(10));
}

#[test]
fn a_packet_that_arrives_with_an_opportunity_is_too_late() {
    let mut link = link("3\n10\n");
    assert_eq!(delivered(&mut link, ms(0), 500), ms(3));
    assert_eq!(delivered(&mut link, ms(3), 500), ms(10));
    assert_eq!(delivered(&mut link, ms(10), 500), ms(13));
}

#[test]
fn a_packet_uses_the_rest_of_an_opportunity_and_the_next() {
    // 1000 of 1504, then 504 + 496 of the next, whose rest takes the small one.
    let mut link = link("3\n10\n");
    assert_eq!(delivered(&mut link, ms(0), 1000), ms(3));
    assert_eq!(delivered(&mut link, ms(0), 1000), ms(10));
    assert_eq!(delivered(&mut link, ms(0), 1008), ms(10));
    // 3 x 1504 + 1: the opportunities of 13, 20 and 23 ms, and a byte of that of 30 ms.
    assert_eq!(delivered(&mut link, ms(0), 4513), ms(30));
}

#[test]
fn opportunities_without_waiting_packets_are_lost() {
    let mut link = link("1\n2\n3\n1000\n");
    assert_eq!(delivered(&mut link, ms(0), 1504), ms(1));
    assert_eq!(delivered(&mut link, ms(3), 1504), ms(1000));
    // Rounds gone by unused: the 7th begins at 7 s.
    assert_eq!(delivered(&mut link, us(7_001_500), 1504), ms(7002));
    assert_eq!(delivered(&mut link, us(7_001_500), 1504), ms(7003));
    assert_eq!(delivered(&mut link, us(7_001_500), 1504), ms(8000));
    assert_eq!(delivered(&mut link, us(7_001_500), 1504), ms(8001));
}

#[test]
fn a_packet_before_its_opportunity_counts_as_waiting() {
    let mut link = link("100\n");
    delivered(&mut link, ms(40), 700);
    delivered(&mut link, ms(60), 700);
    assert_eq!(link.counters().waited, Duration::from_millis(60 + 40));
    assert_eq!(link.counters().busy, Duration::from_millis(60));
    assert_eq!(link.backlog(ms(99)).packets, 2);
    assert_eq!(link.backlog(ms(100)).packets, 0);
}

#[test]
fn rate_and_capacity_of_a_trace() {
    // 12 opportunities in 12 ms: 1504 B per ms.
    let text: String = (1..=12).map(|t| format!("{t}\n")).collect();
    let trace = Trace::parse(&text).expect("a trace");
    assert_eq!(trace.mean_rate(), Rate::from_bits_per_sec(12_032_000));
    assert_eq!(trace.period(), Duration::from_millis(12));
    assert_eq!(trace.capacity(us(500)), Bytes::ZERO);
    assert_eq!(trace.capacity(ms(1)), Bytes::new(1504));
    assert_eq!(trace.capacity(ms(30)), Bytes::new(30 * 1504));
}

#[test]
fn the_end_of_time_does_not_overflow() {
    let mut link = link("604800000\n");
    for _ in 0..20_000_000 {
        if delivered(&mut link, ms(0), 1504) == Time::MAX {
            break;
        }
    }
    assert_eq!(delivered(&mut link, Time::MAX, 1504), Time::MAX);
    let mut link = self::link("1\n");
    assert_eq!(delivered(&mut link, Time::MAX, u32::MAX), Time::MAX);
    assert_eq!(delivered(&mut link, Time::MAX, 1), Time::MAX);
}

#[test]
fn an_invalid_trace_is_refused_with_its_line() {
    let why = |text: &str| Trace::parse(text).expect_err(text).to_string();
    assert!(why("").contains("the trace is empty"), "{}", why(""));
    assert_eq!(
        why("0\n0\n"),
        "line 2: the trace ends at 0 ms: it must span some time"
    );
    assert_eq!(
        why("5\n4\n"),
        "line 2: 4 ms comes after 5 ms: the times of a recorded rate must not go back"
    );
    assert_eq!(
        why("1\n\n2.5\n"),
        "line 3: `2.5` is not a whole number of milliseconds"
    );
    assert!(why("-1\n").starts_with("line 1"));
    assert!(why("1099511627776\n").starts_with("line 1"));
    assert!(Trace::parse("1\r\n2\r\n\r\n").is_ok());
}

/// A few bytes must not take memory for years of statistics.
#[test]
fn a_trace_spans_a_week_at_most() {
    assert!(Trace::parse("604800000").is_ok());
    assert!(Trace::parse("0,0.01\n302400,0.01\n").is_ok());
    for text in ["604800001", "102102101010", "0,0.01\n302401,0.01\n"] {
        let why = Trace::parse(text).expect_err(text).to_string();
        assert!(why.contains("more than 604800 s"), "{why}");
    }
}

proptest! {
    #[test]
    fn reading_never_panics(text in "([0-9]{0,14}|[ ,\\-x.#]|\r?\n){0,60}") {
        if let Ok(trace) = Trace::parse(&text) {
            prop_assert!(!trace.period().is_zero());
            let mut link = Link::new(&serving(ServiceSpec::Trace(Arc::new(trace))), 1);
            for now in [0, 1, u64::MAX / 2, u64::MAX] {
                let now = Time::from_nanos(now);
                prop_assert!(delivered(&mut link, now, 3000) >= now);
            }
        }
    }

    /// Mahimahi's algorithm in its simplest form: a walk over all opportunities, each serving
    /// waiting packets.
    #[test]
    fn departures_match_a_walk_over_all_opportunities(
        gaps in prop::collection::vec(0_u64..4, 1..12),
        packets in prop::collection::vec((0_u64..3_000, 1_u32..4_000), 1..40),
    ) {
        let lines: Vec<u64> = gaps.iter().scan(0, |t, g| { *t += g; Some(*t) }).collect();
        prop_assume!(lines.last() != Some(&0));
        let text: String = lines.iter().map(|t| format!("{t}\n")).collect();
        let mut arrivals: Vec<(Time, u32)> = packets.iter().map(|(t, size)| (us(*t * 10), *size)).collect();
        arrivals.sort_by_key(|(t, _)| *t);

        let mut expected = Vec::new();
        let mut head_left = 0_u32;
        let period = *lines.last().unwrap_or(&1);
        'walk: for round in 0.. {
            for line in &lines {
                let t = ms(round * period + line);
                let mut bytes = 1504;
                while let Some((arrived, size)) = arrivals.get(expected.len()) {
                    if *arrived >= t || bytes == 0 {
                        break;
                    }
                    let need = if head_left == 0 { *size } else { head_left };
                    if need > bytes {
                        head_left = need - bytes;
                        break;
                    }
                    bytes -= need;
                    head_left = 0;
                    expected.push(t);
                }
                if expected.len() == arrivals.len() {
                    break 'walk;
                }
            }
        }
        let mut link = link(&text);
        let got: Vec<Time> = arrivals.iter().map(|(t, size)| delivered(&mut link, *t, *size)).collect();
        prop_assert_eq!(got, expected);
    }
}

#[test]
fn a_rate_as_csv_is_a_trace() {
    // 1.504 MB/s for a second, nothing for a second, twice as much for two.
    let trace = Trace::parse("time_s,rate_mbps\n5,12.032\n6,0\n7,24.064\n").expect("a trace");
    assert_eq!(trace.period(), Duration::from_secs(3));
    let windows = trace.windows();
    assert_eq!(windows.len(), 30);
    let mean = |range: std::ops::Range<usize>| windows[range].iter().sum::<f64>() / 10.0;
    assert!((mean(0..10) - 12.032).abs() < 0.2, "{windows:?}");
    assert!(mean(10..20) < 0.2 && (mean(20..30) - 24.064).abs() < 0.2);
    let alone = Trace::parse("0, 12.032").expect("a trace");
    assert_eq!(alone.period(), Duration::from_secs(1));
    let statistics = trace.statistics();
    assert_eq!(statistics.stall.count, 1);
    assert!((0.33..0.34).contains(&statistics.stalled), "{statistics:?}");
    assert_eq!(
        statistics.stall_interval(),
        Some(Duration::from_secs(3)),
        "one stall in three seconds"
    );
}

#[test]
fn a_packet_after_the_last_opportunity_waits_for_the_next_round() {
    // An opportunity each millisecond for a second, then none for a second.
    let mut link = link("0,12.032\n1,0\n");
    assert_eq!(delivered(&mut link, ms(500), 1504), ms(501));
    assert_eq!(delivered(&mut link, ms(1500), 1504), ms(2001));
    assert_eq!(delivered(&mut link, ms(1600), 1504), ms(2002));
    assert_eq!(delivered(&mut link, ms(7300), 1504), ms(8001));
}

#[test]
fn a_mistake_in_csv_names_the_line() {
    for (text, expected) in [
        ("time,rate\n0,1\n1,x\n", "line 3: `x` is not a rate"),
        ("0,1\nx,1\n", "line 2: `x` is not a time"),
        ("0,1\n1\n", "line 2: `1` needs a time"),
        ("0,1\n0,2\n", "line 2: 0 s comes after 0 s"),
        ("0,-1\n", "line 1: -1 Mbit/s is not between"),
        ("0,NaN\n", "line 1: NaN Mbit/s is not between"),
        ("a,b\n", "line 1: the trace has no rate"),
        ("0,0\n1,0\n", "line 2: the trace carries less than 1504"),
        ("0,1e7\n1e9,1\n", "line 2: the trace carries more than"),
    ] {
        let why = Trace::parse(text).expect_err(text).to_string();
        assert!(why.contains(expected), "{text:?}: {why}");
    }
}
