//! TCP CERL: a loss while the queue is short is random, a loss while it is long is congestion.
//!
//! H. El-Ocla, "TCP CERL: Congestion control enhancement over wireless networks", Wireless
//! Networks, vol. 16, no. 1, pp. 183-198, 2010; implemented from its description in chapter 3 of T.
//! Saedi, "Congestion Control Enhancement Over Wireless Networks", MSc thesis, Lakehead University,
//! 2019.
//!
//! * queue: `l = (RTT - T)*B` (4.1), T the minimum RTT so far, B the bottleneck's bandwidth
//! * threshold: `N = A*l_max` (4.2), l_max the maximum l so far, A = 0.55
//! * a loss is random if `l < N`; otherwise it is congestion, and reduces the window as in Reno,
//!   once per window of data
//!
//! **The physics.** On a fixed path the RTT varies only by queueing delay, and at the bottleneck
//! this delay is the queue's length over B. So RTT - T is the present queue, RTT_max - T the
//! longest one so far, and B cancels: the test is `RTT - T < A*(RTT_max - T)`. No bandwidth is
//! estimated.
//!
//! **When it works.** The queue has once been full, so that RTT_max shows its size, and random
//! losses occur while the queue is well below A of that: one drop-tail bottleneck, some buffer,
//! losses spread evenly in time. A loss from a full queue has l near l_max, whatever A is.
//!
//! **When not.**
//! * Before the first queue, l = l_max = 0 and `l < N` is false: congestion. So a new flow, or a
//!   flow on a path without queues, is Reno. This error is conservative.
//! * l_max is never forgotten. One outlier (a handover, a retransmission below TCP, a single
//!   delayed ACK of up to 500 ms) raises N for the rest of the connection. If it exceeds a full
//!   queue's delay by 1/A, no later loss is judged congestion. This error is aggressive; timeouts
//!   still reduce.
//! * After a route change to a longer path, T remains and all losses are congestion. After a change
//!   to a shorter one, l is too small until T has followed, and l_max remains that of the old
//!   route.
//! * Queues of other flows count as its own; a small part of a standing queue keeps l high.
//! * Active queue management drops packets before the queue is full: those losses look random.
//!
//! **What is measured.** l is the latest sample before the loss was detected: from a packet that
//! arrived just before or after the lost one. Every valid sample counts, including those during
//! recovery (time stamps make them valid, and the transport applies Karn's rule), as in the thesis:
//! "every time a new RTT is estimated".
//!
//! On equality the thesis's text says congestion (`l` "larger than or equal to N", 3.1.2) and its
//! listing says random (`l > N` reduces). Here it is congestion, which also decides l = N = 0
//! above.

use crate::estimators::rtt_stats::RttStats;
use crate::interface::{Ack, Loss, LossClassifier, Verdict};
use crate::registry::entry::{ClassifierEntry, Domain, Parameter, code};
use std::cmp::Ordering;
use whimbrel_units::Duration;

pub(crate) const A: Parameter = Parameter {
    name: "A",
    domain: Domain::Number {
        default: 0.55,
        range: (0.0, 1.0),
    },
    meaning: "fraction of the longest queue so far from which a loss is congestion; 0: every \
              loss is",
};

pub(crate) const CITATION: &str = "H. El-Ocla, \"TCP CERL: Congestion control enhancement over \
                                   wireless networks\", Wireless Networks 16(1), 2010";

/// CERL's entry among the loss classifiers.
pub(crate) static ENTRY: ClassifierEntry = ClassifierEntry {
    name: "cerl",
    code: code!("classifiers/cerl.rs", "estimators/rtt_stats.rs"),
    summary: "a loss while the queue is short is random",
    citation: CITATION,
    without_receiver_clock: None,
    parameters: &[A],
    build: |values| Box::new(Cerl::new(values.number("A"))),
};

/// CERL's loss classifier.
#[derive(Debug, Clone)]
pub struct Cerl {
    /// A: the fraction of the longest queue from which a loss is congestion, 0 to 1.
    a: f64,
    /// The statistics of the samples so far.
    seen: Option<RttStats>,
}

impl Cerl {
    /// `a` is the paper's A, from 0 to 1.
    pub fn new(a: f64) -> Self {
        Self { a, seen: None }
    }

    /// Adds an RTT sample.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        self.seen = Some(RttStats::with(self.seen, rtt));
    }

    /// The comparison of the queue l with the threshold N; `None` before the first sample.
    pub(crate) fn level(&self) -> Option<Ordering> {
        // l over B, equation 4.1; l_max of 4.2 likewise.
        self.seen
            .map(|seen| seen.queue().cmp(&seen.longest_queue().mul_f64(self.a)))
    }

    /// The longest queue so far, as time.
    pub(crate) fn longest(&self) -> Duration {
        self.seen
            .map_or(Duration::ZERO, |seen| seen.longest_queue())
    }
}

impl LossClassifier for Cerl {
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

    fn clone_box(&self) -> Box<dyn LossClassifier> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ACK, loss, newreno};
    use whimbrel_units::Time;

    /// CERL's verdict on a loss after these RTT samples, in milliseconds.
    fn verdict(a: f64, samples: &[u64]) -> Verdict {
        let mut cerl = Cerl::new(a);
        for ms in samples {
            cerl.on_ack(&Ack {
                rtt: Some(Duration::from_millis(*ms)),
                ..ACK
            });
        }
        cerl.judge(&loss(&newreno(10), Time::ZERO))
    }

    #[test]
    fn a_loss_below_55_percent_of_the_longest_queue_is_random() {
        // T = 100 ms, longest queue 100 ms: the threshold is at 155 ms.
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
    fn the_threshold_follows_the_longest_queue_and_the_minimum_rtt() {
        assert_eq!(verdict(0.55, &[100, 200, 160]), Verdict::Congestion);
        // The longest queue is now 120 ms: the threshold is at 166 ms.
        assert_eq!(verdict(0.55, &[100, 200, 220, 160]), Verdict::Random);
        // T falls to 60 ms: a queue of 100 out of 140 ms, threshold 77.
        assert_eq!(verdict(0.55, &[100, 200, 150]), Verdict::Random);
        assert_eq!(verdict(0.55, &[100, 200, 60, 150]), Verdict::Congestion);
        assert_eq!(verdict(0.55, &[100, 200, 60, 136]), Verdict::Random);
    }

    #[test]
    fn before_the_first_queue_every_loss_is_congestion() {
        assert_eq!(verdict(0.55, &[]), Verdict::Congestion);
        assert_eq!(verdict(0.55, &[100]), Verdict::Congestion);
        assert_eq!(verdict(0.55, &[100, 100, 100]), Verdict::Congestion);
    }

    #[test]
    fn one_outlier_makes_a_full_queue_look_random_permanently() {
        // The weakness in the header: a queue of at most 100 ms, and once a delay of 300 ms.
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
        let controller = newreno(10);
        assert_eq!(cerl.judge(&loss(&controller, Time::ZERO)), Verdict::Random);
    }
}
