//! TCP CERL+ as printed in its thesis: it never backs off on duplicate acknowledgments.
//!
//! T. Saedi, "Congestion Control Enhancement Over Wireless Networks", MSc thesis, Lakehead
//! University, 2019, section 4.1.1 and its Algorithm 1.
//!
//! * threshold: `N = (RTT_avg/T)*l_max` (4.1), RTT_avg the mean of all samples, T the minimum,
//!   l_max the longest queue so far
//! * a loss is congestion if `l > N`; all other rules as in [CERL](crate::classifiers::cerl)
//!
//! **Why it never backs off.** A mean is not below the minimum: `RTT_avg/T >= 1`, so `N >= l_max >=
//! l`, and `l > N` is impossible. The result is a Reno that reduces the window on timeouts only.
//! Alone, or among flows of its kind, it is therefore fast on a path with random loss. It fills
//! every queue and keeps it full, and other flows in the queue starve:
//! `experiments/cerl/neighbours.toml` measures that. **It exists to reproduce the thesis and must
//! not be used on a real network.** Use [`cerl-plus`](crate::classifiers::cerl_plus) instead.
//!
//! On equality CERL's text says congestion and its listing random (see there). Here `l = N` occurs
//! whenever the round-trip time never varied. This file follows the listing, because it implements
//! what is printed.

use crate::algorithms::random_loss::cerl::{ONCE_PER_WINDOW, on_newreno};
use crate::estimators::rtt_stats::RttStats;
use crate::interface::{Ack, Loss, LossClassifier, Verdict};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Look, code};

/// The registry entry, with NewReno as in the thesis.
pub(crate) static ENTRY: Entry = Entry {
    name: "cerl-plus-printed",
    code: code!(
        "algorithms/random_loss/cerl_plus_printed.rs",
        "classifiers/cerl.rs",
        "estimators/rtt_stats.rs",
        "algorithms/loss/newreno.rs"
    ),
    summary: "CERL+ as printed: reduces on timeouts only; reproduces the thesis, not for real \
              networks",
    citation: "T. Saedi, MSc thesis, Lakehead University, 2019, equation 4.1",
    parameters: &[ONCE_PER_WINDOW],
    feed: Feed::Acknowledgments {
        family: Family::RandomLoss,
        driven_by: DrivenBy::Losses,
        build: |setup, values| on_newreno(setup, values, CerlPlusPrinted::default()),
    },
    look: Look::of(29, 11),
    ..Entry::BLANK
};

/// The classifier of CERL+, as printed.
#[derive(Debug, Clone, Default)]
struct CerlPlusPrinted {
    /// The samples so far; `None` before the first.
    seen: Option<RttStats>,
}

impl LossClassifier for CerlPlusPrinted {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.seen = Some(RttStats::with(self.seen, rtt));
        }
    }

    fn judge(&mut self, _loss: &Loss) -> Verdict {
        let congestion = self.seen.is_some_and(|seen| {
            let a = seen.mean().as_secs_f64() / seen.min().as_secs_f64();
            // NaN (T = 0) compares as not greater.
            seen.queue().as_secs_f64() > a * seen.longest_queue().as_secs_f64()
        });
        if congestion {
            Verdict::Congestion
        } else {
            Verdict::Random
        }
    }

    fn clone_box(&self) -> Box<dyn LossClassifier> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Spec;
    use crate::testing::{ACK, loss, segments, setup, timeout};
    use proptest::prelude::*;
    use whimbrel_units::{Duration, Time};

    #[test]
    fn a_full_queue_is_random_loss_and_only_a_timeout_reduces() {
        let spec: Spec = "cerl-plus-printed".parse().expect("a known controller");
        let mut controller = spec.build(&setup(64)).expect("fed acknowledgments");
        // T = 100 ms; the longest and the current queue are 100 ms: congestion for CERL with any A.
        for ms in [100, 150, 200, 200] {
            controller.on_ack(&Ack {
                rtt: Some(Duration::from_millis(ms)),
                in_recovery: true,
                ..ACK
            });
        }
        let response = controller.on_loss(&loss(&*controller, Time::ZERO));
        assert_eq!(
            (response.reduced, response.verdict),
            (false, Some(Verdict::Random))
        );
        assert_eq!(segments(&*controller), 64.0);
        controller.on_timeout(&timeout(&*controller, Time::ZERO));
        assert_eq!(segments(&*controller), 1.0);
    }

    proptest! {
        #[test]
        fn no_round_trip_times_make_it_reduce_for_a_loss(
            samples in prop::collection::vec(0u64..10_000_000_000, 0..50),
        ) {
            let mut printed = CerlPlusPrinted::default();
            let controller = crate::testing::newreno(10);
            for rtt in samples {
                printed.on_ack(&Ack { rtt: Some(Duration::from_nanos(rtt)), ..ACK });
                prop_assert_eq!(printed.judge(&loss(&controller, Time::ZERO)), Verdict::Random);
            }
        }
    }
}
