//! Do the others yield? What a change of this flow's window says about the rest of the traffic.
//!
//! Nimbus (P. Goyal, A. Narayan, F. Cangialosi, S. Narayana, M. Alizadeh, H. Balakrishnan,
//! "Elasticity Detection: A Building Block for Internet Congestion Control", SIGCOMM 2022) sends
//! pulses and looks for them in the rate of the cross traffic, `z = mu*S/R - S`. Windows say the
//! same more simply. By Little's law a flow's window is its rate times its RTT, W = R*RTT, so that
//! each change of W shows either as a change of R or as one of the RTT. Let W change by dW, and the
//! RTT by dRTT. The *response* `r = R*dRTT/dW` is
//!
//! | other traffic | the RTT follows | r |
//! |---|---|---|
//! | none, or of a constant rate | dW/R | 1 |
//! | windows that stay as they are (ACK-clocked, for a few round trips) | dW/C | R/C, this flow's
//! share |
//! | takes what this flow gives up | not at all, or the opposite | 0 or less, RTT varies |
//! | the path is not full | not at all | 0, RTT constant |
//!
//! No pulses are needed. A flow of this algorithm that sees a long queue shrinks, by itself: that
//! is a step down. A flow that competes grows: a step up.
//!
//! **Down** ([`Yielding`], in default mode). While the queue is longer than this algorithm's flows
//! make it, the window shrinks. If the queue shrinks with it, the others yield, or there are none.
//! If after `withstand` round trips (seven) it has not, they do not yield: compete. One more flow
//! of this algorithm makes a queue, too, which withstands for five to seven of its round trips,
//! until its startup ends. So seven are needed, and those in which the queue grows as in a startup
//! do not count.
//!
//! **Up** ([`Pushing`], while competing). If the window grows by what would make the queue of a
//! full path two fifths longer and the queue does not answer, either the path is longer or the
//! others yield: nothing to compete with, and what was taken for a queue is the path's. That needs
//! the capacity, and a flow that others have kept small never saw it: it took its own best rate for
//! the path's, and after six packets more without an answer CUBIC's queue for a longer path. So
//! this counts only if the last drain has left no queue.
//!
//! **Down, deliberately** (the drain, and the trial of `compete.rs`): if the queue empties, nobody
//! else keeps it.
//!
//! Units: seconds, bytes.

/// The RTT is constant if it varies by less than this fraction of the queue.
const CONSTANT: f64 = 0.1;

/// The queue yields if this remains of its maximum.
const YIELDS: f64 = 0.6;

/// Round trips that are enough after startup has ended at a queue that others seem to keep.
const SUSPECTED: u32 = 3;

/// A queue that grows by more than this in a round trip is a newcomer's startup, which passes: such
/// a round trip proves nothing.
const BURST: f64 = 1.4;

/// The answer of the queue while this flow yields.
#[derive(Debug, Clone, Copy)]
pub(super) struct Yielding {
    /// Round trips for which a queue has to withstand, usually and this time.
    withstand: u32,
    needed: u32,
    rounds: u32,
    /// The window before it began to yield.
    onset: f64,
    /// The longest queue since, and the last one.
    peak: f64,
    queue: f64,
}

impl Yielding {
    pub fn new(withstand: u32) -> Self {
        Self {
            withstand,
            needed: withstand,
            rounds: 0,
            onset: 0.0,
            peak: 0.0,
            queue: 0.0,
        }
    }

    /// The window before it began to yield; 0 if it does not.
    pub fn onset(&self) -> f64 {
        self.onset
    }

    /// Forgets what it has seen.
    pub fn reset(&mut self) {
        *self = Self::new(self.withstand);
    }

    /// Startup has ended at a queue that others seem to keep: a part of the proof is there.
    pub fn suspect(&mut self) {
        self.needed = SUSPECTED.min(self.withstand);
    }

    /// Ends a round trip that began with the window `before`. A `queue` above `foreign` is longer
    /// than this algorithm's flows make it. Returns whether others keep it long.
    pub fn on_round(&mut self, before: f64, queue: f64, foreign: f64) -> bool {
        if queue <= foreign {
            self.reset();
            return false;
        }
        if queue < YIELDS * self.peak {
            self.reset();
        }
        if self.rounds == 0 {
            self.onset = before;
        }
        if self.rounds == 0 || queue <= BURST * self.queue {
            self.rounds += 1;
        }
        self.queue = queue;
        self.peak = self.peak.max(queue);
        self.rounds >= self.needed
    }
}

/// The answer of the queue while this flow pushes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pushing {
    rounds: u32,
    window: f64,
    min: f64,
    max: f64,
}

/// Round trips after which the queue should have answered.
const PUSH: u32 = 4;

/// A push proves something if it is worth so many times what counts as constant.
const PROVES: f64 = 4.0;

impl Pushing {
    /// Begins with this window and standing RTT.
    pub fn new(window: f64, standing: f64) -> Self {
        Self {
            rounds: 0,
            window,
            min: standing,
            max: standing,
        }
    }

    /// Ends a round trip. Returns whether the window has grown without an answer. `capacity`: the
    /// maximum rate that the path is known to have, bytes per second. What the window has grown by
    /// lengthens the queue of a full path by so many bytes, as long as the others keep theirs.
    pub fn on_round(&mut self, window: f64, standing: f64, queue: f64, capacity: f64) -> bool {
        self.min = self.min.min(standing);
        self.max = self.max.max(standing);
        self.rounds += 1;
        let constant = (CONSTANT * queue).max(0.001);
        if self.max - self.min > constant {
            *self = Self::new(window, standing);
            return false;
        }
        let expected = (window - self.window) / capacity.max(1.0);
        self.rounds > PUSH && expected > PROVES * constant
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOREIGN: f64 = 0.01;

    /// The round trip in which a queue that is `queue(round, window)` is found to be others'.
    fn found(withstand: u32, suspect: bool, mut queue: impl FnMut(u32, f64) -> f64) -> Option<u32> {
        let mut yielding = Yielding::new(withstand);
        if suspect {
            yielding.suspect();
        }
        let mut window = 100.0;
        (1..=30).find(|round| {
            let before = window;
            window *= 0.85;
            yielding.on_round(before, queue(*round, window), FOREIGN)
        })
    }

    #[test]
    fn a_queue_that_grows_while_this_flow_yields_is_elastic() {
        let grows = |round: u32, _: f64| 0.02 + 0.003 * f64::from(round);
        assert_eq!(found(6, false, grows), Some(6));
        assert_eq!(
            found(6, true, grows),
            Some(3),
            "a suspicion is half of the proof"
        );
    }

    #[test]
    fn a_newcomers_startup_proves_nothing() {
        // Its queue doubles for three round trips, and then grows by a fifth of that.
        let starts = |round: u32, _: f64| match round {
            1..4 => 0.012 * f64::from(1 << round),
            _ => 0.096 + 0.02 * f64::from(round - 3),
        };
        assert_eq!(found(6, false, starts), Some(8));
    }

    #[test]
    fn a_queue_that_shrinks_with_the_window_is_nobody_elses() {
        // 100 packets make a queue of 40 ms, all its own.
        let own = |_: u32, window: f64| (0.09 * window / 100.0 - 0.05f64).max(0.0);
        assert_eq!(found(6, false, own), None);
        // Ten flows of this algorithm that all yield.
        let ten = |round: u32, _: f64| 0.04 * 0.75f64.powi(round as i32);
        assert_eq!(found(6, false, ten), None);
    }

    #[test]
    fn pushing_ends_when_the_queue_does_not_answer() {
        // 100 packets of 1000 a second, on a queue of 30 ms.
        let push = |answer: f64, share: f64| {
            let mut pushing = Pushing::new(100.0 * share, 0.08);
            (1..=10).any(|round| {
                let window = 100.0 * share * 1.05f64.powi(round);
                let rtt = 0.08 + answer * (window - 100.0 * share) / 1000.0;
                pushing.on_round(window, rtt, rtt - 0.05, 1000.0)
            })
        };
        assert!(push(0.0, 1.0), "nobody is there");
        assert!(!push(0.5, 1.0), "half of the path is its own");
        assert!(!push(0.0, 0.05), "6 % of 5 packets prove nothing");
    }
}
