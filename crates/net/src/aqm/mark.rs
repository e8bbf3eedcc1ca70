//! Mark: marks everything that can be marked while the queue exceeds a threshold, and drops nothing.
//!
//! K. Xu, Y. Tian, N. Ansari, "TCP-Jersey for Wireless IP Communications", IEEE JSAC 22(4), 2004, section III: the
//! *congestion warning* of its routers, which mark all packets once the averaged queue exceeds one threshold. With a
//! weight of 1, which takes the queue as it is, it is the marking of M. Alizadeh et al., "Data Center TCP
//! (DCTCP)", ACM SIGCOMM 2010, section 3.1, and RFC 8257 section 3.1.
//!
//! * `avg <- (1 - w)*avg + w*q` for each packet that arrives (see `average.rs`)
//! * a packet is marked if `avg > threshold` and it is ECN-capable
//!
//! **The physics.** RED tells a sender with one mark in many that it should halve. Here the marks say only that there is
//! a queue now, all packets say it, and how much to slow down is the sender's to find out: TCP-Jersey by its estimate of
//! the path's rate, DCTCP by the share of marked packets. To flows that are not ECN-capable it is a DropTail queue.
//!
//! **When not.** A sender that halves for it, as RFC 3168 asks, halves whenever the queue exceeds the threshold, so
//! the link runs dry unless the threshold is about a bandwidth-delay product.
//!
//! Neither paper could be read; both are told of here after secondary sources and RFC 8257. They give thresholds for
//! their own links. The default is the lower threshold that RED would have ([`AqmSetting`](super::AqmSetting)).

use super::average::Average;
use super::{Arrival, QueueUnit, Verdict};
use whimbrel_units::Duration;

/// Marks above a threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// Averaged queue beyond which packets are marked, in `unit`.
    pub threshold: f64,
    /// What the queue is counted in.
    pub unit: QueueUnit,
    /// Weight of each arrival in the average, 0 to 1.
    pub weight: f64,
    /// The time that the link takes for a typical packet.
    pub packet_time: Duration,
}

/// Marking at work.
#[derive(Debug, Clone)]
pub(crate) struct Judge {
    mark: Mark,
    average: Average,
}

impl Judge {
    pub fn new(mark: Mark) -> Self {
        Self {
            mark,
            average: Average::new(mark.weight, mark.packet_time),
        }
    }

    pub fn arrive(&mut self, arrival: &Arrival) -> Verdict {
        let queue = arrival.queue(self.mark.unit);
        let above = self.average.arrive(queue, arrival.idle) > self.mark.threshold;
        if above && arrival.ect {
            Verdict::Mark
        } else {
            Verdict::Pass
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(weight: f64, ect: bool, queues: &[usize]) -> Vec<Verdict> {
        let mut judge = Judge::new(Mark {
            threshold: 4.0,
            unit: QueueUnit::Packets,
            weight,
            packet_time: Duration::from_millis(1),
        });
        let arrival = |packets: &usize| Arrival {
            size: 1500,
            ect,
            packets: *packets,
            bytes: 0,
            idle: Duration::ZERO,
        };
        queues.iter().map(|q| judge.arrive(&arrival(q))).collect()
    }

    #[test]
    fn with_a_weight_of_one_every_packet_is_marked_that_finds_more_than_the_threshold() {
        use Verdict::{Mark, Pass};
        assert_eq!(
            fates(1.0, true, &[0, 4, 5, 6, 5, 4, 0]),
            [Pass, Pass, Mark, Mark, Mark, Pass, Pass]
        );
    }

    #[test]
    fn the_average_lags_behind_the_queue_both_ways() {
        use Verdict::{Mark, Pass};
        // Averages by halves: 4, 6, 7, 3.5, 1.75.
        assert_eq!(
            fates(0.5, true, &[8, 8, 8, 0, 0]),
            [Pass, Mark, Mark, Pass, Pass]
        );
    }

    #[test]
    fn what_cannot_be_marked_passes() {
        assert_eq!(fates(1.0, false, &[5, 100]), [Verdict::Pass; 2]);
    }
}
