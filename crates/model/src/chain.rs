//! The Markov chain over the windows with which cycles begin. TCP-NACK paper, section 2.1,
//! equations (13) and (14).
//!
//! * (14) `Pr{n|i} = P*(1-P)^(n-1)` for n < n_of(i), and `(1-P)^(n-1)` for n = n_of(i): the
//!   probability that n is the first lost packet of the cycle
//! * (13) `p_ij = sum of Pr{n|i}` over the packets n whose loss leads from W_0 = i to W_0 = j
//! * `pi = pi*p`: the stationary distribution, the fraction of cycles that begin with each window
//!
//! (14) sums to 1 as printed: `1 - (1-P)^(n_of-1)` for n < n_of, and the rest for n_of.
//!
//! pi is found by iteration from the minimum window, with which a connection begins:
//! `pi <- (pi + pi*p)/2`. The averaging does not change the stationary distribution, and lets a
//! chain that alternates between windows converge. Probabilities below 10^-16 are left out, and
//! each row is normalized to sum to 1.

use crate::cycle::Cycle;
use crate::error::ModelError;
use crate::first_loss::{LossOf, NEGLIGIBLE};
use crate::formula::{Formula, MIN_WINDOW};
use crate::path::ModelPath;
use whimbrel_units::Probability;

/// The iteration ends when pi changes by less than this in one step, summed over all windows.
const CONVERGED: f64 = 1e-12;
/// Maximum number of steps. Reno needs fewer than a hundred; Westwood's window hardly changes if
/// nearly every first packet is lost.
const STEPS: usize = 20_000;

/// The stationary distribution as pairs `(W_0, pi)`, in ascending order of W_0, without zeros.
pub(crate) fn stationary(
    path: &ModelPath,
    formula: Formula,
    p: Probability,
) -> Result<Vec<(u64, f64)>, ModelError> {
    let smallest = Cycle {
        path,
        w_0: MIN_WINDOW,
    };
    let windows = MIN_WINDOW..=formula.max_window(&smallest);
    let rows: Vec<Vec<(usize, f64)>> = windows
        .clone()
        .map(|w_0| row(&Cycle { path, w_0 }, formula, p))
        .collect();
    let mut pi = vec![0.0; rows.len()];
    pi[0] = 1.0;
    for _ in 0..STEPS {
        let mut next: Vec<f64> = pi.iter().map(|share| share / 2.0).collect();
        for (share, row) in pi.iter().zip(&rows).filter(|(share, _)| **share > 0.0) {
            for (to, p) in row {
                next[*to] += share * p / 2.0;
            }
        }
        let change: f64 = pi.iter().zip(&next).map(|(a, b)| (a - b).abs()).sum();
        pi = next;
        if change < CONVERGED {
            // Smaller values are remainders of the initial window, or numerical errors.
            pi.iter_mut()
                .filter(|share| **share < CONVERGED)
                .for_each(|share| *share = 0.0);
            let all: f64 = pi.iter().sum();
            let shares = pi.iter().map(|share| share / all);
            let visited = |(_, share): &(u64, f64)| *share > 0.0;
            return Ok(windows.zip(shares).filter(visited).collect());
        }
    }
    Err(ModelError::NotConverged)
}

/// (13): the probabilities of the next windows, as indices in the list of windows.
fn row(cycle: &Cycle<'_>, formula: Formula, p: Probability) -> Vec<(usize, f64)> {
    let mut row: Vec<f64> = Vec::new();
    formula.next(cycle, &LossOf::new(cycle, p), |window, p| {
        let to = (window - MIN_WINDOW) as usize;
        if row.len() <= to {
            row.resize(to + 1, 0.0);
        }
        row[to] += p;
    });
    let all: f64 = row.iter().sum();
    let shares = row.iter().enumerate().map(|(to, p)| (to, p / all));
    shares.filter(|(_, p)| *p > NEGLIGIBLE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe;

    fn p(share: f64) -> Probability {
        Probability::new(share).expect("a probability")
    }

    #[test]
    fn the_first_lost_packet_is_distributed_as_printed() {
        // P = 1/2, W_C = 5, B = 2, W_0 = 4: 1/2, 1/4, ... and (1/2)^29 for packet 30, which
        // overflows.
        let path = pipe::path(5, 2);
        let cycle = Cycle {
            path: &path,
            w_0: 4,
        };
        let loss = LossOf::new(&cycle, p(0.5));
        assert!((loss.within(1, 1) - 0.5).abs() < 1e-15);
        assert!((loss.within(3, 1) - 0.125).abs() < 1e-15);
        assert!((loss.within(30, 1) - 0.5_f64.powi(29)).abs() < 1e-18);
        assert!((loss.within(1, 30) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn without_losses_reno_begins_with_half_of_what_overflows() {
        // The burst of 8 overflows, so every cycle begins with 4.
        assert_eq!(
            stationary(&pipe::path(5, 2), Formula::Reno, p(0.0)),
            Ok(vec![(4, 1.0)])
        );
        // A buffer larger than the pipe: half of 6 + 20 + 1 is 13, more than twice the pipe.
        assert_eq!(
            stationary(&pipe::path(6, 20), Formula::Reno, p(0.0)),
            Ok(vec![(13, 1.0)])
        );
    }

    #[test]
    fn a_chain_of_two_windows_by_hand() {
        // W_C = 5, B = 0, P = 1/2: the burst of 6 overflows, so W_0 is 2 or 3. From 2: bursts of 2
        // to 5 packets lead to 2, the burst of 6 to 3: p_23 = 2^-(2+3+4+5) = 2^-14. From 3: p_33 =
        // 2^-(3+4+5) = 2^-12. pi_3 = p_23/(p_23 + 1 - p_33).
        let found = stationary(&pipe::path(5, 0), Formula::Reno, p(0.5)).expect("converges");
        let pi_3 = 1.0 / 16_384.0 / (1.0 / 16_384.0 + 4095.0 / 4096.0);
        assert_eq!(found.len(), 2);
        assert!((found[1].1 - pi_3).abs() < 1e-10, "{found:?} {pi_3}");
    }

    #[test]
    fn if_everything_is_lost_windows_stay_at_the_minimum() {
        assert_eq!(
            stationary(&pipe::path(5, 2), Formula::Reno, p(1.0)),
            Ok(vec![(2, 1.0)])
        );
        assert_eq!(
            stationary(&pipe::path(5, 2), Formula::Westwood, p(1.0)),
            Ok(vec![(2, 1.0)])
        );
    }
}
