//! When to drain without a common clock (`clock=false`, or where nothing keeps the host's clock
//! right): all flows of a bottleneck at the same time, although none knows of the others.
//!
//! A queue becomes empty only if all that keep it yield together. Two of this algorithm's flows
//! that drain one after the other each find the queue of the other, and believe it to be part of
//! the path. They need a common sign, and a flow sees nothing of the others but the queue.
//!
//! But all see the same queue, and so the same lowest point of it. So a flow drains at a fixed time
//! after **the lowest RTT that it has seen since its last excursion began**. Of two flows that
//! drain at different times one makes the deeper dip. The other sees it, and counts from there, so
//! from the next period on they drain together. What two do is deeper than what each does alone, so
//! groups only grow. A dip that no flow made on purpose, such as that of a loss, is as good a sign:
//! all see it. The queue that a random loss has emptied shows the base RTT, so no drain is needed,
//! and it comes later by itself.
//!
//! A flow on a long path drains at each second, third... of these times. If dips always come in
//! between, a drain begins at the latest after [`LATEST`] times its period.
//!
//! No clock is needed, neither the time of day nor that of the receiver.
//!
//! Units: seconds.

use super::{higher, lower};

/// Periods after which a drain begins, whatever was seen.
const LATEST: f64 = 2.0;

/// Part of the time between two drains that is enough where others drain then.
const NEARLY: f64 = 0.9;

/// The lowest RTT since the last excursion began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rhythm {
    lowest: f64,
    /// When it was seen last.
    at: f64,
    /// When the last excursion began.
    began: f64,
}

impl Rhythm {
    /// Of a flow that has seen nothing.
    pub const NEW: Self = Self {
        lowest: f64::INFINITY,
        at: 0.0,
        began: f64::NEG_INFINITY,
    };

    /// Processes a sample. One that is higher by up to `tolerance` is as low.
    pub fn on_sample(&mut self, now: f64, rtt: f64, tolerance: f64) {
        if rtt <= self.lowest + tolerance {
            self.lowest = lower(self.lowest, rtt);
            self.at = now;
        }
        if self.began == f64::NEG_INFINITY {
            self.began = now;
        }
    }

    /// An excursion begins.
    pub fn begin(&mut self, now: f64) {
        *self = Self {
            lowest: f64::INFINITY,
            at: now,
            began: now,
        };
    }

    /// Whether to begin an excursion, with `period` from one to the next, of which this flow takes
    /// those that are `least` apart.
    pub fn is_due(&self, now: f64, period: f64, least: f64) -> bool {
        let since = now - self.began;
        let together = now - self.at >= period && since >= NEARLY * least;
        together || since >= LATEST * higher(least, period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When flows drain that begin at these times, each 0.1 s, on a path of 50 ms whose queue of 4
    /// ms is shared by all, for 40 s. While k of n drain, k n-ths of the queue are gone.
    fn drains(starts: &[f64]) -> Vec<Vec<f64>> {
        let mut flows = vec![Rhythm::NEW; starts.len()];
        let mut all = vec![Vec::new(); starts.len()];
        let drains = |times: &Vec<f64>, now: f64| times.last().is_some_and(|t| now - t < 0.25);
        for tick in 0..400 {
            let now = f64::from(tick) * 0.1;
            let draining = all.iter().filter(|times| drains(times, now)).count() as f64;
            // The rest of it changes a little, as each queue does.
            let noise = 1e-5 * (now * 7.3).sin();
            let rtt = 0.054 + noise - 0.004 * draining / starts.len() as f64;
            for ((flow, times), start) in flows.iter_mut().zip(&mut all).zip(starts) {
                if now < *start {
                    continue;
                }
                flow.on_sample(now, rtt, 1e-4);
                if flow.is_due(now, 5.0, 5.0) {
                    flow.begin(now);
                    times.push(now);
                }
            }
        }
        all
    }

    #[test]
    fn flows_that_began_at_different_times_drain_together_soon() {
        for starts in [
            &[0.0, 2.0][..],
            &[0.0, 1.0, 3.3],
            &[0.0, 0.7, 1.9, 2.8, 4.1],
        ] {
            let all = drains(starts);
            let last: Vec<f64> = all
                .iter()
                .map(|times| *times.last().expect("a drain"))
                .collect();
            let spread = |times: &[f64]| {
                times.iter().copied().fold(0.0, f64::max)
                    - times.iter().copied().fold(f64::INFINITY, f64::min)
            };
            assert!(spread(&last) < 0.25, "{starts:?}: {all:?}");
        }
    }

    #[test]
    fn a_path_that_empties_by_itself_is_drained_half_as_often() {
        let mut flow = Rhythm::NEW;
        let mut drains = Vec::new();
        for tick in 0..300 {
            let now = f64::from(tick) * 0.1;
            flow.on_sample(now, if tick % 20 == 0 { 0.05 } else { 0.055 }, 1e-4);
            if flow.is_due(now, 5.0, 5.0) {
                flow.begin(now);
                drains.push(tick);
            }
        }
        assert_eq!(drains, [100, 200]);
    }

    #[test]
    fn a_long_path_takes_each_second_time() {
        let mut flow = Rhythm::NEW;
        let mut drains = Vec::new();
        for tick in 0..600 {
            let now = f64::from(tick) * 0.1;
            // The others drain 5 s after the end of their last drain, which lasts 0.3 s.
            flow.on_sample(now, if tick % 53 < 3 { 0.5 } else { 0.51 }, 1e-4);
            if flow.is_due(now, 5.0, 10.0) {
                flow.begin(now);
                drains.push(tick);
            }
        }
        let gaps: Vec<i32> = drains.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(
            gaps.iter().all(|gap| (100..=110).contains(gap)),
            "{drains:?}"
        );
    }
}
