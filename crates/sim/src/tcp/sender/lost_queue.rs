//! The segments that are marked lost, lowest first.
//!
//! A sender marks segments nearly in order, so a sorted queue finds the place of one at its end or
//! near its beginning. A heap costs a walk through memory for each segment that it returns: where a
//! window of some hundred thousand segments was lost, that was most of a run.

use std::collections::VecDeque;

/// Segments in ascending order, each once. Entries may be stale.
#[derive(Debug, Default)]
pub(super) struct LostQueue(VecDeque<u32>);

impl LostQueue {
    /// Adds a segment, unless it is there.
    pub fn add(&mut self, seg: u32) {
        match self.0.back() {
            Some(last) if *last >= seg => {
                if let Err(place) = self.0.binary_search(&seg) {
                    self.0.insert(place, seg);
                }
            }
            _ => self.0.push_back(seg),
        }
    }

    /// The lowest one.
    pub fn first(&self) -> Option<u32> {
        self.0.front().copied()
    }

    /// Removes the lowest one.
    pub fn remove_first(&mut self) {
        self.0.pop_front();
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
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
