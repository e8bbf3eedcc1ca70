//! The combination of any window algorithm with any loss classifier.

use crate::interface::{
    Ack, Controller, Loss, LossClassifier, LossResponse, Signal, Timeout, TransportFeatures,
    Verdict, forward,
};
use std::fmt::Debug;
use whimbrel_units::Time;

/// A window algorithm that responds only to losses that its classifier judges to be congestion.
///
/// A random loss does not reach the algorithm. Of the congestion losses of one window of data only
/// the first one does ([`once_per_window`](Self::once_per_window), CERL's `lastDecMaxSentSeqno`): a
/// hole in data that was sent before the last reduction, or before the last timeout, is evidence of
/// the same congestion. When a reduction proves to be spurious, it is undone in the algorithm and
/// forgotten here.
#[derive(Debug, Clone)]
pub struct WithClassifier<C, L> {
    controller: C,
    classifier: L,
    once_per_window: bool,
    /// The first position in the order of transmission that was not yet sent at the last reduction.
    last_decrease: Option<u64>,
    /// If the last loss or timeout reached the algorithm: `last_decrease` before it. An event that
    /// did not reach the algorithm cannot be undone.
    before: Option<Option<u64>>,
}

impl<C, L> WithClassifier<C, L> {
    /// Puts `classifier` on `controller`, with at most one reduction per window of data.
    pub fn new(controller: C, classifier: L) -> Self {
        Self {
            controller,
            classifier,
            once_per_window: true,
            last_decrease: None,
            before: None,
        }
    }

    /// Whether the losses of one window of data reduce it at most once; the default is `true`.
    pub fn once_per_window(mut self, once: bool) -> Self {
        self.once_per_window = once;
        self
    }
}

#[deny(clippy::missing_trait_methods)]
impl<C: Controller + Clone + 'static, L: LossClassifier + Clone> Controller
    for WithClassifier<C, L>
{
    forward!(self => self.controller;
        on_sent, on_sent_limits, on_packet_lost, on_recovery_end, on_mss, cwnd, raise_window, ssthresh,
        pacing_rate, send_quantum, path_changes, fast_recovery, on_siblings, phase);

    fn on_ack(&mut self, ack: &Ack) {
        self.classifier.on_ack(ack);
        self.controller.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        let verdict = match loss.signal {
            Signal::Ecn => Verdict::Congestion,
            Signal::Loss => loss.verdict(self.classifier.judge(loss)),
        };
        let same_window = self.last_decrease.is_some_and(|end| loss.lost_order < end);
        let reduce = verdict == Verdict::Congestion && !(self.once_per_window && same_window);
        self.before = reduce.then_some(self.last_decrease);
        if reduce {
            self.last_decrease = Some(loss.next_order);
            LossResponse {
                verdict: Some(verdict),
                // The classifier decides, so the controller's confidence does not count.
                confidence: None,
                ..self.controller.on_loss(loss)
            }
        } else {
            LossResponse {
                verdict: Some(verdict),
                confidence: None,
                reduced: false,
            }
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        if !timeout.repeated || self.before.is_none() {
            self.before = Some(self.last_decrease);
        }
        self.last_decrease = Some(timeout.next_order);
        self.controller.on_timeout(timeout);
    }

    fn on_spurious(&mut self, now: Time) {
        if let Some(before) = self.before.take() {
            self.last_decrease = before;
            self.controller.on_spurious(now);
        }
    }

    fn classifies_losses(&self) -> bool {
        true
    }

    fn transport_features(&self) -> TransportFeatures {
        let own = if self.classifier.uses_receiver_times() {
            TransportFeatures::RECEIVER_TIMES
        } else {
            TransportFeatures::NOTHING
        };
        self.controller.transport_features().union(own)
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::loss::newreno::NewReno;
    use crate::building_blocks::rule::WindowController;
    use crate::testing::{loss, newreno, segments, timeout};
    use whimbrel_units::Bytes;

    /// A classifier with a fixed verdict.
    #[derive(Debug, Clone)]
    struct Oracle(Verdict);

    impl LossClassifier for Oracle {
        fn on_ack(&mut self, _: &Ack) {}
        fn judge(&mut self, _: &Loss) -> Verdict {
            self.0
        }
        fn clone_box(&self) -> Box<dyn LossClassifier> {
            Box::new(self.clone())
        }
    }

    fn with(verdict: Verdict) -> WithClassifier<WindowController<NewReno>, Oracle> {
        WithClassifier::new(newreno(64), Oracle(verdict))
    }

    fn lose(c: &mut dyn Controller, lost_order: u64, next_order: u64) -> LossResponse {
        c.on_loss(&Loss {
            lost_order,
            next_order,
            ..loss(c, Time::ZERO)
        })
    }

    #[test]
    fn a_random_loss_leaves_window_and_ssthresh_unchanged() {
        let mut c = with(Verdict::Random);
        let response = lose(&mut c, 13, 21);
        assert_eq!(
            response,
            LossResponse {
                reduced: false,
                verdict: Some(Verdict::Random),
                confidence: None,
            }
        );
        assert_eq!((segments(&c), c.ssthresh()), (64.0, None));
    }

    #[test]
    fn marks_are_congestion_whatever_the_classifier_judges() {
        let mut c = with(Verdict::Random);
        let marked = Loss {
            signal: Signal::Ecn,
            ..loss(&c, Time::ZERO)
        };
        assert_eq!(c.on_loss(&marked).verdict, Some(Verdict::Congestion));
        assert_eq!(segments(&c), 32.0);
    }

    #[test]
    fn a_window_of_data_causes_one_reduction() {
        // The example of Saedi's thesis, figure 3.3: segments 1 to 20, of which 13 and 16 are lost.
        let mut c = with(Verdict::Congestion);
        assert!(lose(&mut c, 13, 21).reduced);
        let again = lose(&mut c, 16, 21);
        assert_eq!(
            again,
            LossResponse {
                reduced: false,
                verdict: Some(Verdict::Congestion),
                confidence: None,
            }
        );
        assert_eq!(segments(&c), 32.0);
        assert!(
            lose(&mut c, 21, 40).reduced,
            "the first segment of the next window"
        );
        assert_eq!(segments(&c), 16.0);

        let mut every = with(Verdict::Congestion).once_per_window(false);
        lose(&mut every, 13, 21);
        lose(&mut every, 16, 21);
        assert_eq!(segments(&every), 16.0);
    }

    #[test]
    fn a_timeout_counts_as_a_reduction_of_its_window() {
        let mut c = with(Verdict::Congestion);
        c.on_timeout(&Timeout {
            next_order: 21,
            ..timeout(&c, Time::ZERO)
        });
        assert_eq!(
            (segments(&c), c.ssthresh()),
            (1.0, Some(Bytes::new(32_000)))
        );
        assert!(!lose(&mut c, 16, 21).reduced);
        assert!(lose(&mut c, 21, 40).reduced);
    }

    #[test]
    fn undoing_an_ignored_loss_restores_nothing() {
        let mut c = with(Verdict::Congestion);
        lose(&mut c, 13, 21);
        c.classifier.0 = Verdict::Random;
        lose(&mut c, 30, 40);
        c.on_spurious(Time::ZERO);
        assert_eq!(segments(&c), 32.0, "the congestion before it was real");
    }

    #[test]
    fn after_a_spurious_reduction_the_same_window_may_be_reduced() {
        let mut c = with(Verdict::Congestion);
        lose(&mut c, 13, 21);
        c.on_spurious(Time::ZERO);
        assert_eq!(segments(&c), 64.0);
        assert!(lose(&mut c, 16, 21).reduced);
    }

    #[test]
    fn a_repeated_spurious_timeout_is_undone_completely() {
        let mut c = with(Verdict::Congestion);
        let first = Timeout {
            next_order: 21,
            ..timeout(&c, Time::ZERO)
        };
        c.on_timeout(&first);
        c.on_timeout(&Timeout {
            repeated: true,
            ..first
        });
        c.on_spurious(Time::ZERO);
        assert_eq!((segments(&c), c.ssthresh()), (64.0, None));
        assert!(lose(&mut c, 16, 21).reduced);
    }
}
