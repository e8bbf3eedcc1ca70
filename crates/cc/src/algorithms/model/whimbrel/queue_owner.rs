//! Whose queue is it? What an excursion does to it.
//!
//! All flows of this algorithm drain and try at the same time (`rhythm.rs`), each to a part of what
//! the path holds. So a queue that they make is gone at the end, and one that stays is not theirs.
//!
//! **Own queues**: after an excursion has emptied the queue of several flows, a queue counts as
//! that of others only if it is [`MORE`] times as long as usual, until the next excursion. Many
//! flows on a slow path want a queue about as long as one that they take for that of others. A flow
//! that makes this mistake competes, and its queue then misleads the rest. Beside others the queue
//! does not empty, so nothing changes there.
//!
//! **Others**: if more is left than a few of its flows want, and than a part of what there was,
//! somebody keeps it.
//!
//! Units: seconds.

/// A queue of several flows, in those that one of them keeps alone.
pub(super) const SEVERAL: f64 = 2.0;

/// The queue is gone if no more is left than this part of what the flow wants.
const GONE: f64 = 0.5;

/// How much longer a queue of its own kind may be.
pub(super) const MORE: f64 = 2.0;

/// Whether a drain that leaves `left` has emptied the queue, where the flow wants `wanted`.
pub(super) fn is_gone(left: f64, wanted: f64) -> bool {
    left <= GONE * wanted
}

/// Whether somebody else keeps a queue of which `left` is left of `before`. `own`: what a few flows
/// of this algorithm want. A small flow sees the queue late and inexactly, so a `part` may be left.
pub(super) fn is_kept(before: f64, left: f64, own: f64, part: f64) -> bool {
    left > own.max(part * before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_stays_is_somebody_elses() {
        // One flow keeps 2 ms alone, and with nine others 6.3 ms.
        for (before, left, kept) in [
            (0.0063, 0.0, false),
            (0.0063, 0.0063, true),
            (0.003, 0.003, false),
            (0.040, 0.015, false),
            (0.040, 0.025, true),
        ] {
            assert_eq!(is_kept(before, left, 0.004, 0.5), kept, "{before}, {left}");
        }
        assert!(is_gone(0.003, 0.0063) && !is_gone(0.0035, 0.0063));
    }
}
