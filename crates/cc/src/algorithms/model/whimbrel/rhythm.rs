//! In step without a common clock: flows hear each other's drains.
//!
//! A drain makes a dip in the queue that all flows of the bottleneck see within a round trip. So
//! the deepest dip of a period is known to all, and a flow that moves its drain to that time joins
//! those that made it. Flows that drain together never part again, and their dip is deeper than
//! that of each alone, so one group remains.
//!
//! At the end of its own drain a flow compares the deepest dip of others since the last one with
//! its own, both against the mean of the standing RTT:
//!
//! * one that is at least [`DEEPER`] times as deep is a larger group's: it moves there
//! * one that is at least [`COMPARABLE`] as deep counts only if it came in the half period before
//!   the flow's own. Of two flows exactly one sees the other there, so they do not change places.
//!
//! A drain that empties the queue needs no company, so its flow stays where it is: in step with the
//! clock, if all flows are. (The base RTT is at most the deepest dip, so a flow that drains alone
//! cannot mistake the queue that it leaves for an empty one after a deeper dip.)
//!
//! Trials of `compete.rs` follow the clock, moved or not, but move nothing: beside CUBIC the
//! deepest dips are those of its losses.
//!
//! Moving means that the minima of both coincide one period later (`clock.rs`). A dip that no drain
//! made, such as a loss of a large flow, is a sign for all flows alike, and does no harm.
//!
//! Units: seconds.

use super::{higher, lower};

/// How much deeper than its own a dip anywhere in the period must be.
const DEEPER: f64 = 1.5;

/// The same in the half period before its own drain.
const COMPARABLE: f64 = 0.5;

/// Round trips after a drain in which the queue is still that of the drain.
const AFTER: f64 = 3.0;

/// The lowest RTT of a time, and when it was first seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lowest {
    pub rtt: f64,
    pub at: f64,
}

impl Lowest {
    /// Of no sample.
    pub const NONE: Self = Self {
        rtt: f64::INFINITY,
        at: 0.0,
    };

    /// Processes a sample.
    pub fn add(&mut self, now: f64, rtt: f64) {
        if rtt < self.rtt {
            *self = Self { rtt, at: now };
        }
    }
}

/// What a flow hears between its drains.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rhythm {
    /// The deepest dip.
    heard: Lowest,
    /// The mean of the standing RTT: sum and number.
    sum: f64,
    count: f64,
    /// From when on samples count.
    from: f64,
}

impl Rhythm {
    pub fn new() -> Self {
        Self {
            heard: Lowest::NONE,
            sum: 0.0,
            count: 0.0,
            from: 0.0,
        }
    }

    /// Processes the standing RTT of an acknowledgment outside of drains.
    pub fn on_sample(&mut self, now: f64, standing: f64) {
        if now >= self.from {
            self.sum += standing;
            self.count += 1.0;
            self.heard.add(now, standing);
        }
    }

    /// An own drain ends at `now` whose lowest RTT is `own`; drains are `period` apart. Returns by
    /// how much they should come earlier.
    pub fn end_period(&mut self, now: f64, own: Lowest, period: f64) -> f64 {
        let Self {
            heard, sum, count, ..
        } = *self;
        *self = Self {
            from: now + AFTER * lower(own.rtt, 1.0),
            ..Self::new()
        };
        if count < 1.0 || !own.rtt.is_finite() {
            return 0.0;
        }
        let mean = sum / count;
        let (its, mine) = (mean - heard.rtt, higher(mean - own.rtt, 0.0));
        let earlier = own.at - heard.at;
        let needed = match earlier < period / 2.0 {
            true => COMPARABLE,
            false => DEEPER,
        };
        let joins = its > 0.0 && its >= needed * mine && earlier < period;
        if joins { earlier } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By how much a flow whose own dip of `own` ms comes at 5 s moves, after one of `heard` ms
    /// at `at`, on an RTT of 60 ms.
    fn moves(at: f64, heard: f64, own: f64) -> f64 {
        let mut rhythm = Rhythm::new();
        for tick in 1..100 {
            let now = f64::from(tick) * 0.05;
            let dip = if (now - at).abs() < 0.01 { heard } else { 0.0 };
            rhythm.on_sample(now, 0.06 - dip / 1e3);
        }
        let own = Lowest {
            rtt: 0.06 - own / 1e3,
            at: 5.0,
        };
        rhythm.end_period(5.1, own, 5.0)
    }

    #[test]
    fn a_flow_joins_the_deepest_dip() {
        for (at, heard, own, earlier) in [
            (3.5, 4.0, 4.0, 1.5),
            (3.5, 2.5, 4.0, 1.5),
            (3.5, 1.0, 4.0, 0.0),
            (1.5, 4.0, 4.0, 0.0),
            (1.5, 8.0, 4.0, 3.5),
        ] {
            let by = moves(at, heard, own);
            assert!((by - earlier).abs() < 1e-9, "{at} {heard} {own}: {by}");
        }
    }
}
