//! TCP-RTA's rule: the path has changed if three round-trip times in a row are in another range.
//!
//! R. Srinivasan, J. J. Garcia-Luna-Aceves, "TCP-RTA: Real-time Topology Adaptive Congestion
//! Control Strategy in TCP", University of California, Santa Cruz, 2022: Algorithm 1 and section
//! 3.2.
//!
//! * RTT-Current, RTT-Prev, RTT-Prev-Prev are the last three samples; their initial value is the
//!   lower threshold (lines 4 to 6), which is neither above nor below any threshold
//! * all three above 800 ms: up, to the range of satellites (lines 8, 9)
//! * all three below 500 ms: down (lines 12, 13)
//! * one or two alone change nothing, and are not passed on to the congestion control (section 3.2,
//!   "a low-pass filter")
//!
//! **The physics.** The rule assumes that no queue lasts: "any network congestion scenario is not a
//! stable condition", and three samples that agree are a path. **When it works.** Queues hold less
//! than the distance between the ranges. **When not.** A queue of one second looks like a
//! satellite, and lasts as long as a flow fills it (bufferbloat). With `guard`, `rtt_step.rs` must
//! confirm that the path without queues has such a round-trip time.
//!
//! Where the source contradicts itself:
//! * line 12 prints RTT-Prev and RTT-Prev-Prev `>` the threshold; the text and line 8 mean all
//!   three on the same side.
//! * back at 300 ms (sections 3.2), 500 (Algorithm 1, section 5) or 800 (section 5): here 500, and
//!   it can be set.
//! * it has two ranges, and "various other RTT ranges could be added": here any number. Three
//!   samples that agree on more than one threshold cross them at once.

use crate::interface::Ack;
use crate::path_change::rtt_step::RttStep;
use crate::path_change::{Change, Observation, PathChange};
use whimbrel_units::{Duration, Time};

/// The boundary between two ranges of round-trip times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bound {
    /// Below this the path is in the lower range.
    pub down: Duration,
    /// Above this the path is in the upper range; at least `down`.
    pub up: Duration,
}

/// The boundaries between ranges, one fewer than ranges; both values ascend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bounds(pub Vec<Bound>);

impl Bounds {
    /// The range of a connection whose handshake has this round-trip time.
    pub fn first(&self, handshake: Duration) -> usize {
        self.above(0, handshake)
    }

    /// The range after `range`, for samples that all lie between `min` and `max`.
    pub fn next(&self, range: usize, min: Duration, max: Duration) -> usize {
        let up = self.above(range, min);
        if up > range {
            return up;
        }
        let below = |range: &usize| *range > 0 && max < self.0[range - 1].down;
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

    /// The initial value of the three samples in a range: on no side of a boundary.
    fn neutral(&self, range: usize) -> Duration {
        let bound = self.0.get(range.saturating_sub(1));
        bound.map_or(Duration::ZERO, |bound| bound.down)
    }
}

/// The rule.
#[derive(Debug, Clone)]
pub(crate) struct ThreeSamples {
    bounds: Bounds,
    /// `None` before the handshake has chosen it.
    range: Option<usize>,
    /// RTT-Prev-Prev, RTT-Prev, RTT-Current.
    last: [Duration; 3],
    /// The last sample that was passed on.
    passed_on: Duration,
    /// Knows the round-trip time of the path without queues.
    guard: Option<RttStep>,
    /// With marks: when the last one came, if any did. `None`: marks are not looked at.
    marked: Option<Option<Time>>,
}

impl ThreeSamples {
    /// With `guard`, only a step of the round-trip time leads to an upper range, not a queue.
    /// With `marks`, a congestion mark within the last round trip says that the path is longer because
    /// of a queue.
    pub fn new(bounds: Bounds, guard: bool, marks: bool) -> Self {
        Self {
            bounds,
            range: None,
            last: [Duration::ZERO; 3],
            passed_on: Duration::ZERO,
            guard: guard.then(RttStep::default),
            marked: marks.then_some(None),
        }
    }

    /// Whether marks say that it is a queue: the last one came within `rtt`.
    fn is_marked(&self, now: Time, rtt: Duration) -> bool {
        let last = self.marked.flatten();
        last.is_some_and(|last| now.since(last) <= rtt)
    }

    /// Whether the path without queues is long enough for a range above the present one.
    fn confirmed(&self, range: usize) -> bool {
        let base = self.guard.as_ref().map(RttStep::base);
        base.is_none_or(|base| base.is_some_and(|base| self.bounds.above(range, base) > range))
    }
}

impl PathChange for ThreeSamples {
    fn on_ack(&mut self, ack: &Ack) -> Observation {
        let range = *self.range.get_or_insert_with(|| {
            let first = self.bounds.first(ack.min_rtt);
            self.last = [self.bounds.neutral(first); 3];
            self.passed_on = ack.min_rtt;
            first
        });
        if let Some(guard) = &mut self.guard {
            guard.on_ack(ack);
        }
        if let (Some(marked), true) = (&mut self.marked, ack.ece) {
            *marked = Some(ack.now);
        }
        let Some(rtt) = ack.rtt else {
            return Observation::sample(None);
        };
        self.last = [self.last[1], self.last[2], rtt];
        let min = self.last[0].min(self.last[1]).min(rtt);
        let max = self.last[0].max(self.last[1]).max(rtt);
        let next = self.bounds.next(range, min, max);
        let change = next < range
            || (next > range && self.confirmed(range) && !self.is_marked(ack.now, rtt));
        if !change && next == range && self.bounds.next(range, rtt, rtt) != range {
            return Observation::sample(None);
        }
        let from = self.passed_on;
        self.passed_on = rtt;
        if !change {
            return Observation::sample(Some(rtt));
        }
        self.range = Some(next);
        let to = if next > range { min } else { max };
        let rate = None;
        Observation::change(rtt, Change { from, to, rate })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ACK;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn bounds(bounds: &[(u64, u64)]) -> Bounds {
        let bound = |(down, up): &(u64, u64)| Bound {
            down: ms(*down),
            up: ms(*up),
        };
        Bounds(bounds.iter().map(bound).collect())
    }

    /// The rule with these boundaries, after a handshake with this round-trip time.
    fn rule(handshake: u64, limits: &[(u64, u64)]) -> impl FnMut(u64) -> Observation {
        let mut rule = ThreeSamples::new(bounds(limits), false, false);
        move |rtt| {
            rule.on_ack(&Ack {
                rtt: Some(ms(rtt)),
                min_rtt: ms(handshake),
                ..ACK
            })
        }
    }

    const PAPER: &[(u64, u64)] = &[(500, 800)];

    #[test]
    fn marks_within_a_round_trip_say_that_it_is_a_queue() {
        let mut rule = ThreeSamples::new(bounds(PAPER), false, true);
        let mut ack = |at: u64, rtt: u64, ece: bool| {
            let ack = Ack {
                now: Time::ZERO + ms(at),
                rtt: Some(ms(rtt)),
                min_rtt: ms(50),
                ece,
                ..ACK
            };
            rule.on_ack(&ack).change.is_some()
        };
        assert!(!ack(0, 50, false));
        assert!(!ack(1000, 900, true));
        for at in [1100, 1200, 1300, 1900] {
            assert!(!ack(at, 900, false), "{at}");
        }
        // No mark for a round trip: it is the path.
        assert!(ack(1901, 900, false));
    }

    #[test]
    fn three_samples_in_a_row_above_800_ms_are_a_satellite() {
        let mut rule = rule(50, PAPER);
        for rtt in [801, 801, 800, 801, 900] {
            assert_eq!(rule(rtt).change, None, "{rtt}");
        }
        let change = Change {
            from: ms(800),
            to: ms(801),
            rate: None,
        };
        assert_eq!(rule(850), Observation::change(ms(850), change));
        assert_eq!(rule(850).change, None, "it has changed");
    }

    #[test]
    fn three_samples_in_a_row_below_500_ms_lead_back() {
        let mut rule = rule(900, PAPER);
        // The printed line 12 would go back with the last but one: current below, the two before
        // above.
        for rtt in [499, 499, 500, 600, 600, 400, 499] {
            assert_eq!(rule(rtt).change, None, "{rtt}");
        }
        let change = Change {
            from: ms(600),
            to: ms(499),
            rate: None,
        };
        assert_eq!(rule(50), Observation::change(ms(50), change));
    }

    #[test]
    fn one_or_two_outliers_change_nothing_and_are_not_passed_on() {
        let mut rule = rule(50, PAPER);
        for (rtt, passed_on) in [
            (60, true),
            (5_000, false),
            (61, true),
            (900, false),
            (900, false),
            (700, true),
        ] {
            assert_eq!(
                rule(rtt),
                Observation::sample(Some(ms(rtt)).filter(|_| passed_on))
            );
        }
    }

    #[test]
    fn the_initial_values_are_on_no_side_of_a_threshold() {
        // Lines 4 to 6: 500 ms. Neither two samples above nor two below count as three.
        let mut low = rule(50, PAPER);
        assert_eq!((low(900).change, low(900).change), (None, None));
        let mut high = rule(900, PAPER);
        assert_eq!((high(50).change, high(50).change), (None, None));
        // In a third range the initial value is 1500 ms.
        let mut third = rule(3_000, &[(500, 800), (1500, 2000)]);
        assert_eq!((third(1_000).change, third(1_000).change), (None, None));
        assert!(third(1_000).change.is_some());
    }

    #[test]
    fn samples_that_agree_on_two_thresholds_cross_both_at_once() {
        let mut rule = rule(50, &[(500, 800), (1500, 2000)]);
        rule(2_500);
        rule(2_500);
        assert!(rule(2_500).change.is_some_and(|change| change.is_longer()));
        assert_eq!(rule(2_500).change, None);
        rule(1_000);
        rule(1_000);
        assert!(rule(1_000).change.is_some(), "to the middle");
        rule(900);
        assert_eq!(rule(900).change, None);
        rule(50);
        rule(50);
        assert!(rule(50).change.is_some());
    }

    #[test]
    fn without_bounds_nothing_changes() {
        let mut rule = rule(50, &[]);
        for rtt in [50, 5_000, 5_000, 5_000, 1, 1, 1] {
            assert_eq!(rule(rtt), Observation::sample(Some(ms(rtt))));
        }
    }
}
