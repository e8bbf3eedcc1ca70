//! Fairness of shares: Jain's index, and how the receiving node of Enhanced-AATP makes its flows
//! fair (Weighted Fairness).
//!
//! A. Briones, A. Mallorquí, A. Zaballos, R. Martin de Pozuelo, "Wireless Loss Detection over
//! Fairly Shared Heterogeneous Long Fat Networks", Electronics 2021, 10, 987, sections 3.2 and 5.3.
//! R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness and Discrimination", DEC-TR-301,
//! 1984.
//!
//! * Jain's index: `J = (sum r)^2 / (N * sum r^2)` (1)
//! * allocation: `Vm_n = p_n / sum(p) * BW` (20); efficiency: `r_n = V_n / Vm_n` (21)
//! * Weighted Fairness: WF is Jain's index of the r_n (22)
//! * adapter: `Delta_n = A * log2(Vm_n / V_n)` packets per burst (24)
//! * transcendence factor: `A = gamma/N * BW^(1 + beta) * (WF - 1)^2` (25), gamma 5, beta 0.05
//!
//! Units: V, Vm and BW are rates including headers; Delta and A are packets per burst; J and WF are
//! numbers without a unit.
//!
//! **The physics.** All flows of a node end at it, so only the node sees how they divide its access
//! link. It reports to each flow its distance from its allocation, in doublings, times a factor
//! that falls with the square of the unfairness: near balance the adapter vanishes, and the
//! algorithm's own increase dominates.
//!
//! It vanishes early: two flows of OC-3 at 1.05 and 0.95 of their allocations are adapted by 0.0002
//! packets per burst. The last tenth is evened out by congestion, which slows the flow above its
//! allocation more than the other (18).
//!
//! **When it works.** The node is the bottleneck, its bandwidth is known, and all flows obey.
//! **When not.** A flow that cannot use its allocation (an application with little data, a narrower
//! link elsewhere) keeps WF below 1 permanently, and its remainder is not reallocated.
//!
//! **Where it departs from the paper.**
//! * **BW in (25) is in Mbit/s.** The paper writes bit/s, but then A is of the order of 10^7 for WF
//!   = 0.9 on an OC-3 link, and Delta is millions of packets per burst, where a burst has about
//!   250. In Mbit/s it is a few packets, of the order of the increase with which it is to have
//!   "comparable influence".
//! * (24) is undefined for V = 0. A flow that delivers less than 1/1024 of its allocation counts as
//!   delivering that: ten doublings. So Delta is at most 10*A. (A flow that delivers too much
//!   delivers at most BW, and Vm is at least BW/57 among eight flows: six doublings.)
//! * If no flow delivers anything, or there is no flow, all are treated alike, and the index is 1.
//!
//! Delta does not depend on the length of a burst or on its number of packets, and may exceed
//! either: whoever applies it must limit it.

use whimbrel_units::Rate;

/// Jain's index (1) of non-negative shares: 1 for equal shares, 1/N if one of N takes all. 1 if the
/// sum is zero or there are no shares.
pub fn jain(shares: impl IntoIterator<Item = f64>) -> f64 {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for share in shares {
        count += 1.0;
        sum += share;
        squares += share * share;
    }
    if squares > 0.0 {
        sum * sum / (count * squares)
    } else {
        1.0
    }
}

/// The weight of a flow against others: an integer from 1, the lowest, to 8 (section 5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

impl Priority {
    /// The lowest priority, and the default.
    pub const LOWEST: Self = Self(1);
    /// The highest priority.
    pub const HIGHEST: Self = Self(8);

    /// Returns `None` unless `priority` is from 1 to 8.
    pub const fn new(priority: u8) -> Option<Self> {
        match priority {
            1..=8 => Some(Self(priority)),
            _ => None,
        }
    }

    /// The number, from 1 to 8.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self::LOWEST
    }
}

/// Vm (20): the part of `bandwidth` that a flow of priority `own` is entitled to among flows of the
/// priorities `all`, which include its own.
pub fn allocated(bandwidth: Rate, own: Priority, all: impl IntoIterator<Item = Priority>) -> Rate {
    let sum = all.into_iter().map(|p| u32::from(p.0)).sum();
    allocated_of(bandwidth, own, sum)
}

/// [`allocated`] with the sum of all priorities, which includes the flow's own.
pub fn allocated_of(bandwidth: Rate, own: Priority, sum: u32) -> Rate {
    // The sum includes the own priority, so the result is at most the bandwidth.
    bandwidth.mul_f64(f64::from(own.0) / f64::from(sum.max(u32::from(own.0))))
}

/// A flow as seen by the node that receives it among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// V: the rate at which it arrives.
    pub delivered: Rate,
    /// Vm: its allocation ([`allocated`]).
    pub allocated: Rate,
}

/// WF (22): Jain's index of the efficiencies (21). Flows with an allocation of zero are left out.
pub fn weighted_fairness(flows: impl IntoIterator<Item = Flow>) -> f64 {
    let bits = |rate: Rate| rate.as_bits_per_sec() as f64;
    let due = flows.into_iter().filter(|f| f.allocated > Rate::ZERO);
    jain(due.map(|f| bits(f.delivered) / bits(f.allocated)))
}

/// The minimum of V/Vm in (24): ten doublings below the allocation.
const MIN_EFFICIENCY: f64 = 1.0 / 1024.0;

/// The adapter with its two parameters (24) (25).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adapter {
    /// gamma: the weight of fairness against the algorithm's own increase.
    pub gamma: f64,
    /// beta: how this weight grows with the bandwidth.
    pub beta: f64,
}

impl Default for Adapter {
    /// The paper's values: "the used values in our tests".
    fn default() -> Self {
        Self {
            gamma: 5.0,
            beta: 0.05,
        }
    }
}

impl Adapter {
    /// The transcendence factor A (25) in packets per burst, for a node with `flows` flows,
    /// `bandwidth` (converted to Mbit/s) and the Weighted Fairness `fairness`. 0 without flows.
    pub fn transcendence(&self, flows: usize, bandwidth: Rate, fairness: f64) -> f64 {
        if flows == 0 {
            return 0.0;
        }
        let mbits = bandwidth.as_bits_per_sec() as f64 / 1e6;
        self.gamma / flows as f64 * mbits.powf(1.0 + self.beta) * (fairness - 1.0).powi(2)
    }

    /// Delta (24) for one of the node's flows, in packets per burst: negative for a flow that takes
    /// too much. 0 for a flow with an allocation of zero.
    pub fn delta(&self, transcendence: f64, flow: Flow) -> f64 {
        if flow.allocated.as_bits_per_sec() == 0 {
            return 0.0;
        }
        let delivered = flow.delivered.as_bits_per_sec() as f64;
        let efficiency = delivered / flow.allocated.as_bits_per_sec() as f64;
        // log2(Vm/V) = -log2(V/Vm).
        -transcendence * efficiency.max(MIN_EFFICIENCY).log2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OC3: Rate = Rate::from_bits_per_sec(148_608_000);

    fn mbits(mbits: u64) -> Rate {
        Rate::from_bits_per_sec(mbits * 1_000_000)
    }

    fn flow(delivered: u64, allocated: u64) -> Flow {
        Flow {
            delivered: mbits(delivered),
            allocated: mbits(allocated),
        }
    }

    fn priorities<const N: usize>(numbers: [u8; N]) -> [Priority; N] {
        numbers.map(|p| Priority::new(p).expect("from 1 to 8"))
    }

    fn near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() <= 5e-4 * expected.abs(),
            "{found}, not {expected}"
        );
    }

    #[test]
    fn jains_index_is_1_for_equal_shares_and_1_over_n_for_one_that_takes_all() {
        assert_eq!(jain([5.0, 5.0, 5.0, 5.0]), 1.0);
        assert_eq!(jain([7.0, 0.0, 0.0, 0.0]), 0.25);
        // (1 + 2 + 3)^2 / (3 * (1 + 4 + 9)) = 36/42.
        near(jain([1.0, 2.0, 3.0]), 0.857_143);
        // 2^2 / (2 * (1.1025 + 0.9025)) = 4/4.01.
        near(jain([1.05, 0.95]), 0.997_506);
        assert_eq!(jain([3.0]), 1.0);
    }

    #[test]
    fn without_anything_to_divide_the_index_is_1() {
        assert_eq!(jain([]), 1.0);
        assert_eq!(jain([0.0, 0.0]), 1.0);
        assert_eq!(weighted_fairness([]), 1.0);
        assert_eq!(weighted_fairness([flow(0, 50), flow(0, 100)]), 1.0);
        assert_eq!(weighted_fairness([flow(9, 0), flow(50, 50)]), 1.0);
    }

    #[test]
    fn the_papers_priorities_get_the_papers_shares() {
        // Section 6.4: 1-1 half each; 1-8 "11%" and "89%"; 2-4-6 "16%", "33%" and "50%".
        let share = |all: &[Priority]| {
            all.iter()
                .map(|p| allocated(mbits(900), *p, all.iter().copied()))
                .map(|vm| vm.as_bits_per_sec() / 1_000_000)
                .collect::<Vec<_>>()
        };
        assert_eq!(share(&priorities([1, 1])), [450, 450]);
        assert_eq!(share(&priorities([1, 8])), [100, 800]);
        assert_eq!(share(&priorities([2, 4, 6])), [150, 300, 450]);
        assert_eq!(share(&priorities([3])), [900], "alone: all of it");
        assert_eq!((Priority::new(0), Priority::new(9)), (None, None));
        assert_eq!(Priority::default(), Priority::LOWEST);
        assert_eq!(Priority::new(8), Some(Priority::HIGHEST));
    }

    #[test]
    fn weighted_fairness_is_1_at_the_allocations_not_at_equal_rates() {
        assert_eq!(weighted_fairness([flow(10, 20), flow(80, 160)]), 1.0);
        // Allocated 1:8 and delivered 1:1: r = 4.5 and 0.5625;
        // 5.0625^2 / (2 * (20.25 + 0.31640625)) = 25.6289/41.1328.
        near(
            weighted_fairness([flow(450, 100), flow(450, 800)]),
            0.623_077,
        );
    }

    #[test]
    fn the_transcendence_factor_is_a_few_packets_with_bw_in_mbits() {
        let adapter = Adapter::default();
        // 5/2 * 148.608^1.05 * 0.1^2: ln 148.608 = 5.001312, * 1.05 = 5.251378, e^ = 190.829;
        // * 0.025 = 4.7707.
        near(adapter.transcendence(2, OC3, 0.9), 4.7707);
        // The paper's bit/s would give 4.7707 * 10^6.3, millions of packets.
        let as_printed = mbits(148_608_000);
        near(adapter.transcendence(2, as_printed, 0.9), 9_518_846.0);
        assert_eq!(adapter.transcendence(2, OC3, 1.0), 0.0, "fair: no force");
        // Twice as far from fair: four times the factor. Twice the flows: half of it.
        near(adapter.transcendence(2, OC3, 0.8), 19.0829);
        near(adapter.transcendence(4, OC3, 0.9), 2.385_36);
        assert_eq!(adapter.transcendence(0, OC3, 0.9), 0.0);
        assert_eq!(adapter.transcendence(2, Rate::ZERO, 0.9), 0.0);
        // "gamma = 1 and beta = 0 are standard values": 1/2 * 148.608 * 0.01.
        let standard = Adapter {
            gamma: 1.0,
            beta: 0.0,
        };
        near(standard.transcendence(2, OC3, 0.9), 0.743_04);
    }

    #[test]
    fn the_adapter_vanishes_near_fairness_and_exceeds_a_burst_far_from_it() {
        let adapter = Adapter::default();
        let deltas = |flows: [Flow; 2]| {
            let factor = adapter.transcendence(2, OC3, weighted_fairness(flows));
            flows.map(|flow| adapter.delta(factor, flow))
        };
        // WF = 4/4.01, A = 477.07 * 0.002494^2 = 0.0029666; log2 1.05 = 0.070389, log2 0.95 =
        // -0.074001.
        let [above, below] = deltas([flow(105, 100), flow(95, 100)]);
        near(above * 1e3, -0.208_8);
        near(below * 1e3, 0.219_5);
        // Priorities 1 and 8, the second at 80 %: WF = 9.8^2 / (2 * 81.64) = 0.58819,
        // A = 477.07 * 0.16959 = 80.907; log2 9 = 3.16993, log2 1.25 = 0.321928. A burst of OC-3 in
        // 20 ms has 248 packets.
        let [above, below] = deltas([flow(900, 100), flow(640, 800)]);
        near(above, -256.47);
        near(below, 26.046);
    }

    #[test]
    fn the_adapter_counts_doublings_from_the_allocation() {
        let delta =
            |delivered, allocated| Adapter::default().delta(4.0, flow(delivered, allocated));
        assert_eq!(delta(50, 50), 0.0);
        assert_eq!(delta(25, 50), 4.0);
        assert_eq!(delta(100, 50), -4.0);
        assert_eq!(delta(10, 80), 12.0);
        // log2(9): a flow of priority 1 that has the entire link when one of priority 8 arrives.
        near(delta(900, 100), -12.6797);
    }

    #[test]
    fn a_flow_that_delivers_nothing_counts_as_ten_doublings_below() {
        let adapter = Adapter::default();
        assert_eq!(adapter.delta(4.0, flow(0, 50)), 40.0);
        assert_eq!(adapter.delta(4.0, flow(0, 0)), 0.0);
        assert_eq!(adapter.delta(4.0, flow(50, 0)), 0.0);
    }
}
