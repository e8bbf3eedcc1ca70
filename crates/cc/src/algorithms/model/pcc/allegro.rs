//! PCC Allegro: randomized trials of a higher and a lower rate, with a utility of throughput and
//! loss.
//!
//! M. Dong, Q. Li, D. Zarchy, P. B. Godfrey, M. Schapira, "PCC: Re-architecting Congestion Control
//! for Consistent High Performance", USENIX NSDI 2015 (arXiv 1409.7092): sections 2.1 and 2.2. The
//! text was at hand in part; states and constants were compared with the authors' code
//! (`PCCproject/PCC-Uspace`) and with quic-go's port. "Allegro" is the name that the paper on Vivace
//! gives it.
//!
//! * utility (section 2.2): `u(x) = T*sigmoid(L - 0.05) - x*L`, x the sending rate, L the loss rate,
//!   `T = x*(1 - L)`, `sigmoid(y) = 1/(1 + exp(alpha*y))`, alpha 100
//! * a monitor interval lasts for 1.7 to 2.2 RTTs, chosen at random, and for ten packets at least
//! * decision: four intervals, two pairs, in each pair `r*(1 + epsilon)` and `r*(1 - epsilon)` in
//!   random order. If both pairs prefer the same side, the rate moves there. If not,
//!   `epsilon += 0.01`, up to 0.05, and the decision is repeated
//! * adjusting: `r_n = r_(n-1)*(1 + n*0.01*direction)`, until the utility falls; then `r_(n-1)` and
//!   a decision with epsilon 0.01
//!
//! Units: rates in bytes per second inside, losses from 0 to 1. The utility has the unit of a rate.
//!
//! **Physics.** Below 5 % of loss the sigmoid is near 1, and u grows with x unless x*L grows faster:
//! random loss, which is the same at any rate, does not stop the growth. Above the capacity C,
//! `L = 1 - C/x` grows with x, u falls from `L = 0.05` on steeply, so a flow settles with the loss of
//! up to a twentieth that its own trials make.
//!
//! **When it works.** Random losses below 5 %, short queues, paths on which nothing else is known.
//!
//! **Limits.**
//! * It fills any queue: delay is not part of the utility.
//! * It is slow: a decision takes four intervals and their round trips, and moves by 1 %.
//! * Beside loss-based flows it takes nearly all: it tolerates losses at which they stop.
//! * Above 5 % of random loss it falls to its minimum.
//!
//! **Choices where the source is silent.** While the reports of a decision are awaited, intervals
//! at the rate r follow. In the adjusting state the next step waits for the report of the last, as
//! in quic-go's port: steps that follow each interval go on for a round trip after the utility fell.

use super::{Learner, Pcc, Report};
use crate::building_blocks::splitmix::SplitMix64;
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "allegro",
    code: code!(
        "algorithms/model/pcc/allegro.rs",
        "algorithms/model/pcc/mod.rs",
        "algorithms/model/pcc/monitor.rs"
    ),
    summary: "PCC Allegro: tries a higher and a lower rate, and keeps what delivers more with less \
              than 5 % of loss",
    citation: "M. Dong, Q. Li, D. Zarchy, P. B. Godfrey, M. Schapira, \"PCC: Re-architecting \
               Congestion Control for Consistent High Performance\", USENIX NSDI 2015",
    parameters: &[
        Parameter {
            name: "loss_limit",
            domain: Domain::Number {
                default: 0.05,
                range: (0.0, 1.0),
            },
            meaning: "loss above which the utility falls steeply, fraction",
        },
        Parameter {
            name: "alpha",
            domain: Domain::Number {
                default: 100.0,
                range: (1.0, 10_000.0),
            },
            meaning: "steepness of that fall",
        },
    ],
    feed: Feed::Acknowledgments {
        family: Family::Model,
        driven_by: DrivenBy::Path,
        build: |setup, values| {
            let learner = Allegro {
                loss_limit: values.number("loss_limit"),
                alpha: values.number("alpha"),
                rate: 0.0,
                state: State::deciding(EPSILON),
            };
            Box::new(Pcc::new(setup, learner))
        },
    },
    look: Look::of(41, 9),
    ..Entry::BLANK
};

/// Minimum of epsilon, its step, and the step of the adjusting state.
const EPSILON: f64 = 0.01;
/// Maximum of epsilon.
const MAX_EPSILON: f64 = 0.05;
/// Minimum length of an interval in RTTs, and the range above it.
const LENGTH: (f64, f64) = (1.7, 0.5);

#[derive(Debug, Clone)]
struct Allegro {
    loss_limit: f64,
    alpha: f64,
    /// r, bytes per second.
    rate: f64,
    state: State,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Deciding {
        epsilon: f64,
        /// Trials begun.
        begun: u32,
        /// Whether the first of each pair is the higher one; drawn when the pair begins.
        higher_first: [bool; 2],
        /// Utilities of the trials.
        utilities: [Option<f64>; 4],
    },
    Adjusting {
        /// 1 or -1.
        direction: f64,
        /// Steps begun.
        steps: u32,
        /// The report of the last step is awaited.
        waits: bool,
        /// Utility of the rate before the step.
        last: f64,
        /// The rate before the step.
        before: f64,
    },
}

impl State {
    fn deciding(epsilon: f64) -> Self {
        Self::Deciding {
            epsilon,
            begun: 0,
            higher_first: [false; 2],
            utilities: [None; 4],
        }
    }
}

impl Learner for Allegro {
    fn utility(&self, report: &Report) -> f64 {
        let Report { sent, loss, .. } = *report;
        let sigmoid = 1.0 / (1.0 + (self.alpha * (loss - self.loss_limit)).exp());
        sent * (1.0 - loss) * sigmoid - sent * loss
    }

    fn length(&self, random: &mut SplitMix64) -> f64 {
        LENGTH.0 + LENGTH.1 * random.unit()
    }

    fn begin(&mut self, rate: f64) {
        self.rate = rate;
        self.state = State::deciding(EPSILON);
    }

    fn next(&mut self, random: &mut SplitMix64) -> (f64, Option<u32>) {
        match &mut self.state {
            State::Deciding { begun: 4, .. } => (self.rate, None),
            State::Deciding {
                epsilon,
                begun,
                higher_first,
                ..
            } => {
                let number = *begun;
                let pair = (number / 2) as usize;
                if number % 2 == 0 {
                    higher_first[pair] = random.below(2) == 0;
                }
                let higher = higher_first[pair] == (number % 2 == 0);
                *begun += 1;
                let side = if higher { *epsilon } else { -*epsilon };
                (self.rate * (1.0 + side), Some(number))
            }
            State::Adjusting { waits: true, .. } => (self.rate, None),
            State::Adjusting {
                direction,
                steps,
                waits,
                before,
                ..
            } => {
                *steps += 1;
                *waits = true;
                *before = self.rate;
                let step = f64::from(*steps) * EPSILON * *direction;
                self.rate *= (1.0 + step).max(0.5);
                (self.rate, Some(*steps))
            }
        }
    }

    fn learn(&mut self, number: u32, utility: f64, report: &Report) -> bool {
        if report.app_limited {
            self.state = State::deciding(EPSILON);
            return true;
        }
        match &mut self.state {
            State::Deciding {
                epsilon,
                higher_first,
                utilities,
                ..
            } => {
                utilities[number as usize] = Some(utility);
                let [Some(a), Some(b), Some(c), Some(d)] = *utilities else {
                    return false;
                };
                let prefers = |first: f64, second: f64, higher_first: bool| match higher_first {
                    true => (first, second),
                    false => (second, first),
                };
                let (up, down) = prefers(a, b, higher_first[0]);
                let (up_again, down_again) = prefers(c, d, higher_first[1]);
                let side = match (up > down, up_again > down_again) {
                    (true, true) => Some((1.0, (up + up_again) / 2.0)),
                    (false, false) => Some((-1.0, (down + down_again) / 2.0)),
                    _ => None,
                };
                let epsilon = *epsilon;
                self.state = match side {
                    None => State::deciding((epsilon + EPSILON).min(MAX_EPSILON)),
                    Some((direction, last)) => {
                        self.rate *= 1.0 + epsilon * direction;
                        State::Adjusting {
                            direction,
                            steps: 0,
                            waits: false,
                            last,
                            before: self.rate,
                        }
                    }
                };
                true
            }
            State::Adjusting {
                waits,
                last,
                before,
                ..
            } => {
                if utility < *last {
                    self.rate = *before;
                    self.state = State::deciding(EPSILON);
                    return true;
                }
                *last = utility;
                *waits = false;
                false
            }
        }
    }

    fn phase(&self) -> &'static str {
        match self.state {
            State::Deciding { .. } => "decision",
            State::Adjusting { .. } => "adjusting",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::monitor::Trial;
    use super::*;
    use crate::testing::{Bottleneck, MSS, built};
    use whimbrel_units::{Duration, Rate};

    fn learner() -> Allegro {
        Allegro {
            loss_limit: 0.05,
            alpha: 100.0,
            rate: 1000.0,
            state: State::deciding(EPSILON),
        }
    }

    fn report(sent: f64, loss: f64) -> Report {
        Report {
            trial: Trial {
                phase: 0,
                number: Some(0),
            },
            rate: sent,
            sent,
            loss,
            rtt_gradient: 0.0,
            app_limited: false,
        }
    }

    #[test]
    fn the_utility_is_that_of_section_2_2() {
        let utility = |x, loss| learner().utility(&report(x, loss));
        // sigmoid(-0.05) with alpha 100 is 1/(1 + e^-5) = 0.99331.
        assert!((utility(1000.0, 0.0) - 993.307).abs() < 0.001);
        // At the limit: 950*0.5 - 50.
        assert!((utility(1000.0, 0.05) - 425.0).abs() < 1e-6);
        // 10 %: 900/(1 + e^5) - 100.
        assert!((utility(1000.0, 0.1) + 93.976).abs() < 0.001);
        // Random loss of 1 % does not stop the growth, and the losses of a full link do: C = 1000.
        assert!(utility(1010.0, 0.01) > utility(990.0, 0.01));
        let full = |x: f64| utility(x, 1.0 - 1000.0 / x);
        assert!(full(1100.0) < full(1050.0));
    }

    /// Answers all trials of the present decision by `utility` of their rate.
    fn decide(learner: &mut Allegro, utility: impl Fn(f64) -> f64) {
        let mut random = SplitMix64::new(7);
        let trials: Vec<(f64, Option<u32>)> = (0..4).map(|_| learner.next(&mut random)).collect();
        assert_eq!(learner.next(&mut random), (learner.rate, None), "it waits");
        let rates: Vec<f64> = trials.iter().map(|(rate, _)| *rate).collect();
        for pair in rates.chunks(2) {
            assert!((pair[0] + pair[1] - 2.0 * learner.rate).abs() < 1e-9);
        }
        for (rate, number) in trials {
            let number = number.expect("a trial");
            learner.learn(number, utility(rate), &report(rate, 0.0));
        }
    }

    #[test]
    fn a_decision_moves_the_rate_and_steps_grow_until_the_utility_falls() {
        let mut learner = learner();
        decide(&mut learner, |rate| rate);
        assert!((learner.rate - 1010.0).abs() < 1e-9);
        let mut random = SplitMix64::new(1);
        // r_1 = 1010*1.01, r_2 = r_1*1.02, then 1.03.
        for expected in [1020.1, 1040.502] {
            let (rate, number) = learner.next(&mut random);
            assert!((rate - expected).abs() < 1e-6, "{rate}");
            assert_eq!(learner.next(&mut random).1, None);
            assert!(!learner.learn(number.expect("a trial"), rate, &report(rate, 0.0)));
        }
        let (rate, number) = learner.next(&mut random);
        assert!(learner.learn(number.expect("a trial"), 0.0, &report(rate, 0.0)));
        assert!((learner.rate - 1040.502).abs() < 1e-6, "the rate before");
        assert_eq!(learner.phase(), "decision");
    }

    #[test]
    fn pairs_that_disagree_widen_the_trials() {
        let mut learner = learner();
        for expected in [0.02, 0.03, 0.04, 0.05, 0.05] {
            let mut random = SplitMix64::new(7);
            for number in 0..4 {
                let (rate, _) = learner.next(&mut random);
                // The first pair prefers the higher rate, the second the lower one.
                let utility = if number < 2 { rate } else { -rate };
                learner.learn(number, utility, &report(rate, 0.0));
            }
            let State::Deciding { epsilon, .. } = learner.state else {
                panic!("{:?}", learner.state);
            };
            assert!((epsilon - expected).abs() < 1e-9);
            assert_eq!(learner.rate, 1000.0);
        }
    }

    /// The share of a link of 20 Mbit/s with 30 ms that it uses from 20 s to 60 s.
    fn utilization(loss: f64) -> f64 {
        let rate = Rate::from_bits_per_sec(20_000_000);
        let mut path = Bottleneck::new(rate, 75);
        path.loss = loss;
        path.add(built("allegro", 10), Duration::from_millis(30));
        path.run(Duration::from_secs(20));
        let before = path.flows[0].delivered;
        path.run(Duration::from_secs(40));
        let sent = (path.flows[0].delivered - before) as f64;
        assert!(sent > MSS as f64);
        sent * 8.0 / 40.0 / 20e6
    }

    #[test]
    fn it_keeps_most_of_a_link_with_random_losses() {
        // The paper's claim: above 95 % of what is achievable up to 1 % of loss.
        for (loss, least) in [(0.0, 0.95), (0.01, 0.9), (0.1, 0.0)] {
            let used = utilization(loss);
            assert!(used > least, "{loss}: {used}");
            if loss == 0.1 {
                assert!(used < 0.5, "above 5 % it falls: {used}");
            }
        }
    }
}
