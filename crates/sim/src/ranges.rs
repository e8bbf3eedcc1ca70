//! A set of segments as ranges: what a receiver holds beyond the first hole, and what a sender
//! knows of it.

use crate::packet::Block;

/// Disjoint ranges in order, no two of them adjacent.
///
/// Holes are filled at the lower end, and data arrives at the upper one. After a flood there are
/// thousands of ranges, so neither end may move all others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranges {
    /// Unused room, then the ranges.
    blocks: Vec<Block>,
    /// Length of the unused room.
    unused: usize,
}

impl Ranges {
    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// All ranges, lowest first.
    #[inline]
    fn blocks(&self) -> &[Block] {
        &self.blocks[self.unused..]
    }

    /// Index of the first range that ends after `seg`.
    fn position(&self, seg: u32) -> usize {
        // Nearly always it is the last range: data arrives in order beyond a hole.
        let blocks = self.blocks();
        match blocks.last() {
            None => 0,
            Some(last) if seg >= last.end => blocks.len(),
            Some(last) if seg >= last.start => blocks.len() - 1,
            Some(_) => blocks.partition_point(|b| b.end <= seg),
        }
    }

    /// The range that holds `seg`.
    pub fn holding(&self, seg: u32) -> Option<Block> {
        self.blocks()
            .get(self.position(seg))
            .copied()
            .filter(|b| b.start <= seg)
    }

    /// Adds a range. Calls `new` for each part of it that was not in the set. Returns the range of
    /// the set that holds it now.
    pub fn insert(&mut self, block: Block, mut new: impl FnMut(Block)) -> Block {
        if block.is_empty() {
            return block;
        }
        let first = self.position(block.start);
        if let Some(known) = self.blocks().get(first)
            && known.start <= block.start
            && block.end <= known.end
        {
            return *known;
        }
        let mut merged = block;
        let mut fresh_from = block.start;
        let mut last = first;
        while let Some(b) = self.blocks().get(last).filter(|b| b.start <= block.end) {
            if fresh_from < b.start {
                new(Block {
                    start: fresh_from,
                    end: b.start,
                });
            }
            fresh_from = fresh_from.max(b.end);
            merged = Block {
                start: merged.start.min(b.start),
                end: merged.end.max(b.end),
            };
            last += 1;
        }
        if fresh_from < block.end {
            new(Block {
                start: fresh_from,
                end: block.end,
            });
        }
        // The range before it may end exactly where this one starts.
        let mut from = first;
        if let Some(before) = first.checked_sub(1).and_then(|i| self.blocks().get(i))
            && before.end == merged.start
        {
            merged.start = before.start;
            from -= 1;
        }
        match last - from {
            0 => self.blocks.insert(self.unused + from, merged),
            count => {
                self.blocks[self.unused + from] = merged;
                if count > 1 {
                    self.remove(from + 1, last);
                }
            }
        }
        merged
    }

    /// Removes some ranges: from index `from` to before `to`. The shorter rest moves.
    fn remove(&mut self, from: usize, to: usize) {
        let (from, to) = (self.unused + from, self.unused + to);
        if self.blocks.len() - to < from - self.unused {
            self.blocks.drain(from..to);
        } else {
            let unused = self.unused + to - from;
            self.blocks.copy_within(self.unused..from, unused);
            self.begin_at(unused);
        }
    }

    /// Sets the length of the unused room. There is never more than half of it.
    #[inline]
    fn begin_at(&mut self, unused: usize) {
        self.unused = unused;
        if unused > self.blocks.len() / 2 {
            self.blocks.drain(..unused);
            self.unused = 0;
        }
    }

    /// Removes all segments below `seg`.
    pub fn forget_below(&mut self, seg: u32) {
        let gone = self.blocks().iter().take_while(|b| b.end <= seg).count();
        if gone > 0 {
            self.begin_at(self.unused + gone);
        }
        if let Some(first) = self.blocks.get_mut(self.unused) {
            first.start = first.start.max(seg);
        }
    }

    /// The end of the highest range.
    pub fn highest(&self) -> Option<u32> {
        self.blocks.last().map(|b| b.end)
    }

    /// The `n`th segment of the set, counted from the highest; `n` starts at 1.
    pub fn nth_from_top(&self, n: u32) -> Option<u32> {
        let mut left = n;
        for block in self.blocks().iter().rev() {
            let length = block.end - block.start;
            if left <= length {
                return Some(block.end - left);
            }
            left -= length;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn ranges_hold_the_same_segments_as_a_set(
            changes in prop::collection::vec((0u32..60, 0u32..10, prop::bool::weighted(0.2)), 1..80)
        ) {
            let mut ranges = Ranges::default();
            let mut model = BTreeSet::new();
            let mut floor = 0;
            for (start, length, forget) in changes {
                if forget {
                    floor = floor.max(start);
                    ranges.forget_below(floor);
                    model.retain(|seg| *seg >= floor);
                } else {
                    let block = Block { start: start.max(floor), end: start + length };
                    let mut new = BTreeSet::new();
                    let merged = ranges.insert(block, |b| new.extend(b.start..b.end));
                    let held = ranges.holding(start.max(floor));
                    prop_assert!(block.is_empty() || held == Some(merged));
                    let expected: BTreeSet<_> =
                        (block.start..block.end).filter(|seg| !model.contains(seg)).collect();
                    prop_assert_eq!(new, expected);
                    model.extend(block.start..block.end);
                }
                let all: BTreeSet<_> = ranges.blocks().iter().flat_map(|b| b.start..b.end).collect();
                prop_assert_eq!(&all, &model);
                for pair in ranges.blocks().windows(2) {
                    prop_assert!(pair[0].end < pair[1].start, "in order, apart: {:?}", ranges);
                }
                for n in 1..5 {
                    prop_assert_eq!(ranges.nth_from_top(n), model.iter().rev().nth(n as usize - 1).copied());
                }
                for seg in 0..70 {
                    prop_assert_eq!(ranges.holding(seg).is_some(), model.contains(&seg));
                }
            }
        }
    }
}
