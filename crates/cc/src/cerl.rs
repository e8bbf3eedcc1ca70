//! TCP CERL: a loss while the queue is short is the channel's, a loss while it is long is congestion.
//!
//! H. El-Ocla, "TCP CERL: Congestion control enhancement over wireless networks", Wireless Networks, vol. 16,
//! no. 1, pp. 183-198, 2010; as given in chapter 3 of T. Saedi, "Congestion Control Enhancement Over Wireless
//! Networks", MSc thesis, Lakehead University, 2019, from which it is built here.
//!
//! * queue: `l = (RTT - T)*B` (4.1), T the least RTT seen, B the bottleneck's bandwidth
//! * threshold: `N = A*l_max` (4.2), l_max the greatest l seen, A = 0.55
//! * a loss is random if `l < N`; else congestion, and reduces as Reno, once per window of data
//!
//! **The physics.** All that varies in the RTT of a fixed path is time spent in queues, and at the
//! bottleneck that time is the queue's length over B. So RTT - T is the queue now, RTT_max - T the longest it
//! has been, and B, the same in both, cancels: what is tested is `RTT - T < A*(RTT_max - T)`. No bandwidth is
//! estimated.
//!
//! **When it works.** Where a queue has once been full, so that RTT_max tells its size, and what is lost at
//! random is lost while the queue is well below A of that: one drop-tail bottleneck, some buffer, loss
//! spread evenly in time. A loss from a full queue has l near l_max whatever A is.
//!
//! **When not.**
//! * Before any queue was seen, l = l_max = 0 and `l < N` is false: congestion. So a fresh flow, or one on a path
//!   without a queue, is Reno. It errs to the careful side.
//! * l_max is never forgotten. One outlier (a handover, a retransmission below TCP, a lone delayed ACK of up to
//!   500 ms) raises N for the rest of the connection, and if it exceeds a full queue's delay by 1/A, no loss
//!   is ever again taken for congestion. It errs to the reckless side; timeouts still reduce.
//! * If the route changes to a longer one, T stays and all losses are congestion; to a shorter one, l is
//!   too small until T has followed, while l_max keeps the old route's.
//! * Other flows' queues count as its own; a small share of a standing queue keeps l high.
//! * Active queue management drops before the queue is full: those losses look random.
//!
//! **What is measured.** l is the latest sample before the loss was noticed: from a packet that arrived
//! just before or after the lost one. Every sample the transport vouches for counts, those during
//! recovery too (time stamps make them valid, and Karn's rule is the transport's business), as the thesis
//! has it: "every time a new RTT is estimated".
//!
//! On equality the thesis's text says congestion (`l` "larger than or equal to N", 3.1.2) and its listing
//! random (`l > N` reduces); here it is congestion. That settles l = N = 0 as above.
//!
//! The window inflation that the paper describes (`oldcwnd`, three segments more) is the transport's count
//! of what is in flight: a window that is kept goes on being filled. Timeouts and all else are Reno's.

use crate::Controller;
use crate::code::code;
use crate::discriminator::{Discriminate, LossDiscriminator, Verdict};
use crate::event::{Ack, Loss};
use crate::newreno::NewReno;
use crate::registry::{DiscriminatorEntry, Entry, Feed, Parameter, Setup, Value, Values};
use crate::rtt_samples::RttSamples;
use crate::rule::Law;
use std::cmp::Ordering;
use whimbrel_units::Duration;

const A: Parameter = Parameter {
    name: "A",
    default: Value::Number(0.55),
    range: (0.0, 1.0),
    meaning: "share of the longest queue seen from which a loss is congestion; 0: every loss is",
};

const CITATION: &str = "H. El-Ocla, \"TCP CERL: Congestion control enhancement over wireless networks\", \
                        Wireless Networks 16(1), 2010";

/// Its place in the registry, to be put on any law.
pub(crate) static DISCRIMINATOR: DiscriminatorEntry = DiscriminatorEntry {
    name: "cerl",
    code: code!("cerl.rs", "rtt_samples.rs"),
    summary: "a loss while the queue is short is the channel's",
    citation: CITATION,
    parameters: &[A],
    build: |values| Box::new(Cerl::new(values.number("A"))),
};

/// Its place in the registry, on NewReno as in the paper.
pub(crate) static ENTRY: Entry = Entry {
    name: "cerl",
    code: code!("cerl.rs", "rtt_samples.rs", "newreno.rs"),
    summary: "NewReno that ignores losses while the queue is short",
    citation: CITATION,
    feed: Feed::Acknowledgments,
    parameters: &[A, ONCE_PER_WINDOW],
    build: |setup, values| on_newreno(setup, values, Cerl::new(values.number("A"))),
};

/// Its switch, which CERL+ has too. Without it CERL+ is the thesis's CERL+2 (section 4.1.3).
pub(crate) const ONCE_PER_WINDOW: Parameter = Parameter {
    name: "once_per_window",
    default: Value::Switch(true),
    range: (0.0, 0.0),
    meaning: "reduce at most once for the losses of one window of data",
};

/// Puts a discriminator of the family on NewReno, as [`ONCE_PER_WINDOW`] says.
pub(crate) fn on_newreno(
    setup: &Setup,
    values: &Values,
    discriminator: impl LossDiscriminator + Clone,
) -> Box<dyn Controller> {
    let law = Discriminate::new(Law::new(setup, NewReno::default()), discriminator);
    Box::new(law.once_per_window(values.switch(ONCE_PER_WINDOW.name)))
}

/// CERL's discriminator.
#[derive(Debug, Clone)]
pub struct Cerl {
    /// A: share of the longest queue from which a loss is congestion, 0 to 1.
    a: f64,
    /// The samples so far, if there are any.
    seen: Option<RttSamples>,
}

impl Cerl {
    /// `a` is the paper's A, from 0 to 1.
    pub fn new(a: f64) -> Self {
        Self { a, seen: None }
    }

    /// A round-trip time was measured.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        self.seen = Some(RttSamples::with(self.seen, rtt));
    }

    /// How the queue l compares with the threshold N; `None` before the first sample.
    pub(crate) fn level(&self) -> Option<Ordering> {
        // l over B, equation 4.1; l_max of 4.2 likewise.
        self.seen
            .map(|seen| seen.queue().cmp(&seen.longest_queue().mul_f64(self.a)))
    }

    /// The longest queue seen, as time.
    pub(crate) fn longest(&self) -> Duration {
        self.seen
            .map_or(Duration::ZERO, |seen| seen.longest_queue())
    }
}

impl LossDiscriminator for Cerl {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.sample(rtt);
        }
    }

    fn judge(&mut self, _loss: &Loss) -> Verdict {
        match self.level() {
            Some(Ordering::Less) => Verdict::Random,
            _ => Verdict::Congestion,
        }
    }

    fn clone_box(&self) -> Box<dyn LossDiscriminator> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LossResponse;
    use crate::testing::{ACK, MSS, built, loss, segments, timeout};
    use whimbrel_units::{Bytes, Time};

    /// What CERL takes a loss for after these RTT samples, in milliseconds.
    fn verdict(a: f64, samples: &[u64]) -> Verdict {
        let mut cerl = Cerl::new(a);
        for ms in samples {
            cerl.on_ack(&Ack {
                rtt: Some(Duration::from_millis(*ms)),
                ..ACK
            });
        }
        cerl.judge(&loss(&crate::testing::newreno(10), Time::ZERO))
    }

    #[test]
    fn a_loss_below_55_percent_of_the_longest_queue_is_random() {
        // T = 100 ms, longest queue 100 ms: the threshold lies at 155 ms.
        assert_eq!(verdict(0.55, &[100, 200, 100]), Verdict::Random);
        assert_eq!(verdict(0.55, &[100, 200, 154]), Verdict::Random);
        assert_eq!(
            verdict(0.55, &[100, 200, 155]),
            Verdict::Congestion,
            "on equality"
        );
        assert_eq!(verdict(0.55, &[100, 200, 156]), Verdict::Congestion);
        assert_eq!(verdict(0.55, &[100, 200]), Verdict::Congestion);
    }

    #[test]
    fn the_threshold_follows_the_longest_queue_and_the_least_rtt() {
        assert_eq!(verdict(0.55, &[100, 200, 160]), Verdict::Congestion);
        // A queue of 120 ms has been seen: from 166 ms on.
        assert_eq!(verdict(0.55, &[100, 200, 220, 160]), Verdict::Random);
        // T falls to 60 ms: queue 100 of 140 ms, threshold 77.
        assert_eq!(verdict(0.55, &[100, 200, 150]), Verdict::Random);
        assert_eq!(verdict(0.55, &[100, 200, 60, 150]), Verdict::Congestion);
        assert_eq!(verdict(0.55, &[100, 200, 60, 136]), Verdict::Random);
    }

    #[test]
    fn without_a_queue_ever_seen_every_loss_is_congestion() {
        assert_eq!(verdict(0.55, &[]), Verdict::Congestion);
        assert_eq!(verdict(0.55, &[100]), Verdict::Congestion);
        assert_eq!(verdict(0.55, &[100, 100, 100]), Verdict::Congestion);
    }

    #[test]
    fn one_outlier_makes_a_full_queue_look_random_for_good() {
        // The weakness its header names: a queue of at most 100 ms, and once a delay of 300 ms.
        assert_eq!(verdict(0.55, &[100, 200]), Verdict::Congestion);
        assert_eq!(verdict(0.55, &[100, 400, 200, 200, 200]), Verdict::Random);
    }

    #[test]
    fn a_of_0_is_reno_and_a_of_1_leaves_only_the_longest_queue() {
        assert_eq!(verdict(0.0, &[100, 200, 100]), Verdict::Congestion);
        assert_eq!(verdict(1.0, &[100, 200, 199]), Verdict::Random);
        assert_eq!(verdict(1.0, &[100, 200]), Verdict::Congestion);
    }

    #[test]
    fn an_ack_without_a_sample_changes_nothing() {
        let mut cerl = Cerl::new(0.55);
        let ms = |ms| Some(Duration::from_millis(ms));
        for rtt in [ms(100), ms(200), ms(110), None] {
            cerl.on_ack(&Ack {
                rtt,
                min_rtt: Duration::ZERO,
                ..ACK
            });
        }
        let law = crate::testing::newreno(10);
        assert_eq!(cerl.judge(&loss(&law, Time::ZERO)), Verdict::Random);
    }

    fn sample(c: &mut dyn Controller, ms: u64) {
        let rtt = Some(Duration::from_millis(ms));
        c.on_ack(&Ack {
            rtt,
            in_recovery: true,
            ..ACK
        });
    }

    #[test]
    fn random_losses_keep_the_window_and_congestion_halves_it_once_per_window() {
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
        };
        let kept = LossResponse {
            reduced: false,
            verdict: Some(Verdict::Congestion),
        };
        let reduced = LossResponse {
            reduced: true,
            verdict: Some(Verdict::Congestion),
        };
        for ms in [100, 200, 120] {
            sample(&mut *c, ms);
        }
        assert_eq!(lose(&mut *c, 5, 64), (random, 64.0));
        sample(&mut *c, 190);
        // Segments 13 and 16 of 20, the example of the thesis's figure 3.3.
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
    fn a_timeout_is_renos_however_short_the_queue() {
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
