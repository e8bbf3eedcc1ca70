//! What waits for its time, earliest first; in order of addition at the same time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use whimbrel_units::Time;

/// Items that wait for their time.
pub(super) struct TimeQueue<T> {
    heap: BinaryHeap<Waiting<T>>,
    added: u64,
}

struct Waiting<T> {
    at: Time,
    order: u64,
    item: T,
}

impl<T> Default for TimeQueue<T> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            added: 0,
        }
    }
}

impl<T> TimeQueue<T> {
    /// Adds an item that waits until `at`.
    pub fn add(&mut self, at: Time, item: T) {
        let order = self.added;
        self.added += 1;
        self.heap.push(Waiting { at, order, item });
    }

    /// Whether the time of an item has come by `now`.
    #[inline]
    pub fn is_due(&self, now: Time) -> bool {
        self.heap.peek().is_some_and(|first| first.at <= now)
    }

    /// Takes the first item whose time has come by `now`.
    pub fn take(&mut self, now: Time) -> Option<T> {
        if !self.is_due(now) {
            return None;
        }
        self.heap.pop().map(|first| first.item)
    }
}

/// The heap has its maximum on top, so the earlier item is the greater one.
impl<T> Ord for Waiting<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl<T> PartialOrd for Waiting<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Waiting<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Waiting<T> {}
