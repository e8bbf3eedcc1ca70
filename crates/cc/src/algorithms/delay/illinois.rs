//! TCP-Illinois: losses decide whether the window grows or shrinks, delays decide by how much.
//!
//! S. Liu, T. Basar, R. Srikant, "TCP-Illinois: A Loss- and Delay-based Congestion Control
//! Algorithm for High-speed Networks", Performance Evaluation 65(6-7), 2008.
//!
//! Let d_a be the mean queueing delay of the last round trip (its mean RTT minus the minimum RTT),
//! d_m the maximum queueing delay so far, and d_i = eta_i*d_m. Once per round trip:
//!
//! * increase: `alpha = alpha_max` if `d_a <= d_1`, otherwise `k1/(k2 + d_a)`, with `s = (d_m -
//!   d_1)/(alpha_max - alpha_min)`, `k1 = s*alpha_min*alpha_max`, `k2 = s*alpha_min - d_1`
//! * decrease: `beta = beta_min` if `d_a <= d_2`, `beta_max` if `d_a >= d_3`, linear in between
//! * `cwnd += alpha/cwnd` per segment acknowledged, `cwnd -= beta*cwnd` per loss
//! * below W_thresh segments alpha = 1 and beta = 1/2: Reno
//! * once d_a has exceeded d_1, alpha returns to alpha_max only after theta consecutive round trips
//!   at d_1 or less
//! * timeout: alpha = 1, beta = 1/2
//!
//! **Physics.** While the queue is empty, the window may grow fast; near the delay of the last
//! losses it must grow slowly. The window curve is concave and stays near full throughput for long.
//! A loss with a short queue is probably a channel error and costs an eighth; one with a full queue
//! costs a half. On an empty path the mean window is sqrt(75/p) = 8.7/sqrt(p), seven times Reno's.
//!
//! **Limits.** d_m never decreases. After an RTT outlier, or when the path becomes shorter, all
//! later queues look short and alpha stays at ten. With a queue much shorter than the jitter of
//! other delays, alpha and beta carry little information.
//!
//! Units: windows are bytes; alpha and W_thresh are in segments; delays are seconds.
//!
//! **Where sources differ.** alpha_min is 0.3 in Linux's tcp_illinois.c (by S. Hemminger with S.
//! Liu), in ns-3 and in encyclopedias, and so here; 0.1 is also given. d_m is the maximum of single
//! samples, as in both. An interrupted run of short queues starts again, where Linux continues to
//! count. The text of the paper was not available; the code of Linux and ns-3 was.

use crate::building_blocks::aimd::{Aimd, IncreaseDecrease, RENO_DECREASE, RENO_INCREASE};
use crate::building_blocks::rule::WindowController;
use crate::building_blocks::window::Window;
use crate::estimators::round_rtt::RoundRtt;
use crate::interface::Ack;
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};
use whimbrel_units::Duration;

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "illinois",
    code: code!("algorithms/delay/illinois.rs"),
    summary: "Reno whose increase and decrease depend on the queueing delay: fast on an empty \
              path, slow on a full one",
    citation: "S. Liu, T. Basar, R. Srikant, \"TCP-Illinois: A Loss- and Delay-based Congestion \
               Control Algorithm for High-speed Networks\", Performance Evaluation 65(6-7), 2008",
    parameters: &[
        number(
            "alpha_min",
            0.3,
            (0.01, 1.0),
            "increase at the maximum delay, segments per round trip",
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
            "decrease on loss at short delays, fraction of the window",
        ),
        number(
            "beta_max",
            0.5,
            (0.5, 0.9),
            "decrease on loss at long delays, fraction of the window",
        ),
        number(
            "W_thresh",
            15.0,
            (0.0, 1_000.0),
            "Reno below this window, segments",
        ),
        number(
            "eta1",
            0.01,
            (0.0, 0.05),
            "fraction of the maximum delay up to which the increase is alpha_max",
        ),
        number(
            "eta2",
            0.1,
            (0.05, 0.4),
            "fraction of the maximum delay up to which the decrease is beta_min",
        ),
        number(
            "eta3",
            0.8,
            (0.5, 1.0),
            "fraction of the maximum delay from which the decrease is beta_max",
        ),
        number(
            "theta",
            5.0,
            (1.0, 100.0),
            "consecutive round trips of short delay after which the increase returns to alpha_max",
        ),
    ],
    feed: Feed::Acknowledgments {
        family: Family::Delay,
        driven_by: DrivenBy::Losses,
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
    },
    kernel: Some("illinois"),
    look: Look::of(35, 3),
    ..Entry::BLANK
};

const fn number(
    name: &'static str,
    default: f64,
    range: (f64, f64),
    meaning: &'static str,
) -> Parameter {
    Parameter {
        name,
        domain: Domain::Number { default, range },
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

/// The state that depends on the delays.
#[derive(Debug, Clone, Copy)]
struct Adaptive {
    /// Segments per round trip.
    alpha: f64,
    /// Decrease on loss, fraction of the window.
    beta: f64,
    /// d_a has exceeded d_1 since alpha was last alpha_max.
    was_above: bool,
    /// Consecutive round trips with d_a at d_1 or below.
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
        let spec: Spec = "illinois".parse().expect("a known controller");
        spec.build(&setup(segments)).expect("fed acknowledgments")
    }

    /// A round trip of ten ACKs with this RTT, on a path of 100 ms, in which the window may not
    /// grow.
    fn measured(controller: &mut dyn Controller, ms: u64) {
        for i in 0..10 {
            controller.on_ack(&Ack {
                rtt: Some(Duration::from_millis(ms)),
                round_start: i == 0,
                cwnd_limited: false,
                ..ACK
            });
        }
    }

    /// A controller in congestion avoidance with 800 segments, after round trips with these RTTs.
    /// The maximum queueing delay so far is 100 ms.
    fn after(rtts: &[u64]) -> Box<dyn Controller> {
        let mut controller = illinois(1600);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        assert_eq!(
            segments(&*controller),
            800.0,
            "beta is 1/2 before the first measurement"
        );
        for ms in [100, 200].iter().chain(rtts) {
            measured(&mut *controller, *ms);
        }
        // A round trip is evaluated when the next one begins.
        controller.on_ack(&Ack {
            rtt: None,
            round_start: true,
            cwnd_limited: false,
            ..ACK
        });
        controller
    }

    /// The growth over one window of data in segments, and the fraction that a loss takes.
    fn alpha_and_beta(controller: &dyn Controller) -> (f64, f64) {
        let mut grown = controller.clone_box();
        for _ in 0..800 {
            grown.on_ack(&ACK);
        }
        let mut lost = controller.clone_box();
        lost.on_loss(&loss(controller, Time::ZERO));
        let before = segments(controller);
        (segments(&*grown) - before, 1.0 - segments(&*lost) / before)
    }

    #[test]
    fn increase_and_decrease_depend_on_the_delay_as_in_the_paper() {
        // d_m = 100 ms, d_1 = 1 ms: k1 = 0.099*3/9.7 = 0.030619, k2 = 0.099*0.3/9.7 - 0.001 =
        // 0.0020619 s. At 50 ms: 0.030619/0.0520619 = 0.588; beta is linear from 1/8 at 10 ms to
        // 1/2 at 80 ms: 0.125 + 0.375*4/7.
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
    fn five_round_trips_without_queue_restore_the_full_increase() {
        // At 200 ms alpha is 0.3, and it stays so for four round trips at d_1 or less.
        assert!((alpha_and_beta(&*after(&[100; 4])).0 - 0.3).abs() < 0.01);
        assert!((alpha_and_beta(&*after(&[100; 5])).0 - 10.0).abs() < 0.1);
        // An interruption restarts the count.
        let interrupted = after(&[100, 100, 100, 200, 100, 100]);
        assert!((alpha_and_beta(&*interrupted).0 - 0.3).abs() < 0.01);
    }

    #[test]
    fn small_windows_are_those_of_reno_at_any_delay() {
        let mut controller = illinois(14);
        measured(&mut *controller, 100);
        measured(&mut *controller, 100);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        assert_eq!(segments(&*controller), 7.0);
        Path::new(RTT).round(&mut *controller);
        assert!((segments(&*controller) - 8.0).abs() < 0.1);
    }

    #[test]
    fn after_a_timeout_it_is_reno_until_the_next_measurement() {
        let mut controller = after(&[100; 5]);
        controller.on_timeout(&timeout(&*controller, Time::ZERO));
        assert_eq!(
            controller.ssthresh(),
            Some(Bytes::new(700 * MSS)),
            "beta before the timeout"
        );
        while controller.phase() == "slow start" {
            controller.on_ack(&ACK);
        }
        let (alpha, beta) = alpha_and_beta(&*controller);
        assert!((alpha * 700.0 / 800.0 - 1.0).abs() < 0.01, "{alpha}");
        assert!((beta - 0.5).abs() < 0.01);
    }

    #[test]
    fn a_loss_is_computed_from_the_flight_size() {
        let mut controller = after(&[100; 5]);
        controller.on_loss(&Loss {
            in_flight: Bytes::new(400 * MSS),
            ..loss(&*controller, Time::ZERO)
        });
        assert_eq!(segments(&*controller), 350.0);
        controller.on_spurious(Time::ZERO);
        assert_eq!(segments(&*controller), 800.0);
    }

    #[test]
    fn on_an_empty_path_the_mean_window_is_seven_times_renos() {
        // AIMD(10, 1/8): sqrt(10*(2 - 1/8)/(2/8))/sqrt(p) = 8.66/sqrt(p); Reno's is 1.22/sqrt(p).
        for (packets, expected) in [(1_000, 274.0), (10_000, 866.0)] {
            let mut controller = illinois(2 * expected as u64);
            controller.on_loss(&loss(&*controller, Time::ZERO));
            let mean = Path::new(RTT).mean_window(&mut *controller, packets, 20);
            assert!((mean / expected - 1.0).abs() < 0.03, "1/{packets}: {mean}");
        }
    }

    #[test]
    fn a_single_flow_fills_a_link_and_stays_near_the_full_queue() {
        // 20 Mbit/s and 100 ms: 250 packets in flight and 125 in the buffer. Reno leaves 187 of 375
        // after each loss and underuses the link. So does beta = 1/2 here, but alpha = 10 fills the
        // rest in six round trips and then slows down.
        let mut link = Bottleneck::new(Rate::from_bits_per_sec(20_000_000), 125);
        link.add(illinois(10), RTT);
        link.run(Duration::from_secs(20));
        let before = link.flows[0].delivered;
        let (queued, _) = link.run(Duration::from_secs(100));
        let rate = link.flows[0].rate_since(before, Duration::from_secs(100));
        assert!(rate.as_bits_per_sec() > 19_600_000, "{rate}");
        // A linear increase from 0 to 125 would give a mean of 62.
        assert!(queued > 75.0, "{queued}");
    }
}
