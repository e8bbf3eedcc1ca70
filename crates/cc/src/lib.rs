//! Congestion control algorithms. No I/O, no clock, no randomness, no allocation per packet: each
//! receives the events of one path and answers with a window and, optionally, a pacing rate.
//!
//! * [`Controller`] is the interface of a window algorithm: of one flow, or of one path.
//! * [`BurstController`] is the interface of an algorithm that sets the rate of bursts.
//! * [`LossClassifier`] distinguishes random loss from congestion; [`WithClassifier`] puts one on
//!   any window algorithm.
//! * [`registry`] is the table of all of them: name, citation, parameters, constructor.
//!
//! The transport owns recovery: which packet to retransmit, when an episode of loss begins and
//! ends, how many packets are in flight. No algorithm counts duplicate ACKs.
//!
//! # Where to look
//!
//! | folder | contents |
//! |---|---|
//! | `interface/` | what an algorithm receives and answers |
//! | `connection/` | the state of a connection, its episodes of loss, and the order of calls |
//! | `registry/` | what an algorithm declares (`entry`), the table, the parser of names |
//! | `building_blocks/` | the window and the controller of Reno's family, AIMD, HyStart++ |
//! | `estimators/` | rates and round-trip times from acknowledgments |
//! | `classifiers/` | random loss or congestion? |
//! | `path_change/` | did the path itself change? |
//! | `after_recovery/` | growth after a fast recovery, with FAST or as a layer |
//! | `careful_resume/` | a start at a rate that the path carried before (RFC 9959) |
//! | `algorithms/` | the algorithms, by family |
//! | `burst_transport/` | what a transport that sends in bursts needs, whatever carries it |
//! | `nack_transport.rs` | what a transport with negative acknowledgments needs |
//! | `quic_transport/` | what the adapter of a QUIC stack needs |
//! | `path_scheduler/` | which path of a connection over several sends next |
//! | `shared_bottleneck/` | which of its paths share a bottleneck |
//!
//! Imports point one way: `algorithms` import `registry::entry` and all folders above them in this
//! table but the rest of `registry`; only the parser and this file import the table. The
//! parser also imports `careful_resume`, which imports `registry::entry`.
//! `connection` and `burst_transport` are for transports; they import `interface`, and the latter
//! `building_blocks`.
//!
//! A program of one's own adds an algorithm with [`registry::add`]; [`parts`] has what algorithms
//! of Reno's family are built from.
//!
//! To add an algorithm: one file with its citation, its equations and an
//! [`Entry`](registry::Entry), and one line in [`registry::CONTROLLERS`].

mod after_recovery;
mod algorithms;
mod building_blocks;
pub mod burst_transport;
pub mod careful_resume;
mod classifiers;
pub mod connection;
mod estimators;
mod interface;
pub mod nack_transport;
mod path_change;
pub mod path_scheduler;
pub mod quic_transport;
pub mod registry;
pub mod shared_bottleneck;
#[cfg(test)]
mod testing;

/// What algorithms of Reno's family are built from, for algorithms outside this crate too.
pub mod parts {
    pub use crate::building_blocks::aimd::{Aimd, IncreaseDecrease};
    pub use crate::building_blocks::rule::{Rule, WindowController};
    pub use crate::building_blocks::window::Window;
}

pub use algorithms::loss::cubic::{Cubic, CubicConfig};
pub use algorithms::model::copa::Copa;
pub use algorithms::model::indigo::Features as IndigoFeatures;
pub use building_blocks::fairness;
pub use careful_resume::CarefulResume;
pub use classifiers::cerl::Cerl;
pub use classifiers::wrap::WithClassifier;
pub use estimators::{delivery_rate, smoothed_rtt};
pub use interface::{
    Ack, AtSending, Bandwidth, BurstController, BurstPlan, BurstReport, Controller, FastRecovery,
    Loss, LossClassifier, LossResponse, LostPacket, Share, Sibling, Signal, Spans, Timeout,
    TransportFeatures, Verdict,
};
pub use registry::{Growth, SavedPath, Setup, Spec, TimeOfDay};
