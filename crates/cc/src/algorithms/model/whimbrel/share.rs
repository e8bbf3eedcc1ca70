//! Giving way at a drain: large flows leave to small ones what a drain has emptied.
//!
//! The default mode moves a window by a part of the queue in a round trip, so flows approach equal
//! shares within `T/(g*q)` round trips (`mod.rs`): on a path of 170 ms and 134 Mbit/s, where four
//! flows want 2 ms of queue, in half a minute. A larger gain is not stable.
//!
//! But a flow knows more than the rule uses. At the fixed point a flow of x packets a second sees
//! the queue `a/sqrt(x)`. If it sees q, the rate at which it would be at rest is `(a/q)^2`, and
//! `(a/q)^2/x` is the **fair part** of its rate: below 1 if it has more than its share. While
//! shares are unequal q lies between what the large and what the small flows want, so all agree on
//! who is large.
//!
//! After a drain (`drain.rs`) the queue is empty, all flows begin at the same time (`clock.rs`),
//! and a window that does not return makes room. So after a drain that has emptied the queue
//!
//! * a large flow's window returns only to its fair part of what it was, at least to 0.7
//! * a small flow's step doubles at once (`cruise.rs`), until there is a queue.
//!
//! A flow at its fixed point gives up nothing, and so does a flow alone, because q is then what it
//! wants.

/// What a flow keeps of its window at least. With 0.6 and 0.5 shares are as equal.
const KEPT: f64 = 0.7;

/// A drain follows so many round trips of the default mode at least.
const ROUNDS: f64 = 5.0;

/// The mean of the queue over what this flow wants, since the last drain.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Share {
    sum: f64,
    rounds: f64,
}

impl Share {
    /// Ends a round trip of the default mode with a `queue`, where this flow wants `own`, s.
    pub fn on_round(&mut self, queue: f64, own: f64) {
        self.sum += (queue / own).clamp(0.0, 4.0);
        self.rounds += 1.0;
    }

    /// The fair part of this flow's rate since the last call, if that is known.
    pub fn take(&mut self) -> Option<f64> {
        let Self { sum, rounds } = std::mem::take(self);
        let mean = sum / rounds.max(1.0);
        (rounds >= ROUNDS).then(|| 1.0 / (mean * mean).max(1e-6))
    }
}

/// What a flow with this fair part keeps of its window.
pub(super) fn kept(fair: f64) -> f64 {
    fair.clamp(KEPT, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fair_part_is_the_square_of_what_it_wants_over_what_it_sees() {
        // Rates of 4 and 1: the large flow wants half of the queue that the small one wants. At a
        // queue between these both know which one they are.
        let mut shares = [Share::default(); 2];
        for _ in 0..5 {
            shares[0].on_round(0.003, 0.002);
            shares[1].on_round(0.003, 0.004);
        }
        let [large, small] = shares.map(|mut share| share.take().expect("five rounds"));
        assert!((large - 4.0 / 9.0).abs() < 1e-12, "{large}");
        assert!((small - 16.0 / 9.0).abs() < 1e-12, "{small}");
        assert_eq!(kept(large), KEPT);
        assert_eq!(kept(small), 1.0);
        assert_eq!(kept(0.9), 0.9);
    }

    #[test]
    fn it_says_nothing_without_rounds() {
        let mut share = Share::default();
        for _ in 0..4 {
            share.on_round(0.003, 0.002);
        }
        assert_eq!(share.take(), None);
        assert_eq!(share.take(), None, "and begins anew");
    }
}
