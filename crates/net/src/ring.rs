//! A queue in a ring, for what every packet passes.
//!
//! Like `VecDeque`, with less to do for each item: its room is a power of two, so that a place is a
//! mask away, and items are plain copies. A queue that becomes empty begins again at the front of
//! its room, so that a queue that is never long stays in the same cache lines.

/// A first-in, first-out queue of copies.
#[derive(Debug, Clone)]
pub struct Ring<T> {
    /// Empty, or a power of two.
    slots: Box<[T]>,
    /// The slot of the first item, if there is any.
    first: u32,
    len: u32,
}

/// The room that a ring begins with.
const SMALLEST: usize = 4;

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self {
            slots: Box::default(),
            first: 0,
            len: 0,
        }
    }
}

impl<T: Copy + Default> Ring<T> {
    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is no item.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first item.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        self.slots.get(self.first as usize)
    }

    /// Adds an item after all others.
    ///
    /// # Panics
    /// With more than 2^31 items.
    #[inline]
    pub fn push_back(&mut self, item: T) {
        *self.push_place() = item;
    }

    /// Adds an item after all others and returns it, for the caller to set: it is an old one, or
    /// the default. A large item is copied only once then.
    ///
    /// # Panics
    /// With more than 2^31 items.
    #[inline]
    pub fn push_place(&mut self) -> &mut T {
        if self.len as usize == self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.len);
        self.len += 1;
        &mut self.slots[slot]
    }

    /// Removes the first item.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let item = *self.front()?;
        self.drop_front();
        Some(item)
    }

    /// Removes the first item, if there is any.
    #[inline(always)]
    pub fn drop_front(&mut self) {
        let next = self.slot(1) as u32;
        self.len = self.len.saturating_sub(1);
        self.first = if self.len == 0 { 0 } else { next };
    }

    /// Removes items from the front as long as `condition` holds for the first one.
    #[inline(always)]
    pub fn drop_while(&mut self, mut condition: impl FnMut(&T) -> bool) {
        let mut gone = 0;
        while gone < self.len && condition(&self.slots[self.slot(gone)]) {
            gone += 1;
        }
        let next = self.slot(gone) as u32;
        self.len -= gone;
        self.first = if self.len == 0 { 0 } else { next };
    }

    /// Removes all items.
    #[inline]
    pub fn clear(&mut self) {
        self.first = 0;
        self.len = 0;
    }

    /// Adds an item before the last `behind` items, of which there are at least as many.
    pub fn insert_before_last(&mut self, behind: usize, item: T) {
        self.push_back(item);
        let last = self.len - 1;
        for place in (last - behind as u32..last).rev() {
            let (here, next) = (self.slot(place), self.slot(place + 1));
            self.slots.swap(here, next);
        }
    }

    /// All items, the last one first.
    pub fn iter_back(&self) -> impl Iterator<Item = &T> {
        (0..self.len)
            .rev()
            .map(|place| &self.slots[self.slot(place)])
    }

    /// The slot of the item at a place, counted from the first item.
    #[inline]
    fn slot(&self, place: u32) -> usize {
        (self.first.wrapping_add(place)) as usize & (self.slots.len().wrapping_sub(1))
    }

    /// Doubles the room.
    #[cold]
    fn grow(&mut self) {
        let mut slots = vec![T::default(); (self.slots.len() * 2).max(SMALLEST)];
        assert!(slots.len() <= 1 << 31, "a ring has at most 2^31 items");
        for place in 0..self.len {
            slots[place as usize] = self.slots[self.slot(place)];
        }
        self.slots = slots.into();
        self.first = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec((0_u8..5, 0_usize..4), 0..400)) {
            let mut ring = Ring::default();
            let mut model = VecDeque::new();
            for (item, (what, behind)) in steps.into_iter().enumerate() {
                match what {
                    0 if behind == 3 => {
                        ring.clear();
                        model.clear();
                    }
                    1 if behind == 3 => {
                        ring.drop_while(|kept| kept % 7 < 4);
                        while model.front().is_some_and(|kept| kept % 7 < 4) {
                            model.pop_front();
                        }
                    }
                    0 | 1 => prop_assert_eq!(ring.pop_front(), model.pop_front()),
                    2 => {
                        let behind = behind.min(model.len());
                        ring.insert_before_last(behind, item);
                        model.insert(model.len() - behind, item);
                    }
                    _ => {
                        ring.push_back(item);
                        model.push_back(item);
                    }
                }
                prop_assert_eq!(ring.front(), model.front());
                prop_assert_eq!((ring.len(), ring.is_empty()), (model.len(), model.is_empty()));
                prop_assert!(ring.iter_back().eq(model.iter().rev()));
            }
        }
    }
}
