//! The controller of Reno's family. An algorithm of the family is only its difference to it: how
//! the window grows, and how an episode of loss reduces it.
//!
//! [`WindowController`] is the [`Controller`]: it holds the window, and a copy of window and rule
//! from before the last reduction. A [`Rule`] is the rest. `reno.rs` is the shortest one; a rule
//! that only increases and decreases is shorter still with `aimd.rs`.
//!
//! * timeout: one segment; ssthresh is half of the flight, unless the rule decides otherwise (RFC
//!   5681 section 3.1)
//! * repeated timeout: ssthresh and rule are unchanged (RFC 5681 section 3.1)
//! * spurious loss or timeout: window and threshold are restored (after RFC 4015), and the rule
//!   undoes its own change, unless the window has since grown past it

use crate::building_blocks::window::{SLOW_START_LIMIT, Window};
use crate::interface::{
    Ack, Controller, FastRecovery, Loss, LossResponse, Sibling, Timeout, TransportFeatures,
};
use crate::registry::entry::Setup;
use std::fmt::Debug;
use whimbrel_units::{Bytes, Rate, Time};

/// The part in which an algorithm differs from the others of the family.
pub trait Rule: Clone + Debug + Send + Sync + 'static {
    /// Whether each response to a loss carries a verdict.
    const CLASSIFIES_LOSSES: bool = false;

    /// Invoked when data is acknowledged: measures, and grows the window if [`Window::may_grow`].
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// Invoked when an episode of loss begins: reduces the window, usually with
    /// [`Window::reduce_to`], or keeps it.
    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse;

    /// [`Controller::on_recovery_end`].
    fn on_recovery_end(&mut self, window: &mut Window, now: Time) {
        let _ = (window, now);
    }

    /// Invoked when the timer fires for the first time for some data: reduces the window, usually
    /// with [`Window::collapse`].
    fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        window.collapse(Some(half(window, timeout.in_flight)));
    }

    /// Invoked when the last reduction was spurious and the window has been restored: takes back
    /// from `before` what the rule changed for the reduction, but not what it measured since.
    fn on_spurious(&mut self, before: &Self) {
        let _ = before;
    }

    /// [`Controller::on_siblings`].
    fn on_siblings(&mut self, paths: &[Sibling], own: usize) {
        let _ = (paths, own);
    }

    /// [`Controller::pacing_rate`].
    fn pacing_rate(&self, window: &Window) -> Option<Rate> {
        let _ = window;
        None
    }

    /// [`Controller::fast_recovery`].
    fn fast_recovery(&self) -> FastRecovery {
        FastRecovery::UntilRepaired
    }

    /// The name of its state in slow start, for traces.
    fn slow_start_phase(&self, window: &Window) -> &'static str {
        let _ = window;
        "slow start"
    }

    /// The name of its state outside of slow start, for traces.
    fn phase(&self, window: &Window) -> &'static str {
        let _ = window;
        "congestion avoidance"
    }
}

/// Half of the flight: Reno's ssthresh without its lower limit (RFC 5681 equation 4).
pub fn half(window: &Window, in_flight: Bytes) -> u64 {
    window.flight(in_flight) / 2
}

/// Slow start by RFC 3465, if the window is in slow start and may grow. Returns the bytes left for
/// congestion avoidance: 0 if the window may not grow.
pub fn slow_start(window: &mut Window, ack: &Ack) -> u64 {
    slow_start_by(window, ack, SLOW_START_LIMIT)
}

/// Reno's growth: slow start by at most `limit` segments per ACK (L of RFC 3465), then one segment
/// per window of data.
pub fn grow_as_reno(window: &mut Window, ack: &Ack, limit: u64) {
    let acked = slow_start_by(window, ack, limit);
    window.grow_by_counting(acked);
}

fn slow_start_by(window: &mut Window, ack: &Ack, limit: u64) -> u64 {
    if !Window::may_grow(ack) {
        0
    } else if window.in_slow_start() {
        window.slow_start(ack.acked.get(), limit)
    } else {
        ack.acked.get()
    }
}

/// The controller of a window that follows a [`Rule`].
#[derive(Debug, Clone)]
pub struct WindowController<R> {
    window: Window,
    /// The algorithm's own part.
    pub rule: R,
    /// Window and rule before the last reduction, while it may still prove to be spurious.
    before: Option<(Window, R)>,
    /// [`Controller::transport_features`].
    features: TransportFeatures,
}

impl<R: Rule> WindowController<R> {
    /// Builds the controller of a new connection.
    pub fn new(setup: &Setup, rule: R) -> Self {
        Self {
            window: Window::new(setup),
            rule,
            before: None,
            features: TransportFeatures::NOTHING,
        }
    }

    /// The same controller, with these requirements on its transport.
    pub fn with_transport_features(self, features: TransportFeatures) -> Self {
        Self { features, ..self }
    }
}

impl<R: Rule> Controller for WindowController<R> {
    fn on_ack(&mut self, ack: &Ack) {
        self.rule.on_ack(&mut self.window, ack);
    }

    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        let before = (self.window, self.rule.clone());
        let response = self.rule.on_loss(&mut self.window, loss);
        // An event that changed nothing can undo nothing: the older reduction was justified.
        self.before = response.reduced.then_some(before);
        response
    }

    fn on_recovery_end(&mut self, now: Time) {
        self.rule.on_recovery_end(&mut self.window, now);
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        if timeout.repeated {
            self.window.collapse(None);
        } else {
            self.before = Some((self.window, self.rule.clone()));
            self.rule.on_timeout(&mut self.window, timeout);
        }
    }

    fn on_spurious(&mut self, _now: Time) {
        if let Some((window, rule)) = self.before.take()
            && self.window.restore(&window)
        {
            self.rule.on_spurious(&rule);
        }
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.window.set_mss(mss.get());
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.window.cwnd)
    }

    fn raise_window(&mut self, cwnd: Bytes) {
        self.window.cwnd = self.window.cwnd.max(cwnd.get());
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.window.ssthresh()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.rule.pacing_rate(&self.window)
    }

    fn transport_features(&self) -> TransportFeatures {
        self.features
    }

    fn classifies_losses(&self) -> bool {
        R::CLASSIFIES_LOSSES
    }

    fn fast_recovery(&self) -> FastRecovery {
        self.rule.fast_recovery()
    }

    fn on_siblings(&mut self, paths: &[Sibling], own: usize) {
        self.rule.on_siblings(paths, own);
    }

    fn phase(&self) -> &'static str {
        if self.window.in_slow_start() {
            self.rule.slow_start_phase(&self.window)
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
    use crate::interface::Verdict;
    use crate::testing::{ACK, MSS, loss, segments, setup, timeout};

    /// Never grows after slow start; keeps its window for random losses.
    #[derive(Debug, Clone, Default)]
    struct Still {
        truth: Option<Verdict>,
        losses: u32,
        mistakes: u32,
    }

    impl Rule for Still {
        const CLASSIFIES_LOSSES: bool = true;
        fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
            slow_start(window, ack);
        }
        fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
            self.losses += 1;
            let reduced = self.truth != Some(Verdict::Random);
            if reduced {
                window.reduce_to(half(window, loss.in_flight));
            }
            LossResponse {
                reduced,
                verdict: self.truth,
                confidence: None,
            }
        }
        fn on_recovery_end(&mut self, window: &mut Window, _now: Time) {
            window.cwnd += MSS;
        }
        fn on_spurious(&mut self, before: &Self) {
            self.mistakes += 1;
            self.losses = before.losses;
        }
    }

    fn controller(segments: u64) -> WindowController<Still> {
        WindowController::new(&setup(segments), Still::default())
    }

    #[test]
    fn a_spurious_reduction_is_undone_once_in_window_and_rule() {
        let mut controller = controller(40);
        assert!(controller.on_loss(&loss(&controller, Time::ZERO)).reduced);
        assert_eq!(
            (segments(&controller), controller.phase()),
            (20.0, "congestion avoidance")
        );
        controller.on_spurious(Time::ZERO);
        controller.on_spurious(Time::ZERO);
        assert_eq!(
            (segments(&controller), controller.phase()),
            (40.0, "slow start")
        );
        assert_eq!((controller.rule.mistakes, controller.rule.losses), (1, 0));
    }

    #[test]
    fn a_rule_is_notified_of_the_end_of_recovery() {
        let mut controller = controller(40);
        controller.on_loss(&loss(&controller, Time::ZERO));
        controller.on_recovery_end(Time::ZERO);
        assert_eq!(segments(&controller), 21.0);
    }

    #[test]
    fn a_window_that_outgrew_a_spurious_reduction_is_not_restored() {
        let mut controller = controller(40);
        controller.on_timeout(&timeout(&controller, Time::ZERO));
        controller.on_loss(&loss(&controller, Time::ZERO));
        controller.on_ack(&ACK);
        assert_eq!(segments(&controller), 2.0);
        controller.on_spurious(Time::ZERO);
        assert_eq!(segments(&controller), 2.0);
        assert_eq!((controller.rule.mistakes, controller.rule.losses), (0, 1));
    }

    #[test]
    fn undoing_an_ignored_loss_restores_nothing() {
        let mut controller = controller(40);
        controller.on_loss(&loss(&controller, Time::ZERO));
        controller.rule.truth = Some(Verdict::Random);
        let kept = controller.on_loss(&loss(&controller, Time::ZERO));
        assert_eq!((kept.reduced, kept.verdict), (false, Some(Verdict::Random)));
        controller.on_spurious(Time::ZERO);
        assert_eq!(segments(&controller), 20.0);
    }

    #[test]
    fn a_repeated_timeout_keeps_the_threshold_and_is_undone_with_the_first() {
        let mut controller = controller(40);
        controller.on_timeout(&timeout(&controller, Time::ZERO));
        controller.on_timeout(&Timeout {
            repeated: true,
            ..timeout(&controller, Time::ZERO)
        });
        assert_eq!(segments(&controller), 1.0);
        assert_eq!(controller.ssthresh(), Some(Bytes::new(20 * MSS)));
        controller.on_spurious(Time::ZERO);
        assert_eq!((segments(&controller), controller.ssthresh()), (40.0, None));
    }

    #[test]
    fn slow_start_adds_two_segments_per_ack_only_while_the_window_is_used() {
        let mut controller = controller(10);
        controller.on_ack(&Ack {
            acked: Bytes::new(8 * MSS),
            ..ACK
        });
        assert_eq!(segments(&controller), 12.0);
        controller.on_ack(&Ack {
            cwnd_limited: false,
            ..ACK
        });
        assert_eq!(segments(&controller), 12.0);
    }
}
