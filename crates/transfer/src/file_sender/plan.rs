//! What remains to be sent.

use crate::blocks::CHUNK;
use crate::lock::lock;
use crate::ranges::RangeSet;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};
use tokio::sync::Notify;

/// What remains to be sent, oldest first; it grows while the comparison goes on.
#[derive(Debug)]
pub(super) struct Plan {
    state: Mutex<State>,
    changed: Notify,
    limit: u64,
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// This part of the source.
    Piece(Range<u64>),
    /// It depends on the comparison.
    Later,
    /// Nothing.
    End,
}

#[derive(Debug)]
struct State {
    /// The receiver has nothing there: holes need not be sent.
    fresh: RangeSet,
    /// The receiver has something else there.
    differing: RangeSet,
    /// A run of data of the source, found but not sent. Some file systems look at each page up to
    /// the end of a run, so that to look again for each block takes longer than to send the block.
    data: Range<u64>,
    compared: bool,
}

impl Plan {
    /// For a source of `limit` bytes, of which the receiver has `there`.
    pub fn new(limit: u64, there: &RangeSet) -> Self {
        let mut fresh = RangeSet::of(0..limit);
        there.iter().for_each(|range| fresh.remove(range));
        Self {
            state: Mutex::new(State {
                fresh,
                differing: RangeSet::default(),
                data: 0..0,
                compared: false,
            }),
            changed: Notify::new(),
            limit,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// The size of the source for which it was made, bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Adds what differs.
    pub fn add(&self, ranges: RangeSet) {
        let mut state = self.lock();
        ranges
            .iter()
            .for_each(|range| state.differing.insert(range));
        drop(state);
        self.changed.notify_one();
    }

    /// Nothing more will be added.
    pub fn compared(&self) {
        self.lock().compared = true;
        self.changed.notify_one();
    }

    /// Waits until there may be another answer than [`Next::Later`]. For one task.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The next piece to send, within a block. `next_data` finds the first part of a range that is
    /// not a hole.
    pub fn next(&self, next_data: impl Fn(Range<u64>) -> Option<Range<u64>>) -> Next {
        let mut state = self.lock();
        if let Some(range) = state.differing.take_first(CHUNK, CHUNK) {
            return Next::Piece(range);
        }
        while let Some(first) = state.fresh.first() {
            if !state.data.contains(&first.start) {
                let Some(data) = next_data(first.clone()) else {
                    state.fresh.remove(first);
                    continue;
                };
                state.fresh.remove(first.start..data.start);
                state.data = data;
            }
            let start = first.start.max(state.data.start);
            let end = first.end.min(state.data.end);
            let end = end.min((start / CHUNK + 1) * CHUNK);
            state.fresh.remove(start..end);
            return Next::Piece(start..end);
        }
        match state.compared {
            true => Next::End,
            false => Next::Later,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Next {
        fn piece(self) -> Option<Range<u64>> {
            match self {
                Self::Piece(range) => Some(range),
                Self::Later | Self::End => None,
            }
        }
    }

    #[test]
    fn a_run_of_data_is_looked_up_once() {
        let there = RangeSet::of(CHUNK..2 * CHUNK);
        let plan = Plan::new(4 * CHUNK + 7, &there);
        plan.compared();
        let looked = std::cell::Cell::new(0);
        let next = || {
            plan.next(|range| {
                looked.set(looked.get() + 1);
                Some(range)
            })
            .piece()
        };
        let all: Vec<_> = std::iter::from_fn(next).map(|range| range.start).collect();
        assert_eq!(all, [0, 2 * CHUNK, 3 * CHUNK, 4 * CHUNK]);
        assert_eq!(looked.get(), 2, "before and behind what is there");
    }

    #[test]
    fn what_differs_goes_first_and_holes_are_skipped() {
        let plan = Plan::new(3 * CHUNK, &RangeSet::of(0..100));
        plan.add(RangeSet::of(10..20));
        let none = |_| None;
        assert_eq!(plan.next(none), Next::Piece(10..20));
        assert_eq!(plan.next(none), Next::Later);
        let plan = Plan::new(3 * CHUNK, &RangeSet::of(0..100));
        plan.add(RangeSet::of(10..20));
        plan.compared();
        // The source has data from 200 to CHUNK + 50.
        let next = || {
            plan.next(|range| {
                let data = range.start.max(200)..range.end.min(CHUNK + 50);
                (!data.is_empty()).then_some(data)
            })
            .piece()
        };
        let all: Vec<_> = std::iter::from_fn(next).collect();
        assert_eq!(all, [10..20, 200..CHUNK, CHUNK..CHUNK + 50]);
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_the_comparison_is_woken_by_each_of_its_results() {
        let waits = tokio::time::Duration::from_secs(1);
        let changes: [fn(&Plan); 2] = [|plan| plan.add(RangeSet::of(0..10)), Plan::compared];
        for change in changes {
            let plan = Plan::new(3 * CHUNK, &RangeSet::of(0..3 * CHUNK));
            assert_eq!(plan.next(Some), Next::Later);
            let changed = plan.changed();
            tokio::pin!(changed);
            assert!(tokio::time::timeout(waits, &mut changed).await.is_err());
            change(&plan);
            let woken = tokio::time::timeout(waits, changed).await;
            woken.expect("woken");
            assert_ne!(plan.next(Some), Next::Later);
        }
    }
}
