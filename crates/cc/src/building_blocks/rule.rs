//! What the laws of Reno's family have in common, so that each of them is written as what it changes: how the window grows,
//! and what an episode of loss leaves of it.
//!
//! [`WindowController`] is the [`Controller`]: it holds the window, and what it and the rule were before the last reduction. A [`Rule`] is
//! the rest. `reno.rs` is the shortest one; a rule that is no more than an increase and a decrease is shorter still with
//! `aimd.rs`.
//!
//! * a timeout brings the window down to one segment, and the slow start threshold to half of the flight, unless the rule
//!   says otherwise (RFC 5681 section 3.1)
//! * a repeated one leaves threshold and rule alone (RFC 5681 section 3.1)
//! * a loss or a timeout that was a mistake: window and threshold are what they were before it (after RFC 4015), and the rule
//!   takes back what it changed, unless the window has outgrown that since

use crate::building_blocks::window::{SLOW_START_LIMIT, Window};
use crate::interface::{
    Ack, Controller, FastRecovery, Loss, LossResponse, Sibling, Timeout, TransportFeatures,
};
use crate::registry::entry::Setup;
use std::fmt::Debug;
use whimbrel_units::{Bytes, Rate, Time};

/// What is a law's own.
pub(crate) trait Rule: Clone + Debug + Send + Sync + 'static {
    /// Whether each answer to a loss carries a verdict.
    const CLASSIFIES_LOSSES: bool = false;

    /// Data was acknowledged: measure, and grow the window, if [`Window::may_grow`].
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// An episode of loss: brings the window down, mostly by [`Window::reduce_to`], or keeps it.
    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse;

    /// [`Controller::on_recovery_end`].
    fn on_recovery_end(&mut self, window: &mut Window, now: Time) {
        let _ = (window, now);
    }

    /// The timer fired, and not for the same data again: brings the window down, mostly by [`Window::collapse`].
    fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        window.collapse(Some(half(window, timeout.in_flight)));
    }

    /// The last reduction was a mistake, and the window is what it was: takes back from `before` what the rule changed for
    /// it, not what was measured since.
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

    /// What it is doing in slow start, for a trace.
    fn slow_start_phase(&self, window: &Window) -> &'static str {
        let _ = window;
        "slow start"
    }

    /// What it is doing outside of slow start, for a trace.
    fn phase(&self, window: &Window) -> &'static str {
        let _ = window;
        "congestion avoidance"
    }
}

/// Half of the flight: what Reno leaves (RFC 5681 equation 4), but for its floor.
pub(crate) fn half(window: &Window, in_flight: Bytes) -> u64 {
    window.flight(in_flight) / 2
}

/// Slow start by RFC 3465, if the window is in it and may grow. Returns the bytes that congestion avoidance may
/// grow by: none if the window may not grow at all.
pub(crate) fn slow_start(window: &mut Window, ack: &Ack) -> u64 {
    slow_start_by(window, ack, SLOW_START_LIMIT)
}

/// The growth of Reno and of those that differ from it in other things: slow start by at most `limit` segments per ACK (L
/// of RFC 3465), then a segment for each window of data.
pub(crate) fn grow_as_reno(window: &mut Window, ack: &Ack, limit: u64) {
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

/// A window that lives by a [`Rule`].
#[derive(Debug, Clone)]
pub(crate) struct WindowController<R> {
    window: Window,
    /// What is the law's own.
    pub rule: R,
    /// Both before the last reduction, if that may yet prove to have been a mistake.
    before: Option<(Window, R)>,
    /// [`Controller::transport_features`].
    asks: TransportFeatures,
}

impl<R: Rule> WindowController<R> {
    /// For a new connection.
    pub fn new(setup: &Setup, rule: R) -> Self {
        Self {
            window: Window::new(setup),
            rule,
            before: None,
            asks: TransportFeatures::NOTHING,
        }
    }

    /// The same law, asking this of its transport.
    pub fn with_transport_features(self, asks: TransportFeatures) -> Self {
        Self { asks, ..self }
    }
}

impl<R: Rule> Controller for WindowController<R> {
    fn on_ack(&mut self, ack: &Ack) {
        self.rule.on_ack(&mut self.window, ack);
    }

    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        let before = (self.window, self.rule.clone());
        let response = self.rule.on_loss(&mut self.window, loss);
        // What cost nothing gives nothing back: an older reduction was no mistake.
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

    fn ssthresh(&self) -> Option<Bytes> {
        self.window.ssthresh()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.rule.pacing_rate(&self.window)
    }

    fn transport_features(&self) -> TransportFeatures {
        self.asks
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

    fn law(segments: u64) -> WindowController<Still> {
        WindowController::new(&setup(segments), Still::default())
    }

    #[test]
    fn a_mistaken_reduction_is_taken_back_once_and_the_rule_is_told() {
        let mut law = law(40);
        assert!(law.on_loss(&loss(&law, Time::ZERO)).reduced);
        assert_eq!(
            (segments(&law), law.phase()),
            (20.0, "congestion avoidance")
        );
        law.on_spurious(Time::ZERO);
        law.on_spurious(Time::ZERO);
        assert_eq!((segments(&law), law.phase()), (40.0, "slow start"));
        assert_eq!((law.rule.mistakes, law.rule.losses), (1, 0));
    }

    #[test]
    fn a_rule_hears_that_a_recovery_is_over() {
        let mut law = law(40);
        law.on_loss(&loss(&law, Time::ZERO));
        law.on_recovery_end(Time::ZERO);
        assert_eq!(segments(&law), 21.0);
    }

    #[test]
    fn a_window_that_has_outgrown_the_mistake_keeps_its_growth_and_the_rule_what_it_knows() {
        let mut law = law(40);
        law.on_timeout(&timeout(&law, Time::ZERO));
        law.on_loss(&loss(&law, Time::ZERO));
        law.on_ack(&ACK);
        assert_eq!(segments(&law), 2.0);
        law.on_spurious(Time::ZERO);
        assert_eq!(segments(&law), 2.0);
        assert_eq!((law.rule.mistakes, law.rule.losses), (0, 1));
    }

    #[test]
    fn a_mistake_about_a_loss_that_cost_nothing_gives_nothing_back() {
        let mut law = law(40);
        law.on_loss(&loss(&law, Time::ZERO));
        law.rule.truth = Some(Verdict::Random);
        let kept = law.on_loss(&loss(&law, Time::ZERO));
        assert_eq!((kept.reduced, kept.verdict), (false, Some(Verdict::Random)));
        law.on_spurious(Time::ZERO);
        assert_eq!(segments(&law), 20.0);
    }

    #[test]
    fn a_repeated_timeout_leaves_the_threshold_and_is_taken_back_whole() {
        let mut law = law(40);
        law.on_timeout(&timeout(&law, Time::ZERO));
        law.on_timeout(&Timeout {
            repeated: true,
            ..timeout(&law, Time::ZERO)
        });
        assert_eq!(segments(&law), 1.0);
        assert_eq!(law.ssthresh(), Some(Bytes::new(20 * MSS)));
        law.on_spurious(Time::ZERO);
        assert_eq!((segments(&law), law.ssthresh()), (40.0, None));
    }

    #[test]
    fn slow_start_is_by_two_segments_an_ack_and_only_while_the_window_is_used() {
        let mut law = law(10);
        law.on_ack(&Ack {
            acked: Bytes::new(8 * MSS),
            ..ACK
        });
        assert_eq!(segments(&law), 12.0);
        law.on_ack(&Ack {
            cwnd_limited: false,
            ..ACK
        });
        assert_eq!(segments(&law), 12.0);
    }
}
