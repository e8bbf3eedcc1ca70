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

use crate::estimators::rtt_stats::RttStats;
use crate::interface::{Ack, Loss, LossClassifier, Verdict};
use crate::registry::entry::{ClassifierEntry, Parameter, Value, code};
use std::cmp::Ordering;
use whimbrel_units::Duration;

pub(crate) const A: Parameter = Parameter {
    name: "A",
    default: Value::Number(0.55),
    range: (0.0, 1.0),
    meaning: "share of the longest queue seen from which a loss is congestion; 0: every loss is",
};

pub(crate) const CITATION: &str = "H. El-Ocla, \"TCP CERL: Congestion control enhancement over wireless networks\", \
                        Wireless Networks 16(1), 2010";

/// Its place in the registry, to be put on any law.
pub(crate) static ENTRY: ClassifierEntry = ClassifierEntry {
    name: "cerl",
    code: code!("classifiers/cerl.rs", "estimators/rtt_stats.rs"),
    summary: "a loss while the queue is short is the channel's",
    citation: CITATION,
    parameters: &[A],
    build: |values| Box::new(Cerl::new(values.number("A"))),
};

/// CERL's discriminator.
#[derive(Debug, Clone)]
pub struct Cerl {
    /// A: share of the longest queue from which a loss is congestion, 0 to 1.
    a: f64,
    /// The samples so far, if there are any.
    seen: Option<RttStats>,
}

impl Cerl {
    /// `a` is the paper's A, from 0 to 1.
    pub fn new(a: f64) -> Self {
        Self { a, seen: None }
    }

    /// A round-trip time was measured.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        self.seen = Some(RttStats::with(self.seen, rtt));
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

    /// What CERL takes a loss for after these RTT samples, in milliseconds.
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
        let law = newreno(10);
        assert_eq!(cerl.judge(&loss(&law, Time::ZERO)), Verdict::Random);
    }
}
