//! RED: drops or marks at random, the more the longer the averaged queue.
//!
//! S. Floyd, V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM Transactions on
//! Networking 1(4), 1993, figure 2; S. Floyd, "Recommendation on using the 'gentle_' variant of RED", 2000; for marks
//! RFC 3168 section 7.
//!
//! For each packet that arrives, with the averaged queue avg (see `average.rs`):
//! * `avg < min`, or at most one packet waits: it passes
//! * `min <= avg < max`: `pb = max_p*(avg - min)/(max - min)`
//! * gentle, `max <= avg < 2*max`: `pb = max_p + (1 - max_p)*(avg - max)/max`
//! * above: it is dropped
//! * counted in bytes: `pb <- pb*size/packet`
//! * `pa = pb/(1 - count*pb)`, count the packets since the last one chosen; it is chosen with probability pa
//! * who is chosen is marked if ECN-capable, else dropped
//!
//! **The physics.** TCP's bursts make the queue long for a moment, standing congestion for long: the average tells them
//! apart. Chance spreads the news in time and over flows by their share of packets, so that not all slow down at once as
//! they do when a queue overflows; the count makes the distances between chosen packets even (section 7:
//! uniform from 1 to 1/pb) where independent draws would clump.
//!
//! **When it works.** Where the thresholds fit the number of flows: with N flows the loss rate that holds their share is
//! set by N, and the average settles where pb equals it. Too few flows oscillate around min, too many push avg
//! beyond max. Setting it was never solved (that is what CoDel is about).
//!
//! **Marks above max.** RFC 3168 section 7 lets an ECN-capable packet be marked where one that is not would be dropped,
//! and wants packets dropped, not marked, once the average exceeds the upper threshold. In gentle mode that
//! threshold is 2*max, where dropping becomes certain (ns-3's `RedQueueDisc` with `UseHardDrop` is the same; ns-2 stops
//! marking at a probability of its own, `mark_p_`).
//!
//! **Sources.** The paper's pseudo-code was read in INET's documentation of its `REDQueue`, which repeats it; ns-2's
//! `red.cc`, Floyd's own, and ns-3's `red-queue-disc.cc` after it were read. From ns-2, where the paper is silent: an overflow
//! of the queue itself counts as the last packet chosen; and who finds at most one packet waiting passes, however high the
//! average still is. Without that a link that has run dry goes on dropping until the average has come down, a second
//! and more with small weights, and stays dry: two to thirty flows at thresholds of 5 and 15 lose up to a fifth of
//! their goodput. Left out of theirs: `wait`, which halves the rate of drops, and that they never choose the first packet
//! above min; the paper knows neither.

use super::average::Average;
use super::{Arrival, QueueUnit, Verdict};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use whimbrel_units::{Bytes, Duration, Probability};

/// With no more packets than these waiting, nothing is chosen.
const FEW: usize = 1;

/// Random early detection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Red {
    /// Averaged queue from which packets are chosen, in `unit`.
    pub min: f64,
    /// Averaged queue at which they are chosen with `max_p`, in `unit`; at least `min`.
    pub max: f64,
    /// What the queue is counted in. In bytes, large packets are chosen more often than small ones.
    pub unit: QueueUnit,
    /// Probability at `max`, before it is made even by the count.
    pub max_p: Probability,
    /// Weight of each arrival in the average, 0 to 1.
    pub weight: f64,
    /// From `max` to twice that, the probability rises to one; otherwise everything is dropped from `max` on.
    pub gentle: bool,
    /// Size of a typical packet.
    pub packet: Bytes,
    /// The time that the link takes for it.
    pub packet_time: Duration,
}

impl Red {
    /// pb, for a packet of the typical size; `None`: it is dropped for certain.
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

/// RED at work.
#[derive(Debug, Clone)]
pub(crate) struct Judge {
    red: Red,
    average: Average,
    /// Packets since the last one chosen; `None` while the average is below min.
    count: Option<u32>,
    rng: Xoshiro256PlusPlus,
}

impl Judge {
    pub fn new(red: Red, rng: Xoshiro256PlusPlus) -> Self {
        Self {
            red,
            average: Average::new(red.weight, red.packet_time),
            count: None,
            rng,
        }
    }

    /// A packet arrives; without `room` it is lost whatever is said here.
    pub fn arrive(&mut self, arrival: &Arrival, room: bool) -> Verdict {
        let queue = arrival.queue(self.red.unit);
        let average = self.average.arrive(queue, arrival.idle);
        if average < self.red.min || arrival.packets <= FEW {
            self.count = None;
            return Verdict::Pass;
        }
        let Some(chance) = self.red.probability(average) else {
            self.count = Some(0);
            return Verdict::Drop;
        };
        let chosen = room && self.choose(chance, arrival.size);
        if chosen || !room {
            self.count = Some(0);
        }
        match (chosen, arrival.ect) {
            (false, _) => Verdict::Pass,
            (true, true) => Verdict::Mark,
            (true, false) => Verdict::Drop,
        }
    }

    /// Counts a packet and draws for it.
    fn choose(&mut self, chance: f64, size: u32) -> bool {
        let count = self.count.map_or(0, |count| count.saturating_add(1));
        self.count = Some(count);
        let pb = match self.red.unit {
            QueueUnit::Packets => chance,
            QueueUnit::Bytes => chance * f64::from(size) / self.red.packet.get().max(1) as f64,
        };
        // A product of one or more leaves nothing to chance; so does what is then no probability.
        let left = 1.0 - f64::from(count) * pb;
        let pa = if left > pb { pb / left } else { 1.0 };
        pb > 0.0 && self.rng.random::<f64>() < pa
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// The paper's figure 3: thresholds of 5 and 15 packets, max_p 1/50, weight 0.002.
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

    /// RED that sees the queue itself, with pb = 0.1 at a queue of 10.
    fn tenth() -> Red {
        Red {
            max_p: Probability::new(0.2).expect("a probability"),
            weight: 1.0,
            ..red()
        }
    }

    fn judge(red: Red) -> Judge {
        Judge::new(red, Xoshiro256PlusPlus::seed_from_u64(1))
    }

    fn finds(packets: usize) -> Arrival {
        Arrival {
            size: 1500,
            ect: false,
            packets,
            bytes: 1500 * packets as u64,
            idle: Duration::ZERO,
        }
    }

    #[test]
    fn the_probability_rises_to_max_p_at_max_and_then_to_one_at_twice_max() {
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
    fn nothing_is_chosen_below_min_however_long_the_queue_is_for_a_moment() {
        // With a weight of 0.002 it takes 35 packets of a queue of 75 for an average of 5: 75*(1 - 0.998^35) = 5.08,
        // 75*(1 - 0.998^34) = 4.94.
        let mut judge = judge(Red {
            max: 5.0,
            gentle: false,
            ..red()
        });
        let fates: Vec<_> = (0..36).map(|_| judge.arrive(&finds(75), true)).collect();
        assert!(fates[..34].iter().all(|fate| *fate == Verdict::Pass));
        assert_eq!(fates[34], Verdict::Drop);
    }

    #[test]
    fn an_average_that_is_left_of_a_long_queue_harms_nobody_in_a_short_one() {
        let slow = Red {
            weight: 0.1,
            gentle: false,
            ..tenth()
        };
        let mut judge = judge(slow);
        // 100*(1 - 0.9^10) = 65.
        let long: Vec<_> = (0..10).map(|_| judge.arrive(&finds(100), true)).collect();
        assert_eq!(long[9], Verdict::Drop);
        assert_eq!(judge.arrive(&finds(1), true), Verdict::Pass);
        assert_eq!(judge.arrive(&finds(2), true), Verdict::Drop);
    }

    #[test]
    fn the_distances_between_chosen_packets_are_even_from_1_to_9_at_pb_a_tenth() {
        // Figure 2 counts before it draws: pa = 0.1/(1 - 0.1*n), that is 1/9, 1/8, ... 1 for the n-th packet since. So
        // each distance from 1 to 9 has probability 1/9, and the mean is 5: of 90,000 packets 18,000 are chosen.
        let mut judge = judge(tenth());
        let mut distances = [0_u32; 11];
        let mut distance = 0;
        let mut all = 0_u32;
        for _ in 0..90_000 {
            distance += 1;
            if judge.arrive(&finds(10), true) == Verdict::Drop {
                all += 1;
                distances[distance] += 1;
                distance = 0;
            }
        }
        assert!((17_700..18_300).contains(&all), "{all}");
        // 2000 each, standard deviation 42. The first of all, with count 0, may come a packet later.
        for n in &distances[1..10] {
            assert!((1_800..2_200).contains(n), "{distances:?}");
        }
    }

    #[test]
    fn who_can_be_marked_is_marked_below_the_upper_threshold_and_dropped_above() {
        let capable = |packets| Arrival {
            ect: true,
            ..finds(packets)
        };
        let of = |red: Red, packets| {
            let mut judge = judge(red);
            let mut seen = vec![];
            for _ in 0..1000 {
                let fate = judge.arrive(&capable(packets), true);
                if !seen.contains(&fate) {
                    seen.push(fate);
                }
            }
            seen
        };
        assert_eq!(of(tenth(), 4), [Verdict::Pass]);
        assert!(!of(tenth(), 14).contains(&Verdict::Drop));
        assert!(of(tenth(), 14).contains(&Verdict::Mark));
        // RFC 3168 section 7: beyond the upper threshold packets are dropped. It is 30 when gentle.
        assert!(!of(tenth(), 29).contains(&Verdict::Drop));
        assert_eq!(of(tenth(), 30), [Verdict::Drop]);
        let harsh = Red {
            gentle: false,
            ..tenth()
        };
        assert_eq!(of(harsh, 15), [Verdict::Drop]);
    }

    #[test]
    fn in_bytes_a_small_packet_is_chosen_less() {
        let in_bytes = Red {
            min: 7_500.0,
            max: 22_500.0,
            unit: QueueUnit::Bytes,
            ..tenth()
        };
        let chosen = |size| {
            let mut judge = judge(in_bytes);
            let arrival = Arrival { size, ..finds(10) };
            let all = (0..90_000).filter(|_| judge.arrive(&arrival, true) == Verdict::Drop);
            all.count()
        };
        // Full packets as above. A tenth of the size: pb = 0.01, distances even from 1 to 99, mean 50.
        assert!((17_700..18_300).contains(&chosen(1500)));
        assert!((1_700..1_900).contains(&chosen(150)), "{}", chosen(150));
        assert_eq!(chosen(0), 0);
    }

    /// Drops of 300 packets that arrive at once to an empty queue of 300, and with what average the last one met.
    fn flood(red: Red) -> (usize, f64) {
        let mut judge = judge(red);
        let mut queue = 0;
        for _ in 0..300 {
            queue += usize::from(judge.arrive(&finds(queue), true) == Verdict::Pass);
        }
        (300 - queue, judge.average.arrive(0.0, Duration::ZERO))
    }

    #[test]
    fn each_parameter_changes_what_is_dropped_as_in_the_tests_of_ns_3() {
        // red-queue-disc-test-suite.cc, tests 2 to 6: thresholds of 70 and 150 packets, max_p 1/50. With a weight of 0.002
        // the average of a queue of 0 to 299 ends at 300 - (1 - 0.998^300)/0.002 = 74.2, and hardly anything is dropped.
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
        let mut judge = judge(tenth());
        // Never nine in a row, were it not for the overflows: after each of them the count begins anew.
        for _ in 0..1000 {
            assert_eq!(judge.arrive(&finds(10), false), Verdict::Pass);
            assert_eq!(judge.count, Some(0));
        }
    }

    #[test]
    fn no_numbers_make_it_panic_or_choose_by_nonsense() {
        let odd = Red {
            min: 0.0,
            max: 0.0,
            max_p: Probability::ZERO,
            packet: Bytes::ZERO,
            unit: QueueUnit::Bytes,
            ..tenth()
        };
        for gentle in [false, true] {
            let mut judge = judge(Red { gentle, ..odd });
            for packets in [0, 1, usize::MAX] {
                let arrival = Arrival {
                    bytes: packets as u64,
                    size: u32::MAX,
                    ..finds(0)
                };
                judge.arrive(&arrival, true);
            }
        }
    }
}
