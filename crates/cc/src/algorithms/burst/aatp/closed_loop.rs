//! The controllers in a closed loop with a path: one bottleneck as a fluid model, burst by burst.
//! The results can be verified by hand; the simulator models single packets.
//!
//! OC-3, 148.608 Mbit/s, packets of 1500 bytes, T_burst = RTT = 20 ms, 60 s: 3000 bursts of at most
//! 248 packets. The report on a burst arrives one interval after its last packet left, so it
//! affects the burst after the next.

use super::testing::{BURST, INTERVAL, OC3, PACKET_BITS, bits_per_sec, built, estimate, started};
use crate::building_blocks::fairness::{Adapter, Flow, Priority, allocated, weighted_fairness};
use crate::building_blocks::splitmix::SplitMix64;
use crate::interface::{Bandwidth, BurstController, BurstReport, Share, Spans, Verdict};
use whimbrel_units::{Duration, Rate};

const BURSTS: usize = 3000;

struct Path {
    /// Fraction of the link used by other traffic of constant rate.
    cross: f64,
    /// Probability that the channel loses a packet.
    loss: f64,
    /// Maximum error of each reception time, seconds, in both directions.
    noise: f64,
    /// Bursts that the channel loses completely: `length` of every `period`, none if 0.
    fade: (usize, usize),
}

const CLEAN: Path = Path {
    cross: 0.0,
    loss: 0.0,
    noise: 0.0,
    fade: (0, 1),
};

/// Buffer of the drop-tail bottleneck: one bandwidth-delay product, packets.
const BUFFER: f64 = 248.0;

/// Bursts with losses of one kind, and the number of them that the controller misclassified.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Judged {
    all: u32,
    wrong: u32,
}

#[derive(Debug, Default)]
struct Run {
    /// Packets delivered, relative to the link's capacity in the same time without outages.
    utilisation: f64,
    /// Fraction of the packets sent that the queue dropped.
    dropped: f64,
    /// Final rate relative to the link's.
    last: f64,
    random: Judged,
    congestion: Judged,
}

/// Runs one controller on one path for 60 s.
fn run(spec: &str, path: &Path) -> Run {
    let capacity = bits(OC3);
    let mut controller = started(spec, OC3);
    let mut random = SplitMix64::new(1);
    let mut result = Run::default();
    let (mut queue, mut carry, mut outage) = (0.0, 0.0, 0);
    let (mut sent, mut dropped, mut delivered, mut available) = (0.0, 0.0, 0.0, 0.0);
    // The report in transit, and whether the queue dropped packets of its burst.
    let mut pending: Option<(BurstReport, bool)> = None;
    for n in 0..BURSTS {
        let rate = bits_per_sec(&*controller);
        let exact = packets_at(rate) + carry;
        let packets = exact.floor();
        carry = exact - packets;
        sent += packets;

        // The bottleneck drops what exceeds its buffer, from all flows in proportion.
        let cross = packets_at(path.cross * capacity);
        let before = queue;
        let full = queue + packets_at(rate) + cross - packets_at(capacity);
        queue = full.clamp(0.0, BUFFER);
        let overflow = ((full - queue).max(0.0) * packets / (packets + cross)).round();
        dropped += overflow;
        let lost_at_random = (0..(packets - overflow) as u32)
            .filter(|_| random.unit() < path.loss)
            .count();

        let span = (packets - 1.0) * PACKET_BITS / rate;
        let mut noise = || (2.0 * random.unit() - 1.0) * path.noise;
        let report = BurstReport {
            packets: packets as u32,
            received: packets as u32 - overflow as u32 - lost_at_random as u32,
            increase: controller.plan().expect("started").increase,
            spans: Some(Spans {
                sent: Duration::from_secs_f64(span),
                received: Duration::from_secs_f64(
                    span + wait(queue) - wait(before) + noise() - noise(),
                ),
            }),
            rtt: Some(Duration::from_secs_f64(
                INTERVAL.as_secs_f64() + wait(queue) + noise(),
            )),
            ..BURST
        };

        let due = pending.take();
        if n % path.fade.1 < path.fade.0 {
            outage += report.packets;
        } else {
            delivered += f64::from(report.received);
            available += packets_at(capacity);
            let report = BurstReport {
                lost_before: std::mem::take(&mut outage),
                ..report
            };
            pending = Some((report, overflow > 0.0));
        }
        if let Some((report, congested)) = due {
            let verdict = controller
                .on_burst(&report)
                .and_then(|response| response.verdict);
            let (judged, truth) = match congested {
                true => (&mut result.congestion, Verdict::Congestion),
                false => (&mut result.random, Verdict::Random),
            };
            judged.all += u32::from(report.has_loss());
            judged.wrong += u32::from(verdict.is_some_and(|verdict| verdict != truth));
        }
    }
    Run {
        utilisation: delivered / available,
        dropped: dropped / sent,
        last: bits_per_sec(&*controller) / capacity,
        ..result
    }
}

/// Packets per interval at a rate in bit/s.
fn packets_at(rate: f64) -> f64 {
    rate * INTERVAL.as_secs_f64() / PACKET_BITS
}

/// Delay of a queue of `queue` packets, seconds.
fn wait(queue: f64) -> f64 {
    queue * PACKET_BITS / bits(OC3)
}

fn bits(rate: Rate) -> f64 {
    rate.as_bits_per_sec() as f64
}

/// Checks equality within `margin`.
fn about(found: f64, expected: f64, margin: f64) {
    assert!(
        (found - expected).abs() <= margin,
        "{found}, not {expected}"
    );
}

/// Growth without losses, in closed form: with u = 1 - V/BW and k = 8P/T^2 = 3*10^7 the rate
/// follows du/dt = -k*u*10^(10u - 9). From 80 % to 1 - u it takes 10^9/k * (E1(x) - E1(4.6052))
/// seconds with x = 23.026u and E1 the exponential integral, tabulated in Abramowitz & Stegun,
/// table 5.1: E1(2) = 0.0489, E1(1) = 0.2194, E1(0.5) = 0.5598, E1(0.1) = 1.8229; E1(4.6052) =
/// 0.0018.
const GROWTH: [(f64, f64); 4] = [
    (1.569, 0.913_14),
    (7.252, 0.956_57),
    (18.598, 0.978_29),
    (60.703, 0.995_66),
];

#[test]
fn every_link_is_filled_on_the_same_curve_as_in_figure_2() {
    for mbits in [148, 1_000, 10_000] {
        let link = Rate::from_bits_per_sec(mbits * 1_000_000);
        for spec in ["aatp", "enhanced-aatp"] {
            let mut controller = started(spec, link);
            let mut bursts = 0;
            for (at, expected) in GROWTH {
                while f64::from(bursts) * INTERVAL.as_secs_f64() < at {
                    controller.on_burst(&BURST);
                    bursts += 1;
                }
                about(bits_per_sec(&*controller) / bits(link), expected, 0.001);
            }
        }
    }
}

#[test]
fn without_loss_the_utilization_over_60_s_is_97_85_percent() {
    // The integral of u over 60 s: 10^9/k / 23.026 * (e^-0.102 - e^-4.605) = 1.292 s, so 1 -
    // 1.292/60 = 0.9785. Paper, table 5: 145.36 of 148.608 Mbit/s, 0.978.
    for spec in ["aatp", "enhanced-aatp"] {
        let run = run(spec, &CLEAN);
        about(run.utilisation, 0.9785, 0.001);
        about(run.last, 0.9956, 0.0005);
        assert_eq!((run.random.all, run.congestion.all), (0, 0));
    }
}

#[test]
fn without_noise_no_random_loss_is_misclassified() {
    // Bursts with a loss: 1 - 0.999^240 = 0.21 and 1 - 0.99^235 = 0.91 of 3000.
    for (loss, bursts, enhanced, original) in
        [(0.001, 640.0, 0.974, 0.75), (0.01, 2720.0, 0.915, 0.40)]
    {
        let path = Path { loss, ..CLEAN };
        let found = run("enhanced-aatp", &path);
        about(f64::from(found.random.all), bursts, 40.0);
        assert_eq!(found.random.wrong, 0);
        about(found.utilisation, enhanced, 0.005);
        about(run("aatp", &path).utilisation, original, 0.02);
    }
}

#[test]
fn fades_do_not_reduce_the_rate() {
    // Ten fades of one second: table 5 has 145.38 of 148.608 Mbit/s between them.
    let path = Path {
        fade: (50, 300),
        ..CLEAN
    };
    let run = run("enhanced-aatp", &path);
    assert_eq!(run.random, Judged { all: 10, wrong: 0 });
    about(run.utilisation, 0.975, 0.002);
}

#[test]
fn noise_of_20_us_turns_a_third_of_random_loss_into_congestion() {
    // Noise of 0.02 ms in a burst of 20 ms is 10^-3 of it. LTD is below that from 88 % of the link
    // on, and 0 after each loss.
    let path = Path {
        loss: 0.01,
        noise: 2e-5,
        ..CLEAN
    };
    let paper = run("enhanced-aatp", &path);
    let wrong = f64::from(paper.random.wrong) / f64::from(paper.random.all);
    about(wrong, 1.0 / 3.0, 0.03);
    about(paper.utilisation, 0.48, 0.02);
    let floor = run("enhanced-aatp?ltd_floor=0.005", &path);
    assert_eq!(floor.random.wrong, 0);
    about(floor.utilisation, 0.912, 0.005);
    // The level test would take the same noise on an empty queue for a queue, without its own
    // minimum.
    let level = "enhanced-aatp?ltd_floor=0.005&level=true";
    assert_eq!(run(level, &path).random.wrong, 0);
    let level = run(&format!("{level}&level_least=0"), &path);
    let wrong = f64::from(level.random.wrong) / f64::from(level.random.all);
    about(wrong, 0.46, 0.04);
}

#[test]
fn with_20_percent_cross_traffic_all_congestion_is_detected() {
    // Figure 7b: 76 to 80 % of the link, "the success detection rate for 100% congestion losses is
    // 1".
    let path = Path {
        cross: 0.2,
        ..CLEAN
    };
    let run = run("enhanced-aatp", &path);
    assert!(run.congestion.all > 100, "{run:?}");
    assert_eq!(run.congestion.wrong, 0);
    about(run.utilisation, 0.80, 0.01);
}

#[test]
fn only_the_level_test_detects_a_queue_that_stays_full() {
    let path = Path {
        cross: 0.5,
        ..CLEAN
    };
    // Every burst loses packets, none is stretched, and the floor hides the remaining jitter: the
    // rate stays above the path's rate for the rest of the run.
    let blind = run("enhanced-aatp?ltd_floor=0.005", &path);
    assert!(blind.congestion.all > 2900, "{blind:?}");
    assert!(blind.congestion.wrong * 100 > blind.congestion.all * 99);
    assert!(blind.dropped > 0.07, "{blind:?}");
    // Without a floor it is a third: while a queue drains the jitter is negative.
    let paper = run("enhanced-aatp", &path);
    let wrong = f64::from(paper.congestion.wrong) / f64::from(paper.congestion.all);
    about(wrong, 1.0 / 3.0, 0.03);
    for spec in [
        "enhanced-aatp?level=true",
        "enhanced-aatp?level=true&ltd_floor=0.005",
    ] {
        let level = run(spec, &path);
        assert!(level.congestion.all > 100, "{level:?}");
        assert_eq!(level.congestion.wrong, 0);
        assert!(level.dropped < 0.01, "{level:?}");
        about(level.utilisation, 0.505, 0.01);
    }
}

/// Flows that start one by one, `apart` bursts from each other, to one node that measures,
/// allocates and adapts. They share the bottleneck's queue, which drops from all in proportion.
/// Returns the final rates relative to the link's, and the number of bursts with WF below 0.99:
/// figure 9 shows dips when a flow starts.
fn share(priorities: &[u8], apart: usize, bursts: usize) -> (Vec<f64>, usize) {
    let priorities: Vec<Priority> = priorities
        .iter()
        .map(|p| Priority::new(*p).expect("from 1 to 8"))
        .collect();
    let due =
        |n: usize, flows: usize| allocated(OC3, priorities[n], priorities[..flows].iter().copied());
    let mut controllers: Vec<Box<dyn BurstController>> = Vec::new();
    let mut pending: Vec<BurstReport> = Vec::new();
    let (mut queue, mut unfair) = (0.0, 0);
    for n in 0..bursts {
        if n % apart == 0 && controllers.len() < priorities.len() {
            let mut controller = built("enhanced-aatp");
            controller.on_bandwidth(&Bandwidth {
                allocated: Some(due(controllers.len(), controllers.len() + 1)),
                ..estimate(OC3)
            });
            controllers.push(controller);
        }
        let rates: Vec<f64> = controllers
            .iter()
            .map(|controller| bits_per_sec(&**controller))
            .collect();
        let before = queue;
        let offered = packets_at(rates.iter().sum());
        let full: f64 = queue + offered - packets_at(bits(OC3));
        queue = full.clamp(0.0, BUFFER);
        let passed = (offered - (full - queue).max(0.0)) / offered;
        let flows: Vec<Flow> = rates
            .iter()
            .enumerate()
            .map(|(i, rate)| Flow {
                delivered: Rate::from_bits_per_sec((rate * passed) as u64),
                allocated: due(i, controllers.len()),
            })
            .collect();
        let fairness = weighted_fairness(flows.iter().copied());
        unfair += usize::from(fairness < 0.99);
        let adapter = Adapter::default();
        let factor = adapter.transcendence(flows.len(), OC3, fairness);
        let received = Duration::from_secs_f64(INTERVAL.as_secs_f64() + wait(queue) - wait(before));
        let reports =
            controllers
                .iter()
                .zip(&flows)
                .zip(&rates)
                .map(|((controller, flow), rate)| BurstReport {
                    packets: packets_at(*rate).round() as u32,
                    received: (packets_at(*rate) * passed).round() as u32,
                    increase: controller.plan().expect("started").increase,
                    spans: Some(Spans {
                        sent: INTERVAL,
                        received,
                    }),
                    share: Some(Share {
                        allocated: flow.allocated,
                        delivered: flow.delivered,
                        fairness,
                        adapter: adapter.delta(factor, *flow),
                    }),
                    ..BURST
                });
        let reports: Vec<BurstReport> = reports.collect();
        for (controller, report) in controllers.iter_mut().zip(&pending) {
            controller.on_burst(report);
        }
        pending = reports;
    }
    let last = controllers
        .iter()
        .map(|controller| bits_per_sec(&**controller) / bits(OC3))
        .collect();
    (last, unfair)
}

#[test]
fn flows_of_a_node_converge_to_the_shares_of_figure_9() {
    for (priorities, expected) in [
        (&[1, 1][..], &[0.5, 0.5][..]),
        (&[1, 8], &[0.111, 0.889]),
        (&[2, 4, 6], &[0.167, 0.333, 0.5]),
    ] {
        let (shares, unfair) = share(priorities, 500, 3000);
        assert!(unfair < 150, "{priorities:?}: {unfair} bursts below 0.99");
        for (found, expected) in shares.iter().zip(expected) {
            about(*found, *expected, 0.01);
        }
    }
}
