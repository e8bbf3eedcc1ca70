//! TCP-RTA's rule: the path has changed if three round-trip times in a row are those of another kind of path.
//!
//! R. Srinivasan, J. J. Garcia-Luna-Aceves, "TCP-RTA: Real-time Topology Adaptive Congestion Control Strategy in TCP",
//! University of California, Santa Cruz, 2022: Algorithm 1 and section 3.2.
//!
//! * RTT-Current, RTT-Prev, RTT-Prev-Prev are the last three samples; all begin as the threshold below which one goes back
//!   (lines 4 to 6), which is neither above nor below anything
//! * all three above 800 ms: up, to the range of satellites (lines 8, 9)
//! * all three below 500 ms: down (lines 12, 13)
//! * one or two alone change nothing, and are not passed on to the congestion control (section 3.2, "a low-pass filter")
//!
//! **The physics.** No queue is expected to last: "any network congestion scenario is not a stable condition", and three
//! samples that agree are a path. **When.** Queues that hold less than the distance between the ranges. **When not.** A queue
//! of a second looks like a satellite, and lasts as long as somebody fills it (bufferbloat). `guard` asks `rtt_step.rs`
//! whether the path itself ever took so long.
//!
//! Where the source contradicts itself:
//! * line 12 prints RTT-Prev and RTT-Prev-Prev `>` the threshold; the text and line 8 mean all three on the same side.
//! * back at 300 ms (sections 3.2), 500 (Algorithm 1, section 5) or 800 (section 5): here 500, and it can be set.
//! * it has two ranges, and "various other RTT ranges could be added": here any number. Three samples that agree on more
//!   than one threshold cross them at once.

use crate::event::Ack;
use crate::path_change::{Change, Heard, PathChange};
use crate::rtt_step::RttStep;
use whimbrel_units::Duration;

/// What lies between two ranges of round-trip times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bound {
    /// Below this one goes back to the range before.
    pub down: Duration,
    /// Above this one goes on to the range behind; not less than `down`.
    pub up: Duration,
}

/// What lies between ranges of round-trip times, one less than there are ranges; both sides ascend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bounds(pub Vec<Bound>);

impl Bounds {
    /// The range in which a connection begins whose handshake took so long.
    pub fn first(&self, handshake: Duration) -> usize {
        self.above(0, handshake)
    }

    /// The range after `range`, for samples that all lie between `least` and `greatest`.
    pub fn next(&self, range: usize, least: Duration, greatest: Duration) -> usize {
        let up = self.above(range, least);
        if up > range {
            return up;
        }
        let below = |range: &usize| *range > 0 && greatest < self.0[range - 1].down;
        let mut next = range.min(self.0.len());
        while below(&next) {
            next -= 1;
        }
        next
    }

    fn above(&self, range: usize, rtt: Duration) -> usize {
        let beyond = |bound: &&Bound| rtt > bound.up;
        range + self.0.iter().skip(range).take_while(beyond).count()
    }

    /// The value that three samples begin with in a range: outside of none.
    fn neutral(&self, range: usize) -> Duration {
        let bound = self.0.get(range.saturating_sub(1));
        bound.map_or(Duration::ZERO, |bound| bound.down)
    }
}

/// The rule.
#[derive(Debug, Clone)]
pub(crate) struct ThreeSamples {
    bounds: Bounds,
    /// Once the handshake has chosen it.
    range: Option<usize>,
    /// RTT-Prev-Prev, RTT-Prev, RTT-Current.
    last: [Duration; 3],
    /// The last sample that was passed on.
    heard: Duration,
    /// Knows what the path takes without queues.
    guard: Option<RttStep>,
}

impl ThreeSamples {
    /// With `guard` only a step of the round-trip time leads up, not a queue.
    pub fn new(bounds: Bounds, guard: bool) -> Self {
        Self {
            bounds,
            range: None,
            last: [Duration::ZERO; 3],
            heard: Duration::ZERO,
            guard: guard.then(RttStep::default),
        }
    }

    /// Whether the path without queues takes long enough for a range beyond the present one.
    fn vouched(&self, range: usize) -> bool {
        let base = self.guard.as_ref().map(RttStep::base);
        base.is_none_or(|base| base.is_some_and(|base| self.bounds.above(range, base) > range))
    }
}

impl PathChange for ThreeSamples {
    fn on_ack(&mut self, ack: &Ack) -> Heard {
        let range = *self.range.get_or_insert_with(|| {
            let first = self.bounds.first(ack.min_rtt);
            self.last = [self.bounds.neutral(first); 3];
            self.heard = ack.min_rtt;
            first
        });
        if let Some(guard) = &mut self.guard {
            guard.on_ack(ack);
        }
        let Some(rtt) = ack.rtt else {
            return Heard::sample(None);
        };
        self.last = [self.last[1], self.last[2], rtt];
        let least = self.last[0].min(self.last[1]).min(rtt);
        let greatest = self.last[0].max(self.last[1]).max(rtt);
        let next = self.bounds.next(range, least, greatest);
        let change = next < range || (next > range && self.vouched(range));
        if !change && next == range && self.bounds.next(range, rtt, rtt) != range {
            return Heard::sample(None);
        }
        let from = self.heard;
        self.heard = rtt;
        if !change {
            return Heard::sample(Some(rtt));
        }
        self.range = Some(next);
        let to = if next > range { least } else { greatest };
        let rate = None;
        Heard::change(rtt, Change { from, to, rate })
    }
}
