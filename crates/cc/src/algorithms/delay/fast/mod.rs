//! FAST TCP: keeps alpha packets queued and approaches this equilibrium in steps proportional to
//! the distance.
//!
//! D. X. Wei, C. Jin, S. H. Low, S. Hegde, "FAST TCP: Motivation, Architecture, Algorithms,
//! Performance", IEEE/ACM Transactions on Networking 14(6), 2006, which was not available. The code
//! follows equation (1) as described and numbered by S. Ahmad, M. J. Arshad, "Enhanced Multistream
//! Fast TCP", Appl. Sci. 9(21), 4698, 2019, and the ns-2 module that they ran (T. Cui, L. Andrew,
//! University of Melbourne: `tcp-fast.cc`, versions 1.1.2 and 1.1.3; the default values that it
//! binds were not available).
//!
//! * (1), once per round trip: `w <- min(2w, (1 - gamma)*w + gamma*(baseRTT/RTT*w + alpha))`
//! * slow start until queues build up; fast retransmit, fast recovery and timeout are Reno's
//!
//! Units: windows in bytes; alpha in packets; times in seconds.
//!
//! **Physics.** Of w packets in flight `w*baseRTT/RTT` are on the wire and the rest is queued. In
//! equilibrium (1) leaves w unchanged: `w - w*baseRTT/RTT = alpha`, so alpha packets are queued at
//! any rate. Two flows share a link in proportion to their alphas. Away from the equilibrium each
//! step covers the fraction gamma of the distance: with an empty queue the window grows by
//! gamma*alpha per round trip instead of one. A halved window of W packets recovers in
//! `W/(2*gamma*alpha)` round trips.
//!
//! **When it works.** Long, fast paths with a proportionate alpha: no loss, a short queue, fast
//! convergence.
//!
//! **Limits.**
//! * **Buffers** smaller than the sum of all alphas overflow, and FAST is then driven by losses as
//!   Reno is.
//! * **Beside loss-based algorithms** FAST yields: it sees their queue as delay.
//! * **Random loss** halves the window as in Reno.
//! * **BaseRTT** is the minimum of all samples. A flow that starts while a queue exists includes it
//!   in baseRTT and gets more than its share. When the path becomes longer, FAST takes the increase
//!   for a queue until the connection ends (see `round_rtt.rs`).
//! * **Delay noise** of more than alpha packet times is taken for a queue.
//!
//! **Multistream FAST** (`mfast`: S. A. Awan, M. J. Arshad, IEEE Access 7, 2019; the same control
//! in the paper's words) is this algorithm. The transport provides the streams, which the
//! controller requests.
//!
//! **Decisions.**
//! * alpha depends on the flow's own rate in steps (`alpha.rs`) unless it is given.
//! * RTT is a running mean over the samples of a third of a window, at least 4: weights `min(3/w,
//!   1/4)`, published values from a secondary source. The module also has 3/w, but never more than
//!   1/256: at 52 packets its memory is five round trips. `memory = 256` selects the module's
//!   behaviour.
//! * The w that is multiplied by baseRTT/RTT is the number in flight when the acknowledged packet
//!   was sent, as in the module (`old_pif`), because that is what the RTT belongs to. It is at most
//!   the current window. For packets sent in a recovery it is the window after the recovery,
//!   because the number in flight is then uncertain.
//! * A step is made once per round trip, as printed. `every = 2` is what the module does since
//!   version 1.1.3, "as in Linux", and what the paper's 17 round trips require (docs/emfast.md).
//! * Growth is spread over the ACKs of the next round trip (module: `fast_pace`); a decrease takes
//!   effect at once. The module drops fractions of a packet from every increase, so its queue is up
//!   to two packets below alpha; here it is not.
//! * Slow start ends when the mean queueing delay of the current round trip exceeds the fraction
//!   1/16 of baseRTT. The module continues while the mean over 256 ACKs is below `mi_threshold_`,
//!   in seconds. A train of w packets at twice the bottleneck's rate waits w/4 packet times on
//!   average. On the paper's path the module's rule (0.75 ms) ends slow start at about 23 packets
//!   and a sixteenth of baseRTT at about 27, both at half of the path's capacity and before a queue
//!   of 10 overflows. The rule used here holds for any path. (1) does the rest.
//! * The module returns to growth by one packet per ACK whenever the mean queueing delay is below
//!   its threshold. That is not in the paper, and with Reno's slow start it is not done here.
//! * The minimum window is two packets (module).

mod alpha;
mod emfast;

pub(crate) use emfast::ENTRY as EMFAST;

use crate::building_blocks::rule::{Rule, WindowController, half, slow_start};
use crate::building_blocks::window::Window;
use crate::estimators::average::Average;
use crate::estimators::round_rtt::RoundRtt;
use crate::interface::{Ack, Loss, LossResponse, Timeout, TransportFeatures};
use crate::registry::entry::{
    Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, Values, code,
};
use alpha::Alpha;

use whimbrel_units::{Bytes, Duration, Rate, Time};

const ALPHA: Parameter = Parameter {
    name: "alpha",
    domain: Domain::Number {
        default: 0.0,
        range: (0.0, 100_000.0),
    },
    meaning: "packets kept queued; 0: by the flow's rate: 8, 20 from 10 Mbit/s, 200 from 100 \
              Mbit/s",
};

const GAMMA: Parameter = Parameter {
    name: "gamma",
    domain: Domain::Number {
        default: 0.5,
        range: (0.01, 1.0),
    },
    meaning: "fraction of the distance to the equilibrium covered by a step",
};

const EVERY: Parameter = Parameter {
    name: "every",
    domain: Domain::Number {
        default: 1.0,
        range: (1.0, 100.0),
    },
    meaning: "round trips between steps (ns-2 module: 2)",
};

const SLOW_START_DELAY: Parameter = Parameter {
    name: "slow_start_delay",
    domain: Domain::Number {
        default: 0.0625,
        range: (0.0, 10.0),
    },
    meaning: "slow start ends above this mean queueing delay, fraction of baseRTT",
};

const MEMORY: Parameter = Parameter {
    name: "memory",
    domain: Domain::Number {
        default: 4.0,
        range: (1.0, 100_000.0),
    },
    meaning: "minimum number of ACKs over which RTTs are averaged, otherwise a third of a window \
              (ns-2 module: 256)",
};

const PARAMETERS: [Parameter; 5] = [ALPHA, GAMMA, EVERY, SLOW_START_DELAY, MEMORY];

/// Windows of samples over which the RTT is averaged, if that exceeds the minimum number.
const WINDOWS: f64 = 1.0 / 3.0;

/// The registry entry of FAST.
pub(crate) static ENTRY: Entry = Entry {
    name: "fast",
    code: code!(
        "algorithms/delay/fast/mod.rs",
        "estimators/average.rs",
        "algorithms/delay/fast/alpha.rs"
    ),
    summary: "Keeps alpha packets in the queue; steps are proportional to the distance",
    citation: "D. X. Wei, C. Jin, S. H. Low, S. Hegde, \"FAST TCP: Motivation, Architecture, \
               Algorithms, Performance\", IEEE/ACM ToN 14(6), 2006",
    parameters: &PARAMETERS,
    feed: Feed::Acknowledgments {
        family: Family::Delay,
        driven_by: DrivenBy::LossesAndDelays,
        build: |setup, values| Box::new(WindowController::new(setup, Fast::new(values))),
    },
    look: Look::of(9, 4),
    ..Entry::BLANK
};

/// The registry entry of Multistream FAST.
pub(crate) static MFAST: Entry = Entry {
    name: "mfast",
    code: code!(
        "algorithms/delay/fast/mod.rs",
        "estimators/average.rs",
        "algorithms/delay/fast/alpha.rs"
    ),
    summary: "FAST for a connection of several streams",
    citation: "S. A. Awan, M. J. Arshad, \"Enhancing Fast TCP's Performance Using Single TCP \
               Connection for Parallel Traffic Flows to Prevent Head-of-Line Blocking\", IEEE \
               Access 7, 2019",
    parameters: &PARAMETERS,
    feed: Feed::Acknowledgments {
        family: Family::Delay,
        driven_by: DrivenBy::LossesAndDelays,
        build: |setup, values| {
            Box::new(
                WindowController::new(setup, Fast::new(values))
                    .with_transport_features(TransportFeatures::STREAMS),
            )
        },
    },
    look: Look::of(25, 13),
    ..Entry::BLANK
};

/// The rule of FAST.
#[derive(Debug, Clone)]
struct Fast {
    alpha: Alpha,
    gamma: f64,
    /// Round trips between steps.
    every: u64,
    /// Fraction of baseRTT.
    slow_start_delay: f64,
    /// Minimum number of samples.
    memory: f64,
    rounds: RoundRtt,
    rtt: Average,
    /// Round trips since the last step.
    waited: u64,
    /// The step in progress.
    step: Option<Step>,
    /// When the last recovery ended, and the window after it in bytes.
    recovered: Option<(Time, u64)>,
}

/// A growth that is spread over a round trip.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// Growth per byte acknowledged, bytes.
    share: f64,
    /// Window at the end of the step, bytes.
    goal: u64,
}

impl Fast {
    fn new(values: &Values) -> Self {
        Self {
            alpha: Alpha::new(values.number("alpha")),
            gamma: values.number("gamma"),
            every: values.number("every") as u64,
            slow_start_delay: values.number("slow_start_delay"),
            memory: values.number("memory"),
            rounds: RoundRtt::default(),
            rtt: Average::default(),
            waited: 0,
            step: None,
            recovered: None,
        }
    }

    /// Records the measurements of an ACK.
    fn measure(&mut self, window: &Window, ack: &Ack) {
        self.rounds.on_ack(ack);
        // Packets acknowledged in a recovery may have waited behind a gap.
        if let (Some(rtt), false) = (ack.rtt, ack.in_recovery) {
            self.rtt
                .add(rtt, self.memory.max(WINDOWS * window.segments()));
        }
        self.waited = self.waited.saturating_add(u64::from(ack.round_start));
    }

    /// Base RTT and average RTT, seconds.
    fn times(&self) -> Option<(f64, f64)> {
        let base = self.rounds.base()?.as_secs_f64();
        let rtt = self.rtt.get()?;
        (rtt > 0.0).then_some((base, rtt))
    }

    /// Bytes in flight when the newest packet acknowledged was sent.
    fn held(&self, window: &Window, ack: &Ack) -> u64 {
        let then = ack.newest.map_or(window.cwnd, |at| match self.recovered {
            Some((ended, left)) if at.sent <= ended => left,
            _ => at.in_flight.get(),
        });
        then.min(window.cwnd)
    }

    /// Equation (1): the next window, bytes.
    fn next_window(&mut self, window: &Window, ack: &Ack) -> Option<u64> {
        let (base, rtt) = self.times()?;
        let rate = Rate::over(Bytes::new(window.cwnd), Duration::from_secs_f64(rtt));
        self.alpha.at(rate);
        let (cwnd, mss) = (window.cwnd as f64, window.mss as f64);
        let equilibrium = base / rtt * self.held(window, ack) as f64 + self.alpha.packets() * mss;
        let next = (1.0 - self.gamma) * cwnd + self.gamma * equilibrium;
        // Too large a float saturates the integer.
        let floor = window.mss.saturating_mul(2);
        Some((next as u64).min(window.cwnd.saturating_mul(2)).max(floor))
    }

    /// Slow start, and its end.
    fn begin(&self, window: &mut Window, ack: &Ack) {
        slow_start(window, ack);
        if let Some(round) = self.rounds.so_far() {
            let queueing = (round.mean - round.base).as_secs_f64();
            if queueing > self.slow_start_delay * round.base.as_secs_f64() {
                window.end_slow_start();
            }
        }
    }

    /// Responds to an ACK that may let the window grow.
    fn act(&mut self, window: &mut Window, ack: &Ack) {
        if window.in_slow_start() {
            self.begin(window, ack);
            return;
        }
        if ack.round_start && self.waited >= self.every {
            self.waited = 0;
            self.step = None;
            if let Some(goal) = self.next_window(window, ack) {
                self.go_to(window, goal);
            }
        }
        if let Some(Step { share, goal }) = self.step {
            let before = window.cwnd;
            window.grow(ack.acked.get(), share * window.segments());
            if window.cwnd >= goal {
                // A larger segment size may have raised the window above the goal.
                window.cwnd = goal.max(before);
                self.step = None;
            }
        }
    }

    fn go_to(&mut self, window: &mut Window, goal: u64) {
        if goal > window.cwnd {
            let share = (goal - window.cwnd) as f64 / window.cwnd as f64;
            self.step = Some(Step { share, goal });
        } else {
            window.reduce_to(goal);
        }
    }
}

impl Rule for Fast {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.measure(window, ack);
        if Window::may_grow(ack) {
            self.act(window, ack);
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
        self.step = None;
        window.reduce_to(half(window, loss.in_flight));
        LossResponse::REDUCED
    }

    fn on_recovery_end(&mut self, window: &mut Window, now: Time) {
        self.recovered = Some((now, window.cwnd));
    }

    fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        self.step = None;
        window.collapse(Some(half(window, timeout.in_flight)));
    }

    fn on_spurious(&mut self, _before: &Self) {
        self.step = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::{AtSending, Controller};
    use crate::testing::{ACK, Bottleneck, MSS, Path, built, loss, segments, timeout};

    const MS: Duration = Duration::from_millis(1);

    /// A controller in congestion avoidance with this many segments, a baseRTT of 100 ms, and an
    /// average RTT of `ms`.
    fn settled(text: &str, segments: u64, ms: u64) -> Box<dyn Controller> {
        let mut controller = built(text, 2 * segments);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        for rtt in [100].into_iter().chain([ms; 2000]) {
            controller.on_ack(&Ack {
                rtt: Some(MS * rtt),
                cwnd_limited: false,
                ..ACK
            });
        }
        controller
    }

    /// The window after one more round trip with an RTT of `ms`, with one ACK per segment.
    fn after_round(controller: &mut dyn Controller, ms: u64, newest: Option<AtSending>) -> f64 {
        for i in 0..segments(controller).ceil() as u64 {
            controller.on_ack(&Ack {
                rtt: Some(MS * ms),
                round_start: i == 0,
                newest,
                ..ACK
            });
        }
        segments(controller)
    }

    #[test]
    fn equation_1_computed_for_a_window_of_50_and_an_alpha_of_10() {
        // Empty queue: 25 + (50 + 10)/2. At 125 ms 10 packets wait, the equilibrium. At 200 ms: 25
        // + (25 + 10)/2.
        for (ms, expected) in [(100, 55.0), (125, 50.0), (200, 42.5)] {
            let mut controller = settled("fast?alpha=10", 50, ms);
            let got = after_round(&mut *controller, ms, None);
            assert!((got - expected).abs() < 0.02, "{ms} ms: {got}");
        }
    }

    #[test]
    fn a_step_at_most_doubles_and_leaves_at_least_two_segments() {
        let mut controller = settled("fast?alpha=100", 4, 100);
        assert_eq!(after_round(&mut *controller, 100, None), 8.0);
        let mut controller = settled("fast?alpha=0.1&gamma=1", 4, 5000);
        assert_eq!(after_round(&mut *controller, 5000, None), 2.0);
    }

    #[test]
    fn with_an_empty_queue_a_step_adds_gamma_alpha() {
        for (text, gained) in [
            ("fast?alpha=10", 50.0),
            ("fast?alpha=10&gamma=1", 100.0),
            ("fast?alpha=10&every=2", 25.0),
        ] {
            let mut controller = settled(text, 100, 100);
            Path::new(MS * 100).rounds_for(&mut *controller, MS * 1000);
            let got = segments(&*controller) - 100.0;
            assert!((got - gained).abs() < 1.0, "{text}: {got}");
        }
    }

    #[test]
    fn the_rtt_is_related_to_the_flight_when_the_packet_was_sent() {
        let at = |sent, in_flight| {
            Some(AtSending {
                sent: Time::ZERO + MS * sent,
                in_flight: Bytes::new(in_flight * MSS),
                delivered: Bytes::ZERO,
                lost: Bytes::ZERO,
                app_limited: false,
                retransmitted: false,
            })
        };
        // 25 + (0.8*20 + 10)/2, not 50; and never more than the window: 50 again.
        let mut controller = settled("fast?alpha=10", 50, 125);
        assert!((after_round(&mut *controller, 125, at(2, 20)) - 38.0).abs() < 0.02);
        let mut controller = settled("fast?alpha=10", 50, 125);
        assert!((after_round(&mut *controller, 125, at(2, 90)) - 50.0).abs() < 0.02);
        // Sent in a recovery that ended at 1 ms with a window of 50.
        let mut controller = settled("fast?alpha=10", 50, 125);
        controller.on_recovery_end(Time::ZERO + MS);
        assert!((after_round(&mut *controller, 125, at(1, 20)) - 50.0).abs() < 0.02);
    }

    #[test]
    fn rtts_are_averaged_over_a_third_of_a_window_or_256_samples() {
        // From 100 to 200 ms. 50 samples are three times a third of a window of 50, and a fifth of
        // 256.
        for (text, min, max) in [("fast", 190.0, 199.0), ("fast?memory=256", 110.0, 125.0)] {
            let mut rule: WindowController<Fast> = WindowController::new(
                &crate::testing::setup(50),
                Fast {
                    memory: if text == "fast" { 4.0 } else { 256.0 },
                    ..blank()
                },
            );
            for ms in [[100; 1000].as_slice(), &[200; 50]].concat() {
                rule.on_ack(&Ack {
                    rtt: Some(MS * ms),
                    cwnd_limited: false,
                    ..ACK
                });
            }
            let (base, rtt) = rule.rule.times().expect("samples");
            assert!((base * 1e3 - 100.0).abs() < 1e-6);
            assert!((min..max).contains(&(rtt * 1e3)), "{text}: {rtt}");
        }
    }

    /// FAST with its default values.
    fn blank() -> Fast {
        Fast {
            alpha: Alpha::new(10.0),
            gamma: 0.5,
            every: 1,
            slow_start_delay: 0.0625,
            memory: 4.0,
            rounds: RoundRtt::default(),
            rtt: Average::default(),
            waited: 0,
            step: None,
            recovered: None,
        }
    }

    #[test]
    fn slow_start_ends_at_a_queueing_delay_of_1_16_of_base_rtt() {
        for (ms, phase) in [(170, "slow start"), (171, "congestion avoidance")] {
            let mut controller = built("fast", 10);
            after_round(&mut *controller, 160, None);
            assert_eq!(segments(&*controller), 20.0);
            controller.on_ack(&Ack {
                rtt: Some(MS * ms),
                round_start: true,
                ..ACK
            });
            assert_eq!((segments(&*controller), controller.phase()), (21.0, phase));
        }
    }

    #[test]
    fn losses_and_timeouts_are_those_of_reno() {
        let mut controller = built("fast", 40);
        assert_eq!(
            controller.on_loss(&loss(&*controller, Time::ZERO)),
            LossResponse::REDUCED
        );
        assert_eq!(segments(&*controller), 20.0);
        controller.on_timeout(&timeout(&*controller, Time::ZERO));
        assert_eq!(
            (segments(&*controller), controller.phase()),
            (1.0, "slow start")
        );
        assert_eq!(controller.ssthresh(), Some(Bytes::new(10 * MSS)));
    }

    #[test]
    fn a_single_flow_queues_alpha_packets_on_a_full_link() {
        // With space for what slow start queues in addition: a quarter of the bandwidth-delay
        // products of 150, 60 and 250.
        for (mbit, ms, alpha, room) in [(12, 100, 20, 40), (2, 240, 8, 18), (40, 50, 30, 65)] {
            let rate = Rate::from_bits_per_sec(mbit * 1_000_000);
            let mut path = Bottleneck::new(rate, room);
            path.add(built(&format!("fast?alpha={alpha}"), 2), MS * ms);
            path.run(Duration::from_secs(40));
            let delivered = path.flows[0].delivered;
            let (mean, max) = path.run(Duration::from_secs(20));
            // The count includes the packet in transmission, which is no queue in the RTT: alpha,
            // or one more.
            let alpha = f64::from(alpha);
            assert!((alpha - 0.5..alpha + 1.5).contains(&mean), "{mean}");
            assert!((max as f64) < alpha + 4.0, "{max}");
            let got = path.flows[0].rate_since(delivered, Duration::from_secs(20));
            assert!(got.as_bits_per_sec() as f64 > 0.99 * rate.as_bits_per_sec() as f64);
            assert_eq!(path.flows[0].lost, 0);
        }
    }

    /// The ratio of the second flow's rate to the first's; the second begins `after` the first.
    fn share(first: &str, second: &str, after: Duration) -> f64 {
        let mut path = Bottleneck::new(Rate::from_bits_per_sec(20_000_000), 500);
        path.add(built(first, 2), MS * 100);
        path.run(after);
        path.add(built(second, 2), MS * 100);
        path.run(Duration::from_secs(60));
        let delivered = [path.flows[0].delivered, path.flows[1].delivered];
        path.run(Duration::from_secs(20));
        let of = |i: usize| (path.flows[i].delivered - delivered[i]) as f64;
        of(1) / of(0)
    }

    #[test]
    fn two_flows_share_a_link_in_proportion_to_their_alphas() {
        let even = share("fast?alpha=20", "fast?alpha=20", Duration::ZERO);
        assert!((0.9..1.1).contains(&even), "{even}");
        let double = share("fast?alpha=20", "fast?alpha=40", Duration::ZERO);
        assert!((1.8..2.2).contains(&double), "{double}");
    }

    #[test]
    fn a_flow_that_starts_during_a_queue_gets_more_than_its_share() {
        let late = share("fast?alpha=20", "fast?alpha=20", Duration::from_secs(20));
        assert!(late > 1.3, "{late}");
    }

    #[test]
    fn multistream_fast_is_fast_with_streams() {
        assert!(
            built("mfast", 10).transport_features().streams
                && !built("fast", 10).transport_features().streams
        );
        let run = |name: &str| {
            let mut path = Bottleneck::new(Rate::from_bits_per_sec(5_000_000), 15);
            path.loss = 0.002;
            path.add(built(name, 10), MS * 80);
            path.run(Duration::from_secs(30));
            (path.flows[0].delivered, path.flows[0].controller.cwnd())
        };
        assert_eq!(run("mfast"), run("fast"));
    }
}
