//! RED: drops or marks packets at random, more often the longer the averaged queue.
//!
//! S. Floyd, V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM
//! Transactions on Networking 1(4), 1993, figure 2; S. Floyd, "Recommendation on using the
//! 'gentle_' variant of RED", 2000; for marks RFC 3168 section 7.
//!
//! For each arriving packet, with the averaged queue avg (see `average.rs`):
//! * `avg < min`, or at most one packet waits: it passes
//! * `min <= avg < max`: `pb = max_p*(avg - min)/(max - min)`
//! * gentle, `max <= avg < 2*max`: `pb = max_p + (1 - max_p)*(avg - max)/max`
//! * above: it is dropped
//! * counted in bytes: `pb <- pb*size/packet`
//! * `pa = pb/(1 - count*pb)`, where count is the number of packets since the last chosen one; the
//!   packet is chosen with probability pa
//! * a chosen packet is marked if it is ECN-capable, otherwise dropped
//!
//! **The physics.** Bursts of TCP make the queue long for a moment, congestion makes it long for a
//! long time; the average tells them apart. Random choice spreads the signals in time, and over
//! flows in proportion to their packets, so that not all flows slow down at once as they do after
//! an overflow. The count spaces the chosen packets evenly (section 7: uniform from 1 to 1/pb),
//! where independent draws would cluster.
//!
//! **When it works.** If the thresholds fit the number of flows. The loss rate that N flows need is
//! set by N, and the average settles where pb equals it. With too few flows the average oscillates
//! around min, with too many it exceeds max. How to choose the parameters was never solved, which
//! motivated CoDel.
//!
//! **Marks above max.** RFC 3168 section 7 allows marking an ECN-capable packet where another one
//! would be dropped, and recommends dropping instead of marking once the average exceeds the upper
//! threshold. In gentle mode that threshold is 2*max, where dropping becomes certain (as in ns-3's
//! `RedQueueDisc` with `UseHardDrop`; ns-2 stops marking at a separate probability, `mark_p_`).
//!
//! **Sources.** The paper's pseudo-code was read in the documentation of INET's `REDQueue`, which
//! repeats it; ns-2's `red.cc`, by Floyd, and ns-3's `red-queue-disc.cc`, made after it, were read.
//! Where the paper says nothing, this follows ns-2: an overflow of the queue counts as the last
//! chosen packet, and a packet that finds at most one packet waiting passes, however high the
//! average still is. Without the second rule a link that has run dry keeps dropping until the
//! average has come down, for a second or more with small weights, and stays dry: two to thirty
//! flows at thresholds of 5 and 15 lose up to a fifth of their goodput. Not taken over: `wait`,
//! which halves the rate of drops, and the rule that the first packet above min is never chosen.
//! The paper has neither.

use super::average::Average;
use super::{AqmDecision, Arrival, QueueUnit};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use whimbrel_units::{Bytes, Duration, Probability};

/// With at most this many packets waiting, no packet is chosen.
const FEW: usize = 1;

/// Random early detection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Red {
    /// The averaged queue from which on packets are chosen, in `unit`.
    pub min: f64,
    /// The averaged queue at which packets are chosen with `max_p`, in `unit`; at least `min`.
    pub max: f64,
    /// The unit of the queue's length. In bytes, large packets are chosen more often than small
    /// ones.
    pub unit: QueueUnit,
    /// The probability pb at `max`.
    pub max_p: Probability,
    /// Weight of each arrival in the average, from 0 to 1.
    pub weight: f64,
    /// If true, the probability rises to one from `max` to twice `max`; otherwise every packet is
    /// dropped from `max` on.
    pub gentle: bool,
    /// Size of a typical packet.
    pub packet: Bytes,
    /// The time that the link takes for a typical packet.
    pub packet_time: Duration,
}

impl Red {
    /// pb of a packet of the typical size; `None` if it is dropped for certain.
    fn probability(&self, average: f64) -> Option<f64> {
        let max_p = self.max_p.get();
        if average < self.max {
            // max exceeds the average, which is not below min.
            return Some(max_p * (average - self.min) / (self.max - self.min));
        }
        let beyond = (average - self.max) / self.max;
        (self.gentle && beyond < 1.0).then_some(max_p + (1.0 - max_p) * beyond)
    }
}

/// The RED state of one queue.
#[derive(Debug, Clone)]
pub(crate) struct RedState {
    red: Red,
    average: Average,
    /// Packets since the last chosen one; `None` while the average is below min.
    count: Option<u32>,
    rng: Xoshiro256PlusPlus,
}

impl RedState {
    pub fn new(red: Red, rng: Xoshiro256PlusPlus) -> Self {
        Self {
            red,
            average: Average::new(red.weight, red.packet_time),
            count: None,
            rng,
        }
    }

    /// Decides on an arriving packet. Without `room` the packet is lost whatever the decision.
    pub fn arrive(&mut self, arrival: &Arrival, room: bool) -> AqmDecision {
        let queue = arrival.queue(self.red.unit);
        let average = self.average.arrive(queue, arrival.idle);
        if average < self.red.min || arrival.packets <= FEW {
            self.count = None;
            return AqmDecision::Pass;
        }
        let Some(chance) = self.red.probability(average) else {
            self.count = Some(0);
            return AqmDecision::Drop;
        };
        let chosen = room && self.choose(chance, arrival.size);
        if chosen || !room {
            self.count = Some(0);
        }
        match (chosen, arrival.ect) {
            (false, _) => AqmDecision::Pass,
            (true, true) => AqmDecision::Mark,
            (true, false) => AqmDecision::Drop,
        }
    }

    /// Counts a packet and draws whether it is chosen.
    fn choose(&mut self, chance: f64, size: u32) -> bool {
        let count = self.count.map_or(0, |count| count.saturating_add(1));
        self.count = Some(count);
        let pb = match self.red.unit {
            QueueUnit::Packets => chance,
            QueueUnit::Bytes => chance * f64::from(size) / self.red.packet.get().max(1) as f64,
        };
        // If pb / left is not below one, or left is not positive, the packet is chosen for certain.
        let left = 1.0 - f64::from(count) * pb;
        let pa = if left > pb { pb / left } else { 1.0 };
        pb > 0.0 && self.rng.random::<f64>() < pa
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use whimbrel_units::Time;

    /// The parameters of the paper's figure 3: thresholds of 5 and 15 packets, max_p 1/50, weight
    /// 0.002.
    fn red() -> Red {
        Red {
            min: 5.0,
            max: 15.0,
            unit: QueueUnit::Packets,
            max_p: Probability::new(0.02).expect("a probability"),
            weight: 0.002,
            gentle: true,
            packet: Bytes::new(1500),
            packet_time: Duration::from_millis(1),
        }
    }

    /// RED without averaging, with pb = 0.1 at a queue of 10.
    fn tenth() -> Red {
        Red {
            max_p: Probability::new(0.2).expect("a probability"),
            weight: 1.0,
            ..red()
        }
    }

    fn state(red: Red) -> RedState {
        RedState::new(red, Xoshiro256PlusPlus::seed_from_u64(1))
    }

    fn finds(packets: usize) -> Arrival {
        Arrival {
            now: Time::ZERO,
            size: 1500,
            ect: false,
            packets,
            bytes: 1500 * packets as u64,
            idle: Duration::ZERO,
        }
    }

    #[test]
    fn the_probability_rises_to_max_p_at_max_and_to_one_at_twice_max() {
        let red = red();
        // 0.02 at 15; half-way, 10, it is 0.01; gentle: half-way from 15 to 30, 0.02 + 0.98/2.
        for (average, expected) in [(5.0, 0.0), (10.0, 0.01), (15.0, 0.02), (22.5, 0.51)] {
            let p = red.probability(average).expect("chance");
            assert!((p - expected).abs() < 1e-12, "{average}: {p}");
        }
        assert_eq!(red.probability(30.0), None);
        let harsh = Red {
            gentle: false,
            ..red
        };
        assert_eq!(harsh.probability(15.0), None);
        assert!(harsh.probability(14.9).is_some());
    }

    #[test]
    fn a_short_burst_below_an_average_of_min_is_not_dropped() {
        // With a weight of 0.002, a queue of 75 needs 35 packets to bring the average to 5:
        // 75*(1 - 0.998^35) = 5.08, 75*(1 - 0.998^34) = 4.94.
        let mut state = state(Red {
            max: 5.0,
            gentle: false,
            ..red()
        });
        let fates: Vec<_> = (0..36).map(|_| state.arrive(&finds(75), true)).collect();
        assert!(fates[..34].iter().all(|fate| *fate == AqmDecision::Pass));
        assert_eq!(fates[34], AqmDecision::Drop);
    }

    #[test]
    fn a_high_average_does_not_drop_packets_that_find_a_short_queue() {
        let slow = Red {
            weight: 0.1,
            gentle: false,
            ..tenth()
        };
        let mut state = state(slow);
        // 100*(1 - 0.9^10) = 65.
        let long: Vec<_> = (0..10).map(|_| state.arrive(&finds(100), true)).collect();
        assert_eq!(long[9], AqmDecision::Drop);
        assert_eq!(state.arrive(&finds(1), true), AqmDecision::Pass);
        assert_eq!(state.arrive(&finds(2), true), AqmDecision::Drop);
    }

    #[test]
    fn distances_between_chosen_packets_are_uniform() {
        // pb is 0.1. Figure 2 counts before it draws: pa = 0.1/(1 - 0.1*n), which is 1/9, 1/8, ...
        // 1 for the n-th packet. So each distance from 1 to 9 has probability 1/9, and the mean is
        // 5: of 90,000 packets, 18,000 are chosen.
        let mut state = state(tenth());
        let mut distances = [0_u32; 11];
        let mut distance = 0;
        let mut all = 0_u32;
        for _ in 0..90_000 {
            distance += 1;
            if state.arrive(&finds(10), true) == AqmDecision::Drop {
                all += 1;
                distances[distance] += 1;
                distance = 0;
            }
        }
        assert!((17_700..18_300).contains(&all), "{all}");
        // 2000 each, standard deviation 42. The very first one, with count 0, may come a packet
        // later.
        for n in &distances[1..10] {
            assert!((1_800..2_200).contains(n), "{distances:?}");
        }
    }

    #[test]
    fn ecn_capable_packets_are_marked_below_the_upper_threshold_only() {
        let capable = |packets| Arrival {
            ect: true,
            ..finds(packets)
        };
        let of = |red: Red, packets| {
            let mut state = state(red);
            let mut seen = vec![];
            for _ in 0..1000 {
                let fate = state.arrive(&capable(packets), true);
                if !seen.contains(&fate) {
                    seen.push(fate);
                }
            }
            seen
        };
        assert_eq!(of(tenth(), 4), [AqmDecision::Pass]);
        assert!(!of(tenth(), 14).contains(&AqmDecision::Drop));
        assert!(of(tenth(), 14).contains(&AqmDecision::Mark));
        // RFC 3168 section 7: above the upper threshold packets are dropped. In gentle mode it is
        // 30.
        assert!(!of(tenth(), 29).contains(&AqmDecision::Drop));
        assert_eq!(of(tenth(), 30), [AqmDecision::Drop]);
        let harsh = Red {
            gentle: false,
            ..tenth()
        };
        assert_eq!(of(harsh, 15), [AqmDecision::Drop]);
    }

    #[test]
    fn in_bytes_small_packets_are_chosen_less_often() {
        let in_bytes = Red {
            min: 7_500.0,
            max: 22_500.0,
            unit: QueueUnit::Bytes,
            ..tenth()
        };
        let chosen = |size| {
            let mut state = state(in_bytes);
            let arrival = Arrival { size, ..finds(10) };
            let all = (0..90_000).filter(|_| state.arrive(&arrival, true) == AqmDecision::Drop);
            all.count()
        };
        // Full packets as above. At a tenth of the size pb = 0.01, and distances are uniform from 1
        // to 99 with a mean of 50.
        assert!((17_700..18_300).contains(&chosen(1500)));
        assert!((1_700..1_900).contains(&chosen(150)), "{}", chosen(150));
        assert_eq!(chosen(0), 0);
    }

    /// Offers 300 packets at once to an empty queue for 300. Returns the drops and the final
    /// average.
    fn flood(red: Red) -> (usize, f64) {
        let mut state = state(red);
        let mut queue = 0;
        for _ in 0..300 {
            queue += usize::from(state.arrive(&finds(queue), true) == AqmDecision::Pass);
        }
        (300 - queue, state.average.arrive(0.0, Duration::ZERO))
    }

    #[test]
    fn each_parameter_changes_the_drops_as_in_the_tests_of_ns_3() {
        // red-queue-disc-test-suite.cc, tests 2 to 6: thresholds of 70 and 150 packets, max_p 1/50.
        // With a weight of 0.002 the average of a queue of 0 to 299 ends at 300 - (1 -
        // 0.998^300)/0.002 = 74.2, and almost no packet is dropped.
        let ns3 = Red {
            min: 70.0,
            max: 150.0,
            ..red()
        };
        let (slow, last) = flood(ns3);
        assert!(slow <= 1 && (73.0..74.3).contains(&last), "{slow} {last}");
        let (usual, _) = flood(Red {
            weight: 0.02,
            ..ns3
        });
        assert!(usual > 0);
        let quick = |change: fn(Red) -> Red| {
            flood(change(Red {
                weight: 0.02,
                ..ns3
            }))
            .0
        };
        assert!(quick(|red| Red { max: 100.0, ..red }) > usual);
        let fifth = |red| Red {
            max_p: Probability::new(0.2).expect("a probability"),
            ..red
        };
        assert!(quick(fifth) > usual);
        let harsh = |red| Red {
            gentle: false,
            ..red
        };
        assert!(quick(harsh) > usual);
    }

    #[test]
    fn an_overflow_counts_as_the_last_packet_chosen() {
        let mut state = state(tenth());
        // Without overflows, at most nine packets in a row are not chosen. Each overflow resets the
        // count.
        for _ in 0..1000 {
            assert_eq!(state.arrive(&finds(10), false), AqmDecision::Pass);
            assert_eq!(state.count, Some(0));
        }
    }

    #[test]
    fn zero_parameters_and_extreme_sizes_do_not_panic() {
        let odd = Red {
            min: 0.0,
            max: 0.0,
            max_p: Probability::ZERO,
            packet: Bytes::ZERO,
            unit: QueueUnit::Bytes,
            ..tenth()
        };
        for gentle in [false, true] {
            let mut state = state(Red { gentle, ..odd });
            for packets in [0, 1, usize::MAX] {
                let arrival = Arrival {
                    bytes: packets as u64,
                    size: u32::MAX,
                    ..finds(0)
                };
                state.arrive(&arrival, true);
            }
        }
    }
}
