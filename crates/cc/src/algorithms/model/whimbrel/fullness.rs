//! Is the path full? A delay above the base RTT is a queue only if it is.
//!
//! The standing RTT exceeds the base RTT for other reasons: Wi-Fi sends aggregates, a satellite
//! moves, an access point schedules. A flow that takes this for a queue keeps its rate where the
//! fixed point has it for such a queue, perhaps at a hundredth of the path's (starvation, in the
//! sense of Arun et al.), and the queue that would correct it never comes. Two measurements tell
//! noise from a queue, and what they find is the **allowance**: by so much may the standing RTT
//! exceed the base before it counts.
//!
//! * **A drain** that empties the queue shows the noise itself: the standing RTT of an empty path
//!   is above the minimum of many round trips. It sets the allowance.
//! * **A push.** A flow whose RTT is noisy and that does not grow adds up to a quarter to its
//!   window for two round trips, and compares the last half of the second with the time before. It
//!   adds no more than makes the answer clear: what is a quarter of a long RTT is many round trips
//!   of queue for flows with short ones. A flow that fills the path alone adds `dW` to the queue,
//!   which lasts `dW/C`: as part of the RTT the same as of the window. If the RTT grows by less
//!   than three quarters of that, what looks like a queue is none, or others yield. It raises the
//!   allowance, and the window keeps what it has gained. One that finds the path full halves the
//!   allowance, and becomes rarer. The window is then what it was, and stays so for one more round
//!   trip: the RTTs of that time are those of the push.
//!
//! One of n flows on a full path sees an n-th of that answer, and cannot tell it from noise. So
//! only a flow whose noise may explain the delay pushes, and the allowance is never more than noise
//! may explain (`delays.rs`): without noise nothing of this takes place.
//!
//! Where noise explains more than the longest queue that flows of this algorithm make, no push is
//! needed for the rest: that much is allowed at once (`mod.rs`). A push would not help: on a path
//! whose RTT jitters by 30 ms, its answer of 10 ms is lost in the noise.
//!
//! Units: seconds; waits in round trips.

use std::cmp::Ordering;

/// Growth of the window in a push, at least and at most.
const PUSH: (f64, f64) = (0.05, 0.25);

/// An answer of this length is clear, s.
const CLEAR: f64 = 0.0125;

/// Round trips of a push: until its packets are acknowledged, and until their answer is seen.
const ROUNDS: u32 = 2;

/// What the end of a round trip is to a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The answer is not complete.
    Waiting,
    /// The RTT has answered.
    Answered,
    /// Packets sent after the push are acknowledged.
    Settled,
}

/// Part of the expected answer from which on the path counts as full.
const ANSWER: f64 = 0.75;

/// Round trips between pushes, first and at most.
const WAITS: (u32, u32) = (4, 16);

/// What is known about the path's fullness.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fullness {
    allowance: f64,
    /// Round trips since the last push, and those to wait.
    since: u32,
    wait: u32,
    /// Round trips of the present push.
    rounds: u32,
    /// Growth of the window in it.
    pushed: f64,
}

impl Fullness {
    pub fn new() -> Self {
        Self {
            allowance: 0.0,
            since: 0,
            wait: WAITS.0,
            rounds: 0,
            pushed: 0.0,
        }
    }

    /// By how much the standing RTT of the path may exceed the base without a queue.
    pub fn allowance(&self) -> f64 {
        self.allowance
    }

    /// A drain has emptied the queue, and this standing RTT above the base was left.
    pub fn on_empty(&mut self, excess: f64) {
        self.allowance = excess;
    }

    /// The path is another one.
    pub fn on_new_path(&mut self) {
        self.allowance = 0.0;
    }

    /// Ends a round trip in which the flow did not grow. Returns whether to push now.
    pub fn may_push(&mut self) -> bool {
        self.since = self.since.saturating_add(1);
        if self.since < self.wait {
            return false;
        }
        self.since = 0;
        self.rounds = 0;
        true
    }

    /// Begins a push whose answer is as long as what `noise` may explain. Returns the growth of the
    /// window.
    pub fn push(&mut self, noise: f64, base: f64) -> f64 {
        let (min, max) = PUSH;
        self.pushed = (noise.max(CLEAR) / base).clamp(min, max);
        self.pushed
    }

    /// Growth of the window in the last push.
    pub fn pushed(&self) -> f64 {
        self.pushed
    }

    /// Ends a round trip of a push.
    pub fn on_push_round(&mut self) -> Stage {
        self.rounds += 1;
        match self.rounds.cmp(&ROUNDS) {
            Ordering::Less => Stage::Waiting,
            Ordering::Equal => Stage::Answered,
            Ordering::Greater => Stage::Settled,
        }
    }

    /// The push is over: the RTT grew by `answer` where a full path would have grown by `expected`.
    /// Above the base it was `excess`; the allowance is at most `limit`. Returns whether the path
    /// is full.
    pub fn on_answer(&mut self, answer: f64, expected: f64, excess: f64, limit: f64) -> bool {
        let full = answer >= ANSWER * expected;
        if full {
            self.wait = (2 * self.wait).min(WAITS.1);
            self.allowance *= 0.5;
        } else {
            self.wait = WAITS.0;
            self.allowance = self.allowance.max(excess.min(limit));
        }
        full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Round trips until the next push.
    fn wait(fullness: &mut Fullness) -> u32 {
        (1..).find(|_| fullness.may_push()).expect("some time")
    }

    #[test]
    fn a_path_that_does_not_answer_is_not_full() {
        let mut fullness = Fullness::new();
        // 10 packets more at 1000 packets per second: 10 ms.
        assert!(!fullness.on_answer(0.007, 0.01, 0.006, 0.01));
        assert_eq!(fullness.allowance(), 0.006);
        assert!(!fullness.on_answer(0.0, 0.01, 0.02, 0.01));
        assert_eq!(fullness.allowance(), 0.01, "the limit");
        assert!(fullness.on_answer(0.01, 0.01, 0.02, 0.01));
        assert_eq!(fullness.allowance(), 0.005);
        fullness.on_empty(0.001);
        assert_eq!(fullness.allowance(), 0.001);
    }

    #[test]
    fn a_push_is_as_large_as_its_answer_must_be() {
        let mut fullness = Fullness::new();
        for (noise, base, pushed) in [
            (0.001, 0.05, 0.25),
            (0.001, 0.2, 0.0625),
            (0.03, 0.2, 0.15),
            (0.001, 0.6, 0.05),
            (0.1, 0.1, 0.25),
        ] {
            assert!(
                (fullness.push(noise, base) - pushed).abs() < 1e-9,
                "{noise}, {base}"
            );
            assert!((fullness.pushed() - pushed).abs() < 1e-9);
        }
    }

    #[test]
    fn pushes_on_a_full_path_become_rare() {
        let mut fullness = Fullness::new();
        for expected in [4, 8, 16, 16] {
            assert_eq!(wait(&mut fullness), expected);
            let stages = [(); 3].map(|()| fullness.on_push_round());
            assert_eq!(stages, [Stage::Waiting, Stage::Answered, Stage::Settled]);
            assert!(fullness.on_answer(0.01, 0.01, 0.006, 0.01));
        }
        fullness.on_answer(0.0, 0.01, 0.006, 0.01);
        assert_eq!(wait(&mut fullness), 4);
    }
}
