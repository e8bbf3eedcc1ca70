//! Additive increase and multiplicative decrease with a law's own increase and decrease: what the laws that differ
//! from Reno in these two alone have in common.
//!
//! RFC 5681 with the increase and the decrease left open:
//!
//! * slow start: as [`Window::slow_start`], L = 2 of RFC 3465, unless the law has its own
//! * congestion avoidance: [`IncreaseDecrease::increase`] segments for each cwnd of bytes acknowledged
//! * loss: `ssthresh = (1 - b)*FlightSize`, at least two segments, `cwnd = ssthresh`, b from
//!   [`IncreaseDecrease::decrease`]
//! * timeout: the same ssthresh, `cwnd = 1` segment (RFC 5681 section 3.1)
//!
//! A law is then its [`IncreaseDecrease`]: its formula, the state that the formula needs, and nothing else. [`Aimd`] makes a
//! [`Rule`] of it. Growth is counted in bytes acknowledged, so that delayed ACKs do not slow it. FlightSize counts up to
//! cwnd, as in `newreno.rs`.

use crate::building_blocks::rule::Rule;
use crate::building_blocks::window::{SLOW_START_LIMIT, Window};
use crate::interface::{Ack, Loss, LossResponse, Sibling, Timeout};
use std::fmt::Debug;
use whimbrel_units::{Bytes, Rate};

/// Reno's increase, segments for each window of data.
pub(crate) const RENO_INCREASE: f64 = 1.0;

/// Reno's decrease, share of the window.
pub(crate) const RENO_DECREASE: f64 = 0.5;

/// The part of such a law that is its own.
pub(crate) trait IncreaseDecrease: Debug + Clone + Send + Sync + 'static {
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

    /// The timer fired, and not for the same data again; told after [`decrease`](Self::decrease).
    fn on_timeout(&mut self) {}

    /// [`Rule::on_siblings`].
    fn on_siblings(&mut self, paths: &[Sibling], own: usize) {
        let _ = (paths, own);
    }

    /// [`Rule::on_spurious`].
    fn on_spurious(&mut self, before: &Self) {
        let _ = before;
    }

    /// [`Rule::pacing_rate`].
    fn pacing_rate(&self, window: &Window) -> Option<Rate> {
        let _ = window;
        None
    }

    /// [`Rule::slow_start_phase`].
    fn slow_start_phase(&self, window: &Window) -> &'static str {
        let _ = window;
        "slow start"
    }

    /// [`Rule::phase`].
    fn phase(&self, window: &Window) -> &'static str {
        let _ = window;
        "congestion avoidance"
    }
}

/// The rule of an increase and a decrease.
#[derive(Debug, Clone)]
pub(crate) struct Aimd<T>(pub T);

impl<T: IncreaseDecrease> Aimd<T> {
    /// What an episode of loss or a timeout leaves, but for its floor.
    fn left(&mut self, window: &Window, in_flight: Bytes) -> u64 {
        let left = 1.0 - self.0.decrease(window);
        (window.flight(in_flight) as f64 * left) as u64
    }
}

impl<T: IncreaseDecrease> Rule for Aimd<T> {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.0.on_ack(window, ack);
        if !Window::may_grow(ack) {
            return;
        }
        let mut acked = ack.acked.get();
        if window.in_slow_start() {
            acked = self.0.slow_start(window, acked);
        }
        if acked > 0 {
            let segments = self.0.increase(window);
            window.grow(acked, segments);
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
        let ssthresh = self.left(window, loss.in_flight);
        window.reduce_to(ssthresh);
        LossResponse::REDUCED
    }

    fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        let ssthresh = self.left(window, timeout.in_flight);
        self.0.on_timeout();
        window.collapse(Some(ssthresh));
    }

    fn on_siblings(&mut self, paths: &[Sibling], own: usize) {
        self.0.on_siblings(paths, own);
    }

    fn on_spurious(&mut self, before: &Self) {
        self.0.on_spurious(&before.0);
    }

    fn pacing_rate(&self, window: &Window) -> Option<Rate> {
        self.0.pacing_rate(window)
    }

    fn slow_start_phase(&self, window: &Window) -> &'static str {
        self.0.slow_start_phase(window)
    }

    fn phase(&self, window: &Window) -> &'static str {
        self.0.phase(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::building_blocks::rule::WindowController;
    use crate::interface::Controller;
    use crate::testing::{ACK, MSS, Path, loss, newreno, segments, setup, timeout};
    use whimbrel_units::{Duration, Time};

    /// Reno's two numbers, and how often it lost something.
    #[derive(Debug, Clone, Default)]
    struct Reno {
        losses: u32,
    }

    impl IncreaseDecrease for Reno {
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

    fn reno(segments: u64) -> WindowController<Aimd<Reno>> {
        WindowController::new(&setup(segments), Aimd(Reno::default()))
    }

    #[test]
    fn with_renos_two_numbers_it_is_newreno() {
        let mut path = Path::new(Duration::from_millis(100));
        let mut laws: [Box<dyn Controller>; 2] = [Box::new(reno(10)), Box::new(newreno(10))];
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
        assert_eq!((segments(&law), law.rule.0.losses), (40.0, 0));
        assert_eq!(law.ssthresh(), None);
        law.on_loss(&loss(&law, Time::ZERO));
        Path::new(Duration::from_millis(100)).rounds_for(&mut law, Duration::from_secs(3));
        let grown = segments(&law);
        law.on_spurious(Time::ZERO);
        assert_eq!((segments(&law), law.rule.0.losses), (grown, 1));
    }

    #[test]
    fn a_repeated_timeout_decreases_nothing_more() {
        let mut law = reno(40);
        law.on_timeout(&timeout(&law, Time::ZERO));
        law.on_timeout(&Timeout {
            repeated: true,
            ..timeout(&law, Time::ZERO)
        });
        assert_eq!((segments(&law), law.rule.0.losses), (1.0, 1));
        assert_eq!(law.ssthresh(), Some(Bytes::new(20 * MSS)));
    }
}
