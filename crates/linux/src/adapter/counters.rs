//! The kernel's counters and sequence numbers, which are 32 bits and wrap, as 64 bits that do not.

/// A counter of packets, with the bytes that they had at their time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Count {
    last: u32,
    total: u64,
    bytes: u64,
}

impl Count {
    /// A counter that counts from the kernel's present value.
    pub fn new(value: u32) -> Self {
        Self {
            last: value,
            total: 0,
            bytes: 0,
        }
    }

    /// Takes the kernel's new value, and returns the difference. The kernel's counters only grow; a
    /// smaller value counts as no change.
    pub fn advance(&mut self, value: u32, mss: u64) -> u64 {
        let difference = value.wrapping_sub(self.last);
        if difference > u32::MAX / 2 {
            return 0;
        }
        self.last = value;
        self.total += u64::from(difference);
        self.bytes += u64::from(difference) * mss;
        u64::from(difference)
    }

    /// Packets since the beginning.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Bytes since the beginning.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A sequence number of TCP, unwrapped. The low 32 bits are those on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sequence(u64);

impl Sequence {
    /// The first sequence number of a connection. One round of the 32 bits lies below it, so that
    /// earlier numbers do not become negative.
    pub fn new(seq: u32) -> Self {
        Self((1 << 32) + u64::from(seq))
    }

    /// The sequence number `seq` on the wire that is nearest to this one.
    pub fn at(self, seq: u32) -> Self {
        let distance = seq.wrapping_sub(self.0 as u32) as i32;
        Self(self.0.wrapping_add_signed(i64::from(distance)))
    }

    /// Its value.
    pub fn get(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_counter_goes_on_when_the_kernels_wraps() {
        let mut count = Count::new(u32::MAX - 1);
        assert_eq!(count.advance(3, 100), 5);
        assert_eq!((count.total(), count.bytes()), (5, 500));
        assert_eq!(count.advance(2, 100), 0, "a value that went backwards");
        assert_eq!(count.advance(4, 10), 1);
        assert_eq!((count.total(), count.bytes()), (6, 510));
    }

    proptest! {
        #[test]
        fn a_sequence_number_is_unwrapped_to_the_nearest(
            start: u32, steps in prop::collection::vec(-1_000_000i64..1_000_000_000, 0..50)
        ) {
            let mut now = Sequence::new(start);
            let mut expected = now.get() as i64;
            for step in steps {
                expected = (expected + step).max(1 << 31);
                now = now.at(expected as u32);
                prop_assert_eq!(now.get() as i64, expected);
            }
        }
    }
}
