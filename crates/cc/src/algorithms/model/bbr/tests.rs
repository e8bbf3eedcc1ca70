//! Numbers are those of tcp_bbr.c and of the paper, computed by hand for segments of 1000 bytes.

use super::*;
use crate::interface::AtSending;
use crate::registry::Spec;
use crate::registry::entry::Setup;
use crate::testing::{ACK, Bottleneck, MSS, loss, segments, setup, timeout};

const MS: Duration = Duration::from_millis(1);
const RTT: Duration = Duration::from_millis(100);
/// Enough in flight that no phase ends for lack of data.
const MUCH: u64 = 10_000_000;

fn mbit(n: u64) -> Rate {
    Rate::from_bits_per_sec(n * 1_000_000)
}

fn controller(seed: u64) -> Bbr {
    let config = Config {
        startup_gain: 2.885,
        cwnd_gain: 2.0,
        min_rtt_window: Duration::from_secs(10),
        probe_rtt: true,
        long_term: true,
    };
    Bbr::new(&Setup { seed, ..setup(10) }, config)
}

/// A connection with one acknowledgment per round trip of 101 ms, 1 ms above the minimum.
struct Flow {
    controller: Bbr,
    now: Time,
    delivered: u64,
    lost: u64,
    in_flight: u64,
    app_limited: bool,
}

impl Flow {
    fn new() -> Self {
        Self::of(controller(1))
    }

    fn of(controller: Bbr) -> Self {
        Self {
            controller,
            now: Time::ZERO,
            delivered: 0,
            lost: 0,
            in_flight: MUCH,
            app_limited: false,
        }
    }

    /// A connection in PROBE_BW on a path of 40 Mbit/s and 100 ms: a BDP is 500 segments.
    fn cruising() -> Self {
        let mut flow = Self::new();
        flow.rounds(&[10, 20, 40, 40, 40, 40]);
        flow.in_flight = 0;
        flow.rounds(&[40]);
        assert_eq!(flow.controller.phase(), "probe bandwidth");
        flow.in_flight = MUCH;
        flow
    }

    /// An acknowledgment of `acked` segments that begins a round, with a rate sample.
    fn ack(&mut self, acked: u64, rate: Rate, rtt: Duration) {
        let prior = self.delivered;
        self.delivered += acked * MSS;
        self.now += RTT + MS;
        self.controller.on_ack(&Ack {
            now: self.now,
            acked: Bytes::new(acked * MSS),
            rtt: Some(rtt),
            srtt: RTT,
            in_flight: Bytes::new(self.in_flight),
            delivered: Bytes::new(self.delivered),
            lost: Bytes::new(self.lost),
            delivery_rate: Some(rate),
            newest: Some(AtSending {
                sent: self.now - rtt,
                in_flight: Bytes::new(self.in_flight),
                delivered: Bytes::new(prior),
                lost: Bytes::new(self.lost),
                app_limited: self.app_limited,
                retransmitted: false,
            }),
            ..ACK
        });
    }

    /// Round trips that measure these rates, in Mbit/s.
    fn rounds(&mut self, rates: &[u64]) {
        for rate in rates {
            self.ack(1, mbit(*rate), RTT);
        }
    }

    fn lose(&mut self, segments: u64) {
        for _ in 0..segments {
            self.lost += MSS;
            self.controller.on_packet_lost(&LostPacket {
                now: self.now,
                size: Bytes::new(MSS),
                lost: Bytes::new(self.lost),
                at: AtSending {
                    sent: self.now,
                    in_flight: Bytes::ZERO,
                    delivered: Bytes::ZERO,
                    lost: Bytes::ZERO,
                    app_limited: false,
                    retransmitted: false,
                },
            });
        }
        let event = loss(&self.controller, self.now);
        self.controller.on_loss(&event);
    }

    /// Ratio of pacing rate and bandwidth, without the margin of 1 %.
    fn gain(&self) -> f64 {
        let rate = self.controller.pacing_rate.as_bits_per_sec() as f64;
        (rate / self.controller.bw().as_bits_per_sec() as f64 / 0.99 * 1e4).round() / 1e4
    }
}

/// 100 Mbit/s and 40 ms: a BDP is 500 segments.
fn path(controller: &str, room: usize) -> Bottleneck {
    let spec: Spec = controller.parse().expect("a known controller");
    let mut path = Bottleneck::new(mbit(100), room);
    path.add(
        spec.build(&setup(10)).expect("fed acknowledgments"),
        MS * 40,
    );
    path
}

/// The rate over `span`, in Mbit/s.
fn rate(path: &mut Bottleneck, span: Duration) -> f64 {
    let before = path.flows[0].delivered;
    path.run(span);
    path.flows[0].rate_since(before, span).as_bits_per_sec() as f64 / 1e6
}

#[test]
fn the_first_window_is_paced_over_1_ms_and_then_over_the_rtt() {
    let mut flow = Flow::new();
    // 2.885 * 10 segments in 1 ms, minus 1 %.
    let nominal = Rate::from_bits_per_sec(228_492_000);
    assert_eq!(flow.controller.pacing_rate(), Some(nominal));
    // 2.885 * 10 segments in 100 ms, minus 1 %: more than the measured 0.5 Mbit/s require.
    flow.ack(1, Rate::from_bits_per_sec(500_000), RTT);
    let first = Rate::from_bits_per_sec(2_284_920);
    assert_eq!(flow.controller.pacing_rate(), Some(first));
}

#[test]
fn startup_doubles_the_delivery_rate_each_round_trip() {
    let mut path = path("bbr", 100_000);
    path.rate = mbit(100_000);
    path.flows[0].controller = Box::new(controller(1));
    path.run(MS * 400);
    let before = rate(&mut path, MS * 80);
    let after = rate(&mut path, MS * 80);
    // Two round trips later: four times, minus the pacing margin and the round trip by which
    // samples lag.
    assert!((3.3..=4.1).contains(&(after / before)), "{before} {after}");
}

#[test]
fn the_pipe_is_full_after_three_rounds_without_a_quarter_more() {
    let mut flow = Flow::new();
    flow.rounds(&[8, 16, 32, 39, 39]);
    assert_eq!(flow.controller.phase(), "startup");
    flow.rounds(&[39]);
    assert_eq!(flow.controller.phase(), "drain");

    // 40 is a quarter more than 32: the count restarts.
    let mut flow = Flow::new();
    flow.rounds(&[8, 16, 32, 39, 39, 40, 40, 40]);
    assert_eq!(flow.controller.phase(), "startup");
    flow.rounds(&[40]);
    assert_eq!(flow.controller.phase(), "drain");
}

#[test]
fn application_limited_rounds_do_not_fill_the_pipe() {
    let mut flow = Flow::new();
    flow.rounds(&[8, 16, 32]);
    flow.app_limited = true;
    flow.rounds(&[10; 20]);
    assert_eq!(flow.controller.phase(), "startup");
}

#[test]
fn drain_paces_at_the_inverse_of_startup_until_one_bdp_is_in_flight() {
    let mut flow = Flow::new();
    flow.rounds(&[10, 20, 40]);
    assert_eq!(flow.gain(), 2.885);
    flow.in_flight = 600_000;
    flow.rounds(&[40, 40, 40]);
    // 1/2.885 = 0.3466.
    assert_eq!((flow.controller.phase(), flow.gain()), ("drain", 0.3466));
    // A BDP of 500 segments and a budget of three bursts: 40 Mbit/s * 0.99 / 2.885 are 1.7 segments
    // in 1/1024 s, at least two, so six more.
    flow.in_flight = 507_000;
    flow.rounds(&[40]);
    assert_eq!(flow.controller.phase(), "drain");
    flow.in_flight = 506_000;
    flow.rounds(&[40]);
    assert_eq!(flow.controller.phase(), "probe bandwidth");
}

#[test]
fn the_gain_cycle_is_five_quarters_three_quarters_and_six_ones() {
    let mut flow = Flow::cruising();
    let gains: Vec<f64> = (0..40)
        .map(|_| {
            flow.rounds(&[40]);
            flow.gain()
        })
        .collect();
    let start = gains.iter().position(|g| *g == 1.25).expect("a probe");
    assert!(start < 8);
    for cycle in gains[start..start + 32].chunks(8) {
        assert_eq!(cycle, [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    }
}

#[test]
fn the_cycle_begins_at_random_but_never_with_the_drain() {
    let mut seen = [0; 8];
    for seed in 0..200 {
        let mut controller = controller(seed);
        controller.enter_probe_bw(Time::ZERO);
        if let Mode::ProbeBw { phase } = controller.mode {
            seen[phase] += 1;
        }
    }
    assert_eq!(seen[1], 0);
    let others = seen.iter().enumerate().filter(|(phase, _)| *phase != 1);
    assert!(others.map(|(_, n)| n).all(|n| *n >= 10), "{seen:?}");
}

#[test]
fn a_bandwidth_is_forgotten_after_ten_rounds() {
    let mut flow = Flow::cruising();
    flow.rounds(&[40]);
    flow.rounds(&[20; 10]);
    assert_eq!(flow.controller.bw(), mbit(40));
    flow.rounds(&[20]);
    assert_eq!(flow.controller.bw(), mbit(20));
}

#[test]
fn application_limited_rates_count_only_if_they_are_higher() {
    let mut flow = Flow::cruising();
    flow.app_limited = true;
    flow.rounds(&[5; 30]);
    assert_eq!(flow.controller.bw(), mbit(40));
    flow.rounds(&[44]);
    assert_eq!(flow.controller.bw(), mbit(44));
}

#[test]
fn recovery_conserves_packets_and_then_restores_the_window() {
    let mut flow = Flow::cruising();
    for _ in 0..6 {
        flow.ack(500, mbit(40), RTT);
    }
    let good = flow.controller.cwnd();
    assert!(segments(&flow.controller) >= 1_000.0);
    flow.in_flight = 300_000;
    flow.lose(20);
    flow.ack(2, mbit(40), RTT);
    assert_eq!(
        segments(&flow.controller),
        302.0,
        "in flight plus acknowledged"
    );
    // The next round has begun: two for one, minus the losses.
    flow.ack(2, mbit(40), RTT);
    assert_eq!(segments(&flow.controller), 304.0);
    flow.lose(1);
    flow.ack(2, mbit(40), RTT);
    assert_eq!(segments(&flow.controller), 305.0, "the same recovery");
    flow.controller.on_recovery_end(flow.now);
    flow.ack(2, mbit(40), RTT);
    assert_eq!(flow.controller.cwnd(), good);
}

#[test]
fn a_timeout_leaves_one_segment_and_the_next_ack_four() {
    let mut flow = Flow::cruising();
    let good = flow.controller.cwnd();
    let event = timeout(&flow.controller, flow.now);
    flow.controller.on_timeout(&event);
    assert_eq!(segments(&flow.controller), 1.0);
    flow.ack(1, mbit(40), RTT);
    assert_eq!(segments(&flow.controller), 4.0);
    flow.ack(1, mbit(40), RTT);
    assert_eq!(segments(&flow.controller), 5.0);
    flow.controller.on_recovery_end(flow.now);
    flow.ack(1, mbit(40), RTT);
    assert!(flow.controller.cwnd() >= good);
    assert_eq!(
        flow.controller.phase(),
        "probe bandwidth",
        "the model is kept"
    );
}

#[test]
fn behind_a_policer_it_paces_at_the_policed_rate() {
    let mut flow = Flow::cruising();
    // Bursts of 40 Mbit/s, of which 100 segments per 101 ms pass and 30 are lost: two intervals of
    // four rounds.
    for _ in 0..9 {
        flow.lose(30);
        flow.ack(100, mbit(40), RTT);
    }
    let passed = Rate::from_bits_per_sec(7_920_792);
    assert!(
        flow.controller
            .bw()
            .as_bits_per_sec()
            .abs_diff(passed.as_bits_per_sec())
            <= 1
    );
    for _ in 0..47 {
        assert_eq!(flow.gain(), 1.0, "no probes");
        flow.ack(100, mbit(40), RTT);
    }
    flow.ack(100, mbit(40), RTT);
    assert_eq!(
        flow.controller.bw(),
        mbit(40),
        "after 48 rounds it tries again"
    );
}

#[test]
fn aggregated_acknowledgments_enlarge_the_window() {
    let mut flow = Flow::cruising();
    // Two BDP of 500 segments and three bursts, rounded to an even number: 40 Mbit/s * 0.99 are 4.8
    // segments in 1/1024 s, 3.6 at 3/4 and 6.0 at 5/4; two more in the probing phase.
    let alone = 1_010.0..=1_020.0;
    // The data of a round trip arrives at once: 400 segments more than expected.
    for _ in 0..6 {
        flow.ack(400, mbit(40), RTT);
    }
    let window = segments(&flow.controller);
    assert!(alone.contains(&(window - 400.0)), "{window}");
    // At most the data of 100 ms: 500 segments.
    for _ in 0..6 {
        flow.ack(900, mbit(40), RTT);
    }
    let window = segments(&flow.controller);
    assert!(alone.contains(&(window - 500.0)), "{window}");
}

#[test]
fn congestion_marks_have_no_effect() {
    let mut flow = Flow::cruising();
    let before = flow.controller.cwnd();
    let marked = Loss {
        signal: Signal::Ecn,
        ..loss(&flow.controller, flow.now)
    };
    assert_eq!(flow.controller.on_loss(&marked), LossResponse::KEPT);
    flow.rounds(&[40]);
    assert!(flow.controller.cwnd() >= before);
}

#[test]
fn the_rtt_is_probed_every_ten_seconds_with_four_packets() {
    let mut path = path("bbr", 500);
    let mut spells: Vec<(Time, Time)> = Vec::new();
    let mut least = f64::MAX;
    let mut inside = false;
    for _ in 0..3_500 {
        path.run(MS * 10);
        let now = path.now;
        let controller = &path.flows[0].controller;
        let probing = controller.phase() == "probe rtt";
        if probing {
            least = least.min(segments(&**controller));
            assert!(segments(&**controller) <= 4.0);
            match spells.last_mut() {
                Some(spell) if inside => spell.1 = now,
                _ => spells.push((now, now)),
            }
        } else if inside {
            path.run(MS * 50);
            assert!(segments(&*path.flows[0].controller) >= 1_000.0, "restored");
        }
        inside = probing;
    }
    assert_eq!((spells.len(), least), (3, 4.0));
    for (began, ended) in &spells {
        // Until the pipe is drained, a round trip, then 200 ms; measured in steps of 10 ms.
        let lasted = ended.since(*began);
        assert!((MS * 220..MS * 320).contains(&lasted), "{lasted}");
    }
    for pair in spells.windows(2) {
        let between = pair[1].0.since(pair[0].1);
        assert!((MS * 9_950..MS * 10_150).contains(&between), "{between}");
    }
}

#[test]
fn the_rtt_probe_can_be_turned_off() {
    let mut path = path("bbr?probe_rtt=false", 500);
    for _ in 0..2_500 {
        path.run(MS * 10);
        assert_ne!(path.flows[0].controller.phase(), "probe rtt");
    }
}

#[test]
fn an_excess_before_an_idle_time_does_not_add_to_one_after_it() {
    let mut flow = Flow::cruising();
    for _ in 0..6 {
        flow.ack(400, mbit(40), RTT);
    }
    assert_eq!(flow.controller.aggregation_budget(), 400 * MSS);
    // Nothing to send for 20 ms. 60 ms after the last burst, in which the path carries 300
    // segments, the next one comes: 800 in 60 ms would be 500 too many.
    flow.controller.ran_dry = true;
    flow.controller
        .on_sent(flow.now + MS * 20, Bytes::new(MSS), Bytes::new(MSS));
    flow.now = flow.now - MS * 41;
    flow.ack(400, mbit(40), RTT);
    assert_eq!(flow.controller.aggregation_budget(), 400 * MSS);
}

#[test]
fn an_idle_connection_restarts_at_the_paths_rate() {
    let mut path = path("bbr", 500);
    path.run(Duration::from_secs(3));
    path.flows[0].has_data = false;
    path.run(Duration::from_secs(12));
    path.flows[0].has_data = true;
    path.run(MS * 30);
    let pacing = path.flows[0].controller.pacing_rate().expect("paced");
    // Gain 1 in any phase, minus 1 %.
    let expected = mbit(99).as_bits_per_sec();
    let apart = pacing.as_bits_per_sec().abs_diff(expected);
    assert!(apart < expected / 100, "{pacing}");
    for _ in 0..100 {
        path.run(MS * 10);
        assert_ne!(path.flows[0].controller.phase(), "probe rtt");
    }
    let rate = rate(&mut path, Duration::from_secs(1));
    assert!(rate > 98.0, "{rate}");
}

#[test]
fn on_an_empty_path_it_fills_the_pipe_and_keeps_two_bdp_of_window() {
    let mut path = path("bbr", 500);
    path.run(Duration::from_secs(2));
    // 100 Mbit/s * 40.08 ms are 501 segments, two BDP 1002; three bursts of 12 segments, rounded to
    // an even number, and one or two of aggregation; two more in the probing phase.
    let cwnd = segments(&*path.flows[0].controller);
    assert!((1_038.0..=1_044.0).contains(&cwnd), "{cwnd}");
    let lost = path.flows[0].lost;
    // A probe adds a quarter of a BDP, 125 segments, for a little more than a round trip; the next
    // one drains it.
    let (mean, most) = path.run(Duration::from_secs(7));
    assert!((125..=200).contains(&most), "{most}");
    assert!((15.0..=50.0).contains(&mean), "{mean}");
    // Four packets for 0.24 s of every 10 s: 2.4 %.
    let rate = rate(&mut path, Duration::from_secs(30));
    assert!((97.0..=98.0).contains(&rate), "{rate}");
    assert_eq!(path.flows[0].lost, lost, "no further losses");
}

/// Figure 8 of the paper: full rate minus the losses up to 15 % of loss, and a cliff at 20 %, where
/// a probe at 5/4 no longer makes up for them.
#[test]
fn random_loss_up_to_15_percent_costs_only_the_lost_packets() {
    for (loss, least, most) in [
        (0.01, 0.98, 1.01),
        (0.05, 0.97, 1.01),
        (0.15, 0.94, 1.01),
        (0.25, 0.0, 0.2),
    ] {
        let mut path = path("bbr", 500);
        path.loss = loss;
        path.run(Duration::from_secs(5));
        // PROBE_RTT leaves 97.5 Mbit/s.
        let share = rate(&mut path, Duration::from_secs(30)) / (97.5 * (1.0 - loss));
        assert!((least..=most).contains(&share), "{loss}: {share}");
    }
}

#[test]
fn changes_of_the_paths_rate_are_followed() {
    let mut path = path("bbr", 500);
    path.run(Duration::from_secs(3));
    path.rate = mbit(50);
    // Ten rounds of at most 40 ms and a full buffer of 80.
    path.run(MS * 1_500);
    let pacing = path.flows[0].controller.pacing_rate().expect("paced");
    assert!(pacing <= mbit(50).mul_f64(1.25), "{pacing}");
    assert!(rate(&mut path, Duration::from_secs(2)) > 49.0);

    path.rate = mbit(100);
    // 1.25 ^ 4 = 2.44; a cycle is eight round trips of 40 to 80 ms.
    path.run(MS * 4 * 8 * 60);
    let rate = rate(&mut path, Duration::from_secs(1));
    assert!(rate > 98.0, "{rate}");
}
