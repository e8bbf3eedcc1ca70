//! The transport of bursts, whatever carries it: sender, receiver, packet trains and the destination
//! node. No wire format, no clock, no I/O. The simulator carries it in packets of its own, QUIC in
//! DATAGRAM frames.
//!
//! A. Briones, A. Mallorquí, A. Zaballos, R. Martin de Pozuelo, "Wireless Loss Detection over
//! Fairly Shared Heterogeneous Long Fat Networks", Electronics 2021, 10, 987, sections 4 and 5.
//! Numbers in parentheses are equations of the paper.
//!
//! | end | part |
//! |---|---|
//! | sender | [`Sender`]: what leaves, and when |
//! | sender | [`Departures`]: size (6) and pace of a burst |
//! | sender | [`SpanNoise`]: the noise of Jitter Ratios on the path |
//! | receiver | [`Receiver`]: when a burst or a train is over |
//! | receiver | [`Trains`]: the bandwidth of the path (3) (4) |
//! | receiver | [`Arrival`]: what has arrived of a burst, its spans (10), and V (21) |
//! | receiving node | [`Node`]: the shares of all flows that end there (20) to (25) |
//!
//! The congestion control algorithms are `aatp` and `enhanced-aatp` of the
//! [`registry`](crate::registry). [`Sender`] calls [`BurstController::on_bandwidth`] and plans a
//! burst by [`BurstController::plan`]; its carrier calls [`BurstController::on_burst`] with each
//! report.
//!
//! Peers are hostile: every count, index, time and rate that a peer chooses is bounded here.
//!
//! [`BurstController::on_bandwidth`]: crate::BurstController::on_bandwidth
//! [`BurstController::plan`]: crate::BurstController::plan
//! [`BurstController::on_burst`]: crate::BurstController::on_burst

mod arrival;
mod departures;
mod node;
mod noise;
mod receiver;
mod sender;
pub mod trains;

pub use arrival::{Arrival, BurstPacket, MAX_PACKETS};
pub use departures::Departures;
pub use node::{Granted, MAX_MEMBERS, Member, Node, SILENCE};
pub use noise::SpanNoise;
pub use receiver::{ArrivedBurst, Receiver};
pub use sender::{Action, Control, PathView, Sender, SenderOptions};
pub use trains::{Trains, bounded_rate};
