//! FAST TCP: keeps alpha packets queued, and goes there in steps that are the larger the farther it is.
//!
//! D. X. Wei, C. Jin, S. H. Low, S. Hegde, "FAST TCP: Motivation, Architecture, Algorithms, Performance", IEEE/ACM
//! Transactions on Networking 14(6), 2006, which was not to be had. Built from equation (1) as S. Ahmad, M. J. Arshad,
//! "Enhanced Multistream Fast TCP", Appl. Sci. 9(21), 4698, 2019, describe and number it, and from the ns-2 module that they ran
//! (T. Cui, L. Andrew, University of Melbourne: `tcp-fast.cc`, versions 1.1.2 and 1.1.3, which was; the defaults that it
//! binds to were not).
//!
//! * (1), once a round trip: `w <- min(2w, (1 - gamma)*w + gamma*(baseRTT/RTT*w + alpha))`
//! * slow start until queues build up, fast retransmit, fast recovery and timeout are Reno's
//!
//! Units: windows in bytes; alpha in packets; times in seconds.
//!
//! **The physics.** Of w packets in flight `w*baseRTT/RTT` are on the wire and the rest waits. In equilibrium (1) leaves w
//! as it is: `w - w*baseRTT/RTT = alpha`, so alpha packets wait, whatever the rate. Two flows share a link as their alphas.
//! Off the equilibrium each step goes gamma of the way: nothing waiting, the window grows by gamma*alpha a round trip, not by
//! one. After a halved window of W packets, `W/2` are to be had back: `W/(2*gamma*alpha)` round trips.
//!
//! **When it works.** Long and fast paths with alpha in proportion: no loss, a short queue, quickly there.
//!
//! **When not.**
//! * **Buffers** of less than the alphas of all flows overflow, and it lives by losses as Reno.
//! * **Beside laws that live by losses** it gives way: their queue is its delay.
//! * **Random loss** halves it as Reno.
//! * **BaseRTT** is the least of all samples. A flow that begins while a queue stands takes it for the path and gets more than
//!   its share; when the path becomes longer, it takes that for a queue until the connection ends (see `round_rtt.rs`).
//! * **Delay noise** of more than alpha packets' time is taken for a queue.
//!
//! **Multistream FAST** (`mfast`: S. A. Awan, M. J. Arshad, IEEE Access 7, 2019; the same control in the paper's words) is this
//! law; the streams are the transport's, and the law asks for them.
//!
//! **Decisions.**
//! * alpha: by steps of the flow's own rate (`alpha.rs`) unless it is given.
//! * RTT is a running mean over a third of a window of samples, never fewer than 4: weights `min(3/w, 1/4)`, the published
//!   ones at second hand. The module has 3/w too, but never more than 1/256: at 52 packets it remembers five round trips.
//!   `memory = 256` is the module.
//! * The w that stands beside baseRTT/RTT is what was in flight when the acknowledged packet was sent, as the module has it
//!   (`old_pif`): that is what its RTT is of. At most the present window; for packets of a recovery the window that the
//!   recovery left: what is in flight then is not certain.
//! * Once a round trip, as printed. `every = 2` is what the module does since version 1.1.3, "as in Linux", and what the
//!   paper's 17 round trips need (docs/emfast.md).
//! * Growth is spread over the ACKs of the next round trip (module: `fast_pace`), a decrease is at once. The module
//!   drops fractions of a packet from every increase and so stands up to two packets short of alpha; ours does not.
//! * Slow start ends when the mean queueing delay of the round trip so far exceeds a share of baseRTT, 1/16. The module goes on
//!   while the mean over 256 ACKs is below `mi_threshold_`, in seconds. A train of w packets at twice the bottleneck's rate
//!   waits w/4 packet times on average: on the paper's path the module's rule (0.75 ms) ends at about 23 packets, a
//!   sixteenth of baseRTT at about 27, both at half of the path and before queues of 10 overflow; ours is so on any
//!   path. The rest is by (1).
//! * The module returns to growth by one packet an ACK whenever the mean queueing delay is below its threshold. Not here: with
//!   Reno's slow start it is not in the paper.
//! * The window is at least two packets (module).

mod after_recovery;
mod alpha;
mod average;

pub(crate) use after_recovery::ENTRY as EMFAST;

use crate::building_blocks::rule::{Rule, WindowController, half, slow_start};
use crate::building_blocks::window::Window;
use crate::estimators::round_rtt::RoundRtt;
use crate::interface::{Ack, Loss, LossResponse, Timeout, TransportFeatures};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Value, Values, code};
use alpha::Alpha;
use average::Average;
use whimbrel_units::{Bytes, Duration, Rate, Time};

const ALPHA: Parameter = Parameter {
    name: "alpha",
    default: Value::Number(0.0),
    range: (0.0, 100_000.0),
    meaning: "packets kept queued; 0: 8, 20 from 10 Mbit/s and 200 from 100 Mbit/s of the flow's own rate",
};

const GAMMA: Parameter = Parameter {
    name: "gamma",
    default: Value::Number(0.5),
    range: (0.01, 1.0),
    meaning: "share of the way to the equilibrium that a step goes",
};

const EVERY: Parameter = Parameter {
    name: "every",
    default: Value::Number(1.0),
    range: (1.0, 100.0),
    meaning: "round trips from one step to the next (ns-2's module: 2)",
};

const SLOW_START_DELAY: Parameter = Parameter {
    name: "slow_start_delay",
    default: Value::Number(0.0625),
    range: (0.0, 10.0),
    meaning: "mean queueing delay, as a share of baseRTT, above which slow start is over",
};

const MEMORY: Parameter = Parameter {
    name: "memory",
    default: Value::Number(4.0),
    range: (1.0, 100_000.0),
    meaning: "least number of ACKs over which RTTs are averaged, else a third of a window (ns-2's module: 256)",
};

const PARAMETERS: [Parameter; 5] = [ALPHA, GAMMA, EVERY, SLOW_START_DELAY, MEMORY];

/// Windows of samples that RTT is averaged over, where that is more than the least number.
const WINDOWS: f64 = 1.0 / 3.0;

/// FAST's place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "fast",
    code: code!(
        "algorithms/delay/fast/mod.rs",
        "algorithms/delay/fast/average.rs",
        "algorithms/delay/fast/alpha.rs"
    ),
    summary: "Keeps alpha packets in the queue, in steps as large as the way to it",
    citation: "D. X. Wei, C. Jin, S. H. Low, S. Hegde, \"FAST TCP: Motivation, Architecture, Algorithms, Performance\", \
               IEEE/ACM ToN 14(6), 2006",
    family: Family::Delay,
    driven_by: DrivenBy::LossesAndDelays,
    feed: Feed::Acknowledgments,
    parameters: &PARAMETERS,
    build: |setup, values| Box::new(WindowController::new(setup, Fast::new(values))),
};

/// Multistream FAST's place in the registry.
pub(crate) static MFAST: Entry = Entry {
    name: "mfast",
    code: code!(
        "algorithms/delay/fast/mod.rs",
        "algorithms/delay/fast/average.rs",
        "algorithms/delay/fast/alpha.rs"
    ),
    summary: "FAST for a connection of several streams",
    citation: "S. A. Awan, M. J. Arshad, \"Enhancing Fast TCP's Performance Using Single TCP Connection for Parallel Traffic \
               Flows to Prevent Head-of-Line Blocking\", IEEE Access 7, 2019",
    family: Family::Delay,
    driven_by: DrivenBy::LossesAndDelays,
    feed: Feed::Acknowledgments,
    parameters: &PARAMETERS,
    build: |setup, values| {
        Box::new(
            WindowController::new(setup, Fast::new(values))
                .with_transport_features(TransportFeatures::STREAMS),
        )
    },
};

/// FAST's rule.
#[derive(Debug, Clone)]
struct Fast {
    alpha: Alpha,
    gamma: f64,
    /// Round trips from one step to the next.
    every: u64,
    /// Share of baseRTT.
    slow_start_delay: f64,
    /// Samples.
    memory: f64,
    rounds: RoundRtt,
    rtt: Average,
    /// Round trips since the last step.
    waited: u64,
    /// The step that is being taken.
    step: Option<Step>,
    /// When the last recovery ended, and the window that it left, bytes.
    recovered: Option<(Time, u64)>,
}

/// A growth that is spread over a round trip.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// Bytes of growth for each that is acknowledged.
    share: f64,
    /// Window at its end, bytes.
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

    /// Takes in what an ACK measured.
    fn measure(&mut self, window: &Window, ack: &Ack) {
        self.rounds.on_ack(ack);
        // What is acknowledged in a recovery may have waited behind a hole.
        if let (Some(rtt), false) = (ack.rtt, ack.in_recovery) {
            self.rtt
                .add(rtt, self.memory.max(WINDOWS * window.segments()));
        }
        self.waited = self.waited.saturating_add(u64::from(ack.round_start));
    }

    /// The path's own round-trip time and the average one, seconds.
    fn times(&self) -> Option<(f64, f64)> {
        let base = self.rounds.base()?.as_secs_f64();
        let rtt = self.rtt.get()?;
        (rtt > 0.0).then_some((base, rtt))
    }

    /// Bytes in flight when what is now acknowledged was sent.
    fn held(&self, window: &Window, ack: &Ack) -> u64 {
        let then = ack.newest.map_or(window.cwnd, |at| match self.recovered {
            Some((ended, left)) if at.sent <= ended => left,
            _ => at.in_flight.get(),
        });
        then.min(window.cwnd)
    }

    /// Equation (1): the window that follows, bytes.
    fn next_window(&mut self, window: &Window, ack: &Ack) -> Option<u64> {
        let (base, rtt) = self.times()?;
        let rate = Rate::over(Bytes::new(window.cwnd), Duration::from_secs_f64(rtt));
        self.alpha.at(rate);
        let (cwnd, mss) = (window.cwnd as f64, window.mss as f64);
        let equilibrium = base / rtt * self.held(window, ack) as f64 + self.alpha.packets() * mss;
        let next = (1.0 - self.gamma) * cwnd + self.gamma * equilibrium;
        // A float too large for the integer saturates.
        let floor = window.mss.saturating_mul(2);
        Some((next as u64).min(window.cwnd.saturating_mul(2)).max(floor))
    }

    /// Slow start, and whether it is over.
    fn begin(&self, window: &mut Window, ack: &Ack) {
        slow_start(window, ack);
        if let Some(round) = self.rounds.so_far() {
            let queueing = (round.mean - round.base).as_secs_f64();
            if queueing > self.slow_start_delay * round.base.as_secs_f64() {
                window.end_slow_start();
            }
        }
    }

    /// What follows from an ACK by which the window may grow.
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
                // Larger segments may have lifted the window over the goal already.
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

    /// In congestion avoidance with this many segments, a baseRTT of 100 ms, and an average of `ms`.
    fn settled(text: &str, segments: u64, ms: u64) -> Box<dyn Controller> {
        let mut law = built(text, 2 * segments);
        law.on_loss(&loss(&*law, Time::ZERO));
        for rtt in [100].into_iter().chain([ms; 2000]) {
            law.on_ack(&Ack {
                rtt: Some(MS * rtt),
                cwnd_limited: false,
                ..ACK
            });
        }
        law
    }

    /// The window when one more round trip at `ms` is over, of as many ACKs as there are segments.
    fn after_round(law: &mut dyn Controller, ms: u64, newest: Option<AtSending>) -> f64 {
        for i in 0..segments(law).ceil() as u64 {
            law.on_ack(&Ack {
                rtt: Some(MS * ms),
                round_start: i == 0,
                newest,
                ..ACK
            });
        }
        segments(law)
    }

    #[test]
    fn equation_1_worked_out_for_a_window_of_50_and_an_alpha_of_10() {
        // Nothing waits: 25 + (50 + 10)/2. At 125 ms 10 wait, the equilibrium. At 200 ms: 25 + (25 + 10)/2.
        for (ms, expected) in [(100, 55.0), (125, 50.0), (200, 42.5)] {
            let mut law = settled("fast?alpha=10", 50, ms);
            let got = after_round(&mut *law, ms, None);
            assert!((got - expected).abs() < 0.02, "{ms} ms: {got}");
        }
    }

    #[test]
    fn no_step_is_more_than_the_double_and_none_goes_below_two_segments() {
        let mut law = settled("fast?alpha=100", 4, 100);
        assert_eq!(after_round(&mut *law, 100, None), 8.0);
        let mut law = settled("fast?alpha=0.1&gamma=1", 4, 5000);
        assert_eq!(after_round(&mut *law, 5000, None), 2.0);
    }

    #[test]
    fn while_nothing_waits_the_window_grows_by_gamma_alpha_a_step() {
        for (text, gained) in [
            ("fast?alpha=10", 50.0),
            ("fast?alpha=10&gamma=1", 100.0),
            ("fast?alpha=10&every=2", 25.0),
        ] {
            let mut law = settled(text, 100, 100);
            Path::new(MS * 100).rounds_for(&mut *law, MS * 1000);
            let got = segments(&*law) - 100.0;
            assert!((got - gained).abs() < 1.0, "{text}: {got}");
        }
    }

    #[test]
    fn the_rtt_is_held_against_what_was_in_flight_when_it_began() {
        let at = |sent, in_flight| {
            Some(AtSending {
                sent: Time::ZERO + MS * sent,
                in_flight: Bytes::new(in_flight * MSS),
                delivered: Bytes::ZERO,
                lost: Bytes::ZERO,
                app_limited: false,
            })
        };
        // 25 + (0.8*20 + 10)/2, not 50; and never more than the window: 50 again.
        let mut law = settled("fast?alpha=10", 50, 125);
        assert!((after_round(&mut *law, 125, at(2, 20)) - 38.0).abs() < 0.02);
        let mut law = settled("fast?alpha=10", 50, 125);
        assert!((after_round(&mut *law, 125, at(2, 90)) - 50.0).abs() < 0.02);
        // Sent in a recovery that ended at 1 ms and left 50.
        let mut law = settled("fast?alpha=10", 50, 125);
        law.on_recovery_end(Time::ZERO + MS);
        assert!((after_round(&mut *law, 125, at(1, 20)) - 50.0).abs() < 0.02);
    }

    #[test]
    fn rtts_are_averaged_over_a_third_of_a_window_or_as_long_as_the_module_does() {
        // From 100 to 200 ms. 50 samples are three times a third of a window of 50, and a fifth of 256.
        for (text, least, most) in [("fast", 190.0, 199.0), ("fast?memory=256", 110.0, 125.0)] {
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
            assert!((least..most).contains(&(rtt * 1e3)), "{text}: {rtt}");
        }
    }

    /// FAST as it is.
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
    fn slow_start_is_renos_until_a_sixteenth_of_base_rtt_is_spent_waiting() {
        for (ms, phase) in [(170, "slow start"), (171, "congestion avoidance")] {
            let mut law = built("fast", 10);
            after_round(&mut *law, 160, None);
            assert_eq!(segments(&*law), 20.0);
            law.on_ack(&Ack {
                rtt: Some(MS * ms),
                round_start: true,
                ..ACK
            });
            assert_eq!((segments(&*law), law.phase()), (21.0, phase));
        }
    }

    #[test]
    fn losses_and_timeouts_are_renos() {
        let mut law = built("fast", 40);
        assert_eq!(law.on_loss(&loss(&*law, Time::ZERO)), LossResponse::REDUCED);
        assert_eq!(segments(&*law), 20.0);
        law.on_timeout(&timeout(&*law, Time::ZERO));
        assert_eq!((segments(&*law), law.phase()), (1.0, "slow start"));
        assert_eq!(law.ssthresh(), Some(Bytes::new(10 * MSS)));
    }

    #[test]
    fn alone_it_keeps_alpha_packets_queued_and_the_link_full() {
        // With room for what slow start queues besides: a quarter of the bandwidth-delay product of 150, 60 and 250.
        for (mbit, ms, alpha, room) in [(12, 100, 20, 40), (2, 240, 8, 18), (40, 50, 30, 65)] {
            let rate = Rate::from_bits_per_sec(mbit * 1_000_000);
            let mut path = Bottleneck::new(rate, room);
            path.add(built(&format!("fast?alpha={alpha}"), 2), MS * ms);
            path.run(Duration::from_secs(40));
            let delivered = path.flows[0].delivered;
            let (mean, most) = path.run(Duration::from_secs(20));
            // The one that is being sent is queued too, and no queue to the RTT: alpha, or one more.
            let alpha = f64::from(alpha);
            assert!((alpha - 0.5..alpha + 1.5).contains(&mean), "{mean}");
            assert!((most as f64) < alpha + 4.0, "{most}");
            let got = path.flows[0].rate_since(delivered, Duration::from_secs(20));
            assert!(got.as_bits_per_sec() as f64 > 0.99 * rate.as_bits_per_sec() as f64);
            assert_eq!(path.flows[0].lost, 0);
        }
    }

    /// Rates of two flows, the second of which begins `after` the first, as the second over the first.
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
    fn two_flows_share_a_link_as_their_alphas() {
        let even = share("fast?alpha=20", "fast?alpha=20", Duration::ZERO);
        assert!((0.9..1.1).contains(&even), "{even}");
        let double = share("fast?alpha=20", "fast?alpha=40", Duration::ZERO);
        assert!((1.8..2.2).contains(&double), "{double}");
    }

    #[test]
    fn a_flow_that_begins_while_a_queue_stands_takes_it_for_the_path_and_more_than_its_share() {
        let late = share("fast?alpha=20", "fast?alpha=20", Duration::from_secs(20));
        assert!(late > 1.3, "{late}");
    }

    #[test]
    fn multistream_fast_is_the_same_law_and_asks_for_streams() {
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
