//! Measures of runs that were written by hand.

use super::*;
use std::path::Path;
use whimbrel_sim::scenario::{Point, Scenario};
use whimbrel_sim::{
    Confusion, DestinationOutcome, DestinationSample, FlowOutcome, FlowSample, LinkOutcome,
    LossCounts, LossEpisode, MessageOutcome, NackCounts, Outcome, Summary,
};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// 8 Mbit/s, 50 ms one way, an outage from 2 s to 4 s; two flows; sampled every second.
const SCENARIO: &str = r#"
[link.L]
rate = "8 Mbit/s"
delay = "50 ms"
loss = { outages = [["2 s", "4 s"]] }
[[flow]]
name = "first"
route = ["L"]
[[flow]]
name = "second"
route = ["L"]
start = "5 s"
[run]
duration = "10 s"
sample = "1 s"
"#;

fn points(text: &str) -> Scenario {
    Scenario::parse(text, Path::new("a.toml")).expect("a scenario")
}

fn at(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

fn megabit(rate: f64) -> Rate {
    Rate::from_bits_per_sec((rate * 1e6) as u64)
}

/// A flow that sent nothing from `start` to `end`, in seconds.
fn idle(name: &str, start: u64, end: u64) -> FlowOutcome {
    FlowOutcome {
        name: name.into(),
        controller: Some("newreno".to_owned()),
        start: at(start),
        active: Duration::from_secs(end - start),
        ..FlowOutcome::default()
    }
}

/// A flow that delivers at these rates in Mbit/s for one second each and sends at twice the rate.
/// Its window in kB and, after the first second, the spacing of its acknowledgments in ms have the
/// same values.
fn sampled(name: &str, start: u64, rates: &[f64]) -> FlowOutcome {
    let end = start + rates.len() as u64;
    let mut sent = 0.0;
    let sample = |(i, rate): (usize, &f64)| FlowSample {
        at: at(start + 1 + i as u64),
        cwnd: Bytes::new((rate * 1000.0) as u64),
        ssthresh: None,
        in_flight: Bytes::ZERO,
        srtt: Duration::ZERO,
        rate: megabit(*rate),
        sent: {
            sent += 2.0 * rate * 125_000.0;
            Bytes::new(sent as u64)
        },
        ack_spacing: (i > 0).then(|| Duration::from_secs_f64(rate * 1e-3)),
        path_changes: None,
        pacing_rate: Some(megabit(2.0 * rate)),
        ..FlowSample::default()
    };
    FlowOutcome {
        samples: rates.iter().enumerate().map(sample).collect(),
        ..idle(name, start, end)
    }
}

fn run(point: &Point, flows: Vec<FlowOutcome>) -> Run<'_> {
    Run {
        point,
        seed: 1,
        wall: std::time::Duration::ZERO,
        outcome: Outcome {
            duration: Duration::from_secs(10),
            flows,
            links: Vec::<LinkOutcome>::new(),
            destinations: Vec::new(),
            events: 0,
            delivered_packets: 0,
            one_way_delay: Summary::default(),
        },
    }
}

/// The value of a measure, by its name; the period is in seconds.
fn value(run: &Run<'_>, measure: &str, flows: Option<&str>, part: Option<(u64, u64)>) -> f64 {
    let measure: Measure = measure.parse().expect("a measure");
    let period = part.map(|(from, to)| Period {
        from: at(from),
        to: at(to),
    });
    measure.of(run, flows, period).expect("a number")
}

fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
}

#[test]
fn throughput_counts_what_was_sent_on_the_wire() {
    let scenario = points(SCENARIO);
    // 5 MB in 10 s are 4 Mbit/s, 1.25 MB in 5 s are 2 Mbit/s; together 5 Mbit/s over 10 s.
    let flow = |name, start, bytes, rate| FlowOutcome {
        sent_on_wire: Bytes::new(bytes),
        throughput: megabit(rate),
        ..idle(name, start, 10)
    };
    let flows = vec![
        flow("first", 0, 5_000_000, 4.0),
        flow("second", 5, 1_250_000, 2.0),
    ];
    let run = run(&scenario.points()[0], flows);
    assert_near(value(&run, "total throughput", None, None), 5.0);
    assert_near(value(&run, "mean flow throughput", None, None), 3.0);
    assert_near(value(&run, "total throughput", Some("second"), None), 1.0);
}

#[test]
fn utilisation_is_the_load_without_the_lost_packets() {
    let scenario = points(SCENARIO);
    // The second flow alone: 8 Mbit/s for 5 s carry 5 MB, 6 MB were sent, a quarter was lost.
    let flow = FlowOutcome {
        sent_on_wire: Bytes::new(6_000_000),
        packets_sent: 4000,
        lost: LossCounts {
            queue_overflow: 900,
            random: 100,
            ..LossCounts::default()
        },
        ..idle("second", 5, 10)
    };
    let run = run(&scenario.points()[0], vec![idle("first", 0, 10), flow]);
    assert_near(value(&run, "offered load", Some("second"), None), 120.0);
    assert_near(value(&run, "utilisation", Some("second"), None), 90.0);
    assert_near(value(&run, "packets lost", None, None), 1000.0);
    assert_near(value(&run, "loss", None, None), 25.0);
    // With the first flow, which sends nothing for 10 s, the load is over 10 s.
    assert_near(value(&run, "offered load", None, None), 60.0);
    assert_eq!(Measure::named("utilisation").of(&run, None, None), None);
}

#[test]
fn throughput_outside_outages_ignores_their_time_and_losses() {
    let scenario = points(SCENARIO);
    // 8 Mbit/s for 10 s: 10 MB in 10,000 packets, 2,000 of them in the outage of 2 s.
    let flow = FlowOutcome {
        sent_on_wire: Bytes::new(10_000_000),
        packets_sent: 10_000,
        throughput: megabit(8.0),
        lost: LossCounts {
            outage: 2_000,
            ..LossCounts::default()
        },
        ..idle("first", 0, 10)
    };
    // The same rate, but silent during the outage.
    let silent = FlowOutcome {
        sent_on_wire: Bytes::new(8_000_000),
        packets_sent: 8_000,
        throughput: megabit(6.4),
        ..idle("second", 0, 10)
    };
    let run = run(&scenario.points()[0], vec![flow, silent]);
    assert_near(
        value(&run, "throughput outside outages", Some("first"), None),
        8.0,
    );
    assert_near(
        value(&run, "throughput outside outages", Some("second"), None),
        8.0,
    );
}

#[test]
fn a_delay_ratio_is_relative_to_the_propagation_delay() {
    let scenario = points(SCENARIO);
    let flow = |name, p95| FlowOutcome {
        one_way_delay: Summary {
            count: 10,
            mean: Duration::from_millis(55),
            p95: Duration::from_millis(p95),
            ..Summary::default()
        },
        ..idle(name, 0, 10)
    };
    // 1.2 and 2 times 50 ms.
    let run = run(
        &scenario.points()[0],
        vec![flow("first", 60), flow("second", 100)],
    );
    assert_near(value(&run, "delay ratio p95", None, None), 1.6);
    assert_near(value(&run, "delay ratio mean", None, None), 1.1);
}

#[test]
fn rates_in_a_period_come_from_its_samples() {
    let scenario = points(SCENARIO);
    let first = sampled(
        "first",
        0,
        &[8.0, 8.0, 0.0, 0.0, 8.0, 6.0, 6.0, 6.0, 6.0, 6.0],
    );
    let second = sampled("second", 5, &[1.0, 2.0, 2.0, 2.0, 2.0]);
    let run = run(&scenario.points()[0], vec![first, second]);
    let at_end = Some((6, 10));
    assert_near(value(&run, "share", Some("first"), at_end), 75.0);
    assert_near(value(&run, "share", Some("second"), at_end), 25.0);
    assert_near(value(&run, "total goodput", None, at_end), 8.0);
    assert_near(value(&run, "mean flow goodput", None, at_end), 4.0);
    // (6 + 2)^2 / (2 (36 + 4)).
    assert_near(value(&run, "jain", None, at_end), 0.8);
    assert_near(value(&run, "sending rate", Some("second"), at_end), 4.0);
    // Before the second flow began there was only the first; 24 Mbit in 5 s.
    assert_near(value(&run, "total goodput", None, Some((0, 5))), 4.8);
    assert_near(value(&run, "mean flow goodput", None, Some((0, 5))), 4.8);
    assert_near(value(&run, "jain", None, Some((0, 5))), 1.0);
    // From 4 s to 6 s: 14 Mbit in two seconds, and 1 Mbit in the only second of the other flow.
    assert_near(value(&run, "mean flow goodput", None, Some((4, 6))), 4.0);
}

#[test]
fn sent_and_delivered_data_can_be_restricted_to_a_period() {
    let scenario = points(SCENARIO);
    let mut first = sampled(
        "first",
        0,
        &[8.0, 8.0, 0.0, 0.0, 8.0, 6.0, 6.0, 6.0, 6.0, 6.0],
    );
    first.sent_on_wire = Bytes::new(13_500_000);
    first.delivered = Bytes::new(6_750_000);
    first.throughput = megabit(10.8);
    let second = sampled("second", 5, &[1.0, 2.0, 2.0, 2.0, 2.0]);
    let run = run(&scenario.points()[0], vec![first, second]);
    // 12 and 4 Mbit/s for four seconds: 6 MB and 2 MB; half of it is delivered.
    let at_end = Some((6, 10));
    assert_near(value(&run, "transmitted", None, at_end), 8.0);
    assert_near(value(&run, "transmitted", Some("first"), at_end), 6.0);
    assert_near(value(&run, "delivered", None, at_end), 4.0);
    assert_near(value(&run, "total throughput", None, at_end), 16.0);
    assert_near(value(&run, "mean flow throughput", None, at_end), 8.0);
    // From 4 s to 6 s: the first sent 28 Mbit in two seconds, the second 2 Mbit in its only one.
    assert_near(value(&run, "total throughput", None, Some((4, 6))), 15.0);
    assert_near(value(&run, "mean flow throughput", None, Some((4, 6))), 8.0);
    // In the flow's first second.
    assert_near(value(&run, "transmitted", Some("first"), Some((0, 1))), 2.0);
    assert_near(value(&run, "transmitted", Some("first"), None), 13.5);
    assert_near(value(&run, "delivered", Some("first"), None), 6.75);
    assert_near(value(&run, "total throughput", Some("first"), None), 10.8);
}

#[test]
fn windows_and_ack_spacing_come_from_the_samples() {
    let scenario = points(SCENARIO);
    let first = sampled("first", 0, &[5.0, 7.0, 3.0, 9.0]);
    let second = sampled("second", 0, &[1.0, 1.0, 1.0, 2.0]);
    let mut run = run(&scenario.points()[0], vec![first, second]);
    assert_near(value(&run, "mean cwnd", Some("first"), None), 6.0);
    assert_near(value(&run, "greatest cwnd", None, None), 9.0);
    assert_near(value(&run, "greatest cwnd", None, Some((0, 3))), 7.0);
    assert_near(value(&run, "least cwnd", None, None), 1.0);
    assert_near(value(&run, "least cwnd", Some("first"), Some((1, 2))), 7.0);
    // 6 and 1.25 kB.
    assert_near(value(&run, "mean cwnd", None, None), 3.625);
    // No spacing in the first second: 7, 3, 9 ms, and 1, 1, 2 ms.
    assert_near(
        value(&run, "mean ack spacing", Some("first"), None),
        19.0 / 3.0,
    );
    assert_near(value(&run, "ack spacing jitter", Some("first"), None), 5.0);
    assert_near(value(&run, "ack spacing jitter", None, None), 2.75);
    assert_eq!(Measure::named("path changes").of(&run, None, None), None);
    run.outcome.flows[1].path_changes = Some(3);
    assert_near(value(&run, "path changes", None, None), 3.0);
    run.outcome.flows[0].path_changes = Some(2);
    assert_near(value(&run, "path changes", None, None), 5.0);
}

#[test]
fn recovery_has_no_value_if_a_flow_does_not_recover() {
    let scenario = points(SCENARIO);
    let loss = |seconds, srtt| LossEpisode {
        at: at(seconds),
        cwnd: Bytes::new(8000),
        in_flight: Bytes::ZERO,
        srtt: Duration::from_secs(srtt),
        reduced: true,
        timeout: false,
        ended: Some(at(seconds + 1)),
    };
    let mut first = sampled("first", 0, &[8.0, 8.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    first.episodes.push(loss(2, 1));
    let mut second = sampled("second", 0, &[8.0, 8.0, 4.0, 6.0, 8.0, 8.0, 8.0]);
    second.episodes.push(loss(2, 3));
    let mut run = run(&scenario.points()[0], vec![first, second]);
    // A loss at 2 s; 7.6 kB are reached again at 7 s and at 5 s.
    assert_near(value(&run, "recovery time", Some("first"), None), 5.0);
    assert_near(value(&run, "recovery time", None, Some((1, 8))), 4.0);
    assert_near(
        value(&run, "share recovery time", Some("second"), None),
        3.0,
    );
    // Nothing is in flight before or after the repair: 1 s, with RTTs of 1 s and 3 s.
    assert_near(value(&run, "refill", None, None), 2.0 / 3.0);
    let measure = Measure::named("recovery time");
    let recovery = |run: &Run<'_>, period| measure.of(run, None, period);
    let until_6 = Period {
        from: at(0),
        to: at(6),
    };
    assert_eq!(recovery(&run, Some(until_6)), None);
    run.outcome.flows[0].episodes.clear();
    assert_eq!(recovery(&run, None), None);
}

#[test]
fn the_share_over_the_whole_run_counts_all_delivered_data() {
    let scenario = points(SCENARIO);
    let flow = |name, bytes| FlowOutcome {
        delivered: Bytes::new(bytes),
        ..idle(name, 0, 10)
    };
    let run = run(
        &scenario.points()[0],
        vec![flow("first", 300), flow("second", 100)],
    );
    assert_near(value(&run, "share", Some("first"), None), 75.0);
    assert_near(value(&run, "share", None, None), 100.0);
}

#[test]
fn congestion_loss_counts_queue_drops_and_collisions() {
    let scenario = points(SCENARIO);
    let flow = |name, queue_overflow| FlowOutcome {
        packets_sent: 500,
        lost: LossCounts {
            queue_overflow,
            early: 3,
            contention: 5,
            random: 100,
            ..LossCounts::default()
        },
        ..idle(name, 0, 10)
    };
    let run = run(
        &scenario.points()[0],
        vec![flow("first", 7), flow("second", 27)],
    );
    // 15 and 35 of 1000.
    assert_near(value(&run, "congestion loss", None, None), 5.0);
    assert_near(value(&run, "congestion loss", Some("second"), None), 7.0);
}

#[test]
fn only_delivered_messages_count() {
    let scenario = points(SCENARIO);
    let summary = |count, mean, p50, p99| Summary {
        count,
        mean: Duration::from_millis(mean),
        p50: Duration::from_millis(p50),
        p99: Duration::from_millis(p99),
        jitter: Duration::from_micros(mean * 100),
        ..Summary::default()
    };
    let flow = |name, arrived, delivered, latency, blocked| FlowOutcome {
        messages: Some(MessageOutcome {
            arrived,
            delivered,
            held: 0,
            latency: summary(delivered, latency, latency + 10, latency * 5),
            blocked: summary(delivered, blocked, 0, blocked * 9),
        }),
        one_way_delay: summary(delivered, latency / 2, 0, 0),
        ..idle(name, 0, 10)
    };
    let flows = vec![
        flow("first", 400, 300, 100, 10),
        flow("second", 100, 100, 200, 50),
    ];
    let both = run(&scenario.points()[0], flows);
    let value = |measure| value(&both, measure, None, None);
    assert_near(value("message latency p50"), 160.0);
    assert_near(value("message latency p99"), 750.0);
    // 300 at 100 ms and 100 at 200 ms; 300 at 10 ms and 100 at 50 ms.
    assert_near(value("message latency mean"), 125.0);
    assert_near(value("blocked mean"), 20.0);
    assert_near(value("blocked p99"), 270.0);
    assert_near(value("messages delivered"), 80.0);
    // A tenth of the mean in each flow: 10 and 20 ms for messages, 5 and 10 ms for packets.
    assert_near(value("message jitter"), 15.0);
    assert_near(value("delay jitter"), 7.5);
    let bulk = run(&scenario.points()[0], vec![idle("first", 0, 10)]);
    for measure in ["message latency p95", "blocked mean", "messages delivered"] {
        let measure: Measure = measure.parse().expect("a measure");
        assert_eq!(measure.of(&bulk, None, None), None);
    }
}

#[test]
fn wrong_decisions_are_counted_by_the_true_cause_of_the_loss() {
    let scenario = points(SCENARIO);
    let flow = |name, congestion_as_random, random_as_congestion| FlowOutcome {
        discrimination: Some(Confusion {
            congestion_as_congestion: 30,
            congestion_as_random,
            random_as_congestion,
            random_as_random: 50,
            spurious: 7,
            ..Confusion::default()
        }),
        ..idle(name, 0, 10)
    };
    let run = run(
        &scenario.points()[0],
        vec![flow("first", 10, 0), flow("second", 30, 100)],
    );
    assert_near(value(&run, "congestion judged", None, None), 100.0);
    assert_near(value(&run, "congestion taken for random", None, None), 40.0);
    assert_near(value(&run, "random judged", None, None), 200.0);
    assert_near(value(&run, "random taken for congestion", None, None), 50.0);
    // 60 and 100 correct of 300.
    assert_near(value(&run, "accuracy", None, None), 100.0 * 160.0 / 300.0);
    assert_near(
        value(&run, "random taken for congestion", Some("first"), None),
        0.0,
    );
}

#[test]
fn nacks_count_over_the_flows_that_use_them() {
    let scenario = points(SCENARIO);
    let flow = |name, nacks| FlowOutcome {
        nacks,
        ..idle(name, 0, 10)
    };
    let counts = NackCounts {
        sent: 9,
        accepted: 7,
        refused: 2,
        resent: 6,
        ..NackCounts::default()
    };
    let flows = vec![flow("first", Some(counts)), flow("second", None)];
    let run = run(&scenario.points()[0], flows);
    for (measure, count) in [
        ("nacks sent", 9.0),
        ("nacks accepted", 7.0),
        ("nacks refused", 2.0),
        ("nack resends", 6.0),
    ] {
        assert_near(value(&run, measure, None, None), count);
    }
    let measure: Measure = "nacks sent".parse().expect("known");
    assert_eq!(measure.of(&run, Some("second"), None), None);
}

#[test]
fn convergence_is_that_of_the_slowest_node() {
    let scenario = points(SCENARIO);
    let node = |fair_from| DestinationOutcome {
        name: "client".to_owned(),
        is_copy: false,
        mean_fairness: 0.75,
        samples: (1..=10)
            .map(|s| DestinationSample {
                at: at(s),
                flows: 2,
                fairness: if s >= fair_from { 1.0 } else { 0.5 },
            })
            .collect(),
    };
    let mut run = run(&scenario.points()[0], vec![idle("first", 0, 10)]);
    let convergence = Measure::named("convergence time");
    assert_eq!(convergence.of(&run, None, None), None);
    run.outcome.destinations = vec![node(6), node(8)];
    assert_near(value(&run, "convergence time", None, Some((5, 10))), 3.0);
    assert_near(value(&run, "weighted fairness", None, None), 0.75);
    // Samples at 6, 7, 8, 9 s: the first node has 1, the second has 0.5 in half of them.
    assert_near(value(&run, "weighted fairness", None, Some((5, 9))), 0.875);
}

#[test]
fn each_measure_has_its_own_name() {
    let mut names: Vec<&str> = definitions().map(|definition| definition.name).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
    for name in names {
        assert_eq!(Measure::named(name).name(), name);
    }
}
