//! The window of the next cycle: half the window for Reno, the measured bandwidth for Westwood.
//! TCP-NACK paper, section 2.1, equations (9) to (12).
//!
//! * (9) Reno: `W_0' = max(2, floor((W_0 + x_n)/2))`, half the window in which packet n was lost
//! * (10) Westwood: `W_0' = max(2, floor(W_n*RTT))`, the estimated bandwidth W_n times RTT, in
//!   packets
//! * (11) `W_{n+1} = a*W_n + (1-a)*(b_{n+1} + b_n)/2`
//! * (12) `b_n = R_p/(W_C - W_{x-1} + 1)` for the first acknowledgment of a burst x <= c, where the
//!   denominator is the number of slots since the acknowledgment before it, and `R_p` for all
//!   others
//!
//! **The physics.** The acknowledgments of a burst that does not fill the pipe arrive one service
//! time apart, followed by one long gap. Each spacing indicates the rate R_p. A filter that counts
//! acknowledgments, not time, gives the gap one weight in W_x, so it soon estimates R_p, regardless
//! of the flow's actual rate: this Westwood sets its window to the full pipe after nearly every
//! loss. The later published filter weights by time (`westwood.rs` in the crate `cc`) and gives a
//! smaller window.
//!
//! **Where it departs from the paper, and why.**
//! * The brackets of (9) and (10) are floors, as windows are integers.
//! * (10) is printed as `W_n*RTT/2`. The half belongs to Reno: with it a flow that fills the pipe
//!   exactly, W_n = R_p, would have its window halved by a loss, which Westwood is designed to
//!   avoid. Westwood's authors define `ssthresh = BWE*RTTmin`, which is used here.
//! * (12) is printed with its first case for **all** packets of a burst x < c and with `W_{x_n}`.
//!   According to the paper's text the acknowledgments of a burst are 1/R_p apart, so only the
//!   first one sees the gap, and the length of the gap follows from the previous burst. On W_C =
//!   100 a window of 50 would be measured as R_p/51 instead of about R_p/2 or more.
//! * The state of the filter would make the chain depend on more than W_0 and n. Here W_n begins
//!   each cycle with `W_0/RTT`, the estimate that led to W_0, and so does b_n. After 20
//!   acknowledgments only a seventh of the initial value is left.
//! * W_n is taken before the acknowledgment of packet n, which never arrives.
//! * The paper does not give a. Westwood's first publications have 19/21, so that (1-a)/2 = 1/21;
//!   known, not read again.
//!
//! Units: packets; bandwidth in packets per RTT.

use crate::cycle::{Burst, Cycle};
use crate::first_loss::LossOf;

/// The minimum window with which a cycle begins, in packets.
pub(crate) const MIN_WINDOW: u64 = 2;
/// a of (11).
const A: f64 = 19.0 / 21.0;
/// The filter has converged when it is this close to its limit, in packets.
const SETTLED: f64 = 1e-9;

/// How the window of the next cycle follows from a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formula {
    /// Halves the window: (9).
    Reno,
    /// Sets the window to the measured bandwidth times RTT: (10) to (12).
    Westwood,
}

impl Formula {
    /// The maximum window with which a cycle can begin.
    pub(crate) fn max_window(self, cycle: &Cycle<'_>) -> u64 {
        let path = cycle.path;
        let max = match self {
            Self::Reno => path.max_window().div_ceil(2),
            Self::Westwood => path.pipe(),
        };
        max.max(MIN_WINDOW)
    }

    /// Calls `visit` with the possible windows of the next cycle and their probabilities. A window
    /// may occur several times.
    pub(crate) fn next(self, cycle: &Cycle<'_>, loss: &LossOf, visit: impl FnMut(u64, f64)) {
        match self {
            Self::Reno => reno(cycle, loss, visit),
            Self::Westwood => westwood(cycle, loss, visit),
        }
    }
}

fn reno(cycle: &Cycle<'_>, loss: &LossOf, mut visit: impl FnMut(u64, f64)) {
    for burst in cycle.bursts() {
        let half = cycle.window(burst.number) / 2;
        visit(
            half.max(MIN_WINDOW),
            loss.within(burst.first, burst.packets),
        );
        if loss.is_over(burst.first + burst.packets) {
            return;
        }
    }
}

fn westwood(cycle: &Cycle<'_>, loss: &LossOf, mut visit: impl FnMut(u64, f64)) {
    let full = cycle.path.rtt_in_slots();
    let mut filter = Filter::new(cycle.w_0 as f64);
    // Packets whose loss leads to the same window are visited together, from `first` on.
    let (mut first, mut window) = (1, filter.window());
    for burst in cycle.bursts() {
        let end = burst.first + burst.packets;
        for n in burst.first..end {
            if filter.window() != window {
                visit(window, loss.within(first, n - first));
                (first, window) = (n, filter.window());
            }
            // The rest of the burst gives the same samples.
            if n > burst.first && filter.has_settled_at(full) {
                break;
            }
            filter.sample(bandwidth(cycle, &burst, n));
        }
        if loss.is_over(end) {
            break;
        }
    }
    visit(window, loss.reaches(first));
}

/// (12) times RTT, for the acknowledgment of packet n.
fn bandwidth(cycle: &Cycle<'_>, burst: &Burst, n: u64) -> f64 {
    let full = cycle.path.rtt_in_slots();
    if n > burst.first || burst.number > cycle.fills_pipe() {
        return full;
    }
    let before = (cycle.window(burst.number) - 1) as f64;
    full / (full - before + 1.0).max(1.0)
}

/// (11), in packets per RTT.
#[derive(Debug, Clone, Copy)]
struct Filter {
    /// W_n.
    estimate: f64,
    /// b_n.
    last: f64,
}

impl Filter {
    fn new(window: f64) -> Self {
        Self {
            estimate: window,
            last: window,
        }
    }

    fn sample(&mut self, b: f64) {
        self.estimate = A * self.estimate + (1.0 - A) * (b + self.last) / 2.0;
        self.last = b;
    }

    fn has_settled_at(&self, limit: f64) -> bool {
        self.last == limit && (limit - self.estimate).abs() < SETTLED
    }

    /// (10) for the current estimate; the tolerance absorbs rounding errors below an integer.
    fn window(&self) -> u64 {
        ((self.estimate + SETTLED).floor() as u64).max(MIN_WINDOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe;
    use whimbrel_units::Probability;

    fn rows(formula: Formula, w_0: u64, p: f64) -> Vec<(u64, f64)> {
        let path = pipe::path(5, 2);
        let cycle = Cycle { path: &path, w_0 };
        let loss = LossOf::new(&cycle, Probability::new(p).expect("a probability"));
        let mut rows = Vec::new();
        formula.next(&cycle, &loss, |window, p| rows.push((window, p)));
        rows
    }

    #[test]
    fn reno_halves_the_window_of_the_burst_that_lost() {
        // Bursts of 4, 5, 6, 7 and 8 packets, each packet lost with probability 1/2: 15/16 in the
        // first burst, then 31/32 of the rest, ...
        let found = rows(Formula::Reno, 4, 0.5);
        let windows: Vec<u64> = found.iter().map(|(window, _)| *window).collect();
        assert_eq!(windows, [2, 2, 3, 3, 4]);
        let shares = [15.0 / 16.0, 31.0 / 512.0, 63.0 / 32_768.0];
        for ((_, found), share) in found.iter().zip(shares) {
            assert!((found - share).abs() < 1e-15, "{found} {share}");
        }
    }

    #[test]
    fn westwood_on_a_small_pipe_matches_a_calculation_by_hand() {
        // W_C = 5, from 4: if packet 1 is lost there is no ACK, and 4 stays. Its ACK arrives (5 - 3
        // + 1) slots after the previous one: b_1 = 5/3, W = 19/21*4 + 1/21*(5/3 + 4) = 3.889, floor
        // 3. Then b = 5: W = 19/21*3.889 + 1/21*(5 + 5/3) = 3.836, then 19/21*3.836 + 10/21 =
        //    3.947, then 4.047: floor 4 when packet 5 is lost.
        let found = rows(Formula::Westwood, 4, 0.1);
        let windows: Vec<u64> = found.iter().take(3).map(|(window, _)| *window).collect();
        assert_eq!(windows, [4, 3, 4]);
        let shares = [0.1, 0.1 * (0.9 + 0.81 + 0.729)];
        for ((_, found), share) in found.iter().zip(shares) {
            assert!((found - share).abs() < 1e-15, "{found} {share}");
        }
        let sum: f64 = found.iter().map(|(_, p)| p).sum();
        assert!((sum - 1.0).abs() < 1e-12);
        assert!(found.iter().all(|(window, _)| (2..=5).contains(window)));
    }

    #[test]
    fn a_half_full_pipe_is_measured_as_nearly_full() {
        // W_C = 100, from 50. With (12) as printed every ACK of the burst gives R_p/51; here the
        // first one gives 100/52 packets per RTT, the 49 others 100. 50 -> 19/21*50 + (50 +
        // 1.923)/21 = 47.711 -> 19/21*47.711 + 101.923/21 = 48.020; then the difference to 100
        // shrinks to (19/21)^48 = 0.0082 of its value: 99.574.
        let path = pipe::path(100, 10);
        let cycle = Cycle {
            path: &path,
            w_0: 50,
        };
        let burst = cycle.bursts().next().expect("a burst");
        let mut filter = Filter::new(50.0);
        for n in 1..=50 {
            filter.sample(bandwidth(&cycle, &burst, n));
        }
        assert!((filter.estimate - 99.574).abs() < 1e-3, "{filter:?}");
    }
}
