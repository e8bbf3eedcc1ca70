//! PCC Vivace: gradient ascent on a utility of rate, growth of the RTT, and loss.
//!
//! M. Dong, T. Meng, D. Zarchy, E. Arslan, Y. Gilad, P. B. Godfrey, M. Schapira, "PCC Vivace:
//! Online-Learning Congestion Control", USENIX NSDI 2018: sections 3 and 4. Utility and rate control
//! follow the paper as an account of both papers repeats it; constants were compared with the
//! authors' code (`PCCproject/PCC-Uspace`, `pcc_vivace_*`) and Linux's `tcp_pcc.c` by them.
//!
//! * utility: `u = x^t - b*x*d(RTT)/dT - c*x*L`, x the sending rate in Mbit/s, t 0.9, b 900, c 11.35
//! * gradient: two intervals of one RTT with `r*(1 + epsilon)` and `r*(1 - epsilon)`, epsilon 0.05,
//!   in random order: `gamma = (u(r*(1 + epsilon)) - u(r*(1 - epsilon)))/(2*epsilon*r)`
//! * step: `r <- r + m(tau)*theta*gamma`, theta 1; confidence amplifier `m(tau) = tau` up to 3 steps
//!   in the same direction, `2*tau - 3` from then on
//! * change boundary: a step is at most `omega*r`, `omega = 0.05 + k*0.1`; k grows with each step
//!   that the boundary cuts, falls to the smallest k that suffices, and is 0 after a turn
//! * a growth of the RTT of less than 0.01 in each second is taken for none
//!
//! Units: rates in bytes per second inside, in Mbit/s in the utility.
//!
//! **Physics.** Below the capacity only x^t counts, and its gradient is below 1 Mbit/s for each
//! Mbit/s: small steps at first, which the amplifier makes larger. A rate a twentieth above the
//! capacity makes the RTT grow by 0.05 in a second: b*x*0.05 = 45*x is far above x^0.9, so the first
//! trial above the capacity turns it round, before the queue is long. c: at rate x the gradient of
//! x^t is `t*x^(t-1)`, so a random loss of `t*x^(t-1)/c` is where the growth stops: 5 % at 100
//! Mbit/s, 6.3 % at 10.
//!
//! **When it works.** Random losses below that, one flow or several of Vivace, queues of any length.
//!
//! **Limits.**
//! * **Few packets in an interval** make the loss of one interval a matter of chance: at 20 Mbit/s,
//!   30 ms and 2 % of random loss it uses 0.69 of the link (a test below).
//! * **Beside loss-based flows** it gives way: it sees their queue grow.
//! * **Jitter** in the RTT is a gradient: with 1 ms of it in an interval of 20 ms the slope is noise
//!   above the tolerance.
//! * **A rate that varies** (cellular) is followed by steps of a twentieth.
//!
//! **Choices where the source is silent, and departures.** Intervals at r follow until both reports
//! are there. The paper repeats a pair whose RTT contradicts its rates ("double checking"); the
//! description at hand does not say when, so this is left out. A step leaves at least half of the
//! rate.

use super::{Learner, Pcc, Report};
use crate::building_blocks::splitmix::SplitMix64;
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "vivace",
    code: code!(
        "algorithms/model/pcc/vivace.rs",
        "algorithms/model/pcc/mod.rs",
        "algorithms/model/pcc/monitor.rs"
    ),
    summary: "PCC Vivace: follows the gradient of a utility of rate, growth of the round-trip time \
              and loss",
    citation: "M. Dong, T. Meng, D. Zarchy, E. Arslan, Y. Gilad, P. B. Godfrey, M. Schapira, \"PCC \
               Vivace: Online-Learning Congestion Control\", USENIX NSDI 2018",
    parameters: &[
        Parameter {
            name: "t",
            domain: Domain::Number {
                default: 0.9,
                range: (0.01, 0.999),
            },
            meaning: "exponent of the rate in the utility",
        },
        Parameter {
            name: "b",
            domain: Domain::Number {
                default: 900.0,
                range: (0.0, 1e6),
            },
            meaning: "weight of the growth of the RTT; 0: Vivace-Loss",
        },
        Parameter {
            name: "c",
            domain: Domain::Number {
                default: 11.35,
                range: (0.0, 1e6),
            },
            meaning: "weight of the loss",
        },
        Parameter {
            name: "tolerance",
            domain: Domain::Number {
                default: 0.01,
                range: (0.0, 10.0),
            },
            meaning: "a growth of the RTT below this counts as none, seconds per second",
        },
    ],
    feed: Feed::Acknowledgments {
        family: Family::Model,
        driven_by: DrivenBy::Path,
        build: |setup, values| {
            let learner = Vivace {
                t: values.number("t"),
                b: values.number("b"),
                c: values.number("c"),
                tolerance: values.number("tolerance"),
                rate: 0.0,
                pair: Pair::default(),
                step: Step::default(),
            };
            Box::new(Pcc::new(setup, learner))
        },
    },
    look: Look::of(42, 10),
    ..Entry::BLANK
};

/// Fraction by which trials differ from the rate.
const EPSILON: f64 = 0.05;
/// Conversion from utility gradient to rate, Mbit/s.
const THETA: f64 = 1.0;
/// Boundary of a step as a fraction of the rate: omega_0 and delta.
const BOUNDARY: (f64, f64) = (0.05, 0.1);
/// Bytes per second in a Mbit/s.
const MBIT: f64 = 125_000.0;
/// A step leaves at least this fraction of the rate.
const MIN_LEFT: f64 = 0.5;

#[derive(Debug, Clone)]
struct Vivace {
    t: f64,
    b: f64,
    c: f64,
    tolerance: f64,
    /// r, bytes per second.
    rate: f64,
    pair: Pair,
    step: Step,
}

/// The two trials of a gradient.
#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    begun: u32,
    higher_first: bool,
    utilities: [Option<f64>; 2],
}

/// The state of the steps: tau and k.
#[derive(Debug, Clone, Copy, Default)]
struct Step {
    /// Consecutive steps in the same direction.
    tau: u32,
    /// Whether the last step went up.
    up: bool,
    /// Increments of the boundary.
    k: u32,
}

impl Step {
    /// The change of a rate of `r` Mbit/s for the gradient gamma, Mbit/s.
    fn take(&mut self, r: f64, gamma: f64) -> f64 {
        let up = gamma > 0.0;
        if self.tau > 0 && up == self.up {
            self.tau = self.tau.saturating_add(1);
        } else {
            *self = Self { tau: 1, up, k: 0 };
        }
        let tau = f64::from(self.tau);
        let amplifier = if self.tau <= 3 { tau } else { 2.0 * tau - 3.0 };
        let change = amplifier * THETA * gamma;
        let (omega, delta) = BOUNDARY;
        let boundary = (omega + f64::from(self.k) * delta) * r;
        if change.abs() > boundary {
            self.k = self.k.saturating_add(1);
            return boundary.copysign(change);
        }
        let needed = ((change.abs() / r - omega) / delta).ceil().max(0.0);
        self.k = self.k.min(needed as u32);
        change
    }
}

impl Learner for Vivace {
    fn utility(&self, report: &Report) -> f64 {
        let x = report.sent / MBIT;
        let gradient = match report.rtt_gradient {
            small if small.abs() < self.tolerance => 0.0,
            gradient => gradient,
        };
        x.powf(self.t) - self.b * x * gradient - self.c * x * report.loss
    }

    fn length(&self, _random: &mut SplitMix64) -> f64 {
        1.0
    }

    fn begin(&mut self, rate: f64) {
        self.rate = rate;
        self.pair = Pair::default();
        self.step = Step::default();
    }

    fn next(&mut self, random: &mut SplitMix64) -> (f64, Option<u32>) {
        let pair = &mut self.pair;
        let number = pair.begun;
        if number == 2 {
            return (self.rate, None);
        }
        if number == 0 {
            pair.higher_first = random.below(2) == 0;
        }
        pair.begun += 1;
        let higher = pair.higher_first == (number == 0);
        let side = if higher { EPSILON } else { -EPSILON };
        (self.rate * (1.0 + side), Some(number))
    }

    fn learn(&mut self, number: u32, utility: f64, report: &Report) -> bool {
        if report.app_limited {
            self.pair = Pair::default();
            return true;
        }
        self.pair.utilities[number as usize] = Some(utility);
        let [Some(first), Some(second)] = self.pair.utilities else {
            return false;
        };
        let r = self.rate / MBIT;
        let difference = match self.pair.higher_first {
            true => first - second,
            false => second - first,
        };
        let gamma = difference / (2.0 * EPSILON * r);
        if gamma.is_finite() {
            let changed = (r + self.step.take(r, gamma)).max(MIN_LEFT * r);
            self.rate = changed * MBIT;
        }
        self.pair = Pair::default();
        true
    }

    fn phase(&self) -> &'static str {
        "gradient"
    }
}

#[cfg(test)]
mod tests {
    use super::super::monitor::Trial;
    use super::*;
    use crate::testing::{Bottleneck, built};
    use whimbrel_units::{Duration, Rate};

    fn learner() -> Vivace {
        Vivace {
            t: 0.9,
            b: 900.0,
            c: 11.35,
            tolerance: 0.01,
            rate: 10.0 * MBIT,
            pair: Pair::default(),
            step: Step::default(),
        }
    }

    fn report(mbit: f64, loss: f64, rtt_gradient: f64) -> Report {
        Report {
            trial: Trial {
                phase: 0,
                number: Some(0),
            },
            rate: mbit * MBIT,
            sent: mbit * MBIT,
            loss,
            rtt_gradient,
            app_limited: false,
        }
    }

    #[test]
    fn the_utility_is_that_of_the_paper() {
        let utility = |x, loss, gradient| learner().utility(&report(x, loss, gradient));
        // 10^0.9 = 7.943.
        assert!((utility(10.0, 0.0, 0.0) - 7.943).abs() < 0.001);
        assert!((utility(10.0, 0.0, 0.02) - (7.943 - 180.0)).abs() < 0.001);
        assert!(
            (utility(10.0, 0.0, 0.009) - 7.943).abs() < 0.001,
            "tolerated"
        );
        // A queue that drains counts for the rate.
        assert!((utility(10.0, 0.0, -0.02) - (7.943 + 180.0)).abs() < 0.001);
        assert!((utility(10.0, 0.0, -0.009) - 7.943).abs() < 0.001);
        assert!((utility(10.0, 0.02, 0.0) - (7.943 - 2.27)).abs() < 0.001);
        // t*x^(t-1)/c is 5.003 % at 100 Mbit/s: where the growth stops.
        for (loss, grows) in [(0.048, true), (0.052, false)] {
            let higher = utility(101.0, loss, 0.0) > utility(99.0, loss, 0.0);
            assert_eq!(higher, grows, "{loss}");
        }
    }

    #[test]
    fn confidence_grows_with_steps_in_one_direction_and_the_boundary_with_cut_ones() {
        let mut step = Step::default();
        // Small gradients: 1, 2, 3, then 2*4 - 3 = 5 and 2*5 - 3 = 7 times 0.1.
        for expected in [0.1, 0.2, 0.3, 0.5, 0.7] {
            assert!((step.take(100.0, 0.1) - expected).abs() < 1e-9);
        }
        assert!((step.take(100.0, -0.1) + 0.1).abs() < 1e-9, "a turn");
        // Large ones: 5 %, 15 %, 25 % of 100.
        let mut step = Step::default();
        for expected in [5.0, 15.0, 25.0] {
            assert!((step.take(100.0, 1000.0) - expected).abs() < 1e-9);
        }
        assert!((step.take(100.0, -1000.0) + 5.0).abs() < 1e-9, "a turn");
    }

    #[test]
    fn a_pair_moves_the_rate_by_its_gradient() {
        let mut learner = learner();
        let mut random = SplitMix64::new(3);
        let trials = [learner.next(&mut random), learner.next(&mut random)];
        assert_eq!(learner.next(&mut random), (10.0 * MBIT, None));
        for (rate, number) in trials {
            let report = report(rate / MBIT, 0.0, 0.0);
            let utility = learner.utility(&report);
            learner.learn(number.expect("a trial"), utility, &report);
        }
        // The derivative of x^0.9 at 10 is 0.715, and 5 % of 10 Mbit/s are 0.5.
        assert!(
            (learner.rate / MBIT - 10.5).abs() < 1e-9,
            "{}",
            learner.rate / MBIT
        );
    }

    #[test]
    fn it_uses_a_link_without_filling_its_queue_and_random_losses_do_not_stop_it() {
        // With 75 packets in an interval, 2 % are one or two of them, and the gradient is noisy.
        for (loss, least) in [(0.0, 0.85), (0.02, 0.5)] {
            let mut path = Bottleneck::new(Rate::from_bits_per_sec(20_000_000), 300);
            path.loss = loss;
            path.add(built("vivace", 10), Duration::from_millis(30));
            path.run(Duration::from_secs(20));
            let before = path.flows[0].delivered;
            let (mean, _) = path.run(Duration::from_secs(40));
            let used = (path.flows[0].delivered - before) as f64 * 8.0 / 40.0 / 20e6;
            assert!(used > least, "{loss}: {used}");
            assert!(mean < 75.0, "one BDP is 75 packets: {mean}");
        }
    }
}
