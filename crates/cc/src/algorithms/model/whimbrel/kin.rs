//! Whose queue is it? What a drain does to it.
//!
//! All flows of this algorithm drain at the same time (`clock.rs`), each to nine tenths of what the
//! path holds. So a queue that they make is gone at the end of a drain, and one that is as long as
//! before is not theirs.
//!
//! | the drain found | and left | finding |
//! |---|---|---|
//! | the queue of several flows | none | [`Drained::Kin`] |
//! | such a queue | the same | [`Drained::Unmoved`] |
//! | anything else | | [`Drained::Open`] |
//!
//! **Kin**: up to the next drain a queue is somebody else's only from [`MORE`] times the usual
//! length on. Many flows on a slow path want a queue about as long as the one from which on they
//! take others for the cause. One of them that is mistaken competes, and its queue then misleads
//! the rest. Beside others the queue does not empty, so nothing changes there.
//!
//! **Unmoved**: the delay counts as the path's, for the time being (`path.rs`). A path that became
//! longer by less than the queue that flows of this algorithm may make looks like such a queue, and
//! the flow yields to it: to 11.6 ms with a rate of 0.9 Mbit/s. The queue of a flow that does not
//! yield may be unmoved, too. Then this flow allows itself one on top of it, and the next RTT below
//! it is the base again.
//!
//! Units: seconds.

/// A queue of several flows, in those that one of them keeps alone.
const SEVERAL: f64 = 2.0;

/// The queue is gone if no more is left than this part of what the flow wants.
const GONE: f64 = 0.5;

/// It is the same if this part of it is left.
const SAME: f64 = 0.7;

/// How much longer a queue of its own kind may be, where the last drain has found them.
pub(super) const MORE: f64 = 2.0;

/// Whether a drain that leaves `left` has emptied the queue, where the flow wants `wanted`.
pub(super) fn is_gone(left: f64, wanted: f64) -> bool {
    left <= GONE * wanted
}

/// What a drain says about the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drained {
    Kin,
    Unmoved,
    Open,
}

impl Drained {
    /// The finding of a drain that began with a queue `before`, above what noise explains, and left
    /// `left`. `alone`: the queue that one flow keeps alone; `wanted`: the one that this flow
    /// wants.
    pub fn of(before: f64, left: f64, alone: f64, wanted: f64) -> Self {
        if before < SEVERAL * alone {
            return Self::Open;
        }
        if is_gone(left, wanted) {
            Self::Kin
        } else if left > SAME * before {
            Self::Unmoved
        } else {
            Self::Open
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drain_tells_its_own_kind_from_a_longer_path() {
        // One flow keeps 2 ms alone, and with nine others 6.3 ms.
        let drained = |before, left| Drained::of(before, left, 0.002, 0.0063);
        assert_eq!(drained(0.0063, 0.0), Drained::Kin);
        assert_eq!(drained(0.0063, 0.003), Drained::Kin);
        assert_eq!(drained(0.0063, 0.0063), Drained::Unmoved);
        assert_eq!(drained(0.0063, 0.004), Drained::Open, "a part of it");
        assert_eq!(drained(0.003, 0.0), Drained::Open, "of one flow");
        assert_eq!(drained(0.003, 0.003), Drained::Open);
    }
}
