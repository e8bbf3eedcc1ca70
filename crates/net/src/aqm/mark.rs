//! Mark: marks every ECN-capable packet while the queue exceeds a threshold, and drops none.
//!
//! K. Xu, Y. Tian, N. Ansari, "TCP-Jersey for Wireless IP Communications", IEEE JSAC 22(4), 2004,
//! section III: the *congestion warning* of its routers, which mark all packets once the averaged
//! queue exceeds one threshold. With a weight of 1, which uses the queue without averaging, it is
//! the marking of M. Alizadeh et al., "Data Center TCP (DCTCP)", ACM SIGCOMM 2010, section 3.1, and
//! RFC 8257 section 3.1.
//!
//! * `avg <- (1 - w)*avg + w*q` for each arriving packet (see `average.rs`)
//! * a packet is marked if `avg > threshold` and it is ECN-capable
//!
//! **The physics.** With RED, one mark among many packets makes a sender halve its window. Here all
//! packets are marked, and the marks say only that there is a queue. The sender finds out by how
//! much to slow down: TCP-Jersey by its estimate of the path's rate, DCTCP by the fraction of
//! marked packets. For flows that are not ECN-capable, the queue is a DropTail queue.
//!
//! **When it does not work.** A sender that halves its window for a mark, as RFC 3168 requires,
//! does so whenever the queue exceeds the threshold. The link then runs dry unless the threshold is
//! about one bandwidth-delay product.
//!
//! Neither paper could be read; this follows secondary sources and RFC 8257. The papers give
//! thresholds for their own links. The default is the lower threshold that RED would have
//! ([`AqmSetting`](super::AqmSetting)).

use super::average::Average;
use super::{AqmDecision, Arrival, QueueUnit};
use whimbrel_units::Duration;

/// Marks above a threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// The averaged queue above which packets are marked, in `unit`.
    pub threshold: f64,
    /// The unit of the queue's length.
    pub unit: QueueUnit,
    /// Weight of each arrival in the average, from 0 to 1.
    pub weight: f64,
    /// The time that the link takes for a typical packet.
    pub packet_time: Duration,
}

/// The marking state of one queue.
#[derive(Debug, Clone)]
pub(crate) struct MarkState {
    mark: Mark,
    average: Average,
}

impl MarkState {
    pub fn new(mark: Mark) -> Self {
        Self {
            mark,
            average: Average::new(mark.weight, mark.packet_time),
        }
    }

    pub fn arrive(&mut self, arrival: &Arrival) -> AqmDecision {
        let queue = arrival.queue(self.mark.unit);
        let above = self.average.arrive(queue, arrival.idle) > self.mark.threshold;
        if above && arrival.ect {
            AqmDecision::Mark
        } else {
            AqmDecision::Pass
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_units::Time;

    fn fates(weight: f64, ect: bool, queues: &[usize]) -> Vec<AqmDecision> {
        let mut state = MarkState::new(Mark {
            threshold: 4.0,
            unit: QueueUnit::Packets,
            weight,
            packet_time: Duration::from_millis(1),
        });
        let arrival = |packets: &usize| Arrival {
            now: Time::ZERO,
            size: 1500,
            ect,
            packets: *packets,
            bytes: 0,
            idle: Duration::ZERO,
        };
        queues.iter().map(|q| state.arrive(&arrival(q))).collect()
    }

    #[test]
    fn weight_one_marks_every_packet_that_finds_more_than_the_threshold() {
        use AqmDecision::{Mark, Pass};
        assert_eq!(
            fates(1.0, true, &[0, 4, 5, 6, 5, 4, 0]),
            [Pass, Pass, Mark, Mark, Mark, Pass, Pass]
        );
    }

    #[test]
    fn the_average_lags_a_rising_and_a_falling_queue() {
        use AqmDecision::{Mark, Pass};
        // Averages by halves: 4, 6, 7, 3.5, 1.75.
        assert_eq!(
            fates(0.5, true, &[8, 8, 8, 0, 0]),
            [Pass, Mark, Mark, Pass, Pass]
        );
    }

    #[test]
    fn packets_that_are_not_ecn_capable_pass() {
        assert_eq!(fates(1.0, false, &[5, 100]), [AqmDecision::Pass; 2]);
    }
}
