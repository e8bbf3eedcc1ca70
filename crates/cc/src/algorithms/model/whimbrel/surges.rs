//! A path whose capacity varies.
//!
//! On a radio path the capacity changes within a round trip. Where it falls, the queue of a lone
//! flow grows far beyond what it wants; where it rises, the queue is gone at once. So the window
//! follows the least capacity: each surge of the queue takes it back, and between two surges it
//! grows by `want(x) * x` packets in a round trip, which is 1 % of a window of 300 packets. With an
//! RTT of 300 ms that is too slow for a capacity that doubles within seconds. Recorded LTE paths
//! with this RTT were used by two thirds.
//!
//! Surges that have come and gone are the sign: within the last [`MEMORY`] the queue was [`LONG`]
//! times as long as flows of this algorithm make it, and longer than [`PART`] of the base RTT, it
//! was so again and again for [`SERIES`], and the base RTT was seen within the last round trips.
//! One surge is no sign: a flow that begins makes one, and several that begin together make several
//! within seconds. Then, while there is room, the window grows by a factor of e in [`TIME`],
//! whatever the RTT. There is no room at the fixed point, so shares do not depend on this.
//!
//! Units: seconds.

/// A queue is far too long for flows of this algorithm if it is so many times as long as they make
/// it. A surge is also longer than this part of the base RTT.
const LONG: f64 = 4.0;
const PART: f64 = 0.125;

/// For so long a surge is remembered, s.
const MEMORY: f64 = 20.0;

/// A series of surges, none later than this memory after the one before it, lasts longer than the
/// startups of flows that begin together, s.
const SERIES: f64 = 10.0;

/// The base RTT was seen lately: within so many round trips, or this time, s.
const LATELY: (f64, f64) = (2.0, 0.5);

/// The time in which the window grows by a factor of e, s, and its largest growth in a round trip,
/// windows.
const TIME: f64 = 2.5;
const MOST: f64 = 0.125;

/// The surges of the queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surges {
    /// When the last one was seen.
    last: f64,
    /// The first one of this series.
    first: f64,
}

impl Surges {
    /// There was none.
    pub const NONE: Self = Self {
        last: f64::NEG_INFINITY,
        first: f64::INFINITY,
    };

    /// Ends a round trip with this `queue`. Flows of this algorithm make one of `foreign` at most.
    pub fn on_round(&mut self, now: f64, queue: f64, foreign: f64, base: f64) {
        if is_long(queue, foreign, PART * base) {
            if now - self.last > MEMORY {
                self.first = now;
            }
            self.last = now;
        }
    }

    /// By how much the window grows in a round trip while there is room, at least, windows. `seen`:
    /// when the base RTT was seen last; `standing`: the standing RTT.
    pub fn growth(&self, now: f64, base: f64, seen: f64, standing: f64) -> f64 {
        let (rounds, time) = LATELY;
        let gone = now - seen < (rounds * standing).max(time);
        match gone && now - self.last < MEMORY && self.last - self.first > SERIES {
            true => (base / TIME).min(MOST),
            false => 0.0,
        }
    }
}

/// Whether a queue is longer than `least` and far longer than flows of this algorithm make it, who
/// make one of `foreign` at most.
pub(super) fn is_long(queue: f64, foreign: f64, least: f64) -> bool {
    queue > (LONG * foreign).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surge_that_has_gone_lets_the_window_grow() {
        let mut surges = Surges::NONE;
        let growth = |surges: &Surges, now: f64, seen| surges.growth(now, 0.3, seen, 0.3);
        surges.on_round(1.0, 0.04, 0.012, 0.3);
        assert_eq!(growth(&surges, 1.1, 1.1), 0.0, "no surge");
        for now in [2.0, 5.0, 11.0] {
            surges.on_round(now, 0.05, 0.012, 0.3);
            assert_eq!(growth(&surges, now + 0.1, now), 0.0, "startups");
        }
        surges.on_round(15.0, 0.05, 0.012, 0.3);
        assert_eq!(growth(&surges, 15.1, 14.4), 0.0, "the queue is still there");
        assert_eq!(growth(&surges, 15.1, 14.6), 0.12);
        assert_eq!(growth(&surges, 35.1, 35.0), 0.0, "long ago");
    }

    #[test]
    fn growth_depends_on_time_and_not_on_round_trips() {
        let surges = Surges {
            last: 0.0,
            first: -20.0,
        };
        for (base, growth) in [(0.025, 0.01), (0.1, 0.04), (0.6, MOST)] {
            assert_eq!(surges.growth(1.0, base, 1.0, base), growth, "{base}");
        }
    }

    #[test]
    fn on_a_long_path_a_surge_is_a_part_of_the_round_trip() {
        for (queue, growth) in [(0.07, 0.0), (0.08, MOST)] {
            let mut surges = Surges::NONE;
            surges.on_round(1.0, queue, 0.012, 0.6);
            surges.on_round(12.0, queue, 0.012, 0.6);
            assert_eq!(surges.growth(12.1, 0.6, 12.1, 0.6), growth, "{queue}");
        }
    }
}
