//! TCP-Illinois: losses say whether the window grows or falls, delays by how much.
//!
//! S. Liu, T. Basar, R. Srikant, "TCP-Illinois: A Loss- and Delay-based Congestion Control Algorithm for High-speed
//! Networks", Performance Evaluation 65(6-7), 2008.
//!
//! With d_a the mean queueing delay of the last round trip (its mean RTT less the least RTT ever), d_m the greatest
//! queueing delay ever, and d_i = eta_i*d_m, once a round trip:
//!
//! * increase: `alpha = alpha_max` if `d_a <= d_1`, else `k1/(k2 + d_a)`, with
//!   `s = (d_m - d_1)/(alpha_max - alpha_min)`, `k1 = s*alpha_min*alpha_max`, `k2 = s*alpha_min - d_1`
//! * decrease: `beta = beta_min` if `d_a <= d_2`, `beta_max` if `d_a >= d_3`, and a straight line between
//! * `cwnd += alpha/cwnd` per segment acknowledged, `cwnd -= beta*cwnd` per loss
//! * below W_thresh segments, alpha = 1 and beta = 1/2: Reno
//! * once d_a has been above d_1, alpha goes back to alpha_max only after theta round trips in a row at d_1 or less
//! * timeout: alpha = 1, beta = 1/2
//!
//! **The physics.** While the queue is empty the window may go up fast; near the delay at which the last losses
//! came it must go up slowly: the curve of the window is concave, and stays long where throughput is full. A loss at a
//! short queue is likely the channel's and takes an eighth; one at a full queue takes a half. On an empty path the mean
//! window is sqrt(75/p) = 8.7/sqrt(p), seven times Reno's.
//!
//! **When not.** d_m never forgets: one outlier of the RTT, or a path that became shorter, makes all later queues look
//! short, and alpha stays at ten. With a queue much shorter than the jitter of other delays alpha and beta say little.
//!
//! Units: windows are bytes; alpha and W_thresh are in segments; delays are seconds.
//!
//! Where sources differ: alpha_min is 0.3 in Linux' tcp_illinois.c (by S. Hemminger with S. Liu), ns-3 and the
//! encyclopedias, and so here; 0.1 is also given. d_m is that of single samples, as in both. An interrupted row of
//! short queues begins anew, where Linux goes on counting. The paper's text could not be read again; Linux' and ns-3's
//! code was.

use crate::building_blocks::aimd::{Aimd, IncreaseDecrease, RENO_DECREASE, RENO_INCREASE};
use crate::building_blocks::rule::WindowController;
use crate::building_blocks::window::Window;
use crate::estimators::round_rtt::RoundRtt;
use crate::interface::Ack;
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Value, code};
use whimbrel_units::Duration;

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "illinois",
    code: code!("algorithms/delay/illinois.rs"),
    summary: "Reno whose increase and decrease follow the queueing delay: fast on an empty path, careful on a full one",
    citation: "S. Liu, T. Basar, R. Srikant, \"TCP-Illinois: A Loss- and Delay-based Congestion Control Algorithm for \
               High-speed Networks\", Performance Evaluation 65(6-7), 2008",
    family: Family::Delay,
    driven_by: DrivenBy::Losses,
    feed: Feed::Acknowledgments,
    parameters: &[
        number(
            "alpha_min",
            0.3,
            (0.01, 1.0),
            "increase at the longest delay, segments per round trip",
        ),
        number(
            "alpha_max",
            10.0,
            (1.5, 1_000.0),
            "increase without delay, segments per round trip",
        ),
        number(
            "beta_min",
            0.125,
            (0.01, 0.5),
            "share that a loss takes at short delays",
        ),
        number(
            "beta_max",
            0.5,
            (0.5, 0.9),
            "share that a loss takes at long delays",
        ),
        number(
            "W_thresh",
            15.0,
            (0.0, 1_000.0),
            "below this window it is Reno, segments",
        ),
        number(
            "eta1",
            0.01,
            (0.0, 0.05),
            "share of the longest delay up to which the increase is alpha_max",
        ),
        number(
            "eta2",
            0.1,
            (0.05, 0.4),
            "share of the longest delay up to which the decrease is beta_min",
        ),
        number(
            "eta3",
            0.8,
            (0.5, 1.0),
            "share of the longest delay from which the decrease is beta_max",
        ),
        number(
            "theta",
            5.0,
            (1.0, 100.0),
            "round trips of short delay before the increase is alpha_max again",
        ),
    ],
    build: |setup, values| {
        let rule = Illinois {
            alpha_min: values.number("alpha_min"),
            alpha_max: values.number("alpha_max"),
            beta_min: values.number("beta_min"),
            beta_max: values.number("beta_max"),
            w_thresh: values.number("W_thresh"),
            eta: ["eta1", "eta2", "eta3"].map(|name| values.number(name)),
            theta: values.number("theta") as u32,
            now: Adaptive {
                alpha: values.number("alpha_max"),
                beta: RENO_DECREASE,
                was_above: false,
                low_rounds: 0,
            },
            rounds: RoundRtt::default(),
            greatest_rtt: Duration::ZERO,
        };
        Box::new(WindowController::new(setup, Aimd(rule)))
    },
};

const fn number(
    name: &'static str,
    default: f64,
    range: (f64, f64),
    meaning: &'static str,
) -> Parameter {
    Parameter {
        name,
        default: Value::Number(default),
        range,
        meaning,
    }
}

#[derive(Debug, Clone)]
struct Illinois {
    alpha_min: f64,
    alpha_max: f64,
    beta_min: f64,
    beta_max: f64,
    /// Segments.
    w_thresh: f64,
    /// eta_1 to eta_3.
    eta: [f64; 3],
    theta: u32,
    now: Adaptive,
    rounds: RoundRtt,
    greatest_rtt: Duration,
}

/// What follows the delays.
#[derive(Debug, Clone, Copy)]
struct Adaptive {
    /// Segments per round trip.
    alpha: f64,
    /// Share that a loss takes.
    beta: f64,
    /// d_a has been above d_1 since alpha was last set to its greatest.
    was_above: bool,
    /// Round trips in a row with d_a at d_1 or below.
    low_rounds: u32,
}

impl Illinois {
    /// f_1, with its memory of theta round trips.
    fn alpha(&mut self, d_a: f64, d_m: f64) -> f64 {
        let d_1 = self.eta[0] * d_m;
        if d_a > d_1 {
            self.now.was_above = true;
            self.now.low_rounds = 0;
            let spread = (d_m - d_1) / (self.alpha_max - self.alpha_min);
            let k1 = spread * self.alpha_min * self.alpha_max;
            let k2 = spread * self.alpha_min - d_1;
            return k1 / (k2 + d_a);
        }
        self.now.low_rounds = self.now.low_rounds.saturating_add(1);
        if self.now.was_above && self.now.low_rounds < self.theta {
            return self.now.alpha;
        }
        self.now.was_above = false;
        self.alpha_max
    }

    /// f_2.
    fn beta(&self, d_a: f64, d_m: f64) -> f64 {
        let (d_2, d_3) = (self.eta[1] * d_m, self.eta[2] * d_m);
        if d_a <= d_2 {
            self.beta_min
        } else if d_a >= d_3 {
            self.beta_max
        } else {
            self.beta_min + (self.beta_max - self.beta_min) * (d_a - d_2) / (d_3 - d_2)
        }
    }
}

impl IncreaseDecrease for Illinois {
    fn on_ack(&mut self, _: &mut Window, ack: &Ack) {
        let ended = self.rounds.on_ack(ack);
        self.greatest_rtt = self.greatest_rtt.max(ack.rtt.unwrap_or_default());
        if let Some(round) = ended {
            let d_a = (round.mean - round.base).as_secs_f64();
            let d_m = (self.greatest_rtt - round.base).as_secs_f64();
            self.now.alpha = self.alpha(d_a, d_m);
            self.now.beta = self.beta(d_a, d_m);
        }
    }

    fn increase(&self, window: &Window) -> f64 {
        if window.segments() < self.w_thresh {
            RENO_INCREASE
        } else {
            self.now.alpha
        }
    }

    fn decrease(&mut self, window: &Window) -> f64 {
        if window.segments() < self.w_thresh {
            RENO_DECREASE
        } else {
            self.now.beta
        }
    }

    fn on_timeout(&mut self) {
        self.now = Adaptive {
            alpha: RENO_INCREASE,
            beta: RENO_DECREASE,
            was_above: false,
            low_rounds: 0,
        };
        self.rounds.end();
    }

    fn on_spurious(&mut self, before: &Self) {
        self.now = before.now;
    }
}

#[cfg(test)]
mod tests {
    use crate::interface::{Ack, Controller, Loss};
    use crate::registry::Spec;
    use crate::testing::{ACK, Bottleneck, MSS, Path, loss, segments, setup, timeout};
    use whimbrel_units::{Bytes, Duration, Rate, Time};

    const RTT: Duration = Duration::from_millis(100);

    fn illinois(segments: u64) -> Box<dyn Controller> {
        let spec: Spec = "illinois".parse().expect("in the table");
        spec.build(&setup(segments))
    }

    /// A round trip of ten ACKs with this RTT, on a path of 100 ms, while nothing may grow.
    fn measured(law: &mut dyn Controller, ms: u64) {
        for i in 0..10 {
            law.on_ack(&Ack {
                rtt: Some(Duration::from_millis(ms)),
                round_start: i == 0,
                cwnd_limited: false,
                ..ACK
            });
        }
    }

    /// At 800 segments in congestion avoidance, after round trips with these RTTs. A queue of 100 ms has been seen.
    fn after(rtts: &[u64]) -> Box<dyn Controller> {
        let mut law = illinois(1600);
        law.on_loss(&loss(&*law, Time::ZERO));
        assert_eq!(
            segments(&*law),
            800.0,
            "beta is 1/2 before anything is measured"
        );
        for ms in [100, 200].iter().chain(rtts) {
            measured(&mut *law, *ms);
        }
        // A round trip is judged when the next begins.
        law.on_ack(&Ack {
            rtt: None,
            round_start: true,
            cwnd_limited: false,
            ..ACK
        });
        law
    }

    /// What a window of data would add, and the share a loss would take.
    fn alpha_and_beta(law: &dyn Controller) -> (f64, f64) {
        let mut grown = law.clone_box();
        for _ in 0..800 {
            grown.on_ack(&ACK);
        }
        let mut lost = law.clone_box();
        lost.on_loss(&loss(law, Time::ZERO));
        let before = segments(law);
        (segments(&*grown) - before, 1.0 - segments(&*lost) / before)
    }

    #[test]
    fn increase_and_decrease_follow_the_delay_as_in_the_paper() {
        // d_m = 100 ms, d_1 = 1 ms: k1 = 0.099*3/9.7 = 0.030619, k2 = 0.099*0.3/9.7 - 0.001 = 0.0020619 s.
        // At 50 ms: 0.030619/0.0520619 = 0.588; beta on the line from 1/8 at 10 ms to 1/2 at 80 ms: 0.125 + 0.375*4/7.
        for (rtt, alpha, beta) in [
            (105, 4.336, 0.125),
            (110, 2.538, 0.125),
            (150, 0.588, 0.339),
            (180, 0.373, 0.5),
            (200, 0.3, 0.5),
        ] {
            let (a, b) = alpha_and_beta(&*after(&[rtt]));
            // The window grows while its ACKs are counted, by up to half a percent.
            assert!((a / alpha - 1.0).abs() < 0.01, "{rtt}: alpha {a}");
            assert!((b - beta).abs() < 0.002, "{rtt}: beta {b}");
        }
    }

    #[test]
    fn after_a_queue_five_round_trips_without_one_bring_the_greatest_increase_back() {
        // At 200 ms alpha is 0.3, and stays so for four round trips at d_1 or less.
        assert!((alpha_and_beta(&*after(&[100; 4])).0 - 0.3).abs() < 0.01);
        assert!((alpha_and_beta(&*after(&[100; 5])).0 - 10.0).abs() < 0.1);
        // Interrupted, the row begins anew.
        let interrupted = after(&[100, 100, 100, 200, 100, 100]);
        assert!((alpha_and_beta(&*interrupted).0 - 0.3).abs() < 0.01);
    }

    #[test]
    fn small_windows_are_renos_whatever_the_delay() {
        let mut law = illinois(14);
        measured(&mut *law, 100);
        measured(&mut *law, 100);
        law.on_loss(&loss(&*law, Time::ZERO));
        assert_eq!(segments(&*law), 7.0);
        Path::new(RTT).round(&mut *law);
        assert!((segments(&*law) - 8.0).abs() < 0.1);
    }

    #[test]
    fn a_timeout_makes_it_reno_until_the_next_round_is_measured() {
        let mut law = after(&[100; 5]);
        law.on_timeout(&timeout(&*law, Time::ZERO));
        assert_eq!(law.ssthresh(), Some(Bytes::new(700 * MSS)), "beta of then");
        while law.phase() == "slow start" {
            law.on_ack(&ACK);
        }
        let (alpha, beta) = alpha_and_beta(&*law);
        assert!((alpha * 700.0 / 800.0 - 1.0).abs() < 0.01, "{alpha}");
        assert!((beta - 0.5).abs() < 0.01);
    }

    #[test]
    fn a_flight_below_the_window_is_what_a_loss_is_reckoned_from() {
        let mut law = after(&[100; 5]);
        law.on_loss(&Loss {
            in_flight: Bytes::new(400 * MSS),
            ..loss(&*law, Time::ZERO)
        });
        assert_eq!(segments(&*law), 350.0);
        law.on_spurious(Time::ZERO);
        assert_eq!(segments(&*law), 800.0);
    }

    #[test]
    fn on_an_empty_path_the_mean_window_is_seven_times_renos() {
        // AIMD(10, 1/8): sqrt(10*(2 - 1/8)/(2/8))/sqrt(p) = 8.66/sqrt(p); Reno's is 1.22/sqrt(p).
        for (packets, expected) in [(1_000, 274.0), (10_000, 866.0)] {
            let mut law = illinois(2 * expected as u64);
            law.on_loss(&loss(&*law, Time::ZERO));
            let mean = Path::new(RTT).mean_window(&mut *law, packets, 20);
            assert!((mean / expected - 1.0).abs() < 0.03, "1/{packets}: {mean}");
        }
    }

    #[test]
    fn alone_it_fills_a_link_and_stays_long_near_the_full_queue() {
        // 20 Mbit/s and 100 ms: 250 packets, and 125 may wait. Reno leaves 187 of 375 after each loss and idles; so
        // does beta = 1/2, but alpha = 10 fills the rest in six round trips, and then creeps.
        let mut link = Bottleneck::new(Rate::from_bits_per_sec(20_000_000), 125);
        link.add(illinois(10), RTT);
        link.run(Duration::from_secs(20));
        let before = link.flows[0].delivered;
        let (queued, _) = link.run(Duration::from_secs(100));
        let rate = link.flows[0].rate_since(before, Duration::from_secs(100));
        assert!(rate.as_bits_per_sec() > 19_600_000, "{rate}");
        // A straight climb from nothing to 125 would make 62 of it.
        assert!(queued > 75.0, "{queued}");
    }
}
