//! Additive increase and multiplicative decrease with an algorithm's own increase and decrease.
//!
//! RFC 5681 with the increase and the decrease left open:
//!
//! * slow start: as [`Window::slow_start`], L = 2 of RFC 3465, unless the algorithm has its own
//! * congestion avoidance: [`IncreaseDecrease::increase`] segments per cwnd of acknowledged bytes
//! * loss: `ssthresh = (1 - b)*FlightSize`, at least two segments, `cwnd = ssthresh`, b from
//!   [`IncreaseDecrease::decrease`]
//! * timeout: the same ssthresh, `cwnd = 1` segment (RFC 5681 section 3.1)
//!
//! An algorithm is then its [`IncreaseDecrease`]: its formula, the state that the formula needs,
//! and nothing else. [`Aimd`] turns it into a [`Rule`]. Growth counts acknowledged bytes, so that
//! delayed ACKs do not slow it. FlightSize counts up to cwnd, as in `newreno.rs`.

use crate::building_blocks::rule::Rule;
use crate::building_blocks::window::{SLOW_START_LIMIT, Window};
use crate::interface::{Ack, Loss, LossResponse, Sibling, Timeout};
use std::fmt::Debug;
use whimbrel_units::{Bytes, Rate};

/// Reno's increase, segments per window of data.
pub const RENO_INCREASE: f64 = 1.0;

/// Reno's decrease, a fraction of the flight.
pub const RENO_DECREASE: f64 = 0.5;

/// The algorithm's own part.
pub trait IncreaseDecrease: Debug + Clone + Send + Sync + 'static {
    /// Invoked when data is acknowledged, before the window grows: the place to measure. An
    /// algorithm with a part of its window that follows delays changes it here, and then must check
    /// [`Window::may_grow`] itself.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let _ = (window, ack);
    }

    /// Slow start with `acked` bytes, when the window may grow. Returns the bytes left for
    /// congestion avoidance.
    fn slow_start(&mut self, window: &mut Window, acked: u64) -> u64 {
        window.slow_start(acked, SLOW_START_LIMIT)
    }

    /// Growth in congestion avoidance, segments per window of acknowledged data.
    fn increase(&self, window: &Window) -> f64;

    /// The fraction of the flight, from 0 to 1, by which a loss or a first timeout reduces it.
    fn decrease(&mut self, window: &Window) -> f64;

    /// Invoked after [`decrease`](Self::decrease) when the timer fires for the first time for some
    /// data.
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

/// The rule of an [`IncreaseDecrease`].
#[derive(Debug, Clone)]
pub struct Aimd<T>(pub T);

impl<T: IncreaseDecrease> Aimd<T> {
    /// The reduced flight after a loss or a timeout, without its lower limit.
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

    /// Reno's two numbers, and a count of its losses.
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
    fn with_renos_increase_and_decrease_it_is_newreno() {
        let mut path = Path::new(Duration::from_millis(100));
        let mut controllers: [Box<dyn Controller>; 2] = [Box::new(reno(10)), Box::new(newreno(10))];
        for step in 0..40 {
            for controller in &mut controllers {
                match step {
                    4 | 12 | 33 => {
                        let loss = loss(&**controller, path.now);
                        assert_eq!(controller.on_loss(&loss), LossResponse::REDUCED);
                    }
                    20 => controller.on_timeout(&timeout(&**controller, path.now)),
                    35 => controller.on_spurious(path.now),
                    _ => path.round(&mut **controller),
                }
            }
            // Aimd grows with every ACK, NewReno by a whole segment at the end of a window.
            let [ours, theirs] = controllers
                .each_ref()
                .map(|controller| segments(&**controller));
            assert!((ours - theirs).abs() < 1.5, "{step}: {ours} {theirs}");
            assert_eq!(controllers[0].phase(), controllers[1].phase(), "{step}");
        }
    }

    #[test]
    fn the_window_does_not_grow_in_recovery_or_while_unused() {
        let mut avoiding = reno(20);
        avoiding.on_loss(&loss(&avoiding, Time::ZERO));
        for mut controller in [reno(10), avoiding] {
            for (in_recovery, cwnd_limited) in [(true, true), (false, false)] {
                controller.on_ack(&Ack {
                    in_recovery,
                    cwnd_limited,
                    ..ACK
                });
            }
            assert_eq!(segments(&controller), 10.0);
        }
    }

    #[test]
    fn a_spurious_reduction_is_undone_unless_the_window_outgrew_it() {
        let mut controller = reno(40);
        controller.on_loss(&loss(&controller, Time::ZERO));
        controller.on_spurious(Time::ZERO);
        assert_eq!((segments(&controller), controller.rule.0.losses), (40.0, 0));
        assert_eq!(controller.ssthresh(), None);
        controller.on_loss(&loss(&controller, Time::ZERO));
        Path::new(Duration::from_millis(100)).rounds_for(&mut controller, Duration::from_secs(3));
        let grown = segments(&controller);
        controller.on_spurious(Time::ZERO);
        assert_eq!(
            (segments(&controller), controller.rule.0.losses),
            (grown, 1)
        );
    }

    #[test]
    fn a_repeated_timeout_decreases_nothing_more() {
        let mut controller = reno(40);
        controller.on_timeout(&timeout(&controller, Time::ZERO));
        controller.on_timeout(&Timeout {
            repeated: true,
            ..timeout(&controller, Time::ZERO)
        });
        assert_eq!((segments(&controller), controller.rule.0.losses), (1.0, 1));
        assert_eq!(controller.ssthresh(), Some(Bytes::new(20 * MSS)));
    }
}
