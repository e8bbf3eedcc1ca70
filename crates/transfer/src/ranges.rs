//! Sets of byte ranges.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of bytes of a file: ranges that neither touch nor overlap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RangeSet(BTreeMap<u64, u64>);

impl RangeSet {
    /// The set of one range.
    pub fn of(range: Range<u64>) -> Self {
        let mut set = Self::default();
        set.insert(range);
        set
    }

    /// Adds a range.
    pub fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let (mut start, mut end) = (range.start, range.end);
        // Ranges that begin before the end and reach the start merge.
        while let Some((&s, &e)) = self.0.range(..=end).next_back() {
            if e < start {
                break;
            }
            self.0.remove(&s);
            (start, end) = (start.min(s), end.max(e));
        }
        self.0.insert(start, end);
    }

    /// Removes a range.
    pub fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        while let Some((&s, &e)) = self.0.range(..range.end).next_back() {
            if e <= range.start {
                break;
            }
            self.0.remove(&s);
            if e > range.end {
                self.0.insert(range.end, e);
            }
            if s < range.start {
                self.0.insert(s, range.start);
            }
        }
    }

    /// The ranges in order.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.0.iter().map(|(s, e)| *s..*e)
    }

    /// The first range.
    pub fn first(&self) -> Option<Range<u64>> {
        self.0.first_key_value().map(|(start, end)| *start..*end)
    }

    /// The number of ranges.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The number of bytes.
    pub fn bytes(&self) -> u64 {
        self.iter().map(|r| r.end - r.start).sum()
    }

    /// Removes and returns the first bytes: at most `max`, and none beyond the next multiple of
    /// `align`.
    pub fn take_first(&mut self, max: u64, align: u64) -> Option<Range<u64>> {
        let (&start, &end) = self.0.first_key_value()?;
        let boundary = (start / align + 1) * align;
        let taken = start..end.min(boundary).min(start.saturating_add(max));
        self.remove(taken.clone());
        Some(taken)
    }

    /// Whether a byte of the range is in the set.
    pub fn overlaps(&self, range: &Range<u64>) -> bool {
        let last = self.0.range(..range.end).next_back();
        !range.is_empty() && last.is_some_and(|(_, end)| *end > range.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The same operations on a set of single bytes.
        #[test]
        fn it_is_a_set_of_bytes(
            steps in prop::collection::vec((any::<bool>(), 0u64..60, 0u64..20), 0..30),
            window in (0u64..60, 0u64..20),
        ) {
            let mut set = RangeSet::default();
            let mut bytes = std::collections::BTreeSet::new();
            for (add, start, length) in steps {
                let range = start..start + length;
                if add {
                    set.insert(range.clone());
                    bytes.extend(range);
                } else {
                    set.remove(range.clone());
                    bytes.retain(|b| !range.contains(b));
                }
            }
            prop_assert_eq!(set.iter().flatten().collect::<Vec<_>>(),
                bytes.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(set.bytes(), bytes.len() as u64);
            let ranges: Vec<_> = set.iter().collect();
            prop_assert!(ranges.windows(2).all(|w| w[0].end < w[1].start));
            let window = window.0..window.0 + window.1;
            let any = bytes.iter().any(|b| window.contains(b));
            prop_assert_eq!(set.overlaps(&window), any);
            let mut taken = Vec::new();
            while let Some(range) = set.take_first(7, 10) {
                prop_assert!(range.start / 10 == (range.end - 1) / 10 && range.end - range.start <= 7);
                taken.extend(range);
            }
            prop_assert_eq!(taken, bytes.into_iter().collect::<Vec<_>>());
        }
    }
}
