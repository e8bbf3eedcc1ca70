//! CUBIC: the window is a cubic function of the time since the last loss, flat at the window of
//! that loss.
//!
//! L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert, "CUBIC for Fast and Long-Distance Networks", RFC
//! 9438, 2023. Section numbers in this file are those of the RFC.
//!
//! * curve: `W_cubic(t) = C*(t - K)^3 + W_max`, `K = cbrt((W_max - cwnd_epoch)/C)` (4.2)
//! * per ACK: `cwnd += (target - cwnd)*acked/cwnd`, `target = W_cubic(t + RTT)` limited to cwnd and
//!   1.5*cwnd (4.4, 4.5)
//! * Reno-friendly: `W_est += alpha*acked/cwnd`, `alpha = 3*(1 - beta)/(1 + beta)`, and 1 from
//!   `W_est >= cwnd_prior` on; cwnd is W_est wherever `W_cubic(t) < W_est` (4.3)
//!   (Linux's has alpha for ever: `linux=true`)
//! * loss: `W_max = cwnd`, reduced by half of `1 - beta` if it came before the old W_max (4.7);
//!   `ssthresh = FlightSize*beta`, `cwnd = ssthresh` (4.6)
//! * timeout, or slow start that ends without a loss: `K = 0`, `W_max = cwnd_epoch` (4.8, 4.10)
//! * spurious loss: all state returns to its previous values (4.9)
//!
//! **Limits.** On a long path the initial slow start can overshoot by as much as path and queue
//! hold. A loss then leaves 0.7 of up to twice the capacity, which is still 1.4 times too much, so
//! that a second overflow and a second reduction follow. `hystart.rs` states when HyStart++ does
//! not prevent this; Linux, which has another HyStart, loses less there.
//!
//! Units: windows are bytes, times are seconds. Only C is in segments/s^3, as in the RFC; it is
//! converted to bytes/s^3 where the curve is evaluated.
//!
//! **Choices where the RFC is silent.**
//! * Growth counts bytes acknowledged, not ACKs (4.1 allows bytes), so delayed ACKs do not slow it
//!   down. One ACK counts for at most one cwnd, so that the window cannot exceed the target.
//! * In the Reno-friendly region "cwnd SHOULD be set to W_est" (4.3); here the window never shrinks
//!   on an ACK.
//! * The stage, and with it t, begins at the first ACK that may let the window grow. t excludes
//!   intervals that end in an ACK that may not (application-limited, or a recovery without a
//!   reduction) and time with nothing in flight (4.2 requires this for application-limited periods;
//!   5.8).
//! * ssthresh is computed from FlightSize, as in figure 5, and not from cwnd. FlightSize counts up
//!   to cwnd.

use crate::building_blocks::hystart::SlowStart;
use crate::building_blocks::window::{SLOW_START_LIMIT, Window};
use crate::interface::{Ack, Controller, Loss, LossResponse, Signal, Timeout};
use crate::registry::entry::{
    Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, Setup, Values, code,
};
use whimbrel_units::{Bytes, Time};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "cubic",
    code: code!("algorithms/loss/cubic.rs", "building_blocks/hystart.rs"),
    summary: "Cubic growth around the window of the last loss: the default of most systems",
    citation: "RFC 9438; RFC 9406 (slow start)",
    parameters: &[
        Parameter {
            name: "C",
            domain: Domain::Number {
                default: 0.4,
                range: (0.001, 100.0),
            },
            meaning: "steepness of the curve, segments/s^3 (RFC 9438 section 5.1)",
        },
        Parameter {
            name: "beta",
            domain: Domain::Number {
                default: 0.7,
                range: (0.1, 0.99),
            },
            meaning: "fraction of the window that remains after a loss (RFC 9438 section 4.6)",
        },
        Parameter {
            name: "fast_convergence",
            domain: Domain::Switch(true),
            meaning: "release capacity for new flows: aim lower after a loss below the last (RFC \
                      9438 section 4.7)",
        },
        Parameter {
            name: "tcp_friendliness",
            domain: Domain::Switch(true),
            meaning: "grow at least as fast as Reno would (RFC 9438 section 4.3)",
        },
        Parameter {
            name: "hystart",
            domain: Domain::Switch(true),
            meaning: "leave the initial slow start when the RTT rises (HyStart++, RFC 9406)",
        },
        Parameter {
            name: "linux",
            domain: Domain::Switch(false),
            meaning: "as Linux's tcp_cubic beyond the window of the last loss: Reno-friendly \
                      growth stays at 0.53 segments per round trip instead of 1",
        },
    ],
    feed: Feed::Acknowledgments {
        family: Family::Loss,
        driven_by: DrivenBy::Losses,
        build: |setup, values| Box::new(Cubic::new(setup, CubicConfig::from_values(values))),
    },
    kernel: Some("cubic"),
    look: Look::of(1, 1),
    ..Entry::BLANK
};

/// The parameters of CUBIC. The registry entry defines the defaults.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CubicConfig {
    /// C, steepness of the curve, segments/s^3, above 0.
    pub c: f64,
    /// beta_cubic, fraction of the window that remains after a loss, above 0 and below 1.
    pub beta: f64,
    /// Aim lower after a loss below the last one (RFC 9438 section 4.7).
    pub fast_convergence: bool,
    /// Grow at least as fast as Reno would (RFC 9438 section 4.3).
    pub tcp_friendliness: bool,
    /// Leave the initial slow start when the round-trip time rises (RFC 9406).
    pub hystart: bool,
    /// Beyond the window of the last loss W_est grows by alpha, as in Linux's tcp_cubic, instead of
    /// by a segment per round trip (RFC 9438 section 4.3).
    pub linux: bool,
}

impl CubicConfig {
    fn from_values(values: &Values) -> Self {
        Self {
            c: values.number("C"),
            beta: values.number("beta"),
            fast_convergence: values.switch("fast_convergence"),
            tcp_friendliness: values.switch("tcp_friendliness"),
            hystart: values.switch("hystart"),
            linux: values.switch("linux"),
        }
    }
}

/// The CUBIC controller.
#[derive(Debug, Clone)]
pub struct Cubic {
    config: CubicConfig,
    /// alpha_cubic, segments per round trip: Reno's growth with CUBIC's decrease (4.3).
    alpha: f64,
    slow_start: SlowStart,
    state: State,
    /// Growth of less than a byte, carried over to the next ACK, bytes.
    fraction: f64,
    /// The state before the last reduction, while that may still turn out to be spurious (4.9).
    before: Option<State>,
}

/// The state that a spurious reduction restores: the undo variables of section 4.9.2.
#[derive(Debug, Clone, Copy)]
struct State {
    window: Window,
    /// W_max, bytes; `None` if the next stage begins on the plateau (4.8, 4.10).
    w_max: Option<f64>,
    /// cwnd_prior, cwnd when ssthresh was last set, bytes; 0 before that.
    cwnd_prior: u64,
    /// `None` until the next ACK in congestion avoidance.
    stage: Option<Stage>,
}

/// One stage of congestion avoidance: from the end of slow start or recovery to the next loss.
#[derive(Debug, Clone, Copy)]
struct Stage {
    /// t_epoch, moved forward by all time that does not count.
    epoch: Time,
    /// Up to here it is decided whether time counts.
    settled: Time,
    /// K, seconds.
    k: f64,
    /// W_max of this stage, bytes.
    w_max: f64,
    /// W_est, bytes.
    w_est: f64,
}

impl Stage {
    /// Excludes the time since `settled` from t.
    fn skip_to(&mut self, now: Time) {
        self.epoch += now.since(self.settled);
        self.settled = now;
    }
}

impl Cubic {
    /// A controller for a new connection.
    pub fn new(setup: &Setup, config: CubicConfig) -> Self {
        Self {
            config,
            alpha: 3.0 * (1.0 - config.beta) / (1.0 + config.beta),
            slow_start: SlowStart::new(SLOW_START_LIMIT, config.hystart),
            state: State {
                window: Window::new(setup),
                w_max: None,
                cwnd_prior: 0,
                stage: None,
            },
            fraction: 0.0,
            before: None,
        }
    }

    /// Begins congestion avoidance with this ACK (4.2).
    #[cold]
    fn begin(&mut self, now: Time) {
        let state = &mut self.state;
        let cwnd = state.window.cwnd as f64;
        if state.cwnd_prior == 0 {
            // Slow start ended without a loss (4.10).
            state.cwnd_prior = state.window.cwnd;
        }
        let w_max = state.w_max.unwrap_or(cwnd).max(cwnd);
        state.w_max = Some(w_max);
        self.fraction = 0.0;
        let k = cube_root((w_max - cwnd) / (self.config.c * state.window.mss as f64));
        state.stage = Some(Stage {
            epoch: now,
            settled: now,
            k,
            w_max,
            w_est: cwnd,
        });
    }

    /// Congestion avoidance: `acked` bytes arrived and may let the window grow.
    fn grow(&mut self, acked: u64, ack: &Ack) {
        if self.state.stage.is_none() {
            self.begin(ack.now);
        }
        let State {
            window,
            stage: Some(stage),
            cwnd_prior,
            ..
        } = &mut self.state
        else {
            return;
        };
        let (cwnd, mss) = (window.cwnd as f64, window.mss as f64);
        let acked = acked.min(window.cwnd) as f64;
        let t = ack.now.since(stage.epoch).as_secs_f64();
        let w_cubic = |t: f64| {
            let d = t - stage.k;
            self.config.c * mss * (d * d * d) + stage.w_max
        };

        // 4.3, figure 4.
        let alpha = if stage.w_est >= *cwnd_prior as f64 && !self.config.linux {
            1.0
        } else {
            self.alpha
        };
        let w_est = stage.w_est + alpha * mss * (acked / cwnd);
        if self.config.tcp_friendliness && w_cubic(t) < w_est {
            window.cwnd = window.cwnd.max(w_est as u64);
            self.fraction = 0.0;
        } else {
            // 4.4 and 4.5 differ in name only.
            let target = w_cubic(t + ack.srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            let grow = (target - cwnd) * (acked / cwnd) + self.fraction;
            let whole = grow as u64;
            self.fraction = grow - whole as f64;
            window.cwnd = window.cwnd.saturating_add(whole);
        }
        stage.w_est = w_est;
        stage.settled = ack.now;
    }

    /// ssthresh after a loss, without its minimum (4.6, figure 5).
    fn reduced(&self, in_flight: Bytes) -> u64 {
        (self.state.window.flight(in_flight) as f64 * self.config.beta) as u64
    }
}

impl Controller for Cubic {
    fn on_sent(&mut self, now: Time, size: Bytes, in_flight: Bytes) {
        if in_flight <= size
            && let Some(stage) = &mut self.state.stage
        {
            // Nothing was in flight: time without data to send does not count (5.8).
            stage.skip_to(now);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let acked = if self.state.window.in_slow_start() {
            self.slow_start.on_ack(&mut self.state.window, ack)
        } else if Window::may_grow(ack) {
            self.state.window.eligible(ack.acked.get())
        } else {
            if let Some(stage) = &mut self.state.stage {
                stage.skip_to(ack.now);
            }
            0
        };
        if acked > 0 {
            self.grow(acked, ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        self.before = Some(self.state);
        let ssthresh = self.reduced(loss.in_flight);
        let state = &mut self.state;
        let cwnd = state.window.cwnd as f64;
        // 4.7.
        let below = state.w_max.is_some_and(|w_max| cwnd < w_max);
        let yields = self.config.fast_convergence && below;
        state.w_max = Some(if yields {
            cwnd * (1.0 + self.config.beta) / 2.0
        } else {
            cwnd
        });
        state.cwnd_prior = state.window.cwnd;
        state.stage = None;
        // 4.6, figure 5.
        match loss.signal {
            Signal::Loss => state.window.reduce_to(ssthresh),
            Signal::Ecn => state.window.reduce_for_marks_to(ssthresh),
        }
        LossResponse::REDUCED
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        let mut ssthresh = None;
        if !timeout.repeated {
            self.before = Some(self.state);
            self.state.cwnd_prior = self.state.window.cwnd;
            ssthresh = Some(self.reduced(timeout.in_flight));
        }
        // 4.8.
        self.state.w_max = None;
        self.state.stage = None;
        self.state.window.collapse(ssthresh);
    }

    fn on_spurious(&mut self, now: Time) {
        let Some(before) = self.before.take() else {
            return;
        };
        // 4.9.2: "if cwnd < cwnd_prior".
        if self.state.window.cwnd >= before.window.cwnd {
            return;
        }
        let mss = self.state.window.mss;
        self.state = before;
        self.on_mss(Bytes::new(mss));
        if let Some(stage) = &mut self.state.stage {
            // t_epoch is restored, so the time since then counts.
            stage.settled = now;
        }
    }

    fn on_mss(&mut self, mss: Bytes) {
        let old = self.state.window.mss;
        self.state.window.set_mss(mss.get());
        if let Some(stage) = &mut self.state.stage {
            // The curve still begins at cwnd_epoch: C*K^3 in bytes does not change.
            stage.k *= cube_root(old as f64 / self.state.window.mss as f64);
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.state.window.cwnd)
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.state.window.ssthresh()
    }

    fn phase(&self) -> &'static str {
        let window = &self.state.window;
        if window.in_slow_start() {
            return self.slow_start.phase(window);
        }
        let cwnd = window.cwnd as f64;
        match self.state.stage {
            Some(stage) if self.config.tcp_friendliness && cwnd <= stage.w_est => "reno-friendly",
            Some(stage) if cwnd >= stage.w_max => "convex",
            _ => "concave",
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

/// The cube root of a non-negative number, correct to the last bit or two.
///
/// `f64::cbrt` may give different bits on another machine, and simulations would then differ. This
/// function uses only arithmetic that is the same everywhere. It is called once per stage.
fn cube_root(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    // A third of the exponent, within 5 % (W. Kahan's initial guess); each Newton step squares the
    // error.
    let mut y = f64::from_bits(x.to_bits() / 3 + (0x2A9F_7893 << 32));
    for _ in 0..5 {
        y -= (y - x / (y * y)) / 3.0;
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Spec;
    use crate::testing::{ACK, MSS, Path, loss, segments, setup, timeout};
    use whimbrel_units::Duration;

    /// CUBIC with the registry's defaults, changed by `change`.
    fn cubic(segments: u64, change: impl Fn(&mut CubicConfig)) -> Cubic {
        let mut config = CubicConfig {
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            tcp_friendliness: true,
            hystart: true,
            linux: false,
        };
        change(&mut config);
        Cubic::new(&setup(segments), config)
    }

    /// A controller after a loss at 100 segments.
    fn reduced_from_100(change: impl Fn(&mut CubicConfig)) -> Cubic {
        let mut controller = cubic(100, change);
        controller.on_loss(&loss(&controller, Time::ZERO));
        controller
    }

    /// The window in segments `span` seconds after the stage began, on a path with this RTT.
    fn window_after(controller: &mut Cubic, rtt: Duration, span: f64) -> f64 {
        Path::new(rtt).rounds_for(controller, Duration::from_secs_f64(span));
        segments(controller)
    }

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn the_registry_uses_the_constants_of_the_rfc() {
        let spec: Spec = "cubic".parse().expect("a known controller");
        let mut built = spec.build(&setup(100)).expect("fed acknowledgments");
        let mut ours = cubic(100, |_| {});
        for controller in [&mut *built, &mut ours as &mut dyn Controller] {
            controller.on_loss(&loss(controller, Time::ZERO));
            Path::new(RTT).rounds_for(controller, Duration::from_secs(3));
        }
        assert_eq!(built.cwnd(), ours.cwnd());
    }

    #[test]
    fn a_loss_or_a_mark_at_100_segments_leaves_70() {
        let mut controller = cubic(100, |_| {});
        assert_eq!(
            controller.on_loss(&loss(&controller, Time::ZERO)),
            LossResponse::REDUCED
        );
        assert_eq!(
            (segments(&controller), controller.ssthresh()),
            (70.0, Some(Bytes::new(70 * MSS)))
        );
        let mut controller = cubic(100, |_| {});
        controller.on_loss(&Loss {
            signal: Signal::Ecn,
            ..loss(&controller, Time::ZERO)
        });
        assert_eq!(segments(&controller), 70.0);
    }

    #[test]
    fn the_decrease_applies_to_the_flight_size() {
        let mut controller = cubic(100, |_| {});
        controller.on_loss(&Loss {
            in_flight: Bytes::new(50 * MSS),
            ..loss(&controller, Time::ZERO)
        });
        assert_eq!(segments(&controller), 35.0);
    }

    #[test]
    fn losses_leave_two_segments_and_marks_one() {
        // Figure 5.
        let (mut lossy, mut marked) = (cubic(10, |_| {}), cubic(10, |_| {}));
        for _ in 0..20 {
            lossy.on_loss(&loss(&lossy, Time::ZERO));
            marked.on_loss(&Loss {
                signal: Signal::Ecn,
                ..loss(&marked, Time::ZERO)
            });
        }
        assert_eq!(
            (segments(&lossy), lossy.ssthresh()),
            (2.0, Some(Bytes::new(2 * MSS)))
        );
        assert_eq!(
            (segments(&marked), marked.ssthresh()),
            (1.0, Some(Bytes::new(2 * MSS)))
        );
    }

    #[test]
    fn the_window_returns_from_70_to_100_after_4_217_seconds() {
        // K = cbrt(30/0.4) = 4.217 s.
        let mut controller = reduced_from_100(|_| {});
        Path::new(Duration::from_millis(10)).round(&mut controller);
        let k = controller.state.stage.expect("begun").k;
        assert!((k - 4.217).abs() < 0.001, "{k}");
        let mut controller = reduced_from_100(|c| c.tcp_friendliness = false);
        let window = window_after(&mut controller, Duration::from_millis(10), 4.217);
        assert!((99.5..=100.5).contains(&window), "{window}");
    }

    #[test]
    fn the_window_follows_the_cubic_curve_through_w_max() {
        let mut controller = reduced_from_100(|c| c.tcp_friendliness = false);
        let mut path = Path::new(Duration::from_millis(10));
        let mut windows = vec![segments(&controller)];
        for _ in 0..9 {
            path.rounds_for(&mut controller, Duration::from_secs(1));
            windows.push(segments(&controller));
        }
        // C*(t - K)^3 + 100, computed by hand for t = 0 to 9.
        let by_hand = [
            70.0, 86.7, 95.6, 99.3, 100.0, 100.2, 102.3, 108.6, 121.6, 143.8,
        ];
        for (t, (ours, expected)) in windows.iter().zip(by_hand).enumerate() {
            assert!(
                (ours - expected).abs() < 0.6,
                "{t} s: {ours} instead of {expected}"
            );
        }
        assert_eq!(controller.phase(), "convex");
    }

    #[test]
    fn growth_depends_on_time_and_not_on_the_rtt() {
        // RFC 9438 section 3.3: growth is independent of the RTT.
        let after = |rtt| {
            let mut controller = reduced_from_100(|c| c.tcp_friendliness = false);
            window_after(&mut controller, Duration::from_millis(rtt), 8.0)
        };
        assert!(
            (after(20) / after(200) - 1.0).abs() < 0.05,
            "{} {}",
            after(20),
            after(200)
        );
    }

    #[test]
    fn delayed_acks_do_not_slow_down_growth() {
        let after = |per_ack| {
            let mut controller = reduced_from_100(|_| {});
            let mut path = Path {
                per_ack,
                ..Path::new(RTT)
            };
            path.rounds_for(&mut controller, Duration::from_secs(8));
            segments(&controller)
        };
        assert!(
            (after(1) - after(2)).abs() < 1.0,
            "{} {}",
            after(1),
            after(2)
        );
    }

    #[test]
    fn each_ack_aims_at_no_more_than_1_5_times_the_window() {
        let mut controller = reduced_from_100(|c| c.c = 100.0);
        let mut path = Path::new(Duration::from_secs(10));
        for _ in 0..4 {
            let before = segments(&controller);
            path.round(&mut controller);
            // Each ACK aims at 1.5 times the current window: exp(0.5) = 1.65 in all.
            assert!(
                segments(&controller) / before < 1.65,
                "{before} to {}",
                segments(&controller)
            );
        }
        let before = segments(&controller);
        controller.on_ack(&Ack {
            now: path.now,
            acked: Bytes::MAX,
            srtt: path.rtt,
            ..ACK
        });
        assert_eq!(
            (segments(&controller) / before * 1000.0).round(),
            1500.0,
            "one ACK of all data"
        );
    }

    #[test]
    fn on_a_short_path_it_is_as_fast_as_reno() {
        // RTT 5 ms: 0.53 segments per round trip, 3*0.3/1.7 (section 4.3), so 30 segments take 57
        // rounds.
        let mut controller = reduced_from_100(|_| {});
        let mut path = Path::new(Duration::from_millis(5));
        let mut rounds = 0;
        while segments(&controller) < 100.0 {
            path.round(&mut controller);
            rounds += 1;
        }
        assert_eq!(controller.phase(), "reno-friendly");
        assert!((50..=60).contains(&rounds), "{rounds}");
        // From cwnd_prior on, one segment per round trip.
        let before = segments(&controller);
        path.rounds_for(&mut controller, path.rtt * 20);
        assert!(
            (segments(&controller) - before - 20.0).abs() < 0.6,
            "{before} to {}",
            segments(&controller)
        );
        // Linux's: 3*0.3/1.7 of that.
        let mut linux = reduced_from_100(|c| c.linux = true);
        let rounds = path.rtt * 57;
        path.rounds_for(&mut linux, rounds);
        let before = segments(&linux);
        path.rounds_for(&mut linux, path.rtt * 20);
        let grown = segments(&linux) - before;
        assert!((grown - 10.6).abs() < 0.6, "{grown}");
    }

    #[test]
    fn a_loss_below_the_last_one_lowers_w_max_to_0_85() {
        // Section 4.7: W_max = cwnd*(1 + 0.7)/2.
        let mut controller = reduced_from_100(|_| {});
        Path::new(RTT).rounds_for(&mut controller, Duration::from_millis(200));
        let at = segments(&controller);
        assert!(at < 100.0);
        controller.on_loss(&loss(&controller, Time::ZERO));
        let w_max = controller.state.w_max.expect("set") / MSS as f64;
        assert!((w_max / at - 0.85).abs() < 1e-9, "{w_max}");

        let mut controller = reduced_from_100(|c| c.fast_convergence = false);
        Path::new(RTT).rounds_for(&mut controller, Duration::from_millis(200));
        let at = controller.cwnd();
        controller.on_loss(&loss(&controller, Time::ZERO));
        assert_eq!(controller.state.w_max, Some(at.get() as f64));
    }

    #[test]
    fn a_loss_above_the_last_one_sets_w_max() {
        let mut controller = reduced_from_100(|_| {});
        Path::new(RTT).rounds_for(&mut controller, Duration::from_secs(8));
        let at = controller.cwnd();
        assert!(at > Bytes::new(100 * MSS));
        controller.on_loss(&loss(&controller, Time::ZERO));
        assert_eq!(controller.state.w_max, Some(at.get() as f64));
    }

    #[test]
    fn after_a_timeout_the_curve_starts_flat_at_ssthresh() {
        // Section 4.8: ssthresh by beta, K = 0, W_max = W_est = cwnd at the start of the stage.
        let mut controller = cubic(100, |c| c.tcp_friendliness = false);
        // An older W_max, which must no longer matter.
        controller.state.w_max = Some(500_000.0);
        controller.on_timeout(&timeout(&controller, Time::ZERO));
        assert_eq!(
            (segments(&controller), controller.ssthresh()),
            (1.0, Some(Bytes::new(70 * MSS)))
        );
        let mut path = Path::new(Duration::from_millis(10));
        while controller.phase() == "slow start" {
            path.round(&mut controller);
        }
        let began = segments(&controller);
        assert!((70.0..70.5).contains(&began), "{began}");
        path.rounds_for(&mut controller, Duration::from_secs(1));
        assert_eq!(controller.phase(), "convex");
        // C*t^3 = 0.4 segments in the first second, 3.2 in the first two.
        assert!(
            (segments(&controller) - 70.4).abs() < 0.1,
            "{}",
            segments(&controller)
        );
        path.rounds_for(&mut controller, Duration::from_secs(1));
        assert!(
            (segments(&controller) - 73.2).abs() < 0.2,
            "{}",
            segments(&controller)
        );
    }

    #[test]
    fn a_repeated_timeout_does_not_change_ssthresh() {
        let mut controller = cubic(100, |_| {});
        controller.on_timeout(&timeout(&controller, Time::ZERO));
        controller.on_timeout(&Timeout {
            repeated: true,
            ..timeout(&controller, Time::ZERO)
        });
        assert_eq!(controller.ssthresh(), Some(Bytes::new(70 * MSS)));
        controller.on_spurious(Time::ZERO);
        assert_eq!(
            (segments(&controller), controller.ssthresh()),
            (100.0, None)
        );
    }

    #[test]
    fn without_a_loss_the_curve_starts_flat_where_slow_start_ends() {
        // Section 4.10.
        let mut controller = cubic(10, |c| c.tcp_friendliness = false);
        let mut path = Path::new(RTT);
        path.round(&mut controller);
        path.rtt = Duration::from_millis(150);
        while controller.phase() != "convex" {
            path.round(&mut controller);
        }
        let began = segments(&controller);
        assert_eq!(controller.state.stage.map(|s| s.k), Some(0.0));
        path.rounds_for(&mut controller, Duration::from_secs(1));
        assert!(
            segments(&controller) - began < 1.0,
            "{began} to {}",
            segments(&controller)
        );
    }

    #[test]
    fn a_spurious_loss_leaves_no_trace() {
        // The curve continues where it was, and the time until the undo counts (section 4.9.2).
        let mut undisturbed = reduced_from_100(|_| {});
        let mut path = Path::new(RTT);
        path.rounds_for(&mut undisturbed, Duration::from_secs(2));
        let mut controller = undisturbed.clone();
        controller.on_loss(&loss(&controller, path.now));
        assert!(controller.cwnd() < undisturbed.cwnd());
        controller.on_spurious(path.now);
        let now = path.now;
        path.rounds_for(&mut undisturbed, Duration::from_secs(6));
        Path {
            now,
            ..Path::new(RTT)
        }
        .rounds_for(&mut controller, Duration::from_secs(6));
        assert_eq!(
            (controller.cwnd(), controller.ssthresh()),
            (undisturbed.cwnd(), undisturbed.ssthresh())
        );
    }

    #[test]
    fn the_time_until_an_undo_counts() {
        let mut controller = reduced_from_100(|c| c.tcp_friendliness = false);
        let mut path = Path::new(RTT);
        path.rounds_for(&mut controller, Duration::from_secs(2));
        controller.on_loss(&loss(&controller, path.now));
        let found = path.now + Duration::from_secs(2);
        controller.on_spurious(found);
        // From here on time does not count, but the two seconds do: t_epoch is restored.
        controller.on_ack(&Ack {
            now: found,
            cwnd_limited: false,
            ..ACK
        });
        let mut path = Path {
            now: found,
            ..Path::new(RTT)
        };
        path.rounds_for(&mut controller, Duration::from_millis(400));
        assert!(
            (segments(&controller) - 100.0).abs() < 0.6,
            "{}",
            segments(&controller)
        );
    }

    #[test]
    fn a_late_undo_does_not_change_a_larger_window() {
        let mut controller = reduced_from_100(|_| {});
        Path::new(RTT).rounds_for(&mut controller, Duration::from_secs(9));
        let grown = controller.cwnd();
        assert!(grown > Bytes::new(100 * MSS));
        controller.on_spurious(Time::ZERO);
        assert_eq!(controller.cwnd(), grown);
    }

    #[test]
    fn time_without_data_to_send_does_not_count() {
        // Section 5.8. One flow pauses for a minute in the middle, the other does not.
        let minute = Duration::from_secs(60);
        let mut busy = reduced_from_100(|_| {});
        let mut path = Path::new(RTT);
        path.rounds_for(&mut busy, Duration::from_secs(2));
        let (mut idle, mut limited) = (busy.clone(), busy.clone());
        let rest = path.now;
        path.rounds_for(&mut busy, Duration::from_secs(2));

        // Silence, then a burst.
        let mut path = Path {
            now: rest + minute,
            ..Path::new(RTT)
        };
        idle.on_sent(path.now, Bytes::new(MSS), Bytes::new(MSS));
        path.rounds_for(&mut idle, Duration::from_secs(2));
        assert_eq!(idle.cwnd(), busy.cwnd());

        // A low rate that never fills the window.
        let mut now = rest;
        while now < rest + minute {
            now += RTT;
            limited.on_ack(&Ack {
                now,
                cwnd_limited: false,
                ..ACK
            });
        }
        Path {
            now,
            ..Path::new(RTT)
        }
        .rounds_for(&mut limited, Duration::from_secs(2));
        assert_eq!(limited.cwnd(), busy.cwnd());
    }

    #[test]
    fn a_window_of_one_packet_still_grows() {
        // Every ACK leaves nothing in flight, and the next packet leaves at once: no time is
        // skipped.
        let mut controller = cubic(1, |_| {});
        controller.on_loss(&Loss {
            signal: Signal::Ecn,
            ..loss(&controller, Time::ZERO)
        });
        controller.state.window.ssthresh = MSS;
        let mut now = Time::ZERO;
        for _ in 0..10 {
            controller.on_sent(now, Bytes::new(MSS), Bytes::new(MSS));
            now += RTT;
            controller.on_ack(&Ack {
                now,
                in_flight: Bytes::ZERO,
                ..ACK
            });
        }
        assert!(segments(&controller) > 3.0, "{}", segments(&controller));
    }

    #[test]
    fn a_smaller_segment_size_does_not_move_the_curve() {
        let mut controller = reduced_from_100(|c| c.tcp_friendliness = false);
        controller.on_ack(&ACK);
        let before = controller.cwnd();
        controller.on_mss(Bytes::new(MSS / 8));
        controller.on_ack(&ACK);
        // K grows by cbrt(8) = 2, and the window does not jump.
        assert!((controller.state.stage.expect("begun").k - 2.0 * 4.217).abs() < 0.01);
        assert!(controller.cwnd().get() - before.get() < MSS / 2);
    }

    /// The mean window relative to that of RFC 9438's tables 1 and 2, with the deterministic losses
    /// of section 5.
    fn relative_to_the_tables(rtt_ms: u64, c: f64, packets: u64, expected: f64) -> f64 {
        // Fast convergence should be off for a single flow (4.7) and is not in the RFC's model.
        // Because the curve is flat at W_max, a flow in this model hardly leaves its initial W_max.
        // So start where section 5 has it, at the mean over (3 + 0.7)/4.
        let begin = (expected / 0.925) as u64;
        let mut controller = cubic(begin, |config| {
            (config.c, config.fast_convergence) = (c, false)
        });
        controller.on_loss(&loss(&controller, Time::ZERO));
        let mut path = Path::new(Duration::from_millis(rtt_ms));
        path.mean_window(&mut controller, packets, 4) / expected
    }

    #[test]
    fn on_long_paths_the_mean_window_matches_the_rfc_tables() {
        for (rtt_ms, c, packets, expected) in [
            (100, 0.4, 10_000, 187.0),
            (100, 0.4, 100_000, 1054.0),
            (100, 0.4, 1_000_000, 5926.0),
            (100, 0.04, 100_000, 593.0),
            (100, 4.0, 1_000, 59.0),
            (100, 4.0, 10_000, 333.0),
            (100, 4.0, 100_000, 1874.0),
            (10, 4.0, 1_000_000, 1874.0),
        ] {
            let ratio = relative_to_the_tables(rtt_ms, c, packets, expected);
            assert!(
                (ratio - 1.0).abs() < 0.015,
                "{rtt_ms} ms, C = {c}, 1/{packets}: {ratio}"
            );
        }
    }

    #[test]
    fn on_short_paths_the_mean_window_is_that_of_reno() {
        for (rtt_ms, packets, expected) in [
            (100, 100, 12.0),
            (100, 1_000, 38.0),
            (10, 100, 12.0),
            (10, 1_000, 38.0),
            (10, 10_000, 120.0),
            (10, 100_000, 379.0),
        ] {
            let ratio = relative_to_the_tables(rtt_ms, 0.4, packets, expected);
            // The model behind alpha "is not absolutely precise" (4.3).
            assert!(
                (ratio - 1.0).abs() < 0.06,
                "{rtt_ms} ms, 1/{packets}: {ratio}"
            );
        }
    }

    #[test]
    fn cube_roots_are_accurate() {
        for n in [1e-12f64, 0.001, 0.5, 1.0, 2.0, 75.0, 12_345.678, 1e9, 1e30] {
            let root = cube_root(n * n * n);
            assert!((root / n - 1.0).abs() < 1e-15, "{n}: {root}");
        }
        assert_eq!(cube_root(0.0), 0.0);
        assert_eq!(cube_root(-1e-9), 0.0);
    }
}
