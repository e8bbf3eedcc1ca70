//! The formulas: from the measures of a run to a score from 0 to 1, where 1 means that the goal is
//! met.
//!
//! A score is a product of factors. Two shapes of factors are used:
//!
//! * `reach(x, goal) = min(1, x / goal)`: half the wanted throughput is half the score.
//! * `within(x, limit) = 1` if x is at most the limit, else `(limit / x)^0.2`: four times the
//!   wanted delay costs a quarter of the score. Delay and loss are worth less than throughput,
//!   because a bulk transfer can use any throughput.
//!
//! | score | product of |
//! |---|---|
//! | fill | `reach(efficiency, goal)`, `within(delay, queue)`, and with `overflow` `within(overflow, that)` |
//! | share | `reach(share, 0.5)`, `reach(neighbours, 0.8 x CUBIC's)`, `reach(utilization, goal)`, `within(neighbours' loss, 1.5 x beside CUBIC)` |
//! | own | `reach(Jain, 0.95)^2`, `reach(efficiency, goal)`, `within(delay, queue)`, `within(loss, 2 x CUBIC's)`, and with `settled` `within(time to fair shares, that)` |
//! | completion | `reach(goal x better of CUBIC's and BBR's time, time)` |
//!
//! *Delay* is the 95th percentile of the one-way delay above its minimum, in base RTTs. In classes C
//! and H, where the path's own delay changes, it is the mean wait in queues. A limit of delay is
//! never below five packets' time, because a queue cannot be shorter.
//!
//! *Neighbours* is harm, after R. Ware, M. K. Mukerjee, S. Seshan, J. Sherry, "Beyond Jain's
//! Fairness Index", HotNets 2019: what the other flows deliver beside the algorithm, over what they
//! deliver beside as many flows of their own kind. The goal is CUBIC's value there, at most 1, less
//! a fifth, which is about the spread of CUBIC's own value between seeds.

use crate::measure::{Measures, Runs};
use crate::point::{Aim, BBR, CUBIC, MatrixPoint};

/// Bits of five packets.
const FIVE_PACKETS: f64 = 5.0 * 12_000.0;
/// The exponent of [`within`].
const MILD: f64 = 0.2;
/// The fraction of a fair share that is enough.
pub const SHARE: f64 = 0.5;
/// How much of what neighbours keep beside CUBIC they keep beside others, at least.
const KEPT: f64 = 0.8;
/// How much more than beside CUBIC neighbours may lose.
const NEIGHBOURS_LOSS: f64 = 1.5;
/// How much more than CUBIC flows of one kind may lose.
const OWN_LOSS: f64 = 2.0;
/// No limit of loss is below this: one packet in 2000.
const LEAST_LOSS: f64 = 0.0005;
/// The wanted fairness.
const JAIN: f64 = 0.95;

/// The measures of the algorithms that a score refers to, each the mean over seeds.
#[derive(Debug, Clone, Copy, Default)]
pub struct References {
    /// CUBIC in the place of the algorithm.
    pub cubic: Option<Measures>,
    /// BBR in its place.
    pub bbr: Option<Measures>,
    /// The neighbours' own algorithm in its place.
    pub own_kind: Option<Measures>,
}

impl References {
    /// Of a point; `runs` has the measures of the algorithms that it refers to.
    pub fn of(point: &MatrixPoint, runs: &Runs) -> Self {
        let mean = |name: &str| {
            let runs = runs.get(&(point.id.clone(), name.to_owned()))?;
            Measures::mean(runs)
        };
        Self {
            cubic: mean(CUBIC),
            bbr: mean(BBR),
            own_kind: point.neighbour.as_deref().and_then(mean),
        }
    }
}

/// `min(1, x / goal)`, and 1 without a goal.
pub fn reach(x: f64, goal: f64) -> f64 {
    if goal > 0.0 {
        (x / goal).clamp(0.0, 1.0)
    } else {
        1.0
    }
}

/// 1 up to the limit, then `(limit / x)^0.2`.
pub fn within(x: f64, limit: f64) -> f64 {
    if x <= limit {
        1.0
    } else {
        (limit / x).max(0.0).powf(MILD)
    }
}

/// What the neighbours deliver beside the algorithm over what they deliver beside their own kind.
/// `None` if the point has no neighbours.
pub fn kept(measures: &Measures, references: &References) -> Option<f64> {
    let own = references.own_kind?.others;
    (own > 0.0).then(|| measures.others / own)
}

/// The time of five packets at the rate of an ideal sender, in base RTTs; 0 if nothing was
/// delivered.
pub fn five_packets(point: &MatrixPoint, m: &Measures) -> f64 {
    let ideal = match m.efficiency > 0.0 {
        true => m.rate / m.efficiency,
        false => 0.0,
    };
    match ideal > 0.0 {
        true => FIVE_PACKETS / ideal / point.rtt.as_secs_f64(),
        false => 0.0,
    }
}

/// The score of a run. `five_packets` is the time of [five packets](five_packets).
pub fn score(point: &MatrixPoint, m: &Measures, references: &References, five_packets: f64) -> f64 {
    let delay = if point.class.has_changing_delay() {
        m.wait
    } else {
        m.delay
    };
    let limit = |queue: f64| queue.max(five_packets);
    let cubic = references.cubic;
    match point.aim {
        Aim::Fill {
            goal,
            queue,
            overflow,
            ..
        } => {
            let lost = overflow.map_or(1.0, |most| within(m.overflow, most));
            reach(m.efficiency, goal) * within(delay, limit(queue)) * lost
        }
        Aim::Share { goal } => {
            let cubic_kept = cubic.and_then(|cubic| kept(&cubic, references));
            let kept = kept(m, references).unwrap_or(1.0);
            let wanted = KEPT * cubic_kept.unwrap_or(1.0).min(1.0);
            let loss = cubic.map_or(0.0, |cubic| cubic.others_overflow);
            reach(m.share, SHARE)
                * reach(kept, wanted)
                * reach(m.utilization, goal)
                * within(m.others_overflow, NEIGHBOURS_LOSS * loss.max(LEAST_LOSS))
        }
        Aim::Own {
            goal,
            queue,
            settled,
            ..
        } => {
            let jain = m.jain_in_windows.unwrap_or(m.jain);
            let loss = cubic.map_or(0.0, |cubic| cubic.overflow);
            let settled = settled.zip(m.settled);
            reach(jain, JAIN).powi(2)
                * reach(m.efficiency, goal)
                * within(delay, limit(queue))
                * within(m.overflow, OWN_LOSS * loss.max(LEAST_LOSS))
                * settled.map_or(1.0, |(wanted, took)| within(took, wanted))
        }
        Aim::Completion { goal } => {
            let length = point.spec.run.duration.value.as_secs_f64();
            let times = [references.cubic, references.bbr];
            let times = times.into_iter().flatten().map(|m| m.completion);
            match times.reduce(f64::min) {
                // Who did not complete has not met the goal because the references did not either.
                Some(best) if best >= length && m.completion >= length => 0.0,
                Some(best) => reach(goal * best, m.completion),
                None => 1.0,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_wanted_throughput_is_half_the_score() {
        assert_eq!(reach(0.475, 0.95), 0.5);
        assert_eq!(reach(2.0, 0.95), 1.0);
        assert_eq!(reach(0.0, 0.95), 0.0);
        assert_eq!(reach(3.0, 0.0), 1.0);
    }

    #[test]
    fn four_times_the_wanted_delay_costs_a_quarter() {
        assert_eq!(within(0.25, 0.25), 1.0);
        assert!((within(1.0, 0.25) - 0.757_858).abs() < 1e-6);
        // 4^-0.2 = 0.7579; a limit of 0 gives 0 for any delay.
        assert_eq!(within(1.0, 0.0), 0.0);
    }
}
