//! A longer path is not a queue.
//!
//! Two senses. **A step** of the RTT that no queue explains is found by `path_change/rtt_step.rs`,
//! which TCP-RTA-plus uses too, within about one and a quarter round trips. The window becomes what
//! the new path holds at the rate that the old one had, unless the first packets of the new path
//! came slower. The rate of the last ten round trips is the memory that makes a hand-over from 50
//! to 600 ms take one round trip instead of twelve times the window's growth.
//!
//! Where RTTs are noisy, a push and the frames of a radio make steps, too. A longer path delivers
//! the same window more slowly, and a queue does not. So where noise may explain the queue that the
//! flow wants, a step counts only if the rate fell by a tenth with it ([`Suspected`]). Elsewhere
//! this is not required: a path that became longer and faster at once keeps the rate.
//!
//! **A constant delay** that does not shrink with the window is found by `elasticity.rs`. This
//! finding is provisional: the window returns to where it was before the delay grew; if that makes
//! a queue within [`PROOF`] round trips, it was somebody's queue, and the old base RTT is the right
//! one. After such a mistake the finding is ignored for some time, which doubles with each.
//!
//! Units: seconds.

/// Round trips after which a finding is final.
const PROOF: u32 = 8;

/// The first of them, in which the old window's packets are acknowledged.
const FEEDBACK: u32 = 2;

/// Time without findings after a mistake, first and at most, s.
const WAITS: (f64, f64) = (10.0, 60.0);

/// Part of the rate before that a longer path may deliver at most.
const SLOWER: f64 = 0.9;

/// A step of the RTT that is not yet certain: when it began, and the bytes delivered until then.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Suspected(Option<(f64, u64)>);

impl Suspected {
    /// A sample may belong to a new path; so many bytes are `delivered` by now.
    pub fn on_suspicion(&mut self, now: f64, delivered: u64) {
        self.0.get_or_insert((now, delivered));
    }

    /// The suspicion has ended.
    pub fn end(&mut self) {
        self.0 = None;
    }

    /// Whether less was delivered since it began than at the rate `before`, bytes per second.
    pub fn has_slowed(&self, now: f64, delivered: u64, before: f64) -> bool {
        self.0.is_none_or(|(began, then)| {
            let rate = delivered.saturating_sub(then) as f64 / (now - began).max(1e-6);
            rate < SLOWER * before
        })
    }
}

/// A base RTT that is only assumed.
#[derive(Debug, Clone, Copy)]
struct Assumed {
    old: f64,
    rounds: u32,
}

/// Longer paths found by their constant delay.
#[derive(Debug, Clone, Copy)]
pub(super) struct Longer {
    assumed: Option<Assumed>,
    not_before: f64,
    wait: f64,
}

impl Longer {
    pub fn new() -> Self {
        Self {
            assumed: None,
            not_before: 0.0,
            wait: WAITS.0,
        }
    }

    /// Whether a finding counts now.
    pub fn may_assume(&self, now: f64) -> bool {
        self.assumed.is_none() && now >= self.not_before
    }

    /// Assumes that the path is longer than `old`.
    pub fn assume(&mut self, old: f64) {
        self.assumed = Some(Assumed { old, rounds: 0 });
    }

    /// The path is known to be another one.
    pub fn forget(&mut self) {
        self.assumed = None;
    }

    /// Ends a round trip; `queue`: there is a long one above the assumed base. Returns the old base
    /// if the assumption was a mistake.
    pub fn on_round(&mut self, now: f64, queue: bool) -> Option<f64> {
        let assumed = self.assumed.as_mut()?;
        assumed.rounds += 1;
        let Assumed { old, rounds } = *assumed;
        if rounds > FEEDBACK && queue {
            self.assumed = None;
            self.not_before = now + self.wait;
            self.wait = (2.0 * self.wait).min(WAITS.1);
            return Some(old);
        }
        if rounds > PROOF {
            self.assumed = None;
            self.wait = WAITS.0;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_soon_after_proves_a_mistake() {
        let mut longer = Longer::new();
        longer.assume(0.05);
        assert_eq!(longer.on_round(1.0, true), None, "the old window's");
        assert_eq!(longer.on_round(1.1, true), None);
        assert_eq!(longer.on_round(1.2, true), Some(0.05));
        assert!(!longer.may_assume(11.1) && longer.may_assume(11.3));
        // The next mistake costs twice as much.
        longer.assume(0.05);
        for _ in 0..3 {
            longer.on_round(20.0, true);
        }
        assert!(!longer.may_assume(39.9) && longer.may_assume(40.0));
    }

    #[test]
    fn a_step_at_the_same_rate_is_a_queue() {
        let mut suspected = Suspected::default();
        assert!(suspected.has_slowed(1.0, 0, 1000.0), "nothing was measured");
        suspected.on_suspicion(1.0, 5000);
        suspected.on_suspicion(1.1, 5200);
        for (delivered, slower) in [(5170, true), (5190, false)] {
            assert_eq!(suspected.has_slowed(1.2, delivered, 1000.0), slower);
        }
        suspected.end();
        suspected.on_suspicion(2.0, 6000);
        assert!(!suspected.has_slowed(2.1, 6100, 1000.0));
    }

    #[test]
    fn without_a_queue_it_is_final() {
        let mut longer = Longer::new();
        longer.assume(0.05);
        for _ in 0..9 {
            assert_eq!(longer.on_round(1.0, false), None);
        }
        assert!(longer.may_assume(1.0));
        assert_eq!(longer.on_round(2.0, true), None);
    }
}
