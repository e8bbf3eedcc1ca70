//! One connection as its congestion controller sees it: what is known of it, when its episodes of
//! loss begin and end, and in which order a transport calls its controller.
//!
//! Every transport uses this: the simulator's TCP, the QUIC adapter and the adapter of Linux TCP.
//! A transport translates its own events; [`LossEpisodes`] decides what they mean and calls the
//! controller.
//!
//! # The order of calls
//!
//! For one acknowledgment, a transport calls, in this order, those of these methods that apply:
//!
//! 1. [`on_spurious`](crate::Controller::on_spurious), if it proves the last reduction wrong
//! 2. [`on_packet_lost`](crate::Controller::on_packet_lost), once for each packet that it reveals
//!    to be lost
//! 3. [`on_loss`](crate::Controller::on_loss), if an episode of loss begins, and once more if an
//!    episode of marks begins too
//! 4. [`on_recovery_end`](crate::Controller::on_recovery_end), if it ends the present episode
//! 5. [`on_ack`](crate::Controller::on_ack), if it delivers data
//!
//! A timer calls [`on_timeout`](crate::Controller::on_timeout) instead of `on_loss`, and no
//! `on_ack`. Where sending starts again from the oldest packet (after a timeout of TCP, or without
//! fast recovery), the packets given up with it are reported as lost after that call. Time never
//! decreases from call to call.
//!
//! # Episodes
//!
//! * An episode begins with `on_loss` or `on_timeout`. While an episode that reduced the window is
//!   open, `on_loss` is called only for packets sent after that reduction. (TCP, which cannot tell
//!   them apart before everything sent earlier is acknowledged, waits until then: RFC 6675
//!   section 5. QUIC can: RFC 9002 section 7.3.2.)
//! * A loss for which the window was not reduced is repaired, but that is not a recovery in the
//!   sense of RFC 5681: the window continues to grow, and each further loss is judged anew.
//! * An episode ends once: with `on_recovery_end`, with `on_spurious`, or when another one replaces
//!   it. No `on_recovery_end` follows `on_spurious`, and none is called for an episode that was
//!   replaced.
//! * `on_spurious` refers to the last `on_loss` or `on_timeout`, once, even if that episode has
//!   ended. Marks are never spurious.
//! * A loss that was repaired before it was detected (RFC 8985 section 7.4.2) is an episode that
//!   begins and ends at once, before other losses of the same acknowledgment.
//! * [`Ack::in_recovery`](crate::Ack::in_recovery) is true as long as an episode that reduced the
//!   window and did not start again is open, and false during any other episode of loss.
//!
//! [`contract::CallChecker`] is a controller that checks all this; the tests of every transport run
//! it on arbitrary events.

pub mod contract;
mod episodes;
mod silence;
mod state;

pub use episodes::{LossEpisodes, RecoveryStage};
pub use silence::Silence;
pub use state::{ConnectionState, Decision, EpisodeCounts, Verdicts};
