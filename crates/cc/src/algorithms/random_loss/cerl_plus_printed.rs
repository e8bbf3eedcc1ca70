//! TCP CERL+ as its thesis prints it: it never backs off on duplicate acknowledgments.
//!
//! T. Saedi, "Congestion Control Enhancement Over Wireless Networks", MSc thesis, Lakehead University, 2019, section 4.1.1
//! and its Algorithm 1.
//!
//! * threshold: `N = (RTT_avg/T)*l_max` (4.1), RTT_avg the mean of all samples, T the least, l_max the longest queue seen
//! * a loss is congestion if `l > N`; all else as [CERL](crate::classifiers::cerl)
//!
//! **Why it never backs off.** A mean is not below the least: `RTT_avg/T >= 1`, so `N >= l_max >= l`, and `l > N` cannot
//! be. What is left is a Reno that reduces for timeouts alone. Alone, or among its like, on a path that loses at random it
//! is fast for that reason. It fills every queue and keeps it full, and what shares the queue with it starves:
//! `experiments/cerl/neighbours.toml` measures that. **It is here to reproduce the thesis, and must not be let onto
//! a real network.** [`cerl-plus`](crate::classifiers::cerl_plus) is the one to use.
//!
//! On equality CERL's text says congestion and its listing random (see there). Here `l = N` happens whenever the
//! round-trip time never varied, and the listing is taken, as for all of this law: what is printed is what it does.

use crate::algorithms::random_loss::cerl::{ONCE_PER_WINDOW, on_newreno};
use crate::estimators::rtt_stats::RttStats;
use crate::interface::{Ack, Loss, LossClassifier, Verdict};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, code};

/// Its place in the registry, on NewReno as in the thesis.
pub(crate) static ENTRY: Entry = Entry {
    name: "cerl-plus-printed",
    code: code!(
        "algorithms/random_loss/cerl_plus_printed.rs",
        "classifiers/cerl.rs",
        "estimators/rtt_stats.rs",
        "algorithms/loss/newreno.rs"
    ),
    summary: "CERL+ as printed: reduces for timeouts alone; for reproducing the thesis, never for a real network",
    citation: "T. Saedi, MSc thesis, Lakehead University, 2019, equation 4.1",
    family: Family::RandomLoss,
    driven_by: DrivenBy::Losses,
    feed: Feed::Acknowledgments,
    parameters: &[ONCE_PER_WINDOW],
    build: |setup, values| on_newreno(setup, values, CerlPlusPrinted::default()),
};

/// CERL+'s discriminator, as printed.
#[derive(Debug, Clone, Default)]
struct CerlPlusPrinted {
    /// The samples so far, if there are any.
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
            let a = seen.mean().as_secs_f64() / seen.least().as_secs_f64();
            // What is not a number (T = 0) is not greater.
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
    fn a_full_queue_is_random_loss_to_it_and_only_a_timeout_reduces() {
        let spec: Spec = "cerl-plus-printed".parse().expect("registered");
        let mut law = spec.build(&setup(64));
        // T = 100 ms, the queue has been and is 100 ms: CERL's congestion, whatever A.
        for ms in [100, 150, 200, 200] {
            law.on_ack(&Ack {
                rtt: Some(Duration::from_millis(ms)),
                in_recovery: true,
                ..ACK
            });
        }
        let response = law.on_loss(&loss(&*law, Time::ZERO));
        assert_eq!(
            (response.reduced, response.verdict),
            (false, Some(Verdict::Random))
        );
        assert_eq!(segments(&*law), 64.0);
        law.on_timeout(&timeout(&*law, Time::ZERO));
        assert_eq!(segments(&*law), 1.0);
    }

    proptest! {
        #[test]
        fn no_round_trip_times_whatever_make_it_reduce_for_a_loss(
            samples in prop::collection::vec(0u64..10_000_000_000, 0..50),
        ) {
            let mut printed = CerlPlusPrinted::default();
            let law = crate::testing::newreno(10);
            for rtt in samples {
                printed.on_ack(&Ack { rtt: Some(Duration::from_nanos(rtt)), ..ACK });
                prop_assert_eq!(printed.judge(&loss(&law, Time::ZERO)), Verdict::Random);
            }
        }
    }
}
