//! What the laws of Reno's family have in common, so that each of them is written as what it changes: how the window grows,
//! and what an episode of loss leaves of it.
//!
//! * an episode of loss brings the window down to the slow start threshold that the rule names (RFC 5681 equation 4)
//! * a timeout brings it down to one segment; a repeated one leaves the threshold alone (RFC 5681 section 3.1)
//! * a mistaken one of the two: window and threshold are what they were before (after RFC 4015)

use crate::controller::{Controller, LossResponse};
use crate::discriminator::Verdict;
use crate::event::{Ack, Loss, Sibling, Timeout};
use crate::window::Window;
use std::fmt::Debug;
use whimbrel_units::{Bytes, Time};

/// Most segments slow start grows by per ACK (RFC 3465 section 2.3).
const SLOW_START_LIMIT: u64 = 2;

/// What is a law's own.
pub(crate) trait Rule: Clone + Debug + Send + Sync + 'static {
    /// Whether each [`Answer`] carries a verdict.
    const DISCRIMINATES: bool = false;

    /// Data was acknowledged.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// An episode of loss: what it leaves of the window.
    fn on_loss(&mut self, window: &Window, loss: &Loss) -> Answer;

    /// The timer fired, and not for the same data again: the slow start threshold, bytes.
    fn on_timeout(&mut self, window: &Window, timeout: &Timeout) -> u64;

    /// The last of the two was a mistake: what the rule itself took back then.
    fn on_spurious(&mut self) {}

    /// [`Controller::on_siblings`].
    fn on_siblings(&mut self, paths: &[Sibling], own: usize) {
        let _ = (paths, own);
    }

    /// What it is doing after slow start.
    fn phase(&self) -> &'static str {
        "congestion avoidance"
    }
}

/// A rule's answer to an episode of loss.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    /// What the window comes down to, bytes; `None` leaves it alone.
    pub ssthresh: Option<u64>,
    /// What the loss was taken for, if the rule tells.
    pub verdict: Option<Verdict>,
}

impl Answer {
    /// Down to so many bytes, without asking what it was.
    pub fn reduce(ssthresh: u64) -> Self {
        Self {
            ssthresh: Some(ssthresh),
            verdict: None,
        }
    }
}

/// Half of the flight: what Reno leaves (RFC 5681 equation 4), but for its floor.
pub(crate) fn half(window: &Window, in_flight: Bytes) -> u64 {
    window.flight(in_flight) / 2
}

/// Slow start by RFC 3465, if the window is in it and may grow. Returns the bytes that congestion avoidance may
/// grow by: none if the window may not grow at all.
pub(crate) fn slow_start(window: &mut Window, ack: &Ack) -> u64 {
    if !Window::may_grow(ack) {
        0
    } else if window.in_slow_start() {
        window.slow_start(ack.acked.get(), SLOW_START_LIMIT)
    } else {
        ack.acked.get()
    }
}

/// The law of a rule.
#[derive(Debug, Clone)]
pub(crate) struct Law<R> {
    window: Window,
    rule: R,
    /// Window before the last reduction, if that may yet prove to have been a mistake.
    before: Option<Window>,
}

impl<R: Rule> Law<R> {
    pub fn new(window: Window, rule: R) -> Self {
        Self {
            window,
            rule,
            before: None,
        }
    }
}

impl<R: Rule> Controller for Law<R> {
    fn on_ack(&mut self, ack: &Ack) {
        self.rule.on_ack(&mut self.window, ack);
    }

    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        let Answer { ssthresh, verdict } = self.rule.on_loss(&self.window, loss);
        // What cost nothing gives nothing back: an older reduction was no mistake.
        self.before = ssthresh.map(|_| self.window);
        if let Some(ssthresh) = ssthresh {
            self.window.reduce_to(ssthresh);
        }
        LossResponse {
            reduced: ssthresh.is_some(),
            verdict,
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        let mut ssthresh = None;
        if !timeout.repeated {
            self.before = Some(self.window);
            ssthresh = Some(self.rule.on_timeout(&self.window, timeout));
        }
        self.window.collapse(ssthresh);
    }

    fn on_spurious(&mut self, _now: Time) {
        if let Some(before) = self.before.take() {
            self.window.restore(&before);
            self.rule.on_spurious();
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

    fn discriminates(&self) -> bool {
        R::DISCRIMINATES
    }

    fn on_siblings(&mut self, paths: &[Sibling], own: usize) {
        self.rule.on_siblings(paths, own);
    }

    fn phase(&self) -> &'static str {
        if self.window.in_slow_start() {
            "slow start"
        } else {
            self.rule.phase()
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ACK, MSS, loss, segments, setup, timeout};

    /// Never grows after slow start; keeps its window for random losses.
    #[derive(Debug, Clone, Default)]
    struct Still {
        truth: Option<Verdict>,
        mistakes: u32,
    }

    impl Rule for Still {
        const DISCRIMINATES: bool = true;
        fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
            slow_start(window, ack);
        }
        fn on_loss(&mut self, window: &Window, loss: &Loss) -> Answer {
            let reduce = self.truth != Some(Verdict::Random);
            Answer {
                ssthresh: reduce.then(|| half(window, loss.in_flight)),
                verdict: self.truth,
            }
        }
        fn on_timeout(&mut self, window: &Window, timeout: &Timeout) -> u64 {
            half(window, timeout.in_flight)
        }
        fn on_spurious(&mut self) {
            self.mistakes += 1;
        }
    }

    fn law(segments: u64) -> Law<Still> {
        Law::new(Window::new(&setup(segments)), Still::default())
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
        assert_eq!(law.rule.mistakes, 1);
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
