//! The throughput of the chain with and without negative acknowledgments. TCP-NACK paper, section
//! 2.1, equations (15) and (16).
//!
//! * (15) `theta = sum over i of pi_i * sum over n of (n-1)/Dt(i,n) * Pr{n|i}`: the mean rate of
//!   cycles
//! * (16) the same times `1 - P`, for TCP-NACK: a corrupted packet is sent twice and ends no cycle
//! * long run: `sum of pi_i*Pr{n|i}*(n-1)` over `sum of pi_i*Pr{n|i}*Dt(i,n)`: delivered packets
//!   over time
//! * with the flight: `n - 1 + (1-P)*(W_x - 1)` delivered in `Dt + max(0, W_x - 1 - R_p*RTT)/R_p`:
//!   packets in flight after the lost one arrive too, while the first burst of the next cycle waits
//!   for its acknowledgments; the excess over the pipe is served first. The paper does not have
//!   this.
//!
//! **The physics.** Without NACKs every lost packet ends a cycle, so windows are small and the link
//! is mostly idle. With NACKs a cycle ends when the buffer overflows, and corruption costs only the
//! corrupted packets, with either formula.
//!
//! **Where it departs from the paper, and why.**
//! * (16) is printed with the `Pr{n|i}` and pi of (15). Taken literally, NACKs would give 1 - P of
//!   the throughput without them: **less**, which contradicts Fig 8. According to the text the
//!   window grows "normally (i.e., until the depletion of the receptor buffer)": corruption ends no
//!   cycle, so P is 0 in (14) and appears only in the factor. At P = 10 % on W_C = 5, B = 2 the
//!   utilization is 0.9*29/35 = 0.746, against 0.9*0.395 as printed.
//! * Corruption in the headers, which no NACK can report ([`Receiver::Nacks`]), ends cycles as
//!   without NACKs. If all corruption is unreported this is (15).
//! * The paper's results cite (16) and (17) for the equations numbered (15) and (16). "Normalised"
//!   means divided by R_b; no equation says so.
//! * (15) is a mean of rates in which a cycle of one round counts as much as one of fifty. The
//!   long-run throughput of a flow is the quotient of means; both are given. Short cycles are slow,
//!   so (15) is the lower value.
//! * When a loss is detected, a window minus one packet has been sent after it. In the paper's sums
//!   these packets do not count, so that a flow with a window far above 1/P delivers 1/P packets
//!   per round trip, for any window. With the flight included, Reno on an unlimited link gives
//!   exactly the square root formula (a test). This is an upper bound, as each loss is repaired at
//!   no cost; the long run without the flight is a lower bound, timeouts aside.
//! * The inner sum begins with n = 2, as n - 1 is 0 for n = 1; the `C` of the outer sum is the
//!   maximum W_0.
//!
//! Sums divide the packets of a burst into at most [`PIECES`] parts with their exact probability,
//! each with the rate of its middle. This is exact for windows up to that size; above it (n-1)/Dt
//! is nearly linear within a part.

use crate::chain::stationary;
use crate::cycle::{Burst, Cycle};
use crate::error::ModelError;
use crate::first_loss::LossOf;
use crate::formula::Formula;
use crate::path::ModelPath;
use whimbrel_units::Probability;

/// Maximum number of parts of a burst.
const PIECES: u64 = 32;

/// What the receiver does about corrupted packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Receiver {
    /// Nothing: a corrupted packet is lost.
    Silent,
    /// It requests the packet with a NACK, and the sender keeps its window (TCP-NACK).
    Nacks {
        /// Fraction of corrupted packets without a NACK, because their headers are corrupted; 0 in
        /// the paper.
        unreported: Probability,
    },
}

/// The stationary behaviour of a flow on a path.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// (15) or (16) as utilization of the link: 0 to 1.
    pub mean_of_cycles: f64,
    /// Delivered packets over time, as utilization of the link: 0 to 1.
    pub long_run: f64,
    /// The same including the flight after the lost packet: 0 to 1.
    pub with_flight: f64,
    /// The stationary distribution: pairs of a window in packets and the fraction of cycles that
    /// begin with it, without zeros.
    pub windows: Vec<(u64, f64)>,
}

/// Solves the chain for packets that are corrupted independently with probability `p`.
///
/// # Errors
/// If the chain does not converge, which happens only for Westwood with `p` near 1.
pub fn solve(
    path: &ModelPath,
    formula: Formula,
    receiver: Receiver,
    p: Probability,
) -> Result<Solution, ModelError> {
    // Losses that end cycles, and corrupted packets that are only retransmitted.
    let (lost, again) = match receiver {
        Receiver::Silent => (p, 0.0),
        Receiver::Nacks { unreported } => {
            (product(p, unreported), p.get() * (1.0 - unreported.get()))
        }
    };
    let windows = stationary(path, formula, lost)?;
    let mut sums = Sums::default();
    for &(w_0, pi) in &windows {
        let cycle = Cycle { path, w_0 };
        let loss = LossOf::new(&cycle, lost);
        for burst in cycle.bursts() {
            sums.add(&cycle, &loss, &burst, pi);
            sums.add_flight(&cycle, &loss, &burst, pi);
            if loss.is_over(burst.first + burst.packets) {
                break;
            }
        }
    }
    Ok(Solution {
        mean_of_cycles: sums.rates * (1.0 - again),
        long_run: sums.packets / sums.slots * (1.0 - again),
        with_flight: (sums.packets + sums.flight) / (sums.slots + sums.queue) * (1.0 - again),
        windows,
    })
}

/// The probability of both events.
fn product(a: Probability, b: Probability) -> Probability {
    Probability::new(a.get() * b.get()).unwrap_or(a)
}

/// Sums of (15) and of the long run, in packets and slots of 1/R_p.
#[derive(Debug, Default)]
struct Sums {
    rates: f64,
    packets: f64,
    slots: f64,
    /// Packets sent after the lost one.
    flight: f64,
    /// Service time of those of them that are in the queue.
    queue: f64,
}

impl Sums {
    fn add(&mut self, cycle: &Cycle<'_>, loss: &LossOf, burst: &Burst, pi: f64) {
        let size = burst.packets.div_ceil(PIECES);
        let end = burst.first + burst.packets;
        let mut first = burst.first;
        while first < end {
            let packets = size.min(end - first);
            let weight = pi * loss.within(first, packets);
            // The mean number of packets delivered before the loss.
            let rest = (packets - 1) as f64 / 2.0;
            let delivered = (first - 1) as f64 + rest;
            let slots = cycle.ack_slot(burst.number, first) + rest;
            self.rates += weight * delivered / slots;
            self.packets += weight * delivered;
            self.slots += weight * slots;
            first += packets;
        }
    }

    /// Adds the packets in flight after a lost packet of this burst.
    fn add_flight(&mut self, cycle: &Cycle<'_>, loss: &LossOf, burst: &Burst, pi: f64) {
        let weight = pi * loss.within(burst.first, burst.packets);
        let flight = (burst.packets - 1) as f64;
        self.flight += weight * flight * loss.arrives();
        self.queue += weight * (flight - cycle.path.rtt_in_slots()).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe;
    use proptest::prelude::*;

    fn p(share: f64) -> Probability {
        Probability::new(share).expect("a probability")
    }

    const REPORTED: Receiver = Receiver::Nacks {
        unreported: Probability::ZERO,
    };

    fn of(path: &ModelPath, formula: Formula, receiver: Receiver, share: f64) -> Solution {
        solve(path, formula, receiver, p(share)).expect("converges")
    }

    #[test]
    fn a_small_pipe_without_losses_matches_a_calculation_by_hand() {
        // From 4 to the overflow of packet 30, whose ACK would arrive at slot 35: utilization
        // 29/35.
        let path = pipe::path(5, 2);
        let found = of(&path, Formula::Reno, Receiver::Silent, 0.0);
        assert!((found.mean_of_cycles - 29.0 / 35.0).abs() < 1e-12);
        assert!((found.long_run - 29.0 / 35.0).abs() < 1e-12);
        // With the 7 packets after it, of which the pipe holds 5: 36/37.
        assert!((found.with_flight - 36.0 / 37.0).abs() < 1e-12);
        // With NACKs and 10 % corruption a tenth less.
        let nack = of(&path, Formula::Reno, REPORTED, 0.1);
        assert!((nack.mean_of_cycles - 0.9 * 29.0 / 35.0).abs() < 1e-12);
    }

    #[test]
    fn if_everything_is_lost_nothing_in_flight_arrives() {
        let found = of(&pipe::path(5, 2), Formula::Reno, Receiver::Silent, 1.0);
        assert_eq!((found.long_run, found.with_flight), (0.0, 0.0));
    }

    #[test]
    fn if_no_nack_can_be_sent_the_result_is_that_without_nacks() {
        let path = pipe::path(20, 5);
        let deaf = Receiver::Nacks {
            unreported: Probability::ONE,
        };
        for formula in [Formula::Reno, Formula::Westwood] {
            assert_eq!(
                of(&path, formula, deaf, 0.01),
                of(&path, formula, Receiver::Silent, 0.01)
            );
        }
    }

    #[test]
    fn equation_16_as_printed_would_make_nacks_harmful() {
        let path = pipe::path(5, 2);
        let found = of(&path, Formula::Reno, Receiver::Silent, 0.1);
        // Summed packet by packet over W_0 = 2, 3, 4, which begin 75.12 %, 18.55 % and 6.32 % of
        // the cycles.
        assert!((found.windows[0].1 - 0.75124).abs() < 1e-5, "{found:?}");
        assert!((found.mean_of_cycles - 0.39478).abs() < 1e-5, "{found:?}");
        assert!((found.long_run - 0.50944).abs() < 1e-5, "{found:?}");
        let silent = found.mean_of_cycles;
        let nack = of(&path, Formula::Reno, REPORTED, 0.1).mean_of_cycles;
        assert!(
            0.9 * silent < silent && silent < 0.6 * nack,
            "{silent} {nack}"
        );
    }

    #[test]
    fn on_a_fast_link_the_long_run_is_close_to_the_square_root_formula() {
        // P = 1e-3 on a pipe of 1000: windows of about 40 never fill it. Mathis: 1.31/sqrt(P) =
        // 41.43 packets per RTT, so 1000 packets take 24.14 RTTs. The chain waits one more RTT for
        // the acknowledgment: 1000/25.14 = 39.8.
        let path = pipe::path(1000, 10);
        let found = of(&path, Formula::Reno, Receiver::Silent, 1e-3).long_run * path.rtt_in_slots();
        assert!((found / 39.8 - 1.0).abs() < 0.01, "{found}");
    }

    #[test]
    fn with_the_flight_it_equals_the_square_root_formula() {
        // 1.31/sqrt(P) packets per RTT: 41.4, 13.1.
        let path = pipe::path(1000, 10);
        for (share, formula) in [(1e-3, 41.4), (1e-2, 13.1)] {
            let found = of(&path, Formula::Reno, Receiver::Silent, share).with_flight;
            let found = found * path.rtt_in_slots();
            assert!((found / formula - 1.0).abs() < 0.02, "{found} {formula}");
        }
    }

    /// A random number from 0 to 1, from a generator by D. Knuth.
    fn draw(state: &mut u64) -> f64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*state >> 11) as f64 / (1_u64 << 53) as f64
    }

    #[test]
    fn simulated_cycles_have_the_throughput_of_the_chain() {
        for (pipe, buffer, share) in [(5, 2, 0.02), (5, 2, 0.2), (30, 15, 0.001), (30, 15, 0.01)] {
            let path = pipe::path(pipe, buffer);
            let played: Vec<pipe::Played> = (0..=path.max_window())
                .map(|w_0| pipe::play(pipe, buffer, w_0.max(2)))
                .collect();
            let mut state = 7;
            let (mut w_0, mut rates, mut packets, mut slots) = (2_u64, 0.0, 0.0, 0.0);
            let cycles = 200_000;
            for _ in 0..cycles {
                let cycle = &played[w_0 as usize];
                let mut n = 1;
                while n < cycle.overflows && draw(&mut state) >= share {
                    n += 1;
                }
                // The ACK of the packet that overflows would arrive one slot after the last one.
                let ack = cycle.acks.get(n as usize - 1).copied();
                let slot = ack.unwrap_or_else(|| cycle.acks[n as usize - 2] + 1.0);
                rates += (n - 1) as f64 / slot;
                packets += (n - 1) as f64;
                slots += slot;
                let mut window = w_0;
                while n > window {
                    n -= window;
                    window += 1;
                }
                w_0 = (window / 2).max(2);
            }
            let found = of(&path, Formula::Reno, Receiver::Silent, share);
            let (drawn, long_run) = (rates / f64::from(cycles), packets / slots);
            assert!(
                (found.mean_of_cycles / drawn - 1.0).abs() < 0.01,
                "{found:?} {drawn}"
            );
            assert!(
                (found.long_run / long_run - 1.0).abs() < 0.01,
                "{found:?} {long_run}"
            );
        }
    }

    #[test]
    fn parts_of_a_burst_approximate_all_of_it() {
        // Packet by packet as (15) is printed, on a pipe whose bursts are divided into parts.
        let path = pipe::path(150, 50);
        let found = of(&path, Formula::Reno, Receiver::Silent, 2e-4);
        let mut sum = 0.0;
        for &(w_0, pi) in &found.windows {
            let cycle = Cycle { path: &path, w_0 };
            for burst in cycle.bursts() {
                for n in burst.first..burst.first + burst.packets {
                    let pr = if n == cycle.overflows() { 1.0 } else { 2e-4 };
                    let pr = pr * (1.0_f64 - 2e-4).powf((n - 1) as f64);
                    sum += pi * pr * (n - 1) as f64 / cycle.ack_slot(burst.number, n);
                }
            }
        }
        assert!(
            (found.mean_of_cycles / sum - 1.0).abs() < 1e-4,
            "{} {sum}",
            found.mean_of_cycles
        );
    }

    #[test]
    fn the_largest_path_is_solved() {
        let path = pipe::path(1500, 548);
        for formula in [Formula::Reno, Formula::Westwood] {
            let found = of(&path, formula, Receiver::Silent, 1e-5);
            assert!((0.0..=1.0).contains(&found.long_run), "{}", found.long_run);
        }
    }

    proptest! {
        #[test]
        fn any_path_and_probability_gives_a_utilization_or_an_error(
            pipe in 1_u64..120, buffer in 1_u64..120, exponent in -12.0_f64..0.0, unreported in 0.0..=1.0_f64,
        ) {
            let path = pipe::path(pipe, buffer);
            let share = 10_f64.powf(exponent);
            for formula in [Formula::Reno, Formula::Westwood] {
                for receiver in [Receiver::Silent, Receiver::Nacks { unreported: p(unreported) }] {
                    let Ok(found) = solve(&path, formula, receiver, p(share)) else { continue };
                    prop_assert!((0.0..=1.0).contains(&found.mean_of_cycles));
                    prop_assert!((0.0..=1.0).contains(&found.long_run));
                    prop_assert!((found.long_run..=1.0).contains(&found.with_flight));
                    let sum: f64 = found.windows.iter().map(|(_, pi)| pi).sum();
                    prop_assert!((sum - 1.0).abs() < 1e-9);
                }
            }
        }
    }
}
