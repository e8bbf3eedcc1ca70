//! What the chain comes to: throughput with and without negative acknowledgments. TCP-NACK paper, section 2.1, equations
//! (15) and (16).
//!
//! * (15) `theta = sum over i of pi_i * sum over n of (n-1)/Dt(i,n) * Pr{n|i}`: the mean of the cycles' rates
//! * (16) the same times `1 - P`, for TCP-NACK: a corrupted packet is sent twice and ends no cycle
//! * long run: `sum of pi_i*Pr{n|i}*(n-1)` over `sum of pi_i*Pr{n|i}*Dt(i,n)`: what is delivered over how long it takes
//! * with the flight: `n - 1 + (1-P)*(W_x - 1)` delivered in `Dt + max(0, W_x - 1 - R_p*RTT)/R_p`: what was under way behind
//!   the lost packet arrives too, while the next cycle's first burst waits for its acknowledgments; what of it
//!   is more than the pipe holds is served first. This is not the paper's
//!
//! **The physics.** Without NACK every lost packet ends a cycle, so windows are small and most of the link is idle. With it
//! a cycle ends when the buffer overflows, and corruption costs no more than the packets themselves, whatever the law.
//!
//! **Where it departs from the paper, and why.**
//! * (16) is printed with the `Pr{n|i}` and pi of (15). So read, NACK would have 1 - P of what TCP has without it: **less**,
//!   which neither its Fig 8 nor anything shows. Its text has the window grow "normally (i.e., until the depletion of
//!   the receptor buffer)": corruption ends no cycle, so P is 0 in (14) and stays in the factor alone. At P = 10 %
//!   on W_C = 5, B = 2 that is 0.9*29/35 = 0.746 of the link, against 0.9*0.387 as printed.
//! * What no NACK can tell of, because the corruption struck the headers ([`Receiver::Nacks`]), ends cycles as it does
//!   without. With all of it unheard this is (15).
//! * Its results cite (16) and (17) for what is numbered (15) and (16). Normalised is over R_b, in no equation.
//! * (15) is a mean of rates in which a cycle of one round counts as much as one of fifty. What a flow delivers in the long run is
//!   the quotient of means; both are given. Short cycles are the slow ones, so (15) is the lower.
//! * When a loss is noticed, a window less one packet was sent behind it. In all of the paper's sums it counts for nothing, so that
//!   a flow with a window far above 1/P delivers 1/P packets each round trip, whatever its window. With the flight
//!   counted, Reno where the link does not matter is exactly the square root law (a test). It is the most that there
//!   can be, as each loss is repaired at no cost, and the long run without it the least but for timeouts.
//! * The inner sum begins with n = 2, as n - 1 is 0 for n = 1; the outer's `C` is the greatest W_0.
//!
//! Sums go over a burst's packets in at most [`PIECES`] parts of the exact probability, each with the rate of its
//! middle: up to windows of that size nothing is left out, above it (n-1)/Dt is all but straight within a part.

use crate::chain::{LossOf, stationary};
use crate::cycle::{Burst, Cycle};
use crate::error::ModelError;
use crate::law::Law;
use crate::path::Path;
use whimbrel_units::Probability;

/// Into how many parts a burst is divided at most.
const PIECES: u64 = 32;

/// What the receiver says of corrupted packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Receiver {
    /// Nothing: a corrupted packet is a lost one.
    Silent,
    /// It asks for it again, and the sender keeps its window (TCP-NACK); this share of the corrupted packets it cannot ask for.
    Nacks {
        /// Those whose headers were struck; the paper has none.
        unheard: Probability,
    },
}

/// What a flow does on a path in the long run.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// (15) or (16), over what the link carries: 0 to 1.
    pub mean_of_cycles: f64,
    /// What is delivered over how long it takes, over what the link carries: 0 to 1.
    pub long_run: f64,
    /// The same with what was under way behind the lost packet, over what the link carries: 0 to 1.
    pub with_flight: f64,
    /// pi: how often cycles begin with a window, packets; those that never do are left out.
    pub windows: Vec<(u64, f64)>,
}

/// Solves the chain for packets that are corrupted with probability `p`, each by itself.
///
/// # Errors
/// If the chain does not settle, which only Westwood's does not, with a `p` near 1.
pub fn solve(
    path: &Path,
    law: Law,
    receiver: Receiver,
    p: Probability,
) -> Result<Solution, ModelError> {
    // What ends cycles, and what is only sent again.
    let (lost, again) = match receiver {
        Receiver::Silent => (p, 0.0),
        Receiver::Nacks { unheard } => (product(p, unheard), p.get() * (1.0 - unheard.get())),
    };
    let windows = stationary(path, law, lost)?;
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

/// The chance of both.
fn product(a: Probability, b: Probability) -> Probability {
    Probability::new(a.get() * b.get()).unwrap_or(a)
}

/// Sums of (15) and of the long run, in packets and slots of 1/R_p.
#[derive(Debug, Default)]
struct Sums {
    rates: f64,
    packets: f64,
    slots: f64,
    /// Packets behind the lost one, and for how long those in the queue are served.
    flight: f64,
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
            // The mean of the part's packets, less one: delivered before the loss.
            let rest = (packets - 1) as f64 / 2.0;
            let delivered = (first - 1) as f64 + rest;
            let slots = cycle.ack_slot(burst.number, first) + rest;
            self.rates += weight * delivered / slots;
            self.packets += weight * delivered;
            self.slots += weight * slots;
            first += packets;
        }
    }

    /// What was under way behind a packet of this burst that was lost.
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

    const HEARD: Receiver = Receiver::Nacks {
        unheard: Probability::ZERO,
    };

    fn of(path: &Path, law: Law, receiver: Receiver, share: f64) -> Solution {
        solve(path, law, receiver, p(share)).expect("settles")
    }

    #[test]
    fn a_small_pipe_without_losses_worked_out_by_hand() {
        // From 4 to the overflow of packet 30, whose ACK would come at slot 35: 29/35 of the link.
        let path = pipe::path(5, 2);
        let found = of(&path, Law::Reno, Receiver::Silent, 0.0);
        assert!((found.mean_of_cycles - 29.0 / 35.0).abs() < 1e-12);
        assert!((found.long_run - 29.0 / 35.0).abs() < 1e-12);
        // With the 7 packets behind it, of which the pipe holds 5: 36/37.
        assert!((found.with_flight - 36.0 / 37.0).abs() < 1e-12);
        // With NACK and 10 % corrupted the same, less a tenth.
        let nack = of(&path, Law::Reno, HEARD, 0.1);
        assert!((nack.mean_of_cycles - 0.9 * 29.0 / 35.0).abs() < 1e-12);
    }

    #[test]
    fn if_nothing_is_heard_nack_is_reno() {
        let path = pipe::path(20, 5);
        let deaf = Receiver::Nacks {
            unheard: Probability::ONE,
        };
        for law in [Law::Reno, Law::Westwood] {
            assert_eq!(
                of(&path, law, deaf, 0.01),
                of(&path, law, Receiver::Silent, 0.01)
            );
        }
    }

    #[test]
    fn equation_16_as_printed_would_make_nack_worse_than_nothing() {
        let path = pipe::path(5, 2);
        let silent = of(&path, Law::Reno, Receiver::Silent, 0.1).mean_of_cycles;
        let nack = of(&path, Law::Reno, HEARD, 0.1).mean_of_cycles;
        assert!(
            0.9 * silent < silent && silent < 0.6 * nack,
            "{silent} {nack}"
        );
    }

    #[test]
    fn where_the_link_does_not_matter_the_long_run_is_the_square_root_law() {
        // P = 1e-3 on a pipe of 1000: windows of some 40 never fill it. Mathis: 1.31/sqrt(P) = 41.43 packets each RTT, so 1000
        // packets take 24.14 RTTs. The chain waits one more for the acknowledgment: 1000/25.14 = 39.8.
        let path = pipe::path(1000, 10);
        let found = of(&path, Law::Reno, Receiver::Silent, 1e-3).long_run * path.rtt_in_slots();
        assert!((found / 39.8 - 1.0).abs() < 0.01, "{found}");
    }

    #[test]
    fn with_the_flight_it_is_the_square_root_law_itself() {
        // 1.31/sqrt(P) packets each RTT: 41.4, 13.1.
        let path = pipe::path(1000, 10);
        for (share, law) in [(1e-3, 41.4), (1e-2, 13.1)] {
            let found = of(&path, Law::Reno, Receiver::Silent, share).with_flight;
            let found = found * path.rtt_in_slots();
            assert!((found / law - 1.0).abs() < 0.02, "{found} {law}");
        }
    }

    /// A number from 0 to 1, from a generator of D. Knuth's.
    fn draw(state: &mut u64) -> f64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*state >> 11) as f64 / (1_u64 << 53) as f64
    }

    #[test]
    fn drawn_cycles_on_a_played_pipe_have_the_throughput_of_the_chain() {
        for (pipe, buffer, share) in [(5, 2, 0.02), (5, 2, 0.2), (30, 15, 0.001), (30, 15, 0.01)] {
            let path = pipe::path(pipe, buffer);
            let played: Vec<pipe::Played> = (0..=path.largest_window())
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
                // The ACK of what overflows would come one slot after the last.
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
            let found = of(&path, Law::Reno, Receiver::Silent, share);
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
    fn parts_of_a_burst_stand_for_all_of_it() {
        // Packet by packet, as (15) is printed, on a pipe whose bursts are divided.
        let path = pipe::path(150, 50);
        let found = of(&path, Law::Reno, Receiver::Silent, 2e-4);
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
        for law in [Law::Reno, Law::Westwood] {
            let found = of(&path, law, Receiver::Silent, 1e-5);
            assert!((0.0..=1.0).contains(&found.long_run), "{}", found.long_run);
        }
    }

    proptest! {
        #[test]
        fn any_path_and_probability_gives_shares_or_an_error(
            pipe in 1_u64..120, buffer in 1_u64..120, exponent in -12.0_f64..0.0, unheard in 0.0..=1.0_f64,
        ) {
            let path = pipe::path(pipe, buffer);
            let share = 10_f64.powf(exponent);
            for law in [Law::Reno, Law::Westwood] {
                for receiver in [Receiver::Silent, Receiver::Nacks { unheard: p(unheard) }] {
                    let Ok(found) = solve(&path, law, receiver, p(share)) else { continue };
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
