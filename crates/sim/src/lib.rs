//! A packet-level simulator of transport protocols over paths.
//!
//! [`Network`] describes one run, [`run`] plays it, and [`Outcome`] is what was measured.
//!
//! | folder or file | contents |
//! |---|---|
//! | `scenario/`, `network` | scenario files; what they become for the engine |
//! | `engine/` | events, links, lookahead, observation; it knows no protocol |
//! | `flow/`, `packet`, `end` | the interface between the engine and a flow |
//! | `any_flow` | the list of the kinds of flows |
//! | `tcp/`, `multipath/`, `aatp/`, `udp/`, `hosted` | the kinds of flows |
//! | `streams/` | the data of a multipath connection: streams and messages |
//! | `outcome`, `observe`, `path_capacity` | what a run reports, and what a path offers |
//! | `session` | a run that is played step by step |
//! | `sweep` | all runs of a scenario on several threads |
//! | `seed`, `rtt`, `ranges`, `measure`, `counters` | parts that several of them use |

mod aatp;
mod any_flow;
mod buckets;
mod coarse_timer;
mod counters;
mod end;
mod engine;
mod flow;
mod fnv;
mod hosted;
mod in_flight;
mod measure;
mod multipath;
mod network;
pub mod observe;
mod outcome;
mod packet;
mod path_capacity;
#[cfg(test)]
mod properties;
mod ranges;
mod rtt;
pub mod scenario;
mod seed;
mod session;
mod streams;
pub mod sweep;
mod tcp;
mod udp;

pub use network::{
    AatpFlow, AatpSettings, Connection, Destination, Ecn, FlowName, FlowSpec, ForgedNacks, Host,
    HostCounters, HostState, LinkCopy, LinkId, LinkName, Messages, Nack, NamedLink, Network,
    OnChannel, OnOff, Oracle, PathChoice, Recovery, Route, Sequences, SsthreshFrom, Streams,
    TcpFlow, TcpSettings, Traffic, Transmit, UdpFlow,
};
pub use outcome::{
    AatpOutcome, Confusion, DestinationOutcome, DestinationSample, Distribution, Distributions,
    FlowOutcome, FlowSample, HostOutcome, LinkOutcome, LinkSample, LossCounts, LossEpisode,
    MessageOutcome, NackCounts, Outcome, PathOutcome, StreamOutcome, Summary,
};

/// A hash of the source that determines what a run measures: the same source gives the same bits.
pub const SOURCE: &str = env!("WHIMBREL_SOURCE");

pub use session::Session;
pub use whimbrel_cc::fairness::jain;

use engine::world::World;

/// Plays one run and reports its events to `observer`. The outcome is the same as that of
/// [`run`], bit for bit.
pub fn run_observed(network: &Network, observer: &mut dyn observe::Observer) -> Outcome {
    World::observed(network, observer).play()
}

/// Plays one run. The same network gives the same outcome, bit for bit, on any machine.
pub fn run(network: &Network) -> Outcome {
    World::new(network).play()
}
