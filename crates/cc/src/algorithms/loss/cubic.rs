//! CUBIC: the window follows a cubic curve of the time since the last loss, flat where that loss was.
//!
//! L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert, "CUBIC for Fast and Long-Distance Networks", RFC 9438, 2023.
//! Section numbers in this file are its.
//!
//! * curve: `W_cubic(t) = C*(t - K)^3 + W_max`, `K = cbrt((W_max - cwnd_epoch)/C)` (4.2)
//! * per ACK: `cwnd += (target - cwnd)*acked/cwnd`, `target = W_cubic(t + RTT)` within cwnd and 1.5*cwnd (4.4, 4.5)
//! * or as fast as Reno: `W_est += alpha*acked/cwnd`, `alpha = 3*(1 - beta)/(1 + beta)`, and 1 from
//!   `W_est >= cwnd_prior` on; cwnd is W_est wherever `W_cubic(t) < W_est` (4.3)
//! * loss: `W_max = cwnd`, less by half of `1 - beta` if it came before the old W_max (4.7);
//!   `ssthresh = FlightSize*beta`, `cwnd = ssthresh` (4.6)
//! * timeout, or slow start left without a loss: `K = 0`, `W_max = cwnd_epoch` (4.8, 4.10)
//! * a mistaken loss: everything is what it was before (4.9)
//!
//! **When not.** On a long path its initial slow start can overshoot by as much as path and queue hold, and then a loss
//! leaves 0.7 of up to twice that: still 1.4 times too much, so that a second overflow and a second reduction follow.
//! `hystart.rs` says when HyStart++ does not prevent it; Linux, whose HyStart is another, loses less there.
//!
//! Units: windows are bytes, times are seconds; C alone is in segments/s^3 as the RFC has it and is
//! turned into bytes/s^3 where the curve is evaluated.
//!
//! Where the RFC leaves room:
//! * growth is by bytes acknowledged, not by ACKs (4.1 allows bytes): delayed ACKs do not slow it. One ACK
//!   counts for at most one cwnd, so that the window cannot overshoot the target.
//! * in the Reno-friendly region "cwnd SHOULD be set to W_est" (4.3); here it never shrinks on an ACK.
//! * the stage, and with it t, begins at the first ACK that may let the window grow. A span that ends in an ACK
//!   that may not (application-limited, or a recovery that reduced nothing) and time with nothing in flight
//!   are left out of t (4.2 asks it of application-limited periods; 5.8).
//! * ssthresh is taken from FlightSize, as figure 5 has it, and not from cwnd; FlightSize counts up to cwnd.

use crate::building_blocks::hystart::SlowStart;
use crate::building_blocks::window::{SLOW_START_LIMIT, Window};
use crate::interface::{Ack, Controller, Loss, LossResponse, Signal, Timeout};
use crate::registry::entry::{
    DrivenBy, Entry, Family, Feed, Parameter, Setup, Value, Values, code,
};
use whimbrel_units::{Bytes, Time};

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "cubic",
    code: code!("algorithms/loss/cubic.rs", "building_blocks/hystart.rs"),
    summary: "Cubic growth around the window of the last loss: the default of most systems",
    citation: "RFC 9438; RFC 9406 (slow start)",
    family: Family::Loss,
    driven_by: DrivenBy::Losses,
    feed: Feed::Acknowledgments,
    parameters: &[
        Parameter {
            name: "C",
            default: Value::Number(0.4),
            range: (0.001, 100.0),
            meaning: "steepness of the curve, segments/s^3 (RFC 9438 section 5.1)",
        },
        Parameter {
            name: "beta",
            default: Value::Number(0.7),
            range: (0.1, 0.99),
            meaning: "share of the window that a loss leaves (RFC 9438 section 4.6)",
        },
        Parameter {
            name: "fast_convergence",
            default: Value::Switch(true),
            range: (0.0, 0.0),
            meaning: "yield to newcomers: aim lower after a loss below the last (RFC 9438 section 4.7)",
        },
        Parameter {
            name: "tcp_friendliness",
            default: Value::Switch(true),
            range: (0.0, 0.0),
            meaning: "grow at least as fast as Reno would (RFC 9438 section 4.3)",
        },
        Parameter {
            name: "hystart",
            default: Value::Switch(true),
            range: (0.0, 0.0),
            meaning: "leave the initial slow start when the RTT rises (HyStart++, RFC 9406)",
        },
    ],
    build: |setup, values| Box::new(Cubic::new(setup, CubicConfig::from_values(values))),
};

/// What can be set about CUBIC. The defaults stand in its registry entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CubicConfig {
    /// C, steepness of the curve, segments/s^3, above 0.
    pub c: f64,
    /// beta_cubic, share of the window that a loss leaves, above 0 and below 1.
    pub beta: f64,
    /// After a loss below the last one, aim lower still (RFC 9438 section 4.7).
    pub fast_convergence: bool,
    /// Grow at least as fast as Reno would (RFC 9438 section 4.3).
    pub tcp_friendliness: bool,
    /// Leave the initial slow start when the round-trip time rises (RFC 9406).
    pub hystart: bool,
}

impl CubicConfig {
    fn from_values(values: &Values) -> Self {
        Self {
            c: values.number("C"),
            beta: values.number("beta"),
            fast_convergence: values.switch("fast_convergence"),
            tcp_friendliness: values.switch("tcp_friendliness"),
            hystart: values.switch("hystart"),
        }
    }
}

/// CUBIC's window law.
#[derive(Debug, Clone)]
pub struct Cubic {
    config: CubicConfig,
    /// alpha_cubic, segments a round trip: Reno's growth at CUBIC's decrease (4.3).
    alpha: f64,
    slow_start: SlowStart,
    state: State,
    /// Growth of less than a byte that is yet to be given, bytes.
    fraction: f64,
    /// The state before the last reduction, if that may yet prove to have been a mistake (4.9).
    before: Option<State>,
}

/// What a mistaken reduction restores: the undo variables of section 4.9.2.
#[derive(Debug, Clone, Copy)]
struct State {
    window: Window,
    /// W_max, bytes; `None` where the next stage makes its own start the plateau (4.8, 4.10).
    w_max: Option<f64>,
    /// cwnd_prior, cwnd when ssthresh was last set, bytes; 0 before that.
    cwnd_prior: u64,
    /// `None` until the next ACK in congestion avoidance.
    stage: Option<Stage>,
}

/// One stage of congestion avoidance: from the end of slow start or recovery to the next loss.
#[derive(Debug, Clone, Copy)]
struct Stage {
    /// t_epoch, moved on by all the time that does not count.
    epoch: Time,
    /// Up to here it is settled whether time counts.
    settled: Time,
    /// K, seconds.
    k: f64,
    /// W_max of this stage, bytes.
    w_max: f64,
    /// W_est, bytes.
    w_est: f64,
}

impl Stage {
    /// The time since it was last settled does not count.
    fn skip_to(&mut self, now: Time) {
        self.epoch += now.since(self.settled);
        self.settled = now;
    }
}

impl Cubic {
    /// For a new connection.
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

    /// Congestion avoidance begins with this ACK (4.2).
    #[cold]
    fn begin(&mut self, now: Time) {
        let state = &mut self.state;
        let cwnd = state.window.cwnd as f64;
        if state.cwnd_prior == 0 {
            // Slow start was left without a loss (4.10).
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
        let alpha = if stage.w_est >= *cwnd_prior as f64 {
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

    /// ssthresh after a loss, but for its floor (4.6, figure 5).
    fn reduced(&self, in_flight: Bytes) -> u64 {
        (self.state.window.flight(in_flight) as f64 * self.config.beta) as u64
    }
}

impl Controller for Cubic {
    fn on_sent(&mut self, now: Time, size: Bytes, in_flight: Bytes) {
        if in_flight <= size
            && let Some(stage) = &mut self.state.stage
        {
            // Nothing was in flight: time without anything to send does not count (5.8).
            stage.skip_to(now);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let acked = if self.state.window.in_slow_start() {
            self.slow_start.on_ack(&mut self.state.window, ack)
        } else if Window::may_grow(ack) {
            ack.acked.get()
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
            // t_epoch is what it was: the time since has passed.
            stage.settled = now;
        }
    }

    fn on_mss(&mut self, mss: Bytes) {
        let old = self.state.window.mss;
        self.state.window.set_mss(mss.get());
        if let Some(stage) = &mut self.state.stage {
            // The curve still begins at cwnd_epoch: C*K^3 in bytes is the same.
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

/// The cube root of a number that is not negative, to the last bit or two.
///
/// `f64::cbrt` may give other bits on another machine, and a simulation would then differ; this uses
/// nothing but arithmetic that is the same everywhere. Wanted once a stage.
fn cube_root(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    // A third of the exponent, within 5 %: W. Kahan's way in; then Newton's method squares the error
    // each time.
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

    /// CUBIC as the registry has it, with some of it changed.
    fn cubic(segments: u64, change: impl Fn(&mut CubicConfig)) -> Cubic {
        let mut config = CubicConfig {
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            tcp_friendliness: true,
            hystart: true,
        };
        change(&mut config);
        Cubic::new(&setup(segments), config)
    }

    /// After a loss at 100 segments.
    fn reduced_from_100(change: impl Fn(&mut CubicConfig)) -> Cubic {
        let mut law = cubic(100, change);
        law.on_loss(&loss(&law, Time::ZERO));
        law
    }

    /// The window in segments this long after the stage began, on a path of this RTT.
    fn window_after(law: &mut Cubic, rtt: Duration, span: f64) -> f64 {
        Path::new(rtt).rounds_for(law, Duration::from_secs_f64(span));
        segments(law)
    }

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn the_registry_builds_the_rfcs_constants() {
        let spec: Spec = "cubic".parse().expect("in the table");
        let mut built = spec.build(&setup(100));
        let mut ours = cubic(100, |_| {});
        for law in [&mut *built, &mut ours as &mut dyn Controller] {
            law.on_loss(&loss(law, Time::ZERO));
            Path::new(RTT).rounds_for(law, Duration::from_secs(3));
        }
        assert_eq!(built.cwnd(), ours.cwnd());
    }

    #[test]
    fn a_loss_at_100_segments_leaves_70_and_a_mark_too() {
        let mut law = cubic(100, |_| {});
        assert_eq!(law.on_loss(&loss(&law, Time::ZERO)), LossResponse::REDUCED);
        assert_eq!(
            (segments(&law), law.ssthresh()),
            (70.0, Some(Bytes::new(70 * MSS)))
        );
        let mut law = cubic(100, |_| {});
        law.on_loss(&Loss {
            signal: Signal::Ecn,
            ..loss(&law, Time::ZERO)
        });
        assert_eq!(segments(&law), 70.0);
    }

    #[test]
    fn the_decrease_is_of_what_is_in_flight() {
        let mut law = cubic(100, |_| {});
        law.on_loss(&Loss {
            in_flight: Bytes::new(50 * MSS),
            ..loss(&law, Time::ZERO)
        });
        assert_eq!(segments(&law), 35.0);
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
    fn from_70_the_window_is_back_at_100_after_4_217_seconds() {
        // K = cbrt(30/0.4) = 4.217 s.
        let mut law = reduced_from_100(|_| {});
        Path::new(Duration::from_millis(10)).round(&mut law);
        let k = law.state.stage.expect("begun").k;
        assert!((k - 4.217).abs() < 0.001, "{k}");
        let mut law = reduced_from_100(|c| c.tcp_friendliness = false);
        let window = window_after(&mut law, Duration::from_millis(10), 4.217);
        assert!((99.5..=100.5).contains(&window), "{window}");
    }

    #[test]
    fn the_window_grows_ever_slower_up_to_w_max_and_ever_faster_beyond() {
        let mut law = reduced_from_100(|c| c.tcp_friendliness = false);
        let mut path = Path::new(Duration::from_millis(10));
        let mut windows = vec![segments(&law)];
        for _ in 0..9 {
            path.rounds_for(&mut law, Duration::from_secs(1));
            windows.push(segments(&law));
        }
        // C*(t - K)^3 + 100 by hand, t = 0 to 9.
        let by_hand = [
            70.0, 86.7, 95.6, 99.3, 100.0, 100.2, 102.3, 108.6, 121.6, 143.8,
        ];
        for (t, (ours, expected)) in windows.iter().zip(by_hand).enumerate() {
            assert!(
                (ours - expected).abs() < 0.6,
                "{t} s: {ours} against {expected}"
            );
        }
        assert_eq!(law.phase(), "convex");
    }

    #[test]
    fn the_window_follows_the_clock_and_not_the_round_trip() {
        // RFC 9438 section 3.3: growth is independent of the RTT.
        let after = |rtt| {
            let mut law = reduced_from_100(|c| c.tcp_friendliness = false);
            window_after(&mut law, Duration::from_millis(rtt), 8.0)
        };
        assert!(
            (after(20) / after(200) - 1.0).abs() < 0.05,
            "{} {}",
            after(20),
            after(200)
        );
    }

    #[test]
    fn delayed_acks_do_not_slow_it() {
        let after = |per_ack| {
            let mut law = reduced_from_100(|_| {});
            let mut path = Path {
                per_ack,
                ..Path::new(RTT)
            };
            path.rounds_for(&mut law, Duration::from_secs(8));
            segments(&law)
        };
        assert!(
            (after(1) - after(2)).abs() < 1.0,
            "{} {}",
            after(1),
            after(2)
        );
    }

    #[test]
    fn a_window_grows_by_at_most_half_in_a_round_trip() {
        let mut law = reduced_from_100(|c| c.c = 100.0);
        let mut path = Path::new(Duration::from_secs(10));
        for _ in 0..4 {
            let before = segments(&law);
            path.round(&mut law);
            // Each ACK aims at 1.5 times the window as it then is: exp(0.5) = 1.65 in all.
            assert!(
                segments(&law) / before < 1.65,
                "{before} to {}",
                segments(&law)
            );
        }
        let before = segments(&law);
        law.on_ack(&Ack {
            now: path.now,
            acked: Bytes::MAX,
            srtt: path.rtt,
            ..ACK
        });
        assert_eq!(
            (segments(&law) / before * 1000.0).round(),
            1500.0,
            "one ACK of everything"
        );
    }

    #[test]
    fn on_a_short_path_it_grows_as_reno_would_at_its_decrease_and_then_as_reno() {
        // RTT 5 ms: 0.53 segments a round trip, 3*0.3/1.7 (section 4.3), so 30 segments take 57 rounds.
        let mut law = reduced_from_100(|_| {});
        let mut path = Path::new(Duration::from_millis(5));
        let mut rounds = 0;
        while segments(&law) < 100.0 {
            path.round(&mut law);
            rounds += 1;
        }
        assert_eq!(law.phase(), "reno-friendly");
        assert!((50..=60).contains(&rounds), "{rounds}");
        // Having reached cwnd_prior: one segment a round trip.
        let before = segments(&law);
        path.rounds_for(&mut law, path.rtt * 20);
        assert!(
            (segments(&law) - before - 20.0).abs() < 0.6,
            "{before} to {}",
            segments(&law)
        );
    }

    #[test]
    fn a_loss_below_the_last_one_aims_lower_by_0_85() {
        // Section 4.7: W_max = cwnd*(1 + 0.7)/2.
        let mut law = reduced_from_100(|_| {});
        Path::new(RTT).rounds_for(&mut law, Duration::from_millis(200));
        let at = segments(&law);
        assert!(at < 100.0);
        law.on_loss(&loss(&law, Time::ZERO));
        let w_max = law.state.w_max.expect("set") / MSS as f64;
        assert!((w_max / at - 0.85).abs() < 1e-9, "{w_max}");

        let mut law = reduced_from_100(|c| c.fast_convergence = false);
        Path::new(RTT).rounds_for(&mut law, Duration::from_millis(200));
        let at = law.cwnd();
        law.on_loss(&loss(&law, Time::ZERO));
        assert_eq!(law.state.w_max, Some(at.get() as f64));
    }

    #[test]
    fn a_loss_above_the_last_one_is_the_new_plateau() {
        let mut law = reduced_from_100(|_| {});
        Path::new(RTT).rounds_for(&mut law, Duration::from_secs(8));
        let at = law.cwnd();
        assert!(at > Bytes::new(100 * MSS));
        law.on_loss(&loss(&law, Time::ZERO));
        assert_eq!(law.state.w_max, Some(at.get() as f64));
    }

    #[test]
    fn after_a_timeout_slow_start_runs_to_70_and_the_curve_starts_flat_there() {
        // Section 4.8: ssthresh by beta, K = 0, W_max = W_est = cwnd where the stage begins.
        let mut law = cubic(100, |c| c.tcp_friendliness = false);
        // An older W_max, which is not to be aimed at any more.
        law.state.w_max = Some(500_000.0);
        law.on_timeout(&timeout(&law, Time::ZERO));
        assert_eq!(
            (segments(&law), law.ssthresh()),
            (1.0, Some(Bytes::new(70 * MSS)))
        );
        let mut path = Path::new(Duration::from_millis(10));
        while law.phase() == "slow start" {
            path.round(&mut law);
        }
        let began = segments(&law);
        assert!((70.0..70.5).contains(&began), "{began}");
        path.rounds_for(&mut law, Duration::from_secs(1));
        assert_eq!(law.phase(), "convex");
        // C*t^3 = 0.4 segments in the first second, 3.2 in the first two.
        assert!((segments(&law) - 70.4).abs() < 0.1, "{}", segments(&law));
        path.rounds_for(&mut law, Duration::from_secs(1));
        assert!((segments(&law) - 73.2).abs() < 0.2, "{}", segments(&law));
    }

    #[test]
    fn a_repeated_timeout_leaves_ssthresh_alone() {
        let mut law = cubic(100, |_| {});
        law.on_timeout(&timeout(&law, Time::ZERO));
        law.on_timeout(&Timeout {
            repeated: true,
            ..timeout(&law, Time::ZERO)
        });
        assert_eq!(law.ssthresh(), Some(Bytes::new(70 * MSS)));
        law.on_spurious(Time::ZERO);
        assert_eq!((segments(&law), law.ssthresh()), (100.0, None));
    }

    #[test]
    fn slow_start_left_without_a_loss_starts_flat_where_it_ended() {
        // Section 4.10.
        let mut law = cubic(10, |c| c.tcp_friendliness = false);
        let mut path = Path::new(RTT);
        path.round(&mut law);
        path.rtt = Duration::from_millis(150);
        while law.phase() != "convex" {
            path.round(&mut law);
        }
        let began = segments(&law);
        assert_eq!(law.state.stage.map(|s| s.k), Some(0.0));
        path.rounds_for(&mut law, Duration::from_secs(1));
        assert!(
            segments(&law) - began < 1.0,
            "{began} to {}",
            segments(&law)
        );
    }

    #[test]
    fn a_mistaken_loss_leaves_no_trace() {
        // The curve goes on where it was, the time of the mistake included (section 4.9.2).
        let mut undisturbed = reduced_from_100(|_| {});
        let mut path = Path::new(RTT);
        path.rounds_for(&mut undisturbed, Duration::from_secs(2));
        let mut law = undisturbed.clone();
        law.on_loss(&loss(&law, path.now));
        assert!(law.cwnd() < undisturbed.cwnd());
        law.on_spurious(path.now);
        let now = path.now;
        path.rounds_for(&mut undisturbed, Duration::from_secs(6));
        Path {
            now,
            ..Path::new(RTT)
        }
        .rounds_for(&mut law, Duration::from_secs(6));
        assert_eq!(
            (law.cwnd(), law.ssthresh()),
            (undisturbed.cwnd(), undisturbed.ssthresh())
        );
    }

    #[test]
    fn the_time_a_mistake_took_is_on_the_curve() {
        let mut law = reduced_from_100(|c| c.tcp_friendliness = false);
        let mut path = Path::new(RTT);
        path.rounds_for(&mut law, Duration::from_secs(2));
        law.on_loss(&loss(&law, path.now));
        let found = path.now + Duration::from_secs(2);
        law.on_spurious(found);
        // From here on time does not count, but the two seconds do: t_epoch is restored.
        law.on_ack(&Ack {
            now: found,
            cwnd_limited: false,
            ..ACK
        });
        let mut path = Path {
            now: found,
            ..Path::new(RTT)
        };
        path.rounds_for(&mut law, Duration::from_millis(400));
        assert!((segments(&law) - 100.0).abs() < 0.6, "{}", segments(&law));
    }

    #[test]
    fn a_mistake_found_after_the_window_has_outgrown_it_changes_nothing() {
        let mut law = reduced_from_100(|_| {});
        Path::new(RTT).rounds_for(&mut law, Duration::from_secs(9));
        let grown = law.cwnd();
        assert!(grown > Bytes::new(100 * MSS));
        law.on_spurious(Time::ZERO);
        assert_eq!(law.cwnd(), grown);
    }

    #[test]
    fn time_without_data_to_send_is_not_on_the_curve() {
        // Section 5.8. One flow rests for a minute in the middle, the other does not.
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

        // A trickle that never fills the window.
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
        // Every ACK leaves nothing in flight, and the next packet leaves at once: no time is skipped.
        let mut law = cubic(1, |_| {});
        law.on_loss(&Loss {
            signal: Signal::Ecn,
            ..loss(&law, Time::ZERO)
        });
        law.state.window.ssthresh = MSS;
        let mut now = Time::ZERO;
        for _ in 0..10 {
            law.on_sent(now, Bytes::new(MSS), Bytes::new(MSS));
            now += RTT;
            law.on_ack(&Ack {
                now,
                in_flight: Bytes::ZERO,
                ..ACK
            });
        }
        assert!(segments(&law) > 3.0, "{}", segments(&law));
    }

    #[test]
    fn a_smaller_segment_leaves_the_curve_where_it_begins() {
        let mut law = reduced_from_100(|c| c.tcp_friendliness = false);
        law.on_ack(&ACK);
        let before = law.cwnd();
        law.on_mss(Bytes::new(MSS / 8));
        law.on_ack(&ACK);
        // K grows by cbrt(8) = 2, and the window does not jump.
        assert!((law.state.stage.expect("begun").k - 2.0 * 4.217).abs() < 0.01);
        assert!(law.cwnd().get() - before.get() < MSS / 2);
    }

    /// The mean window over RFC 9438's in tables 1 and 2, under the deterministic losses of section 5.
    fn against_the_tables(rtt_ms: u64, c: f64, packets: u64, expected: f64) -> f64 {
        // Fast convergence is to be off for a single flow (4.7) and is not in the RFC's model. The curve
        // being flat at W_max, a flow under this model hardly leaves the W_max it starts from; so start
        // where section 5 has it, at the mean over (3 + 0.7)/4.
        let begin = (expected / 0.925) as u64;
        let mut law = cubic(begin, |config| {
            (config.c, config.fast_convergence) = (c, false)
        });
        law.on_loss(&loss(&law, Time::ZERO));
        let mut path = Path::new(Duration::from_millis(rtt_ms));
        path.mean_window(&mut law, packets, 4) / expected
    }

    #[test]
    fn on_long_paths_the_mean_window_is_that_of_the_rfcs_tables() {
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
            let ratio = against_the_tables(rtt_ms, c, packets, expected);
            assert!(
                (ratio - 1.0).abs() < 0.015,
                "{rtt_ms} ms, C = {c}, 1/{packets}: {ratio}"
            );
        }
    }

    #[test]
    fn on_short_paths_the_mean_window_is_renos() {
        for (rtt_ms, packets, expected) in [
            (100, 100, 12.0),
            (100, 1_000, 38.0),
            (10, 100, 12.0),
            (10, 1_000, 38.0),
            (10, 10_000, 120.0),
            (10, 100_000, 379.0),
        ] {
            let ratio = against_the_tables(rtt_ms, 0.4, packets, expected);
            // The model behind alpha "is not absolutely precise" (4.3).
            assert!(
                (ratio - 1.0).abs() < 0.06,
                "{rtt_ms} ms, 1/{packets}: {ratio}"
            );
        }
    }

    #[test]
    fn cube_roots_are_right() {
        for n in [1e-12f64, 0.001, 0.5, 1.0, 2.0, 75.0, 12_345.678, 1e9, 1e30] {
            let root = cube_root(n * n * n);
            assert!((root / n - 1.0).abs() < 1e-15, "{n}: {root}");
        }
        assert_eq!(cube_root(0.0), 0.0);
        assert_eq!(cube_root(-1e-9), 0.0);
    }
}
