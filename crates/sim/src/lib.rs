//! A packet-level simulator of transport protocols over paths.
//!
//! [`Network`] describes one run, [`run`] plays it, [`Outcome`] is what was measured.

mod aatp;
mod along;
mod counters;
mod engine;
mod governed;
mod measure;
mod network;
pub mod observe;
mod outcome;
#[cfg(test)]
mod properties;
mod ranges;
mod rtt;
pub mod scenario;
mod streams;
pub mod sweep;
mod tcp;
mod udp;

pub use network::{
    AatpFlow, AatpSettings, Destination, FlowSpec, ForgedNacks, LinkId, Messages, Nack, NamedLink,
    Network, OnChannel, OnOff, Oracle, Recovery, Route, Sequences, Streams, TcpFlow, TcpSettings,
    Traffic, UdpFlow,
};
pub use outcome::{
    AatpOutcome, Confusion, DestinationOutcome, DestinationSample, Distribution, Distributions,
    FlowOutcome, FlowSample, LinkOutcome, LinkSample, LossCounts, LossEpisode, MessageOutcome,
    NackCounts, Outcome, PathOutcome, StreamOutcome, Summary,
};

pub use whimbrel_cc::fairness::jain;

/// Plays one run and tells `observer` of all that happens in it. The outcome is the same as [`run`]'s, bit for bit.
pub fn run_observed(network: &Network, observer: &mut dyn observe::Observer) -> Outcome {
    engine::world::World::watched(network, observer).play()
}

/// Plays one run: the same network gives the same outcome, bit for bit, on any machine.
pub fn run(network: &Network) -> Outcome {
    engine::world::World::new(network).play()
}
