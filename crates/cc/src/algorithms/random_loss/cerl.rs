//! TCP CERL: NewReno that ignores the losses that CERL's classifier judges random.
//!
//! H. El-Ocla, "TCP CERL: Congestion control enhancement over wireless networks", Wireless
//! Networks, vol. 16, no. 1, pp. 183-198, 2010. `classifiers/cerl.rs` has the equations and their
//! limits.
//!
//! The window inflation that the paper describes (`oldcwnd`, three more segments) is the
//! transport's accounting of the flight: a window that is kept is still filled. Timeouts and all
//! other rules are Reno's.

use crate::algorithms::loss::newreno::NewReno;
use crate::building_blocks::rule::WindowController;
use crate::classifiers::cerl::{A, CITATION, Cerl};
use crate::classifiers::wrap::WithClassifier;
use crate::interface::{Controller, LossClassifier};
use crate::registry::entry::{
    Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, Setup, Values, code,
};

/// The registry entry of CERL.
pub(crate) static ENTRY: Entry = Entry {
    name: "cerl",
    code: code!(
        "classifiers/cerl.rs",
        "estimators/rtt_stats.rs",
        "algorithms/random_loss/cerl.rs",
        "algorithms/loss/newreno.rs"
    ),
    summary: "NewReno that ignores losses while the queue is short",
    citation: CITATION,
    parameters: &[A, ONCE_PER_WINDOW],
    feed: Feed::Acknowledgments {
        family: Family::RandomLoss,
        driven_by: DrivenBy::Losses,
        build: |setup, values| on_newreno(setup, values, Cerl::new(values.number("A"))),
    },
    look: Look::of(4, 5),
    ..Entry::BLANK
};

/// A switch of CERL and CERL+. Without it CERL+ is the thesis's CERL+2 (section 4.1.3).
pub(crate) const ONCE_PER_WINDOW: Parameter = Parameter {
    name: "once_per_window",
    domain: Domain::Switch(true),
    meaning: "reduce at most once for the losses of one window of data",
};

/// NewReno with a classifier of the CERL family and the switch [`ONCE_PER_WINDOW`].
pub(crate) fn on_newreno(
    setup: &Setup,
    values: &Values,
    classifier: impl LossClassifier + Clone,
) -> Box<dyn Controller> {
    let newreno = WindowController::new(setup, NewReno::default());
    let cerl = WithClassifier::new(newreno, classifier);
    Box::new(cerl.once_per_window(values.switch(ONCE_PER_WINDOW.name)))
}

#[cfg(test)]
mod tests {
    use crate::interface::{Ack, Controller, Loss, LossResponse, Verdict};
    use crate::testing::{ACK, MSS, built, loss, segments, timeout};
    use whimbrel_units::{Bytes, Duration, Time};

    fn sample(c: &mut dyn Controller, ms: u64) {
        let rtt = Some(Duration::from_millis(ms));
        c.on_ack(&Ack {
            rtt,
            in_recovery: true,
            ..ACK
        });
    }

    #[test]
    fn only_congestion_halves_the_window_and_once_per_window() {
        let mut c = built("cerl", 64);
        let lose = |c: &mut dyn Controller, lost_order, next_order| {
            let loss = Loss {
                lost_order,
                next_order,
                ..loss(c, Time::ZERO)
            };
            (c.on_loss(&loss), segments(c))
        };
        let random = LossResponse {
            reduced: false,
            verdict: Some(Verdict::Random),
            confidence: None,
        };
        let kept = LossResponse {
            reduced: false,
            verdict: Some(Verdict::Congestion),
            confidence: None,
        };
        let reduced = LossResponse {
            reduced: true,
            verdict: Some(Verdict::Congestion),
            confidence: None,
        };
        for ms in [100, 200, 120] {
            sample(&mut *c, ms);
        }
        assert_eq!(lose(&mut *c, 5, 64), (random, 64.0));
        sample(&mut *c, 190);
        // Segments 13 and 16 of 20: the example of figure 3.3 of the thesis.
        assert_eq!(lose(&mut *c, 13, 21), (reduced, 32.0));
        assert_eq!(lose(&mut *c, 16, 21), (kept, 32.0));
        assert_eq!(lose(&mut *c, 21, 41), (reduced, 16.0));
    }

    #[test]
    fn without_once_per_window_every_congestion_loss_reduces() {
        let mut c = built("cerl?once_per_window=false", 64);
        for lost_order in [13, 16] {
            let loss = Loss {
                lost_order,
                next_order: 21,
                ..loss(&*c, Time::ZERO)
            };
            c.on_loss(&loss);
        }
        assert_eq!(segments(&*c), 16.0);
    }

    #[test]
    fn a_timeout_is_that_of_reno_even_with_a_short_queue() {
        let mut c = built("cerl", 64);
        for ms in [100, 200, 100] {
            sample(&mut *c, ms);
        }
        c.on_timeout(&timeout(&*c, Time::ZERO));
        assert_eq!(
            (segments(&*c), c.ssthresh()),
            (1.0, Some(Bytes::new(32 * MSS)))
        );
    }
}
