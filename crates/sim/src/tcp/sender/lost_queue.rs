//! The segments that are marked lost, lowest first.
//!
//! A sender marks segments nearly in order, so a sorted queue finds the place of one at its end. A
//! heap costs a walk through memory for each segment that it returns: where a window of some
//! hundred thousand segments was lost, that was most of a run.
//!
//! What was sent again and is lost again is also marked in order, while the rest of the window
//! still waits. It has a queue of its own, and so has what is lost a third time: to look for its
//! place in the long one, and to make room there, took a third of the time of such runs.

use std::collections::VecDeque;

/// Queues at most. With so many, each sorted, hardly any segment finds none to whose end it can be
/// added.
const QUEUES: usize = 6;

/// Segments, which come out in ascending order, each once. Entries may be stale.
#[derive(Debug, Default)]
pub(super) struct LostQueue {
    /// None is empty, each is in ascending order, and their last segments are in descending order.
    /// A segment may be in several.
    queues: Vec<VecDeque<u32>>,
}

impl LostQueue {
    /// Adds a segment, unless it is there.
    #[inline]
    pub fn add(&mut self, seg: u32) {
        let ends_below = |queue: &&mut VecDeque<u32>| queue.back().is_some_and(|last| *last < seg);
        match self.queues.iter_mut().find(ends_below) {
            Some(queue) => queue.push_back(seg),
            None => self.add_inside(seg),
        }
    }

    /// The same for a segment that is below the end of each queue.
    fn add_inside(&mut self, seg: u32) {
        let full = self.queues.len() == QUEUES;
        match self.queues.last_mut() {
            Some(last) if full => {
                if let Err(place) = last.binary_search(&seg) {
                    last.insert(place, seg);
                }
            }
            _ => self.queues.push(VecDeque::from([seg])),
        }
    }

    /// The lowest one.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        let firsts = self.queues.iter().filter_map(VecDeque::front);
        firsts.min().copied()
    }

    /// Removes the lowest one.
    pub fn remove_first(&mut self) {
        let first = self.first();
        let mut emptied = false;
        for queue in &mut self.queues {
            if queue.front().copied() == first {
                queue.pop_front();
                emptied |= queue.is_empty();
            }
        }
        if emptied {
            self.queues.retain(|queue| !queue.is_empty());
        }
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.queues.clear();
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn the_lowest_segment_comes_first(steps in prop::collection::vec(0_u32..60, 1..200)) {
            let (mut queue, mut model) = (LostQueue::default(), BTreeSet::new());
            for step in steps {
                // A sixth of the steps removes.
                if step < 10 {
                    prop_assert_eq!(queue.first(), model.pop_first());
                    queue.remove_first();
                } else {
                    queue.add(step);
                    model.insert(step);
                }
                prop_assert_eq!(queue.is_empty(), model.is_empty());
            }
        }
    }
}
