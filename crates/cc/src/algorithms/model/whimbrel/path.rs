//! A longer path is not a queue.
//!
//! A step of the RTT that no queue explains is found by `path_change/rtt_step.rs`, which
//! TCP-RTA-plus uses too, within about one and a quarter round trips. The window becomes what the
//! new path holds at the rate that the old one had, unless the first packets of the new path came
//! slower. The rate of the last ten round trips is the memory that makes a hand-over from 50 to 600
//! ms take one round trip instead of twelve times the window's growth.
//!
//! Where RTTs are noisy, a push and the frames of a radio make steps, too. A longer path delivers
//! the same window more slowly, and a queue does not. So where noise may explain the queue that the
//! flow wants, a step counts only if the rate fell by a tenth with it ([`Suspected`]). Elsewhere
//! this is not required: a path that became longer and faster at once keeps the rate.
//!
//! A smaller step looks like a queue that others keep. The flow competes with it, its window grows,
//! and the delay does not answer (`elasticity.rs`): then it is the path's.
//!
//! Units: seconds.

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
