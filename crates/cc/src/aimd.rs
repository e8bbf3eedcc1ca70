//! Additive increase and multiplicative decrease with a law's own increase and decrease: what the laws that differ
//! from Reno in these two alone have in common.
//!
//! RFC 5681 with the increase and the decrease left open:
//!
//! * slow start: as [`Window::slow_start`], L = 2 of RFC 3465, unless the rule has its own
//! * congestion avoidance: [`Rule::increase`] segments for each cwnd of bytes acknowledged
//! * loss: `ssthresh = (1 - b)*FlightSize`, at least two segments, `cwnd = ssthresh`, b from [`Rule::decrease`]
//! * timeout: the same ssthresh, `cwnd = 1` segment (RFC 5681 section 3.1)
//! * a mistaken one of the two: window and ssthresh are what they were before, and so is what of the rule's state the
//!   loss had changed
//!
//! A law is then its [`Rule`]: its formula, the state that the formula needs, and nothing else. Growth is counted in
//! bytes acknowledged, so that delayed ACKs do not slow it. FlightSize counts up to cwnd, as in `newreno.rs`.

use crate::controller::{Controller, LossResponse};
use crate::event::{Ack, Loss, Timeout};
use crate::registry::Setup;
use crate::window::Window;
use std::fmt::Debug;
use whimbrel_units::{Bytes, Rate, Time};

/// L of RFC 3465, segments: most that slow start grows by per ACK (section 2.3).
pub(crate) const SLOW_START_LIMIT: u64 = 2;

/// Reno's increase, segments for each window of data.
pub(crate) const RENO_INCREASE: f64 = 1.0;

/// Reno's decrease, share of the window.
pub(crate) const RENO_DECREASE: f64 = 0.5;

/// The part of a law that is its own.
pub(crate) trait Rule: Debug + Clone + Send + Sync + 'static {
    /// Data was acknowledged: the place to measure. Told before the window grows for it. A law with a part of its
    /// window that follows delays changes it here, and then minds [`Window::may_grow`] itself.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let _ = (window, ack);
    }

    /// Slow start with `acked` bytes that may let the window grow. Returns those left over for congestion avoidance.
    fn slow_start(&mut self, window: &mut Window, acked: u64) -> u64 {
        window.slow_start(acked, SLOW_START_LIMIT)
    }

    /// Segments by which the window grows for each window of data acknowledged in congestion avoidance.
    fn increase(&self, window: &Window) -> f64;

    /// A loss or a first timeout: the share of the flight that is given up for it, from 0 to 1.
    fn decrease(&mut self, window: &Window) -> f64;

    /// The timer fired; told after [`decrease`](Self::decrease).
    fn on_timeout(&mut self) {}

    /// The last decrease or timeout was a mistake: takes back from `before` what it changed, not what was measured
    /// since.
    fn on_spurious(&mut self, before: &Self) {
        let _ = before;
    }

    /// The rate at which packets should leave, if the law spaces them.
    fn pacing_rate(&self, window: &Window) -> Option<Rate> {
        let _ = window;
        None
    }

    /// What it is doing outside of slow start, for a trace.
    fn phase(&self, window: &Window) -> &'static str {
        let _ = window;
        "congestion avoidance"
    }
}

/// A window that lives by a [`Rule`].
#[derive(Debug, Clone)]
pub(crate) struct Aimd<R> {
    window: Window,
    rule: R,
    /// Both before the last reduction, if that may yet prove to have been a mistake.
    before: Option<(Window, R)>,
}

impl<R: Rule> Aimd<R> {
    /// For a new connection.
    pub fn new(setup: &Setup, rule: R) -> Self {
        Self {
            window: Window::new(setup),
            rule,
            before: None,
        }
    }

    /// What an episode of loss or a timeout leaves, but for its floor.
    fn reduced(&mut self, in_flight: Bytes) -> u64 {
        let left = 1.0 - self.rule.decrease(&self.window);
        (self.window.flight(in_flight) as f64 * left) as u64
    }

    fn remember(&mut self) {
        self.before = Some((self.window, self.rule.clone()));
    }
}

impl<R: Rule> Controller for Aimd<R> {
    fn on_ack(&mut self, ack: &Ack) {
        self.rule.on_ack(&mut self.window, ack);
        if !Window::may_grow(ack) {
            return;
        }
        let mut acked = ack.acked.get();
        if self.window.in_slow_start() {
            acked = self.rule.slow_start(&mut self.window, acked);
        }
        if acked > 0 {
            let segments = self.rule.increase(&self.window);
            self.window.grow(acked, segments);
        }
    }

    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        self.remember();
        let ssthresh = self.reduced(loss.in_flight);
        self.window.reduce_to(ssthresh);
        LossResponse::REDUCED
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        let mut ssthresh = None;
        if !timeout.repeated {
            self.remember();
            ssthresh = Some(self.reduced(timeout.in_flight));
        }
        self.rule.on_timeout();
        self.window.collapse(ssthresh);
    }

    fn on_spurious(&mut self, _now: Time) {
        let Some((window, rule)) = self.before.take() else {
            return;
        };
        if self.window.cwnd < window.cwnd {
            self.window.restore(&window);
            self.rule.on_spurious(&rule);
        }
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.window.set_mss(mss.get());
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.window.cwnd)
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.window.ssthresh()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.rule.pacing_rate(&self.window)
    }

    fn phase(&self) -> &'static str {
        if self.window.in_slow_start() {
            "slow start"
        } else {
            self.rule.phase(&self.window)
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NewReno;
    use crate::testing::{ACK, MSS, Path, loss, segments, setup, timeout};
    use whimbrel_units::Duration;

    /// Reno's two numbers, and how often it lost something.
    #[derive(Debug, Clone, Default)]
    struct Reno {
        losses: u32,
    }

    impl Rule for Reno {
        fn increase(&self, _: &Window) -> f64 {
            RENO_INCREASE
        }
        fn decrease(&mut self, _: &Window) -> f64 {
            self.losses += 1;
            RENO_DECREASE
        }
        fn on_spurious(&mut self, before: &Self) {
            self.losses = before.losses;
        }
    }

    fn reno(segments: u64) -> Aimd<Reno> {
        Aimd::new(&setup(segments), Reno::default())
    }

    #[test]
    fn with_renos_two_numbers_it_is_newreno() {
        let mut path = Path::new(Duration::from_millis(100));
        let mut laws: [Box<dyn Controller>; 2] = [
            Box::new(reno(10)),
            Box::new(NewReno::new(&setup(10), SLOW_START_LIMIT)),
        ];
        for step in 0..40 {
            for law in &mut laws {
                match step {
                    4 | 12 | 33 => {
                        let loss = loss(&**law, path.now);
                        assert_eq!(law.on_loss(&loss), LossResponse::REDUCED);
                    }
                    20 => law.on_timeout(&timeout(&**law, path.now)),
                    35 => law.on_spurious(path.now),
                    _ => path.round(&mut **law),
                }
            }
            // This one grows with every ACK, NewReno by a whole segment at the end of a window.
            let [ours, theirs] = laws.each_ref().map(|law| segments(&**law));
            assert!((ours - theirs).abs() < 1.5, "{step}: {ours} {theirs}");
            assert_eq!(laws[0].phase(), laws[1].phase(), "{step}");
        }
    }

    #[test]
    fn nothing_grows_in_recovery_or_while_the_window_is_not_used() {
        let mut avoiding = reno(20);
        avoiding.on_loss(&loss(&avoiding, Time::ZERO));
        for mut law in [reno(10), avoiding] {
            for (in_recovery, cwnd_limited) in [(true, true), (false, false)] {
                law.on_ack(&Ack {
                    in_recovery,
                    cwnd_limited,
                    ..ACK
                });
            }
            assert_eq!(segments(&law), 10.0);
        }
    }

    #[test]
    fn a_mistake_is_taken_back_in_window_and_rule_unless_the_window_has_outgrown_it() {
        let mut law = reno(40);
        law.on_loss(&loss(&law, Time::ZERO));
        law.on_spurious(Time::ZERO);
        assert_eq!((segments(&law), law.rule.losses), (40.0, 0));
        assert_eq!(law.ssthresh(), None);
        law.on_loss(&loss(&law, Time::ZERO));
        Path::new(Duration::from_millis(100)).rounds_for(&mut law, Duration::from_secs(3));
        let grown = segments(&law);
        law.on_spurious(Time::ZERO);
        assert_eq!((segments(&law), law.rule.losses), (grown, 1));
    }

    #[test]
    fn a_repeated_timeout_decreases_nothing_more() {
        let mut law = reno(40);
        law.on_timeout(&timeout(&law, Time::ZERO));
        law.on_timeout(&Timeout {
            repeated: true,
            ..timeout(&law, Time::ZERO)
        });
        assert_eq!((segments(&law), law.rule.losses), (1.0, 1));
        assert_eq!(law.ssthresh(), Some(Bytes::new(20 * MSS)));
    }
}
