//! Random or congestion? The seam for everything that answers, and its composition with a window law.

use crate::burst::{Bandwidth, BurstPlan, BurstReport};
use crate::controller::{Asks, Controller, FastRecovery, LossResponse};
use crate::event::{Ack, Loss, LostPacket, Sibling, Signal, Timeout};
use std::fmt::Debug;
use whimbrel_units::{Bytes, Rate, Time};

/// What a loss is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A queue overflowed (or marked): slow down.
    Congestion,
    /// The channel lost it: slowing down would not help.
    Random,
}

/// Tells random loss from congestion by what it has seen of the path.
pub trait LossDiscriminator: Send + Sync + Debug + 'static {
    /// Data was acknowledged: the place to learn from RTT samples and rates.
    fn on_ack(&mut self, ack: &Ack);

    /// An episode of loss began: what was it?
    fn judge(&mut self, loss: &Loss) -> Verdict;

    /// A copy with all its state.
    fn clone_box(&self) -> Box<dyn LossDiscriminator>;
}

/// So that a discriminator chosen at run time can stand where one is asked for.
impl LossDiscriminator for Box<dyn LossDiscriminator> {
    fn on_ack(&mut self, ack: &Ack) {
        (**self).on_ack(ack);
    }
    fn judge(&mut self, loss: &Loss) -> Verdict {
        (**self).judge(loss)
    }
    fn clone_box(&self) -> Box<dyn LossDiscriminator> {
        (**self).clone_box()
    }
}

impl Clone for Box<dyn LossDiscriminator> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}

/// A window law that reduces only for losses its discriminator takes for congestion.
///
/// A loss taken for random leaves the law untouched. Of the losses taken for congestion only the first of
/// a window of data reduces ([`once_per_window`](Self::once_per_window), CERL's `lastDecMaxSentSeqno`):
/// a hole in data that was sent before the last reduction, a timeout's included, tells of the same
/// congestion again. A reduction that proves a mistake is forgotten here as it is undone in the law.
#[derive(Debug, Clone)]
pub struct Discriminate<L, D> {
    law: L,
    discriminator: D,
    once_per_window: bool,
    /// The first position in the order of transmission that was not yet sent at the last reduction.
    last_decrease: Option<u64>,
    /// If the law was told of the last loss or timeout: `last_decrease` before it. What the law was
    /// not told of, it cannot undo.
    before: Option<Option<u64>>,
}

impl<L, D> Discriminate<L, D> {
    /// Puts `discriminator` on `law`, with at most one reduction per window of data.
    pub fn new(law: L, discriminator: D) -> Self {
        Self {
            law,
            discriminator,
            once_per_window: true,
            last_decrease: None,
            before: None,
        }
    }

    /// Whether a window of data is reduced for at most once; `true` unless said.
    pub fn once_per_window(mut self, once: bool) -> Self {
        self.once_per_window = once;
        self
    }
}

impl<L: Controller + Clone + 'static, D: LossDiscriminator + Clone> Controller
    for Discriminate<L, D>
{
    fn on_sent(&mut self, now: Time, size: Bytes, in_flight: Bytes) {
        self.law.on_sent(now, size, in_flight);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.discriminator.on_ack(ack);
        self.law.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        let verdict = match loss.signal {
            Signal::Ecn => Verdict::Congestion,
            Signal::Loss => loss.verdict(self.discriminator.judge(loss)),
        };
        let same_window = self.last_decrease.is_some_and(|end| loss.lost_order < end);
        let reduce = verdict == Verdict::Congestion && !(self.once_per_window && same_window);
        self.before = reduce.then_some(self.last_decrease);
        if reduce {
            self.last_decrease = Some(loss.next_order);
            LossResponse {
                verdict: Some(verdict),
                ..self.law.on_loss(loss)
            }
        } else {
            LossResponse {
                verdict: Some(verdict),
                reduced: false,
            }
        }
    }

    fn on_packet_lost(&mut self, lost: &LostPacket) {
        self.law.on_packet_lost(lost);
    }

    fn on_recovery_end(&mut self, now: Time) {
        self.law.on_recovery_end(now);
    }

    fn on_bandwidth(&mut self, bandwidth: &Bandwidth) {
        self.law.on_bandwidth(bandwidth);
    }

    fn on_burst(&mut self, burst: &BurstReport) -> Option<LossResponse> {
        self.law.on_burst(burst)
    }

    fn burst_plan(&self) -> Option<BurstPlan> {
        self.law.burst_plan()
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        if !timeout.repeated || self.before.is_none() {
            self.before = Some(self.last_decrease);
        }
        self.last_decrease = Some(timeout.next_order);
        self.law.on_timeout(timeout);
    }

    fn on_spurious(&mut self, now: Time) {
        if let Some(before) = self.before.take() {
            self.last_decrease = before;
            self.law.on_spurious(now);
        }
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.law.on_mss(mss);
    }

    fn cwnd(&self) -> Bytes {
        self.law.cwnd()
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.law.ssthresh()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.law.pacing_rate()
    }

    fn discriminates(&self) -> bool {
        true
    }

    fn asks(&self) -> Asks {
        self.law.asks()
    }

    fn path_changes(&self) -> Option<u64> {
        self.law.path_changes()
    }

    fn fast_recovery(&self) -> FastRecovery {
        self.law.fast_recovery()
    }

    fn on_siblings(&mut self, paths: &[Sibling], own: usize) {
        self.law.on_siblings(paths, own);
    }

    fn phase(&self) -> &'static str {
        self.law.phase()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::newreno::NewReno;
    use crate::rule::Law;
    use crate::testing::{loss, newreno, segments, timeout};

    /// Says what it is told to say.
    #[derive(Debug, Clone)]
    struct Oracle(Verdict);

    impl LossDiscriminator for Oracle {
        fn on_ack(&mut self, _: &Ack) {}
        fn judge(&mut self, _: &Loss) -> Verdict {
            self.0
        }
        fn clone_box(&self) -> Box<dyn LossDiscriminator> {
            Box::new(self.clone())
        }
    }

    fn with(verdict: Verdict) -> Discriminate<Law<NewReno>, Oracle> {
        Discriminate::new(newreno(64), Oracle(verdict))
    }

    fn lose(c: &mut dyn Controller, lost_order: u64, next_order: u64) -> LossResponse {
        c.on_loss(&Loss {
            lost_order,
            next_order,
            ..loss(c, Time::ZERO)
        })
    }

    #[test]
    fn a_random_loss_leaves_window_and_ssthresh_alone() {
        let mut c = with(Verdict::Random);
        let response = lose(&mut c, 13, 21);
        assert_eq!(
            response,
            LossResponse {
                reduced: false,
                verdict: Some(Verdict::Random)
            }
        );
        assert_eq!((segments(&c), c.ssthresh()), (64.0, None));
    }

    #[test]
    fn marks_are_congestion_whatever_the_discriminator_says() {
        let mut c = with(Verdict::Random);
        let marked = Loss {
            signal: Signal::Ecn,
            ..loss(&c, Time::ZERO)
        };
        assert_eq!(c.on_loss(&marked).verdict, Some(Verdict::Congestion));
        assert_eq!(segments(&c), 32.0);
    }

    #[test]
    fn a_window_of_data_is_reduced_for_once() {
        // The example of Saedi's thesis, figure 3.3: segments 1 to 20, of which 13 and 16 are lost.
        let mut c = with(Verdict::Congestion);
        assert!(lose(&mut c, 13, 21).reduced);
        let again = lose(&mut c, 16, 21);
        assert_eq!(
            again,
            LossResponse {
                reduced: false,
                verdict: Some(Verdict::Congestion)
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
    fn a_timeout_is_the_laws_and_counts_as_a_reduction_of_its_window() {
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
    fn a_mistake_about_a_loss_that_cost_nothing_gives_nothing_back() {
        let mut c = with(Verdict::Congestion);
        lose(&mut c, 13, 21);
        c.discriminator.0 = Verdict::Random;
        lose(&mut c, 30, 40);
        c.on_spurious(Time::ZERO);
        assert_eq!(segments(&c), 32.0, "the congestion before it was real");
    }

    #[test]
    fn after_a_mistaken_reduction_the_window_may_still_be_reduced_for() {
        let mut c = with(Verdict::Congestion);
        lose(&mut c, 13, 21);
        c.on_spurious(Time::ZERO);
        assert_eq!(segments(&c), 64.0);
        assert!(lose(&mut c, 16, 21).reduced);
    }

    #[test]
    fn a_mistaken_timeout_that_was_repeated_is_taken_back_whole() {
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
