//! The calendar: the next event of every source.
//!
//! A run has a fixed set of sources of events: each link (the next packet to leave it), each end of
//! a flow (its next timer), each polled link, the sampler. Each source has one slot with the time
//! of its next event. A tournament finds the earliest: a complete tree whose inner nodes hold the
//! minimum of their four children. A change of a slot replays one path to the root. Nothing is
//! allocated, no entry is stale, and the tree has a few kilobytes however many packets are in
//! flight.
//!
//! A node is one integer: the time in its high bits, then one bit that is set for timers, then the
//! slot. So packets come before timers of the same nanosecond: a packet that arrives when a timer
//! fires was in time. Among packets the slot decides, scrambled by a hash of the time: the order is
//! the same in every run, and favors no source. With equal paths ties are the rule, and without the
//! hash the first of ten flows would always get the last place in a queue.

use whimbrel_units::Time;

const NEVER: u64 = u64::MAX;

/// The next event of every source.
#[derive(Debug)]
pub(crate) struct Calendar {
    /// The nodes but the root, in groups of siblings and numbered over all groups. Group 0 has the
    /// children of the root, and group `i + 1` those of node `i`. The nodes without children are
    /// the slots. The first ones, those of links, may be a level nearer to the root.
    groups: Vec<[u64; 4]>,
    /// The root: the earliest event.
    root: u64,
    /// The number of the node that is the first slot.
    first_slot: usize,
    /// Bits of a slot number. Above them are one bit for timers, and the time.
    slot_bits: u32,
    /// What keeps the slot number of a node, and the number of bits of a hash of the time to drop.
    slot_mask: u64,
    hash_shift: u32,
    /// The first time that it cannot hold, in nanoseconds.
    beyond: u64,
    /// The first slot of a timer. Those before it are slots of links.
    first_timer: usize,
}

impl Calendar {
    /// A calendar for `slots` sources, of which the first `links` are links. No source has an
    /// event.
    pub fn new(slots: usize, links: usize) -> Self {
        // Of the nodes of n groups, n - 1 have children, and 3n + 1 are slots.
        let groups = slots.saturating_sub(1).div_ceil(3).max(1);
        Self {
            groups: vec![[NEVER; 4]; groups],
            root: NEVER,
            first_slot: groups - 1,
            slot_bits: slot_bits(slots),
            slot_mask: (1 << slot_bits(slots)) - 1,
            hash_shift: 64 - slot_bits(slots),
            beyond: beyond(slots),
            first_timer: links,
        }
    }

    /// The latest time that a calendar with this many slots can hold: 4 years for 60 slots, 2.4
    /// hours for a million.
    pub fn horizon(slots: usize) -> Time {
        Time::from_nanos(beyond(slots) - 1)
    }

    /// The earliest event and its source.
    #[inline]
    pub fn next(&self) -> Option<(Time, usize)> {
        let node = self.root;
        let time = node >> (self.slot_bits + 1);
        let slot = (node ^ self.scramble(time)) & self.slot_mask;
        (node != NEVER).then(|| (Time::from_nanos(time), slot as usize))
    }

    /// Sets the next event of `slot`. With `None`, or a time beyond [`Self::horizon`], it has none.
    #[inline]
    pub fn set(&mut self, slot: usize, time: Option<Time>) {
        let timer = slot >= self.first_timer;
        self.replay(slot, self.node(slot, time, timer), false);
    }

    /// The same for a link.
    #[inline]
    pub fn set_link(&mut self, slot: usize, time: Time) {
        debug_assert!(slot < self.first_timer);
        self.replay(slot, self.node(slot, Some(time), false), false);
    }

    /// The same for a link that [`Self::next`] returned: the path to the root surely changes.
    #[inline]
    pub fn set_earliest_link(&mut self, slot: usize, time: Option<Time>) {
        debug_assert!(slot < self.first_timer);
        self.replay(slot, self.node(slot, time, false), true);
    }

    /// The node of a slot.
    #[inline]
    fn node(&self, slot: usize, time: Option<Time>, timer: bool) -> u64 {
        match time {
            Some(time) if time.as_nanos() < self.beyond => {
                let time = time.as_nanos();
                let timer = u64::from(timer);
                // Neither the slot nor the hash has more bits than a slot number.
                let low = slot as u64 ^ self.scramble(time);
                (((time << 1) | timer) << self.slot_bits) | low
            }
            _ => NEVER,
        }
    }

    /// Replays the path from a slot to the root; `all`: no node of it keeps its value.
    #[inline(always)]
    fn replay(&mut self, slot: usize, mut node: u64, all: bool) {
        let mut place = self.first_slot + slot;
        loop {
            let siblings = &mut self.groups[place / 4];
            siblings[place % 4] = node;
            node = node.min(minimum_of_others(siblings, place));
            if place < 4 {
                self.root = node;
                break;
            }
            place = place / 4 - 1;
            if !all && self.groups[place / 4][place % 4] == node {
                break;
            }
        }
    }

    #[inline]
    fn scramble(&self, time: u64) -> u64 {
        time.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.hash_shift
    }
}

/// The earliest of the three siblings of the node at `place`. They do not change on the way to the
/// root, so that a processor has their minimum before it has the node itself.
#[inline(always)]
fn minimum_of_others(siblings: &[u64; 4], place: usize) -> u64 {
    let other = |bits: usize| siblings[(place ^ bits) % 4];
    other(1).min(other(2)).min(other(3))
}

/// Bits that a slot number needs.
fn slot_bits(slots: usize) -> u32 {
    slots.max(2).next_power_of_two().trailing_zeros()
}

/// The first time, in nanoseconds, that a calendar with this many slots cannot hold.
fn beyond(slots: usize) -> u64 {
    NEVER >> (slot_bits(slots) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn the_earliest_event_is_always_found(
            changes in prop::collection::vec((0usize..37, prop::option::of(0u64..1000)), 1..200)
        ) {
            let mut calendar = Calendar::new(37, 20);
            let mut model = BTreeMap::new();
            for (slot, time) in changes {
                let at = time.map(Time::from_nanos);
                match calendar.next() {
                    Some((_, earliest)) if earliest == slot && slot < 20 => {
                        calendar.set_earliest_link(slot, at);
                    }
                    _ => match at {
                        Some(at) if slot < 20 => calendar.set_link(slot, at),
                        _ => calendar.set(slot, at),
                    },
                }
                match time {
                    Some(time) => { model.insert(slot, time); }
                    None => { model.remove(&slot); }
                }
                let earliest = model.values().min().copied();
                prop_assert_eq!(calendar.next().map(|(t, _)| t.as_nanos()), earliest);
                if let Some((time, slot)) = calendar.next() {
                    prop_assert_eq!(model.get(&slot).copied(), Some(time.as_nanos()));
                }
            }
        }
    }

    #[test]
    fn packets_come_before_timers_of_the_same_time() {
        for t in 0..1000 {
            let mut calendar = Calendar::new(10, 5);
            (0..10).for_each(|slot| calendar.set(slot, Some(Time::from_nanos(t))));
            for _ in 0..5 {
                let (_, slot) = calendar.next().expect("events");
                assert!(slot < 5, "the slot of a link");
                calendar.set(slot, None);
            }
            assert!(calendar.next().is_some_and(|(_, slot)| slot >= 5));
        }
    }

    #[test]
    fn ties_favor_no_source() {
        let mut wins = [0; 4];
        for t in 0..4000 {
            let mut calendar = Calendar::new(4, 4);
            (0..4).for_each(|slot| calendar.set(slot, Some(Time::from_nanos(t * 12_112))));
            wins[calendar.next().expect("four events").1] += 1;
        }
        assert!(wins.iter().all(|w| (850..1150).contains(w)), "{wins:?}");
    }
}
